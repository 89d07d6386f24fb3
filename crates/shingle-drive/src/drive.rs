//! The seams: what a drive is asked, what a drive with zones is asked beside that, and what a host may
//! know of either.

use crate::counters::Counters;
use crate::io::{Io, Served, Stamp};
use crate::steps::StepLog;
use crate::wear::Wear;
use crate::zone::{Exposed, Refused, ZoneInfo};
use shingle_core::drive_view::{Costs, InOrder};
use shingle_core::units::{Block, Nanos, Zone};
use shingle_core::zones::ZoneMap;

/// What the buffer of a drive holds now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferState {
    /// Live blocks.
    pub blocks: u64,
    /// Blocks that the drive holds in its memory until it is known whether they fill a band in order:
    /// written by the host, and neither in the buffer nor in a band yet.
    pub held_blocks: u64,
    /// Bands that own the live blocks.
    pub bands: u64,
    /// Live map entries.
    pub extents: u64,
    /// Log bytes not yet released.
    pub log_bytes: u64,
    /// The buffer has been full since the drive was made.
    pub was_full: bool,
    /// How many blocks the host had written when the oldest block that is still in the buffer arrived.
    /// `None` if nothing is in the buffer, or its age is not known. No real host is told.
    pub oldest: Option<u64>,
}

impl BufferState {
    /// Blocks that are not in their bands yet: in the buffer, or held in memory before it.
    #[must_use]
    pub fn pending_blocks(&self) -> u64 {
        self.blocks + self.held_blocks
    }
}

/// What a host may know of a drive.
#[derive(Clone, Debug)]
pub struct Description {
    /// Size in blocks.
    pub disk_blocks: u64,
    /// The true bands, for policies and tables that are allowed to know them. Conventional disks
    /// have none.
    pub bands: Option<ZoneMap>,
    /// Blocks that fit into the buffer when each is written by itself; 0 if there is no buffer.
    pub buffer_blocks: u64,
    /// How the bands show to the host as zones; `None` if they do not.
    pub exposed: Option<Exposed>,
    /// Costs to plan with: those measured on the drive as built ([`crate::measure`]), or under cost
    /// timing the papers'.
    pub costs: Costs,
    /// How it takes writes in order.
    pub in_order: InOrder,
    /// A block takes the same time wherever it lies and whatever came before, so that an executor
    /// may serve several that are not neighbours as one I/O.
    pub uniform: bool,
    /// How many I/Os a drive works at side by side whose I/O waits within it for the parts of it that it
    /// needs. In open loop an executor then hands over each I/O when it is ready, whatever is under way,
    /// and `now` may go back; what the I/O waited for is [`Served::wait`]. `None` for every disk: it
    /// takes one at a time.
    pub channels: Option<u32>,
    /// Time that the drive takes more for a write that was queued with others (SAC Table 3 against
    /// one at a time). [`Drive::serve`] does not know of it: an executor that keeps several I/Os
    /// under way adds it. Zero for drives of which it is not known.
    pub queued_command: Nanos,
}

impl Description {
    /// Of a disk that writes in place: without bands and without a buffer.
    #[must_use]
    pub fn new(disk_blocks: u64, costs: Costs) -> Description {
        Description {
            disk_blocks,
            bands: None,
            buffer_blocks: 0,
            exposed: None,
            costs,
            in_order: InOrder::default(),
            uniform: false,
            channels: None,
            queued_command: Nanos::ZERO,
        }
    }
}

/// Serves one I/O at a time, in virtual time, and tells how long it took and why.
///
/// The caller guarantees that `now` never goes back and is not before the last completion (neither
/// holds for a drive that queues by itself, [`Description::channels`]), that I/O lies within the drive,
/// and that `data` is empty or has a stamp for each block.
/// An implementer is deterministic: no clock, no randomness but a seed it was made with.
pub trait Drive: Send {
    /// Serves `io`, starting at `now`. What a drive may refuse ([`Zoned::try_serve`]) is a mistake of
    /// the caller here, and asserted. Checking runs pass `data`: the stamps to write, or room for
    /// the stamps read; all others pass an empty slice.
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served;

    /// I/O of `block` is likely to come soon: has the memory bring what it will look up. It changes nothing.
    fn prefetch(&self, block: Block) {
        let _ = block;
    }

    /// One step of background work of a drive that has been idle since `idle_since`, started at
    /// `now`. Returns when the step ends; `None` when there is nothing to do (yet). `pending` is
    /// what has arrived meanwhile and waits: a drive may give way to it. A step once begun is
    /// finished, so I/O that arrives in it waits for its end.
    fn background(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        let _ = (now, idle_since, pending);
        None
    }

    /// The earliest time at which [`Drive::background`] has something to do for a drive idle since
    /// `idle_since`, if nothing arrives meanwhile; `None` for never. An executor with idle time to
    /// give calls `background` then, and again at the end of each step, until it answers `None`.
    fn background_from(&self, idle_since: Nanos) -> Option<Nanos> {
        let _ = idle_since;
        None
    }

    /// Does all work left undone, from `now` on: empties the buffer. Returns when that is done.
    fn drain(&mut self, now: Nanos) -> Nanos {
        now
    }

    /// The zones, of a drive that exposes them ([`Description::exposed`]).
    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        None
    }

    /// What it does inside, of a model that can tell somebody who does it on a real disk.
    fn steps(&mut self) -> Option<&mut StepLog> {
        None
    }

    /// What the drive has done so far.
    fn counters(&self) -> &Counters;

    /// What the buffer holds now.
    fn buffer(&self) -> BufferState {
        BufferState::default()
    }

    /// How worn its flash is, if it models that.
    fn wear(&self) -> Option<Wear> {
        None
    }

    /// What a host may know.
    fn description(&self) -> &Description;

    /// A copy in the same state, for `what if` questions such as draining.
    fn copy(&self) -> Box<dyn Drive>;

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self) {}
}

/// A drive whose zones have write pointers. What it refuses has changed nothing and taken no time.
pub trait Zoned: Drive {
    /// A zone whose write pointer has moved since it was last named here; `None` when all have been
    /// named. So a host need not report all zones to know them.
    fn moved(&mut self) -> Option<Zone>;

    /// State of a zone.
    fn zone(&self, zone: Zone) -> ZoneInfo;

    /// [`Drive::serve`] for I/O that may break a rule. A drive that takes any I/O need not implement
    /// it.
    ///
    /// # Errors
    /// Says which rule of the zone forbids it.
    fn try_serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Result<Served, Refused> {
        Ok(self.serve(now, io, data))
    }

    /// Writes `count` blocks at the write pointer. Returns the first block written.
    ///
    /// # Errors
    /// Says which rule of the zone forbids it.
    fn append(
        &mut self,
        now: Nanos,
        zone: Zone,
        count: u64,
        data: &mut [Stamp],
    ) -> Result<(Block, Served), Refused>;

    /// Opens a zone until it is full, closed, finished or reset: no write to another closes it. A
    /// full zone stays as it is.
    ///
    /// # Errors
    /// If the zone is conventional, or all that can be open were opened so.
    fn open(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Closes a zone if it is open.
    ///
    /// # Errors
    /// If the zone is conventional.
    fn close(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Moves the write pointer to the end of the zone; what was not written reads as zeros.
    ///
    /// # Errors
    /// If the zone is conventional; or if it is not open, and all that can be open were opened by
    /// commands.
    fn finish(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Moves the write pointer back to the start; the data is gone, wherever the drive keeps it.
    ///
    /// # Errors
    /// If the zone is conventional.
    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;
}
