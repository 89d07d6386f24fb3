//! The interface between a translation and its [`Executor`](crate::Executor).

mod saved;
mod step;

use std::ops::Range;

pub use self::saved::{Saved, SavedMap};
pub(crate) use self::saved::{lies, refusal};
pub use self::step::{Piece, Place, Step};
use shingle_core::params::{Param, Params};
use shingle_core::units::{Block, Zone};

/// The parts of the disk that a translation uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Blocks in a zone; all zones are equal.
    pub zone_blocks: u64,
    /// Blocks of the buffer, at the start of the conventional zones. At least one.
    pub buffer_blocks: u64,
    /// Sequential zones. All are empty at first.
    pub zones: u32,
}

/// A unit of work for a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The host writes `count` blocks from `block` on.
    Write {
        /// The first of them.
        block: Block,
        /// How many.
        count: u64,
    },
    /// The host trims blocks: they may read as anything, and are best dropped.
    Trim {
        /// The first of them.
        block: Block,
        /// How many.
        count: u64,
    },
    /// A piece of the work that a translation does in idle time.
    Idle,
    /// Move everything in the buffer to the zones.
    Drain,
}

impl Work {
    /// Returns the blocks that the host writes.
    #[must_use]
    pub fn writes(self) -> Range<u64> {
        match self {
            Work::Write { block, count } => block.0..block.0 + count,
            Work::Trim { .. } | Work::Idle | Work::Drain => 0..0,
        }
    }
}

/// The host's requests that wait until the current work is done.
pub trait Queue {
    /// Returns whether a write waits for which `hits` is true; it gets the first block and the
    /// count.
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool;

    /// Returns whether anything waits.
    fn waits(&self) -> bool;
}

/// An empty queue.
#[derive(Clone, Copy, Debug)]
pub struct NoQueue;

impl Queue for NoQueue {
    fn writes(&self, _: &dyn Fn(Block, u64) -> bool) -> bool {
        false
    }
    fn waits(&self) -> bool {
        false
    }
}

/// The totals of a translation. All only grow, except for the state at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks that the host wrote.
    pub written_blocks: u64,
    /// Of these, those that updated a block in the buffer (Amphisbaena §6.2 "write hits"), or, where
    /// the buffer is a log, had a live copy there.
    pub write_hits: u64,
    /// Of `write_hits`, those in a buffer for hot blocks (Amphisbaena's HFB).
    pub hot_hits: u64,
    /// Zones written back for which native blocks had to be read and rewritten.
    pub rmw: u64,
    /// Zones written back by appending only.
    pub rmw_free: u64,
    /// Live blocks that left the buffer for zones.
    pub evicted_blocks: u64,
    /// Cleanings of the buffer, or of zones where there is none: each frees room once.
    pub cleanings: u64,
    /// Zones written back ("victims"); `rmw + rmw_free`, unless one is given up.
    pub victims: u64,
    /// Victims whose collection stopped early because a write for them waited.
    pub aborted: u64,
    /// Blocks read from one place of the buffer, or from a zone, and written to another place of the
    /// buffer; or from one zone to another, where there is no buffer.
    pub moved_blocks: u64,
    /// Chunks that the buffer for hot blocks gained by reallocation.
    pub chunks_to_hot: u64,
    /// Chunks that it gave back.
    pub chunks_to_cold: u64,
}

/// The state of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferState {
    /// Live blocks.
    pub blocks: u64,
    /// Zones that own them.
    pub zones: u64,
    /// Blocks of the buffer in use, live or not: with `free` it adds up to the layout's, or to 0 for a
    /// translation without a buffer.
    pub used: u64,
    /// Blocks of the buffer not in use.
    pub free: u64,
}

/// Decides where blocks of a host-managed disk are stored and what is cleaned next.
///
/// The executor begins a work and asks for steps until there is none. It carries each out before it
/// asks for the next, and begins no work while another is in progress. [`Make::new`] allocates all
/// memory except for what grows with the zones touched. A translation never blocks, fails, draws a
/// random number without a seed or reads a clock.
pub trait Translation: Send {
    /// Returns the blocks that the host may address, at most `zones * zone_blocks`.
    fn blocks(&self) -> u64;

    /// Appends the places of the newest copies of `count` blocks from `block` on to `out`, in
    /// order, neighbours joined. Called between works, and before the step that follows a
    /// [`Step::Commit`]: then it is the map that has become durable.
    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>);

    /// Begins a work.
    fn begin(&mut self, work: Work);

    /// Returns the next step of the current work; `None` when it is done. Every earlier step has
    /// been carried out, or will be, together with this one if the two are one I/O, before the step
    /// after it is asked for.
    fn next(&mut self, queue: &dyn Queue) -> Option<Step>;

    /// Returns whether [`Work::Idle`] has something to do.
    fn wants_idle(&self) -> bool {
        false
    }

    /// Returns the most zones that it appends to in turn: with a lower limit on active zones, each
    /// turn would copy one.
    fn open_zones(&self) -> u32 {
        1
    }

    /// Returns the totals.
    fn counters(&self) -> &Counters;

    /// Returns the state of the buffer.
    fn buffer_state(&self) -> BufferState;

    /// Returns the write pointer of a sequential zone, in blocks from its start, as the translation
    /// knows it.
    fn write_pointer(&self, zone: Zone) -> u64;

    /// Returns the bytes of memory used in all.
    fn memory_bytes(&self) -> u64;

    /// Returns a copy in the same state.
    fn copy(&self) -> Box<dyn Translation>;

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self) {}
}

/// Creation of a translation.
pub trait Make: Translation + Sized + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// Its parameters.
    const PARAMS: &'static [Param] = &[];
    /// Whether durable data survives a power cut after any step. If not, a zone that is read, reset
    /// and rewritten is lost between the reset and the last append of the same blocks, as in the
    /// papers, and only then.
    const SURVIVES_POWER_CUTS: bool = false;
    /// Whether host writes go to the buffer of the layout.
    const HAS_BUFFER: bool = true;

    /// Creates it over an empty buffer and empty zones.
    ///
    /// # Errors
    /// If the layout is too small for it, in one line that says what it needs.
    fn new(params: &Params, layout: Layout) -> Result<Self, String>;

    /// Creates it over a disk that another instance, with the same parameters and layout, has
    /// written, from a map of that one that was durable. This may be the map at a [`Step::Commit`],
    /// in the middle of a work that was never finished.
    ///
    /// Only places and write pointers are saved. Orders, heat, roles and histories are derived from
    /// these as far as possible: each translation says how. No read ever depends on them. Places
    /// that the map does not name are garbage, in the buffer or below a write pointer: they are
    /// reused, after a reset where needed.
    ///
    /// # Errors
    /// If the layout is too small, as for [`Make::new`], and if this cannot be a map of such a
    /// translation: a block or place that does not exist, two blocks in one place, a block at or
    /// above its zone's write pointer or where this translation would not put it. In one line that
    /// names block and place.
    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String>;
}
