//! `uniform`: every block is equally likely.
//!
//! It is the worst case for any cache, and a known answer for tests. No real trace looks like this,
//! so do not compare policies on it.

use shingle_core::units::{BLOCK_BYTES, Op};

use super::parameters::{Kind, Parameter, Values, range, write};
use super::rng::{Rng, Seed, Share};
use super::workload::{Access, Pattern, Workload};
use crate::error::Problem;
use crate::source::REQUEST_BYTES_MAX;

pub(super) const WORKLOAD: Workload = Workload {
    name: "uniform",
    about: "single requests anywhere, all addresses alike",
    own: &[
        range("4GB"),
        write("0.7"),
        Parameter {
            name: "size",
            default: "4KiB",
            about: "bytes of every request",
            kind: Kind::Size(1, REQUEST_BYTES_MAX),
        },
    ],
    make,
};

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let (range, size) = (values.count("range"), values.count("size"));
    if size > range {
        return Err(Problem::usage(format!(
            "size={size} is larger than range={range}; give a larger range"
        )));
    }
    Ok(Box::new(Uniform {
        rng: seed.stream("uniform"),
        positions: (range - size) / BLOCK_BYTES + 1,
        size,
        write: values.share("write"),
    }))
}

struct Uniform {
    rng: Rng,
    positions: u64,
    size: u64,
    write: Share,
}

impl Pattern for Uniform {
    fn next(&mut self) -> Access {
        let op = if self.rng.chance(self.write) { Op::Write } else { Op::Read };
        let offset = self.rng.below(self.positions) * BLOCK_BYTES;
        Access { offset, bytes: self.size, op }
    }
}
