//! One zone, as a report tells it.

use shingle_core::units::{Block, Zone};

/// Condition of a zone (ZBC, clause "zone condition").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// No write pointer: writes anywhere (ZBC: NOT WRITE POINTER).
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
    /// It can be read and never be written again.
    ReadOnly,
    /// Neither read nor written.
    Offline,
}

impl Condition {
    /// All of them.
    pub const ALL: [Condition; 8] = [
        Condition::Conventional,
        Condition::Empty,
        Condition::ImplicitOpen,
        Condition::ExplicitOpen,
        Condition::Closed,
        Condition::Full,
        Condition::ReadOnly,
        Condition::Offline,
    ];

    /// Whether it takes a place among the open ones.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Condition::ImplicitOpen | Condition::ExplicitOpen)
    }

    /// Whether it takes a place among the active ones: begun, and not full.
    #[must_use]
    pub fn is_active(self) -> bool {
        self.is_open() || self == Condition::Closed
    }

    /// Whether it can never be written again.
    #[must_use]
    pub fn has_failed(self) -> bool {
        matches!(self, Condition::ReadOnly | Condition::Offline)
    }

    /// In a word, as tables and JSON have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Conventional => "conventional",
            Condition::Empty => "empty",
            Condition::ImplicitOpen => "implicit-open",
            Condition::ExplicitOpen => "explicit-open",
            Condition::Closed => "closed",
            Condition::Full => "full",
            Condition::ReadOnly => "read-only",
            Condition::Offline => "offline",
        }
    }
}

/// What a report says of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneReport {
    /// Which.
    pub zone: Zone,
    /// Its first block.
    pub first: Block,
    /// Blocks to the start of the next zone.
    pub blocks: u64,
    /// Blocks that can be written, from the first on.
    pub capacity_blocks: u64,
    /// Its condition.
    pub condition: Condition,
    /// The write pointer, in blocks from `first`. There is none in conventional zones, and in zones that are read-only
    /// or offline it means nothing (ZBC). In a full zone it is the end of what can be written.
    pub write_pointer: Option<u64>,
    /// How many bytes beyond `write_pointer` the pointer of the disk really is. 0, but where physical blocks are smaller
    /// than 4 KiB and a write was torn by a power cut. Such a zone takes no more blocks until it is reset.
    pub torn_bytes: u32,
}
