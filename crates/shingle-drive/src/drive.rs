//! The interfaces: of drives, of drives with zones, and what a host may know of either.

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
    /// Blocks held in the drive's memory until it is known whether they fill a band in order:
    /// written by the host, but neither in the buffer nor in a band yet.
    pub held_blocks: u64,
    /// Bands that own the live blocks.
    pub bands: u64,
    /// Live map entries.
    pub extents: u64,
    /// Log bytes not yet released.
    pub log_bytes: u64,
    /// Whether the buffer has been full since the drive was made.
    pub was_full: bool,
    /// Number of blocks that the host had written when the oldest block still in the buffer
    /// arrived. `None` if nothing is in the buffer, or the age is not known. A real host does not
    /// know it.
    pub oldest: Option<u64>,
}

impl BufferState {
    /// Returns the blocks that are not in their bands yet: in the buffer, or held in memory before
    /// it.
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
    /// The true bands, for policies and tables that may know them. Conventional disks have none.
    pub bands: Option<ZoneMap>,
    /// Blocks that fit into the buffer when each is written by itself; 0 without a buffer.
    pub buffer_blocks: u64,
    /// How the bands are exposed to the host as zones; `None` if they are not.
    pub exposed: Option<Exposed>,
    /// Costs to plan with: measured on the drive as built ([`crate::measure`]), or under cost
    /// timing those of the papers.
    pub costs: Costs,
    /// Its handling of in-order writes.
    pub in_order: InOrder,
    /// The time of a block, if it is the same wherever it lies and whatever came before. An
    /// executor may then count blocks, and need not ask the drive ([`Counters::count_anywhere`]).
    pub uniform: Option<Nanos>,
    /// Number of I/Os that a drive serves in parallel, if it queues by itself. In open loop an
    /// executor then submits each I/O when it is ready, whatever is in flight, and `now` may go
    /// back; the time that the I/O waited is [`Served::wait`]. `None` for every disk, which serves
    /// one at a time.
    pub channels: Option<u32>,
    /// Additional time of a write that was queued with others (SAC Table 3 against one at a time).
    /// [`Drive::serve`] does not include it: an executor that keeps several I/Os in flight adds it.
    /// Zero if not known.
    pub queued_command: Nanos,
}

impl Description {
    /// Describes a disk that writes in place: without bands and without a buffer.
    #[must_use]
    pub fn new(disk_blocks: u64, costs: Costs) -> Description {
        Description {
            disk_blocks,
            bands: None,
            buffer_blocks: 0,
            exposed: None,
            costs,
            in_order: InOrder::default(),
            uniform: None,
            channels: None,
            queued_command: Nanos::ZERO,
        }
    }
}

/// Serves one I/O at a time, in virtual time, and reports how long it took and why.
///
/// The caller guarantees that `now` never goes back and is not before the last completion (neither
/// holds for a drive that queues by itself, [`Description::channels`]), that I/O lies within the drive,
/// and that `data` is empty or has a stamp for each block.
/// An implementer is deterministic: no clock, no randomness but a seed it was made with.
pub trait Drive: Send {
    /// Serves `io`, starting at `now`. I/O that a drive may refuse ([`Zoned::try_serve`]) is a bug
    /// of the caller here, and asserted. Checked runs pass `data`: the stamps to write, or room for
    /// the stamps read. All others pass an empty slice.
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served;

    /// Prefetches what the lookup of `block` reads, because I/O of it is likely soon. The state
    /// does not change.
    fn prefetch(&self, block: Block) {
        let _ = block;
    }

    /// Does one step of background work of a drive that has been idle since `idle_since`, starting
    /// at `now`. Returns when the step ends; `None` if there is nothing to do (yet). `pending` is
    /// the I/O that has arrived meanwhile and waits: a drive may give way to it. A step that began
    /// is finished, so I/O that arrives during it waits for its end.
    fn background(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        let _ = (now, idle_since, pending);
        None
    }

    /// Returns the earliest time at which [`Drive::background`] has something to do for a drive
    /// idle since `idle_since`, if nothing arrives meanwhile; `None` for never. An executor with
    /// idle time calls `background` then, and again at the end of each step, until it returns
    /// `None`.
    fn background_from(&self, idle_since: Nanos) -> Option<Nanos> {
        let _ = idle_since;
        None
    }

    /// Does all remaining work, from `now` on: empties the buffer. Returns when that is done.
    fn drain(&mut self, now: Nanos) -> Nanos {
        now
    }

    /// Returns the zones, if the drive exposes them ([`Description::exposed`]).
    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        None
    }

    /// Returns the log of its internal steps, if the model has one, for carrying them out on a real
    /// disk.
    fn steps(&mut self) -> Option<&mut StepLog> {
        None
    }

    /// Returns the counters.
    fn counters(&self) -> &Counters;

    /// Returns the state of the buffer.
    fn buffer(&self) -> BufferState {
        BufferState::default()
    }

    /// Returns the wear of its flash, if it models it.
    fn wear(&self) -> Option<Wear> {
        None
    }

    /// Returns what a host may know.
    fn description(&self) -> &Description;

    /// Returns a copy in the same state, for what-if questions such as draining.
    fn copy(&self) -> Box<dyn Drive>;

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self) {}
}

/// A drive whose zones have write pointers. A refused command changes nothing and takes no time.
pub trait Zoned: Drive {
    /// Returns a zone whose write pointer has moved since it was last returned here; `None` when
    /// there is no other. So a host need not report all zones to know them.
    fn moved(&mut self) -> Option<Zone>;

    /// Returns the state of a zone.
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

    /// Opens a zone explicitly: until it is full, closed, finished or reset, a write to another
    /// zone does not close it. A full zone stays full.
    ///
    /// # Errors
    /// If the zone is conventional, or as many zones as allowed are open explicitly.
    fn open(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Closes a zone if it is open.
    ///
    /// # Errors
    /// If the zone is conventional.
    fn close(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Moves the write pointer to the end of the zone; blocks not written read as zeros.
    ///
    /// # Errors
    /// If the zone is conventional; or if it is not open, and all that can be open were opened by
    /// commands.
    fn finish(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;

    /// Moves the write pointer back to the start; the data is discarded, wherever the drive keeps
    /// it.
    ///
    /// # Errors
    /// If the zone is conventional.
    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused>;
}
