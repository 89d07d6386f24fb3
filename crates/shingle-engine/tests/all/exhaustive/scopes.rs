//! The worlds that are explored, each the smallest in which something can happen that cannot in the others.

use shingle_core::service::Mode;

use super::scope::{Fault, Scope, Want};

/// One slot over one block, and one power cut.
const ONE: Scope =
    Scope { slots: 1, frames: 3, blocks: 1, crashes: 1, kills: false, ..Scope::PLAIN };
const TWO: Scope = Scope::PLAIN;

/// One slot over two blocks that are a band, of which the second is never cached and the first is dirty.
const BAND: Scope = Scope {
    slots: 1,
    frames: 3,
    blocks: 2,
    band: true,
    crashes: 1,
    kills: false,
    tears: (false, false),
    prelude: &[Want::WriteFua(0)],
    ..Scope::PLAIN
};

/// What is explored.
pub(crate) const SCOPES: &[Scope] = &[
    Scope {
        name: "frames",
        frames: 2,
        wants: &[Want::WriteFua(0)],
        commands: 3,
        crashes: 2,
        tears: (false, false),
        kills: true,
        ..ONE
    },
    Scope { name: "fua", wants: &[Want::WriteFua(0)], commands: 2, crashes: 2, kills: true, ..ONE },
    Scope { name: "flush", wants: &[Want::Write(0), Want::Flush], commands: 3, kills: true, ..ONE },
    Scope {
        name: "flush-2",
        wants: &[Want::Write(0), Want::Flush],
        commands: 2,
        crashes: 2,
        kills: true,
        ..ONE
    },
    Scope {
        name: "rewritten",
        frames: 2,
        journal_pages: 2,
        wants: &[Want::WriteFua(0)],
        commands: 4,
        ..ONE
    },
    Scope {
        name: "journal",
        frames: 2,
        journal_pages: 1,
        wants: &[Want::WriteFua(0)],
        commands: 4,
        ..ONE
    },
    Scope {
        name: "read",
        wants: &[Want::Write(0), Want::Read(0), Want::Trim(0)],
        commands: 3,
        kills: true,
        ..ONE
    },
    Scope {
        name: "parts",
        wants: &[Want::WriteHalf(0), Want::Write(0), Want::ZeroesFua(0), Want::Read(0)],
        commands: 2,
        kills: true,
        ..ONE
    },
    Scope {
        name: "room",
        slots: 1,
        frames: 3,
        blocks: 2,
        wants: &[Want::Write(0), Want::Write(1), Want::Read(0)],
        commands: 3,
        crashes: 1,
        kills: false,
        ..TWO
    },
    Scope { name: "idle", wants: &[Want::Write(0), Want::Flush], commands: 2, ticks: true, ..ONE },
    Scope {
        name: "around",
        mode: Mode::WriteAround,
        wants: &[Want::WriteFua(0), Want::Write(0), Want::Read(0), Want::Flush],
        commands: 3,
        kills: true,
        ..ONE
    },
    Scope {
        name: "around-killed",
        mode: Mode::WriteAround,
        wants: &[Want::Write(0), Want::Read(0)],
        commands: 2,
        crashes: 2,
        kills: true,
        ..ONE
    },
    Scope {
        name: "around-trim",
        mode: Mode::WriteAround,
        wants: &[Want::Write(0), Want::Read(0), Want::Trim(0)],
        commands: 4,
        ..ONE
    },
    Scope {
        name: "told",
        wants: &[Want::Write(1), Want::Read(1), Want::Trim(1)],
        commands: 3,
        blocks: 2,
        tells_trims: true,
        ..ONE
    },
    Scope {
        name: "around-told",
        mode: Mode::WriteAround,
        wants: &[Want::Write(1), Want::Read(1), Want::Trim(1), Want::Flush],
        commands: 3,
        blocks: 2,
        tells_trims: true,
        ..ONE
    },
    Scope {
        name: "told-lost",
        wants: &[Want::Read(1), Want::Trim(1)],
        commands: 2,
        tears: (false, false),
        blocks: 2,
        tells_trims: true,
        faults: (1, &[Fault::Flush]),
        ..ONE
    },
    Scope {
        name: "told-written",
        mode: Mode::WriteAround,
        wants: &[Want::Trim(1), Want::Read(1), Want::Write(1)],
        commands: 4,
        tears: (false, false),
        blocks: 2,
        tells_trims: true,
        faults: (1, &[Fault::Flush]),
        ..ONE
    },
    Scope {
        name: "through",
        mode: Mode::WriteThrough,
        wants: &[Want::Write(0), Want::Flush],
        commands: 3,
        ..ONE
    },
    Scope {
        name: "modes",
        wants: &[
            Want::Write(0),
            Want::Mode(Mode::WriteThrough),
            Want::Mode(Mode::WriteAround),
            Want::Mode(Mode::NoReadFill),
            Want::Mode(Mode::PassThrough),
            Want::Mode(Mode::WriteBack),
        ],
        commands: 3,
        ..ONE
    },
    Scope {
        name: "stop",
        wants: &[Want::Write(0), Want::Stop, Want::Mode(Mode::PassThrough)],
        commands: 3,
        kills: true,
        ..ONE
    },
    Scope {
        name: "stop-gone",
        wants: &[Want::Stop, Want::WriteFua(0)],
        commands: 2,
        faults: (1, &[Fault::SsdGone]),
        ..ONE
    },
    Scope { name: "swap", wants: &[Want::Write(0), Want::Swap, Want::Drain], commands: 3, ..ONE },
    Scope {
        name: "clients",
        connections: 2,
        wants: &[Want::Write(0), Want::Flush],
        commands: 3,
        ..ONE
    },
    Scope {
        name: "two-blocks",
        wants: &[Want::Write(0), Want::Write(1), Want::WriteMany(0, 2), Want::Flush],
        commands: 2,
        crashes: 1,
        ..TWO
    },
    Scope {
        name: "errors",
        blocks: 2,
        // (Of block 0 nothing but zeros is there at first, and a read that gives none would give the same.)
        wants: &[Want::Write(1), Want::Read(1), Want::Flush],
        commands: 2,
        faults: (1, &[Fault::Io]),
        ..ONE
    },
    Scope {
        name: "lost",
        mode: Mode::WriteAround,
        connections: 2,
        wants: &[Want::WriteFua(0), Want::Write(0), Want::Flush, Want::Read(0)],
        commands: 3,
        faults: (1, &[Fault::Flush]),
        ..ONE
    },
    Scope {
        name: "opened",
        mode: Mode::WriteAround,
        wants: &[Want::Write(0), Want::WriteFua(0), Want::Connect, Want::Flush],
        commands: 4,
        crashes: 0,
        faults: (1, &[Fault::Flush]),
        kills: true,
        ..ONE
    },
    Scope {
        name: "lost-back",
        wants: &[Want::Write(0), Want::Flush],
        commands: 3,
        faults: (1, &[Fault::Flush]),
        ..ONE
    },
    Scope {
        name: "gone",
        wants: &[Want::Write(0), Want::Read(0), Want::Flush],
        commands: 3,
        faults: (1, &[Fault::SsdGone]),
        ..ONE
    },
    Scope {
        name: "gone-trim",
        wants: &[Want::WriteFua(0), Want::Trim(0)],
        commands: 3,
        tears: (false, false),
        faults: (1, &[Fault::SsdGone]),
        ..ONE
    },
    Scope {
        name: "flips",
        wants: &[Want::Write(0), Want::Read(0)],
        commands: 2,
        crashes: 0,
        faults: (1, &[Fault::Flip]),
        kills: true,
        ..ONE
    },
    Scope {
        name: "replaced",
        wants: &[Want::Write(0), Want::Flush, Want::Replace],
        commands: 3,
        ..ONE
    },
    Scope {
        name: "taken-out",
        wants: &[Want::WriteFua(0), Want::Replace],
        commands: 3,
        tears: (false, false),
        ..ONE
    },
    Scope {
        name: "put-in",
        wants: &[Want::WriteFua(0), Want::Read(0), Want::Replace],
        commands: 3,
        crashes: 0,
        kills: true,
        ..ONE
    },
    Scope {
        name: "replaced-gone",
        wants: &[Want::WriteFua(0), Want::Replace],
        commands: 3,
        tears: (false, false),
        faults: (1, &[Fault::SsdGone]),
        ..ONE
    },
    Scope {
        name: "put-in-read",
        wants: &[Want::Read(1), Want::Replace],
        commands: 3,
        tears: (false, false),
        faults: (1, &[Fault::SsdGone]),
        // (What is read before the first flush is not cached.)
        prelude: &[Want::Flush, Want::Read(0)],
        ..TWO
    },
    Scope {
        name: "grown",
        wants: &[Want::Grow, Want::WriteFua(1)],
        commands: 3,
        tears: (false, false),
        ..ONE
    },
    Scope {
        name: "band",
        slots: 2,
        frames: 4,
        blocks: 3,
        wants: &[Want::Write(0), Want::Write(2), Want::Flush],
        commands: 3,
        ..BAND
    },
    Scope {
        name: "band-past",
        wants: &[Want::Write(0), Want::Write(1), Want::WriteFua(1), Want::Read(1)],
        commands: 3,
        ..BAND
    },
    Scope {
        name: "band-told",
        wants: &[Want::Write(0), Want::Trim(1), Want::Read(1)],
        tells_trims: true,
        commands: 3,
        ..BAND
    },
    Scope {
        name: "band-errors",
        wants: &[Want::Write(1), Want::Read(1)],
        commands: 2,
        faults: (1, &[Fault::Io]),
        ..BAND
    },
    Scope {
        name: "band-lost",
        wants: &[Want::Write(0), Want::WriteFua(1), Want::Flush],
        commands: 3,
        faults: (1, &[Fault::Flush]),
        prelude: &[],
        ..BAND
    },
    Scope {
        name: "band-rest",
        wants: &[
            Want::Write(0),
            Want::Write(1),
            Want::Mode(Mode::PassThrough),
            Want::Mode(Mode::WriteBack),
            Want::Swap,
            Want::Drain,
            Want::Replace,
            Want::Stop,
        ],
        commands: 3,
        ..BAND
    },
    TWO_TABLES,
    Scope {
        name: "full-page",
        slots: 253,
        frames: 256,
        blocks: 253,
        wants: &[Want::WriteMany(0, 253), Want::Flush],
        commands: 2,
        prelude: &[],
        ..TWO_TABLES
    },
    // (Last: with its five commands it takes what states others leave.)
    Scope {
        name: "three",
        slots: 3,
        frames: 5,
        blocks: 4,
        journal_pages: 2,
        connections: 2,
        wants: &[Want::Write(0), Want::WriteMany(1, 3), Want::Read(0), Want::Trim(1), Want::Flush],
        commands: 5,
        crashes: 2,
        kills: false,
        tears: (false, false),
        ..Scope::PLAIN
    },
];

/// The table has two pages, of which the first is full; what is new goes to the second.
const TWO_TABLES: Scope = Scope {
    name: "two-tables",
    slots: 206,
    frames: 210,
    blocks: 206,
    journal_pages: 2,
    wants: &[Want::WriteFua(0), Want::WriteFua(205)],
    commands: 4,
    crashes: 1,
    kills: false,
    tears: (false, false),
    together: true,
    prelude: &[Want::WriteMany(0, 206), Want::Drain, Want::Stop],
    ..Scope::PLAIN
};

/// Where seeded bugs are looked for that only larger ones of those have: what leads there is done before.
const FOR_BUGS: &[Scope] = &[
    Scope {
        name: "replaced-dirty",
        wants: &[Want::WriteFua(0), Want::Replace],
        commands: 2,
        tears: (false, false),
        faults: (1, &[Fault::SsdGone]),
        prelude: &[Want::WriteFua(0)],
        ..ONE
    },
    Scope {
        name: "band-dirty",
        slots: 2,
        frames: 4,
        blocks: 3,
        // (It has the disk flushed.)
        wants: &[Want::WriteFua(1)],
        commands: 1,
        prelude: &[Want::WriteFua(0), Want::WriteFua(2)],
        ..BAND
    },
    Scope {
        name: "band-lost-dirty",
        wants: &[Want::WriteFua(1)],
        commands: 1,
        faults: (1, &[Fault::Flush]),
        prelude: &[Want::WriteFua(0)],
        ..BAND
    },
    Scope {
        name: "two-tables-empty",
        frames: 210,
        wants: &[Want::WriteFua(0)],
        commands: 2,
        tears: (false, false),
        ..ONE
    },
];

/// By name.
pub(crate) fn named(name: &str) -> Scope {
    *SCOPES.iter().chain(FOR_BUGS).find(|scope| scope.name == name).expect("a scope of this name")
}

/// Played by chance: four slots over six blocks, and everything that can happen, three crashes and two faults at most.
pub(crate) const LARGE: Scope = Scope {
    name: "large",
    slots: 4,
    frames: 7,
    blocks: 6,
    journal_pages: 6,
    connections: 2,
    room_slots: 1,
    wants: &[
        Want::Write(0),
        Want::Write(1),
        Want::Write(2),
        Want::WriteFua(3),
        Want::WriteFua(4),
        Want::WriteMany(0, 3),
        Want::WriteMany(2, 4),
        Want::WriteHalf(1),
        Want::Zeroes(2),
        Want::ZeroesFua(5),
        Want::Trim(0),
        Want::Trim(3),
        Want::Read(0),
        Want::Read(1),
        Want::Read(3),
        Want::Read(5),
        Want::Flush,
        Want::Flush,
        Want::Flush,
        Want::Mode(Mode::WriteBack),
        Want::Mode(Mode::WriteThrough),
        Want::Mode(Mode::WriteAround),
        Want::Mode(Mode::NoReadFill),
        Want::Drain,
        Want::Swap,
        Want::Stop,
        Want::Connect,
        Want::Leave,
    ],
    commands: 40,
    crashes: 3,
    ticks: true,
    tells_trims: true,
    ..Scope::PLAIN
};
