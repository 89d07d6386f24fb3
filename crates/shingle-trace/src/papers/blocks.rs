//! Block accesses one after the other, packed into a word each.

use std::sync::Arc;

use crate::synth::volume::{Generator, Plan};
use crate::zones::ZONE_BLOCKS;

/// Packs an access of a block.
#[must_use]
pub fn packed(block: u64, write: bool) -> u64 {
    block << 1 | u64::from(write)
}

/// A known number of packed accesses.
pub trait Blocks: Send {
    /// How many are still to come.
    fn remaining(&self) -> u64;

    /// Appends the next `count`, or as many as remain.
    fn take(&mut self, count: usize, out: &mut Vec<u64>);
}

/// What one volume does, to be replayed as often as one likes.
#[derive(Clone, Debug)]
pub struct Volume(Contents);

#[derive(Clone, Debug)]
enum Contents {
    Generated(Arc<Plan>),
    Recorded { accesses: Arc<[u64]>, span_zones: u64 },
}

impl Volume {
    /// From figures: exactly as many accesses as they say.
    pub(super) fn generated(plan: Arc<Plan>) -> Volume {
        Volume(Contents::Generated(plan))
    }

    /// From packed accesses.
    #[must_use]
    pub fn recorded(accesses: Vec<u64>) -> Volume {
        let blocks = accesses.iter().max().map_or(0, |last| (last >> 1) + 1);
        let span_zones = blocks.div_ceil(ZONE_BLOCKS);
        Volume(Contents::Recorded { accesses: accesses.into(), span_zones })
    }

    /// 5,000-block zones that it takes on a disk.
    #[must_use]
    pub fn span_zones(&self) -> u64 {
        match &self.0 {
            Contents::Generated(plan) => plan.span_zones(),
            Contents::Recorded { span_zones, .. } => *span_zones,
        }
    }

    /// Its accesses from the first on: the same each time.
    #[must_use]
    pub fn replay(&self) -> Box<dyn Blocks> {
        match &self.0 {
            Contents::Generated(plan) => Box::new(Generated {
                remaining: plan.blocks(),
                generator: Generator::new(plan.clone()),
                block: 0,
                left: 0,
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
    /// What is left of the request that was made last.
    block: u64,
    left: u64,
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
            if self.left == 0 {
                (self.block, self.left, self.write) = self.generator.next_blocks();
            }
            let now = self.left.min(count);
            out.extend((self.block..self.block + now).map(|block| packed(block, self.write)));
            self.block += now;
            self.left -= now;
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
