//! What the host may know of the disk behind the cache, and plan with.

use crate::units::Nanos;
use crate::zones::ZoneMap;

/// Costs a host may plan with (SAC §4.4): a random read, and writing a band of which `x` blocks are
/// dirty, `R(x) = base + slope · x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Mean time of a random 4 KiB read, `L_read`.
    pub read: Nanos,
    /// Fixed part of `R(x)`.
    pub rmw_base: Nanos,
    /// Part of `R(x)` for each dirty block.
    pub rmw_per_block: Nanos,
}

impl Costs {
    /// Those of the ST8000AS0002: `R(x) = 0.728 x + 436` ms (SAC §4.4); `L_read`, which the paper
    /// does not give, is the 14 ms of its prototype.
    pub const PAPER: Costs = Costs {
        read: Nanos(14_000_000),
        rmw_base: Nanos(436_000_000),
        rmw_per_block: Nanos(728_000),
    };

    /// `R(x)`: the time to write a band of which `dirty_blocks` are dirty.
    #[must_use]
    pub fn rmw(&self, dirty_blocks: u64) -> Nanos {
        Nanos(self.rmw_base.0 + self.rmw_per_block.0 * dirty_blocks)
    }
}

/// What a host may know of how the disk takes writes in order. By default it knows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InOrder {
    /// Blocks of log in the disk's buffer. Of a buffer whose map is what fills first, it holds more of
    /// long runs than of single blocks ([`DriveView::buffer_blocks`]); 0 if that is not known.
    pub log_blocks: u64,
    /// The time of going over a band once, on average, of a disk that lets its host write a whole band past its
    /// buffer: one that takes a band written from its first block to its last straight to its place, or one whose bands are zones
    /// with write pointers, which the host resets first. `None` of all others.
    pub band_pass: Option<Nanos>,
}

/// What a host may know of the disk behind the cache.
#[derive(Clone, Debug)]
pub struct DriveView {
    /// The division of the disk that the policy works with; `None` if it needs none.
    pub zones: Option<ZoneMap>,
    /// The write pointer of each zone, counted in blocks from the start of the zone, of a drive that
    /// exposes them to a policy that works with them; else empty. [`NO_POINTER`] in conventional
    /// zones.
    pub write_pointers: Vec<u32>,
    /// Blocks that fit into the disk's buffer; 0 if it has none.
    pub buffer_blocks: u64,
    /// Costs to plan with.
    pub costs: Costs,
    /// How it takes writes in order.
    pub in_order: InOrder,
}

/// Stands for the write pointer of a zone that has none.
pub const NO_POINTER: u32 = u32::MAX;
