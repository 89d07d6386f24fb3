//! What Amphisbaena shows of its traces: Table 3, and Figures 2 and 3.

use shingle_core::units::{BLOCK_BYTES, Op};
use shingle_trace::distance::Distances;
use shingle_trace::summary::PerOp;

use crate::measured::{Bench, MeasureError, Measured};
use crate::papers::written::{LARGE_ZONE_BLOCKS, Written};
use shingle_report::chart::Kind;

/// Sectors of a block.
const BLOCK_SECTORS: u64 = BLOCK_BYTES / 512;

/// Traces that are drawn: two, as in the paper, one even and one with large writes.
const DRAWN: [&str; 2] = ["hm_0", "src2_2"];

/// How many points a picture has of each trace, at most.
const POINTS: usize = 2_000;

/// Table 3: requests, write ratio, update ratio, write range, average write.
pub(super) fn table_3(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    for &name in names {
        let mut source = bench.papers.requests(name)?;
        let (mut batch, mut counts) = (Vec::new(), PerOp::default());
        let mut writes = Written::default();
        while source.fill(&mut batch)? {
            for request in &batch {
                counts.add(request.op, 1);
                if request.op == Op::Write {
                    writes.add(request.first().0, request.blocks());
                }
            }
            (bench.progress)(batch.len() as u64);
        }
        let all = (counts.read + counts.write) as f64;
        let mut number = |what: &str, value: f64| measured.number(format!("{name}: {what}"), value);
        number("total requests (M)", all / 1e6);
        number("write ratio (%)", 100.0 * counts.write as f64 / all);
        number("update ratio (%)", 100.0 * writes.again as f64 / writes.blocks as f64);
        number("write range (zones)", writes.large_zones() as f64);
        let sectors = writes.blocks * BLOCK_SECTORS;
        number("average write (sectors)", sectors as f64 / counts.write as f64);
    }
    Ok(measured)
}

/// Figure 2: how many other blocks are written between two writes of a block, on average, and how many
/// writes each block gets. Short is what is less than the paper's buffer, 1 % of the zones written.
pub(super) fn figure_2(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let mut series = Vec::new();
    for &name in names {
        let mut periods = Periods::default();
        let mut writes = Written::default();
        let mut source = bench.papers.requests(name)?;
        let mut batch = Vec::new();
        while source.fill(&mut batch)? {
            for request in batch.iter().filter(|request| request.op == Op::Write) {
                writes.add(request.first().0, request.blocks());
                (0..request.blocks()).for_each(|nth| periods.add(request.first().after(nth)));
            }
            (bench.progress)(batch.len() as u64);
        }
        let buffer = writes.large_zones() as u64 * LARGE_ZONE_BLOCKS / 100;
        let parts = periods.parts(buffer);
        let mut number = |what: &str, value: f64| measured.number(format!("{name}: {what}"), value);
        number("buffer (blocks)", buffer as f64);
        number(SHORT, parts.short);
        number(SHORT_ONCE, parts.short_once);
        number(LONG_OFTEN, parts.long_often);
        if DRAWN.contains(&name) {
            series.push((name.to_owned(), thinned(periods.points())));
        }
    }
    let kind = Kind::Numbers {
        x_label: "average update period (blocks); upwards: writes of a block".into(),
        series,
        points: true,
    };
    measured.picture("periods", "Update periods of updated blocks", kind);
    Ok(measured)
}

/// Names of the numbers of Figure 2.
pub(super) const SHORT: &str = "short periods (% of updated blocks)";
pub(super) const SHORT_ONCE: &str = "of these, updated once (%)";
pub(super) const LONG_OFTEN: &str = "of those with long periods, updated more than twice (%)";

/// Update periods of blocks, by the order of their first write.
#[derive(Default)]
struct Periods {
    distances: Distances,
    /// Sum of the periods of a block, and how often it was updated.
    sums: Vec<(u64, u32)>,
}

/// In per cent.
struct Parts {
    short: f64,
    short_once: f64,
    long_often: f64,
}

impl Periods {
    fn add(&mut self, block: shingle_core::units::Block) {
        match self.distances.touch(block) {
            (_, None) => self.sums.push((0, 0)),
            (number, Some(distance)) => {
                let sum = &mut self.sums[number as usize];
                *sum = (sum.0 + distance, sum.1 + 1);
            }
        }
    }

    /// Average period and updates of each updated block.
    fn updated(&self) -> impl Iterator<Item = (f64, u32)> + '_ {
        let updated = self.sums.iter().filter(|sum| sum.1 > 0);
        updated.map(|&(sum, updates)| (sum as f64 / f64::from(updates), updates))
    }

    fn parts(&self, buffer: u64) -> Parts {
        let [mut short, mut once, mut long, mut often] = [0u64; 4];
        for (period, updates) in self.updated() {
            if period < buffer as f64 {
                short += 1;
                once += u64::from(updates == 1);
            } else {
                long += 1;
                often += u64::from(updates > 2);
            }
        }
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        Parts {
            short: percent(short, short + long),
            short_once: percent(once, short),
            long_often: percent(often, long),
        }
    }

    /// Average period, and writes: one more than updates.
    fn points(&self) -> Vec<(f64, f64)> {
        self.updated().map(|(period, updates)| (period, f64::from(updates) + 1.0)).collect()
    }
}

/// Name of the number of Figure 3.
pub(super) const SPAN: &str = "zones written in a tenth of the time (%)";

/// Figure 3: which blocks are written in the course of the trace.
pub(super) fn figure_3(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let mut series = Vec::new();
    for &name in names {
        let mut source = bench.papers.requests(name)?;
        let (mut batch, mut points) = (Vec::new(), Vec::new());
        while source.fill(&mut batch)? {
            for request in batch.iter().filter(|request| request.op == Op::Write) {
                points.push((points.len() as f64, request.first().0 as f64));
            }
            (bench.progress)(batch.len() as u64);
        }
        // Of a tenth of the trace each: the zones it writes, of those that all of it writes.
        let zone = |point: &(f64, f64)| point.1 as u64 / LARGE_ZONE_BLOCKS;
        let zones = |points: &[(f64, f64)]| {
            points.iter().map(zone).collect::<std::collections::BTreeSet<u64>>().len() as f64
        };
        let all = zones(&points);
        let tenths = points.chunks(points.len().div_ceil(10).max(1));
        let each: Vec<f64> = tenths.map(zones).collect();
        let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
        measured.number(format!("{name}: {SPAN}"), 100.0 * mean / all);
        if DRAWN.contains(&name) {
            series.push((name.to_owned(), thinned(points)));
        }
    }
    let kind = Kind::Numbers {
        x_label: "writes so far; upwards: the block written".into(),
        series,
        points: true,
    };
    measured.picture("range", "Which blocks are written", kind);
    Ok(measured)
}

/// Points at equal distances in their order.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS).max(1);
    points.into_iter().step_by(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::Block;

    #[test]
    fn update_periods_by_hand() {
        let mut periods = Periods::default();
        // 1: after two others and after none: 1 on average; 2: after two; 3 and 4: never again.
        for block in [1, 2, 3, 1, 1, 2, 4] {
            periods.add(Block(block));
        }
        let updated: Vec<_> = periods.updated().collect();
        assert_eq!(updated, [(1.0, 2), (2.0, 1)]);
        assert_eq!(periods.points(), [(1.0, 3.0), (2.0, 2.0)]);
        let parts = periods.parts(2);
        assert!((parts.short - 50.0).abs() < 1e-9, "a period as long as the buffer is long");
        assert!(parts.short_once.abs() < 1e-9 && parts.long_often.abs() < 1e-9);
        let parts = periods.parts(3);
        assert!((parts.short - 100.0).abs() < 1e-9 && (parts.short_once - 50.0).abs() < 1e-9);
        assert!(parts.long_often.is_nan(), "none is long");
    }
}
