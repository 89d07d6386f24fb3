//! ROCO (Liu et al., JCST 34(1), 2019).
//!
//! Interpretations of unclear text: the response time of Figure 11 is that of the drive, as its
//! caption says, including the wait for the drive. The response time of requests, which a cache
//! answers, is shown in addition. "52.89 times worse" is a ratio of 52.89. The paper's GB and KB
//! are powers of 1024, as its table then agrees with others. Heat is "the access frequency of a
//! zone" (§3.2) and, by equation 1, a count: ROCO is run both ways, see figure `heat` and
//! docs/papers.md.

mod own;
mod reasons;

use self::reasons::{
    BUNCHED, CLEANED, FEWER, GAPS, HOST_RMWS, IN_SEQUENCE, LEAST_CLEANED, LEFT, OVER_ZFIFO, PER_IO,
    RECENCY, REORDERED, ROCO_IN_SEQUENCE, STARTS,
};
use super::bare;
use super::compare::{above_others, on_each, reversed, two};
use super::metrics::{
    ABSORBED, CLEAN_READ, DISK_RESPONSE, HOST_DIRTY, HOST_READ, IDLE_CLEANED, NON_SEQUENTIAL,
    RESPONSE, SEQUENTIAL, SYNTHESIZED,
};
use super::rows::{by_volume, claims, rows};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Comparison, Figure, Paper, Row, Source};
use crate::grid::{Grid, Metric, Sets, Size, System};

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
    not_varied: &["idle", "heat", "times", "once"],
    figures: FIGURES,
    comparison: Comparison {
        grid: grid(&[HA, LRU, ZFIFO, REORDER, ROCO], &[]),
        claims: claims! {
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL: "ROCO performs the best: its non-sequential data is the least",
                LEAST;
            "§4.2.2, Figure 9 (b)" SEQUENTIAL:
                "ROCO writes more sequential data to the HA-SMR drive than HA, Cache-LRU and Cache-ZFIFO",
                &[&["HA", "ROCO"], &["Cache-LRU", "ROCO"], &["Cache-ZFIFO", "ROCO"]];
            "§4.2.2, Figure 10 (a)" CLEAN_READ: "ROCO generates the least read data during the disk cache cleaning",
                LEAST;
            "§4.2.2, Figure 11" RESPONSE:
                "ROCO improves the performance of the HA-SMR drive the most among the four solutions (here: \
                       requests)",
                &[&["ROCO", "HA"], &["ROCO", "Cache-LRU"], &["ROCO", "Cache-ZFIFO"]];
        },
    },
};

/// ROCO has a lower value than each other system.
const LEAST: &[&[&str]] = &[
    &["ROCO", "HA"],
    &["ROCO", "Cache-LRU"],
    &["ROCO", "Cache-ZFIFO"],
    &["ROCO", "Reorder-CZFIFO"],
];

const FIVE: &[&str] = &["proj_0", "prn_0", "src2_2", "stg_0", "src1_2"];

const HA: System = System::new("HA", "none", &[]);
/// Its cache takes writes only, like that of the others.
const LRU: System = System::new("Cache-LRU", "lru", &[("cache.reads", "bypass")]);
const ZFIFO: System = System::new("Cache-ZFIFO", "zfifo", &[]);
const REORDER: System = System::new("Reorder-CZFIFO", "reorder-zfifo", &[]);
const ROCO: System = System::new("ROCO", "roco", &[]);
/// ROCO by the literal equation 1.
const COUNTS: System = System::new("ROCO, counts", "roco", &[("policy.heat", "count")]);

const fn grid(systems: &'static [System], sets: Sets) -> Grid {
    Grid {
        traces: FIVE,
        drive: "ha-roco",
        ssd: "ssd-slc",
        cache: Size::Blocks(65_536),
        sets,
        systems,
        ..Grid::PLAIN
    }
}

const REORDERING: Grid = grid(&[ZFIFO, REORDER], &[]);
const ALL: Grid = grid(&[HA, LRU, ZFIFO, REORDER, ROCO, COUNTS], &[]);

/// Makes a chain of systems for each trace.
fn chains(cells: &Cells, metric: Metric, systems: &[&str]) -> Vec<Chain> {
    on_each(cells, metric, FIVE, systems)
}

/// The points by which a metric falls from one system to another.
fn falls(cells: &Cells, metric: Metric, trace: &str, from: &str, to: &str) -> f64 {
    cells.at(metric, trace, from, "") - cells.at(metric, trace, to, "")
}

/// The ratio of a metric of `system` to that of ROCO.
fn over_roco(cells: &Cells, metric: Metric, trace: &str, system: &str) -> f64 {
    cells.at(metric, trace, system, "") / cells.at(metric, trace, "ROCO", "")
}

/// Makes rows of the published ratios, a line for each system.
macro_rules! slower {
    ($at:literal $metric:ident: $($system:literal
       [$proj:literal $prn:literal $src2:literal $stg:literal $src1:literal] $reason:expr;)*
     $(and: $($others:tt)*)?) => {
        rows! {
            $at { $(
                factor $proj: concat!("proj_0: response time of ", $system, " ÷ that of ROCO"),
                    |c| over_roco(c, $metric, "proj_0", $system), $reason[0];
                factor $prn: concat!("prn_0: response time of ", $system, " ÷ that of ROCO"),
                    |c| over_roco(c, $metric, "prn_0", $system), $reason[1];
                factor $src2: concat!("src2_2: response time of ", $system, " ÷ that of ROCO"),
                    |c| over_roco(c, $metric, "src2_2", $system), $reason[2];
                factor $stg: concat!("stg_0: response time of ", $system, " ÷ that of ROCO"),
                    |c| over_roco(c, $metric, "stg_0", $system), $reason[3];
                factor $src1: concat!("src1_2: response time of ", $system, " ÷ that of ROCO"),
                    |c| over_roco(c, $metric, "src1_2", $system), $reason[4];
            )* }
            $($($others)*)?
        }
    };
}

use slower;

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
        charts: &[Chart::ByTrace(&[NON_SEQUENTIAL, SEQUENTIAL])],
        rows: by_volume! {
            "§4.2.1, Figure 7 (a)" NON_SEQUENTIAL "non-sequential data" "Cache-ZFIFO"
                [5.27 27.17 80.45 6.3 14.2] LEFT;
            "§4.2.1, Figure 7 (a)" NON_SEQUENTIAL "non-sequential data" "Reorder-CZFIFO"
                [3.03 20.73 4.33 2.18 7.33] REORDERED;
            "§4.2.1, Figure 7 (b)" SEQUENTIAL "sequential data" "Cache-ZFIFO"
                [0.52 15.61 1.59 2.55 0.83] [STARTS; 5];
            "§4.2.1, Figure 7 (b)" SEQUENTIAL "sequential data" "Reorder-CZFIFO"
                [4.81 21.19 79.93 7.95 7.69] IN_SEQUENCE;
            and:
            "§4.2.1, Figure 7 (a)" {
                order: "implementing the zone-oriented block reordering can further reduce the ratios of \
                        non-sequential data",
                    |c| chains(c, NON_SEQUENTIAL, &["Reorder-CZFIFO", "Cache-ZFIFO"]);
            }
            "§4.2.1, Figure 7 (b)" {
                order: "can further increase the ratios of sequential data",
                    |c| chains(c, SEQUENTIAL, &["Cache-ZFIFO", "Reorder-CZFIFO"]);
            }
            "§4.2.1, Figure 7 (a)" {
                order: "src2_2 benefits the most from the zone-oriented block reordering: by points",
                    |c| above_others(FIVE, "src2_2", |trace| {
                        falls(c, NON_SEQUENTIAL, trace, "Cache-ZFIFO", "Reorder-CZFIFO")
                    });
            }
        },
    },
    Figure {
        id: "8",
        title: "Reordering: what cleaning moves",
        how: "What cleaning reads is what it collects from the disk cache and what it reads of zones.",
        source: Source::Runs(&[REORDERING]),
        charts: &[Chart::ByTrace(&[CLEAN_READ, SYNTHESIZED])],
        rows: by_volume! {
            "§4.2.1, Figure 8 (a)" CLEAN_READ "data read by cleaning" "Cache-ZFIFO"
                [8.5 89.31 103.37 2.42 16.36] [CLEANED; 5];
            "§4.2.1, Figure 8 (a)" CLEAN_READ "data read by cleaning" "Reorder-CZFIFO"
                [6.16 60.37 4.36 0.99 4.72] [CLEANED; 5];
            "§4.2.1, Figure 8 (b)" SYNTHESIZED "synthesized data" "Cache-ZFIFO"
                [9.1 40.87 24.33 24.09 9.32] [GAPS; 5];
            "§4.2.1, Figure 8 (b)" SYNTHESIZED "synthesized data" "Reorder-CZFIFO"
                [7.94 27.67 7.82 12.36 2.99] [GAPS; 5];
            and:
            "§4.2.1, Figure 8 (a)" {
                order: "Reorder-CZFIFO can reduce the ratios of read data",
                    |c| chains(c, CLEAN_READ, &["Reorder-CZFIFO", "Cache-ZFIFO"]);
            }
            "§4.2.1, Figure 8 (b)" {
                order: "can reduce the ratios of synthesized data",
                    |c| chains(c, SYNTHESIZED, &["Reorder-CZFIFO", "Cache-ZFIFO"]), GAPS;
            }
        },
    },
    Figure {
        id: "9",
        title: "ROCO: what the drive receives",
        how: "HA is the drive without a cache.",
        source: Source::Runs(&[ALL]),
        charts: &[Chart::ByTrace(&[NON_SEQUENTIAL, SEQUENTIAL, HOST_DIRTY, HOST_READ, ABSORBED])],
        rows: by_volume! {
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "HA"
                [99.68 96.48 99.2 98.97 99.72] [""; 5];
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "Cache-LRU"
                [13.07 38.94 96.71 8.59 20.4] LEFT;
            "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "ROCO"
                [0.86 8.68 0.02 0.52 2.01] REORDERED;
            "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "HA"
                [0.32 3.52 0.8 1.03 0.28] [""; 5];
            "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "ROCO"
                [10.54 23.5 87.64 13.72 19.77] ROCO_IN_SEQUENCE;
            "§4.2.2, Figure 9 (c)" HOST_READ "data read for host-side RMWs" "ROCO"
                [0.32 0.56 0.0022 0.18 0.64] [""; 5];
            and:
            "§4.2, Figures 7 (a) and 9 (a)" {
                order: "ROCO performs the best: its non-sequential data is less than that of Reorder-CZFIFO, \
                        Cache-ZFIFO, Cache-LRU and HA, each more than the one before",
                    |c| ranks(c, "ROCO"), RECENCY;
            }
            LEAST_NON_SEQUENTIAL;
            "§4.2.2, Figures 7 and 9" {
                order: "CREA … can reduce the number of data blocks written to the HA-SMR drive: the cache absorbs \
                        more than under Cache-ZFIFO",
                    |c| chains(c, ABSORBED, &["Cache-ZFIFO", "ROCO"]), FEWER;
            }
            "§4.2.2, Figure 9 (a)" {
                order: "Cache-LRU does not work well for src2_2: what it takes off, in points, is least there",
                    |c| {
                        let gain = |trace: &str| falls(c, NON_SEQUENTIAL, trace, "HA", "Cache-LRU");
                        reversed(above_others(FIVE, "src2_2", gain))
                    };
            }
            "§4.2.2, Figure 9 (b)" {
                order: "ROCO writes more sequential data to the HA-SMR drive than HA, Cache-LRU and \
                        Cache-ZFIFO",
                    |c| {
                        let others = ["HA", "Cache-LRU", "Cache-ZFIFO"];
                        others.iter().flat_map(|other| chains(c, SEQUENTIAL, &[other, "ROCO"])).collect()
                    };
            }
            FEW_HOST_RMWS;
            "§4.2.2, Figure 9 (c)" {
                order: "The overhead is the least under src2_2",
                    |c| reversed(above_others(FIVE, "src2_2", |trace| c.at(HOST_READ, trace, "ROCO", ""))), STARTS;
            }
        },
    },
    Figure {
        id: "10",
        title: "ROCO: what cleaning moves",
        how: "As Figure 8.",
        source: Source::Runs(&[ALL]),
        charts: &[Chart::ByTrace(&[CLEAN_READ, SYNTHESIZED])],
        rows: by_volume! {
            "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "HA"
                [24.72 82.58 109.18 55.8 32.69] [CLEANED; 5];
            "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "ROCO"
                [0.68 13.65 0.94 0.45 2.06] [CLEANED; 5];
            "§4.2.2, Figure 10 (b)" SYNTHESIZED "synthesized data" "HA"
                [13.08 65.3 30.17 55.27 18.42] [GAPS; 5];
            "§4.2.2, Figure 10 (b)" SYNTHESIZED "synthesized data" "ROCO"
                [1.3 3.68 0.11 1.95 1.44] [GAPS; 5];
            and:
            "§4.2.2, Figure 10 (a)" {
                order: "ROCO generates the least read data during the disk cache cleaning",
                    |c| least(c, CLEAN_READ, "ROCO"), LEAST_CLEANED;
            }
            "§4.2.2, Figure 10 (b)" {
                order: "ROCO reduces the ratios of generated synthesized data: it is least",
                    |c| least(c, SYNTHESIZED, "ROCO"), GAPS;
            }
        },
    },
    Figure {
        id: "11",
        title: "Response times",
        how: "Of the drive, as the caption has it, the time that an I/O waits for it included. Charts \
              and numbers also have the mean over all requests, which a cache answers.",
        source: Source::Runs(&[ALL]),
        charts: &[Chart::ByTrace(&[DISK_RESPONSE, RESPONSE, IDLE_CLEANED])],
        rows: slower! {
            "§4.2.2, Figure 11" DISK_RESPONSE:
            "HA" [52.89 5.36 26.41 18.42 37.91] [BUNCHED; 5];
            "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] [PER_IO; 5];
            "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] [OVER_ZFIFO; 5];
            and:
            "§4.2.2, Figure 11" {
                order: "ROCO improves the performance of the HA-SMR drive the most among the four solutions: \
                        ROCO, Cache-ZFIFO, Cache-LRU, HA",
                    |c| chains(c, DISK_RESPONSE, &["ROCO", "Cache-ZFIFO", "Cache-LRU", "HA"]), PER_IO;
                order: "Among the five traces … the most under proj_0",
                    |c| above_others(FIVE, "proj_0", |trace| over_roco(c, DISK_RESPONSE, trace, "HA")), BUNCHED;
                order: "does not improve the performance … so much under prn_0",
                    |c| reversed(above_others(FIVE, "prn_0", |trace| over_roco(c, DISK_RESPONSE, trace, "HA"))), BUNCHED;
            }
        },
    },
    own::IDLE,
    own::HEAT,
    own::TIMES,
    own::ONCE,
];

/// Statements that are checked on the default volumes and on those of figure `once`.
const LEAST_NON_SEQUENTIAL: Row = rows!(one "§4.2.2, Figure 9 (a)"
    order: "ROCO performs the best: its non-sequential data is the least",
        |c| least(c, NON_SEQUENTIAL, "ROCO"));
const FEW_HOST_RMWS: Row = rows!(one "§4.2.2, Figure 9 (c)"
    order: "host-side RMW operations only migrate extra data: below 1 % of what is written",
        |c| {
            let read = |trace| c.at(HOST_READ, trace, "ROCO", "");
            FIVE.iter().map(|trace| two(trace, ("read", read(trace)), ("1 %", 1.0))).collect()
        }, HOST_RMWS);

/// The systems have more non-sequential data in this order, on each trace.
fn ranks(cells: &Cells, roco: &str) -> Vec<Chain> {
    let order = [roco, "Reorder-CZFIFO", "Cache-ZFIFO", "Cache-LRU", "HA"];
    chains(cells, NON_SEQUENTIAL, &order)
}

/// One system is below each other system, on each trace.
fn below(cells: &Cells, metric: Metric, system: &str, others: &[&str]) -> Vec<Chain> {
    others.iter().flat_map(|other| chains(cells, metric, &[system, other])).collect()
}

/// ROCO is below each other system, on each trace.
fn least(cells: &Cells, metric: Metric, roco: &str) -> Vec<Chain> {
    below(cells, metric, roco, &["HA", "Cache-LRU", "Cache-ZFIFO", "Reorder-CZFIFO"])
}

/// Makes the rows of Table 1, three for each line.
macro_rules! table_1 {
    ($($trace:literal $written:literal $mean:literal $share:literal $reason:expr;)*) => {
        rows! { "§4.1, Table 1" { $(
            factor $written: concat!($trace, ": total write size (GB)"),
                |c| c.number(concat!($trace, ": written (GB)"));
            factor $mean: concat!($trace, ": average write size (KB)"),
                |c| c.number(concat!($trace, ": mean write (KB)"));
            percent $share: concat!($trace, ": write ratio (%)"),
                |c| c.number(concat!($trace, ": writes (% of requests)")), $reason;
        )* } }
    };
}

/// For the two volumes whose counts of blocks PORE and SAC publish.
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
