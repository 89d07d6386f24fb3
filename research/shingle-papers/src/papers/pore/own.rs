//! Figures that the paper has not: they test why its own come out as they do here.

use shingle_trace::Mode;

use super::{FOUR, LRU, LRU_BAND, NINE, PORE, grid, pairs};
use crate::cells::{Cells, Chain};
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Sets, System};
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
