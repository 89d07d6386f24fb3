//! The measure by which runs are ranked, and conditions that make figures doubtful.

use crate::run::RunResult;

/// A run with fewer cleanings than this says little about shingling.
pub const CLEANINGS_MIN: u64 = 30;

/// Two runs with a smaller quotient are level.
pub(super) const LEVEL: f64 = 1.005;

/// Returns the cost of a run, deferred work included: its I/O time and that of the work it leaves,
/// in seconds. With `--drain` nothing is left, and both are in the I/O time.
#[must_use]
pub fn done_and_left(run: &RunResult) -> f64 {
    run.all.seconds.total + run.left.seconds
}

/// Returns the measure by which runs are ranked: in closed loop seconds of I/O, done and left; in
/// open loop microseconds of mean response. Lower is better.
#[must_use]
pub fn measure(run: &RunResult) -> f64 {
    match run.queue {
        None => done_and_left(run),
        Some(_) => run.latency.mean_us,
    }
}

/// Returns the numbers of `runs` by [`measure`], the best first.
#[must_use]
pub fn ranking(runs: &[&RunResult]) -> Vec<usize> {
    order_by(runs, measure)
}

pub(super) fn order_by(runs: &[&RunResult], key: impl Fn(&RunResult) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| key(runs[a]).total_cmp(&key(runs[b])));
    order
}

/// Returns whether the cache of a run was never full: its policy never had to evict.
#[must_use]
pub(crate) fn never_filled(run: &RunResult) -> bool {
    run.warm_from.is_none() && run.labels.cache_blocks > 0
}

/// Returns whether `runs` have caches, and none of them was ever full, so that they say nothing
/// about policies.
#[must_use]
pub fn none_filled(runs: &[&RunResult]) -> bool {
    let mut cached = runs.iter().filter(|run| run.labels.cache_blocks > 0).peekable();
    cached.peek().is_some() && cached.all(|run| never_filled(run))
}

/// Returns the bands that a run has rewritten or left to rewrite: by the disk, and by the host.
#[must_use]
pub fn rewrites(run: &RunResult) -> [u64; 2] {
    let (io, left) = (&run.all.drive_io, &run.left);
    [io.rmw + io.rmw_free + left.rmw + left.rmw_free, run.all.host_rmw.zones + left.host_rmw_zones]
}

/// Returns the cleanings without those of `--drain`.
#[must_use]
pub fn cleanings(run: &RunResult) -> u64 {
    let drained = run.drained.map_or(0, |drained| drained.rmw + drained.rmw_free);
    (run.all.drive_io.rmw + run.all.drive_io.rmw_free).saturating_sub(drained) + log_zones(run)
}

/// Returns the zones that a log has cleaned. It writes none back, and has nothing to drain.
pub(super) fn log_zones(run: &RunResult) -> u64 {
    let log = run.translation_counters.as_ref().filter(|did| did.victims == 0);
    log.map_or(0, |did| did.cleanings)
}

/// Returns what these runs clean: a disk its bands, a translation its zones.
#[must_use]
pub fn cleaned(runs: &[&RunResult]) -> &'static str {
    let translated = runs.iter().filter(|run| run.labels.translation.is_some()).count();
    match translated {
        0 => "bands",
        all if all == runs.len() => "zones",
        _ => "bands or zones",
    }
}

/// Returns whether a run cleaned too little to say much about shingling.
#[must_use]
pub fn hardly_cleaned(run: &RunResult) -> bool {
    let labels = &run.labels;
    // Without a translation, only shingled drives have a buffer size among their settings.
    let cleans = labels.translation.is_some() || labels.drive_parameters.contains_key("pb");
    cleans && cleanings(run) < CLEANINGS_MIN
}

/// Reads of never-written blocks matter if they exceed this share of all reads.
pub(super) const UNWRITTEN_PART: f64 = 0.05;

/// Returns the share of blocks read from the disk that were never written, so that there was
/// nothing to read.
pub(super) fn unwritten_part(run: &RunResult) -> f64 {
    let io = &run.all.drive_io;
    io.beyond_pointer_blocks as f64 / io.read_blocks.max(1) as f64
}

/// Returns whether the queue of a run in open loop still grew at its end.
pub(crate) fn overloaded(run: &RunResult) -> bool {
    run.queue.is_some_and(|queue| queue.overloaded)
}
