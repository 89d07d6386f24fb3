//! Figures that are not in the paper: they test why results differ from the published ones.

use super::compare::{least, outperforms, pairs, ratio, saved, saved_by};
use super::reasons::{
    COLD, COUNTED, EMPTY, FC_BETWEEN, FILLED as AS_FILLED, FULL, IDLE_RMWS, IDLE_TIMES, OTHER_DISK,
    OTHER_SIZE, PAST, REVERSED, THROUGH, WAITS,
};
use super::systems::{
    self, ALL, CLEANS_IDLE, DISKS, FC_A, FC_B, FILLED, FIVE, MAIN, OTHERWISE, SIZES, grid,
};
use crate::experiment::{Chart, Figure, Source};
use crate::grid::{Grid, Size};
use crate::papers::metrics::{
    ERASES, LIFETIME, PAST_FLASH, RESPONSE, RMW, SPREAD, VALID_COPIES, WAF, WORST, WRITTEN_BACK,
};
use crate::papers::rows::rows;

/// Makes rows of the published averages, over runs of all systems.
macro_rules! averages {
    ($response:expr, $rmw:expr, $waf:expr, $erases:expr, $copies:expr
     $(; $($others:tt)*)?) => {
        rows! {
            "abstract, Figure 8" {
                percent 71.0: "response time saved against Skylight (%)",
                    |c| saved(c, RESPONSE, "Skylight"), $response;
                percent 17.2: "response time saved against FC, copying (%)",
                    |c| saved(c, RESPONSE, FC_A), $response;
                percent 17.2: "response time saved against FC, writing back (%)",
                    |c| saved(c, RESPONSE, FC_B), $response;
            }
            "abstract, §I" {
                percent 96.0: "RMWs saved against Skylight (%)", |c| saved(c, RMW, "Skylight"), $rmw;
            }
            "§IV-B.b, Figure 9" {
                factor 25.2: "write amplification of Skylight ÷ that of MCM",
                    |c| ratio(c, WAF, "Skylight", "MCM"), $waf;
            }
            "§IV-B.c, Figure 10" {
                percent 33.32: "erases saved against FC, copying (%)", |c| saved(c, ERASES, FC_A), $erases;
                percent 33.32: "erases saved against FC, writing back (%)",
                    |c| saved(c, ERASES, FC_B), $erases;
            }
            "§IV-B.c, Figure 11" {
                percent 40.7: "valid page copies saved against FC, copying (%)",
                    |c| saved(c, VALID_COPIES, FC_A), $copies;
            }
            $($($others)*)?
        }
    };
}

const EXPLAINING: &[Chart] =
    &[Chart::ByTrace(&[RESPONSE, RMW, WAF, ERASES, VALID_COPIES, WRITTEN_BACK, PAST_FLASH])];

/// Makes rows of what each interpretation saves against FC, copying: three for each line.
macro_rules! readings {
    ($($system:literal $slower:expr;)*) => {
        rows! { $(
            "§IV-B.c, Figure 10" {
                percent 33.32: concat!("erases saved against FC, copying: ", $system, " (%)"),
                    |c| saved_by(c, ERASES, $system, FC_A), COUNTED;
            }
            "§IV-B.c, Figure 11" {
                percent 40.7: concat!("valid page copies saved against FC, copying: ", $system, " (%)"),
                    |c| saved_by(c, VALID_COPIES, $system, FC_A), COUNTED;
            }
            "§IV-B.a, Figure 8" {
                percent 17.2: concat!("response time saved against FC, copying: ", $system, " (%)"),
                    |c| saved_by(c, RESPONSE, $system, FC_A), $slower;
            }
        )* }
    };
}

pub(super) const COUNTS: Figure = Figure {
    id: "counted",
    title: "Figures 8 to 11 again, by what makes a band hot and by what returns",
    how: "Each write of a run counts its band (MCM), a run counts once, or none does, so that all sequential \
          data is cold and no page returns; and the first two with hot pages that leave RBR for the disk, not \
          for SHR. The paper's text has the first.",
    source: Source::Runs(&[grid(FIVE, systems::COUNTS)]),
    charts: EXPLAINING,
    rows: readings! {
        "MCM" FC_BETWEEN;
        "once a run" FC_BETWEEN;
        "all cold" COLD;
        "no returns" FC_BETWEEN;
        "once a run, no returns" FC_BETWEEN;
    },
};

pub(super) const FOREGROUND: Figure = Figure {
    id: "foreground",
    title: "Figures 8 to 11 again, the flash collected by the writes that wait for it",
    how: "Elsewhere free blocks are gained beside the host's I/O, as §IV-B.c has it for MCM.",
    source: Source::Runs(&[grid(FIVE, systems::FOREGROUND)]),
    charts: EXPLAINING,
    rows: averages!(WAITS, THROUGH, THROUGH, COUNTED, COUNTED),
};

pub(super) const IDLE: Figure = Figure {
    id: "idle",
    title: "Figures 8 to 11 again, the disk cleaning in idle time too",
    how: "Cleaning begins after a second without I/O and gives way when a band is done, as drives of this \
          kind were seen to do. The simulator that the paper builds on cleans when the cache is full, and \
          so does the disk elsewhere.",
    source: Source::Runs(&[Grid { sets: CLEANS_IDLE, ..MAIN }]),
    charts: EXPLAINING,
    rows: averages!(
        IDLE_TIMES, IDLE_RMWS, IDLE_RMWS, COUNTED, COUNTED;
        "§IV-B.a, Figure 8" {
            order: "we outperform Skylight and also save … compared with the state-of-art FC",
                |c| least(c, RESPONSE, &["Skylight", FC_A, FC_B]);
        }
    ),
};

pub(super) const UNSCALED: Figure = Figure {
    id: "unscaled",
    title: "Figures 8 to 11 again, with 16 GB of flash",
    how: "Empty at first, as far as the paper says; and filled with the first blocks of the disk \
          (filled).",
    source: Source::Runs(&[Grid { cache: Size::Real, ..grid(FIVE, systems::UNSCALED) }]),
    charts: EXPLAINING,
    rows: rows! {
        "abstract, Figure 8" {
            percent 71.0: "response time saved against Skylight (%)",
                |c| saved(c, RESPONSE, "Skylight"), EMPTY;
            percent 71.0: "response time saved against Skylight, filled (%)",
                |c| saved_by(c, RESPONSE, FILLED, "Skylight"), AS_FILLED;
            percent 17.2: "response time saved against FC, copying (%)",
                |c| saved(c, RESPONSE, FC_A), PAST;
            percent 17.2: "response time saved against FC, copying, both filled (%)",
                |c| saved_by(c, RESPONSE, FILLED, "FC, copying, filled"), FULL;
            percent 17.2: "response time saved against FC, writing back, both filled (%)",
                |c| saved_by(c, RESPONSE, FILLED, "FC, writing back, filled"), FULL;
        }
        "abstract, §I" {
            percent 96.0: "RMWs saved against Skylight (%)", |c| saved(c, RMW, "Skylight"), EMPTY;
            percent 96.0: "RMWs saved against Skylight, filled (%)",
                |c| saved_by(c, RMW, FILLED, "Skylight"), FULL;
        }
        "§IV-B.b, Figure 9" {
            factor 25.2: "write amplification of Skylight ÷ that of MCM",
                |c| ratio(c, WAF, "Skylight", "MCM"), EMPTY;
            factor 25.2: "write amplification of Skylight ÷ that of MCM, filled",
                |c| ratio(c, WAF, "Skylight", FILLED), AS_FILLED;
        }
        "§IV-B.c, Figure 10" {
            percent 33.32: "erases saved against FC, copying, both filled (%)",
                |c| saved_by(c, ERASES, FILLED, "FC, copying, filled"), FULL;
        }
    },
};

pub(super) const SIZE: Figure = Figure {
    id: "size",
    title: "Figures 8 to 11 again, by the size of the flash",
    how: "In per cent of the blocks that the trace writes.",
    source: Source::Runs(&[
        Grid { points: SIZES, ..grid(&["rsrch_0"], ALL) },
        Grid { points: SIZES, ..grid(&["src2_0"], ALL) },
    ]),
    charts: &[Chart::ByPoint(&[RESPONSE, RMW, WAF, ERASES, VALID_COPIES, WRITTEN_BACK])],
    rows: rows! {
        "§IV-B.a, Figure 8" {
            order: "we outperform Skylight and FC, whatever the size of the flash",
                |c| outperforms(c, SIZES), OTHER_SIZE;
        }
    },
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
    charts: &[Chart::ByPoint(&[RESPONSE, RMW, WAF, WRITTEN_BACK])],
    rows: rows! {
        "§IV-B.a, Figure 8" {
            order: "we outperform Skylight and FC, whatever the disk",
                |c| outperforms(c, DISKS), OTHER_DISK;
        }
    },
};

pub(super) const WEAR: Figure = Figure {
    id: "wear",
    title: "Wear with and without levelling, and by what is taken for cold",
    how: "Without levelling erases do not count in the temperature of a block and a migrated block \
          keeps its region. By equation 3 the block with the smallest temperature is the coldest; \
          reversed, that with the largest.",
    source: Source::Runs(&[grid(FIVE, systems::WEAR)]),
    charts: &[Chart::ByTrace(&[SPREAD, WORST, ERASES, VALID_COPIES, LIFETIME, RESPONSE])],
    rows: rows! {
        "abstract, §III-C" {
            order: "extend the lifetime by a region-aware wear-leveling strategy: erases are less uneven",
                |c| pairs(c, SPREAD, "MCM", "not levelled");
            order: "extend the lifetime: more can be written until the first block is worn",
                |c| pairs(c, LIFETIME, "not levelled", "MCM");
        }
        "§III-C, equation 3" {
            order: "the block with the smaller (colder) value is selected: erases are less uneven than with \
                    the larger",
                |c| pairs(c, SPREAD, "MCM", "reversed");
            order: "the block with the smaller (colder) value is selected: fewer pages are copied than with \
                    the larger",
                |c| pairs(c, VALID_COPIES, "MCM", "reversed"), REVERSED;
        }
    },
};
