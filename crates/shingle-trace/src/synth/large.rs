//! `msr-long`, `msr-mix`: the large traces of SAC and PORE, combined from all their volumes.
//!
//! Every request is one block, because the papers split requests into blocks and shuffled those.
//! Times are as if all volumes were served together, within a week.

use std::sync::LazyLock;

use shingle_core::units::{BLOCK_BYTES, Op};

use super::parameters::{Kind, Parameter, Values, iops, requests};
use super::rng::Seed;
use super::workload::{Access, Pattern, Workload};
use crate::error::Problem;
use crate::papers::{Blocks, LONG_COPIES, MIX_COPIES, Papers, Trace, free_parameters};
use crate::source::BATCH_REQUESTS;

const LONG: &str = "msr-long";
const MIX: &str = "msr-mix";

/// Returns both workloads.
pub(super) fn workloads() -> impl Iterator<Item = Workload> {
    static OWN: LazyLock<[Vec<Parameter>; 2]> = LazyLock::new(|| {
        [
            own_parameters(Trace::Long { copies: LONG_COPIES }, "18"),
            own_parameters(Trace::Mix { copies: MIX_COPIES }, "16"),
        ]
    });
    let workload = |(name, about, own)| Workload { name, about, own, make };
    [
        (LONG, "SAC's long: ten volumes, 18 copies of each, shuffled block by block", &*OWN[0]),
        (MIX, "PORE's mix: nine volumes shuffled, 16 copies of that, shuffled", &*OWN[1]),
    ]
    .into_iter()
    .map(workload)
}

fn own_parameters(trace: Trace, copies: &'static str) -> Vec<Parameter> {
    let mut own = free_parameters(trace).expect("the papers' volumes are described");
    own.extend([
        Parameter {
            name: "copies",
            default: copies,
            about: "copies of every volume",
            kind: Kind::Count(1, 1_000),
        },
        requests("10M", "how many requests of one block, at most all; the papers run 50M to 250M"),
        iops("2000", "requests a second, on average, idle time included; all in about a week"),
    ]);
    own
}

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let copies = values.count("copies") as u32;
    let trace = if seed.workload == LONG { Trace::Long { copies } } else { Trace::Mix { copies } };
    let blocks = Papers::with(seed.seed, values).stream(trace);
    let blocks = blocks.map_err(|error| Problem::new(error.kind, error.message))?;
    let length = blocks.remaining();
    Ok(Box::new(Large { blocks, length, batch: Vec::with_capacity(BATCH_REQUESTS), at: 0 }))
}

struct Large {
    blocks: Box<dyn Blocks>,
    length: u64,
    batch: Vec<u64>,
    at: usize,
}

impl Pattern for Large {
    fn next(&mut self) -> Access {
        if self.at == self.batch.len() {
            self.batch.clear();
            self.blocks.take(BATCH_REQUESTS, &mut self.batch);
            self.at = 0;
        }
        let access = self.batch[self.at];
        self.at += 1;
        let op = if access & 1 == 1 { Op::Write } else { Op::Read };
        Access { offset: (access >> 1) * BLOCK_BYTES, bytes: BLOCK_BYTES, op }
    }

    fn length(&self) -> u64 {
        self.length
    }
}
