//! Units as types: a count of blocks, slots or nanoseconds has its own type.

use core::fmt;

/// Bytes in a [`Block`], the unit of caching and mapping.
pub const BLOCK_BYTES: u64 = 4096;

/// Bytes of a sector, the unit of addresses in most traces and commands.
pub const SECTOR_BYTES: u64 = 512;

/// Largest disk, in bytes (64 PiB): so that zone numbers fit 32 bits.
pub const DISK_BYTES_MAX: u64 = 1 << 56;

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// A 4 KiB block of the disk, counted from the start of the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Block(pub u64);

impl Block {
    /// Returns the block `count` blocks further on.
    #[must_use]
    pub fn after(self, count: u64) -> Block {
        Block(self.0 + count)
    }

    /// Returns the byte offset of the block on the disk.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0 * BLOCK_BYTES
    }
}

/// Place of one block in the cache, dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// No slot: the end of a list.
    pub const NONE: Slot = Slot(u32::MAX);

    /// Returns the slot as an index into a vector.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns `None` for [`Slot::NONE`].
    #[must_use]
    pub fn some(self) -> Option<Slot> {
        (self != Slot::NONE).then_some(self)
    }
}

/// A zone of the disk: a unit the disk exposes, or a host's fixed-size guess at a band.
/// Inside a drive the same type numbers bands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Zone(pub u32);

impl Zone {
    /// Returns the zone as an index into a vector.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A point in virtual time, or a span of it, in nanoseconds. A run starts at zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of a run, and the empty span.
    pub const ZERO: Nanos = Nanos(0);
    /// A time that no run reaches.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }

    /// A span of whole milliseconds, saturated.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// Returns seconds, for reports; never for decisions.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the span from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at the longest span.
impl From<core::time::Duration> for Nanos {
    fn from(span: core::time::Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl core::ops::Add for Nanos {
    type Output = Nanos;
    fn add(self, span: Nanos) -> Nanos {
        Nanos(self.0 + span.0)
    }
}

impl core::ops::AddAssign for Nanos {
    fn add_assign(&mut self, span: Nanos) {
        self.0 += span.0;
    }
}

impl core::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(spans: I) -> Nanos {
        Nanos(spans.map(|span| span.0).sum())
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

/// The operation of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Op {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// The data is no longer needed: cached blocks are dropped, not destaged.
    Trim,
    /// Data written before must survive a power cut.
    Flush,
}

/// One request of the host, as the trace or the client gave it: in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Arrival time since the first request of the trace.
    pub at: Nanos,
    /// First byte on the disk. 0 for [`Op::Flush`].
    pub offset: u64,
    /// Length in bytes. 0 only for [`Op::Flush`].
    pub bytes: u64,
    /// The operation.
    pub op: Op,
}

impl Request {
    /// Returns the first block touched.
    #[must_use]
    pub fn first(&self) -> Block {
        Block(self.offset / BLOCK_BYTES)
    }

    /// Returns the number of blocks touched, wholly or in part. The source guarantees that `offset
    /// + bytes` fits.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        if self.bytes == 0 {
            return 0;
        }
        (self.offset + self.bytes - 1) / BLOCK_BYTES - self.offset / BLOCK_BYTES + 1
    }

    /// Returns the first block that is wholly covered, and the number of such blocks.
    #[must_use]
    pub fn whole_blocks(&self) -> (Block, u64) {
        let first = self.offset.div_ceil(BLOCK_BYTES);
        (Block(first), ((self.offset + self.bytes) / BLOCK_BYTES).saturating_sub(first))
    }

    /// Returns whether all blocks are touched wholly.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        (self.offset | self.bytes).is_multiple_of(BLOCK_BYTES)
    }

    /// Returns whether `block` is touched only in part.
    #[must_use]
    pub fn partial(&self, block: Block) -> bool {
        block.bytes() < self.offset || block.bytes() + BLOCK_BYTES > self.offset + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_is_too_long_is_the_longest() {
        assert_eq!(Nanos::from_millis(18_446_744_073_709), Nanos(18_446_744_073_709_000_000));
        assert_eq!(Nanos::from_millis(18_446_744_073_710), Nanos(u64::MAX));
    }

    #[test]
    fn a_request_covers_the_blocks_it_touches() {
        let request = Request { at: Nanos::ZERO, offset: 4095, bytes: 4098, op: Op::Write };
        assert_eq!((request.first(), request.blocks()), (Block(0), 3));
        assert!(request.partial(Block(0)) && !request.partial(Block(1)));
        assert!(request.partial(Block(2)));
        assert_eq!(request.whole_blocks(), (Block(1), 1));
        assert!(!request.is_whole() && Request { offset: 4096, bytes: 8192, ..request }.is_whole());
        let flush = Request { at: Nanos::ZERO, offset: 0, bytes: 0, op: Op::Flush };
        assert_eq!(flush.blocks(), 0);
    }
}
