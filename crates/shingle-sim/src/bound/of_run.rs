//! Room and prices for the bounds, taken from a run and its disk.

use shingle_drive::Description;
use shingle_result::{RunResult, verdict};

use super::{Prices, Room};
use crate::system::JOINED_BLOCKS_MAX;

impl Room {
    /// Returns the room of a disk behind a cache of `cache` blocks.
    #[must_use]
    pub fn of(disk: &Description, cache: u64) -> Room {
        let log = disk.in_order.log_blocks.max(disk.buffer_blocks);
        // Blocks with one map entry were sent as one I/O, so all of them were in the cache at the
        // same time.
        let longest = (JOINED_BLOCKS_MAX as u64).min(cache.max(1));
        let run_max = if disk.in_order.log_blocks > 0 { longest } else { 1 };
        Room { cache, entries: disk.buffer_blocks, log, run_max }
    }
}

/// Returns the bands that `run` has rewritten and left to rewrite, as the bound counts them. A band
/// written in order past the buffer counts as a rewrite: for a band that the host writes whole,
/// this is its rewrite.
#[must_use]
pub fn rewrites(run: &RunResult) -> u64 {
    let [disk, host] = verdict::rewrites(run);
    disk + host.max(run.all.drive_io.in_order_bands + run.left.in_order_bands)
}

impl Prices {
    /// Returns the prices of the fastest of `runs`, including the work it left.
    pub fn of_fastest<'a>(
        runs: impl Iterator<Item = &'a RunResult>,
        disk: &Description,
        whole_bands: bool,
    ) -> Option<Prices> {
        let seconds = |run: &&RunResult| verdict::done_and_left(run);
        let fastest = runs.min_by(|a, b| seconds(a).total_cmp(&seconds(b)))?;
        Prices::of(fastest, disk, whole_bands)
    }

    /// Returns the mean times of a rewrite and of a block read in `run`, in seconds, including the
    /// work it left. On a disk that takes bands in order past its buffer a host can rewrite a fully
    /// cached band with a single pass. `None` if nothing was rewritten.
    fn of(run: &RunResult, disk: &Description, whole_bands: bool) -> Option<Prices> {
        let (done, left) = (&run.all.seconds.by_cause, &run.left.by_cause);
        let rewrites = rewrites(run);
        if rewrites == 0 {
            return None;
        }
        let rewrite = (done.clean + left.clean + done.write + left.write) / rewrites as f64;
        let pass = disk.in_order.band_pass.filter(|_| whole_bands);
        let rewrite = pass.map_or(rewrite, |pass| rewrite.min(pass.0 as f64 / 1e9));
        let read_blocks = run.all.drive_io.read_blocks + run.left.read_blocks;
        let read = (done.read + left.read) / read_blocks.max(1) as f64;
        Some(Prices { rewrite, read })
    }
}
