//! A cache over a drive, in virtual time: carries out what the cache plans, and counts.
//!
//! ```text
//!  request ──► request.rs ──► Cache::access ──► hit ─────────────────► ssd.rs
//!                                │        └──► miss, bypass ─► misses.rs ─► Device ─► disk
//!                                └ no room ──► plan ─► destage.rs, zones.rs, bands.rs ─┘
//! ```
//!
//! `clock.rs` says when each of them begins, in closed or in open loop. `hints.rs` tells the policy what it
//! wants to know beside the requests, `warm.rs` notes when the cache is full, and `report.rs` has what is
//! known afterwards. Counters are here, and times of devices with the devices.

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
    /// When requests come.
    pub pacing: Pacing,
    /// Each block is an I/O of its own, destages in the order in which the policy named them: the
    /// rule of the papers' prototypes.
    pub split: bool,
    /// The rest of a partly written block is read from the disk when it is not cached. Otherwise
    /// such a block counts as written whole, as in the papers.
    pub fill_partial: bool,
}

/// Destages are joined to at most this many blocks (512 KiB) an I/O.
pub(crate) const JOINED_BLOCKS_MAX: usize = 128;

/// A cache over a drive. With policy `none` it is the drive.
pub struct System {
    cache: Box<dyn CacheCore>,
    ssd: Ssd,
    disk: Device,
    rules: Rules,
    clock: Clock,
    hints: Hints,
    host: HostCounters,
    /// Those that are done.
    requests: u64,
    warm: Warm,
    check: Option<Box<Check>>,
    /// What leaves, not yet carried out.
    plan: Plan,
    /// What the disk has to serve, not yet issued.
    run: Run,
    /// Checked: the data of the I/O under way.
    stamps: Vec<Stamp>,
    /// Checked: the data of a zone that the host reads and merges.
    merged: Vec<Stamp>,
}

impl System {
    /// `cache` over `disk`, its blocks on `ssd`. With `checked`, data stamps are kept.
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
            ssd: Ssd::new(ssd, open, cache.slots().capacity(), checked),
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

    /// A copy in the same state.
    #[must_use]
    pub fn duplicate(&self) -> System {
        System {
            cache: self.cache.copy(),
            ssd: self.ssd.copy(),
            disk: self.disk.copy(),
            rules: self.rules,
            clock: self.clock,
            hints: self.hints.clone(),
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

    /// Stamps that go with the I/O of one block.
    #[inline]
    fn stamped(&self) -> usize {
        usize::from(self.check.is_some())
    }
}
