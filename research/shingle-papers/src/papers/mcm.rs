//! MCM (Chen et al.).
//!
//! Interpretations of unclear text: the valid page copies are those that it calls erasures in one
//! place (§IV-B.c: "regarding the number of valid page copies, our scheme reduces the NAND flash
//! erasures by about 40.7 %"). Averages are means over the traces of the reductions, as no values
//! are printed. Write amplification is that of the disk; the figures of the flash are separate.
//! docs/papers.md and figure `counted` have the interpretations of what counts towards a hot band,
//! and whether hot pages return.

mod bare;
mod compare;
mod own;
mod reasons;
mod systems;

use self::compare::{all_above, least, ratio, saved, saved_at_most, saved_on, saves_most_on};
use self::reasons::{
    COUNTED, FC_BANDS, FC_BETWEEN, FC_DIRECT, PEAK, SEQUENCE, SLOW, THROUGH, UPDATES,
};
use self::systems::{FC_A, FC_B, FC_COPIES, FC_WRITES_BACK, FIVE, MAIN, MAIN_FLASH, TWO, grid};
use super::metrics::{
    ERASES, PAST_FLASH, RESPONSE, RMW, SLOWEST, VALID_COPIES, WA_FLASH, WAF, WRITTEN_BACK,
};
use super::rows::{claims, rows};
use crate::experiment::{Chart, Comparison, Figure, Paper, Row, Source};

pub(super) static PAPER: Paper = Paper {
    name: "mcm",
    citation: "Z. Chen, G. Wang, Z. Shi, Y. Guan, T. Wang: Region-based Flash Caching with Joint Latency \
               and Lifetime Optimization in Hybrid SMR Storage Systems",
    about: &[
        "Skylight is st5000as0011 with its write cache off, as the simulator that the paper builds on \
         has it; the others are the same disk with flash built in. Requests come at their times (open \
         loop), without a cache before the drive. The disk does not clean in idle time.",
        "The persistent cache is the disk's own, of 26.2 GB, whose map is full after 23,000 writes. The paper \
         sets 1 % of the capacity (§IV-A), 50 GB, and does not say how many entries the map has then. With \
         43,900, in proportion, Skylight cleans 0.58 to 0.65 times as many bands; with one for each 4 KiB \
         none, as the traces write 8 to 25 GB.",
        "Of FC and RMW-F only what others say of them was at hand: FC is reconstructed in two variants, \
         one that rewrites the band with most pages and copies the rest of its victim, one that writes \
         back all of it.",
        "The flash is a tenth of the blocks that the trace writes, at least 64 erase blocks: the paper's \
         16 GB, if empty, would never be full (see figure unscaled).",
    ],
    not_varied: &["counted", "foreground", "idle", "unscaled", "size", "disk", "wear"],
    figures: FIGURES,
    comparison: Comparison {
        grid: MAIN,
        claims: claims! {
            "§IV-B.a, Figure 8" RESPONSE: "we outperform Skylight", &[&["MCM", "Skylight"]];
            "§IV-B.a, Figure 8" RESPONSE: "and also save … compared with the state-of-art FC",
                &[&["MCM", FC_A], &["MCM", FC_B]];
            "§IV-B.b" RMW: "it mitigates the frequency of RMWs: MCM has fewer than Skylight", &[&["MCM", "Skylight"]];
            "§IV-B.c, Figure 10" ERASES: "compared with FC, … reduction of erase operations",
                &[&["MCM", FC_A], &["MCM", FC_B]];
        },
    },
};
const FIGURES: &[Figure] = &[
    Figure {
        id: "table-1",
        title: "The traces",
        how: "Whole volumes. Sequential are three or more consecutive writes in one band of the disk; an \
              update is a write of which some block was written before. Where workloads are made, these \
              figures shaped them as far as they agree with other papers', so agreement says only that \
              they were met.",
        source: Source::Measured(|bench| bare::table_1(bench, FIVE)),
        charts: &[],
        rows: TABLE_1,
    },
    Figure {
        id: "3-left",
        title: "I/O latency of Skylight",
        how: "The bare disk, its persistent cache empty at first. A point is the slowest of 1/500 of the \
              requests.",
        source: Source::Measured(|bench| bare::figure_3(bench, TWO)),
        charts: &[Chart::Own("latency")],
        rows: rows! {
            "§II-C, Figure 3" {
                order: "some I/O requests need 5 seconds or more to be processed",
                    |c| {
                        let slowest = |trace: &&'static str| match *trace {
                            "rsrch_0" => (*trace, c.number("rsrch_0: slowest (s)")),
                            _ => (*trace, c.number("src2_0: slowest (s)")),
                        };
                        all_above(5.0, "5 s", TWO.iter().map(slowest))
                    }, SLOW;
            }
        },
    },
    Figure {
        id: "3-right",
        title: "Erases of flash that takes all writes",
        how: "The paper does not say whose; these are FC's.",
        source: Source::Runs(&[grid(TWO, &[FC_COPIES, FC_WRITES_BACK])]),
        charts: &[Chart::ByTrace(&[ERASES, WA_FLASH])],
        rows: rows! {
            "§II-C, Figure 3" {
                order: "data needs to be flushed … through an erase operation: there are erases",
                    |c| {
                        let erases =
                            |system| TWO.iter().map(move |trace| (*trace, c.at(ERASES, trace, system, "")));
                        all_above(0.0, "none", erases(FC_A).chain(erases(FC_B)))
                    };
            }
        },
    },
    Figure {
        id: "8",
        title: "Response times",
        how: "Not normalised: the numbers are milliseconds.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[RESPONSE, SLOWEST])],
        rows: rows! {
            "abstract, §IV-B.a" {
                percent 71.0: "saved against Skylight on average (%)",
                    |c| saved(c, RESPONSE, "Skylight"), THROUGH;
            }
            "§IV-B.a" {
                percent 82.44: "saved against Skylight on src2_0 (%)",
                    |c| saved_on(c, RESPONSE, "Skylight", "src2_0"), THROUGH;
                percent 17.2: "saved against FC, copying, on average (%)",
                    |c| saved(c, RESPONSE, FC_A), FC_BETWEEN;
                percent 17.2: "saved against FC, writing back, on average (%)",
                    |c| saved(c, RESPONSE, FC_B), FC_BETWEEN;
                order: "in src2_0 … a maximum reduction compared to Skylight",
                    |c| saves_most_on(c, RESPONSE, "Skylight", "src2_0"), PEAK;
            }
            "§IV-B.a, Figure 8" {
                order: "we outperform Skylight", |c| least(c, RESPONSE, &["Skylight"]), THROUGH;
                order: "and also save … compared with the state-of-art FC",
                    |c| least(c, RESPONSE, &[FC_A, FC_B]), FC_DIRECT;
            }
        },
    },
    Figure {
        id: "9",
        title: "Write amplification",
        how: "Bytes written to the disk, to its persistent cache and to bands, by bytes the host wrote.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(&[WAF, RMW, WRITTEN_BACK, PAST_FLASH])],
        rows: rows! {
            "§IV-B.b" {
                factor 25.2: "that of Skylight ÷ that of MCM, on average",
                    |c| ratio(c, WAF, "Skylight", "MCM"), THROUGH;
                percent 18.8: "less than that of FC, copying, on average (%)",
                    |c| saved(c, WAF, FC_A), FC_BANDS;
                percent 18.8: "less than that of FC, writing back, on average (%)",
                    |c| saved(c, WAF, FC_B), FC_BANDS;
            }
            "abstract, §I" {
                percent 96.0: "RMWs saved against Skylight on average (%)",
                    |c| saved(c, RMW, "Skylight"), THROUGH;
            }
            "§IV-B.b" {
                order: "it mitigates the frequency of RMWs: MCM has fewer than Skylight",
                    |c| least(c, RMW, &["Skylight"]), THROUGH;
            }
        },
    },
    Figure {
        id: "10",
        title: "Erases",
        how: "Beside them how much of what the host writes passes the flash and costs it nothing.",
        source: Source::Runs(&[MAIN_FLASH]),
        charts: &[Chart::ByTrace(&[ERASES, WA_FLASH, PAST_FLASH])],
        rows: rows! {
            "abstract, §IV-B.c" {
                percent 33.32: "fewer than FC, copying, on average (%)",
                    |c| saved(c, ERASES, FC_A), COUNTED;
                percent 33.32: "fewer than FC, writing back, on average (%)",
                    |c| saved(c, ERASES, FC_B), COUNTED;
            }
            "§IV-B.c" {
                percent 41.34: "at most fewer than FC, copying (%)",
                    |c| saved_at_most(c, ERASES, FC_A), COUNTED;
                percent 41.34: "at most fewer than FC, writing back (%)",
                    |c| saved_at_most(c, ERASES, FC_B), COUNTED;
            }
            "§IV-B.c, Figure 10" {
                order: "compared with FC, … reduction of erase operations",
                    |c| least(c, ERASES, &[FC_A, FC_B]), COUNTED;
            }
        },
    },
    Figure {
        id: "11",
        title: "Valid page copies",
        how: "FC that writes back copies nothing, so there is nothing to save against it.",
        source: Source::Runs(&[MAIN_FLASH]),
        charts: &[Chart::ByTrace(&[VALID_COPIES])],
        rows: rows! {
            "§IV-B.c" {
                percent 40.7: "fewer than FC, copying, on average (%)",
                    |c| saved(c, VALID_COPIES, FC_A), COUNTED;
            }
            "§IV-B.c, Figure 11" {
                order: "regarding the number of valid page copies, our scheme reduces",
                    |c| least(c, VALID_COPIES, &[FC_A]), COUNTED;
            }
        },
    },
    own::COUNTS,
    own::FOREGROUND,
    own::IDLE,
    own::UNSCALED,
    own::SIZE,
    own::DISK,
    own::WEAR,
];

/// Makes the rows of Table I, four for each line.
macro_rules! table_1 {
    ($($trace:literal $requests:literal $writes:literal $sequential:literal $updates:literal
       $reason:expr;)*) => {
        rows! { "§IV-A, Table I" { $(
            factor $requests: concat!($trace, ": total requests"),
                |c| c.number(concat!($trace, ": requests"));
            percent $writes: concat!($trace, ": write ratio (%)"),
                |c| c.number(concat!($trace, ": writes (% of requests)"));
            percent $sequential: concat!($trace, ": sequence data (%)"),
                |c| c.number(concat!($trace, ": sequential (% of writes)")), SEQUENCE;
            percent $updates: concat!($trace, ": update ratio (%)"),
                |c| c.number(concat!($trace, ": updates (% of writes)")), $reason;
        )* } }
    };
}

const TABLE_1: &[Row] = table_1! {
    "rsrch_0" 1_433_655.0 90.68 48.76 99.92 UPDATES;
    "mds_0" 1_211_034.0 88.11 43.85 95.50 UPDATES;
    "src2_0" 1_557_814.0 88.61 32.47 94.76 UPDATES;
    "hm_0" 3_993_316.0 64.50 38.50 92.10 UPDATES;
    "usr_0" 2_237_889.0 62.54 35.71 99.88 UPDATES;
};
