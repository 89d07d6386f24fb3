//! Bands written whole, whatever the policy (`cache.bands=whole`). When a policy has a part of a
//! band written, all dirty blocks of the band are written with it, in one pass over the band. The
//! added blocks stay, clean. So a policy that does not know whole bands can be compared with one
//! that does.

use crate::plan::{DestageMethod, Mark, Plan, WriteOrder};
use crate::slots::Slots;
use crate::units::{Block, Slot, Zone};

/// How the host writes a whole band.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// From start to end ([`DestageMethod::WholeBand`]).
    InOrder,
    /// After a reset of the write pointer ([`DestageMethod::HostRmw`]). The first `conventional_zones`
    /// zones have none and are written in place.
    Reset { conventional_zones: u32 },
}

impl Taken {
    fn manner(self, band: Zone) -> DestageMethod {
        match self {
            Taken::InOrder => DestageMethod::WholeBand(band),
            Taken::Reset { conventional_zones } if band.0 < conventional_zones => {
                DestageMethod::Write(WriteOrder::ByAddress)
            }
            Taken::Reset { .. } => DestageMethod::HostRmw(band),
        }
    }
}

/// Extends what `plan` has named since `mark` to whole bands.
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
