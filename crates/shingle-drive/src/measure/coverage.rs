//! Drive time of a zone of which `x` blocks are written: `R(x)` (SAC §4.4, Figure 10).
//!
//! The paper says little about its workload: requests are written at band coverages of 500 to
//! 2,500 blocks, and the mean cost at each coverage goes into a linear regression. Here a zone of
//! 5,000 blocks (20.48 MB, SAC §5.2) has `x` of its blocks written, drawn at random, each once, all of
//! them before the host turns to other zones, so that the buffer holds them together. Nothing
//! counts until the buffer has been full once (and on drives that expose zones all of them have been
//! written). From then on all the drive's time counts, writes to
//! the log and cleaning, and is divided by the zones written: in the steady state one zone leaves
//! the buffer for each that enters.
//!
//! What the paper leaves open is an option of [`Plan`], and matters (`docs/drives.md`): where the
//! zones lie, and in which order a zone is written.

use crate::drive::Drive;
use crate::io::Io;
use crate::measure::load::write_zones;
use crate::parts::rng::Rng;
use shingle_core::units::{Block, Nanos, Op};

/// Where the zones lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Drawn from the whole drive, as a cache chooses its zones: few bands hold two of them.
    Scattered,
    /// One after another from the start of the drive: neighbours share bands.
    Adjacent,
}

/// The order in which the blocks of a zone are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// As drawn, as in a cache that evicts by age.
    Random,
    /// By address.
    Ascending,
}

/// The plan of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Blocks in a zone.
    pub zone_blocks: u64,
    /// Blocks written of each zone; one measurement each.
    pub coverages: Vec<u64>,
    /// Where the zones lie.
    pub placement: Placement,
    /// The order in which the blocks of a zone are written.
    pub sequence: Sequence,
    /// Number of times that the buffer is filled while time counts.
    pub fills: u64,
    /// Seed of the choice of zones and blocks.
    pub seed: u64,
}

impl Default for Plan {
    /// The plan with which sheets are measured.
    fn default() -> Plan {
        Plan {
            zone_blocks: 5000,
            coverages: vec![500, 1000, 1500, 2000, 2500],
            placement: Placement::Scattered,
            sequence: Sequence::Random,
            fills: 3,
            seed: 1,
        }
    }
}

/// A write that waited for cleaning: a peak of SAC's Figure 10 (a).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peak {
    /// Number of the write since time counts.
    pub write: u64,
    /// When it began, since time counts.
    pub at: Nanos,
    /// Its total time.
    pub latency: Nanos,
}

/// Peaks of neighbouring writes, as clusters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clusters {
    /// Number of clusters.
    pub count: u64,
    /// Mean time a cluster lasts, in seconds.
    pub length_s: f64,
    /// Mean time between two clusters, in seconds.
    pub gap_s: f64,
    /// Mean number of writes between two clusters.
    pub gap_writes: f64,
}

/// The results at one coverage.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// Blocks written of each zone.
    pub blocks: u64,
    /// Zones written while time counted.
    pub zones: u64,
    /// Drive time.
    pub time: Nanos,
    /// Part of it spent on writing to the log.
    pub log_time: Nanos,
    /// Part of it spent on cleaning.
    pub clean_time: Nanos,
    /// Bands cleaned.
    pub cleanings: u64,
    /// Every write that waited for cleaning.
    pub peaks: Vec<Peak>,
}

impl Coverage {
    /// Returns the drive time of a zone, in milliseconds: a point of SAC's Figure 10 (b).
    #[must_use]
    pub fn zone_ms(&self) -> f64 {
        self.time.as_secs_f64() * 1e3 / self.zones.max(1) as f64
    }

    /// Returns the peaks as clusters: those of neighbouring writes form one.
    #[must_use]
    pub fn clusters(&self) -> Clusters {
        let clusters: Vec<&[Peak]> =
            self.peaks.chunk_by(|one, next| one.write + 1 == next.write).collect();
        let end = |peak: &Peak| peak.at + peak.latency;
        let length: Nanos =
            clusters.iter().map(|peaks| end(&peaks[peaks.len() - 1]).since(peaks[0].at)).sum();
        let between = clusters.windows(2).map(|pair| (&pair[0][pair[0].len() - 1], &pair[1][0]));
        let gap: Nanos = between.clone().map(|(last, next)| next.at.since(end(last))).sum();
        let gap_writes: u64 = between.map(|(last, next)| next.write - last.write - 1).sum();
        let count = clusters.len() as u64;
        let gaps = count.saturating_sub(1).max(1) as f64;
        Clusters {
            count,
            length_s: length.as_secs_f64() / count.max(1) as f64,
            gap_s: gap.as_secs_f64() / gaps,
            gap_writes: gap_writes as f64 / gaps,
        }
    }
}

/// Measures one coverage of `plan` on a new drive. `None` if the buffer never gets full: the zones
/// have fewer blocks than it holds, so writes replace older copies.
pub(crate) fn coverage(drive: Box<dyn Drive>, plan: &Plan, blocks: u64) -> Option<Coverage> {
    let buffer_blocks = drive.description().buffer_blocks;
    let mut writer = Writer::new(drive, plan, blocks);
    let before = writer.drive.counters().written_blocks;
    while !writer.drive.buffer().was_full {
        if writer.drive.counters().written_blocks - before > 10 * buffer_blocks {
            return None;
        }
        writer.write_zone(&mut |_, _, _| ());
    }
    let (start, counters) = (writer.now, *writer.drive.counters());
    let (mut peaks, mut writes) = (Vec::new(), 0);
    let mut zones = 0;
    while writes < plan.fills * buffer_blocks {
        writer.write_zone(&mut |at, done, waited| {
            if waited > Nanos::ZERO {
                peaks.push(Peak { write: writes, at: at.since(start), latency: done.since(at) });
            }
            writes += 1;
        });
        zones += 1;
    }
    let now = writer.drive.counters();
    Some(Coverage {
        blocks,
        zones,
        time: writer.now.since(start),
        log_time: now.log_time.since(counters.log_time),
        clean_time: now.clean_time.since(counters.clean_time),
        cleanings: now.rmw + now.rmw_free - counters.rmw - counters.rmw_free,
        peaks,
    })
}

/// The host of the experiment.
struct Writer<'a> {
    drive: Box<dyn Drive>,
    plan: &'a Plan,
    coverage: u64,
    now: Nanos,
    rng: Rng,
    /// All zones, in the order they are written.
    zones: Vec<u32>,
    next_zone: usize,
    /// All blocks of a zone, relative to its first; drawn ones are moved to the front.
    inside: Vec<u64>,
}

impl Writer<'_> {
    fn new(mut drive: Box<dyn Drive>, plan: &Plan, coverage: u64) -> Writer<'_> {
        let now = write_zones(drive.as_mut());
        let zones = drive.description().disk_blocks / plan.zone_blocks;
        let mut zones: Vec<u32> = (0..u32::try_from(zones).unwrap_or(u32::MAX)).collect();
        let mut rng = Rng::new(plan.seed);
        if plan.placement == Placement::Scattered {
            let all = zones.len();
            draw(&mut zones, all, &mut rng);
        }
        let inside = (0..plan.zone_blocks).collect();
        Writer { drive, plan, coverage, now, rng, zones, next_zone: 0, inside }
    }

    /// Writes the blocks of the next zone. Calls `seen` for each write with its start, its completion,
    /// and the time it waited for cleaning.
    fn write_zone(&mut self, seen: &mut dyn FnMut(Nanos, Nanos, Nanos)) {
        let coverage = self.coverage as usize;
        let first = u64::from(self.zones[self.next_zone]) * self.plan.zone_blocks;
        self.next_zone = (self.next_zone + 1) % self.zones.len();
        draw(&mut self.inside, coverage, &mut self.rng);
        if self.plan.sequence == Sequence::Ascending {
            self.inside[..coverage].sort_unstable();
        }
        for inside in &self.inside[..coverage] {
            let io = Io { op: Op::Write, block: Block(first + inside), count: 1 };
            let served = self.drive.serve(self.now, &io, &mut []);
            seen(self.now, served.done, served.clean);
            self.now = served.done;
        }
    }
}

/// Moves `count` items, drawn at random, to the front (Fisher and Yates).
fn draw<T>(items: &mut [T], count: usize, rng: &mut Rng) {
    for at in 0..count {
        let other = at + rng.below((items.len() - at) as u64) as usize;
        items.swap(at, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_by_hand() {
        let peak = |write, at, latency| Peak { write, at: Nanos(at), latency: Nanos(latency) };
        let second = 1_000_000_000;
        let coverage = Coverage {
            blocks: 1,
            zones: 4,
            time: Nanos(20 * second),
            log_time: Nanos::ZERO,
            clean_time: Nanos::ZERO,
            cleanings: 0,
            peaks: vec![
                peak(3, 10 * second, second),
                peak(4, 11 * second, 2 * second),
                peak(8, 15 * second, second),
            ],
        };
        // 10 to 13 and 15 to 16: 3 s and 1 s long, 2 s and writes 5, 6, 7 between them.
        let seen = coverage.clusters();
        assert_eq!(seen, Clusters { count: 2, length_s: 2.0, gap_s: 2.0, gap_writes: 3.0 });
        assert_eq!(coverage.zone_ms(), 5000.0);
    }

    #[test]
    fn draws_are_distinct() {
        let mut items: Vec<u32> = (0..100).collect();
        draw(&mut items, 60, &mut Rng::new(3));
        let mut drawn = items[..60].to_vec();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 60);
        assert_ne!(drawn, (0..60).collect::<Vec<u32>>());
    }
}
