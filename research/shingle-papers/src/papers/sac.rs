//! SAC (Sun and Chai, ASPLOS 2020).
//!
//! Interpretations of unclear text: the traces of Table 1, Figure 3 and Figure 5 are run whole (the
//! paper says 125 million requests of each, but the longest has 17.6). The cache is 2 % of the
//! accessed range and the buffer 1/250 of the written one, as in the authors' earlier paper (PORE).
//! The paper does not give the buffer, and the emulator's own would hold a sixth of such a trace.
//! §6.1 gives a cache of 5 % of the accessed bands, but then rsrch would be cached whole and none
//! of it written back (figure `caches`). Table 1 names no algorithm: LRU is assumed. Hit ratios
//! count from when the cache is full, as in the prototype.
//!
//! The large trace: only Figure 14 gives sizes of the cache. The 32 GB of all other figures are the
//! prototype's, as are the 150,000 blocks of the emulator's buffer. Figures 15 to 17 do not say
//! whether they read, and 15 and 17 not how many requests they have: writes alone and 100 million
//! are assumed, as in Figure 14.

mod disks;
mod own;
mod reasons;

use shingle_result::Pacing;
use shingle_trace::Mode;

use self::reasons::{
    ARC_SIEVE, BETWEEN, CDC_FIRST, CLEANED_IN_READS, CORRELATION, DIFFERENT, FIVE_PER_CENT,
    FURTHER, HALF, LOG_RATE, MISSES, MIXED, MOST_READS, ONCE, PD_MISSES, READS, RSRCH, SEVEN,
    TABLE_1_MISSES, TABLE_1_RMWS, TABLE_1_SECONDS, TABLE_1_WA, TIE, WRITTEN,
};
use super::bare;
use super::metrics::{
    BANDS, CLEAN_EVICTED, DIRTY_EVICTED, DISK, DISK_READ, DISK_WRITE, HIT, MISS, ONCE_FULL,
    READ_HIT, READ_MS, RMW, SSD, TOTAL, WA, WRITE_HIT, WRITE_RATE,
};
use super::rows::{claims, rows, volumes_table};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Comparison, Figure, Paper, Source};
use crate::grid::{Grid, Metric, ONE, Point, Sets, Size, System, point};
use crate::stats::pearson;

pub(super) static PAPER: Paper = Paper {
    name: "sac",
    citation: "D. Sun, Y. Chai: SAC: A Co-Design Cache Algorithm for Emerging SMR-based High-Density \
               Disks. ASPLOS 2020",
    about: &[
        "The paper takes times from a real ST8000AS0002 and RMWs and write amplification from an \
         emulator. Here Figure 13 and Table 5 run over st8000as0002 (mechanics, its own buffer), all \
         else over sac-emulator. Requests come one after another, block by block; evictions take 64 \
         blocks, as in the authors' prototype; SAC prices with the paper's R(x) = 0.728 x + 436 ms \
         and 14 ms a read.",
        "Not in the paper: the algorithm of Table 1 (here LRU), the cache of the large trace apart from \
         Figure 14 (here 32 GiB; the prototype calls 8,000,000 blocks 32 GB; the 5 % of §6.1 would be 217), the \
         emulator's buffer (here the prototype's 150,000 blocks; its scripts of Figure 14 have 175,000, \
         the 720 MB of Table 3), and that Figures 15 to 17 only write, 15 and 17 100 million requests.",
        "Nor does it define write amplification. Here it is, as in PORE, what is written to bands by what \
         cleaning takes out of the buffer; the prototype divides by the blocks destaged.",
    ],
    not_varied: &["16", "17", "cdc", "further", "caches"],
    figures: FIGURES,
    comparison: Comparison {
        grid: volumes(&[SMR_ONLY, LRU, MOST, MOST_CDC, SAC]),
        claims: claims! {
            "§6.2, Figure 13" TOTAL: "total I/O time: SAC, MOST, LRU", &[&["SAC", "MOST", "LRU"]];
            "§6.2, Figure 14 (a)" MISS: "The cache miss rates of SAC … are between LRU and MOST",
                &[&["LRU", "SAC", "MOST"]];
            "§6.2, Figure 14 (b)" WA: "SAC's write amplification rates are always the least",
                &[&["SAC", "MOST"], &["SAC", "LRU"]];
            "§6.2, Figure 14 (c)" RMW: "SAC's RMW counts are always the least", &[&["SAC", "MOST"], &["SAC", "LRU"]];
        },
    },
};

const TEN: &[&str] = &["src", "wdev", "hm", "mds", "prn", "rsrch", "stg", "ts", "usr", "web"];

const PAPER_COST: Sets = &[("policy.cost", "paper")];

const SMR_ONLY: System = System::new("SMR-only", "none", &[]);
const LRU: System = System::new("LRU", "lru", &[]);
const MOST: System = System::new("MOST", "most", &[]);
const MOST_CDC: System = System::new("MOST+CDC", "most+cdc", PAPER_COST);
const SAC: System = System::new("SAC", "sac", PAPER_COST);
/// The literal rule 1: target zones are no larger than the buffer, whatever the cycle.
const BY_BUFFER: System = System::new(
    "SAC, targets by buffer",
    "sac",
    &[("policy.cost", "paper"), ("policy.rule1", "buffer")],
);
const ARS: System = System::new("ARS", "sac", PAPER_COST);
const PD: System = System::new("PD", "sac-pd", PAPER_COST);
const AD: System = System::new("AD", "sac-ad", PAPER_COST);

const ARC: System = System::new("ARC", "arc", &[]);
const SIEVE: System = System::new("SIEVE", "sieve", &[]);
const LRU_CDC: System = System::new("LRU+CDC", "lru+cdc", PAPER_COST);
const ARC_CDC: System =
    System::new("ARC+CDC", "cdc", &[("policy.cost", "paper"), ("policy.dirty", "arc")]);
const SIEVE_CDC: System =
    System::new("SIEVE+CDC", "cdc", &[("policy.cost", "paper"), ("policy.dirty", "sieve")]);

const BATCH: Sets = &[("cache.batch", "64")];

/// Makes a grid of the ten volumes.
const fn volumes(systems: &'static [System]) -> Grid {
    Grid {
        traces: TEN,
        pacing: Pacing::Closed,
        drive: "sac-emulator",
        buffer: Size::Written(4),
        cache: Size::Accessed(20),
        sets: BATCH,
        systems,
        ..Grid::PLAIN
    }
}

/// Makes a grid of the large trace over the emulator.
const fn long(
    millions: u64,
    default_scale: f64,
    systems: &'static [System],
    points: &'static [Point],
) -> Grid {
    Grid {
        traces: &["long"],
        mode: Mode::Write,
        pacing: Pacing::Closed,
        accesses: Some(millions * 1_000_000),
        copies: 18,
        default_scale,
        drive: "sac-emulator",
        buffer: Size::Blocks(150_000),
        cache: Size::Bytes(32 << 30),
        sets: BATCH,
        systems,
        points,
        ..Grid::PLAIN
    }
}

/// Makes a grid of the large trace over the real disk.
const fn real(mode: Mode, systems: &'static [System]) -> Grid {
    Grid { mode, drive: "st8000as0002", buffer: Size::Real, ..long(100, 1.0, systems, ONE) }
}

const fn cache(label: &'static str, gigabytes: u64) -> Point {
    Point { label, cache: Some(Size::Bytes(gigabytes << 30)), sets: &[] }
}

const CACHES: &[Point] =
    &[cache("16 GB", 16), cache("24 GB", 24), cache("32 GB", 32), cache("40 GB", 40)];

const CYCLES: &[Point] = &[
    point("0.5x", &[("policy.cycle", "0.5")]),
    point("1x", &[("policy.cycle", "1")]),
    point("2x", &[("policy.cycle", "2")]),
    point("5x", &[("policy.cycle", "5")]),
    point("10x", &[("policy.cycle", "10")]),
];

const ZONES: &[Point] = &[
    point("2 MB", &[("policy.zone", "500b")]),
    point("10 MB", &[("policy.zone", "2500b")]),
    point("20 MB", &[("policy.zone", "5000b")]),
    point("50 MB", &[("policy.zone", "12500b")]),
    point("100 MB", &[("policy.zone", "25000b")]),
    point("200 MB", &[("policy.zone", "50000b")]),
    point("400 MB", &[("policy.zone", "100000b")]),
    point("600 MB", &[("policy.zone", "150000b")]),
];

const FIGURE_3: Grid = volumes(&[SMR_ONLY, LRU, MOST]);
const FIGURE_14: Grid = long(100, 1.0 / 9.0, &[LRU, MOST, SAC], CACHES);
const FIGURE_15: Grid = long(100, 1.0 / 9.0, &[ARS, PD, AD], ONE);
const FIGURE_16: Grid = long(250, 1.0 / 18.0, &[SAC, BY_BUFFER], CYCLES);
const FIGURE_17: Grid = long(100, 1.0 / 18.0, &[SAC], ZONES);

/// The comparator with MOST, LRU and two more orders that the paper does not evaluate.
const COMPARATOR: Grid = Grid {
    default_scale: 1.0 / 18.0,
    ..real(Mode::ReadWrite, &[MOST, MOST_CDC, LRU, LRU_CDC, ARC, ARC_CDC, SIEVE, SIEVE_CDC])
};

/// The correlation over the volumes of `metric` under LRU and the disk time.
fn correlation(cells: &Cells, metric: Metric) -> f64 {
    let point =
        |trace: &&str| (cells.at(metric, trace, "LRU", ""), cells.at(DISK, trace, "LRU", ""));
    pearson(&TEN.iter().map(point).collect::<Vec<_>>())
}

/// Combines the metric of some volumes by `of`, the least or the greatest. A NaN is ignored if
/// there is another value.
fn over(
    cells: &Cells,
    metric: Metric,
    traces: &[&str],
    system: &str,
    point: &str,
    of: fn(f64, f64) -> f64,
) -> f64 {
    let values = traces.iter().map(|trace| cells.at(metric, trace, system, point));
    values.reduce(of).unwrap_or(f64::NAN)
}

/// The same over the ten volumes.
fn over_ten(cells: &Cells, metric: Metric, system: &str, of: fn(f64, f64) -> f64) -> f64 {
    over(cells, metric, TEN, system, "", of)
}

fn pairs(cells: &Cells, metric: Metric, less: &str, more: &str) -> Vec<Chain> {
    TEN.iter().map(|trace| cells.chain(metric, trace, "", &[less, more])).collect()
}

/// The ratio of `metric` of `other` to that of `system`, for a single trace and point.
fn times(cells: &Cells, metric: Metric, other: &str, system: &str) -> f64 {
    cells.of(metric, other) / cells.of(metric, system)
}

fn one_chain(cells: &Cells, metric: Metric, systems: &[&str]) -> Vec<Chain> {
    one_chain_at(cells, metric, "", systems)
}

/// Makes such a chain at a point.
fn one_chain_at(cells: &Cells, metric: Metric, point: &str, systems: &[&str]) -> Vec<Chain> {
    vec![cells.chain(metric, "long", point, systems)]
}

/// Makes a chain of a system over points.
fn along(cells: &Cells, metric: Metric, system: &str, points: &[&str]) -> Chain {
    let value = |point: &&str| ((*point).to_owned(), cells.at(metric, "long", system, point));
    Chain { place: metric.name.into(), links: points.iter().map(value).collect() }
}

/// Greatest ÷ least value of SAC over some points.
fn unevenness(cells: &Cells, metric: Metric, points: &[&str]) -> f64 {
    let values = points.iter().map(|point| cells.at(metric, "long", "SAC", point));
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    most / least
}

/// Makes the rows of Table 1, four for each line.
macro_rules! table_1 {
    ($($trace:literal $seconds:literal $miss:literal $wa:literal $rmws:literal;)*) => {
        rows! { "§3, Table 1" {
            order: "PCC with the I/O time: write amplification 0.24, miss ratio 0.47, RMWs 0.82",
                |c| {
                    let names = [WA, MISS, RMW];
                    let links = names.map(|m| (m.name.to_owned(), correlation(c, m))).to_vec();
                    vec![Chain { place: "PCC".into(), links }]
                }, CORRELATION;
            factor 0.82: "PCC of RMWs: 0.82", |c| correlation(c, RMW), CORRELATION;
            factor 0.47: "PCC of the miss ratio: 0.47", |c| correlation(c, MISS), CORRELATION;
            factor 0.24: "PCC of the write amplification: 0.24", |c| correlation(c, WA), CORRELATION;
            $(
                factor $rmws: concat!($trace, ": RMWs"), |c| c.at(RMW, $trace, "LRU", ""), TABLE_1_RMWS;
                percent $miss: concat!($trace, ": miss ratio (%)"),
                    |c| c.at(MISS, $trace, "LRU", ""), TABLE_1_MISSES;
                factor $wa: concat!($trace, ": WA"), |c| c.at(WA, $trace, "LRU", ""), TABLE_1_WA;
                factor $seconds: concat!($trace, ": time (s)"),
                    |c| c.at(DISK, $trace, "LRU", ""), TABLE_1_SECONDS;
            )*
        } }
    };
}

/// Makes the rows of Table 5, nine for each line.
macro_rules! table_5 {
    ($($system:literal: $total:literal $read:literal $write:literal,
       $clean:literal $dirty:literal, $all:literal $ssd:literal $reads:literal $writes:literal,
       $read_hits:ident $in_all:ident $in_writes:ident;)*) => {
        rows! {
            "§6.3, Table 5" {
                order: "total time: SAC 40.8, MOST+CDC 50.4, MOST 60.7, LRU 119.3 Ks",
                    |c| one_chain(c, TOTAL, &["SAC", "MOST+CDC", "MOST", "LRU"]), FURTHER;
            }
            "§6.3" {
                percent 66.0: "40.8K seconds, which is 66% less than LRU",
                    |c| 100.0 - 100.0 * times(c, TOTAL, "SAC", "LRU"), DIFFERENT;
                percent 33.0: "and 33% less than MOST",
                    |c| 100.0 - 100.0 * times(c, TOTAL, "SAC", "MOST"), FURTHER;
                percent 17.0: "MOST+CDC helps the original MOST to reduce 17% total time cost",
                    |c| 100.0 - 100.0 * times(c, TOTAL, "MOST+CDC", "MOST"), FURTHER;
            }
            "§6.3, Table 5" {
                factor 106.9: "SAC: (27.4 + 14.6) ÷ 39.3 % accesses once the cache was full (M)",
                    |c| c.of(ONCE_FULL, "SAC"), DIFFERENT;
                $(
                    percent $total: concat!($system, ": hit ratio (%)"), |c| c.of(HIT, $system), DIFFERENT;
                    percent $read: concat!($system, ": read hits (%)"),
                        |c| c.of(READ_HIT, $system), $read_hits;
                    percent $write: concat!($system, ": write hits (%)"),
                        |c| c.of(WRITE_HIT, $system), DIFFERENT;
                    factor $clean: concat!($system, ": clean evicted (M)"),
                        |c| c.of(CLEAN_EVICTED, $system), DIFFERENT;
                    factor $dirty: concat!($system, ": dirty evicted (M)"),
                        |c| c.of(DIRTY_EVICTED, $system), DIFFERENT;
                    factor $all: concat!($system, ": total (Ks)"), |c| c.of(TOTAL, $system) / 1e3, $in_all;
                    factor $ssd: concat!($system, ": SSD (Ks)"), |c| c.of(SSD, $system) / 1e3;
                    factor $reads: concat!($system, ": read SMR (Ks)"),
                        |c| c.of(DISK_READ, $system) / 1e3, MIXED;
                    factor $writes: concat!($system, ": write SMR (Ks)"),
                        |c| c.of(DISK_WRITE, $system) / 1e3, $in_writes;
                )*
            }
        }
    };
}

const FIGURES: &[Figure] = &[
    disks::BANDWIDTH,
    Figure {
        id: "table-1",
        title: "What the I/O time correlates with",
        how: "Ten volumes under LRU over the emulator; Pearson's coefficient over the ten.",
        source: Source::Runs(&[volumes(&[LRU])]),
        charts: &[Chart::ByTrace(&[DISK, MISS, WA, RMW])],
        rows: table_1! {
            "src" 673.0 86.1 4.4 1784.0;
            "wdev" 470.0 43.6 13.2 2403.0;
            "hm" 960.0 57.6 9.9 5792.0;
            "mds" 354.0 36.1 9.9 1598.0;
            "prn" 928.0 66.1 4.4 4377.0;
            "rsrch" 894.0 47.7 55.5 6677.0;
            "stg" 700.0 51.7 32.4 4442.0;
            "ts" 684.0 45.1 27.4 4520.0;
            "usr" 488.0 36.6 13.1 2778.0;
            "web" 710.0 37.2 16.3 5022.0;
        },
    },
    Figure {
        id: "3",
        title: "Write amplification of SMR-only and of two cache algorithms",
        how: "Ten volumes over the emulator.",
        source: Source::Runs(&[FIGURE_3]),
        charts: &[Chart::ByTrace(&[WA])],
        rows: rows! {
            "§2.2, Figure 3" {
                factor 23.0: "SMR-only: write amplification rates between 23 …",
                    |c| over_ten(c, WA, "SMR-only", f64::min), ONCE;
                factor 55.0: "… and 55", |c| over_ten(c, WA, "SMR-only", f64::max), ONCE;
                factor 7.0: "LRU causes larger write amplification rates under seven of the ten traces: their \
                             number",
                    |c| pairs(c, WA, "SMR-only", "LRU").iter().filter(|pair| pair.rises()).count()
                    as f64, SEVEN;
                factor 49.0: "in rsrch, the write amplification rate of SMR-only is 49",
                    |c| c.at(WA, "rsrch", "SMR-only", "");
                factor 107.0: "whereas LRU aggravates it to 107",
                    |c| c.at(WA, "rsrch", "LRU", ""), RSRCH;
                factor 1.0: "MOST can effectively decline the rates to 1 …",
                    |c| over_ten(c, WA, "MOST", f64::min), FIVE_PER_CENT;
                factor 5.0: "… ~ 5", |c| over_ten(c, WA, "MOST", f64::max), FIVE_PER_CENT;
                order: "much lower than SMR-only and LRU",
                    |c| {
                        let mut all = pairs(c, WA, "MOST", "SMR-only");
                        all.extend(pairs(c, WA, "MOST", "LRU"));
                        all
                    };
            }
        },
    },
    Figure {
        id: "5",
        title: "MOST causes more cache misses",
        how: "Ten volumes over the emulator.",
        source: Source::Runs(&[volumes(&[LRU, MOST])]),
        charts: &[Chart::ByTrace(&[MISS])],
        rows: rows! {
            "§2.2, Figure 5" {
                order: "MOST leads to much more cache misses than LRU",
                    |c| pairs(c, MISS, "LRU", "MOST");
            }
        },
    },
    disks::TABLE_2,
    disks::FIGURE_10,
    disks::TABLE_3,
    Figure {
        id: "table-4",
        title: "The traces",
        how: "Whole volumes. Ranges are those of the 5,000-block zones touched. Where workloads are \
              made, these figures shaped them, so agreement says only that they were met.",
        source: Source::Measured(|bench| bare::traces(bench, TEN)),
        charts: &[],
        rows: volumes_table! {
            "§6.1, Table 4":
            "src" 14.0 83.2 3.80 3.93;
            "prn" 17.6 80.2 20.22 20.26;
            "ts" 4.2 74.1 9.80 9.81;
            "wdev" 2.6 72.7 4.71 4.73;
            "mds" 2.9 70.4 3.58 3.73;
            "stg" 6.0 68.2 7.29 7.58;
            "hm" 8.9 67.3 9.07 9.19;
            "web" 9.6 46.4 7.11 8.35;
            "usr" 12.8 27.9 6.42 6.92;
            "rsrch" 3.2 88.8 17.7 17.7;
        },
    },
    Figure {
        id: "13",
        title: "I/O time for 100 million write requests",
        how: "long, writes only, over st8000as0002 with its own buffer; cache of 32 GB.",
        source: Source::Runs(&[real(Mode::Write, &[LRU, MOST, SAC])]),
        charts: &[
            Chart::Stacked("Seconds", &[SSD, DISK_READ, DISK_WRITE]),
            Chart::ByTrace(&[WRITE_RATE]),
        ],
        rows: rows! {
            "§6.2, Figure 13" {
                order: "total I/O time: SAC, MOST, LRU",
                    |c| one_chain(c, TOTAL, &["SAC", "MOST", "LRU"]);
                order: "I/O time on SMR: SAC, MOST, LRU",
                    |c| one_chain(c, DISK, &["SAC", "MOST", "LRU"]);
            }
            "§6.2" {
                factor 11.4: "SAC achieves up to a 11.4x speedup on the SMR I/O time …",
                    |c| times(c, DISK, "LRU", "SAC");
                factor 7.5: "… and 7.5x speedup of total I/O time compared with LRU",
                    |c| times(c, TOTAL, "LRU", "SAC");
                factor 1.6: "compared with MOST, 1.6 for the SMR I/O time …",
                    |c| times(c, DISK, "MOST", "SAC");
                factor 1.4: "… and 1.4 for the total I/O time", |c| times(c, TOTAL, "MOST", "SAC");
                percent 14.5: "cache miss rates 14.5% (SAC) …", |c| c.of(MISS, "SAC");
                percent 21.7: "… vs. 21.7% (MOST)", |c| c.of(MISS, "MOST"), MISSES;
                factor 15.4: "throughput of the SMR disk for SAC 15.4MB/s …",
                    |c| c.of(WRITE_RATE, "SAC"), LOG_RATE;
                factor 9.5: "… while that of MOST is only 9.5MB/s",
                    |c| c.of(WRITE_RATE, "MOST"), LOG_RATE;
            }
        },
    },
    Figure {
        id: "14",
        title: "Misses, write amplification and RMWs over cache sizes",
        how: "long, writes only, over the emulator.",
        source: Source::Runs(&[FIGURE_14]),
        charts: &[Chart::ByPoint(&[MISS, WA, RMW])],
        rows: rows! {
            "§6.2, Figure 14 (a)" {
                order: "The cache miss rates of SAC under all kinds of cache size settings are between LRU \
                        and MOST",
                    |c| c.chains(MISS, &FIGURE_14, &["LRU", "SAC", "MOST"]), BETWEEN;
            }
            "§6.2, Figure 14 (b)" {
                order: "SAC's write amplification rates are always the least",
                    |c| {
                        let mut all = c.chains(WA, &FIGURE_14, &["SAC", "MOST"]);
                        all.extend(c.chains(WA, &FIGURE_14, &["SAC", "LRU"]));
                        all
                    }, HALF;
            }
            "§6.2, Figure 14 (c)" {
                order: "SAC's RMW counts are always the least",
                    |c| {
                        let mut all = c.chains(RMW, &FIGURE_14, &["SAC", "MOST"]);
                        all.extend(c.chains(RMW, &FIGURE_14, &["SAC", "LRU"]));
                        all
                    };
                factor 0.5: "SAC has a number [of RMWs] nearly half of MOST, at 32 GB",
                    |c| c.at(RMW, "long", "SAC", "32 GB") / c.at(RMW, "long", "MOST", "32 GB"), HALF;
            }
        },
    },
    Figure {
        id: "table-5",
        title: "Reads and writes mixed",
        how: "long over st8000as0002 with its own buffer; cache of 32 GB. MOST bypasses reads, as \
              the paper's read hits of 0 say; bypassed reads count as clean evictions, as the \
              paper's 38.3 million do.",
        source: Source::Runs(&[real(Mode::ReadWrite, &[SAC, LRU, MOST, MOST_CDC])]),
        charts: &[
            Chart::Stacked("Seconds", &[SSD, DISK_READ, DISK_WRITE]),
            Chart::ByTrace(&[HIT, BANDS, READ_MS, ONCE_FULL]),
        ],
        rows: table_5! {
            "SAC": 60.7 29.9 77.7, 27.4 14.6, 40.8 2.8 34.8 3.2, READS DIFFERENT WRITTEN;
            "LRU": 63.8 32.7 81.1, 24.4 14.4, 119.3 2.8 46.9 69.6, READS DIFFERENT CLEANED_IN_READS;
            "MOST": 51.5 0.0 80.3, 38.3 11.4, 60.7 1.8 57.1 1.8, MOST_READS MIXED WRITTEN;
            "MOST+CDC": 58.7 29.9 74.8, 27.5 16.6, 50.4 2.9 44.5 3.0, READS DIFFERENT WRITTEN;
        },
    },
    Figure {
        id: "cdc",
        title: "The comparator with other orders",
        how: "long over st8000as0002 with its own buffer; cache of 32 GB. Dirty blocks by the order \
              named, clean ones by LRU. The paper gives figures for MOST only, and says that LRU \
              gains too; ARC and SIEVE are additions.",
        source: Source::Runs(&[COMPARATOR]),
        charts: &[Chart::Stacked("Seconds", &[SSD, DISK_READ, DISK_WRITE]), Chart::ByTrace(&[RMW])],
        rows: rows! {
            "§6.3" {
                percent 17.0: "MOST+CDC helps the original MOST to reduce 17% total time cost",
                    |c| 100.0 - 100.0 * times(c, TOTAL, "MOST+CDC", "MOST"), CDC_FIRST;
            }
            "§4.4, Generality of CDC" {
                order: "CDC can adjust the cache resource allocation appropriately when LRU or MOST is \
                        adopted for the dirty cache",
                    |c| {
                        let mut all = one_chain(c, TOTAL, &["MOST+CDC", "MOST"]);
                        all.extend(one_chain(c, TOTAL, &["LRU+CDC", "LRU"]));
                        all
                    };
                order: "CDC is a universal cache space allocation method: here ARC and SIEVE",
                    |c| {
                        let mut all = one_chain(c, TOTAL, &["ARC+CDC", "ARC"]);
                        all.extend(one_chain(c, TOTAL, &["SIEVE+CDC", "SIEVE"]));
                        all
                    }, ARC_SIEVE;
            }
        },
    },
    Figure {
        id: "15",
        title: "How target bands are selected",
        how: "long, writes only, over the emulator; cache of 32 GB.",
        source: Source::Runs(&[FIGURE_15]),
        charts: &[Chart::ByTrace(&[MISS, WA, RMW])],
        rows: rows! {
            "§6.4, Figure 15" {
                order: "PD achieves the lowest cache miss rates, AD is the opposite",
                    |c| one_chain(c, MISS, &["PD", "ARS", "AD"]), PD_MISSES;
                order: "but the largest write amplification rate; AD the opposite",
                    |c| one_chain(c, WA, &["AD", "ARS", "PD"]);
                order: "the most RMW operation count: PD; ARS much less",
                    |c| {
                        let mut all = one_chain(c, RMW, &["ARS", "PD"]);
                        all.extend(one_chain(c, RMW, &["ARS", "AD"]));
                        all
                    };
            }
        },
    },
    Figure {
        id: "16",
        title: "Cycle lengths",
        how: "long, writes only, over the emulator; cache of 32 GB; the cycle is 0.5 to 10 times the \
              buffer. Its target zones are together no larger than the cycle is long (rule 1 as the \
              prototype has it), or than the buffer (as the paper has it).",
        source: Source::Runs(&[FIGURE_16]),
        charts: &[Chart::ByPoint(&[MISS, WA, RMW])],
        rows: rows! {
            "§6.5, Figure 16 (b)" {
                factor 1.0: "the write amplification rates are close for the 0.5x and 1x default cycle length",
                    |c| c.at(WA, "long", "SAC", "0.5x") / c.at(WA, "long", "SAC", "1x");
                order: "significant rising steep slope at the 2x length",
                    |c| vec![along(c, WA, "SAC", &["1x", "2x"])];
            }
            "§4.2, rule 1" {
                factor 1.0: "the total size of these bands must NOT exceed the PB capacity: then a cycle of 2x ends when \
                             its zones are empty, and write amplification is that of 1x",
                    |c| {
                        let at = |length: &str| c.at(WA, "long", "SAC, targets by buffer", length);
                        at("2x") / at("1x")
                    };
            }
            "§6.5, Figure 16 (c)" {
                order: "the lowest RMW count is obtained when the cycle length is 1x PB size",
                    |c| {
                        let others = ["0.5x", "2x", "5x", "10x"];
                        others.iter().map(|other| along(c, RMW, "SAC", &["1x", other])).collect()
                    }, TIE;
            }
        },
    },
    Figure {
        id: "17",
        title: "Alternative band sizes",
        how: "long, writes only, over the emulator, whose true bands are 20 to 40 MB; cache of 32 \
              GB.",
        source: Source::Runs(&[FIGURE_17]),
        charts: &[Chart::ByPoint(&[MISS, WA, RMW])],
        rows: rows! {
            "§6.6, Figure 17" {
                factor 1.0: "relatively flat in the range of 20 MB ~ 100 MB: greatest ÷ least RMWs",
                    |c| unevenness(c, RMW, &["20 MB", "50 MB", "100 MB"]);
                factor 1.0: "relatively flat in the range of 20 MB ~ 100 MB: greatest ÷ least WA",
                    |c| unevenness(c, WA, &["20 MB", "50 MB", "100 MB"]);
            }
        },
    },
    own::FURTHER,
    own::CACHES,
];
