//! The first pass over a trace: decides how long its slices are.

use hashbrown::HashSet;
use shingle_core::units::{Op, Request};

use super::description::SLICES_MAX;
use crate::zones::ZONE_BYTES;

/// Slices are made longer until there are no more cells than this, and no more than one for a
/// number of requests: a description is to be small, and to contain statistics rather than the
/// trace.
const CELLS_MAX: u64 = 5_000;
const CELL_REQUESTS: u64 = 10;

const SLICE_ACCESSES_MIN: u64 = 512;

const GRAINS: u64 = 8 * SLICES_MAX as u64;

/// Grains become longer if they have more cells in total, which bounds memory except for the zones.
const GRAIN_CELLS_MAX: usize = 1 << 22;

/// Measures how long slices have to be.
#[derive(Default)]
pub struct Survey {
    requests: u64,
    accesses: u64,
    /// Cells of grains, which are slices of `1 << shift` accesses.
    cells: HashSet<(u64, u64, bool)>,
    shift: u32,
}

impl Survey {
    /// Counts the next request.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let end = request.offset + request.bytes - 1;
        for zone in request.offset / ZONE_BYTES..=end / ZONE_BYTES {
            self.cells.insert((self.accesses >> self.shift, zone, request.op == Op::Write));
        }
        self.requests += 1;
        self.accesses += request.blocks();
        let too_fine = |survey: &Survey| {
            let grains = survey.accesses >> survey.shift;
            grains >= GRAINS || grains > 0 && survey.cells.len() > GRAIN_CELLS_MAX
        };
        while too_fine(self) {
            self.shift += 1;
            self.cells = joined(&self.cells, 2);
        }
    }

    pub(super) fn slice_accesses(self) -> u64 {
        let grains = (self.accesses >> self.shift) + 1;
        let least = SLICE_ACCESSES_MIN.div_ceil(1 << self.shift);
        let mut each = grains.div_ceil(SLICES_MAX as u64).max(least);
        let cells_max = CELLS_MAX.min(self.requests / CELL_REQUESTS);
        while each < grains && joined(&self.cells, each).len() as u64 > cells_max {
            each += each.div_ceil(4);
        }
        each << self.shift
    }
}

#[allow(clippy::iter_over_hash_type, reason = "the resulting set does not depend on the order")]
fn joined(cells: &HashSet<(u64, u64, bool)>, grains: u64) -> HashSet<(u64, u64, bool)> {
    cells.iter().map(|&(slice, zone, write)| (slice / grains, zone, write)).collect()
}
