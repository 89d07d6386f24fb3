//! Faults of a disk in memory, drawn by a seed or given by a test.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use shingle_core::units::Zone;

use crate::geometry::Geometry;

/// A fault. Calls of a disk are counted from 0, including refused ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // call: the number of the call
pub enum Fault {
    /// The power is cut during this call. Unflushed data is lost in part.
    PowerCut { call: u64 },
    /// The host is killed during this call, and the disk continues.
    Kill {
        call: u64,
        /// The command is carried out this number of calls of the next host later, if the zone has
        /// not changed; at 0 before the first of them.
        lands_after: u64,
    },
    /// This call fails. A write may be carried out in part.
    Error {
        call: u64,
        /// All later calls of the same kind in the same zone fail, too.
        for_ever: bool,
    },
    /// The first flush from this call on fails, and what it should cover is lost in part.
    FlushForgets { call: u64 },
    /// From this call on a zone is read-only.
    ReadOnly { call: u64, zone: Zone },
    /// From this call on a zone is offline.
    Offline { call: u64, zone: Zone },
}

/// The faults of a disk in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults {
    /// The seed for everything that is open: pointers after a power cut, how much of a write was
    /// done.
    pub seed: u64,
    /// The faults.
    pub faults: Vec<Fault>,
    /// Whether a reset that was not flushed may be lost in a power cut.
    pub lost_resets: bool,
}

impl Faults {
    /// No faults.
    #[must_use]
    pub fn none() -> Faults {
        Faults { seed: 0, faults: Vec::new(), lost_resets: true }
    }

    /// Draws the faults of a run of about `calls` calls: one end of the host, by power cut or kill,
    /// and in half of the runs up to three other faults before it.
    #[must_use]
    pub fn draw(seed: u64, calls: u64, geometry: &Geometry) -> Faults {
        let mut draw = Draw::new(seed);
        let end = draw.below(calls.max(1));
        let mut faults = vec![match draw.below(3) {
            0 => Fault::Kill { call: end, lands_after: draw.below(8) },
            _ => Fault::PowerCut { call: end },
        }];
        let others = if draw.below(2) == 0 { 0 } else { 1 + draw.below(3) };
        for _ in 0..others {
            let (call, zone) =
                (draw.below(end + 1), Zone(draw.below(geometry.zones.into()) as u32));
            faults.push(match draw.below(8) {
                0..3 => Fault::Error { call, for_ever: false },
                3 => Fault::Error { call, for_ever: true },
                4 | 5 => Fault::FlushForgets { call },
                6 => Fault::ReadOnly { call, zone },
                _ => Fault::Offline { call, zone },
            });
        }
        Faults { seed: draw.below(u64::MAX), faults, lost_resets: draw.below(4) > 0 }
    }
}

/// Random numbers of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Draw(SplitMix64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(SplitMix64::seed_from_u64(seed))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}
