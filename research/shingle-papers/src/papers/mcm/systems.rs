//! The compared systems, the disk beneath them, and grids of their runs.

use crate::grid::{Grid, Point, Sets, Size, System, point};

pub(super) const FIVE: &[&str] = &["rsrch_0", "mds_0", "src2_0", "hm_0", "usr_0"];
/// The traces of Figure 3.
pub(super) const TWO: &[&str] = &["rsrch_0", "src2_0"];

/// Settings of all runs: the disk as in the paper's simulator.
pub(super) const DISK: Sets = &[("drive.write_cache", "off"), ("drive.idle_cleaning", "off")];

/// The same disk, with cleaning in idle time.
pub(super) const CLEANS_IDLE: Sets = &[("drive.write_cache", "off"), ("drive.idle_cleaning", "on")];

pub(super) const fn system(label: &'static str, drive: &'static str, sets: Sets) -> System {
    System { drive: Some(drive), ..System::new(label, "none", sets) }
}

pub(super) const FC_DRIVE: &str = "st5000as0011+fc";
pub(super) const MCM_DRIVE: &str = "st5000as0011+mcm";
pub(super) const RMW_F_DRIVE: &str = "st5000as0011+rmw-f";

pub(super) const FC_A: &str = "FC, copying";
pub(super) const FC_B: &str = "FC, writing back";

pub(super) const SKYLIGHT: System = system("Skylight", "st5000as0011", &[]);
pub(super) const FC_COPIES: System = system(FC_A, FC_DRIVE, &[]);
pub(super) const FC_WRITES_BACK: System = system(FC_B, FC_DRIVE, &[("drive.fc_copies", "off")]);
pub(super) const RMW_F: System = system("RMW-F", RMW_F_DRIVE, &[]);
pub(super) const MCM: System = system("MCM", MCM_DRIVE, &[]);

pub(super) const ALL: &[System] = &[SKYLIGHT, FC_COPIES, FC_WRITES_BACK, RMW_F, MCM];

/// Variants in which a write that finds no free block collects one itself.
pub(super) const FOREGROUND: &[System] = &[
    SKYLIGHT,
    system(FC_A, FC_DRIVE, &[("drive.flash_background", "off")]),
    system(FC_B, FC_DRIVE, &[("drive.fc_copies", "off"), ("drive.flash_background", "off")]),
    system("RMW-F", RMW_F_DRIVE, &[("drive.flash_background", "off")]),
    system("MCM", MCM_DRIVE, &[("drive.flash_background", "off")]),
];

/// Label of MCM with flash that is full at the start.
pub(super) const FILLED: &str = "MCM, filled";

pub(super) const PREFILL: (&str, &str) = ("drive.flash_prefill_percent", "100");

pub(super) const UNSCALED: &[System] = &[
    SKYLIGHT,
    FC_COPIES,
    FC_WRITES_BACK,
    MCM,
    system("FC, copying, filled", FC_DRIVE, &[PREFILL]),
    system("FC, writing back, filled", FC_DRIVE, &[("drive.fc_copies", "off"), PREFILL]),
    system(FILLED, MCM_DRIVE, &[PREFILL]),
];

/// Variants of what counts towards a hot band, and of what returns.
pub(super) const COUNTS: &[System] = &[
    FC_COPIES,
    FC_WRITES_BACK,
    MCM,
    system("once a run", MCM_DRIVE, &[("drive.mcm_run_counts", "1")]),
    system("all cold", MCM_DRIVE, &[("drive.mcm_run_counts", "0")]),
    system("no returns", MCM_DRIVE, &[("drive.mcm_returns", "off")]),
    system(
        "once a run, no returns",
        MCM_DRIVE,
        &[("drive.mcm_run_counts", "1"), ("drive.mcm_returns", "off")],
    ),
];

pub(super) const fn grid(traces: &'static [&'static str], systems: &'static [System]) -> Grid {
    Grid {
        traces,
        drive: "st5000as0011",
        cache: Size::Different(100),
        sets: DISK,
        systems,
        ..Grid::PLAIN
    }
}

pub(super) const MAIN: Grid = grid(FIVE, ALL);

pub(super) const fn of_footprint(label: &'static str, thousandths: u64) -> Point {
    Point { label, cache: Some(Size::Different(thousandths)), sets: &[] }
}

pub(super) const SIZES: &[Point] = &[
    of_footprint("10 %", 100),
    of_footprint("25 %", 250),
    of_footprint("50 %", 500),
    of_footprint("75 %", 750),
    of_footprint("100 %", 1000),
    of_footprint("150 %", 1500),
];

pub(super) const DISKS: &[Point] = &[
    point("as elsewhere", &[]),
    point("write cache on", &[("drive.write_cache", "on")]),
    point("cleaning in idle time", &[("drive.idle_cleaning", "on")]),
];

pub(super) const OTHERWISE: &[System] = &[
    SKYLIGHT,
    FC_COPIES,
    FC_WRITES_BACK,
    MCM,
    system("MCM, merging at once", MCM_DRIVE, &[("drive.mcm_rewrites_bands", "on")]),
    system("MCM, no look-ahead", MCM_DRIVE, &[("drive.mcm_look_ahead", "0")]),
    system("MCM, reads in 75 us", MCM_DRIVE, &[("drive.flash_read_us", "75")]),
];

/// The main grid without the bare disk.
pub(super) const MAIN_FLASH: Grid = grid(FIVE, &[FC_COPIES, FC_WRITES_BACK, RMW_F, MCM]);

pub(super) const WEAR: &[System] = &[
    MCM,
    system("not levelled", MCM_DRIVE, &[("drive.mcm_wear_levelling", "off")]),
    system("reversed", MCM_DRIVE, &[("drive.mcm_smaller_is_colder", "off")]),
    system(
        "reversed, not levelled",
        MCM_DRIVE,
        &[("drive.mcm_smaller_is_colder", "off"), ("drive.mcm_wear_levelling", "off")],
    ),
];
