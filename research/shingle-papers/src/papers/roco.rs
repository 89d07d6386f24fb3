//! ROCO (Liu et al., JCST 34(1), 2019).
//!
//! Where the text is unclear: the response time of Figure 11 is that of the drive, as its caption
//! says, waiting for the drive included; that of requests, which a cache answers, is shown beside it.
//! "52.89 times worse" is a quotient of 52.89. What the paper calls GB and KB are powers of 1024, as
//! its table agrees with others then. Heat is "the access frequency of a zone" (§3.2) and, by equation 1, a
//! count: ROCO is run both ways, see figure `heat` and docs/papers.md.

use shingle_result::Pacing;
use shingle_trace::Mode;

use super::bare;
use super::compare::{above_others, on_each, reversed};
use super::metrics::{
    ABSORBED, CLEAN_READ, DISK_RESPONSE, HOST_DIRTY, HOST_READ, IDLE_CLEANED, NON_SEQUENTIAL,
    RESPONSE, SEQUENTIAL, SYNTHESIZED,
};
use super::rows::{by_volume, factor, order, percent};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Claim, Comparison, Figure, Paper, Row, Source};
use crate::grid::{Grid, Metric, ONE, Sets, Size, System};

/// ROCO.
pub(super) static PAPER: Paper = Paper {
    name: "roco",
    citation: "W.-G. Liu, L.-F. Zeng, D. Feng, K. B. Kent: ROCO: Using a Solid State Drive Cache to \
               Improve the Performance of a Host-Aware Shingled Magnetic Recording Drive. Journal of \
               Computer Science and Technology 34(1), 2019",
    about: &[
        "All runs are over ha-roco, the paper's drive: 146 GB, zones of 16 MB, a disk cache of 512 MB, \
         a Maxtor Atlas 10K IV underneath; with a cache of 256 MB on ssd-slc. Requests come at their \
         times (open loop), whether or not those before them are done.",
        "Percentages are of the blocks that the host writes. Sequential data is without what host-side RMWs \
         write: their dirty blocks and the blocks read for them are shown apart.",
        "ROCO takes the heat of a zone for a frequency; \"ROCO, counts\" is equation 1 to the letter.",
    ],
    not_varied: &["idle", "heat", "times", "long"],
    figures: FIGURES,
    comparison: Comparison {
        grid: grid(&[HA, LRU, ZFIFO, REORDER, ROCO], &[]),
        claims: &[
            Claim {
                at: "§4.2.2, Figure 9 (a)",
                says: "ROCO performs the best: its non-sequential data is the least",
                metric: NON_SEQUENTIAL,
                chains: LEAST,
            },
            Claim {
                at: "§4.2.2, Figure 9 (b)",
                says: "ROCO writes more sequential data to the HA-SMR drive than HA, Cache-LRU and Cache-ZFIFO",
                metric: SEQUENTIAL,
                chains: &[&["HA", "ROCO"], &["Cache-LRU", "ROCO"], &["Cache-ZFIFO", "ROCO"]],
            },
            Claim {
                at: "§4.2.2, Figure 10 (a)",
                says: "ROCO generates the least read data during the disk cache cleaning",
                metric: CLEAN_READ,
                chains: LEAST,
            },
            Claim {
                at: "§4.2.2, Figure 11",
                says: "ROCO improves the performance of the HA-SMR drive the most among the four solutions (here: \
                       requests)",
                metric: RESPONSE,
                chains: &[&["ROCO", "HA"], &["ROCO", "Cache-LRU"], &["ROCO", "Cache-ZFIFO"]],
            },
        ],
    },
};

/// ROCO is below each other system.
const LEAST: &[&[&str]] = &[
    &["ROCO", "HA"],
    &["ROCO", "Cache-LRU"],
    &["ROCO", "Cache-ZFIFO"],
    &["ROCO", "Reorder-CZFIFO"],
];

// Reasons that several statements share.

const SAME_BLOCKS: &str = "contradicts itself: Cache-ZFIFO and Reorder-CZFIFO evict the same blocks and differ in \
                           the order of writing alone, so both shares together have to be the same; published \
                           are 5.79 and 7.84 % of proj_0, 42.78 and 41.92 of prn_0, 82.04 and 84.26 of \
                           src2_2, 8.85 and 10.13 of stg_0, 15.03 and 15.02 of src1_2";
const SAME_BLOCKS_ONCE: &str = "contradicts itself: with Cache-ZFIFO's, which evicts the same blocks, the shares are \
                                5.79 and 7.84 % of proj_0, 8.85 and 10.13 of stg_0; and contradicts Amphisbaena: \
                                without a reset each block is written at a pointer once at most, and of src2_2 \
                                23.7 % are updates there (its Table 3), so that 76.3 % can be sequential and not \
                                79.93";
const FEWER: &str = "contradicts itself: by Figures 7 and 9 ROCO sends 11.40 % of proj_0 to the drive and \
                     Cache-ZFIFO 5.79, of src2_2 87.66 and 82.04, of stg_0 14.24 and 8.85, of src1_2 21.78 and \
                     15.03; less of prn_0 alone, 32.18 and 42.78. What host-side RMWs write is not even in it";
const STARTS: &str = "configuration not published: where in the drive's zones their data begins, and with what gaps. \
                      Only what is cached from a zone's write pointer on is sequential";
const COUNTED: &str = "by counts a zone of which a block was ever written again is hotter than any that has just \
                       come, for as long as it is cached (docs/papers.md): compare with ROCO beside it";
const IDLE: &str = "configuration not published: how long the disk cache has to be idle before it is cleaned; here \
                    it is a second. Without cleaning in idle time: figure idle";
const CLEANED: &str = "the gaps of a zone are synthesized when it is first cleaned, and sooner or later each \
                       zone is, whatever the cache: without cleaning in idle time (see figure idle) all systems \
                       have about the same. How much of a zone is written at all is not published";
const PER_IO: &str = "means over I/Os at the drive do not compare: under Cache-LRU an I/O is a block, under the \
                      others up to 512 KiB, and all those of an eviction come at once and wait for each \
                      other. By requests (see the numbers, and figure times) Cache-LRU is slower";
const SOONER: &str = "configuration not published: which writes come again soon, short or long ones. Here short ones do, as in \
                      recorded traces (docs/workloads.md, long-far); where long ones come again as soon, Cache-LRU lets 35 % of proj_0 \
                      through and not 68, of prn_0 40 and not 53, of src1_2 30 and not 43 (figure long)";
const SOONER_AND_STARTS: &str = "configuration not published: which writes come again soon, short or long ones (figure long), and where in \
                                 the drive's zones their data begins: what the cache lets through of a zone is sequential \
                                 only from its write pointer on";
const BUNCHED: &str = "configuration not published: how requests bunch in the week. With nine tenths of it in pauses (--free idle=0.9) \
                       HA takes 10.2 times as long as ROCO on proj_0, 7.0 on prn_0 and 1.3 on src1_2, Cache-LRU 5.9, 8.6 \
                       and 7.7 times";
const BLOCKWISE: &str = "Cache-LRU evicts block by block, here: how much it writes at a time is not published. The more \
                         requests bunch, the more that takes (--free idle=0.9: 58 times ROCO's on prn_0)";
const RECENCY: &str = "Cache-LRU absorbs 0.4 to 2.5 points more of each trace than Cache-ZFIFO (Figure 9, absorbed), which lets a \
                       zone go by its age, whatever of it is written again; the published shares have Cache-ZFIFO absorb \
                       94.2 % of proj_0 and Cache-LRU 86.9 % at most. Between the others the order is as published, but \
                       where Reorder-CZFIFO is above Cache-LRU for the same reason";
const FIVE: &[&str] = &["proj_0", "prn_0", "src2_2", "stg_0", "src1_2"];

const HA: System = System::new("HA", "none", &[]);
/// Its cache is for writes, as that of the others.
const LRU: System = System::new("Cache-LRU", "lru", &[("cache.reads", "bypass")]);
const ZFIFO: System = System::new("Cache-ZFIFO", "zfifo", &[]);
const REORDER: System = System::new("Reorder-CZFIFO", "reorder-zfifo", &[]);
const ROCO: System = System::new("ROCO", "roco", &[]);
/// Equation 1 to the letter.
const COUNTS: System = System::new("ROCO, counts", "roco", &[("policy.heat", "count")]);

const fn grid(systems: &'static [System], sets: Sets) -> Grid {
    Grid {
        traces: FIVE,
        free: &[],
        mode: Mode::ReadWrite,
        pacing: Pacing::Open,
        accesses: None,
        copies: 1,
        default_scale: 1.0,
        drive: "ha-roco",
        timing: None,
        ssd: "ssd-slc",
        buffer: Size::Real,
        cache: Size::Blocks(65_536),
        sets,
        systems,
        points: ONE,
    }
}

const REORDERING: Grid = grid(&[ZFIFO, REORDER], &[]);
const ALL: Grid = grid(&[HA, LRU, ZFIFO, REORDER, ROCO, COUNTS], &[]);
const NEVER_IDLE: Grid = grid(&[HA, LRU, ZFIFO, REORDER, ROCO], &[("drive.idle_cleaning", "off")]);
/// Long writes come again about as soon as short ones.
const LONG_SOONER: Grid = Grid { free: &[("long-far", "-0.6")], ..grid(&[LRU, ROCO], &[]) };

/// A chain of systems on each trace.
fn chains(cells: &Cells, metric: Metric, systems: &[&str]) -> Vec<Chain> {
    on_each(cells, metric, FIVE, systems)
}

/// By how many points a metric falls from a system to another.
fn falls(cells: &Cells, metric: Metric, trace: &str, from: &str, to: &str) -> f64 {
    cells.at(metric, trace, from, "") - cells.at(metric, trace, to, "")
}

/// How many times longer something takes than under ROCO.
fn over_roco(cells: &Cells, metric: Metric, trace: &str, system: &str) -> f64 {
    cells.at(metric, trace, system, "") / cells.at(metric, trace, "ROCO", "")
}

/// Such quotients as published, a line a system.
macro_rules! slower {
    ($at:literal $metric:ident: $($system:literal
       [$proj:literal $prn:literal $src2:literal $stg:literal $src1:literal] $reason:expr;)*
     $(and: $($other:expr),* $(,)?)?) => {
        &[$(
            slower!(one $at $metric $system "proj_0" $proj $reason),
            slower!(one $at $metric $system "prn_0" $prn $reason),
            slower!(one $at $metric $system "src2_2" $src2 $reason),
            slower!(one $at $metric $system "stg_0" $stg $reason),
            slower!(one $at $metric $system "src1_2" $src1 $reason),
        )* $($($other),*)?]
    };
    (one $at:literal $metric:ident $system:literal $trace:literal $value:literal $reason:expr) => {
        factor!($at, concat!($trace, ": response time of ", $system, " ÷ that of ROCO"), $value,
            |c| over_roco(c, $metric, $trace, $system), $reason)
    };
}

const FIGURES: &[Figure] = &[
    Figure {
        id: "table-1",
        title: "The traces",
        how: "Whole volumes. Where workloads are made, these figures shaped them, so agreement says \
              only that they were met.",
        source: Source::Measured(|bench| bare::roco_table_1(bench, FIVE)),
        charts: &[],
        rows: TABLE_1,
    },
    Figure {
        id: "7",
        title: "Reordering: what the drive receives",
        how: "",
        source: Source::Runs(&[REORDERING]),
        charts: &[Chart::ByTrace(NON_SEQUENTIAL), Chart::ByTrace(SEQUENTIAL)],
        rows: by_volume! {
            "§4.2.1, Figure 7 (a)" NON_SEQUENTIAL "non-sequential data" "Cache-ZFIFO"
                [5.27 27.17 80.45 6.3 14.2] SAME_BLOCKS;
            "§4.2.1, Figure 7 (a)" NON_SEQUENTIAL "non-sequential data" "Reorder-CZFIFO"
                [3.03 20.73 4.33 2.18 7.33] SAME_BLOCKS;
            "§4.2.1, Figure 7 (b)" SEQUENTIAL "sequential data" "Cache-ZFIFO"
                [0.52 15.61 1.59 2.55 0.83] SAME_BLOCKS;
            "§4.2.1, Figure 7 (b)" SEQUENTIAL "sequential data" "Reorder-CZFIFO"
                [4.81 21.19 79.93 7.95 7.69] SAME_BLOCKS_ONCE;
            and:
            order!(
                "§4.2.1, Figure 7 (a)",
                "implementing the zone-oriented block reordering can further reduce the ratios of \
                 non-sequential data",
                |c| chains(c, NON_SEQUENTIAL, &["Reorder-CZFIFO", "Cache-ZFIFO"])
            ),
            order!(
                "§4.2.1, Figure 7 (b)",
                "can further increase the ratios of sequential data",
                |c| chains(c, SEQUENTIAL, &["Cache-ZFIFO", "Reorder-CZFIFO"])
            ),
            order!(
                "§4.2.1, Figure 7 (a)",
                "src2_2 benefits the most from the zone-oriented block reordering: by points",
                |c| above_others(FIVE, "src2_2", |trace| {
                    falls(c, NON_SEQUENTIAL, trace, "Cache-ZFIFO", "Reorder-CZFIFO")
                })
            ),
        },
    },
    Figure {
        id: "8",
        title: "Reordering: what cleaning moves",
        how: "What cleaning reads is what it collects from the disk cache and what it reads of zones.",
        source: Source::Runs(&[REORDERING]),
        charts: &[Chart::ByTrace(CLEAN_READ), Chart::ByTrace(SYNTHESIZED)],
        rows: by_volume! {
            "§4.2.1, Figure 8 (a)" CLEAN_READ "data read by cleaning" "Cache-ZFIFO"
                [8.5 89.31 103.37 2.42 16.36] IDLE;
            "§4.2.1, Figure 8 (a)" CLEAN_READ "data read by cleaning" "Reorder-CZFIFO"
                [6.16 60.37 4.36 0.99 4.72] IDLE;
            "§4.2.1, Figure 8 (b)" SYNTHESIZED "synthesized data" "Cache-ZFIFO"
                [9.1 40.87 24.33 24.09 9.32] CLEANED;
            "§4.2.1, Figure 8 (b)" SYNTHESIZED "synthesized data" "Reorder-CZFIFO"
                [7.94 27.67 7.82 12.36 2.99] CLEANED;
            and:
            order!(
                "§4.2.1, Figure 8 (a)",
                "Reorder-CZFIFO can reduce the ratios of read data",
                |c| chains(c, CLEAN_READ, &["Reorder-CZFIFO", "Cache-ZFIFO"])
            ),
            order!(
                "§4.2.1, Figure 8 (b)",
                "can reduce the ratios of synthesized data",
                |c| chains(c, SYNTHESIZED, &["Reorder-CZFIFO", "Cache-ZFIFO"]),
                CLEANED
            ),
        },
    },
    Figure {
        id: "9",
        title: "ROCO: what the drive receives",
        how: "HA is the drive without a cache.",
        source: Source::Runs(&[ALL]),
        charts: &[
            Chart::ByTrace(NON_SEQUENTIAL),
            Chart::ByTrace(SEQUENTIAL),
            Chart::ByTrace(HOST_DIRTY),
            Chart::ByTrace(HOST_READ),
            Chart::ByTrace(ABSORBED),
        ],
        rows: by_volume! {
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "HA"
                [99.68 96.48 99.2 98.97 99.72] "";
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "Cache-LRU"
                [13.07 38.94 96.71 8.59 20.4] SOONER;
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "ROCO"
                [0.86 8.68 0.02 0.52 2.01] SOONER_AND_STARTS;
            "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "HA"
                [0.32 3.52 0.8 1.03 0.28] "";
            "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "ROCO"
                [10.54 23.5 87.64 13.72 19.77] STARTS;
            "§4.2.2, Figure 9 (c)" HOST_READ "data read for host-side RMWs" "ROCO"
                [0.32 0.56 0.0022 0.18 0.64] "";
            and:
            order!(
                "§4.2, Figures 7 (a) and 9 (a)",
                "ROCO performs the best: its non-sequential data is less than that of Reorder-CZFIFO, \
                 Cache-ZFIFO, Cache-LRU and HA, each more than the one before",
                |c| ranks(c, "ROCO"),
                RECENCY
            ),
            order!(
                "§4.2.2, Figure 9 (a)",
                "ROCO performs the best: its non-sequential data is the least",
                |c| least(c, NON_SEQUENTIAL, "ROCO")
            ),
            order!(
                "§4.2.2, Figures 7 and 9",
                "CREA … can reduce the number of data blocks written to the HA-SMR drive: the cache absorbs \
                 more than under Cache-ZFIFO",
                |c| chains(c, ABSORBED, &["Cache-ZFIFO", "ROCO"]),
                FEWER
            ),
            order!(
                "§4.2.2, Figure 9 (a)",
                "Cache-LRU does not work well for src2_2: what it takes off, in points, is least there",
                |c| {
                    let gain = |trace: &str| falls(c, NON_SEQUENTIAL, trace, "HA", "Cache-LRU");
                    reversed(above_others(FIVE, "src2_2", gain))
                }
            ),
            order!(
                "§4.2.2, Figure 9 (b)",
                "ROCO writes more sequential data to the HA-SMR drive than HA, Cache-LRU and \
                 Cache-ZFIFO",
                |c| {
                    let others = ["HA", "Cache-LRU", "Cache-ZFIFO"];
                    others.iter().flat_map(|other| chains(c, SEQUENTIAL, &[other, "ROCO"])).collect()
                }
            ),
            order!(
                "§4.2.2, Figure 9 (c)",
                "host-side RMW operations only migrate extra data: below 1 % of what is written",
                |c| {
                    let chain = |trace: &&str| Chain {
                        place: (*trace).into(),
                        links: vec![
                            ("read".into(), c.at(HOST_READ, trace, "ROCO", "")),
                            ("1 %".into(), 1.0),
                        ],
                    };
                    FIVE.iter().map(chain).collect()
                },
                STARTS
            ),
            order!(
                "§4.2.2, Figure 9 (c)",
                "The overhead is the least under src2_2",
                |c| reversed(above_others(FIVE, "src2_2", |trace| c.at(HOST_READ, trace, "ROCO", ""))),
                STARTS
            ),
        },
    },
    Figure {
        id: "10",
        title: "ROCO: what cleaning moves",
        how: "As Figure 8.",
        source: Source::Runs(&[ALL]),
        charts: &[Chart::ByTrace(CLEAN_READ), Chart::ByTrace(SYNTHESIZED)],
        rows: by_volume! {
            "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "HA"
                [24.72 82.58 109.18 55.8 32.69] IDLE;
            "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "ROCO"
                [0.68 13.65 0.94 0.45 2.06] IDLE;
            "§4.2.2, Figure 10 (b)" SYNTHESIZED "synthesized data" "HA"
                [13.08 65.3 30.17 55.27 18.42] CLEANED;
            "§4.2.2, Figure 10 (b)" SYNTHESIZED "synthesized data" "ROCO"
                [1.3 3.68 0.11 1.95 1.44] CLEANED;
            and:
            order!(
                "§4.2.2, Figure 10 (a)",
                "ROCO generates the least read data during the disk cache cleaning",
                |c| least(c, CLEAN_READ, "ROCO")
            ),
            order!(
                "§4.2.2, Figure 10 (b)",
                "ROCO reduces the ratios of generated synthesized data: it is least",
                |c| least(c, SYNTHESIZED, "ROCO"),
                CLEANED
            ),
        },
    },
    Figure {
        id: "11",
        title: "Response times",
        how: "Of the drive, as the caption has it, the time that an I/O waits for it included. Charts \
              and numbers also have the mean over all requests, which a cache answers.",
        source: Source::Runs(&[ALL]),
        charts: &[
            Chart::ByTrace(DISK_RESPONSE),
            Chart::ByTrace(RESPONSE),
            Chart::ByTrace(IDLE_CLEANED),
        ],
        rows: slower! {
            "§4.2.2, Figure 11" DISK_RESPONSE:
            "HA" [52.89 5.36 26.41 18.42 37.91] BUNCHED;
            "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] PER_IO;
            "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] "";
            and:
            order!(
                "§4.2.2, Figure 11",
                "ROCO improves the performance of the HA-SMR drive the most among the four solutions: \
                 ROCO, Cache-ZFIFO, Cache-LRU, HA",
                |c| chains(c, DISK_RESPONSE, &["ROCO", "Cache-ZFIFO", "Cache-LRU", "HA"]),
                PER_IO
            ),
            order!(
                "§4.2.2, Figure 11",
                "Among the five traces … the most under proj_0",
                |c| above_others(FIVE, "proj_0", |trace| over_roco(c, DISK_RESPONSE, trace, "HA")),
                BUNCHED
            ),
            order!(
                "§4.2.2, Figure 11",
                "does not improve the performance … so much under prn_0",
                |c| reversed(above_others(FIVE, "prn_0", |trace| over_roco(c, DISK_RESPONSE, trace, "HA"))),
                BUNCHED
            ),
        },
    },
    Figure {
        id: "idle",
        title: "Figure 11 again, cleaning only when the disk cache is full",
        how: "The paper cleans when the disk cache is idle or full (§2.1.1) and does not say how long \
              it has to be idle; ha-roco begins after a second. Here it never does.",
        source: Source::Runs(&[NEVER_IDLE]),
        charts: EXPLAINING,
        rows: slower! {
            "§4.2.2, Figure 11" DISK_RESPONSE:
            "HA" [52.89 5.36 26.41 18.42 37.91] BUNCHED;
            "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] PER_IO;
            "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] "";
        },
    },
    Figure {
        id: "heat",
        title: "Figures 9 to 11 again, with heat as a count",
        how: "Equation 1 to the letter: accesses of a zone's cached blocks, of which none ages. Elsewhere an \
              access counts half as much for each cache of writes since, as heat is to be a frequency \
              (§3.2).",
        source: Source::Runs(&[ALL]),
        charts: EXPLAINING,
        rows: by_volume! {
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "ROCO, counts"
                [0.86 8.68 0.02 0.52 2.01] COUNTED;
            "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "ROCO, counts"
                [10.54 23.5 87.64 13.72 19.77] COUNTED;
            "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "ROCO, counts"
                [0.68 13.65 0.94 0.45 2.06] COUNTED;
            and:
            order!(
                "§4.2, Figures 7 (a) and 9 (a)",
                "ROCO, Reorder-CZFIFO, Cache-ZFIFO, Cache-LRU and HA, each with more non-sequential data \
                 than the one before",
                |c| ranks(c, "ROCO, counts"),
                COUNTED
            ),
            order!(
                "§4.2.2, Figure 9 (a)",
                "ROCO performs the best: its non-sequential data is the least",
                |c| least(c, NON_SEQUENTIAL, "ROCO, counts"),
                COUNTED
            ),
            order!(
                "§4.2.2, Figure 10 (a)",
                "ROCO generates the least read data during the disk cache cleaning",
                |c| least(c, CLEAN_READ, "ROCO, counts"),
                COUNTED
            ),
        },
    },
    Figure {
        id: "times",
        title: "Figure 11 again, of requests",
        how: "Of a request, from its arrival until the cache or the drive has served it.",
        source: Source::Runs(&[ALL]),
        charts: &[Chart::ByTrace(RESPONSE)],
        rows: slower! {
            "§4.2.2, Figure 11" RESPONSE:
            "HA" [52.89 5.36 26.41 18.42 37.91] BUNCHED;
            "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] BLOCKWISE;
            "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] "";
            and:
            order!(
                "§4.2.2, Figure 11",
                "ROCO improves the performance of the HA-SMR drive the most among the four solutions",
                |c| {
                    let others = ["HA", "Cache-LRU", "Cache-ZFIFO"];
                    others.iter().flat_map(|other| chains(c, RESPONSE, &["ROCO", other])).collect()
                }
            ),
        },
    },
    Figure {
        id: "long",
        title: "Figure 9 again, long writes come again about as soon as short ones",
        how: "Elsewhere short ones come sooner, as in recorded traces (long-far is 0.6 there, and -0.6 here). Distances of all \
              reuses together, requests and blocks are as published, there and here.",
        source: Source::Runs(&[LONG_SOONER]),
        charts: EXPLAINING,
        rows: by_volume! {
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "Cache-LRU"
                [13.07 38.94 96.71 8.59 20.4] SOONER;
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "ROCO"
                [0.86 8.68 0.02 0.52 2.01] SOONER_AND_STARTS;
        },
    },
];

/// What explains the others: shares, cleaning, response times.
const EXPLAINING: &[Chart] = &[
    Chart::ByTrace(NON_SEQUENTIAL),
    Chart::ByTrace(SEQUENTIAL),
    Chart::ByTrace(HOST_DIRTY),
    Chart::ByTrace(ABSORBED),
    Chart::ByTrace(CLEAN_READ),
    Chart::ByTrace(SYNTHESIZED),
    Chart::ByTrace(DISK_RESPONSE),
    Chart::ByTrace(RESPONSE),
];

/// Less and less non-sequential data, on each trace.
fn ranks(cells: &Cells, roco: &str) -> Vec<Chain> {
    let order = [roco, "Reorder-CZFIFO", "Cache-ZFIFO", "Cache-LRU", "HA"];
    chains(cells, NON_SEQUENTIAL, &order)
}

/// ROCO's is below that of each other system, on each trace.
fn least(cells: &Cells, metric: Metric, roco: &str) -> Vec<Chain> {
    let others = ["HA", "Cache-LRU", "Cache-ZFIFO", "Reorder-CZFIFO"];
    others.iter().flat_map(|other| chains(cells, metric, &[roco, other])).collect()
}

/// Rows of Table 1, three a line.
macro_rules! table_1 {
    ($($trace:literal $written:literal $mean:literal $share:literal $reason:expr;)*) => {
        &[$(
            factor!("§4.1, Table 1", concat!($trace, ": total write size (GB)"), $written,
                |c| c.number(concat!($trace, ": written (GB)"))),
            factor!("§4.1, Table 1", concat!($trace, ": average write size (KB)"), $mean,
                |c| c.number(concat!($trace, ": mean write (KB)"))),
            percent!("§4.1, Table 1", concat!($trace, ": write ratio (%)"), $share,
                |c| c.number(concat!($trace, ": writes (% of requests)")), $reason),
        )*]
    };
}

/// Of the two volumes of which PORE and SAC publish counts of blocks.
const BY_BLOCKS: &str = "the published ratio is that of blocks as PORE counts them (68.2 and 83.2 %), \
                         and cannot be that of requests with the block counts and mean writes of both \
                         papers; see the numbers for the share of bytes";

const TABLE_1: &[Row] = table_1! {
    "proj_0" 144.27 34.78 87.52 "";
    "src2_2" 39.28 51.11 69.67 "";
    "prn_0" 45.19 8.50 89.21 "";
    "stg_0" 15.09 9.19 68.02 BY_BLOCKS;
    "src1_2" 44.15 32.51 83.41 BY_BLOCKS;
};
