//! Bands written whole, whoever names the victims (`cache.bands=whole`): what a policy has written of a band is written with
//! all that is dirty of it, in one pass over the band. The others stay, clean. So a policy that knows
//! nothing of whole bands can be held against one that does.

use crate::plan::{Manner, Mark, Plan, WriteOrder};
use crate::slots::Slots;
use crate::units::{Block, Slot, Zone};

/// How a disk takes a whole band.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// Written from start to end ([`Manner::WholeBand`]).
    InOrder,
    /// It is a zone with a write pointer, which is reset first ([`Manner::HostRmw`]); but so many zones, from the first on, have
    /// none and are written in place.
    Reset { conventional_zones: u32 },
}

impl Taken {
    fn manner(self, band: Zone) -> Manner {
        match self {
            Taken::InOrder => Manner::WholeBand(band),
            Taken::Reset { conventional_zones } if band.0 < conventional_zones => {
                Manner::Write(WriteOrder::ByAddress)
            }
            Taken::Reset { .. } => Manner::HostRmw(band),
        }
    }
}

/// Makes whole bands of what `plan` has named since `mark`.
pub(crate) fn widen(taken: Taken, plan: &mut Plan, mark: Mark, slots: &mut Slots) {
    let mut named = plan.take_since(mark);
    named.sort_by_key(|one| slots.zone_index(one.slot));
    let mut rest = named.as_slice();
    while let Some(first) = rest.first() {
        let index = slots.zone_index(first.slot);
        let named_of_it = rest.iter().take_while(|one| slots.zone_index(one.slot) == index).count();
        let start = plan.mark().destages;
        plan.extend(&rest[..named_of_it]);
        rest = &rest[named_of_it..];
        let band = slots.zone_of(index);
        let (begin, blocks) = (slots.zones().first_block(band).0, slots.zones().blocks(band));
        for block in (begin..begin + blocks).map(Block) {
            let may = |slot: &Slot| slots.evictable(*slot) && slots.dirty(*slot);
            if let Some(slot) = slots.find(block).filter(may) {
                plan.write(slot, slots);
            }
        }
        plan.end_group(start, taken.manner(band));
    }
}
