//! Figures that are not in the paper: they test why results differ from the published ones.

use shingle_trace::Mode;

use super::reasons::{MARGIN, MODES, NEARLY, ONCE_TIMES, POPULARITY, WDEV};
use super::{
    BL, CACHE_SIZES, FOUR, LRU, LRU_BAND, NINE, PORE, SCHEMES, WRITE_ONLY, WRITE_ONLY_TIMED,
    ZONES as ZONE_SIZES, at_all_sizes, at_cache, between, grid, over_pore, pairs, pairs_at, point,
};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Grid, Point, Sets, System};
use crate::papers::bare;
use crate::papers::metrics::{DISK_WRITE, HIT, READ_HIT, TOTAL, WA, WRITE_HIT};
use crate::papers::rows::rows;

/// Makes settings of free parameters with which volumes work on as many zones at a time as the
/// paper's Figure 6 says, and reuse blocks at the published distances, with further settings
/// appended.
macro_rules! broad {
    ($($more:expr)?) => {
        &[
            ("active", "8"),
            ("cluster", "64"),
            ("cold", "0"),
            ("first", "1.3"),
            ("follow", "0.12"),
            $($more)?
        ]
    };
}

const BROAD: Sets = broad!();

/// Four in five of the written zones are written once.
const ONCE: Sets = broad!(("once", "0.8"));

/// Volumes whose number of new blocks is not published, such as wdev, have as many as prn_0.
const FULLER: Sets = broad!(("new", "0.263"));

/// Varies how many zones a volume works on at a time.
pub(super) const ZONES: Figure = Figure {
    id: "zones",
    title: "Volumes that meet Figure 6",
    how: "Figure 6 over the made volumes as they are by default, and with other values of free parameters (broad): \
          active=8 cluster=64 cold=0 first=1.3 follow=0.12; and with four in five of the written zones written once, \
          too (once=0.8); and with 26.3 % of the written blocks new, as of prn_0, where that is not published of a \
          volume (different: new=0.263). Beside it how many of the published figures of how far back \
          requests reuse, and at how many start pages, are missed. No cache is involved.",
    source: Source::Measured(|bench| {
        bare::pore_zones(
            bench,
            NINE,
            &[("default", &[]), ("broad", BROAD), ("once", ONCE), ("different", FULLER)],
        )
    }),
    charts: &[],
    rows: rows! {
        "§III-A, Figure 6" {
            factor 113.0: "113.0 on average: broad", |c| c.number("broad: mean");
            factor 41.3: "in the range of 41.3 …: broad", |c| c.number("broad: least");
            factor 171.5: "… ~ 171.5: broad", |c| c.number("broad: most");
        }
    },
};

const BROAD_ONLY: &[Point] = &[point("broad", &[])];
const WITH_ONCE: &[Point] = &[point("once", &[])];

/// Varies how many zones are written once.
pub(super) const WRITTEN_ONCE: Figure = Figure {
    id: "once",
    title: "Zones that are written once",
    how: "Figures 13, 14 and 16 over volumes that meet Figure 6 (broad, see figure zones), and over the same with nothing \
          written again in four of five written zones (once): how many those are is not published. Figure 6 comes to less \
          then, and mds, src, stg and web reuse sooner than is published. Writes only; cache of 2 % of the written range, unless \
          a row says another.",
    source: Source::Runs(&[
        Grid { free: BROAD, points: BROAD_ONLY, ..WRITE_ONLY_TIMED },
        Grid { free: ONCE, points: WITH_ONCE, ..WRITE_ONLY_TIMED },
        Grid { free: ONCE, points: WITH_ONCE, ..WRITE_ONLY },
        Grid { free: ONCE, points: WITH_ONCE, ..grid(Mode::Write, FOUR, SCHEMES) },
        Grid { free: ONCE, ..CACHE_SIZES },
    ]),
    charts: &[Chart::ByTrace(&[TOTAL, HIT, WA]), Chart::ByPoint(&[TOTAL, HIT, WA])],
    rows: rows! {
        "§V-C.2, Figure 13 (a)" {
            order: "PORE achieves higher performance than all: broad",
                |c| best(c, "broad"), ONCE_TIMES;
            order: "the same with zones written once", |c| best(c, "once");
            factor 34.9: "against SMR-only by a factor of 34.9, with zones written once",
                |c| over_pore(c, TOTAL, FOUR, "SMR-only", "once"), MARGIN;
            factor 10.2: "against CMR-only by a factor of 10.2, with zones written once",
                |c| over_pore(c, TOTAL, FOUR, "CMR-only", "once"), MODES;
            factor 4.60: "against LRU by a factor of 4.60, with zones written once",
                |c| over_pore(c, TOTAL, FOUR, "LRU", "once"), MARGIN;
            factor 2.02: "against LRU-band by a factor of 2.02, with zones written once",
                |c| over_pore(c, TOTAL, FOUR, "LRU-band", "once"), MARGIN;
        }
        "§V-C.2, Figure 13 (c)" {
            factor 7.76: "PORE achieves a much smaller one, i.e., 7.76, with zones written once",
                |c| c.mean(WA, NINE, "PORE", "once");
            factor 5.0: "under five traces LRU has larger write amplification rates than SMR-only, with zones written once: their \
                         number",
                |c| {
                    let above =
                        |trace: &&&str| c.chain(WA, trace, "once", &["SMR-only", "LRU"]).rises();
                    NINE.iter().filter(above).count() as f64
                }, MARGIN;
        }
        "§V-D, Figure 14 (a)" {
            order: "the BL scheme consumes the least I/O time, with zones written once",
                |c| {
                    let others = ["LRU", "CF", "PF"];
                    let pairs =
                        others.iter().flat_map(|other| pairs_at(c, TOTAL, FOUR, "BL", other, "once"));
                    pairs.collect()
                }, NEARLY;
        }
        "§V-F, Figure 16 (a)" {
            order: "In all the cases, PORE achieves better performance than LRU and LRU-band, with zones written once",
                |c| at_all_sizes(c, TOTAL), WDEV;
        }
    },
};

/// Varies how many distinct blocks are written.
pub(super) const DIFFERENT: Figure = Figure {
    id: "different",
    title: "More different blocks of wdev",
    how: "Figures 11, 15 and 16 over a wdev that meets Figure 6 (broad, see figure zones) and writes new blocks as often as \
          prn_0 does: 26.3 % of its written blocks, where the default is 7. How many they are is not published of wdev. \
          Writes only, but for Figure 11.",
    source: Source::Runs(&[
        Grid { free: FULLER, ..CACHE_SIZES },
        Grid { free: FULLER, points: ZONE_SIZES, ..grid(Mode::Write, &["wdev"], &[BL]) },
        Grid {
            free: FULLER,
            points: AND_READS,
            ..grid(Mode::ReadWrite, &["wdev"], &[LRU, LRU_BAND, PORE])
        },
    ]),
    charts: &[Chart::ByPoint(&[TOTAL, HIT, WA]), Chart::ByTrace(&[DISK_WRITE])],
    rows: rows! {
        "§V-F, Figure 16 (a)" {
            order: "In all the cases, PORE achieves better performance than LRU and LRU-band, with more different blocks",
                |c| at_all_sizes(c, TOTAL);
        }
        "§V-C.2, Figure 13 (c)" {
            order: "write amplification: PORE, LRU-band, LRU, with more different blocks of wdev",
                |c| vec![c.chain(WA, "wdev", "2 %", &["PORE", "LRU-band", "LRU"])];
        }
        "§V-F, Figure 16 (c)" {
            factor 4.79: "reduction of write amplification against LRU, 4.79 at 1 %, with more different blocks",
                |c| at_cache(c, WA, "LRU", "1 %"), WDEV;
            factor 20.65: "and 20.65 at 5 %", |c| at_cache(c, WA, "LRU", "5 %"), WDEV;
        }
        "§V-E, Figure 15 (c)" {
            order: "too large zone settings lead to larger write amplification rate: BL, with more different blocks",
                |c| vec![between(c, WA, "BL", &["20 MB", "50 MB"])];
        }
        "§V-C.1, Figure 11" {
            order: "PORE shortens the write I/O time against LRU and LRU-band, with more different blocks of wdev",
                |c| {
                    let others = ["LRU-band", "LRU"];
                    others
                        .map(|other| c.chain(DISK_WRITE, "wdev", "with reads", &["PORE", other]))
                        .to_vec()
                };
        }
    },
};

const AND_READS: &[Point] = &[point("with reads", &[])];

/// Varies where reads go.
pub(super) const READS_ELSEWHERE: Figure = Figure {
    id: "reads",
    title: "Reads where writes go, and elsewhere",
    how: "Read hits of wdev, where none of the reads of known pages go where writes go (overlap=0), three in ten, as in all \
          figures, or four in five (overlap=0.8). Cache of 2 % of the accessed range.",
    source: Source::Runs(&[
        Grid { free: &[("overlap", "0")], points: NO_OVERLAP, ..WDEV_READS },
        Grid { points: SOME_OVERLAP, ..WDEV_READS },
        Grid { free: &[("overlap", "0.8")], points: MUCH_OVERLAP, ..WDEV_READS },
    ]),
    charts: &[Chart::ByTrace(&[READ_HIT, WRITE_HIT])],
    rows: rows! {
        "§V-C.1, Figure 12 (a)" {
            order: "For read cache hit rates, PORE achieves similar or a bit lower values than LRU, wherever reads go",
                |c| {
                    let points = ["none", "as it is", "four in five"];
                    points.map(|point| c.chain(READ_HIT, "wdev", point, &["PORE", "LRU"])).to_vec()
                };
        }
    },
};

const WDEV_READS: Grid = grid(Mode::ReadWrite, &["wdev"], &[LRU, PORE]);
const NO_OVERLAP: &[Point] = &[point("none", &[])];
const SOME_OVERLAP: &[Point] = &[point("as it is", &[])];
const MUCH_OVERLAP: &[Point] = &[point("four in five", &[])];

/// PORE takes the least time of all systems, at a point.
fn best(cells: &Cells, point: &str) -> Vec<Chain> {
    let others = ["SMR-only", "CMR-only", "LRU", "LRU-band"];
    others.iter().flat_map(|other| pairs_at(cells, TOTAL, FOUR, "PORE", other, point)).collect()
}

/// Alternative interpretations of what makes a zone popular.
const HISTORIES: &[System] = &[
    LRU,
    LRU_BAND,
    PORE,
    System::new("last period", "pore", &[("policy.history", "period")]),
    System::new("prototype", "pore", &[("policy.history", "forever")]),
];

/// Varies which accesses make a zone popular.
pub(super) const HISTORY: Figure = Figure {
    id: "history",
    title: "Which accesses make a zone popular",
    how: "Those of the dirty blocks in the cache (PORE, as in all figures); those since the last division \
              (last period), by which a zone that was not accessed since comes first however little of it is \
              cached; those that the authors' prototype counts, which never resets a count and hands that of a \
              block that has left to another one. Writes only; cache of 2 % of the written range.",
    source: Source::Runs(&[grid(Mode::Write, FOUR, HISTORIES)]),
    charts: &[Chart::ByTrace(&[TOTAL, HIT, WA])],
    rows: rows! {
        "§V-C.2, Figure 13 (c)" {
            order: "PORE achieves a much smaller write amplification rate than LRU and LRU-band",
                |c| below_both(c, "PORE"), POPULARITY;
            order: "the same by the accesses of the last period",
                |c| below_both(c, "last period"), POPULARITY;
            order: "the same by the prototype's counts", |c| below_both(c, "prototype"), POPULARITY;
        }
        "§IV-B.3" {
            factor 1.0: "counted as in the prototype, or of what is cached: write amplification of one ÷ that of the \
                         other",
                |c| c.mean(WA, FOUR, "prototype", "") / c.mean(WA, FOUR, "PORE", "");
        }
    },
};

/// The write amplification of `system` is below that of LRU and of LRU-band.
fn below_both(cells: &Cells, system: &str) -> Vec<Chain> {
    let others = ["LRU", "LRU-band"];
    others.iter().flat_map(|other| pairs(cells, WA, FOUR, system, other)).collect()
}
