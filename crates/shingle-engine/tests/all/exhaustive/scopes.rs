//! The worlds that are explored, each the smallest one in which some event can happen.

use shingle_core::service::Mode;

use super::scope::Want::*;
use super::scope::{Fault, Scope};

/// One slot over one block, with one power cut.
const ONE: Scope =
    Scope { slots: 1, frames: 3, blocks: 1, crashes: 1, kills: false, ..Scope::PLAIN };
const TWO: Scope = Scope::PLAIN;

/// One slot over a band of two blocks: the second is never cached, and the first is dirty.
const BAND: Scope = Scope {
    slots: 1,
    frames: 3,
    blocks: 2,
    band: true,
    crashes: 1,
    kills: false,
    tears: (false, false),
    prelude: &[WriteFua(0)],
    ..Scope::PLAIN
};

/// A scope a line: its name, the scope it is derived from, and the differences.
macro_rules! scopes {
    ($($name:literal: $like:ident $(, $field:ident: $value:expr)*;)*) => {
        &[$(Scope { name: $name, $($field: $value,)* ..$like }),*]
    };
}

/// The scopes that are explored.
pub(crate) const SCOPES: &[Scope] = scopes! {
    "frames": ONE, frames: 2, wants: &[WriteFua(0)], commands: 3, crashes: 2, tears: (false, false),
        kills: true;
    "fua": ONE, wants: &[WriteFua(0)], commands: 2, crashes: 2, kills: true;
    "flush": ONE, wants: &[Write(0), Flush], commands: 3, kills: true;
    "flush-2": ONE, wants: &[Write(0), Flush], commands: 2, crashes: 2, kills: true;
    "rewritten": ONE, frames: 2, journal_pages: 2, wants: &[WriteFua(0)], commands: 4;
    "journal": ONE, frames: 2, journal_pages: 1, wants: &[WriteFua(0)], commands: 4;
    "read": ONE, wants: &[Write(0), Read(0), Trim(0)], commands: 3, kills: true;
    "parts": ONE, wants: &[WriteHalf(0), Write(0), ZeroesFua(0), Read(0)], commands: 2, kills: true;
    "room": TWO, slots: 1, frames: 3, blocks: 2, wants: &[Write(0), Write(1), Read(0)], commands: 3,
        crashes: 1, kills: false;
    "idle": ONE, wants: &[Write(0), Flush], commands: 2, ticks: true;
    "around": ONE, mode: Mode::WriteAround, wants: &[WriteFua(0), Write(0), Read(0), Flush], commands: 3,
        kills: true;
    "around-killed": ONE, mode: Mode::WriteAround, wants: &[Write(0), Read(0)], commands: 2, crashes: 2,
        kills: true;
    "around-trim": ONE, mode: Mode::WriteAround, wants: &[Write(0), Read(0), Trim(0)], commands: 4;
    "told": ONE, wants: &[Write(1), Read(1), Trim(1)], commands: 3, blocks: 2, trim_passdown: true;
    "around-told": ONE, mode: Mode::WriteAround, wants: &[Write(1), Read(1), Trim(1), Flush], commands: 3,
        blocks: 2, trim_passdown: true;
    "told-lost": ONE, wants: &[Read(1), Trim(1)], commands: 2, tears: (false, false), blocks: 2,
        trim_passdown: true, faults: (1, &[Fault::Flush]);
    "told-written": ONE, mode: Mode::WriteAround, wants: &[Trim(1), Read(1), Write(1)], commands: 4,
        tears: (false, false), blocks: 2, trim_passdown: true, faults: (1, &[Fault::Flush]);
    "through": ONE, mode: Mode::WriteThrough, wants: &[Write(0), Flush], commands: 3;
    "modes": ONE,
        wants: &[Write(0), Mode(Mode::WriteThrough), Mode(Mode::WriteAround), Mode(Mode::NoReadFill),
            Mode(Mode::PassThrough), Mode(Mode::WriteBack)],
        commands: 3;
    "stop": ONE, wants: &[Write(0), Stop, Mode(Mode::PassThrough)], commands: 3, kills: true;
    "stop-gone": ONE, wants: &[Stop, WriteFua(0)], commands: 2, faults: (1, &[Fault::SsdGone]);
    "swap": ONE, wants: &[Write(0), Swap, Drain], commands: 3;
    "clients": ONE, connections: 2, wants: &[Write(0), Flush], commands: 3;
    "two-blocks": TWO, wants: &[Write(0), Write(1), WriteMany(0, 2), Flush], commands: 2, crashes: 1;
    // (Block 0 is zeros at first, so a read that returns no data would look right.)
    "errors": ONE, blocks: 2, wants: &[Write(1), Read(1), Flush], commands: 2, faults: (1, &[Fault::Io]);
    "lost": ONE, mode: Mode::WriteAround, connections: 2, wants: &[WriteFua(0), Write(0), Flush, Read(0)],
        commands: 3, faults: (1, &[Fault::Flush]);
    "opened": ONE, mode: Mode::WriteAround, wants: &[Write(0), WriteFua(0), Connect, Flush], commands: 4,
        crashes: 0, faults: (1, &[Fault::Flush]), kills: true;
    "lost-back": ONE, wants: &[Write(0), Flush], commands: 3, faults: (1, &[Fault::Flush]);
    "gone": ONE, wants: &[Write(0), Read(0), Flush], commands: 3, faults: (1, &[Fault::SsdGone]);
    "gone-trim": ONE, wants: &[WriteFua(0), Trim(0)], commands: 3, tears: (false, false),
        faults: (1, &[Fault::SsdGone]);
    "flips": ONE, wants: &[Write(0), Read(0)], commands: 2, crashes: 0, faults: (1, &[Fault::Flip]),
        kills: true;
    "replaced": ONE, wants: &[Write(0), Flush, Replace], commands: 3;
    "taken-out": ONE, wants: &[WriteFua(0), Replace], commands: 3, tears: (false, false);
    "put-in": ONE, wants: &[WriteFua(0), Read(0), Replace], commands: 3, crashes: 0, kills: true;
    "replaced-gone": ONE, wants: &[WriteFua(0), Replace], commands: 3, tears: (false, false),
        faults: (1, &[Fault::SsdGone]);
    // (Blocks read before the first flush are not cached.)
    "put-in-read": TWO, wants: &[Read(1), Replace], commands: 3, tears: (false, false),
        faults: (1, &[Fault::SsdGone]), prelude: &[Flush, Read(0)];
    "grown": ONE, wants: &[Grow, WriteFua(1)], commands: 3, tears: (false, false);
    "band": BAND, slots: 2, frames: 4, blocks: 3, wants: &[Write(0), Write(2), Flush], commands: 3;
    "band-past": BAND, wants: &[Write(0), Write(1), WriteFua(1), Read(1)], commands: 3;
    "band-told": BAND, wants: &[Write(0), Trim(1), Read(1)], trim_passdown: true, commands: 3;
    "band-errors": BAND, wants: &[Write(1), Read(1)], commands: 2, faults: (1, &[Fault::Io]);
    "band-lost": BAND, wants: &[Write(0), WriteFua(1), Flush], commands: 3, faults: (1, &[Fault::Flush]),
        prelude: &[];
    "band-rest": BAND,
        wants: &[Write(0), Write(1), Mode(Mode::PassThrough), Mode(Mode::WriteBack), Swap, Drain, Replace, Stop],
        commands: 3;
    "two-tables": TWO_TABLES;
    "full-page": TWO_TABLES, slots: 253, frames: 256, blocks: 253, wants: &[WriteMany(0, 253), Flush],
        commands: 2, prelude: &[];
    // (Last: with five commands it uses the states that others leave.)
    "three": TWO, slots: 3, frames: 5, blocks: 4, journal_pages: 2, connections: 2,
        wants: &[Write(0), WriteMany(1, 3), Read(0), Trim(1), Flush], commands: 5, crashes: 2, kills: false,
        tears: (false, false);
};

/// The table has two pages, of which the first is full; new entries go to the second.
const TWO_TABLES: Scope = Scope {
    name: "two-tables",
    slots: 206,
    frames: 210,
    blocks: 206,
    journal_pages: 2,
    wants: &[WriteFua(0), WriteFua(205)],
    commands: 4,
    crashes: 1,
    kills: false,
    tears: (false, false),
    together: true,
    prelude: &[WriteMany(0, 206), Drain, Stop],
    ..Scope::PLAIN
};

/// Larger scopes for seeded bugs that the others do not have; the first steps are done in the
/// prelude.
const FOR_BUGS: &[Scope] = scopes! {
    "replaced-dirty": ONE, wants: &[WriteFua(0), Replace], commands: 2, tears: (false, false),
        faults: (1, &[Fault::SsdGone]), prelude: &[WriteFua(0)];
    // (This makes the disk flush.)
    "band-dirty": BAND, slots: 2, frames: 4, blocks: 3, wants: &[WriteFua(1)], commands: 1,
        prelude: &[WriteFua(0), WriteFua(2)];
    "band-lost-dirty": BAND, wants: &[WriteFua(1)], commands: 1, faults: (1, &[Fault::Flush]),
        prelude: &[WriteFua(0)];
    "two-tables-empty": ONE, frames: 210, wants: &[WriteFua(0)], commands: 2, tears: (false, false);
};

/// The scope with this name.
pub(crate) fn named(name: &str) -> Scope {
    *SCOPES.iter().chain(FOR_BUGS).find(|scope| scope.name == name).expect("a scope of this name")
}
