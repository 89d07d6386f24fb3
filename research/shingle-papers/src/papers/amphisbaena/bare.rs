//! Measurements of the traces: Amphisbaena's Table 3, and Figures 2 and 3.

use shingle_core::units::{BLOCK_BYTES, Op};
use shingle_trace::analysis::POINTS;
use shingle_trace::analysis::periods::Periods;
use shingle_trace::analysis::range::WriteRange;
use shingle_trace::distance::Distances;
use shingle_trace::summary::PerOp;
use shingle_trace::zones::LARGE_ZONE_BLOCKS;

use crate::measured::{Bench, MeasureError, Measured};
use crate::papers::written::Written;
use shingle_report::chart::Kind;

const BLOCK_SECTORS: u64 = BLOCK_BYTES / 512;

/// The traces in the pictures: two, as in the paper, one with even and one with large writes.
const DRAWN: [&str; 2] = ["hm_0", "src2_2"];

/// Table 3: requests, write ratio, update ratio, write range, average write.
pub(super) fn table_3(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    for &name in names {
        let (mut counts, mut writes) = (PerOp::default(), Written::default());
        bench.each_request(name, |request| {
            counts.add(request.op, 1);
            if request.op == Op::Write {
                writes.add(request.first().0, request.blocks());
            }
        })?;
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

/// Figure 2: the number of other blocks written between two writes of a block, on average, and the
/// number of writes of each block. A period is short if it is below the size of the paper's buffer,
/// 1 % of the written zones.
pub(super) fn figure_2(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let mut series = Vec::new();
    for &name in names {
        let (mut distances, mut periods) = (Distances::new(), Periods::default());
        let mut writes = Written::default();
        bench.each_request(name, |request| {
            if request.op == Op::Write {
                writes.add(request.first().0, request.blocks());
                for nth in 0..request.blocks() {
                    let (number, period) = distances.touch(request.first().after(nth));
                    periods.add(number, period);
                }
            }
        })?;
        let buffer = writes.large_zones() as u64 * LARGE_ZONE_BLOCKS / 100;
        let parts = periods.parts(buffer);
        let mut number = |what: &str, value: f64| measured.number(format!("{name}: {what}"), value);
        number("buffer (blocks)", buffer as f64);
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        number(SHORT, percent(parts.short, parts.short + parts.long));
        number(SHORT_ONCE, percent(parts.short_once, parts.short));
        number(LONG_OFTEN, percent(parts.long_often, parts.long));
        if DRAWN.contains(&name) {
            series.push((name.to_owned(), periods.points(POINTS)));
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

/// Name of the number of Figure 3.
pub(super) const SPAN: &str = "zones written in a tenth of the time (%)";

/// Figure 3: which blocks are written over the course of the trace.
pub(super) fn figure_3(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let mut series = Vec::new();
    for &name in names {
        let mut blocks = Vec::new();
        bench.each_request(name, |request| {
            blocks.extend((request.op == Op::Write).then_some(request.first().0));
        })?;
        // The tenths are known only after all writes.
        let mut range = WriteRange::new(blocks.len(), POINTS);
        blocks.into_iter().for_each(|block| range.add(block));
        let zones = range.part_zones().unwrap_or(f64::NAN);
        measured.number(format!("{name}: {SPAN}"), 100.0 * zones);
        if DRAWN.contains(&name) {
            series.push((name.to_owned(), range.points().to_vec()));
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
