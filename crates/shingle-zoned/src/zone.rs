//! The state of one zone in a report.

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
    /// Can be read, but never written again.
    ReadOnly,
    /// Can neither be read nor written.
    Offline,
}

impl Condition {
    /// All conditions.
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

    /// Whether it counts towards the limit of open zones.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Condition::ImplicitOpen | Condition::ExplicitOpen)
    }

    /// Whether it counts towards the limit of active zones: begun, and not full.
    #[must_use]
    pub fn is_active(self) -> bool {
        self.is_open() || self == Condition::Closed
    }

    /// Whether it can never be written again.
    #[must_use]
    pub fn has_failed(self) -> bool {
        matches!(self, Condition::ReadOnly | Condition::Offline)
    }

    /// The name in tables and JSON.
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

/// The report of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneReport {
    /// The zone.
    pub zone: Zone,
    /// Its first block.
    pub first: Block,
    /// The number of blocks to the start of the next zone.
    pub blocks: u64,
    /// The number of blocks that can be written, from the first one on.
    pub capacity_blocks: u64,
    /// Its condition.
    pub condition: Condition,
    /// The write pointer, in blocks from `first`. Conventional zones have none, and in read-only or offline zones it has
    /// no meaning (ZBC). In a full zone it is the end of the capacity.
    pub write_pointer: Option<u64>,
    /// How many bytes beyond `write_pointer` the real pointer of the disk is. 0, except where physical blocks are smaller
    /// than 4 KiB and a power cut has torn a write. Such a zone cannot be written until it is reset.
    pub torn_bytes: u32,
}
