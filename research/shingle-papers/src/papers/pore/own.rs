//! Figures that the paper has not: they test why its own come out as they do here.

use shingle_trace::Mode;

use super::{
    CACHE_SIZES, FOUR, LRU, LRU_BAND, NINE, PORE, SCHEMES, WRITE_ONLY, WRITE_ONLY_TIMED,
    at_all_sizes, grid, over_pore, pairs,
};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Grid, Metric, Point, Sets, System};
use crate::papers::bare;
use crate::papers::metrics::{HIT, TOTAL, WA};
use crate::papers::rows::{factor, order};

/// Volumes that are worked on in as many zones at a time as the paper's Figure 6 says, and reuse as far back as is
/// published.
const BROAD: Sets =
    &[("active", "8"), ("cluster", "64"), ("cold", "0"), ("first", "1.3"), ("follow", "0.12")];

/// The same, of whose written zones four in five are written once.
const ONCE: Sets = &[
    ("active", "8"),
    ("cluster", "64"),
    ("cold", "0"),
    ("first", "1.3"),
    ("follow", "0.12"),
    ("once", "0.8"),
];

/// How many zones a volume works on at a time.
pub(super) const ZONES: Figure = Figure {
    id: "zones",
    title: "Volumes that meet Figure 6",
    how: "Figure 6 over the made volumes as they are by default, and with other values of free parameters (broad): \
          active=8 cluster=64 cold=0 first=1.3 follow=0.12; and with four in five of the written zones written once, \
          too (once=0.8). Beside it how many of the published figures of how far back \
          requests reuse, and at how many start pages, are missed. No cache is involved.",
    source: Source::Measured(|bench| {
        bare::pore_zones(bench, NINE, &[("default", &[]), ("broad", BROAD), ("once", ONCE)])
    }),
    charts: &[],
    rows: &[
        factor!("§III-A, Figure 6", "113.0 on average: broad", 113.0, |c| c.number("broad: mean")),
        factor!("§III-A, Figure 6", "in the range of 41.3 …: broad", 41.3, |c| c
            .number("broad: least")),
        factor!("§III-A, Figure 6", "… ~ 171.5: broad", 171.5, |c| c.number("broad: most")),
    ],
};

const BROAD_ONLY: &[Point] = &[Point { label: "broad", cache: None, sets: &[] }];
const WITH_ONCE: &[Point] = &[Point { label: "once", cache: None, sets: &[] }];

/// How many zones are written once.
pub(super) const WRITTEN_ONCE: Figure = Figure {
    id: "once",
    title: "Zones that are written once",
    how: "Figures 13, 14 and 16 over volumes that meet Figure 6 (broad, see figure zones), and over the same with nothing \
          written again in four of five written zones (once): how many those are the paper does not say, nor anyone \
          else. Writes only; cache of 2 % of the written range, unless a row says another.",
    source: Source::Runs(&[
        Grid { free: BROAD, points: BROAD_ONLY, ..WRITE_ONLY_TIMED },
        Grid { free: ONCE, points: WITH_ONCE, ..WRITE_ONLY_TIMED },
        Grid { free: ONCE, points: WITH_ONCE, ..WRITE_ONLY },
        Grid { free: ONCE, points: WITH_ONCE, ..grid(Mode::Write, FOUR, SCHEMES) },
        Grid { free: ONCE, ..CACHE_SIZES },
    ]),
    charts: &[
        Chart::ByTrace(TOTAL),
        Chart::ByTrace(HIT),
        Chart::ByTrace(WA),
        Chart::ByPoint(TOTAL),
        Chart::ByPoint(HIT),
        Chart::ByPoint(WA),
    ],
    rows: &[
        order!("§V-C.2, Figure 13 (a)", "PORE achieves higher performance than all: broad", |c| {
            best(c, "broad")
        }),
        order!("§V-C.2, Figure 13 (a)", "the same with zones written once", |c| best(c, "once")),
        factor!(
            "§V-C.2, Figure 13 (a)",
            "against SMR-only by a factor of 34.9, with zones written once",
            34.9,
            |c| over_pore(c, TOTAL, FOUR, "SMR-only", "once")
        ),
        factor!(
            "§V-C.2, Figure 13 (a)",
            "against CMR-only by a factor of 10.2, with zones written once",
            10.2,
            |c| over_pore(c, TOTAL, FOUR, "CMR-only", "once")
        ),
        factor!(
            "§V-C.2, Figure 13 (a)",
            "against LRU by a factor of 4.60, with zones written once",
            4.60,
            |c| over_pore(c, TOTAL, FOUR, "LRU", "once")
        ),
        factor!(
            "§V-C.2, Figure 13 (a)",
            "against LRU-band by a factor of 2.02, with zones written once",
            2.02,
            |c| over_pore(c, TOTAL, FOUR, "LRU-band", "once")
        ),
        order!(
            "§V-D, Figure 14 (a)",
            "the BL scheme consumes the least I/O time, with zones written once",
            |c| {
                let others = ["LRU", "CF", "PF"];
                let pairs = others.iter().flat_map(|other| below(c, TOTAL, "BL", other, "once"));
                pairs.collect()
            }
        ),
        order!(
            "§V-F, Figure 16 (a)",
            "In all the cases, PORE achieves better performance than LRU and LRU-band, with zones written once",
            |c| at_all_sizes(c, TOTAL)
        ),
    ],
};

/// PORE takes the least time of all, at a point.
fn best(cells: &Cells, point: &str) -> Vec<Chain> {
    let others = ["SMR-only", "CMR-only", "LRU", "LRU-band"];
    others.iter().flat_map(|other| below(cells, TOTAL, "PORE", other, point)).collect()
}

/// A chain of two systems on each of the four traces, at a point.
fn below(cells: &Cells, metric: Metric, less: &str, more: &str, point: &str) -> Vec<Chain> {
    FOUR.iter().map(|trace| cells.chain(metric, trace, point, &[less, more])).collect()
}

/// What makes a zone popular, by other readings.
const HISTORIES: &[System] = &[
    LRU,
    LRU_BAND,
    PORE,
    System::new("last period", "pore", &[("policy.history", "period")]),
    System::new("prototype", "pore", &[("policy.history", "forever")]),
];

/// Which accesses make a zone popular.
pub(super) const HISTORY: Figure = Figure {
    id: "history",
    title: "Which accesses make a zone popular",
    how: "Those of the dirty blocks in the cache (PORE, as in all figures); those since the last division \
              (last period), by which a zone that was not accessed since comes first however little of it is \
              cached; those that the authors' prototype counts, which never resets a count and hands that of a \
              block that has left to another one. Writes only; cache of 2 % of the written range.",
    source: Source::Runs(&[grid(Mode::Write, FOUR, HISTORIES)]),
    charts: &[Chart::ByTrace(TOTAL), Chart::ByTrace(HIT), Chart::ByTrace(WA)],
    rows: &[
        order!(
            "§V-C.2, Figure 13 (c)",
            "PORE achieves a much smaller write amplification rate than LRU and LRU-band",
            |c| below_both(c, "PORE")
        ),
        order!("§V-C.2, Figure 13 (c)", "the same by the accesses of the last period", |c| {
            below_both(c, "last period")
        }),
        order!("§V-C.2, Figure 13 (c)", "the same by the prototype's counts", |c| below_both(
            c,
            "prototype"
        )),
        factor!(
            "§IV-B.3",
            "counted as in the prototype, or of what is cached: write amplification of one ÷ that of the \
                 other",
            1.0,
            |c| c.mean(WA, FOUR, "prototype", "") / c.mean(WA, FOUR, "PORE", "")
        ),
    ],
};

/// Its write amplification is below that of LRU and of LRU-band.
fn below_both(cells: &Cells, system: &str) -> Vec<Chain> {
    let others = ["LRU", "LRU-band"];
    others.iter().flat_map(|other| pairs(cells, WA, FOUR, system, other)).collect()
}
