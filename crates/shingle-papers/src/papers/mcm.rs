//! MCM (Chen et al.).
//!
//! Where the text is unclear: the valid page copies are those that it takes for erasures once more
//! (§IV-B.c: "regarding the number of valid page copies, our scheme reduces the NAND flash erasures by
//! about 40.7 %"). Averages are means over the traces of the reductions, as no values are printed.
//! Write amplification is that of the disk; what flash programs is beside it.

use shingle_sim::system::Pacing;
use shingle_trace::Mode;

use super::mcm_bare;
use super::metrics::{
    ERASES, LIFETIME, PAST_FLASH, RESPONSE, RMW, SLOWEST, SPREAD, VALID_COPIES, WA_FLASH, WAF,
    WORST, WRITTEN_BACK,
};
use super::rows::{factor, order, percent};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Figure, Paper, Row, Source};
use crate::grid::{Grid, Metric, ONE, Point, Sets, Size, System};

/// MCM.
pub(super) static PAPER: Paper = Paper {
    name: "mcm",
    citation: "Z. Chen, G. Wang, Z. Shi, Y. Guan, T. Wang: Region-based Flash Caching with Joint Latency \
               and Lifetime Optimization in Hybrid SMR Storage Systems",
    about: &[
        "Skylight is st5000as0011 with its write cache off, as the simulator that the paper builds on \
         has it; the others are the same disk with flash built in. Requests come at their times (open \
         loop), without a cache before the drive. The disk does not clean in idle time.",
        "Of FC and RMW-F only what others say of them was at hand: FC is reconstructed in two variants, \
         one that rewrites the band with most pages and copies the rest of its victim, one that writes \
         back all of it.",
        "The flash is a tenth of the blocks that the trace writes, at least 64 erase blocks: the paper's \
         16 GB, if empty, would never be full (see figure unscaled).",
    ],
    not_varied: &["foreground", "unscaled", "size", "disk", "wear"],
    figures: FIGURES,
};

const FIVE: &[&str] = &["rsrch_0", "mds_0", "src2_0", "hm_0", "usr_0"];
/// Those of Figure 3.
const TWO: &[&str] = &["rsrch_0", "src2_0"];

/// Every run: the disk as the paper's simulator has it.
const DISK: Sets = &[("drive.write_cache", "off"), ("drive.idle_cleaning", "off")];

const fn system(label: &'static str, drive: &'static str, sets: Sets) -> System {
    System { label, policy: "none", drive: Some(drive), sets }
}

const FC_DRIVE: &str = "st5000as0011+fc";
const MCM_DRIVE: &str = "st5000as0011+mcm";
const RMW_F_DRIVE: &str = "st5000as0011+rmw-f";

const FC_A: &str = "FC, copying";
const FC_B: &str = "FC, writing back";

const SKYLIGHT: System = system("Skylight", "st5000as0011", &[]);
const FC_COPIES: System = system(FC_A, FC_DRIVE, &[]);
const FC_WRITES_BACK: System = system(FC_B, FC_DRIVE, &[("drive.fc_copies", "off")]);
const RMW_F: System = system("RMW-F", RMW_F_DRIVE, &[]);
const MCM: System = system("MCM", MCM_DRIVE, &[]);

const ALL: &[System] = &[SKYLIGHT, FC_COPIES, FC_WRITES_BACK, RMW_F, MCM];

/// Free blocks are gained by the write that finds none.
const FOREGROUND: &[System] = &[
    SKYLIGHT,
    system(FC_A, FC_DRIVE, &[("drive.flash_background", "off")]),
    system(FC_B, FC_DRIVE, &[("drive.fc_copies", "off"), ("drive.flash_background", "off")]),
    system("RMW-F", RMW_F_DRIVE, &[("drive.flash_background", "off")]),
    system("MCM", MCM_DRIVE, &[("drive.flash_background", "off")]),
];

const PREFILL: (&str, &str) = ("drive.flash_prefill_percent", "100");

const UNSCALED: &[System] = &[
    SKYLIGHT,
    FC_COPIES,
    FC_WRITES_BACK,
    MCM,
    system("FC, copying, filled", FC_DRIVE, &[PREFILL]),
    system("FC, writing back, filled", FC_DRIVE, &[("drive.fc_copies", "off"), PREFILL]),
    system("MCM, filled", MCM_DRIVE, &[PREFILL]),
];

const fn grid(traces: &'static [&'static str], systems: &'static [System]) -> Grid {
    Grid {
        traces,
        free: &[],
        mode: Mode::ReadWrite,
        pacing: Pacing::Open,
        accesses: None,
        copies: 1,
        default_scale: 1.0,
        drive: "st5000as0011",
        timing: None,
        ssd: "pcie-ssd",
        buffer: Size::Real,
        cache: Size::Different(100),
        sets: DISK,
        systems,
        points: ONE,
    }
}

const MAIN: Grid = grid(FIVE, ALL);

const fn of_footprint(label: &'static str, thousandths: u64) -> Point {
    Point { label, cache: Some(Size::Different(thousandths)), sets: &[] }
}

const SIZES: &[Point] = &[
    of_footprint("10 %", 100),
    of_footprint("25 %", 250),
    of_footprint("50 %", 500),
    of_footprint("75 %", 750),
    of_footprint("100 %", 1000),
    of_footprint("150 %", 1500),
];

const DISKS: &[Point] = &[
    Point { label: "as elsewhere", cache: None, sets: &[] },
    Point { label: "write cache on", cache: None, sets: &[("drive.write_cache", "on")] },
    Point { label: "cleaning in idle time", cache: None, sets: &[("drive.idle_cleaning", "on")] },
];

const OTHERWISE: &[System] = &[
    SKYLIGHT,
    FC_COPIES,
    FC_WRITES_BACK,
    MCM,
    system("MCM, merging at once", MCM_DRIVE, &[("drive.mcm_rewrites_bands", "on")]),
    system("MCM, no look-ahead", MCM_DRIVE, &[("drive.mcm_look_ahead", "0")]),
    system("MCM, reads in 75 us", MCM_DRIVE, &[("drive.flash_read_us", "75")]),
];

/// By how many per cent a metric is less than under another system: the mean over traces.
fn saved(cells: &Cells, metric: Metric, from: &str, traces: &[&str]) -> f64 {
    let of = |trace: &&str| saved_on(cells, metric, from, trace);
    traces.iter().map(of).sum::<f64>() / traces.len() as f64
}

fn saved_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> f64 {
    100.0 * (1.0 - cells.at(metric, trace, "MCM", "") / cells.at(metric, trace, from, ""))
}

/// The most over traces.
fn saved_at_most(cells: &Cells, metric: Metric, from: &str) -> f64 {
    FIVE.iter().map(|trace| saved_on(cells, metric, from, trace)).fold(f64::NEG_INFINITY, f64::max)
}

/// MCM's is below each other's, on each trace.
fn least(cells: &Cells, metric: Metric, others: &[&str]) -> Vec<Chain> {
    let of = |trace: &&'static str| {
        let trace = *trace;
        let chain = move |other: &&str| cells.chain(metric, trace, "", &["MCM", other]);
        others.iter().map(chain).collect::<Vec<_>>()
    };
    FIVE.iter().flat_map(of).collect()
}

/// What is saved on one trace is more than on each other.
fn most_on(cells: &Cells, metric: Metric, from: &str, trace: &'static str) -> Vec<Chain> {
    let link = |name: &str| (name.to_owned(), saved_on(cells, metric, from, name));
    let chain =
        |other: &&str| Chain { place: String::new(), links: vec![link(other), link(trace)] };
    FIVE.iter().filter(|other| **other != trace).map(chain).collect()
}

/// MCM's response times are below Skylight's and FC's, on both traces at each point.
fn outperforms(cells: &Cells, points: &'static [Point]) -> Vec<Chain> {
    let at = |trace: &'static str, point: &Point| {
        let label = point.label;
        ["Skylight", FC_A, FC_B].map(|other| cells.chain(RESPONSE, trace, label, &["MCM", other]))
    };
    let of = |point| TWO.iter().flat_map(move |trace| at(trace, point));
    points.iter().flat_map(of).collect()
}

/// How many times more than MCM's: the mean over traces.
fn times(cells: &Cells, metric: Metric, system: &str) -> f64 {
    let of =
        |trace: &&str| cells.at(metric, trace, system, "") / cells.at(metric, trace, "MCM", "");
    FIVE.iter().map(of).sum::<f64>() / FIVE.len() as f64
}

/// Whether something printed of a trace is above a bound.
fn above(bound: f64, what: &str, figures: impl Iterator<Item = (&'static str, f64)>) -> Vec<Chain> {
    let bound = (what.to_owned(), bound);
    let chain = |(place, figure): (&str, f64)| Chain {
        place: place.into(),
        links: vec![bound.clone(), (place.to_owned(), figure)],
    };
    figures.map(chain).collect()
}

/// The averages that the paper publishes, over runs of all systems.
macro_rules! averages {
    ($response:expr, $rmw:expr, $waf:expr, $erases:expr, $copies:expr $(,)?) => {
        &[
            percent!(
                "abstract, Figure 8",
                "response time saved against Skylight (%)",
                71.0,
                |c| saved(c, RESPONSE, "Skylight", FIVE),
                $response
            ),
            percent!(
                "abstract, Figure 8",
                "response time saved against FC, copying (%)",
                17.2,
                |c| saved(c, RESPONSE, FC_A, FIVE),
                $response
            ),
            percent!(
                "abstract, Figure 8",
                "response time saved against FC, writing back (%)",
                17.2,
                |c| saved(c, RESPONSE, FC_B, FIVE),
                $response
            ),
            percent!(
                "abstract, §I",
                "RMWs saved against Skylight (%)",
                96.0,
                |c| saved(c, RMW, "Skylight", FIVE),
                $rmw
            ),
            factor!(
                "§IV-B.b, Figure 9",
                "write amplification of Skylight ÷ that of MCM",
                25.2,
                |c| times(c, WAF, "Skylight"),
                $waf
            ),
            percent!(
                "§IV-B.c, Figure 10",
                "erases saved against FC, copying (%)",
                33.32,
                |c| saved(c, ERASES, FC_A, FIVE),
                $erases
            ),
            percent!(
                "§IV-B.c, Figure 10",
                "erases saved against FC, writing back (%)",
                33.32,
                |c| saved(c, ERASES, FC_B, FIVE),
                $erases
            ),
            percent!(
                "§IV-B.c, Figure 11",
                "valid page copies saved against FC, copying (%)",
                40.7,
                |c| saved(c, VALID_COPIES, FC_A, FIVE),
                $copies
            ),
        ]
    };
}

const FIGURES: &[Figure] = &[
    Figure {
        id: "table-1",
        title: "The traces",
        how: "Whole volumes. Sequential are three or more consecutive writes in one band of the disk; an \
              update is a write of which some block was written before. Where workloads are made, these \
              figures shaped them as far as they agree with other papers', so agreement says only that \
              they were met.",
        source: Source::Measured(|bench| mcm_bare::table_1(bench, FIVE)),
        charts: &[],
        rows: TABLE_1,
    },
    Figure {
        id: "3-left",
        title: "I/O latency of Skylight",
        how: "The bare disk, its persistent cache empty at first. A point is the slowest of 1/500 of the \
              requests.",
        source: Source::Measured(|bench| mcm_bare::figure_3(bench, TWO)),
        charts: &[Chart::Own("latency")],
        rows: &[order!(
            "§II-C, Figure 3",
            "some I/O requests need 5 seconds or more to be processed",
            |c| {
                let slowest = |trace: &&'static str| match *trace {
                    "rsrch_0" => (*trace, c.number("rsrch_0: slowest (s)")),
                    _ => (*trace, c.number("src2_0: slowest (s)")),
                };
                above(5.0, "5 s", TWO.iter().map(slowest))
            },
            SLOW
        )],
    },
    Figure {
        id: "3-right",
        title: "Erases of flash that takes all writes",
        how: "The paper does not say whose; these are FC's.",
        source: Source::Runs(&[grid(TWO, &[FC_COPIES, FC_WRITES_BACK])]),
        charts: &[Chart::ByTrace(ERASES), Chart::ByTrace(WA_FLASH)],
        rows: &[order!(
            "§II-C, Figure 3",
            "data needs to be flushed … through an erase operation: there are erases",
            |c| {
                let erases =
                    |system| TWO.iter().map(move |trace| (*trace, c.at(ERASES, trace, system, "")));
                above(0.0, "none", erases(FC_A).chain(erases(FC_B)))
            }
        )],
    },
    Figure {
        id: "8",
        title: "Response times",
        how: "Not normalised: the numbers are milliseconds.",
        source: Source::Runs(&[MAIN]),
        charts: &[Chart::ByTrace(RESPONSE), Chart::ByTrace(SLOWEST)],
        rows: &[
            percent!(
                "abstract, §IV-B.a",
                "saved against Skylight on average (%)",
                71.0,
                |c| saved(c, RESPONSE, "Skylight", FIVE),
                BACK
            ),
            percent!(
                "§IV-B.a",
                "saved against Skylight on src2_0 (%)",
                82.44,
                |c| saved_on(c, RESPONSE, "Skylight", "src2_0"),
                BACK
            ),
            percent!(
                "§IV-B.a",
                "saved against FC, copying, on average (%)",
                17.2,
                |c| saved(c, RESPONSE, FC_A, FIVE),
                BACK
            ),
            percent!(
                "§IV-B.a",
                "saved against FC, writing back, on average (%)",
                17.2,
                |c| saved(c, RESPONSE, FC_B, FIVE),
                BACK
            ),
            order!(
                "§IV-B.a",
                "in src2_0 … a maximum reduction compared to Skylight",
                |c| most_on(c, RESPONSE, "Skylight", "src2_0"),
                BACK
            ),
            order!(
                "§IV-B.a, Figure 8",
                "we outperform Skylight",
                |c| least(c, RESPONSE, &["Skylight"]),
                BACK
            ),
            order!(
                "§IV-B.a, Figure 8",
                "and also save … compared with the state-of-art FC",
                |c| least(c, RESPONSE, &[FC_A, FC_B]),
                BACK
            ),
        ],
    },
    Figure {
        id: "9",
        title: "Write amplification",
        how: "Bytes written to the disk, to its persistent cache and to bands, by bytes the host wrote.",
        source: Source::Runs(&[MAIN]),
        charts: &[
            Chart::ByTrace(WAF),
            Chart::ByTrace(RMW),
            Chart::ByTrace(WRITTEN_BACK),
            Chart::ByTrace(PAST_FLASH),
        ],
        rows: &[
            factor!(
                "§IV-B.b",
                "that of Skylight ÷ that of MCM, on average",
                25.2,
                |c| times(c, WAF, "Skylight"),
                BACK
            ),
            percent!(
                "§IV-B.b",
                "less than that of FC, copying, on average (%)",
                18.8,
                |c| saved(c, WAF, FC_A, FIVE),
                BACK
            ),
            percent!(
                "§IV-B.b",
                "less than that of FC, writing back, on average (%)",
                18.8,
                |c| saved(c, WAF, FC_B, FIVE),
                BACK
            ),
            percent!(
                "abstract, §I",
                "RMWs saved against Skylight on average (%)",
                96.0,
                |c| saved(c, RMW, "Skylight", FIVE),
                BACK
            ),
            order!(
                "§IV-B.b",
                "it mitigates the frequency of RMWs: MCM has fewer than Skylight",
                |c| least(c, RMW, &["Skylight"]),
                BACK
            ),
        ],
    },
    Figure {
        id: "10",
        title: "Erases",
        how: "",
        source: Source::Runs(&[MAIN_FLASH]),
        charts: &[Chart::ByTrace(ERASES), Chart::ByTrace(WA_FLASH)],
        rows: &[
            percent!(
                "abstract, §IV-B.c",
                "fewer than FC, copying, on average (%)",
                33.32,
                |c| saved(c, ERASES, FC_A, FIVE),
                COPYING
            ),
            percent!(
                "abstract, §IV-B.c",
                "fewer than FC, writing back, on average (%)",
                33.32,
                |c| saved(c, ERASES, FC_B, FIVE),
                COPYING
            ),
            percent!(
                "§IV-B.c",
                "at most fewer than FC, copying (%)",
                41.34,
                |c| saved_at_most(c, ERASES, FC_A),
                COPYING
            ),
            percent!(
                "§IV-B.c",
                "at most fewer than FC, writing back (%)",
                41.34,
                |c| saved_at_most(c, ERASES, FC_B),
                COPYING
            ),
            order!(
                "§IV-B.c, Figure 10",
                "compared with FC, … reduction of erase operations",
                |c| least(c, ERASES, &[FC_A, FC_B]),
                COPYING
            ),
        ],
    },
    Figure {
        id: "11",
        title: "Valid page copies",
        how: "FC that writes back copies nothing, so there is nothing to save against it.",
        source: Source::Runs(&[MAIN_FLASH]),
        charts: &[Chart::ByTrace(VALID_COPIES)],
        rows: &[
            percent!(
                "§IV-B.c",
                "fewer than FC, copying, on average (%)",
                40.7,
                |c| saved(c, VALID_COPIES, FC_A, FIVE),
                COPYING
            ),
            order!(
                "§IV-B.c, Figure 11",
                "regarding the number of valid page copies, our scheme reduces",
                |c| least(c, VALID_COPIES, &[FC_A]),
                COPYING
            ),
        ],
    },
    Figure {
        id: "foreground",
        title: "Figures 8 to 11 again, the flash collected by the writes that wait for it",
        how: "Elsewhere free blocks are gained beside the host's I/O, as §IV-B.c has it for MCM.",
        source: Source::Runs(&[grid(FIVE, FOREGROUND)]),
        charts: EXPLAINING,
        rows: averages!(BACK, BACK, BACK, COPYING, COPYING),
    },
    Figure {
        id: "unscaled",
        title: "Figures 8 to 11 again, with 16 GB of flash",
        how: "Empty at first, as far as the paper says; and filled with the first blocks of the disk \
              (filled).",
        source: Source::Runs(&[Grid { cache: Size::Real, ..grid(FIVE, UNSCALED) }]),
        charts: EXPLAINING,
        rows: averages!(EMPTY, EMPTY, EMPTY, NO_ERASES, NO_ERASES),
    },
    Figure {
        id: "size",
        title: "Figures 8 to 11 again, by the size of the flash",
        how: "In per cent of the blocks that the trace writes.",
        source: Source::Runs(&[
            Grid { points: SIZES, ..grid(&["rsrch_0"], ALL) },
            Grid { points: SIZES, ..grid(&["src2_0"], ALL) },
        ]),
        charts: &[
            Chart::ByPoint(RESPONSE),
            Chart::ByPoint(RMW),
            Chart::ByPoint(WAF),
            Chart::ByPoint(ERASES),
            Chart::ByPoint(VALID_COPIES),
            Chart::ByPoint(WRITTEN_BACK),
        ],
        rows: &[order!(
            "§IV-B.a, Figure 8",
            "we outperform Skylight and FC, whatever the size of the flash",
            |c| outperforms(c, SIZES),
            SIZE
        )],
    },
    Figure {
        id: "disk",
        title: "Figures 8 and 9 again, where the disk or MCM works otherwise",
        how: "The disk with its write cache on, or cleaning in idle time; MCM with cold pages merged into \
              their bands at once, without look-ahead, with flash that reads a page in 75 us.",
        source: Source::Runs(&[
            Grid { points: DISKS, ..grid(&["rsrch_0"], OTHERWISE) },
            Grid { points: DISKS, ..grid(&["src2_0"], OTHERWISE) },
        ]),
        charts: &[
            Chart::ByPoint(RESPONSE),
            Chart::ByPoint(RMW),
            Chart::ByPoint(WAF),
            Chart::ByPoint(WRITTEN_BACK),
        ],
        rows: &[order!(
            "§IV-B.a, Figure 8",
            "we outperform Skylight and FC, whatever the disk",
            |c| outperforms(c, DISKS),
            OTHER_DISK
        )],
    },
    Figure {
        id: "wear",
        title: "Wear with and without levelling, and by what is taken for cold",
        how: "Without levelling erases do not count in the temperature of a block and a migrated block \
              keeps its region. By equation 3 the block with the smallest temperature is the coldest; \
              reversed, that with the largest.",
        source: Source::Runs(&[grid(FIVE, WEAR)]),
        charts: &[
            Chart::ByTrace(SPREAD),
            Chart::ByTrace(WORST),
            Chart::ByTrace(ERASES),
            Chart::ByTrace(VALID_COPIES),
            Chart::ByTrace(LIFETIME),
            Chart::ByTrace(RESPONSE),
        ],
        rows: &[
            order!(
                "abstract, §III-C",
                "extend the lifetime by a region-aware wear-leveling strategy: erases are less uneven",
                |c| pairs(c, SPREAD, "MCM", "not levelled"),
                WEAR_REASON
            ),
            order!(
                "abstract, §III-C",
                "extend the lifetime: more can be written until the first block is worn",
                |c| pairs(c, LIFETIME, "not levelled", "MCM"),
                WEAR_REASON
            ),
            order!(
                "§III-C, equation 3",
                "the block with the smaller (colder) value is selected: erases are less uneven than with \
                 the larger",
                |c| pairs(c, SPREAD, "MCM", "reversed"),
                WEAR_REASON
            ),
            order!(
                "§III-C, equation 3",
                "the block with the smaller (colder) value is selected: fewer pages are copied than with \
                 the larger",
                |c| pairs(c, VALID_COPIES, "MCM", "reversed"),
                SIGN
            ),
        ],
    },
];

/// A chain of two systems on each trace.
fn pairs(cells: &Cells, metric: Metric, less: &str, more: &str) -> Vec<Chain> {
    FIVE.iter().map(|trace| cells.chain(metric, trace, "", &[less, more])).collect()
}

/// Those with flash.
const MAIN_FLASH: Grid = grid(FIVE, &[FC_COPIES, FC_WRITES_BACK, RMW_F, MCM]);

const WEAR: &[System] = &[
    MCM,
    system("not levelled", MCM_DRIVE, &[("drive.mcm_wear_levelling", "off")]),
    system("reversed", MCM_DRIVE, &[("drive.mcm_smaller_is_colder", "off")]),
    system(
        "reversed, not levelled",
        MCM_DRIVE,
        &[("drive.mcm_smaller_is_colder", "off"), ("drive.mcm_wear_levelling", "off")],
    ),
];

/// What explains the others.
const EXPLAINING: &[Chart] = &[
    Chart::ByTrace(RESPONSE),
    Chart::ByTrace(RMW),
    Chart::ByTrace(WAF),
    Chart::ByTrace(ERASES),
    Chart::ByTrace(VALID_COPIES),
    Chart::ByTrace(WRITTEN_BACK),
    Chart::ByTrace(PAST_FLASH),
];

/// Rows of Table I, four a line.
macro_rules! table_1 {
    ($($trace:literal $requests:literal $writes:literal $sequential:literal $updates:literal
       $reason:expr;)*) => {
        &[$(
            factor!("§IV-A, Table I", concat!($trace, ": total requests"), $requests,
                |c| c.number(concat!($trace, ": requests"))),
            percent!("§IV-A, Table I", concat!($trace, ": write ratio (%)"), $writes,
                |c| c.number(concat!($trace, ": writes (% of requests)"))),
            percent!("§IV-A, Table I", concat!($trace, ": sequence data (%)"), $sequential,
                |c| c.number(concat!($trace, ": sequential (% of writes)")), SEQUENCE),
            percent!("§IV-A, Table I", concat!($trace, ": update ratio (%)"), $updates,
                |c| c.number(concat!($trace, ": updates (% of writes)")), $reason),
        )*]
    };
}

const TABLE_1: &[Row] = table_1! {
    "rsrch_0" 1_433_655.0 90.68 48.76 99.92 UPDATES;
    "mds_0" 1_211_034.0 88.11 43.85 95.50 UPDATES;
    "src2_0" 1_557_814.0 88.61 32.47 94.76 UPDATES;
    "hm_0" 3_993_316.0 64.50 38.50 92.10 UPDATES;
    "usr_0" 2_237_889.0 62.54 35.71 99.88 UPDATES;
};

const SLOW: &str = "";
const BACK: &str = "";
const COPYING: &str = "";
const EMPTY: &str = "";
const NO_ERASES: &str = "";
const SIZE: &str = "";
const WEAR_REASON: &str = "";
const SIGN: &str = "";
const OTHER_DISK: &str = "";
const UPDATES: &str = "other papers have other figures of the same volume, which the workload meets: with SAC's and \
                       PORE's ranges 99.9 % would leave a few different blocks for each touched zone, and \
                       of src2_0 Amphisbaena publishes 83.3 % (see `shingle trace targets`)";
const SEQUENCE: &str = "the workload was shaped with zones of 5,000 blocks, in which the share is met (see `shingle \
                        trace targets`); what is counted here are the bands of the disk, whose borders lie \
                        elsewhere";
