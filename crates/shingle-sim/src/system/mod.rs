//! A cache over a drive, in virtual time: carries out the plans of the cache, and counts.
//!
//! ```text
//!  request ──► request.rs ──► Cache::access ──► hit ─────────────────► ssd.rs
//!                                │        └──► miss, bypass ─► misses.rs ─► Device ─► disk
//!                                └ no room ──► plan ─► destage.rs, zones.rs, bands.rs ─┘
//! ```
//!
//! `clock.rs` determines when each of them begins, in closed or in open loop. `hints.rs` passes
//! further information to the policy, `warm.rs` detects when the cache is full, and `report.rs` has
//! the results. Counters are here; the devices have the times of devices.

mod bands;
mod clock;
mod destage;
mod drive;
mod hints;
mod misses;
mod report;
mod request;
mod ssd;
mod warm;
mod zones;

use shingle_core::ahead::Ahead;
use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_drive::{Drive, Stamp};
use shingle_result::{HostCounters, Pacing};

use self::clock::Clock;
use self::hints::Hints;
use self::misses::Run;
use self::ssd::Ssd;
use self::warm::Warm;
use crate::check::Check;
use crate::device::Device;
use crate::disk::Disk;

/// How requests and plans become I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// When requests arrive.
    pub pacing: Pacing,
    /// One I/O per block, destages in the order in which the policy named them: the rule of the
    /// papers' prototypes.
    pub split: bool,
    /// Whether the rest of a partly written block is read from the disk when it is not cached.
    /// Otherwise such a block counts as wholly written, as in the papers.
    pub fill_partial: bool,
}

/// Most blocks (512 KiB) to which destages are joined in one I/O.
pub(crate) const JOINED_BLOCKS_MAX: usize = 128;

/// A cache over a drive. With policy `none` it is the drive alone.
pub struct System {
    cache: Box<dyn CacheCore>,
    /// Whether it has slots.
    caches: bool,
    ssd: Ssd,
    disk: Device,
    rules: Rules,
    clock: Clock,
    hints: Hints,
    ahead: Ahead,
    host: HostCounters,
    requests: u64,
    warm: Warm,
    check: Option<Box<Check>>,
    /// The plan that is not yet carried out.
    plan: Plan,
    /// The I/O of the disk that is not yet submitted.
    run: Run,
    /// Checked runs: the data of the current I/O.
    stamps: Vec<Stamp>,
    /// Checked runs: the data of a zone that the host reads and merges.
    merged: Vec<Stamp>,
}

impl System {
    /// Creates a system of `cache` over `disk`, with the cached blocks on `ssd`. With `checked`,
    /// data stamps are kept.
    #[must_use]
    pub fn new(
        cache: Box<dyn CacheCore>,
        ssd: Box<dyn Drive>,
        disk: impl Into<Disk>,
        rules: Rules,
        checked: bool,
    ) -> System {
        let (open, disk) = (rules.pacing == Pacing::Open, disk.into());
        System {
            hints: Hints::new(cache.as_ref(), &disk, rules.pacing),
            ahead: Ahead::default(),
            ssd: Ssd::new(ssd, open, cache.slots().capacity(), checked),
            caches: cache.slots().capacity() > 0,
            cache,
            disk: Device::new(disk, false),
            rules,
            clock: Clock::new(rules.pacing),
            host: HostCounters::default(),
            requests: 0,
            warm: Warm::NotYet,
            check: checked.then(Box::default),
            plan: Plan::default(),
            run: Run::default(),
            stamps: Vec::with_capacity(JOINED_BLOCKS_MAX),
            merged: Vec::new(),
        }
    }

    /// Returns a copy in the same state.
    #[must_use]
    pub fn duplicate(&self) -> System {
        System {
            cache: self.cache.copy(),
            caches: self.caches,
            ssd: self.ssd.copy(),
            disk: self.disk.copy(),
            rules: self.rules,
            clock: self.clock,
            hints: self.hints.clone(),
            ahead: Ahead::default(),
            host: self.host,
            requests: self.requests,
            warm: self.warm,
            check: self.check.clone(),
            plan: self.plan.clone(),
            run: self.run.clone(),
            stamps: Vec::with_capacity(JOINED_BLOCKS_MAX),
            merged: Vec::new(),
        }
    }

    /// Returns the number of stamps for the I/O of one block: 1 in checked runs, otherwise 0.
    #[inline]
    fn stamped(&self) -> usize {
        usize::from(self.check.is_some())
    }
}
