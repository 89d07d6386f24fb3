//! Amphisbaena (Zhang et al., Applied Sciences 14(2), 2024).
//!
//! Interpretations of unclear text: "The latest strategies", the reference of its averages, are
//! Fluid_loop, the only one whose least and greatest values are printed. Averages are means over
//! the traces. Synthetic data counts in every write-back, as the published amount exceeds the zones
//! that the traces touch. The text does not name the traces of Figures 2 (a), 2 (b), 3 (a) and 3
//! (b): a statement holds if it is true of one trace. docs/papers.md has the interpretations of
//! when chunks return, how a chunk is read and what ends a collection.

mod bare;
mod compare;
mod own;
mod reasons;
mod systems;

use self::bare::{LONG_OFTEN, SHORT, SHORT_ONCE, SPAN};
use self::compare::{
    average_saved, except, grows, highest, largest_margin, least_saved_on, lowest, lowest_of,
    mean_range, most_saved_on, numbers_of_extreme, rises, saved_on,
};
use self::reasons::{
    AMPLIFIES, BY_SHARE, CHUNKS as FEW_BLOCKS, FEW_AGAIN, FILLED_IN_TURN, LARGEST, NEVER_FULL,
    NEVER_FULL_VICTIMS, NORMALISED, PADDED_ONCE, PADDING, PERIODS, SCATTERED, SHAPED,
    SMALLER_VICTIMS, SPANS, WHOLE_FRAMES,
};
use self::systems::{BY_CHUNK, BY_LAMBDA, CHUNKS, EIGHT, LAMBDAS, MAIN, RIVALS};
use super::compare::{reversed, two};
use super::metrics::{
    ABORTED, BUFFER_HITS, COLD_HITS, HOT_HITS, PADDED, PADDED_FIRST, RESPONSE, RMW, RMW_FREE,
    TO_COLD, TO_HOT, VICTIM, WAF, WRITE_BACKS,
};
use super::rows::{claims, rows};
use crate::experiment::{Chart, Comparison, Figure, Paper, Row, Source};

pub(super) static PAPER: Paper = Paper {
    name: "amphisbaena",
    citation: "C. Zhang, F. Yu, S. Nie, W. Tang, F. Liu, S. Liu, W. Wu: Amphisbaena: A Novel Persistent \
               Buffer Management Strategy to Improve SMR Disk Performance. Applied Sciences 14(2), 2024",
    about: &[
        "All runs are over exos-x18z, the paper's host-managed disk, its write cache and read-ahead off. \
         Requests come at their times (open loop), without a cache before the translation.",
        "The buffer is 1 % of the 256 MiB zones that the trace writes: §6.1 has \"the maximum access range of \
         the trace\", and Table 3 the zones written.",
        "What a translation remembers is kept in memory: writing maps to the disk takes no time, as in \
         the paper.",
        "\"Never aborts\" is Amphisbaena whose collections no waiting write ends: in a saturated queue the \
         abort has a large part in Figures 12, 15 and 17.",
    ],
    not_varied: &[
        "18",
        "19",
        "20",
        "21",
        "22",
        "23",
        "24",
        "25",
        "small",
        "decisions",
        "history",
        "others",
    ],
    figures: FIGURES,
    comparison: Comparison {
        grid: MAIN,
        claims: claims! {
            "§6.2, Figure 12" RESPONSE: "reduces the response latency compared to Fluid_loop",
                &[&["Amphisbaena", "Fluid_loop"]];
            "§6.2, Figure 13" BUFFER_HITS:
                "the write-hit rate of Amphisbaena is higher than that of its competitors in all traces",
                &[&["Fluid", "Amphisbaena"], &["Fluid_loop", "Amphisbaena"], &["Skylight", "Amphisbaena"]];
            "§6.2, Figure 14" WAF: "exhibits the lowest write amplification under all workloads", LOWEST;
            "§6.2, Figure 15" RMW: "has the lowest number of RMW operations", LOWEST;
        },
    },
};

/// Amphisbaena has a lower value than each of its rivals.
const LOWEST: &[&[&str]] =
    &[&["Amphisbaena", "Fluid"], &["Amphisbaena", "Fluid_loop"], &["Amphisbaena", "Skylight"]];

/// Makes the rows of Table 3, five for each line.
macro_rules! table_3 {
    ($($trace:literal $requests:literal $writes:literal $updates:literal $zones:literal
       $sectors:literal;)*) => {
        rows! { "§6.1, Table 3" { $(
            factor $requests: concat!($trace, ": total requests (M)"),
                |c| c.number(concat!($trace, ": total requests (M)")), SHAPED;
            percent $writes: concat!($trace, ": write ratio (%)"),
                |c| c.number(concat!($trace, ": write ratio (%)")), SHAPED;
            percent $updates: concat!($trace, ": update ratio (%)"),
                |c| c.number(concat!($trace, ": update ratio (%)")), SHAPED;
            factor $zones: concat!($trace, ": write range (zones)"),
                |c| c.number(concat!($trace, ": write range (zones)")), SHAPED;
            factor $sectors: concat!($trace, ": average write (sectors)"),
                |c| c.number(concat!($trace, ": average write (sectors)")), SHAPED;
        )* } }
    };
}

const TABLE_3: &[Row] = table_3! {
    "hm_0" 3.99 64.5 92.7 56.0 18.4;
    "prn_0" 5.58 89.2 73.7 265.0 22.4;
    "prxy_0" 12.51 96.9 98.7 83.0 14.4;
    "ts_0" 1.80 82.4 95.6 88.0 16.8;
    "web_0" 2.02 70.1 93.9 136.0 17.6;
    "src2_2" 1.15 69.7 23.7 678.0 102.4;
    "src2_0" 1.55 88.7 83.3 63.0 15.2;
    "usr_0" 2.23 60.0 91.5 64.0 20.8;
};

const FIGURES: &[Figure] = &[
    Figure {
        id: "table-3",
        title: "The traces",
        how: "Whole volumes. Where workloads are made, these figures shaped them, so agreement says only \
              that they were met.",
        source: Source::Measured(|bench| bare::table_3(bench, EIGHT)),
        charts: &[],
        rows: TABLE_3,
    },
    Figure {
        id: "2",
        title: "Update periods",
        how: "How many other blocks are written between two writes of a block, on average; short is less \
              than the buffer. Two traces are drawn, a point in thousands of each.",
        source: Source::Measured(|bench| bare::figure_2(bench, EIGHT)),
        charts: &[Chart::Own("periods")],
        rows: rows! {
            "§2.3, Figure 2 (a)" {
                percent 83.7: "blocks with short update periods, of the trace that has most (%)",
                    |c| numbers_of_extreme(c, SHORT, SHORT, f64::max).0, PERIODS;
                percent 6.76: "of these, updated once (%)",
                    |c| numbers_of_extreme(c, SHORT, SHORT_ONCE, f64::max).1, PERIODS;
            }
            "§2.3, Figure 2 (b)" {
                percent 85.0: "blocks with long update periods, of the trace that has most (%)",
                    |c| 100.0 - numbers_of_extreme(c, SHORT, SHORT, f64::min).0, PERIODS;
                percent 70.0: "of these, updated more than twice (%)",
                    |c| numbers_of_extreme(c, SHORT, LONG_OFTEN, f64::min).1, PERIODS;
            }
        },
    },
    Figure {
        id: "3",
        title: "Write ranges",
        how: "Two traces are drawn, a point in thousands of each.",
        source: Source::Measured(|bench| bare::figure_3(bench, EIGHT)),
        charts: &[Chart::Own("range")],
        rows: rows! {
            "§2.3, Figure 3 (a)" {
                order: "the write requests cover the entire LBA address space almost evenly: some trace writes nine \
                        tenths of its zones within a tenth of the time",
                    |c| {
                        let most = compare::extreme(c, SPAN, f64::max);
                        vec![two("", ("nine tenths", 90.0), ("the most", most))]
                    };
            }
            "§2.3, Figure 3 (b)" {
                order: "are concentrated in a limited LBA address space: another one less than half of them",
                    |c| {
                        let least = compare::extreme(c, SPAN, f64::min);
                        vec![two("", ("the least", least), ("half", 50.0))]
                    }, SPANS;
            }
        },
    },
    Figure {
        id: "12",
        title: "Response times",
        how: "Not normalised: the numbers are milliseconds.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[RESPONSE, ABORTED])],
        rows: rows! {
            "abstract, Figure 12" {
                percent 29.9: "saved against Fluid_loop on average (%)",
                    |c| average_saved(c, RESPONSE, "Fluid_loop"), SCATTERED;
            }
            "§6.2" {
                percent 82.4: "saved against Fluid_loop on src2_2, the maximum (%)",
                    |c| saved_on(c, RESPONSE, "Fluid_loop", "src2_2"), SCATTERED;
                percent 4.8: "saved against Fluid_loop on src2_0, the minimum (%)",
                    |c| saved_on(c, RESPONSE, "Fluid_loop", "src2_0"), SCATTERED;
            }
            "§6.2, Figure 12" {
                order: "reduces the response latency compared to Fluid_loop, on each trace",
                    |c| lowest(c, RESPONSE, &["Fluid_loop"]), SCATTERED;
                order: "the same, where no write ends a collection",
                    |c| lowest_of(c, "never aborts", RESPONSE, &["Fluid_loop"]), SCATTERED;
            }
            "§6.2" {
                order: "most on src2_2",
                    |c| most_saved_on(c, RESPONSE, "Fluid_loop", "src2_2"), SCATTERED;
                order: "least on src2_0",
                    |c| least_saved_on(c, RESPONSE, "Fluid_loop", "src2_0"), SCATTERED;
            }
        },
    },
    Figure {
        id: "13",
        title: "Write hits in the buffer",
        how: "",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[BUFFER_HITS, HOT_HITS, COLD_HITS])],
        rows: rows! {
            "§6.2, Figure 13" {
                order: "the write-hit rate of Amphisbaena is higher than that of its competitors in all traces",
                    |c| highest(c, BUFFER_HITS, RIVALS), WHOLE_FRAMES;
            }
            "§6.2" {
                order: "Fluid_loop outperforms Fluid and Skylight in most traces: on average",
                    |c| rises(c, BUFFER_HITS, &[&["Fluid", "Fluid_loop"], &["Skylight", "Fluid_loop"]]);
                percent 5.8: "in src2_2, points above Skylight, which achieves the suboptimal result",
                    |c| c.at(BUFFER_HITS, "src2_2", "Amphisbaena", "")
                    - c.at(BUFFER_HITS, "src2_2", "Skylight", "");
            }
        },
    },
    Figure {
        id: "14",
        title: "Write amplification",
        how: "Bytes written to the disk by bytes that the host wrote; not normalised.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[WAF])],
        rows: rows! {
            "§6.2, Figure 14" {
                order: "exhibits the lowest write amplification under all workloads",
                    |c| lowest(c, WAF, RIVALS), FEW_BLOCKS;
            }
            "§6.2" {
                percent 98.5: "less than other strategies' on average (%)",
                    |c| RIVALS.iter().map(|rival| average_saved(c, WAF, rival)).sum::<f64>() / 3.0, AMPLIFIES;
            }
        },
    },
    Figure {
        id: "15",
        title: "Write-backs",
        how: "",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[RMW, RMW_FREE, WRITE_BACKS])],
        rows: rows! {
            "§6.2, Figure 15" {
                order: "has the lowest number of RMW operations",
                    |c| lowest(c, RMW, RIVALS), FEW_BLOCKS;
                order: "the total number of write-backs is lower than the other competitors'",
                    |c| lowest(c, WRITE_BACKS, RIVALS), FEW_BLOCKS;
                order: "the lowest number of RMW operations, where no write ends a collection",
                    |c| lowest_of(c, "never aborts", RMW, RIVALS), FEW_BLOCKS;
            }
            "abstract, §6.2" {
                percent 37.0: "RMWs saved against Fluid_loop on average (%)",
                    |c| average_saved(c, RMW, "Fluid_loop"), AMPLIFIES;
            }
        },
    },
    Figure {
        id: "16",
        title: "Padding",
        how: "Synthetic data in every write-back, the same gap counted again in each; and counted once.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[PADDED, PADDED_FIRST])],
        rows: rows! {
            "§6.2, Figure 16" {
                order: "introduces the least amount of synthetic data among all the traces",
                    |c| lowest(c, PADDED, RIVALS), PADDING;
                order: "the same, each gap counted once",
                    |c| lowest(c, PADDED_FIRST, RIVALS), PADDED_ONCE;
            }
            "§6.2" {
                factor 552.0: "reduces synthetic data under src2_2 by up to (GB)",
                    |c| largest_margin(c, PADDED, "src2_2", RIVALS), PADDING;
                factor 191.0: "and under prxy_0 (GB)",
                    |c| largest_margin(c, PADDED, "prxy_0", RIVALS), PADDING;
            }
        },
    },
    Figure {
        id: "17",
        title: "Victim zones",
        how: "Buffered blocks that are written back, by zones written back.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[VICTIM])],
        rows: rows! {
            "§6.2, Figure 17" {
                order: "except for ts_0 and src2_0, the size of the victim zone in Amphisbaena is the largest",
                    |c| except(highest(c, VICTIM, RIVALS), &["ts_0", "src2_0"]), FEW_BLOCKS;
                order: "the same, where no write ends a collection",
                    |c| except(reversed(lowest_of(c, "never aborts", VICTIM, RIVALS)), &["ts_0", "src2_0"]), FEW_BLOCKS;
            }
        },
    },
    Figure {
        id: "18",
        title: "Response times by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[RESPONSE])],
        rows: rows! {
            "§6.3, Figure 18" {
                order: "increases with the chunk size for most traces: from 64 to 1024 KB, but under src2_2",
                    |c| except(grows(c, RESPONSE, &["64 KB", "1024 KB"]), &["src2_2"]), NEVER_FULL;
                order: "under src2_2 decreases up to 256 KB and increases from there",
                    |c| vec![
                        c.points_chain(
                            RESPONSE,
                            "src2_2",
                            "Amphisbaena",
                            &["256 KB", "128 KB", "64 KB"]
                        ),
                        c.points_chain(
                            RESPONSE,
                            "src2_2",
                            "Amphisbaena",
                            &["256 KB", "512 KB", "1024 KB"]
                        ),
                    ], FILLED_IN_TURN;
            }
        },
    },
    Figure {
        id: "19",
        title: "Write hits by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[BUFFER_HITS, HOT_HITS])],
        rows: rows! {
            "§6.3, Figure 19" {
                percent 0.0: "the write hit rate is not sensitive to the chunk size: points between least and most, on \
                              average",
                    |c| mean_range(c, BUFFER_HITS, CHUNKS);
                order: "write hits are mainly contributed by the HFB",
                    |c| {
                        let pair = |trace: &&'static str| {
                            two(
                                trace,
                                ("LFB", c.at(COLD_HITS, trace, "Amphisbaena", "64 KB")),
                                ("HFB", c.at(HOT_HITS, trace, "Amphisbaena", "64 KB")),
                            )
                        };
                        EIGHT.iter().map(pair).collect()
                    }, FEW_AGAIN;
            }
        },
    },
    Figure {
        id: "20",
        title: "Write amplification by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[WAF])],
        rows: rows! {
            "§6.3, Figure 20" {
                order: "increases with the chunk size, except for src2_2: from 64 to 1024 KB",
                    |c| except(grows(c, WAF, &["64 KB", "1024 KB"]), &["src2_2"]), NEVER_FULL;
            }
        },
    },
    Figure {
        id: "21",
        title: "Write-backs by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[RMW, RMW_FREE])],
        rows: rows! {
            "§6.3, Figure 21" {
                order: "the larger the chunk size, the higher the number of RMWs, but under src2_2: from 64 to \
                        1024 KB",
                    |c| except(grows(c, RMW, &["64 KB", "1024 KB"]), &["src2_2"]), NEVER_FULL;
                order: "on src2_2 it decreases as the chunk size increases",
                    |c| vec![c.points_chain(RMW, "src2_2", "Amphisbaena", &["1024 KB", "64 KB"])], SMALLER_VICTIMS;
            }
        },
    },
    Figure {
        id: "22",
        title: "Padding by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[PADDED])],
        rows: rows! {
            "§6.3, Figure 22" {
                order: "grows with the chunk size for workloads other than src2_2: from 64 to 1024 KB",
                    |c| except(grows(c, PADDED, &["64 KB", "1024 KB"]), &["src2_2"]), NEVER_FULL;
                order: "hm_0 introduces the most synthetic data",
                    |c| compare::most(c, PADDED, "hm_0", "64 KB"), NORMALISED;
                order: "src2_2 introduces the least",
                    |c| compare::least(c, PADDED, "src2_2", "64 KB"), NORMALISED;
            }
        },
    },
    Figure {
        id: "23",
        title: "Victim zones by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[VICTIM])],
        rows: rows! {
            "§6.3, Figure 23" {
                order: "the average victim zone decreases as the chunk size increases: from 64 to 1024 KB, but \
                        under src2_2",
                    |c| except(grows(c, VICTIM, &["1024 KB", "64 KB"]), &["src2_2"]), NEVER_FULL_VICTIMS;
                order: "for src2_2 it is largest at 128 KB",
                    |c| ["64 KB", "256 KB", "512 KB", "1024 KB"]
                    .map(|other| c.points_chain(
                        VICTIM,
                        "src2_2",
                        "Amphisbaena",
                        &[other, "128 KB"]
                    ))
                    .to_vec(), LARGEST;
            }
        },
    },
    Figure {
        id: "24",
        title: "Reallocation of the buffer",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(&[TO_HOT, TO_COLD])],
        rows: rows! {
            "§6.3, Figure 24" {
                order: "the HFB is adjusted more than the LFB in most of the traces: in all together",
                    |c| {
                        let sum = |metric| -> f64 {
                            EIGHT.iter().map(|trace| c.at(metric, trace, "Amphisbaena", "64 KB")).sum()
                        };
                        vec![two("", ("to the LFB", sum(TO_COLD)), ("to the HFB", sum(TO_HOT)))]
                    };
                order: "under web_0 and src2_2 there is less variation",
                    |c| compare::least_of_two(c, TO_HOT, ["web_0", "src2_2"], "64 KB"), BY_SHARE;
            }
        },
    },
    Figure {
        id: "25",
        title: "By the part of the filter list",
        how: "",
        source: Source::Runs(&[BY_LAMBDA]),
        charts: &[Chart::ByPoint(&[BUFFER_HITS, RESPONSE])],
        rows: rows! {
            "§6.4, Figure 25" {
                percent 0.0: "the write hit rate is not sensitive to λ: points between least and most, on average",
                    |c| mean_range(c, BUFFER_HITS, LAMBDAS);
                factor 1.0: "the response latency is not: most ÷ least, on average",
                    |c| compare::spread(c, RESPONSE, LAMBDAS);
            }
            "§6.4" {
                order: "the best performance is achieved at λ = 0.1: response times on average",
                    |c| {
                        let mean = |label: &str| compare::mean(c, RESPONSE, label);
                        ["0.3", "0.5"]
                            .map(|other| two("", ("0.1", mean("0.1")), (other, mean(other))))
                            .to_vec()
                    };
            }
        },
    },
    own::SMALL,
    own::DECISIONS,
    own::HISTORY,
    own::OTHERS,
];
