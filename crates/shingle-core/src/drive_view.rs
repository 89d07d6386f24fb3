//! What the host may know of the disk behind the cache, and plan with.

use crate::units::Nanos;
use crate::zones::ZoneMap;

/// Costs that a host plans with (SAC §4.4): a random read, and writing a band of which `x` blocks
/// are dirty, `R(x) = base + slope · x`.
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
    /// The costs of the ST8000AS0002: `R(x) = 0.728 x + 436` ms (SAC §4.4). The paper does not give
    /// `L_read`; its prototype uses 14 ms.
    pub const PAPER: Costs = Costs {
        read: Nanos(14_000_000),
        rmw_base: Nanos(436_000_000),
        rmw_per_block: Nanos(728_000),
    };

    /// Returns `R(x)`: the time to write a band of which `dirty_blocks` are dirty.
    #[must_use]
    pub fn rmw(&self, dirty_blocks: u64) -> Nanos {
        Nanos(self.rmw_base.0 + self.rmw_per_block.0 * dirty_blocks)
    }
}

/// What a host may know about in-order writes of the disk. By default it knows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InOrder {
    /// Blocks of log in the disk's buffer, if the map of the buffer fills before its log: then the
    /// log holds more blocks of long runs than of single blocks ([`DriveView::buffer_blocks`]). 0
    /// if not known.
    pub log_blocks: u64,
    /// Average time to write a band once, of a disk that lets its host write a whole band past its
    /// buffer: it takes a band written from first to last block straight to its place, or its bands
    /// are zones with write pointers, which the host resets first. `None` for all others.
    pub band_pass: Option<Nanos>,
}

/// What a host may know of the disk behind the cache.
#[derive(Clone, Debug)]
pub struct DriveView {
    /// The division of the disk that the policy works with; `None` if it needs none.
    pub zones: Option<ZoneMap>,
    /// The write pointer of each zone, in blocks from the start of the zone, if the drive exposes
    /// them and the policy works with them; otherwise empty. [`NO_POINTER`] in conventional zones.
    pub write_pointers: Vec<u32>,
    /// Blocks that fit into the disk's buffer; 0 if it has none.
    pub buffer_blocks: u64,
    /// Costs to plan with.
    pub costs: Costs,
    /// What is known about in-order writes.
    pub in_order: InOrder,
}

/// The write pointer of a zone that has none.
pub const NO_POINTER: u32 = u32::MAX;
