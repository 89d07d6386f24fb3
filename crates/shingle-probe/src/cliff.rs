//! Random writes until the buffer is full, and their latencies (SAC §5.1, step 2).

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::change::{Change, change, real};
use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::target::{Block, Done, Io, Nanos, Op, Target};

/// The number of first writes that determine the usual latency.
const FIRST: usize = 100;
/// A write is recorded as slow if it takes this many times the usual latency.
const SLOW: u64 = 5;
/// The run ends when the mean latency of the last writes is this many times the usual one, most of
/// it in stalls...
const CLIFF: f64 = 3.0;
/// ... and this many slow writes have completed since.
const SLOW_ENOUGH: usize = 40;
/// A stall takes at least as long as this many random reads, and [`STALL_MIN`]: cleaning a band
/// takes dozens of seeks and rotations.
const STALL_READS: f64 = 4.0;
const STALL_MIN: Nanos = Nanos::from_millis(20);
/// Writes after which a disk without stalls is judged to seek for each write.
const SEEKS_ENOUGH: u64 = 5000;
/// The largest number of bars in the course.
const BARS: usize = 1000;

/// What is written, and when the run ends.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Positions are multiples of the write size, below this block.
    pub region_blocks: u64,
    /// Blocks of each write.
    pub write_blocks: u64,
    /// Writes in flight.
    pub depth: usize,
    /// The mean time of a random read. A disk whose writes take a good part of it seeks for each
    /// write.
    pub read: Nanos,
    /// Seed of the order of positions.
    pub seed: u64,
}

/// A slow write.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow(
    /// Number of the write.
    pub u64,
    /// When it was submitted, in microseconds since the start.
    pub u64,
    /// Its latency, in microseconds.
    pub u64,
);

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Writes became slow permanently.
    Cliff,
    /// All positions were written.
    Exhausted,
    /// Each write takes as long as a seek, and none as long as a cleaning.
    SeekBound,
    /// From the first on, writes take as long as a cleaning: the buffer was full.
    Full,
}

/// What a run showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Blocks of each write.
    pub write_blocks: u64,
    /// Writes in flight.
    pub depth: usize,
    /// Completed writes.
    pub writes: u64,
    /// Duration of the run, in microseconds.
    pub us: u64,
    /// Median latency of the first writes.
    pub usual_us: f64,
    /// Why the run ended.
    pub end: End,
    /// The slow writes.
    pub slow: Vec<Slow>,
    /// Width of a bar of the course, in microseconds.
    pub bar_us: u64,
    /// Completed writes in each bar.
    pub course: Vec<u32>,
}

impl Fill {
    /// The write at which writes become slow permanently, and the threshold in microseconds. `None`
    /// if they do not.
    #[must_use]
    pub fn cliff(&self) -> Option<(Change, f64)> {
        let threshold = self.threshold_us()?;
        let slow = self.slow.iter().filter(|slow| real(slow.2) >= threshold);
        let slow: Vec<u64> = slow.map(|slow| slow.0).collect();
        change(self.writes, &slow).map(|change| (change, threshold))
    }

    /// The threshold between usual and slow writes: the geometric mean of the usual latency and the
    /// tenth longest.
    fn threshold_us(&self) -> Option<f64> {
        self.tail_us().map(|tail| libm::sqrt(self.usual_us * tail))
    }

    /// The tenth longest latency, or the shortest slow one if there are fewer.
    fn tail_us(&self) -> Option<f64> {
        let mut longest: Vec<u64> = self.slow.iter().map(|slow| slow.2).collect();
        longest.sort_unstable_by(|one, other| other.cmp(one));
        longest.get(9.min(longest.len().checked_sub(1)?)).map(|&tail| real(tail))
    }

    /// Writes per second before the write with number `at`, and from it on.
    #[must_use]
    pub fn rates(&self, at: u64) -> (f64, f64) {
        let whole = real(self.us.max(1));
        let here = self.slow.iter().find(|slow| slow.0 >= at);
        let Some(&Slow(number, begun, _)) = here else {
            return (real(self.writes) * 1e6 / whole, 0.0);
        };
        // With several in flight, not all earlier writes are done when it is submitted.
        let before = (number + 1).saturating_sub(self.depth as u64);
        let rate = |writes: u64, us: f64| real(writes) * 1e6 / us.max(1.0);
        (rate(before, real(begun)), rate(self.writes - before, whole - real(begun)))
    }

    /// Of the writes before that with number `at`: how many waited as after it, their microseconds, and
    /// those of all.
    #[must_use]
    pub(crate) fn waits_before(&self, at: u64) -> (u64, u64, u64) {
        let threshold = self.threshold_us().unwrap_or(f64::INFINITY);
        let waits = self.slow.iter().filter(|slow| slow.0 < at && real(slow.2) >= threshold);
        let (count, us) = waits.fold((0, 0), |sum, slow| (sum.0 + 1, sum.1 + slow.2));
        let begun = self.slow.iter().find(|slow| slow.0 >= at).map_or(self.us, |slow| slow.1);
        (count, us, begun)
    }

    /// Mean time of a write before that with number `at`, one at a time, without those that waited:
    /// so long does it take if there is room.
    #[must_use]
    pub(crate) fn with_room_us(&self, at: u64) -> f64 {
        let (waits, us, all) = self.waits_before(at);
        real(all.saturating_sub(us)) / real(at.saturating_sub(waits).max(1))
    }

    /// The threshold between writes that waited for cleaning and writes that were slow for another
    /// reason and took at most `otherwise_us`: the geometric mean of `otherwise_us` and half of the
    /// tenth percentile of the slow writes from the cliff on.
    #[must_use]
    pub(crate) fn stall_us(&self, otherwise_us: f64) -> Option<f64> {
        let (change, threshold) = self.cliff()?;
        let stalls = self.slow.iter().filter(|slow| slow.0 >= change.at).map(|slow| slow.2);
        let mut stalls: Vec<u64> =
            stalls.filter(|&us| real(us) >= threshold.max(otherwise_us)).collect();
        stalls.sort_unstable();
        let tenth = stalls.get(stalls.len() / 10)?;
        Some(libm::sqrt((real(*tenth) / 2.0).max(otherwise_us) * otherwise_us))
    }

    /// Mean time of a write, in microseconds.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        real(self.us) / real(self.writes.max(1))
    }
}

/// The shortest stall, in nanoseconds, of a disk whose random reads take `read`.
pub(crate) fn stall(read: Nanos) -> f64 {
    (STALL_READS * real(read.0)).max(real(STALL_MIN.0))
}

/// Runs `workload`.
///
/// # Errors
/// As [`Target::run`].
pub fn fill(target: &mut dyn Target, workload: &Workload) -> Result<Fill, ProbeError> {
    let positions = workload.region_blocks / workload.write_blocks;
    let order = Permutation::new(positions.max(1), workload.seed);
    let mut submitted = 0;
    let mut monitor = Monitor::new(target.now(), workload);
    target.run(
        workload.depth,
        &mut || {
            let block = Block(
                order.get((submitted < positions).then_some(submitted)?) * workload.write_blocks,
            );
            submitted += 1;
            Some(Io { op: Op::Write, block, count: workload.write_blocks })
        },
        &mut |done| monitor.record(done),
    )?;
    Ok(monitor.into_fill(workload, target.now()))
}

/// Decides when a run has shown enough.
struct Monitor {
    start: Nanos,
    /// A write that takes this much longer than usual has waited for more than a few seeks.
    stall: f64,
    /// The least usual latency of a disk on which every write stalls.
    full: f64,
    /// The least mean latency of a disk that seeks for each write.
    seek_bound: f64,
    first: Vec<Nanos>,
    usual: Nanos,
    /// Moving means over about the last twentieth of all writes, in nanoseconds: of all latencies,
    /// and of stalls alone.
    mean: f64,
    stalled: f64,
    writes: u64,
    slow: Vec<Slow>,
    /// Number of slow writes when the mean became high; `None` while it is not high.
    high_since: Option<usize>,
    end: End,
    bar: Nanos,
    course: Vec<u32>,
}

impl Monitor {
    fn new(start: Nanos, workload: &Workload) -> Monitor {
        let read = real(workload.read.0) * real(workload.depth as u64);
        Monitor {
            start,
            stall: stall(workload.read),
            full: stall(workload.read) * real(workload.depth as u64),
            // For larger writes the transfer alone may take as long.
            seek_bound: if workload.write_blocks == 1 { read / 8.0 } else { f64::INFINITY },
            first: Vec::with_capacity(FIRST),
            usual: Nanos::NEVER,
            mean: 0.0,
            stalled: 0.0,
            writes: 0,
            slow: Vec::new(),
            high_since: None,
            end: End::Exhausted,
            bar: Nanos::from_millis(10),
            course: Vec::with_capacity(BARS),
        }
    }

    fn record(&mut self, done: Done) -> ControlFlow<()> {
        let latency = done.latency();
        self.count(done.done);
        self.writes += 1;
        if self.first.len() < FIRST {
            self.first.push(latency);
            self.first.sort_unstable();
            self.usual = self.first[self.first.len() / 2];
        }
        if self.writes > 8 && latency.0 > SLOW * self.usual.0 {
            let us = |time: Nanos| time.0 / 1000;
            self.slow.push(Slow(done.number, us(done.begun.since(self.start)), us(latency)));
        }
        let weight = real((self.writes / 20).clamp(64, 4096));
        let time = real(latency.0);
        self.mean += (time - self.mean) / weight;
        let stalls = time >= self.stall + 2.0 * real(self.usual.0);
        self.stalled += (if stalls { time } else { 0.0 } - self.stalled) / weight;
        if self.writes < FIRST as u64 { ControlFlow::Continue(()) } else { self.judge() }
    }

    fn judge(&mut self) -> ControlFlow<()> {
        if real(self.usual.0) >= self.full {
            self.end = End::Full;
            return ControlFlow::Break(());
        }
        let stalls = self.stalled > self.mean / 2.0;
        // A few long waits raise the mean, but are no seek for each write.
        let seeks = self.mean - self.stalled >= self.seek_bound;
        if self.writes >= SEEKS_ENOUGH && !stalls && seeks {
            self.end = End::SeekBound;
            return ControlFlow::Break(());
        }
        if !stalls || self.mean < CLIFF * real(self.usual.0) {
            self.high_since = None;
            return ControlFlow::Continue(());
        }
        let since = *self.high_since.get_or_insert(self.slow.len());
        if self.slow.len() - since < SLOW_ENOUGH {
            return ControlFlow::Continue(());
        }
        self.end = End::Cliff;
        ControlFlow::Break(())
    }

    /// Counts a write in its bar of the course. If there are too many bars, pairs are merged.
    fn count(&mut self, done: Nanos) {
        let at = |bar: Nanos| (done.since(self.start).0 / bar.0) as usize;
        while at(self.bar) >= BARS {
            self.bar = Nanos(self.bar.0 * 2);
            self.course = self.course.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let at = at(self.bar);
        if self.course.len() <= at {
            self.course.resize(at + 1, 0);
        }
        self.course[at] += 1;
    }

    fn into_fill(self, workload: &Workload, now: Nanos) -> Fill {
        Fill {
            write_blocks: workload.write_blocks,
            depth: workload.depth,
            writes: self.writes,
            us: now.since(self.start).0 / 1000,
            usual_us: real(self.usual.0) / 1e3,
            end: self.end,
            slow: self.slow,
            bar_us: self.bar.0 / 1000,
            course: self.course,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a run of writes with these latencies, one at a time, on a disk that reads in 16
    /// ms.
    fn ends(us: impl Iterator<Item = u64>) -> End {
        let workload = Workload {
            region_blocks: 1 << 20,
            write_blocks: 1,
            depth: 1,
            read: Nanos::from_millis(16),
            seed: 1,
        };
        let mut monitor = Monitor::new(Nanos::ZERO, &workload);
        let mut now = Nanos::ZERO;
        for (number, us) in (0..).zip(us) {
            let begun = now;
            now += Nanos::from_micros(us);
            if monitor.record(Done { number, begun, done: now }).is_break() {
                break;
            }
        }
        monitor.end
    }

    #[test]
    fn a_seek_for_each_write_is_told_from_a_few_long_waits() {
        assert_eq!(ends((0..20_000).map(|_| 4000)), End::SeekBound);
        // Flash that takes a write in 1.5 ms, and sometimes erases.
        let erases = |nth: u64| if nth % 6000 == 5999 { 340_000 } else { 1500 };
        assert_eq!(ends((0..100_000).map(erases)), End::Exhausted);
    }
}
