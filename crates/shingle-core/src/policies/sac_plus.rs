//! SAC+, the extension of SAC to host-managed disks (Sun et al., ACM TOS 2023: "A Universal
//! SMR-Aware Cache Framework with Deep Optimization for DM-SMR and HM-SMR Disks").
//!
//! The paper was not available. The implementation follows its abstract and the authors' prototype
//! (`dcstrange/sac4hm` 78ccaa0), and is a reconstruction to that extent.
//!
//! ```text
//! cold clean blocks, the coldest first           at no cost, whatever dirty ones would cost
//! else, whichever costs less for each released block:
//!   a clean block                                the time of reading it again
//! the dirty blocks of a zone                   the time of writing them back / those that are cold
//! ```
//! A block is cold if it was not used within a window of two cache sizes of accesses. Over a drive
//! that exposes zones, host-managed or host-aware, [`partial`] finds the zone and the range to
//! write. Over any other drive the dirty blocks leave in the cycles of SAC (`sac.rs`, rules 1 to
//! 4), each target zone whole and by address.
//!
//! Departures and decisions:
//!
//! - The prototype sets the write pointer of a zone back to the lowest cold block and writes from
//!   there to the end. ZBC allows no way back but a reset, so the executor reads the whole zone and
//!   writes it back whole. Choice and comparison are still the paper's. `partial=off` chooses and
//!   compares by whole zones, which is the real cost.
//! - If all that is to be written lies at or beyond the write pointer, it is appended and nothing
//!   is read: the prototype filled its zones before its experiments.
//! - Conventional zones are compared like the others, and written in place.
//! - All dirty blocks from the lowest cold one on leave, hot ones too: they are written in any
//!   case.
//! - The prototype drops up to 1,024 clean blocks at a time. Small caches have fewer, so
//!   `clean_part` bounds it further.
//! - In idle time zones are written in the same order and manner, each from its lowest cold dirty
//!   block on, or, if none is cold, from its lowest dirty block; over other drives as SAC does it.
//! - If a clean and a dirty block cost the same, the dirty one leaves, as in the comparator of SAC.

pub mod partial;

use crate::cdc::recent::Recent;
use crate::cdc::{CLEAN_PART, COST, Cdc, Offer, Pair, Shared, Side, WINDOW, group_blocks};
use crate::drive_view::Costs;
use crate::param;
use crate::params::{Param, Params};
use crate::policies::sac::target::Ars;
use crate::policies::sac::{CYCLE, Cycles, RULE1, RULE2, RULE4};
use crate::policy::{Access, Memory, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::Slot;

use partial::Partial;

/// The policy.
pub type SacPlus = Cdc<Sides>;

/// The sides of [`SacPlus`].
#[derive(Clone, Debug)]
pub struct Sides;

impl Pair for Sides {
    const NAME: &'static str = "sac-plus";
    const ABOUT: &'static str =
        "SAC for zones that the host writes back, or in cycles (SAC+, reconstructed)";
    const PARAMS: &'static [Param] = &[
        ZONE,
        Param { default: "2", ..WINDOW },
        CLEAN_PART,
        param!("clean_max": Count = "1024",
            "clean blocks that leave before costs are compared again, if clean_part are not fewer \
             (prototype)"),
        COST,
        param!("partial": Switch = "on",
            "exposed zones: a zone is taken to be rewritten from its lowest cold block on (paper), or \
             whole"),
        CYCLE,
        RULE1,
        RULE2,
        RULE4,
    ];
    const ZONING: Zoning = Zoning::ExposedOrFixed;
    const IN_SEQUENCE: bool = true;
    type Clean = Recent;
    type Dirty = Dirty;

    fn sides(params: &Params, slots: &Slots) -> (Recent, Dirty) {
        let group = group_blocks(params, slots).min(params.count("clean_max").max(1));
        let dirty = match slots.drive().write_pointers.is_empty() {
            true => Dirty::Cycles(Cycles::new(params, slots).of_whole_zones()),
            false => Dirty::Partial(Partial::new(params, slots)),
        };
        (Recent::cold_first(group), dirty)
    }
}

/// The dirty side, by the kind of drive.
#[derive(Clone, Debug)]
pub enum Dirty {
    /// Over a drive that exposes no zones.
    Cycles(Cycles<Ars>),
    /// Over a drive that does.
    Partial(Partial),
}

/// Calls the variant in use.
macro_rules! either {
    ($dirty:expr, $side:ident => $call:expr) => {
        match $dirty {
            Dirty::Cycles($side) => $call,
            Dirty::Partial($side) => $call,
        }
    };
}

impl Side for Dirty {
    #[inline]
    fn insert(
        &mut self,
        slot: Slot,
        cold: bool,
        access: &Access,
        shared: &mut Shared,
        slots: &Slots,
    ) {
        either!(self, side => side.insert(slot, cold, access, shared, slots));
    }

    #[inline]
    fn touch(
        &mut self,
        slot: Slot,
        was_cold: bool,
        access: &Access,
        shared: &mut Shared,
        slots: &Slots,
    ) {
        either!(self, side => side.touch(slot, was_cold, access, shared, slots));
    }

    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        either!(self, side => side.remove(slot, was_cold, shared, slots));
    }

    fn turned_cold(&mut self, slot: Slot, shared: &mut Shared, slots: &Slots) {
        either!(self, side => side.turned_cold(slot, shared, slots));
    }

    fn offer(
        &mut self,
        forced: bool,
        costs: &Costs,
        shared: &mut Shared,
        slots: &Slots,
    ) -> Option<Offer> {
        either!(self, side => side.offer(forced, costs, shared, slots))
    }

    fn begin(&mut self, shared: &Shared, slots: &Slots) {
        either!(self, side => side.begin(shared, slots));
    }

    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        either!(self, side => side.evict(want, shared, out))
    }

    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        either!(self, side => side.destage(want, shared, out));
    }

    fn wants_horizon(&self) -> bool {
        either!(self, side => side.wants_horizon())
    }

    fn memory(&self) -> Memory {
        either!(self, side => side.memory())
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        either!(self, side => side.check(shared, slots));
    }
}
