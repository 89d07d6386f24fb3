//! Measurements without a cache: bare drives, and the traces themselves.

use rayon::prelude::*;
use shingle_core::units::{Block, Op};
use shingle_drive::Settings;
use shingle_drive::measure::experiments::sac::Start;
use shingle_drive::measure::experiments::{Series, pore, sac};
use shingle_drive::measure::{Plan, rmw};
use shingle_result::Pacing;
use shingle_trace::Mode;
use shingle_trace::analysis::starts::Starts;
use shingle_trace::papers::{Packed, Papers};
use shingle_trace::summary::PerOp;
use shingle_trace::volumes;

use crate::grid::Sets;
use crate::measured::{Bench, MeasureError, Measured};
use crate::traces::{Wanted, blocks, hold, volume};
use shingle_report::chart::Kind;

const SMR_8TB: &str = "st8000as0002";
const SMR_5TB: &str = "st5000as0011";
const CMR_5TB: &str = "cmr5900";
const CMR_500GB: &str = "cmr7200";

/// SAC Figure 1: bandwidth of 4 KB random writes over 1 TB, for each second.
pub(super) fn sac_1(bench: &Bench) -> Result<Measured, MeasureError> {
    const SECONDS: usize = 1000;
    let mut measured = Measured::default();
    let mut lines = Vec::new();
    for (label, drive) in [("SMR", SMR_8TB), ("CMR", CMR_5TB)] {
        let series = sac::figure_1(drive, Start::Full, SECONDS, bench.seed)?;
        let bandwidth = series.bandwidth();
        measured.number(format!("{label}: mean (KB/s)"), bandwidth.mean / 1e3);
        measured.number(format!("{label}: least second (KB/s)"), bandwidth.least as f64 / 1e3);
        let greatest = bandwidth.greatest as f64 / 1e3;
        measured.number(format!("{label}: greatest second (KB/s)"), greatest);
        measured.number(format!("{label}: deviation (% of mean)"), 100.0 * bandwidth.rsd());
        lines.push((label.to_owned(), by_second(&series)));
    }
    let kind = Kind::Numbers { x_label: "seconds".into(), series: lines, points: false };
    let title = "Bandwidth of 4 KB random writes over 1 TB (KB/s)";
    measured.picture("bandwidth", title, kind);
    Ok(measured)
}

/// KB/s of the first 500 seconds.
fn by_second(series: &Series) -> Vec<(f64, f64)> {
    let shown = series.bytes.iter().take(500).enumerate();
    shown.map(|(second, &bytes)| (second as f64, bytes as f64 / 1e3)).collect()
}

/// SAC Table 2: 4 KB random reads and writes over 10 GB.
pub(super) fn sac_table_2(bench: &Bench) -> Result<Measured, MeasureError> {
    const SECONDS: usize = 2000;
    let mut measured = Measured::default();
    for (label, drive) in [("CMR", CMR_5TB), ("SMR", SMR_8TB)] {
        for (word, op) in [("read", Op::Read), ("write", Op::Write)] {
            let bandwidth = sac::table_2(drive, op, Start::Full, SECONDS, bench.seed)?;
            measured.number(format!("{label} {word}: mean (KB/s)"), bandwidth.mean / 1e3);
            measured.number(format!("{label} {word}: RSD (%)"), 100.0 * bandwidth.rsd());
        }
    }
    Ok(measured)
}

/// SAC Table 3: the amount of random writes that the empty buffer accepts.
pub(super) fn sac_table_3(bench: &Bench) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    for (label, kilobytes) in [("4KB", 4), ("8KB", 8), ("256KB", 256)] {
        let row = sac::table_3(SMR_8TB, kilobytes * 1024, bench.seed)?;
        measured.number(format!("{label}: IOPS before"), row.iops_before);
        measured.number(format!("{label}: IOPS after"), row.iops_after);
        measured.number(format!("{label}: seconds"), row.seconds);
        measured.number(format!("{label}: buffer (MB)"), row.buffer_bytes as f64 / 1e6);
    }
    Ok(measured)
}

/// SAC Figure 10: the cost of a zone by the number of blocks written in it.
pub(super) fn sac_10(bench: &Bench) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    let plan = Plan { seed: bench.seed, ..Plan::default() };
    let found = rmw(bench.drive.unwrap_or(SMR_8TB), &Settings::default(), &plan)?;
    measured.number("slope (ms a block)", found.line.slope);
    measured.number("R(0) (ms)", found.line.intercept);
    measured.number("R²", found.line.r_squared);
    let mut points = Vec::new();
    for point in &found.points {
        points.push((point.blocks as f64, point.zone_ms()));
        let clusters = point.clusters();
        let name = |what: &str| format!("{} blocks: {what}", point.blocks);
        measured.number(name("ms a zone"), point.zone_ms());
        measured.number(name("a cluster of peaks lasts (s)"), clusters.length_s);
        measured.number(name("between two clusters (s)"), clusters.gap_s);
    }
    let end = points.last().map_or(0.0, |point| point.0);
    let fitted = [0.0, end].map(|x| (x, found.line.slope * x + found.line.intercept)).to_vec();
    let theirs = [0.0, end].map(|x| (x, 0.728 * x + 436.0)).to_vec();
    let series = vec![
        ("measured".to_owned(), points),
        ("R(x) here".to_owned(), fitted),
        ("R(x) = 0.728 x + 436".to_owned(), theirs),
    ];
    let kind = Kind::Numbers { x_label: "blocks written of a zone".into(), series, points: false };
    measured.picture("regression", "Drive time of a zone (ms)", kind);
    Ok(measured)
}

/// PORE Figure 3: 8 KB random writes over ranges from 56 GB to 1 TB.
pub(super) fn pore_3(bench: &Bench) -> Result<Measured, MeasureError> {
    const RANGES_GB: [u64; 5] = [56, 112, 224, 448, 1000];
    let mut measured = Measured::default();
    let (mut smr, mut cmr) = (Vec::new(), Vec::new());
    for gigabytes in RANGES_GB {
        let range = gigabytes * 1_000_000_000;
        let shingled = pore::figure_3_shingled(SMR_5TB, range, bench.seed)?.first_hour / 1e6;
        // The paper's conventional disk holds 500 GB: larger ranges are limited to the whole disk.
        let conventional =
            pore::figure_3_conventional(CMR_500GB, range.min(500_000_000_000), bench.seed)? / 1e6;
        measured.number(format!("SMR at {gigabytes} GB (MB/s)"), shingled);
        measured.number(format!("CMR at {gigabytes} GB (MB/s)"), conventional);
        smr.push((gigabytes as f64, shingled));
        cmr.push((gigabytes as f64, conventional));
    }
    let series = vec![("SMR".to_owned(), smr), ("CMR".to_owned(), cmr)];
    let kind = Kind::Numbers { x_label: "range written (GB)".into(), series, points: false };
    measured.picture("throughput", "Throughput of 8 KB random writes (MB/s)", kind);
    Ok(measured)
}

fn whole_trace(name: &'static str, mode: Mode) -> Wanted {
    Wanted { name, free: &[], mode, pacing: Pacing::Closed, disk: None, copies: 1, every_zone: 1 }
}

/// Table 4 of SAC, Table I of PORE: properties of the traces.
pub(super) fn traces(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    const GIB: f64 = (1u64 << 30) as f64;
    let mut measured = Measured::default();
    for &name in names {
        let held = hold(bench.papers, &whole_trace(name, Mode::ReadWrite), None)?;
        (bench.progress)(held.len() as u64);
        let summary = &held.summary;
        let (reads, writes) = (summary.read_blocks as f64, summary.write_blocks as f64);
        measured.number(format!("{name}: requests (M)"), (reads + writes) / 1e6);
        measured.number(format!("{name}: writes (%)"), 100.0 * writes / (reads + writes));
        measured.number(format!("{name}: written (GB)"), summary.written_zone_bytes() as f64 / GIB);
        let accessed = summary.accessed_zone_bytes() as f64 / GIB;
        measured.number(format!("{name}: accessed (GB)"), accessed);
    }
    Ok(measured)
}

/// ROCO Table 1: properties of the writes.
pub(super) fn roco_table_1(
    bench: &Bench,
    names: &[&'static str],
) -> Result<Measured, MeasureError> {
    const GIB: f64 = (1u64 << 30) as f64;
    let mut measured = Measured::default();
    for &name in names {
        let (mut counts, mut bytes) = (PerOp::default(), PerOp::default());
        bench.each_request(name, |request| {
            counts.add(request.op, 1);
            bytes.add(request.op, request.bytes);
        })?;
        let written = bytes.write as f64;
        let share = |of: PerOp| 100.0 * of.write as f64 / (of.read + of.write) as f64;
        measured.number(format!("{name}: written (GB)"), written / GIB);
        measured.number(format!("{name}: mean write (KB)"), written / counts.write as f64 / 1024.0);
        measured.number(format!("{name}: writes (% of requests)"), share(counts));
        measured.number(format!("{name}: writes (% of bytes)"), share(bytes));
    }
    Ok(measured)
}

/// PORE Figure 6: the expected write amplification of the traces, by the paper's batch rule.
pub(super) fn pore_6(bench: &Bench, names: &[&'static str]) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    expected_amplification(bench, bench.papers, names, "", &mut measured)?;
    Ok(measured)
}

/// Figure 6 with other settings of the free parameters, and how many of the published reuse figures
/// each volume misses with them.
pub(super) fn pore_zones(
    bench: &Bench,
    names: &[&'static str],
    settings: &[(&str, Sets)],
) -> Result<Measured, MeasureError> {
    let mut measured = Measured::default();
    for &(label, free) in settings {
        let papers = bench.traces.with(free).of_seed(bench.seed)?;
        let label = format!("{label}: ");
        expected_amplification(bench, &papers, names, &label, &mut measured)?;
        let reuse: Result<Vec<(usize, usize)>, MeasureError> =
            names.par_iter().map(|name| missed_reuse(&papers, name)).collect();
        let (mut all, mut all_missed) = (0, 0);
        for (name, (published, missed)) in names.iter().zip(reuse?) {
            measured.number(format!("{label}{name}: figures of reuse missed"), missed as f64);
            (all, all_missed) = (all + published, all_missed + missed);
        }
        measured.number(format!("{label}published figures of reuse"), all as f64);
        measured.number(format!("{label}of these missed"), all_missed as f64);
    }
    Ok(measured)
}

/// Measures Figure 6 for each volume and over all.
fn expected_amplification(
    bench: &Bench,
    papers: &Papers,
    names: &[&'static str],
    label: &str,
    measured: &mut Measured,
) -> Result<(), MeasureError> {
    let of = |name: &&'static str| -> Result<f64, MeasureError> {
        let blocks = blocks(papers, &whole_trace(name, Mode::Write), None)?;
        (bench.progress)(blocks.len() as u64);
        let end = blocks.iter().map(|packed| (packed >> 1) + 1).max().unwrap_or(0);
        let bands = pore::uniform_bands(end, bench.seed);
        let packed = Packed { blocks };
        let queue = packed.figures().distinct_blocks / 256;
        let blocks = packed.blocks.iter().map(|packed| Block(packed >> 1));
        Ok(pore::batch_wa(blocks, &bands, queue.max(1)).unwrap_or(f64::NAN))
    };
    let all: Result<Vec<f64>, MeasureError> = names.par_iter().map(of).collect();
    let all = all?;
    for (name, wa) in names.iter().zip(&all) {
        measured.number(format!("{label}{name}: write amplification"), *wa);
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    measured.number(format!("{label}mean"), mean);
    measured.number(format!("{label}least"), all.iter().copied().fold(f64::INFINITY, f64::min));
    measured.number(format!("{label}most"), all.iter().copied().fold(0.0, f64::max));
    Ok(())
}

/// The number of published reuse figures of a volume, and how many of them its requests miss.
fn missed_reuse(papers: &Papers, name: &'static str) -> Result<(usize, usize), MeasureError> {
    let published = volumes::named(volume(name)).expect("papers' volumes are described");
    let (mut source, mut batch) = (papers.requests(published.name)?, Vec::new());
    let mut starts = Starts::default();
    while source.fill(&mut batch)? {
        batch.iter().for_each(|request| starts.add(request));
    }
    let rows = published.compare_reuse(starts);
    Ok((rows.len(), rows.iter().filter(|row| !row.holds()).count()))
}
