//! The seam between a cache and what it writes to: I/O in, time out.

pub use crate::translating::Translating;
pub use crate::wear::{RegionWear, Wear};
pub use crate::zoned::{Condition, Exposed, Refused, Rule, ZoneInfo, Zoned};
pub use shingle_core::slots::Costs;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_core::zones::ZoneMap;

use crate::steps::Step;

/// Identifies one written version of a block. Checking runs hand a stamp a block to every write and
/// compare what reads return; a block never written reads as 0.
pub type Stamp = u64;

/// One I/O: a run of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// What it does.
    pub op: Op,
    /// First block.
    pub block: Block,
    /// How many blocks. 0 only for [`Op::Flush`].
    pub count: u64,
}

/// When an I/O was done, and where its time went. The spans add up to `done - start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// Completion.
    pub done: Nanos,
    /// Command processing and the bus.
    pub command: Nanos,
    /// Arm movement, head switches and settling.
    pub seek: Nanos,
    /// Waiting for the platter.
    pub rotation: Nanos,
    /// Media or flash transfer; under cost timing the whole service time.
    pub transfer: Nanos,
    /// Waiting for cleaning that had to be done first.
    pub clean: Nanos,
    /// Waiting for I/O served before, in a drive with queues of its own ([`Drive::queues`]).
    pub wait: Nanos,
}

impl Served {
    /// Adds what was served next, from where this ends. All of it counts as cleaning if `cleans`.
    pub fn then(&mut self, next: &Served, cleans: bool) {
        if cleans {
            self.clean += next.done.since(self.done);
        } else {
            self.command += next.command;
            self.seek += next.seek;
            self.rotation += next.rotation;
            self.transfer += next.transfer;
            self.clean += next.clean;
            self.wait += next.wait;
        }
        self.done = next.done;
    }

    /// Adds a time without a head: all of it counts as transfer.
    pub(crate) fn spend(&mut self, time: Nanos) {
        self.transfer += time;
        self.done += time;
    }
}

/// What a drive has done so far. Blocks and bytes of the host's own data unless said otherwise.
/// All counters only grow; a difference of two snapshots is a count of what lay between.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks the host read.
    pub read_blocks: u64,
    /// Blocks the host wrote.
    pub written_blocks: u64,
    /// Blocks read from the buffer on behalf of the host.
    pub buffer_read_blocks: u64,
    /// Blocks read from their native place on behalf of the host.
    pub native_read_blocks: u64,
    /// Blocks the host wrote into the buffer.
    pub buffer_written_blocks: u64,
    /// Of these, blocks of which the buffer already held an older copy.
    pub buffer_write_hits: u64,
    /// Live blocks that cleaning moved from the buffer to bands.
    pub buffer_evicted_blocks: u64,
    /// Live blocks that left the buffer otherwise: trimmed, or their whole band was written in order
    /// to its native place. Every block written into the buffer is live, or counted in one of
    /// `buffer_write_hits`, `buffer_evicted_blocks` and this.
    pub buffer_released_blocks: u64,
    /// Bands cleaned after their native data had been read.
    pub rmw: u64,
    /// Bands cleaned without reading native data, because the buffer held all of it.
    pub rmw_free: u64,
    /// Of all cleanings, those of a band last cleaned less than one buffer of evicted blocks ago
    /// (SAC §3, truncated fragmentation).
    pub truncated: u64,
    /// Native bytes read by cleaning.
    pub rmw_read_bytes: u64,
    /// Bytes written to bands by cleaning.
    pub band_bytes_written: u64,
    /// Bytes written straight to their native place on behalf of the host: sequential bands of a
    /// drive-managed disk, every write of a conventional disk.
    pub native_bytes_written: u64,
    /// Bytes written to the buffer, headers, padding, journal and staging included.
    pub log_bytes_written: u64,
    /// Live blocks that the buffer's own garbage collection moved within it.
    pub buffer_moved_blocks: u64,
    /// Blocks that nobody wrote, made up by cleaning to fill gaps below a new write pointer.
    pub synthesized_blocks: u64,
    /// Blocks the host read at or beyond a write pointer that nobody had written: the drive makes
    /// them up.
    pub beyond_pointer_blocks: u64,
    /// Zones that the host reset.
    pub zone_resets: u64,
    /// Open zones that the drive closed to open others.
    pub zone_closes: u64,
    /// Flash pages programmed, for the host and by garbage collection.
    pub pages_programmed: u64,
    /// Of these, those that garbage collection copied.
    pub pages_copied: u64,
    /// Flash blocks erased.
    pub flash_blocks_erased: u64,
    /// Flash inside a disk: blocks the host wrote that went to the flash.
    pub flash_written_blocks: u64,
    /// Flash inside a disk: blocks read from it (or from memory) on behalf of the host.
    pub flash_read_blocks: u64,
    /// Flash inside a disk: blocks written back from it to the disk.
    pub flash_evicted_blocks: u64,
    /// Flash inside a disk: erase blocks whose valid pages moved to another region.
    pub flash_blocks_migrated: u64,
    /// Of `pages_copied`, those that moved to another region so.
    pub pages_migrated: u64,
    /// Time spent on host reads, cleaning apart.
    pub read_time: Nanos,
    /// Time spent on writing the host's data to the buffer.
    pub log_time: Nanos,
    /// Time spent on writing the host's data to its native place.
    pub write_time: Nanos,
    /// Cleaning that made the host wait.
    pub clean_time: Nanos,
    /// Cleaning in idle time.
    pub idle_clean_time: Nanos,
}

/// What was counted since.
impl core::ops::Sub for Counters {
    type Output = Counters;

    fn sub(self, before: Counters) -> Counters {
        macro_rules! each {
            ($($count:ident)*; $($time:ident)*) => {
                Counters {
                    // Over a translation this is a balance of others, and may fall.
                    buffer_released_blocks: self
                        .buffer_released_blocks
                        .saturating_sub(before.buffer_released_blocks),
                    $($count: self.$count - before.$count,)*
                    $($time: self.$time.since(before.$time),)*
                }
            };
        }
        each!(
            read_blocks written_blocks buffer_read_blocks native_read_blocks buffer_written_blocks
            buffer_write_hits buffer_evicted_blocks rmw rmw_free truncated
            rmw_read_bytes band_bytes_written native_bytes_written log_bytes_written
            buffer_moved_blocks synthesized_blocks beyond_pointer_blocks zone_resets zone_closes
            pages_programmed pages_copied flash_blocks_erased flash_written_blocks
            flash_read_blocks flash_evicted_blocks flash_blocks_migrated pages_migrated;
            read_time log_time write_time clean_time idle_clean_time
        )
    }
}

impl Counters {
    /// Counts an I/O of a drive without a buffer, and the time it took; trims and flushes as writes.
    pub(crate) fn native(&mut self, io: &Io, took: Nanos) {
        match io.op {
            Op::Read => {
                self.read_blocks += io.count;
                self.native_read_blocks += io.count;
                self.read_time += took;
            }
            Op::Write => {
                self.written_blocks += io.count;
                self.native_bytes_written += io.count * BLOCK_BYTES;
                self.write_time += took;
            }
            Op::Trim | Op::Flush => self.write_time += took,
        }
    }
}

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
    /// A block takes the same time wherever it lies and whatever came before, so that an executor
    /// may serve several that are not neighbours as one I/O.
    pub uniform: bool,
    /// How many I/Os the drive can work at side by side, if it queues by itself
    /// ([`Drive::queues`]). 1 for every disk.
    pub channels: u32,
    /// Time that the drive takes more for a write that was queued with others (SAC Table 3 against
    /// one at a time). [`Drive::serve`] does not know of it: an executor that keeps several I/Os
    /// under way adds it. Zero for drives of which it is not known.
    pub queued_command: Nanos,
}

/// Serves one I/O at a time, in virtual time, and tells how long it took and why.
///
/// The caller guarantees that `now` never goes back and is not before the last completion (neither
/// holds for a drive with queues of its own, [`Drive::queues`]), that I/O lies within the drive, and
/// that `data` is empty or has a stamp for each block.
/// An implementer is deterministic: no clock, no randomness but a seed it was made with.
pub trait Drive: Send {
    /// Serves `io`, starting at `now`. What a drive may refuse ([`Zoned::try_serve`]) is a mistake of
    /// the caller here, and asserted. Checking runs pass `data`: the stamps to write, or room for
    /// the stamps read; all others pass an empty slice.
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served;

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

    /// Whether [`Drive::announce`] is of use to it.
    fn listens(&self) -> bool {
        false
    }

    /// Requests to come, from an executor that knows them and passes them on as they are, so that
    /// what cleans can tell what waits (Amphisbaena §5.3). Of those announced before, the first
    /// `begun` have come to be served; `coming` follow behind the rest, in the order of their times.
    /// I/O that belongs to no announced request may come in between.
    fn announce(&mut self, begun: usize, coming: &[Request]) {
        let _ = (begun, coming);
    }

    /// The zones, of a drive that exposes them ([`Description::exposed`]).
    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        None
    }

    /// Whether I/O waits within the drive for those parts of it that it needs. In open loop an
    /// executor then hands over each I/O when it is ready, whatever is under way, and `now` may go
    /// back; what the I/O waited for is [`Served::wait`].
    fn queues(&self) -> bool {
        false
    }

    /// Has the drive remember its steps from now on; every I/O has to carry stamps then. Returns whether
    /// it can.
    fn tell_steps(&mut self) -> bool {
        false
    }

    /// Moves the steps since the last call into `steps`.
    fn take_steps(&mut self, steps: &mut Vec<Step>) {
        let _ = steps;
    }

    /// What the drive has done so far.
    fn counters(&self) -> &Counters;

    /// What the buffer holds now.
    fn buffer(&self) -> BufferState {
        BufferState::default()
    }

    /// How many blocks the host had written when the oldest block that is still in the buffer
    /// arrived; all blocks ever written if the buffer is empty. Not known to a real host: only
    /// `sac.rule4=exact` asks.
    fn buffer_horizon(&self) -> u64 {
        self.counters().written_blocks
    }

    /// How worn its flash is, if it models that.
    fn wear(&self) -> Option<Wear> {
        None
    }

    /// What the translation has done, if it is one over a zoned drive.
    fn translating(&self) -> Option<Translating> {
        None
    }

    /// What a host may know.
    fn description(&self) -> &Description;

    /// A copy in the same state, for `what if` questions such as draining.
    fn copy(&self) -> Box<dyn Drive>;

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self) {}
}
