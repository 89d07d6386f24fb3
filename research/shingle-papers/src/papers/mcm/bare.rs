//! Measurements of the traces and of the bare disk: MCM's Table I and the left of Figure 3.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;
use shingle_drive::{self as drives, Io, Overrides, Settings};
use shingle_trace::summary::PerOp;

use crate::measured::{Bench, MeasureError, Measured};
use crate::papers::written::Written;
use shingle_report::chart::Kind;

/// MCM's disk. In its simulation a write completes only when it is on the disk.
const DISK: &str = "st5000as0011";

fn settings() -> Settings {
    let overrides = Overrides::new().with("write_cache", "off").with("idle_cleaning", "off");
    Settings { overrides, ..Settings::default() }
}

/// Table I: requests, writes, sequential writes by the bands of the disk, updates.
pub(super) fn table_1(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let disk = drives::make(DISK, &settings())?;
    let bands = disk.description().bands.as_ref().expect("a shingled disk has bands");
    let mut measured = Measured::default();
    for &name in names {
        let (mut counts, mut writes) = (PerOp::default(), Writes::new(bands));
        bench.each_request(name, |request| {
            counts.add(request.op, 1);
            if request.op == Op::Write {
                writes.add(request.first().0, request.blocks());
            }
        })?;
        writes.end();
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        let of_writes = |part: u64| percent(part, counts.write);
        measured.number(format!("{name}: requests"), (counts.read + counts.write) as f64);
        measured.number(
            format!("{name}: writes (% of requests)"),
            percent(counts.write, counts.read + counts.write),
        );
        measured.number(format!("{name}: sequential (% of writes)"), of_writes(writes.sequential));
        measured.number(format!("{name}: updates (% of writes)"), of_writes(writes.updates));
        let blocks = percent(writes.written.again, writes.written.blocks);
        measured.number(format!("{name}: updates (% of written blocks)"), blocks);
    }
    Ok(measured)
}

struct Writes<'a> {
    bands: &'a ZoneMap,
    band: Option<Zone>,
    run: u64,
    written: Written,
    /// Writes in finished runs of three or more in a band (§III-B.a).
    sequential: u64,
    /// Writes of which some block was written before.
    updates: u64,
}

impl Writes<'_> {
    fn new(bands: &ZoneMap) -> Writes<'_> {
        Writes { bands, band: None, run: 0, written: Written::default(), sequential: 0, updates: 0 }
    }

    fn add(&mut self, first: u64, blocks: u64) {
        let band = self.bands.zone(Block(first));
        if self.band != Some(band) {
            self.end();
            self.band = Some(band);
        }
        self.run += 1;
        self.updates += u64::from(self.written.add(first, blocks) > 0);
    }

    fn end(&mut self) {
        self.sequential += if self.run < 3 { 0 } else { self.run };
        self.run = 0;
    }
}

/// Points of a line of Figure 3, each the slowest of the same number of requests.
const POINTS: usize = 500;

/// Figure 3, left: the latency of I/Os at the bare disk.
pub(super) fn figure_3(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let mut lines = Vec::new();
    for &name in names {
        let latencies = latencies(bench, name)?;
        let seconds = |nanos: &Nanos| nanos.as_secs_f64();
        let slowest = latencies.iter().max().map_or(0.0, seconds);
        let mean = latencies.iter().map(seconds).sum::<f64>() / latencies.len().max(1) as f64;
        let over = latencies.iter().filter(|latency| seconds(latency) >= 1.0).count();
        measured.number(format!("{name}: slowest (s)"), slowest);
        measured.number(format!("{name}: mean (ms)"), 1e3 * mean);
        measured.number(
            format!("{name}: a second or more (% of requests)"),
            100.0 * over as f64 / latencies.len().max(1) as f64,
        );
        let each = latencies.len().div_ceil(POINTS).max(1);
        let points = latencies
            .chunks(each)
            .enumerate()
            .map(|(nth, chunk)| ((nth * each) as f64, chunk.iter().max().map_or(0.0, seconds)));
        lines.push((name.to_owned(), points.collect()));
    }
    let kind = Kind::Numbers { x_label: "requests".into(), series: lines, points: false };
    measured.picture("latency", "Slowest of each 1/500 of the requests (s)", kind);
    Ok(measured)
}

/// The time from the arrival of each request to its end, with the wait for earlier requests.
fn latencies(bench: &Bench, name: &str) -> Result<Vec<Nanos>, MeasureError> {
    let mut disk = drives::make(DISK, &settings())?;
    let (mut latencies, mut free) = (Vec::new(), Nanos::ZERO);
    bench.each_request(name, |request| {
        let io = Io { op: request.op, block: request.first(), count: request.blocks() };
        free = disk.serve(request.at.max(free), &io, &mut []).done;
        latencies.push(free.since(request.at));
    })?;
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_the_paper_and_updates_by_hand() {
        let bands = ZoneMap::fixed(120, 1_200);
        let mut writes = Writes::new(&bands);
        // §III-B: A is random, B, C and D are sequential, E, H and K random.
        for first in [101, 201, 202, 203, 301, 380, 390] {
            writes.add(first, 1);
        }
        writes.end();
        assert_eq!((writes.sequential, writes.updates, writes.written.blocks), (3, 0, 7));
        // Half of the blocks are new; one block is written again; all blocks are new.
        for (first, blocks) in [(203, 2), (203, 1), (500, 3)] {
            writes.add(first, blocks);
        }
        writes.end();
        assert_eq!((writes.updates, writes.written.blocks, writes.written.again), (2, 13, 2));
    }
}
