//! The plan of a probe: bytes and time, before it begins.
//!
//! The capacity of the buffer is known only during the probe. The plan assumes that of the drive
//! that SAC measured (184,000 entries, 30.3 GB of log; 0.31 ms for a write, 1.5 s for a cleaning),
//! within the limits of the options.

use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;

use crate::bands::MARKS;
use crate::change::real;
use crate::cost::{self, zones};
use crate::distance;
use crate::options::{Options, Writes};
use crate::probe::rough_tries;
use crate::scratch::LARGE_BLOCKS;
use crate::target::Facts;

/// A step of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Describes the step.
    pub what: String,
    /// Prefix of the names of its measurements.
    pub prefix: String,
    /// Number of measurements.
    pub count: u64,
    /// Bytes written, including those that empty the buffer.
    pub written_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Duration.
    pub seconds: f64,
}

/// The expected capacity of the buffer, and the region.
struct Expected<'a> {
    options: &'a Options,
    entries: u64,
    log_blocks: u64,
    region_blocks: u64,
    /// Zones that there is room for.
    zones: u64,
}

const WRITE_S: f64 = 0.000_31;
const STALL_S: f64 = 1.5;
const SEEK_S: f64 = 0.016;
/// Seconds to read or write a block sequentially.
const ORDER_S: f64 = 0.000_022;

/// Makes the steps for a disk.
#[must_use]
pub fn plan(facts: &Facts, options: &Options) -> Vec<Step> {
    let read = (0, 2000 + 4 * 256 * LARGE_BLOCKS);
    let mut steps = vec![step("how it reads", "reads", 1, read, 2000.0 * SEEK_S + 6.0)];
    if facts.zones.is_some() {
        return steps;
    }
    let (far_reads, seconds) = distance::expected(facts.blocks);
    steps.push(step("reads by distance", "distances", 1, (0, far_reads), seconds));
    let expected = Expected::new(facts, options);
    let look = real(expected.entries) * WRITE_S + 40.0 * STALL_S;
    steps.push(step("a first look at writes", "look", 1, (expected.entries, 0), look));
    steps.push(expected.rough());
    steps.push(expected.border());
    for (nth, writes) in options.writes.iter().enumerate() {
        steps.push(expected.capacity(writes, nth == 0));
    }
    steps.push(expected.bands());
    steps.extend(options.coverages.iter().map(|&blocks| expected.cleaning(blocks)));
    let idle = real(options.idle_max) * 2.0 * 8.0;
    steps.push(step("cleaning in idle time", "idle", 1, (40_000, 300), idle + 60.0));
    steps
}

impl Expected<'_> {
    fn new<'a>(facts: &Facts, options: &'a Options) -> Expected<'a> {
        let region_blocks = (options.buffer_max_bytes / BLOCK_BYTES).min(facts.blocks / 4);
        let zones =
            zones(region_blocks, facts.blocks, options.zone_blocks, options.zones, options.seed);
        Expected {
            options,
            entries: 184_000.min(region_blocks / 2),
            log_blocks: (30_300_000_000 / BLOCK_BYTES).min(region_blocks / 10 * 9),
            region_blocks,
            zones: zones.len() as u64,
        }
    }

    /// The step that fills the buffer for the first time, and again with other ends of the region if
    /// what the sweep leaves in it may matter.
    fn rough(&self) -> Step {
        let tries = rough_tries(self.entries, self.options);
        let (written, seconds) = self.filled(1, self.emptied(self.region_blocks));
        let (again, seconds_again) = self.filled(1, self.swept());
        let written = written + (tries - 1) * again;
        let seconds = seconds + real(tries - 1) * seconds_again;
        step("a rough capacity", "rough", tries, (written, 0), seconds)
    }

    /// The step that finds where the region ends: roughly, then to the block.
    fn border(&self) -> Step {
        let surveyed = self.surveyed(self.region_blocks, 1);
        let (written, read, seconds) = surveyed;
        let count = 2 * u64::from(self.marks() <= self.entries);
        let blocks = (count * written, count * read);
        step("where the region ends", "border", count, blocks, real(count) * seconds)
    }

    /// The step that looks for bands, and then for their borders more closely.
    fn bands(&self) -> Step {
        let sites = self.options.sites;
        let rounds = match self.marks() <= self.entries {
            true => (sites * self.marks()).div_ceil((self.entries / 2).max(1)) + 1,
            false => 0,
        };
        let log_blocks = self.log_blocks / 10 * 11;
        let (written, read, seconds) = self.surveyed(log_blocks, sites.div_ceil(rounds.max(1)));
        let blocks = (rounds * written, rounds * read);
        step("bands", "bands", rounds, blocks, real(rounds) * seconds)
    }

    /// Blocks written for a place where a band is looked for.
    fn marks(&self) -> u64 {
        2 * self.options.half_blocks() / self.options.step_blocks() * MARKS
    }

    /// Blocks written and read, and seconds, to look for bands at `sites` places in one round.
    fn surveyed(&self, log_blocks: u64, sites: u64) -> (u64, u64, f64) {
        let (written, seconds) = self.emptied(log_blocks);
        // A mark is a trip to the buffer and back; all is read twice.
        let seeks = real(2 * sites * self.marks()) * SEEK_S;
        let filled = real(self.entries) * WRITE_S + STALL_S * real(sites);
        let read = sites * 2 * self.options.half_blocks() * 2;
        (written + self.entries, read, seconds + filled + seeks)
    }

    /// The step that fills the buffer with such writes.
    fn capacity(&self, writes: &Writes, first: bool) -> Step {
        let emptied = if first { self.emptied(self.region_blocks) } else { self.swept() };
        let (written, seconds) = self.filled(writes.blocks, emptied);
        let bytes = writes.blocks * BLOCK_BYTES;
        let what = format!("capacity, {} writes, {} at once", show_bytes(bytes), writes.depth);
        let prefix = format!("capacity, {bytes} bytes, depth {},", writes.depth);
        step(&what, &prefix, 1, (written, 0), seconds)
    }

    /// The step that cleans zones of which `blocks` blocks are written.
    fn cleaning(&self, blocks: u64) -> Step {
        let room = cost::room(self.entries, blocks);
        let rounds = if room == 0 { 0 } else { self.zones.div_ceil(room).min(cost::ROUNDS_MAX) };
        let zones = self.zones.min(rounds * room);
        let (written, time) = self.swept();
        let cleaning = real(zones) * (0.6 + 0.0024 * real(blocks));
        let seconds = real(rounds) * (time + real(self.entries) * WRITE_S) + cleaning;
        let written = rounds * (written + self.entries);
        let what = format!("R({blocks}), zones of which {blocks} blocks are written");
        step(&what, &format!("R({blocks})"), rounds, (written, 0), seconds)
    }

    /// Blocks and seconds to empty the buffer of blocks of the region.
    fn swept(&self) -> (u64, f64) {
        (self.region_blocks, real(self.region_blocks) * ORDER_S)
    }

    /// Blocks and seconds to empty the buffer of anything, if its log may have `log_blocks`.
    fn emptied(&self, log_blocks: u64) -> (u64, f64) {
        let blocks = self.region_blocks + log_blocks;
        (blocks, real(blocks) * ORDER_S + 200.0 * STALL_S)
    }

    /// Blocks and seconds to fill the buffer with writes of `blocks`, after it has been emptied.
    fn filled(&self, blocks: u64, (written, seconds): (u64, f64)) -> (u64, f64) {
        let writes = self.entries.min(self.log_blocks / blocks);
        let each = WRITE_S + ORDER_S * real(blocks - 1);
        (written + writes * blocks, seconds + real(writes) * each + 40.0 * STALL_S)
    }
}

fn step(what: &str, prefix: &str, count: u64, (written, read): (u64, u64), seconds: f64) -> Step {
    let (written_bytes, read_bytes) = (written * BLOCK_BYTES, read * BLOCK_BYTES);
    let (what, prefix) = (what.to_owned(), prefix.to_owned());
    Step { what, prefix, count, written_bytes, read_bytes, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_all_that_is_measured() {
        let facts =
            Facts { name: "disk".into(), serial: "S".into(), blocks: 2_000_000_000, zones: None };
        let options = Options::default();
        let steps = plan(&facts, &options);
        for name in [
            "reads",
            "distances",
            "look",
            "rough capacity, try 0",
            "border, roughly",
            "capacity, 8192 bytes, depth 32, try 1",
            "bands, round 0, attempt 0",
            "R(2500), round 3",
            "idle",
        ] {
            let of_it = steps.iter().filter(|step| name.starts_with(&step.prefix));
            assert_eq!(of_it.count(), 1, "{name}");
        }
        assert!(steps.windows(2).all(|pair| pair[0].what != pair[1].what), "{steps:?}");
        // SAC's row of 256 KB: 30.3 GB at 452 writes/s take 256 s, here 230 s; the sweep of 43 GB
        // as long.
        let row = steps.iter().rfind(|step| step.prefix.starts_with("capacity")).expect("rows");
        assert!((450.0..600.0).contains(&row.seconds), "{row:?}");
        assert_eq!(row.written_bytes / 1_000_000_000, 43 + 30);
        // With a small buffer a coverage ends after so many rounds, and a small disk has few zones.
        let measured = |facts: &Facts, options: &Options| -> Vec<u64> {
            let steps = plan(facts, options);
            let of_costs = steps.iter().filter(|step| step.prefix.starts_with('R'));
            of_costs.map(|step| step.count).collect()
        };
        assert_eq!(measured(&facts, &options), [1, 2, 3, 4, 5]);
        let narrow = Options { buffer_max_bytes: 64 << 20, ..Options::default() };
        assert_eq!(measured(&facts, &narrow), [19, 24, 24, 24, 24]);
        let small = Facts { blocks: (256 << 20) / BLOCK_BYTES, ..facts.clone() };
        assert_eq!(measured(&small, &options), [1; 5]);
        let zones = Some(crate::target::Zones { required: true, zone_blocks: 65_536, count: 100 });
        assert_eq!(plan(&Facts { zones, ..facts }, &options).len(), 1);
    }
}
