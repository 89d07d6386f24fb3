//! The compared systems: translations over the paper's disk, and grids of their runs.

use crate::grid::{Grid, ONE, Point, Sets, Size, System, point};

pub(super) const EIGHT: &[&str] =
    &["hm_0", "prn_0", "prxy_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0"];

pub(super) const AMPHISBAENA: System = translation("Amphisbaena", "amphisbaena", &[]);
const FLUID: System = translation("Fluid", "fluid", &[]);
const FLUID_LOOP: System = translation("Fluid_loop", "fluid-loop", &[]);
const SKYLIGHT: System = translation("Skylight", "skylight-sa", &[]);

/// Amphisbaena without aborts: a waiting write does not end a collection.
pub(super) const NEVER_ABORTS: System =
    translation("never aborts", "amphisbaena", &[("amphisbaena.abort", "off")]);

/// The systems that the paper compares, and Amphisbaena without aborts.
const ALL: &[System] = &[FLUID, FLUID_LOOP, SKYLIGHT, AMPHISBAENA, NEVER_ABORTS];

pub(super) const RIVALS: &[&str] = &["Fluid", "Fluid_loop", "Skylight"];

const fn translation(label: &'static str, name: &'static str, sets: Sets) -> System {
    System { translation: Some(name), ..System::new(label, "none", sets) }
}

pub(super) const fn grid(systems: &'static [System], points: &'static [Point]) -> Grid {
    Grid {
        traces: EIGHT,
        drive: "exos-x18z",
        buffer: Size::WrittenLarge(10),
        systems,
        points,
        ..Grid::PLAIN
    }
}

pub(super) const MAIN: Grid = grid(ALL, ONE);

pub(super) const CHUNKS: &[Point] = &[
    point("64 KB", &[("amphisbaena.chunk", "64KiB")]),
    point("128 KB", &[("amphisbaena.chunk", "128KiB")]),
    point("256 KB", &[("amphisbaena.chunk", "256KiB")]),
    point("512 KB", &[("amphisbaena.chunk", "512KiB")]),
    point("1024 KB", &[("amphisbaena.chunk", "1024KiB")]),
];

pub(super) const LAMBDAS: &[Point] = &[
    point("0.1", &[("amphisbaena.lambda", "0.1")]),
    point("0.3", &[("amphisbaena.lambda", "0.3")]),
    point("0.5", &[("amphisbaena.lambda", "0.5")]),
];

/// Makes a sweep, by default over the first tenth of each trace.
const fn sweep(systems: &'static [System], points: &'static [Point]) -> Grid {
    Grid { default_scale: 0.1, ..grid(systems, points) }
}

/// Varies the chunk size.
pub(super) const BY_CHUNK: Grid = sweep(&[AMPHISBAENA], CHUNKS);

/// Chunks smaller than the paper's.
pub(super) const BY_SMALL_CHUNK: Grid = sweep(
    &[AMPHISBAENA, FLUID_LOOP],
    &[
        point("8 KB", &[("amphisbaena.chunk", "8KiB")]),
        point("16 KB", &[("amphisbaena.chunk", "16KiB")]),
        point("32 KB", &[("amphisbaena.chunk", "32KiB")]),
        point("64 KB", &[("amphisbaena.chunk", "64KiB")]),
    ],
);

/// Varies the size of the filter list.
pub(super) const BY_LAMBDA: Grid = sweep(&[AMPHISBAENA], LAMBDAS);

/// Alternatives to the decisions that the text leaves open, one at a time.
pub(super) const OTHERWISE: Grid = sweep(
    &[
        AMPHISBAENA,
        translation("weight ÷ FL", "amphisbaena", &[("amphisbaena.weight", "over")]),
        translation("demoted to MRU", "amphisbaena", &[("amphisbaena.sup_demote", "mru")]),
        translation("shadows need hot", "amphisbaena", &[("amphisbaena.shadow_needs_hot", "on")]),
        translation("aborts by zone", "amphisbaena", &[("amphisbaena.abort", "zone")]),
        NEVER_ABORTS,
        translation("returns if none", "amphisbaena", &[("amphisbaena.returns", "none")]),
        translation("LFB of blocks", "amphisbaena", &[("amphisbaena.lfb", "blocks")]),
        translation("a read a run", "amphisbaena", &[("amphisbaena.collect", "runs")]),
        translation("never idle", "amphisbaena", &[("amphisbaena.idle", "off")]),
        FLUID_LOOP,
    ],
    ONE,
);

/// The bound on remembered ghosts and shadows.
pub(super) const HISTORIES: &[Point] = &[
    point("1x", &[("amphisbaena.history", "1")]),
    point("2x", &[("amphisbaena.history", "2")]),
    point("4x", &[("amphisbaena.history", "4")]),
];

pub(super) const BY_HISTORY: Grid = sweep(&[AMPHISBAENA], HISTORIES);

/// Translations that the paper mentions and does not run.
pub(super) const OTHERS: Grid = Grid {
    // dm-zoned works with whole zones, and 1 % would be less than one zone.
    buffer: Size::WrittenLarge(100),
    ..sweep(
        &[
            translation("dm-zoned", "dm-zoned", &[]),
            translation("µCache", "ucache", &[]),
            FLUID_LOOP,
            AMPHISBAENA,
        ],
        ONE,
    )
};
