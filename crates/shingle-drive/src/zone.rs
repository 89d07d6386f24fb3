//! Zones as exposed to the host (ZBC/ZAC), and the error when a command breaks a rule of zones.

use shingle_core::units::{Block, Zone};
use std::fmt;

/// Bands exposed to the host as zones, and their rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exposed {
    /// Number of conventional zones, the first ones: written anywhere, without write pointer.
    pub conventional_zones: u32,
    /// Whether all other zones must be written in sequence: any other write is refused
    /// (host-managed, ZBC: sequential write required). Otherwise they take any write (host-aware,
    /// sequential write preferred).
    pub sequential_required: bool,
    /// Whether a read at or beyond a write pointer is served instead of refused (ZBC: URSWRZ).
    pub reads_beyond: bool,
    /// Most zones that can be open at a time; where sequence is only preferred, the number that
    /// should be (ZBC: maximum number of open sequential write required zones; optimal number of
    /// open sequential write preferred zones).
    pub open_zones: u32,
    /// Number of zones that a host should write non-sequentially at a time (ZBC: optimal number of
    /// non-sequentially written sequential write preferred zones). 0 where none may be.
    pub non_sequential_zones_advised: u32,
}

/// Condition of a zone (ZBC, clause "zone condition").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// No write pointer: writes anywhere.
    Conventional,
    /// Nothing written since the last reset.
    Empty,
    /// Opened by a write.
    ImplicitOpen,
    /// Opened by a command.
    ExplicitOpen,
    /// Partly written, not open.
    Closed,
    /// Written to the end, or finished.
    Full,
}

/// One zone of a zoned drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneInfo {
    /// First block.
    pub first: Block,
    /// Blocks in the zone.
    pub blocks: u64,
    /// Next writable block, relative to `first`. 0 in conventional zones.
    pub write_pointer: u64,
    /// End of the written data, relative to `first`: the write pointer, or further on where the
    /// drive's buffer holds blocks beyond it. The whole zone if conventional.
    pub data_end: u64,
    /// Whether the drive's buffer holds blocks of the zone (ZBC: non-sequential write resources
    /// active).
    pub non_sequential: bool,
    /// Condition.
    pub condition: Condition,
}

/// A rule of zones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A write begins at the write pointer (ZBC: unaligned write command).
    AtPointer,
    /// A write ends where its zone ends, or, begun in a conventional zone, where the last of these
    /// does (ZBC: write boundary violation).
    ZoneBoundary,
    /// A full zone takes no write until it is reset (ZBC: invalid field in CDB).
    ZoneFull,
    /// A zone can be opened, by a command or a write, unless as many as allowed are open explicitly
    /// (ZBC: insufficient zone resources).
    TooManyOpen,
    /// Only a zone with a write pointer can be appended to, opened, closed, finished or reset (ZBC:
    /// invalid field in CDB).
    Conventional,
    /// Where URSWRZ is 0, a read ends at the write pointer (ZBC: attempt to read invalid data).
    ReadBeyond,
}

/// The refusal of a command by a zoned drive: the rule, and where it was broken. Displays as one
/// line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The rule.
    pub rule: Rule,
    /// The zone.
    pub zone: Zone,
    /// First block of the command; of one that names a zone only, the first block of that.
    pub block: Block,
    /// The write pointer: the next writable block. The first block of a conventional zone.
    pub write_pointer: Block,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { rule, zone: Zone(zone), block: Block(block), write_pointer: Block(next) } =
            *self;
        write!(f, "zone {zone}, block {block}, write pointer {next}: ")?;
        f.write_str(match rule {
            Rule::AtPointer => "a write must begin at the write pointer; write there, or reset",
            Rule::ZoneBoundary => "a write may not go over the end of its zone; cut it there",
            Rule::ZoneFull => "a full zone takes no write; reset it first",
            Rule::TooManyOpen => {
                "as many zones as can be open were opened by command; close or finish one"
            }
            Rule::Conventional => {
                "a conventional zone has no write pointer to append at or to move; write in place"
            }
            Rule::ReadBeyond => {
                "a read may not go beyond the write pointer (URSWRZ is 0); read what was written"
            }
        })
    }
}

impl std::error::Error for Refused {}
