//! Figures that are not in the paper: they test why results differ from the published ones.

use super::reasons::{BLOCKWISE, BUNCHED, COUNTED, FAR_ONCE, OVER_ZFIFO, PER_IO, RECENCY};
use super::{
    ALL, FEW_HOST_RMWS, HA, LEAST_NON_SEQUENTIAL, LRU, REORDER, ROCO, ZFIFO, below, grid, least,
    over_roco, ranks, slower,
};
use crate::experiment::{Chart, Figure, Row, Source};
use crate::grid::{Grid, Sets};
use crate::papers::metrics::{
    ABSORBED, CLEAN_READ, DISK_RESPONSE, HOST_DIRTY, HOST_READ, NON_SEQUENTIAL, RESPONSE,
    SEQUENTIAL, SYNTHESIZED, WRITE_BACKS,
};
use crate::papers::rows::{by_volume, rows};

/// The charts that explain the results: shares, cleaning, response times.
const EXPLAINING: &[Chart] = &[Chart::ByTrace(&[
    NON_SEQUENTIAL,
    SEQUENTIAL,
    HOST_DIRTY,
    HOST_READ,
    ABSORBED,
    CLEAN_READ,
    SYNTHESIZED,
    WRITE_BACKS,
    DISK_RESPONSE,
    RESPONSE,
])];

const NEVER_IDLE: Grid = grid(&[HA, LRU, ZFIFO, REORDER, ROCO], &[("drive.idle_cleaning", "off")]);

/// Figure 11 without cleaning in idle time.
pub(super) const IDLE: Figure = Figure {
    id: "idle",
    title: "Figure 11 again, cleaning only when the disk cache is full",
    how: "The paper cleans when the disk cache is idle or full (§2.1.1) and does not say how long \
          it has to be idle; ha-roco begins after a second. Here it never does.",
    source: Source::Runs(&[NEVER_IDLE]),
    charts: EXPLAINING,
    rows: slower! {
        "§4.2.2, Figure 11" DISK_RESPONSE:
        "HA" [52.89 5.36 26.41 18.42 37.91] [BUNCHED; 5];
        "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] [PER_IO; 5];
        "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] [OVER_ZFIFO; 5];
    },
};

/// ROCO by the literal equation 1.
pub(super) const HEAT: Figure = Figure {
    id: "heat",
    title: "Figures 9 to 11 again, with heat as a count",
    how: "Equation 1 to the letter: accesses of a zone's cached blocks, of which none ages. Elsewhere an \
          access counts half as much for each cache of writes since, as heat is to be a frequency \
          (§3.2).",
    source: Source::Runs(&[ALL]),
    charts: EXPLAINING,
    rows: by_volume! {
        "§4.2.2, Figure 9 (a)" NON_SEQUENTIAL "non-sequential data" "ROCO, counts"
            [0.86 8.68 0.02 0.52 2.01] [COUNTED; 5];
        "§4.2.2, Figure 9 (b)" SEQUENTIAL "sequential data" "ROCO, counts"
            [10.54 23.5 87.64 13.72 19.77] [COUNTED; 5];
        "§4.2.2, Figure 10 (a)" CLEAN_READ "data read by cleaning" "ROCO, counts"
            [0.68 13.65 0.94 0.45 2.06] [COUNTED; 5];
        and:
        "§4.2, Figures 7 (a) and 9 (a)" {
            order: "ROCO, Reorder-CZFIFO, Cache-ZFIFO, Cache-LRU and HA, each with more non-sequential data \
                    than the one before",
                |c| ranks(c, "ROCO, counts"), COUNTED;
        }
        "§4.2.2, Figure 9 (a)" {
            order: "ROCO performs the best: its non-sequential data is the least",
                |c| least(c, NON_SEQUENTIAL, "ROCO, counts"), COUNTED;
        }
        "§4.2.2, Figure 10 (a)" {
            order: "ROCO generates the least read data during the disk cache cleaning",
                |c| least(c, CLEAN_READ, "ROCO, counts"), COUNTED;
        }
    },
};

/// Compares the response times of requests, not of their I/Os at the drive.
const FASTEST: Row = rows!(one "§4.2.2, Figure 11"
    order: "ROCO improves the performance of the HA-SMR drive the most among the four solutions",
        |c| below(c, RESPONSE, "ROCO", &["HA", "Cache-LRU", "Cache-ZFIFO"]));

/// Figure 11 with the response times of requests.
pub(super) const TIMES: Figure = Figure {
    id: "times",
    title: "Figure 11 again, of requests",
    how: "Of a request, from its arrival until the cache or the drive has served it.",
    source: Source::Runs(&[ALL]),
    charts: &[Chart::ByTrace(&[RESPONSE])],
    rows: slower! {
        "§4.2.2, Figure 11" RESPONSE:
        "HA" [52.89 5.36 26.41 18.42 37.91] [BUNCHED; 5];
        "Cache-LRU" [5.61 4.97 14.1 5.46 11.29] [BLOCKWISE; 5];
        "Cache-ZFIFO" [3.82 4.67 12.77 3.7 8.35] [OVER_ZFIFO; 5];
        and:
        FASTEST;
    },
};

/// Four in five of the zones are written once, and long writes are repeated as soon as short ones.
const WRITTEN_ONCE: Sets = &[
    ("active", "8"),
    ("cluster", "64"),
    ("cold", "0"),
    ("first", "1.3"),
    ("follow", "0.12"),
    ("once", "0.8"),
    ("long-far", "-0.6"),
];

/// Varies what is written again.
pub(super) const ONCE: Figure = Figure {
    id: "once",
    title: "Zones that are written once",
    how: "Figures 7 to 11 over volumes of which nothing is written again in four of five written zones (as in figure \
          once of PORE), and where long writes come again about as soon as short ones (long-far=-0.6; elsewhere \
          short ones come sooner, as in recorded traces). Neither is published. Without cleaning in idle time.",
    source: Source::Runs(&[Grid { free: WRITTEN_ONCE, ..NEVER_IDLE }]),
    charts: EXPLAINING,
    rows: rows! {
        "§4.2, Figures 7 (a) and 9 (a)" {
            order: "ROCO, Reorder-CZFIFO, Cache-ZFIFO, Cache-LRU and HA, each with more non-sequential data \
                    than the one before",
                |c| ranks(c, "ROCO"), RECENCY;
        }
        LEAST_NON_SEQUENTIAL;
        FEW_HOST_RMWS;
        "§4.2.2, Figure 10 (a)" {
            order: "ROCO generates the least read data during the disk cache cleaning",
                |c| least(c, CLEAN_READ, "ROCO"), FAR_ONCE;
        }
        "§4.2.2, Figure 10 (b)" {
            order: "as if gaps counted in each cleaning: ROCO has the fewest zones cleaned",
                |c| least(c, WRITE_BACKS, "ROCO"), FAR_ONCE;
        }
        FASTEST;
    },
};
