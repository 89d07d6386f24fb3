//! PORE (Wang et al., MSST 2017).
//!
//! Interpretations of unclear text: buffers are 1/250 of the written range (§V-A.3 calls 20 GB of 5
//! TB 1/256, but 20/5000 is 1/250, and the sizes of the prototype agree with that). Ratios between
//! systems are ratios of averages, as the paper's own write amplification is (45.6 / 7.76 = 5.88).
//! Figure `history` and docs/papers.md have the interpretations of which accesses make a zone
//! popular.

use shingle_drive::Timing;
use shingle_result::Pacing;
use shingle_trace::Mode;

mod own;
mod reasons;

use self::reasons::{
    BROADER, CMR, CMR_MODEL, LESS_MORE, LITTLE_LOST, MIX_HITS, NEVER, ONCE, ONCE_COUNT, PF_HITS,
    PF_PERIODS, POPULARITY, PROTECTS, READ_HITS, READS, REAL, STEEP, WDEV, WDEV_HITS, WDEV_WRITES,
    WDEV_ZONES, WITH_READS,
};
use super::bare;
use super::metrics::{
    BANDS, BUFFER, DISK_READ, DISK_WRITE, HIT, READ_HIT, SSD, TOTAL, WA, WRITE_HIT,
};
use super::rows::{claims, rows, volumes_table};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Comparison, Figure, Paper, Source};
use crate::grid::{Grid, Metric, Point, Size, System, metric, point};

pub(super) static PAPER: Paper = Paper {
    name: "pore",
    citation: "C. Wang, D. Wang, Y. Chai, C. Wang, D. Sun: Larger, cheaper, but faster: SSD-SMR hybrid \
               storage boosted by a new SMR-oriented cache framework. MSST 2017",
    about: &[
        "Emulated disks are pore-emulator: a FIFO buffer of 1/250 of the written range over bands of \
         18 MiB, which is what the authors' emulator really had (§V-A.3 has 1/256, and bands of 17 to \
         36 MB), over a conventional disk of 7200 rpm, as theirs ran. Requests come one after \
         another, block by block.",
    ],
    not_varied: &["history", "once", "different", "reads"],
    figures: FIGURES,
    comparison: Comparison {
        grid: WRITE_ONLY_TIMED,
        claims: claims! {
            "§V-C.2, Figure 13 (a)" TOTAL:
                "PORE achieves higher performance than all: its total I/O time is the least",
                &[&["PORE", "SMR-only"], &["PORE", "CMR-only"], &["PORE", "LRU"], &["PORE", "LRU-band"]];
            "§V-C.2, Figure 13 (c)" WA: "its write amplification is below that of SMR-only, LRU-band and LRU",
                &[&["PORE", "SMR-only"], &["PORE", "LRU-band"], &["PORE", "LRU"]];
            "§V-C.2, Figure 13 (b)" HIT: "it hits less often than LRU", &[&["PORE", "LRU"]];
        },
    },
};

const NINE: &[&str] = &["src", "prn", "ts", "wdev", "mds", "stg", "hm", "web", "usr"];
const FOUR: &[&str] = &["wdev", "mds", "ts", "usr"];

const SMR_ONLY: System = System::new("SMR-only", "none", &[]);
const CMR_ONLY: System = System { drive: Some("cmr7200"), ..System::new("CMR-only", "none", &[]) };
const LRU: System = System::new("LRU", "lru", &[]);
const LRU_BAND: System = System::new("LRU-band", "lru-band", &[]);
const PORE: System = System::new("PORE", "pore", &[]);
const CF: System = System::new("CF", "pore-cf", &[]);
const PF: System = System::new("PF", "pore-pf", &[]);
const BL: System = System::new("BL", "pore", &[]);

const fn grid(mode: Mode, traces: &'static [&'static str], systems: &'static [System]) -> Grid {
    Grid {
        traces,
        mode,
        pacing: Pacing::Closed,
        drive: "pore-emulator",
        timing: Some(Timing::Mechanics),
        buffer: Size::Written(4),
        cache: match mode {
            Mode::Write => Size::Written(20),
            _ => Size::Accessed(20),
        },
        systems,
        ..Grid::PLAIN
    }
}

const OVERALL: &[System] = &[SMR_ONLY, LRU, LRU_BAND, PORE];
const TIMED: &[System] = &[SMR_ONLY, CMR_ONLY, LRU, LRU_BAND, PORE];

const READ_WRITE: Grid = grid(Mode::ReadWrite, NINE, OVERALL);
const READ_WRITE_TIMED: Grid = grid(Mode::ReadWrite, FOUR, TIMED);
const WRITE_ONLY: Grid = grid(Mode::Write, NINE, OVERALL);
const WRITE_ONLY_TIMED: Grid = grid(Mode::Write, FOUR, TIMED);

/// The ratio of a metric of `other` to that of PORE, as means over `traces`.
fn over_pore(cells: &Cells, metric: Metric, traces: &[&str], other: &str, point: &str) -> f64 {
    cells.mean(metric, traces, other, point) / cells.mean(metric, traces, "PORE", point)
}

fn times_over(cells: &Cells, other: &str) -> f64 {
    over_pore(cells, TOTAL, FOUR, other, "")
}

/// The percentage by which the mean of PORE is below that of LRU.
fn below_lru(cells: &Cells, metric: Metric) -> f64 {
    100.0 * (1.0 - cells.mean(metric, NINE, "PORE", "") / cells.mean(metric, NINE, "LRU", ""))
}

/// Makes a chain of two systems for each of some traces.
fn pairs(cells: &Cells, metric: Metric, traces: &[&str], less: &str, more: &str) -> Vec<Chain> {
    pairs_at(cells, metric, traces, less, more, "")
}

/// Makes such chains at a point.
fn pairs_at(
    cells: &Cells,
    metric: Metric,
    traces: &[&str],
    less: &str,
    more: &str,
    point: &str,
) -> Vec<Chain> {
    traces.iter().map(|trace| cells.chain(metric, trace, point, &[less, more])).collect()
}

/// The number of traces on which `less` is below `more`.
fn count_below(cells: &Cells, metric: Metric, less: &str, more: &str) -> f64 {
    pairs(cells, metric, NINE, less, more).iter().filter(|chain| chain.rises()).count() as f64
}

const ZONES: &[Point] = &[
    point("2 MB", &[("policy.zone", "2MiB")]),
    point("10 MB", &[("policy.zone", "10MiB")]),
    point("20 MB", &[("policy.zone", "20MiB")]),
    point("30 MB", &[("policy.zone", "30MiB")]),
    point("50 MB", &[("policy.zone", "50MiB")]),
];
const PERIODS: &[Point] = &[
    point("0.1x", &[("policy.period", "0.1")]),
    point("0.5x", &[("policy.period", "0.5")]),
    point("1x", &[("policy.period", "1")]),
    point("2x", &[("policy.period", "2")]),
    point("5x", &[("policy.period", "5")]),
    point("10x", &[("policy.period", "10")]),
];

const fn cache(label: &'static str, thousandths: u64) -> Point {
    Point { label, cache: Some(Size::Written(thousandths)), sets: &[] }
}

const CACHES: &[Point] =
    &[cache("1 %", 10), cache("2 %", 20), cache("3 %", 30), cache("4 %", 40), cache("5 %", 50)];

const CACHE_SIZES: Grid =
    Grid { points: CACHES, ..grid(Mode::Write, &["wdev"], &[LRU, LRU_BAND, PORE]) };

const SCHEMES: &[System] = &[LRU, CF, PF, BL];

/// The hours that 50 million writes take, at the rate after the cache was full.
const HOURS: Metric = metric("hours for 50 million writes", |run| {
    let counts = if run.warm_from.is_some() { &run.warm } else { &run.all };
    counts.seconds.total / counts.requests.write as f64 * 50e6 / 3600.0
});

const FIGURES: &[Figure] = &[
    Figure {
        id: "3",
        title: "A larger range of random writes is slower",
        how: "8 KB random writes over st5000as0011, in the hour after its buffer was full, and over \
              cmr7200, which holds 500 GB: beyond that its whole is the range.",
        source: Source::Measured(bare::pore_3),
        charts: &[Chart::Own("throughput")],
        rows: rows! {
            "§II-B, Figure 3" {
                factor 1.36: "SMR: from 1.36 …", |c| c.number("SMR at 56 GB (MB/s)");
                factor 0.09: "… to 0.09 MB/s", |c| c.number("SMR at 1000 GB (MB/s)");
            }
            "§II-B" {
                percent 93.4: "declining for 93.4%", |c| decline(c, "SMR");
            }
            "§II-B, Figure 3" {
                factor 1.46: "CMR: from 1.46 …", |c| c.number("CMR at 56 GB (MB/s)"), CMR_MODEL;
                factor 1.05: "… to 1.05 MB/s", |c| c.number("CMR at 1000 GB (MB/s)"), CMR_MODEL;
            }
            "§II-B" {
                percent 28.1: "that of CMR is only 28.1%", |c| decline(c, "CMR"), CMR_MODEL;
            }
            "§II-B, Figure 3" {
                order: "an increasing performance gap: SMR falls with the range",
                    |c| {
                        let at =
                            |gb: &str| (gb.to_owned(), c.number(&format!("SMR at {gb} GB (MB/s)")));
                        let links = ["1000", "448", "224", "112", "56"].map(at).to_vec();
                        vec![Chain { place: "SMR".into(), links }]
                    };
            }
        },
    },
    Figure {
        id: "4",
        title: "Bands take most of the time of random writes",
        how: "Writes only, straight to the emulated disk.",
        source: Source::Runs(&[grid(Mode::Write, FOUR, &[SMR_ONLY])]),
        charts: &[Chart::ByTrace(&[BUFFER, BANDS])],
        rows: rows! {
            "§II-C, Figure 4" {
                order: "SMR bands indeed accounts for the majority of the consumed I/O time",
                    |cells| {
                        let place = |trace: &&str| Chain {
                            place: (*trace).into(),
                            links: [BUFFER, BANDS]
                                .map(|m| (m.name.to_owned(), cells.at(m, trace, "SMR-only", "")))
                                .to_vec(),
                        };
                        FOUR.iter().map(place).collect()
                    };
            }
        },
    },
    Figure {
        id: "6",
        title: "What amplification the traces promise",
        how: "The paper's own analysis (§III-A) of the writes of each trace: a queue of 1/256 of \
              the different blocks written, emptied whenever full, over bands of 17 to 36 MB. Where workloads are \
              made, its mean and range shaped them (no cache is involved), so agreement says only that \
              they were met.",
        source: Source::Measured(|bench| bare::pore_6(bench, NINE)),
        charts: &[],
        rows: rows! {
            "§III-A, Figure 6" {
                factor 113.0: "113.0 on average", |c| c.number("mean");
                factor 41.3: "in the range of 41.3 …", |c| c.number("least"), BROADER;
                factor 171.5: "… ~ 171.5", |c| c.number("most");
            }
        },
    },
    Figure {
        id: "table-1",
        title: "The traces",
        how: "Whole volumes. Ranges are those of the 5,000-block zones touched. Where workloads are \
              made, these figures shaped them, so agreement says only that they were met.",
        source: Source::Measured(|bench| bare::traces(bench, NINE)),
        charts: &[],
        rows: volumes_table! {
            "§V-B, Table I":
            "src" 14.024860 83.2 3.80 3.93;
            "prn" 17.635766 80.2 20.22 20.26;
            "ts" 4.216457 74.1 9.80 9.81;
            "wdev" 2.654824 72.7 4.71 4.73;
            "mds" 2.916662 70.4 3.58 3.73;
            "stg" 6.098667 68.2 7.29 7.58;
            "hm" 8.985487 67.3 9.07 9.19;
            "web" 9.642398 46.4 7.11 8.35;
            "usr" 12.873274 27.9 6.42 6.92;
        },
    },
    Figure {
        id: "11",
        title: "Total I/O time of a read-write cache",
        how: "Cache of 2 % of the accessed range. The conventional disk is cmr7200.",
        source: Source::Runs(&[READ_WRITE_TIMED]),
        charts: &[Chart::ByTrace(&[TOTAL, DISK_WRITE, DISK_READ])],
        rows: rows! {
            "§V-C.1, Figure 11" {
                factor 11.83: "against SMR-only 11.83 times", |c| times_over(c, "SMR-only"), READS;
                factor 3.26: "against CMR-only 3.26 times", |c| times_over(c, "CMR-only"), READS;
                factor 2.84: "against LRU 2.84 times", |c| times_over(c, "LRU"), READS;
                factor 1.63: "against LRU-band 1.63 times", |c| times_over(c, "LRU-band"), READS;
                order: "Compared with LRU and LRU-band, our proposed PORE significantly shortens the write \
                        I/O time",
                    |c| {
                        let mut all = pairs(c, DISK_WRITE, FOUR, "PORE", "LRU-band");
                        all.extend(pairs(c, DISK_WRITE, FOUR, "PORE", "LRU"));
                        all
                    }, WDEV_WRITES;
            }
            "§V-C.1" {
                factor 3.65: "the write I/O time of SMR-only is 3.65 ~ 6.86 times slower than CMR-only: the least",
                    |c| write_over_cmr(c, "SMR-only").into_iter().fold(f64::INFINITY, f64::min), CMR;
                factor 6.86: "3.65 ~ 6.86 times slower than CMR-only: the most",
                    |c| write_over_cmr(c, "SMR-only").into_iter().fold(0.0, f64::max), CMR;
                order: "except ts, LRU's write I/O time is longer than CMR-only (i.e., 1.04 ∼ 2.01 times)",
                    |c| {
                        let mut all = pairs(c, DISK_WRITE, &["wdev", "mds", "usr"], "CMR-only", "LRU");
                        all.extend(pairs(c, DISK_WRITE, &["ts"], "LRU", "CMR-only"));
                        all
                    }, CMR;
            }
        },
    },
    Figure {
        id: "12",
        title: "Hit rates and write amplification of a read-write cache",
        how: "Cache of 2 % of the accessed range.",
        source: Source::Runs(&[READ_WRITE]),
        charts: &[Chart::ByTrace(&[READ_HIT, WRITE_HIT, WA])],
        rows: rows! {
            "§V-C.1, Figure 12 (a)" {
                percent 16.15: "PORE's read hit rate reduction compared with LRU is 16.15% on average",
                    |c| below_lru(c, READ_HIT), READ_HITS;
            }
            "§V-C.1, Figure 12 (b)" {
                percent 4.90: "the mean write hit rate reduction is only 4.90%",
                    |c| below_lru(c, WRITE_HIT);
            }
            "§V-C.1, Figure 12 (c)" {
                factor 3.92: "SMR-only amplifies 3.92 times as much",
                    |c| over_pore(c, WA, NINE, "SMR-only", ""), WITH_READS;
                factor 4.82: "LRU amplifies 4.82 times as much",
                    |c| over_pore(c, WA, NINE, "LRU", ""), WITH_READS;
                factor 2.31: "LRU-band amplifies 2.31 times as much",
                    |c| over_pore(c, WA, NINE, "LRU-band", ""), WITH_READS;
                order: "PORE achieves significant improvement compared with SMR-only, LRU, and LRU-band",
                    |c| {
                        let others = ["SMR-only", "LRU", "LRU-band"];
                        others.iter().flat_map(|other| pairs(c, WA, NINE, "PORE", other)).collect()
                    }, WITH_READS;
            }
        },
    },
    Figure {
        id: "13",
        title: "A write-only cache",
        how: "Writes only; cache of 2 % of the written range. The conventional disk is cmr7200. \
              Times are of four traces, hit rates and write amplification of nine.",
        source: Source::Runs(&[WRITE_ONLY_TIMED, WRITE_ONLY]),
        charts: &[Chart::ByTrace(&[TOTAL, HIT, WA])],
        rows: rows! {
            "§V-C.2, Figure 13 (a)" {
                factor 34.9: "against SMR-only by a factor of 34.9",
                    |c| times_over(c, "SMR-only"), STEEP;
                factor 10.2: "against CMR-only by a factor of 10.2",
                    |c| times_over(c, "CMR-only"), CMR;
                factor 4.60: "against LRU by a factor of 4.60", |c| times_over(c, "LRU"), LESS_MORE;
                factor 2.02: "against LRU-band by a factor of 2.02",
                    |c| times_over(c, "LRU-band"), ONCE;
                order: "PORE achieves higher performance than all",
                    |c| {
                        let others = ["SMR-only", "CMR-only", "LRU", "LRU-band"];
                        others.iter().flat_map(|other| pairs(c, TOTAL, FOUR, "PORE", other)).collect()
                    }, ONCE;
            }
            "§V-C.2, Figure 13 (c)" {
                factor 45.6: "The average write amplification rate of SMR-only is 45.6",
                    |c| c.mean(WA, NINE, "SMR-only", "");
                factor 52.41: "while that of LRU is larger, reaching 52.41",
                    |c| c.mean(WA, NINE, "LRU", "");
                factor 21.99: "LRU-band reduces the average write amplification rate to 21.99",
                    |c| c.mean(WA, NINE, "LRU-band", "");
                factor 7.76: "PORE achieves a much smaller one, i.e., 7.76",
                    |c| c.mean(WA, NINE, "PORE", ""), ONCE;
                order: "average write amplification: PORE 7.76, LRU-band 21.99, SMR-only 45.6, LRU 52.41",
                    |c| {
                        let order = ["PORE", "LRU-band", "SMR-only", "LRU"];
                        let mean = |system: &str| c.mean(WA, NINE, system, "");
                        let links = order.iter().map(|s| ((*s).to_owned(), mean(s))).collect();
                        vec![Chain { place: String::new(), links }]
                    }, POPULARITY;
                factor 5.0: "under five traces (i.e., ts, mds, stg, web, and usr) LRU has larger write \
                             amplification rates than the SMR-only storage: their number",
                    |c| count_below(c, WA, "SMR-only", "LRU"), ONCE_COUNT;
            }
            "§V-C.2, Figure 13 (b)" {
                factor 6.0: "LRU-band's hit rates are higher than LRU under six traces: their number",
                    |c| count_below(c, HIT, "LRU", "LRU-band"), NEVER;
                order: "under two of the traces (i.e., prn and mds), PORE has higher hit rates than LRU",
                    |c| pairs(c, HIT, &["prn", "mds"], "LRU", "PORE"), PROTECTS;
            }
        },
    },
    Figure {
        id: "14",
        title: "Schemes of selecting open zones",
        how: "Writes only; cache of 2 % of the written range.",
        source: Source::Runs(&[grid(Mode::Write, FOUR, SCHEMES)]),
        charts: &[Chart::ByTrace(&[TOTAL, HIT, WA])],
        rows: rows! {
            "§V-D, Figure 14 (b)" {
                order: "PF can achieve much higher SSD hit rates than the other two",
                    |c| {
                        let mut all = pairs(c, HIT, FOUR, "CF", "PF");
                        all.extend(pairs(c, HIT, FOUR, "BL", "PF"));
                        all
                    };
                order: "its hit rates are higher than LRU in most cases except usr",
                    |c| pairs(c, HIT, &["wdev", "mds", "ts"], "LRU", "PF"), PF_HITS;
            }
            "§V-D, Figure 14 (c)" {
                order: "PF is better than LRU, but CF and BL achieve much lower write amplification rates",
                    |c| {
                        let mut all = pairs(c, WA, FOUR, "PF", "LRU");
                        all.extend(pairs(c, WA, FOUR, "CF", "PF"));
                        all.extend(pairs(c, WA, FOUR, "BL", "PF"));
                        all
                    };
            }
            "§V-D, Figure 14 (a)" {
                order: "For all the four traces, the BL scheme consumes the least I/O time",
                    |c| {
                        let others = ["LRU", "CF", "PF"];
                        others.iter().flat_map(|other| pairs(c, TOTAL, FOUR, "BL", other)).collect()
                    }, LITTLE_LOST;
            }
        },
    },
    Figure {
        id: "15",
        title: "Zone sizes and period lengths",
        how: "wdev, writes only; cache of 2 % of the written range.",
        source: Source::Runs(&[
            Grid { points: ZONES, ..grid(Mode::Write, &["wdev"], &[CF, PF, BL]) },
            Grid { points: PERIODS, ..grid(Mode::Write, &["wdev"], &[CF, PF, BL]) },
            grid(Mode::Write, &["wdev"], &[LRU]),
        ]),
        charts: &[Chart::ByPoint(&[TOTAL, HIT, WA])],
        rows: rows! {
            "§V-E, Figure 15 (b)" {
                percent 0.0: "the zone size setting does not affect the cache hit rate much: spread of BL's, in \
                              points",
                    |c| spread_of(c, HIT, ZONES);
            }
            "§V-E, Figure 15 (c)" {
                order: "too large zone settings lead to larger write amplification rate: BL",
                    |c| vec![between(c, WA, "BL", &["20 MB", "50 MB"])], WDEV_ZONES;
                order: "too small zone settings also have negative effects, especially for the PF scheme",
                    |c| vec![between(c, WA, "PF", &["20 MB", "2 MB"])];
            }
            "§V-E, Figure 15 (d)" {
                order: "The default setting usually achieves the best performance for all the three \
                        schemes: against a tenth and ten times",
                    |c| {
                        let all = ["CF", "PF", "BL"];
                        all.iter()
                            .flat_map(|s| [("1x", "0.1x"), ("1x", "10x")].map(|(a, b)| (*s, a, b)))
                            .map(|(system, a, b)| between(c, TOTAL, system, &[a, b]))
                            .collect()
                    }, PF_PERIODS;
            }
            "§V-E, Figure 15 (f)" {
                factor 1.0: "when period length is larger than 5 times of the write buffer size, the \
                             amplification rates have reached the same level of LRU: BL at 10x against LRU",
                    |c| c.at(WA, "wdev", "BL", "10x") / c.at(WA, "wdev", "LRU", "");
            }
        },
    },
    Figure {
        id: "16",
        title: "SSD cache sizes",
        how: "wdev, writes only; the cache is 1 to 5 % of the written range.",
        source: Source::Runs(&[CACHE_SIZES]),
        charts: &[Chart::ByPoint(&[TOTAL, HIT, WA])],
        rows: rows! {
            "§V-F, Figure 16 (c)" {
                factor 4.79: "the SMR write amplification rate reduction of PORE increases from 4.79 …",
                    |c| at_cache(c, WA, "LRU", "1 %"), WDEV;
                factor 20.65: "… to 20.65 times compared with LRU, from 1 % to 5 %",
                    |c| at_cache(c, WA, "LRU", "5 %"), WDEV;
                order: "the reduction grows from 1 % to 5 %",
                    |c| {
                        let link = |at: &str| (at.to_owned(), at_cache(c, WA, "LRU", at));
                        vec![Chain { place: String::new(), links: vec![link("1 %"), link("5 %")] }]
                    };
            }
            "§V-F, Figure 16 (a)" {
                percent 24.5: "24.5% of LRU's time at 1 %",
                    |c| 100.0 / at_cache(c, TOTAL, "LRU", "1 %"), WDEV;
                percent 43.7: "43.7% of LRU-band's time at 1 %",
                    |c| 100.0 / at_cache(c, TOTAL, "LRU-band", "1 %"), WDEV;
                percent 5.84: "5.84% of LRU's time at 5 %",
                    |c| 100.0 / at_cache(c, TOTAL, "LRU", "5 %"), WDEV;
                percent 18.1: "18.1% of LRU-band's time at 5 %",
                    |c| 100.0 / at_cache(c, TOTAL, "LRU-band", "5 %"), WDEV;
                order: "In all the cases, PORE achieves better performance than LRU and LRU-band",
                    |c| at_all_sizes(c, TOTAL), WDEV;
            }
            "§V-F, Figure 16 (b)" {
                order: "When the SSD cache is 1% and 5%, PORE achieves higher cache hit rates; a bit lower \
                        in the cases of 2%, 3%, and 4% compared with LRU",
                    |c| {
                        let higher =
                            ["1 %", "5 %"].map(|at| c.chain(HIT, "wdev", at, &["LRU", "PORE"]));
                        let lower = ["2 %", "3 %", "4 %"];
                        let lower = lower.map(|at| c.chain(HIT, "wdev", at, &["PORE", "LRU"]));
                        higher.into_iter().chain(lower).collect()
                    }, WDEV_HITS;
            }
        },
    },
    Figure {
        id: "17",
        title: "A real SMR disk",
        how: "mix, writes only, over st5000as0011 with its own buffer, against cmr5900. The paper \
              does not give the size of the cache: 2 % of 1.15 TB. Its 50 million writes begin when \
              the buffer is full: ours are counted from when the cache is, which is when the disk \
              gets to see writes at all.",
        source: Source::Runs(&[Grid {
            accesses: Some(62_000_000),
            copies: 16,
            drive: "st5000as0011",
            timing: None,
            buffer: Size::Real,
            cache: Size::Bytes(24_700_000_000),
            ..grid(
                Mode::Write,
                &["mix"],
                &[
                    System { drive: Some("cmr5900"), ..System::new("CMR-only", "none", &[]) },
                    LRU,
                    PORE,
                ],
            )
        }]),
        charts: &[
            Chart::ByTrace(&[HOURS]),
            Chart::Stacked("Seconds", &[SSD, DISK_READ, DISK_WRITE]),
        ],
        rows: rows! {
            "§V-G, Figure 17" {
                factor 33.4: "CMR-only 33.4 hours", |c| c.of(HOURS, "CMR-only"), REAL;
                factor 13.0: "LRU 13.0 hours", |c| c.of(HOURS, "LRU"), REAL;
                factor 5.69: "PORE 5.69 hours", |c| c.of(HOURS, "PORE"), REAL;
                order: "33.4, 13.0, and 5.69 hours",
                    |c| vec![c.chain(HOURS, "mix", "", &["PORE", "LRU", "CMR-only"])], REAL;
                order: "its hit rate is a bit lower than LRU",
                    |c| vec![c.chain(HIT, "mix", "", &["PORE", "LRU"])], MIX_HITS;
            }
        },
    },
    own::ZONES,
    own::WRITTEN_ONCE,
    own::DIFFERENT,
    own::READS_ELSEWHERE,
    own::HISTORY,
];

/// The percentage by which a drive's throughput falls from 56 GB to 1 TB.
fn decline(cells: &Cells, drive: &str) -> f64 {
    let at = |gb: u32| cells.number(&format!("{drive} at {gb} GB (MB/s)"));
    100.0 * (1.0 - at(1000) / at(56))
}

/// Write I/O time of `system` ÷ that of the conventional disk, on each of the four traces.
fn write_over_cmr(cells: &Cells, system: &str) -> Vec<f64> {
    let at = |trace: &str, system: &str| cells.at(DISK_WRITE, trace, system, "");
    FOUR.iter().map(|trace| at(trace, system) / at(trace, "CMR-only")).collect()
}

/// Greatest less least value of BL over `points`.
fn spread_of(cells: &Cells, metric: Metric, points: &[Point]) -> f64 {
    let values: Vec<f64> =
        points.iter().map(|point| cells.at(metric, "wdev", "BL", point.label)).collect();
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        - values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Makes a chain of one system over points.
fn between(cells: &Cells, metric: Metric, system: &str, points: &[&str]) -> Chain {
    let value = |point: &&str| ((*point).to_owned(), cells.at(metric, "wdev", system, point));
    Chain { place: format!("wdev, {system}"), links: points.iter().map(value).collect() }
}

/// The ratio of a metric of `other` to that of PORE, at a cache size.
fn at_cache(cells: &Cells, metric: Metric, other: &str, point: &str) -> f64 {
    cells.at(metric, "wdev", other, point) / cells.at(metric, "wdev", "PORE", point)
}

/// PORE is below LRU and LRU-band at each size of the cache.
fn at_all_sizes(cells: &Cells, metric: Metric) -> Vec<Chain> {
    let places = CACHES.iter().map(|point| point.label);
    places
        .flat_map(|at| ["LRU", "LRU-band"].map(|other| (at, other)))
        .map(|(at, other)| cells.chain(metric, "wdev", at, &["PORE", other]))
        .collect()
}
