//! Streams of block accesses, each packed into a word.

use std::sync::Arc;

use crate::synth::volume::{Generator, Plan};
use crate::zones::ZONE_BLOCKS;

/// Packs an access of a block.
#[must_use]
pub fn packed(block: u64, write: bool) -> u64 {
    block << 1 | u64::from(write)
}

/// A stream of packed accesses whose number is known.
pub trait Blocks: Send {
    /// Returns the number of accesses that remain.
    fn remaining(&self) -> u64;

    /// Appends the next `count` accesses, or all that remain.
    fn take(&mut self, count: usize, out: &mut Vec<u64>);
}

/// The accesses of one volume, which can be replayed any number of times.
#[derive(Clone, Debug)]
pub struct Volume(Contents);

#[derive(Clone, Debug)]
enum Contents {
    Generated(Arc<Plan>),
    Recorded { accesses: Arc<[u64]>, span_zones: u64 },
}

impl Volume {
    /// Creates a volume from figures, with exactly their number of accesses.
    pub(super) fn generated(plan: Arc<Plan>) -> Volume {
        Volume(Contents::Generated(plan))
    }

    /// Creates a volume from packed accesses.
    #[must_use]
    pub fn recorded(accesses: Vec<u64>) -> Volume {
        let blocks = accesses.iter().max().map_or(0, |last| (last >> 1) + 1);
        let span_zones = blocks.div_ceil(ZONE_BLOCKS);
        Volume(Contents::Recorded { accesses: accesses.into(), span_zones })
    }

    /// Returns the size of the volume on a disk, in 5,000-block zones.
    #[must_use]
    pub fn span_zones(&self) -> u64 {
        match &self.0 {
            Contents::Generated(plan) => plan.span_zones(),
            Contents::Recorded { span_zones, .. } => *span_zones,
        }
    }

    /// Returns its accesses from the first on: the same each time.
    #[must_use]
    pub fn replay(&self) -> Box<dyn Blocks> {
        match &self.0 {
            Contents::Generated(plan) => Box::new(Generated {
                remaining: plan.blocks(),
                generator: Generator::new(plan.clone()),
                block: 0,
                request_left: 0,
                write: false,
            }),
            Contents::Recorded { accesses, .. } => {
                Box::new(Recorded { accesses: accesses.clone(), at: 0 })
            }
        }
    }
}

struct Generated {
    generator: Generator,
    remaining: u64,
    /// The rest of the request generated last.
    block: u64,
    request_left: u64,
    write: bool,
}

impl Blocks for Generated {
    fn remaining(&self) -> u64 {
        self.remaining
    }

    fn take(&mut self, count: usize, out: &mut Vec<u64>) {
        let mut count = (count as u64).min(self.remaining);
        self.remaining -= count;
        while count > 0 {
            if self.request_left == 0 {
                (self.block, self.request_left, self.write) = self.generator.next_blocks();
            }
            let now = self.request_left.min(count);
            out.extend((self.block..self.block + now).map(|block| packed(block, self.write)));
            self.block += now;
            self.request_left -= now;
            count -= now;
        }
    }
}

struct Recorded {
    accesses: Arc<[u64]>,
    at: usize,
}

impl Blocks for Recorded {
    fn remaining(&self) -> u64 {
        (self.accesses.len() - self.at) as u64
    }

    fn take(&mut self, count: usize, out: &mut Vec<u64>) {
        let end = self.accesses.len().min(self.at + count);
        out.extend_from_slice(&self.accesses[self.at..end]);
        self.at = end;
    }
}
