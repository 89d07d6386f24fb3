//! Tests of the parts together.

mod buffers;
mod opened;
mod roles_by_hand;
mod roles_model;

use super::record::Role;
use super::roles::{Roles, Seen, Sizes};
use shingle_core::units::Block;

/// Roles over so many slots, all of which may be used.
fn roles(sizes: Sizes, sup_max: u32) -> Roles {
    let mut roles = Roles::new(sizes);
    (0..sizes.slots).for_each(|slot| roles.add_slot(slot));
    roles.set_sup_max(sup_max);
    roles
}

/// What a write does to the roles: as `write.rs` has it, where room in the HFB is made at once.
fn write(roles: &mut Roles, block: Block, hot: bool) {
    let past: Option<Role> = match roles.look(block) {
        Seen::Slot(slot) => {
            if hot {
                roles.hit(slot);
            }
            return;
        }
        Seen::Past(role) => Some(role),
        Seen::Never if hot => None,
        Seen::Never => return roles.pass_by(block),
    };
    roles.recall(block);
    if roles.free_slots() == 0 {
        let victim = roles.victim().expect("a block to evict");
        roles.evict(victim);
    }
    roles.enter(block, past);
}
