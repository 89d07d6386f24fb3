//! Figures that the paper has not: they test why its own come out as they do here.

use super::compare::{outperforms, pairs, saved, times};
use super::reasons::{BACK, COPYING, EMPTY, NO_ERASES, OTHER_DISK, OTHER_SIZE, REVERSED, WORN};
use super::systems::{self, ALL, DISKS, FC_A, FC_B, FIVE, OTHERWISE, SIZES, grid};
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Grid, Size};
use crate::papers::metrics::{
    ERASES, LIFETIME, PAST_FLASH, RESPONSE, RMW, SPREAD, VALID_COPIES, WAF, WORST, WRITTEN_BACK,
};
use crate::papers::rows::{factor, order, percent};

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

pub(super) const FOREGROUND: Figure = Figure {
    id: "foreground",
    title: "Figures 8 to 11 again, the flash collected by the writes that wait for it",
    how: "Elsewhere free blocks are gained beside the host's I/O, as §IV-B.c has it for MCM.",
    source: Source::Runs(&[grid(FIVE, systems::FOREGROUND)]),
    charts: EXPLAINING,
    rows: averages!(BACK, BACK, BACK, COPYING, COPYING),
};

pub(super) const UNSCALED: Figure = Figure {
    id: "unscaled",
    title: "Figures 8 to 11 again, with 16 GB of flash",
    how: "Empty at first, as far as the paper says; and filled with the first blocks of the disk \
          (filled).",
    source: Source::Runs(&[Grid { cache: Size::Real, ..grid(FIVE, systems::UNSCALED) }]),
    charts: EXPLAINING,
    rows: averages!(EMPTY, EMPTY, EMPTY, NO_ERASES, NO_ERASES),
};

pub(super) const SIZE: Figure = Figure {
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
        OTHER_SIZE
    )],
};

pub(super) const DISK: Figure = Figure {
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
};

pub(super) const WEAR: Figure = Figure {
    id: "wear",
    title: "Wear with and without levelling, and by what is taken for cold",
    how: "Without levelling erases do not count in the temperature of a block and a migrated block \
          keeps its region. By equation 3 the block with the smallest temperature is the coldest; \
          reversed, that with the largest.",
    source: Source::Runs(&[grid(FIVE, systems::WEAR)]),
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
            WORN
        ),
        order!(
            "abstract, §III-C",
            "extend the lifetime: more can be written until the first block is worn",
            |c| pairs(c, LIFETIME, "not levelled", "MCM"),
            WORN
        ),
        order!(
            "§III-C, equation 3",
            "the block with the smaller (colder) value is selected: erases are less uneven than with \
             the larger",
            |c| pairs(c, SPREAD, "MCM", "reversed"),
            WORN
        ),
        order!(
            "§III-C, equation 3",
            "the block with the smaller (colder) value is selected: fewer pages are copied than with \
             the larger",
            |c| pairs(c, VALID_COPIES, "MCM", "reversed"),
            REVERSED
        ),
    ],
};
