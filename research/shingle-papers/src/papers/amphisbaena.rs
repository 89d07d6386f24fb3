//! Amphisbaena (Zhang et al., Applied Sciences 14(2), 2024).
//!
//! Where the text is unclear: "the latest strategies" that its averages are against are Fluid_loop, the
//! only one whose least and most are printed; averages are means over the traces. Synthetic data counts
//! in every write-back, as what is published exceeds the zones that the traces touch. Whose Figures
//! 2 (a), 2 (b), 3 (a) and 3 (b) are the text does not say: each statement holds if one trace is so. When
//! chunks return, how a chunk is read and what ends a collection are readings: docs/papers.md.

mod bare;
mod compare;
mod own;
mod reasons;
mod systems;

use self::bare::{LONG_OFTEN, SHORT, SHORT_ONCE, SPAN};
use self::compare::{
    average_saved, below, but, grows, highest, least_saved_on, lowest, most_saved_on, rises,
    saved_on, unlike, with, with_others,
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
use super::rows::{factor, order, percent};
use crate::experiment::{Chart, Claim, Comparison, Figure, Paper, Row, Source};

/// Amphisbaena.
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
        claims: &[
            Claim {
                at: "§6.2, Figure 12",
                says: "reduces the response latency compared to Fluid_loop",
                metric: RESPONSE,
                chains: &[&["Amphisbaena", "Fluid_loop"]],
            },
            Claim {
                at: "§6.2, Figure 13",
                says: "the write-hit rate of Amphisbaena is higher than that of its competitors in all traces",
                metric: BUFFER_HITS,
                chains: &[
                    &["Fluid", "Amphisbaena"],
                    &["Fluid_loop", "Amphisbaena"],
                    &["Skylight", "Amphisbaena"],
                ],
            },
            Claim {
                at: "§6.2, Figure 14",
                says: "exhibits the lowest write amplification under all workloads",
                metric: WAF,
                chains: LOWEST,
            },
            Claim {
                at: "§6.2, Figure 15",
                says: "has the lowest number of RMW operations",
                metric: RMW,
                chains: LOWEST,
            },
        ],
    },
};

/// Amphisbaena is below each of its rivals.
const LOWEST: &[&[&str]] =
    &[&["Amphisbaena", "Fluid"], &["Amphisbaena", "Fluid_loop"], &["Amphisbaena", "Skylight"]];

/// Rows of Table 3, five a line.
macro_rules! table_3 {
    ($($trace:literal $requests:literal $writes:literal $updates:literal $zones:literal
       $sectors:literal;)*) => {
        &[$(
            factor!("§6.1, Table 3", concat!($trace, ": total requests (M)"), $requests,
                |c| c.number(concat!($trace, ": total requests (M)")), SHAPED),
            percent!("§6.1, Table 3", concat!($trace, ": write ratio (%)"), $writes,
                |c| c.number(concat!($trace, ": write ratio (%)")), SHAPED),
            percent!("§6.1, Table 3", concat!($trace, ": update ratio (%)"), $updates,
                |c| c.number(concat!($trace, ": update ratio (%)")), SHAPED),
            factor!("§6.1, Table 3", concat!($trace, ": write range (zones)"), $zones,
                |c| c.number(concat!($trace, ": write range (zones)")), SHAPED),
            factor!("§6.1, Table 3", concat!($trace, ": average write (sectors)"), $sectors,
                |c| c.number(concat!($trace, ": average write (sectors)")), SHAPED),
        )*]
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
        rows: &[
            percent!(
                "§2.3, Figure 2 (a)",
                "blocks with short update periods, of the trace that has most (%)",
                83.7,
                |c| with_others(c, SHORT, SHORT, f64::max).0,
                PERIODS
            ),
            percent!(
                "§2.3, Figure 2 (a)",
                "of these, updated once (%)",
                6.76,
                |c| with_others(c, SHORT, SHORT_ONCE, f64::max).1,
                PERIODS
            ),
            percent!(
                "§2.3, Figure 2 (b)",
                "blocks with long update periods, of the trace that has most (%)",
                85.0,
                |c| 100.0 - with_others(c, SHORT, SHORT, f64::min).0,
                PERIODS
            ),
            percent!(
                "§2.3, Figure 2 (b)",
                "of these, updated more than twice (%)",
                70.0,
                |c| with_others(c, SHORT, LONG_OFTEN, f64::min).1,
                PERIODS
            ),
        ],
    },
    Figure {
        id: "3",
        title: "Write ranges",
        how: "Two traces are drawn, a point in thousands of each.",
        source: Source::Measured(|bench| bare::figure_3(bench, EIGHT)),
        charts: &[Chart::Own("range")],
        rows: &[
            order!(
                "§2.3, Figure 3 (a)",
                "the write requests cover the entire LBA address space almost evenly: some trace writes nine \
                 tenths of its zones within a tenth of the time",
                |c| {
                    let most = compare::of_traces(c, SPAN, f64::max);
                    vec![two("", ("nine tenths", 90.0), ("the most", most))]
                }
            ),
            order!(
                "§2.3, Figure 3 (b)",
                "are concentrated in a limited LBA address space: another one less than half of them",
                |c| {
                    let least = compare::of_traces(c, SPAN, f64::min);
                    vec![two("", ("the least", least), ("half", 50.0))]
                },
                SPANS
            ),
        ],
    },
    Figure {
        id: "12",
        title: "Response times",
        how: "Not normalised: the numbers are milliseconds.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(RESPONSE), Chart::ByTrace(ABORTED)],
        rows: &[
            percent!(
                "abstract, Figure 12",
                "saved against Fluid_loop on average (%)",
                29.9,
                |c| average_saved(c, RESPONSE, "Fluid_loop"),
                SCATTERED
            ),
            percent!(
                "§6.2",
                "saved against Fluid_loop on src2_2, the maximum (%)",
                82.4,
                |c| saved_on(c, RESPONSE, "Fluid_loop", "src2_2"),
                SCATTERED
            ),
            percent!(
                "§6.2",
                "saved against Fluid_loop on src2_0, the minimum (%)",
                4.8,
                |c| saved_on(c, RESPONSE, "Fluid_loop", "src2_0"),
                SCATTERED
            ),
            order!(
                "§6.2, Figure 12",
                "reduces the response latency compared to Fluid_loop, on each trace",
                |c| lowest(c, RESPONSE, &["Fluid_loop"]),
                SCATTERED
            ),
            order!(
                "§6.2, Figure 12",
                "the same, where no write ends a collection",
                |c| with(c, "never aborts", RESPONSE, &["Fluid_loop"]),
                SCATTERED
            ),
            order!(
                "§6.2",
                "most on src2_2",
                |c| most_saved_on(c, RESPONSE, "Fluid_loop", "src2_2"),
                SCATTERED
            ),
            order!(
                "§6.2",
                "least on src2_0",
                |c| least_saved_on(c, RESPONSE, "Fluid_loop", "src2_0"),
                SCATTERED
            ),
        ],
    },
    Figure {
        id: "13",
        title: "Write hits in the buffer",
        how: "",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(BUFFER_HITS), Chart::ByTrace(HOT_HITS), Chart::ByTrace(COLD_HITS)],
        rows: &[
            order!(
                "§6.2, Figure 13",
                "the write-hit rate of Amphisbaena is higher than that of its competitors in all traces",
                |c| highest(c, BUFFER_HITS, RIVALS),
                WHOLE_FRAMES
            ),
            order!(
                "§6.2",
                "Fluid_loop outperforms Fluid and Skylight in most traces: on average",
                |c| rises(c, BUFFER_HITS, &[&["Fluid", "Fluid_loop"], &["Skylight", "Fluid_loop"]])
            ),
            percent!(
                "§6.2",
                "in src2_2, points above Skylight, which achieves the suboptimal result",
                5.8,
                |c| c.at(BUFFER_HITS, "src2_2", "Amphisbaena", "")
                    - c.at(BUFFER_HITS, "src2_2", "Skylight", "")
            ),
        ],
    },
    Figure {
        id: "14",
        title: "Write amplification",
        how: "Bytes written to the disk by bytes that the host wrote; not normalised.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(WAF)],
        rows: &[
            order!(
                "§6.2, Figure 14",
                "exhibits the lowest write amplification under all workloads",
                |c| lowest(c, WAF, RIVALS),
                FEW_BLOCKS
            ),
            percent!(
                "§6.2",
                "less than other strategies' on average (%)",
                98.5,
                |c| RIVALS.iter().map(|rival| average_saved(c, WAF, rival)).sum::<f64>() / 3.0,
                AMPLIFIES
            ),
        ],
    },
    Figure {
        id: "15",
        title: "Write-backs",
        how: "",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(RMW), Chart::ByTrace(RMW_FREE), Chart::ByTrace(WRITE_BACKS)],
        rows: &[
            order!(
                "§6.2, Figure 15",
                "has the lowest number of RMW operations",
                |c| lowest(c, RMW, RIVALS),
                FEW_BLOCKS
            ),
            order!(
                "§6.2, Figure 15",
                "the total number of write-backs is lower than the other competitors'",
                |c| lowest(c, WRITE_BACKS, RIVALS),
                FEW_BLOCKS
            ),
            order!(
                "§6.2, Figure 15",
                "the lowest number of RMW operations, where no write ends a collection",
                |c| with(c, "never aborts", RMW, RIVALS),
                FEW_BLOCKS
            ),
            percent!(
                "abstract, §6.2",
                "RMWs saved against Fluid_loop on average (%)",
                37.0,
                |c| average_saved(c, RMW, "Fluid_loop"),
                AMPLIFIES
            ),
        ],
    },
    Figure {
        id: "16",
        title: "Padding",
        how: "Synthetic data in every write-back, the same gap counted again in each; and counted once.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(PADDED), Chart::ByTrace(PADDED_FIRST)],
        rows: &[
            order!(
                "§6.2, Figure 16",
                "introduces the least amount of synthetic data among all the traces",
                |c| lowest(c, PADDED, RIVALS),
                PADDING
            ),
            order!(
                "§6.2, Figure 16",
                "the same, each gap counted once",
                |c| lowest(c, PADDED_FIRST, RIVALS),
                PADDED_ONCE
            ),
            factor!(
                "§6.2",
                "reduces synthetic data under src2_2 by up to (GB)",
                552.0,
                |c| below(c, PADDED, "src2_2", RIVALS),
                PADDING
            ),
            factor!(
                "§6.2",
                "and under prxy_0 (GB)",
                191.0,
                |c| below(c, PADDED, "prxy_0", RIVALS),
                PADDING
            ),
        ],
    },
    Figure {
        id: "17",
        title: "Victim zones",
        how: "Buffered blocks that are written back, by zones written back.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(VICTIM)],
        rows: &[
            order!(
                "§6.2, Figure 17",
                "except for ts_0 and src2_0, the size of the victim zone in Amphisbaena is the largest",
                |c| but(highest(c, VICTIM, RIVALS), &["ts_0", "src2_0"]),
                FEW_BLOCKS
            ),
            order!(
                "§6.2, Figure 17",
                "the same, where no write ends a collection",
                |c| but(reversed(with(c, "never aborts", VICTIM, RIVALS)), &["ts_0", "src2_0"]),
                FEW_BLOCKS
            ),
        ],
    },
    Figure {
        id: "18",
        title: "Response times by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(RESPONSE)],
        rows: &[
            order!(
                "§6.3, Figure 18",
                "increases with the chunk size for most traces: from 64 to 1024 KB, but under src2_2",
                |c| but(grows(c, RESPONSE, &["64 KB", "1024 KB"]), &["src2_2"]),
                NEVER_FULL
            ),
            order!(
                "§6.3, Figure 18",
                "under src2_2 decreases up to 256 KB and increases from there",
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
                ],
                FILLED_IN_TURN
            ),
        ],
    },
    Figure {
        id: "19",
        title: "Write hits by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(BUFFER_HITS), Chart::ByPoint(HOT_HITS)],
        rows: &[
            percent!(
                "§6.3, Figure 19",
                "the write hit rate is not sensitive to the chunk size: points between least and most, on \
                 average",
                0.0,
                |c| unlike(c, BUFFER_HITS, CHUNKS)
            ),
            order!(
                "§6.3, Figure 19",
                "write hits are mainly contributed by the HFB",
                |c| {
                    let pair = |trace: &&'static str| {
                        two(
                            trace,
                            ("LFB", c.at(COLD_HITS, trace, "Amphisbaena", "64 KB")),
                            ("HFB", c.at(HOT_HITS, trace, "Amphisbaena", "64 KB")),
                        )
                    };
                    EIGHT.iter().map(pair).collect()
                },
                FEW_AGAIN
            ),
        ],
    },
    Figure {
        id: "20",
        title: "Write amplification by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(WAF)],
        rows: &[order!(
            "§6.3, Figure 20",
            "increases with the chunk size, except for src2_2: from 64 to 1024 KB",
            |c| but(grows(c, WAF, &["64 KB", "1024 KB"]), &["src2_2"]),
            NEVER_FULL
        )],
    },
    Figure {
        id: "21",
        title: "Write-backs by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(RMW), Chart::ByPoint(RMW_FREE)],
        rows: &[
            order!(
                "§6.3, Figure 21",
                "the larger the chunk size, the higher the number of RMWs, but under src2_2: from 64 to \
                 1024 KB",
                |c| but(grows(c, RMW, &["64 KB", "1024 KB"]), &["src2_2"]),
                NEVER_FULL
            ),
            order!(
                "§6.3, Figure 21",
                "on src2_2 it decreases as the chunk size increases",
                |c| vec![c.points_chain(RMW, "src2_2", "Amphisbaena", &["1024 KB", "64 KB"])],
                SMALLER_VICTIMS
            ),
        ],
    },
    Figure {
        id: "22",
        title: "Padding by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(PADDED)],
        rows: &[
            order!(
                "§6.3, Figure 22",
                "grows with the chunk size for workloads other than src2_2: from 64 to 1024 KB",
                |c| but(grows(c, PADDED, &["64 KB", "1024 KB"]), &["src2_2"]),
                NEVER_FULL
            ),
            order!(
                "§6.3, Figure 22",
                "hm_0 introduces the most synthetic data",
                |c| compare::most(c, PADDED, "hm_0", "64 KB"),
                NORMALISED
            ),
            order!(
                "§6.3, Figure 22",
                "src2_2 introduces the least",
                |c| compare::least(c, PADDED, "src2_2", "64 KB"),
                NORMALISED
            ),
        ],
    },
    Figure {
        id: "23",
        title: "Victim zones by the size of chunks",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(VICTIM)],
        rows: &[
            order!(
                "§6.3, Figure 23",
                "the average victim zone decreases as the chunk size increases: from 64 to 1024 KB, but \
                 under src2_2",
                |c| but(grows(c, VICTIM, &["1024 KB", "64 KB"]), &["src2_2"]),
                NEVER_FULL_VICTIMS
            ),
            order!(
                "§6.3, Figure 23",
                "for src2_2 it is largest at 128 KB",
                |c| ["64 KB", "256 KB", "512 KB", "1024 KB"]
                    .map(|other| c.points_chain(
                        VICTIM,
                        "src2_2",
                        "Amphisbaena",
                        &[other, "128 KB"]
                    ))
                    .to_vec(),
                LARGEST
            ),
        ],
    },
    Figure {
        id: "24",
        title: "Reallocation of the buffer",
        how: "",
        source: Source::Runs(&[BY_CHUNK]),
        charts: &[Chart::ByPoint(TO_HOT), Chart::ByPoint(TO_COLD)],
        rows: &[
            order!(
                "§6.3, Figure 24",
                "the HFB is adjusted more than the LFB in most of the traces: in all together",
                |c| {
                    let sum = |metric| -> f64 {
                        EIGHT.iter().map(|trace| c.at(metric, trace, "Amphisbaena", "64 KB")).sum()
                    };
                    vec![two("", ("to the LFB", sum(TO_COLD)), ("to the HFB", sum(TO_HOT)))]
                }
            ),
            order!(
                "§6.3, Figure 24",
                "under web_0 and src2_2 there is less variation",
                |c| compare::least_of_two(c, TO_HOT, ["web_0", "src2_2"], "64 KB"),
                BY_SHARE
            ),
        ],
    },
    Figure {
        id: "25",
        title: "By the part of the filter list",
        how: "",
        source: Source::Runs(&[BY_LAMBDA]),
        charts: &[Chart::ByPoint(BUFFER_HITS), Chart::ByPoint(RESPONSE)],
        rows: &[
            percent!(
                "§6.4, Figure 25",
                "the write hit rate is not sensitive to λ: points between least and most, on average",
                0.0,
                |c| unlike(c, BUFFER_HITS, LAMBDAS)
            ),
            factor!(
                "§6.4, Figure 25",
                "the response latency is not: most ÷ least, on average",
                1.0,
                |c| compare::spread(c, RESPONSE, LAMBDAS)
            ),
            order!(
                "§6.4",
                "the best performance is achieved at λ = 0.1: response times on average",
                |c| {
                    let mean = |label: &str| compare::mean(c, RESPONSE, label);
                    ["0.3", "0.5"]
                        .map(|other| two("", ("0.1", mean("0.1")), (other, mean(other))))
                        .to_vec()
                }
            ),
        ],
    },
    own::SMALL,
    own::DECISIONS,
    own::HISTORY,
    own::OTHERS,
];
