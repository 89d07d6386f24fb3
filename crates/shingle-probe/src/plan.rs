//! What a probe will do to a disk: bytes and time, before it begins.
//!
//! How large the buffer is shows in the course of it only. The expected figures are those of the drive
//! that SAC measured (184,000 entries, 30.3 GB of log; 0.31 ms a write, 1.5 s a cleaning), as far as
//! the options let it be that large.

use shingle_core::units::BLOCK_BYTES;

use crate::bands::MARKS;
use crate::change::real;
use crate::ground::LARGE_BLOCKS;
use crate::options::Options;
use crate::target::Facts;

/// A step of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is done.
    pub what: &'static str,
    /// How the names of its measurements begin.
    pub prefix: &'static str,
    /// Measurements.
    pub count: u64,
    /// Bytes written, with emptying the buffer.
    pub written_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time.
    pub seconds: f64,
}

/// What is expected of a drive.
struct Expected {
    entries: u64,
    log_blocks: u64,
    region_blocks: u64,
}

const WRITE_S: f64 = 0.000_31;
const STALL_S: f64 = 1.5;
const SEEK_S: f64 = 0.016;
/// A block in order.
const ORDER_S: f64 = 0.000_022;

/// The steps for a disk.
#[must_use]
pub fn plan(facts: &Facts, options: &Options) -> Vec<Step> {
    let region_blocks = (options.buffer_max_bytes / BLOCK_BYTES).min(facts.blocks / 4);
    let expected = Expected {
        entries: 184_000.min(region_blocks / 2),
        log_blocks: (30_300_000_000 / BLOCK_BYTES).min(region_blocks / 10 * 9),
        region_blocks,
    };
    let reads =
        step("how it reads", "reads", 1, (0, 2000 + 4 * 256 * LARGE_BLOCKS), 2000.0 * SEEK_S + 6.0);
    if facts.zones.is_some() {
        return vec![reads];
    }
    let rounds = |sites: u64, marks: u64| (sites * marks).div_ceil(expected.entries / 2).max(1);
    let wide = 2 * options.half_blocks() / options.step_blocks() * MARKS;
    let places = |sites: u64, marks: u64, prefix, what| {
        let rounds = rounds(sites, marks);
        let (written, time) = expected.emptied();
        let read = sites * 2 * options.half_blocks() * 2;
        let fill = expected.entries;
        let seconds = time + real(fill) * WRITE_S + STALL_S * real(sites) / real(rounds);
        let seeks = real(2 * sites * marks) * SEEK_S;
        step(
            what,
            prefix,
            rounds,
            (rounds * (written + fill), read),
            seconds * real(rounds) + seeks,
        )
    };
    let mut steps = vec![reads];
    let look = expected.entries;
    steps.push(step(
        "a first look at writes",
        "look",
        1,
        (look, 0),
        real(look) * WRITE_S + 40.0 * STALL_S,
    ));
    steps.push(expected.fill("a rough capacity", "rough", 1, 1, expected.emptied()));
    steps.push(places(1, wide, "border", "where the region ends"));
    for writes in &options.writes {
        let from = expected.swept();
        steps.push(expected.fill("capacity", "capacity", 1, writes.blocks, from));
    }
    steps.push(places(options.sites, wide, "bands", "bands"));
    let zones = options.zones;
    for &blocks in &options.coverages {
        let (written, time) = expected.swept();
        let rounds = (zones * blocks).div_ceil(expected.entries / 5 * 4).max(1);
        let cleaning = real(zones) * (0.6 + 0.0024 * real(blocks));
        let seconds = real(rounds) * (time + real(expected.entries) * WRITE_S) + cleaning;
        let written = rounds * (written + expected.entries);
        steps.push(step("R(x)", "R(", rounds, (written, 0), seconds));
    }
    let idle = real(options.idle_max) * 2.0 * 8.0;
    steps.push(step("cleaning in idle time", "idle", 1, (40_000, 300), idle + 60.0));
    steps
}

impl Expected {
    /// Blocks and seconds of emptying the buffer of the region.
    fn swept(&self) -> (u64, f64) {
        (self.region_blocks, real(self.region_blocks) * ORDER_S)
    }

    /// Blocks and seconds of emptying it of anything.
    fn emptied(&self) -> (u64, f64) {
        let blocks = self.region_blocks + self.log_blocks;
        (blocks, real(blocks) * ORDER_S + 200.0 * STALL_S)
    }

    /// Filling it after it has been emptied.
    fn fill(
        &self,
        what: &'static str,
        prefix: &'static str,
        count: u64,
        blocks: u64,
        (written, seconds): (u64, f64),
    ) -> Step {
        let writes = self.entries.min(self.log_blocks / blocks);
        let each = WRITE_S + ORDER_S * real(blocks - 1);
        let time = seconds + real(writes) * each + 40.0 * STALL_S;
        step(what, prefix, count, (written + writes * blocks, 0), time)
    }
}

fn step(
    what: &'static str,
    prefix: &'static str,
    count: u64,
    (written, read): (u64, u64),
    seconds: f64,
) -> Step {
    let (written_bytes, read_bytes) = (written * BLOCK_BYTES, read * BLOCK_BYTES);
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
        for prefix in ["reads", "look", "rough", "border", "capacity", "bands", "R(", "idle"] {
            assert!(steps.iter().any(|step| step.prefix == prefix), "{prefix}");
        }
        // SAC's row of 256 KB: 30.3 GB at 452 a second are 256 s, ours 230; the sweep of 43 GB as much.
        let row = steps.iter().rfind(|step| step.prefix == "capacity").expect("rows");
        assert!((450.0..600.0).contains(&row.seconds), "{row:?}");
        assert_eq!(row.written_bytes / 1_000_000_000, 43 + 30);
        let zones = Some(crate::target::Zones { required: true, zone_blocks: 65_536, count: 100 });
        assert_eq!(plan(&Facts { zones, ..facts }, &options).len(), 1);
    }
}
