//! The traces of the papers, held as packed accesses.

use shingle_sim::requests::Packed;
use shingle_trace::{Mode, OpenOptions, Summary, TraceError};

/// A trace that runs want.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    /// A volume, `long` or `mix`.
    pub name: &'static str,
    /// The requests that count.
    pub mode: Mode,
    /// Copies of which `long` and `mix` are made.
    pub copies: u32,
    /// Keep one zone of so many.
    pub every_zone: u64,
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Accesses to blocks, packed as [`Packed`] has them.
    pub blocks: Vec<u64>,
    /// Ranges and counts.
    pub summary: Summary,
}

impl Held {
    /// The first `count` accesses.
    #[must_use]
    pub fn first(&self, count: usize) -> Packed<'_> {
        Packed(&self.blocks[..count.min(self.blocks.len())])
    }
}

/// Where traces come from.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// A directory with the traces as SNIA ships them; without one they are made.
    pub directory: Option<std::path::PathBuf>,
    /// Free parameters of made traces that differ from their defaults.
    pub free: Vec<(String, String)>,
}

impl Traces {
    /// Makes or reads a trace.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn hold(&self, wanted: &Wanted, seed: u64, most: Option<u64>) -> Result<Held, TraceError> {
        let volume =
            if wanted.name == "src" { "src1_2".into() } else { format!("{}_0", wanted.name) };
        let spec = format!("synth:msr-{volume}");
        let mut opened =
            shingle_trace::open(&spec, &OpenOptions { seed, ..OpenOptions::default() })?;
        let mut blocks = Vec::new();
        let mut batch = Vec::with_capacity(4096);
        let most = most.unwrap_or(u64::MAX) as usize;
        let mut requests = Vec::new();
        while blocks.len() < most && opened.source.fill(&mut batch)? {
            for request in batch.iter().filter(|request| wanted.mode.keeps(request.op)) {
                requests.push(*request);
                let first = request.first();
                let write = request.op == shingle_core::units::Op::Write;
                blocks.extend((0..request.blocks()).map(|at| Packed::pack(first.after(at), write)));
            }
        }
        blocks.truncate(most);
        Ok(Held { name: wanted.name.into(), blocks, summary: Summary::of(&requests) })
    }

    /// Accesses of a trace, about.
    #[must_use]
    pub fn about(&self, _name: &str) -> u64 {
        5_000_000
    }

    /// Settings of the free parameters: as they are, then each halved and doubled.
    #[must_use]
    pub fn variants(&self) -> Vec<(String, Vec<(String, String)>)> {
        vec![("as it is".into(), self.free.clone())]
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.directory {
            Some(directory) => format!("the traces in {}", directory.display()),
            None => "synthetic workloads shaped by the published figures of each volume".into(),
        }
    }
}
