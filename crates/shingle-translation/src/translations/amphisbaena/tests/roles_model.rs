//! The lists as the paper has them, written plainly, against the implementation.

use super::{roles, write};
use crate::translations::amphisbaena::record::Role;
use crate::translations::amphisbaena::roles::Sizes;
use proptest::prelude::*;
use shingle_core::units::Block;
use std::collections::VecDeque;

/// Both lists, from the LRU end.
struct Model {
    sizes: Sizes,
    sup_max: usize,
    resident: Vec<(Block, Role)>,
    filter: Vec<Block>,
    /// Ghosts and shadows as they were made; `None` for those forgotten since.
    made: VecDeque<Option<Block>>,
}

impl Model {
    fn at(&self, block: Block) -> Option<usize> {
        self.resident.iter().position(|entry| entry.0 == block)
    }

    fn in_slot(&self, block: Block) -> bool {
        self.filter.contains(&block) || self.resident.contains(&(block, Role::Sup))
    }

    fn sups(&self) -> usize {
        self.resident.iter().filter(|entry| entry.1 == Role::Sup).count()
    }

    fn in_slots(&self) -> usize {
        self.filter.len() + self.sups()
    }

    fn last_sup(&self, block: Block) -> bool {
        self.resident.iter().find(|entry| entry.1 == Role::Sup).map(|entry| entry.0) == Some(block)
    }

    /// Drops the entries of the resident list up to `place`, then up to the next SUP block if there is
    /// one.
    fn prune(&mut self, place: usize) {
        let next = self.resident[place..].iter().position(|entry| entry.1 == Role::Sup);
        for (block, role) in self.resident.drain(..place + next.unwrap_or(0)) {
            if matches!(role, Role::Ghost | Role::Shadow) {
                let hole = self.made.iter_mut().find(|made| **made == Some(block)).unwrap();
                *hole = None;
            }
        }
    }

    fn remember(&mut self, block: Block, role: Role, place: usize) {
        let full = self.made.len() == self.sizes.history as usize && !self.sizes.grows;
        let mut place = place;
        if full && let Some(Some(first)) = self.made.pop_front() {
            let at = self.at(first).unwrap();
            self.resident.remove(at);
            place -= usize::from(at < place);
        }
        if self.sizes.grows || self.sizes.history > 0 {
            self.made.push_back(Some(block));
            self.resident.insert(place, (block, role));
        }
    }

    fn forget(&mut self, block: Block) -> Option<Role> {
        let at = self.at(block)?;
        let role = self.resident.remove(at).1;
        *self.made.iter_mut().find(|made| **made == Some(block)).unwrap() = None;
        Some(role)
    }

    fn demote(&mut self) {
        let Some(at) = self.resident.iter().position(|entry| entry.1 == Role::Sup) else { return };
        let (block, _) = self.resident.remove(at);
        let place = if self.sizes.demote_to_mru { self.filter.len() } else { 0 };
        self.filter.insert(place, block);
        self.prune(at);
    }

    fn keep_quota(&mut self) {
        while self.sups() > self.sup_max {
            self.demote();
        }
    }

    fn vacate(&mut self, block: Block, remember: bool) {
        let last = self.last_sup(block);
        let at = self.at(block);
        let role = at.map(|at| self.resident.remove(at).1);
        self.filter.retain(|other| *other != block);
        match (last, at) {
            (true, Some(at)) => self.prune(at),
            (false, Some(at)) if remember => self.remember(block, Role::Ghost, at),
            _ => {}
        }
        debug_assert!(!last || role == Some(Role::Sup));
    }

    fn write(&mut self, block: Block, hot: bool) {
        if self.in_slot(block) {
            if !hot {
                return;
            }
            let last = self.last_sup(block);
            let at = self.at(block);
            let was = at.map(|at| self.resident.remove(at).1);
            self.filter.retain(|other| *other != block);
            self.resident.push((block, Role::Sup));
            if was == Some(Role::Sup) {
                if last {
                    self.prune(at.unwrap());
                }
            } else {
                self.keep_quota();
            }
            return;
        }
        let past = self.forget(block);
        if past.is_none() && !hot {
            return self.remember(block, Role::Shadow, self.resident.len());
        }
        if self.in_slots() == self.sizes.slots as usize {
            if self.filter.is_empty() {
                self.demote();
            }
            self.vacate(self.filter[0], true);
        }
        if past == Some(Role::Ghost) || self.sups() < self.sup_max {
            self.resident.push((block, Role::Sup));
            self.keep_quota();
        } else {
            self.resident.push((block, Role::Lup));
            self.filter.push(block);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Write(u64, bool),
    Trim(u64),
    /// A block in a slot leaves, as when the HFB gives a chunk back.
    Evict(usize),
    Quota(u32),
    /// Times are counted anew.
    Renumber,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (0u64..24, any::<bool>()).prop_map(|(block, hot)| Op::Write(block, hot)),
        2 => (0u64..24).prop_map(Op::Trim),
        2 => any::<prop::sample::Index>().prop_map(|at| Op::Evict(at.index(64))),
        1 => (1u32..8).prop_map(Op::Quota),
        1 => Just(Op::Renumber),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn roles_are_as_on_the_two_lists(
        slots in 2u32..8,
        history in 0u32..10,
        (grows, demote_to_mru) in any::<(bool, bool)>(),
        ops in prop::collection::vec(op(), 0..160),
    ) {
        let sizes = Sizes { slots, history: history.max(grows.into()), grows, demote_to_mru };
        let sup_max = slots - 1;
        let mut tested = roles(sizes, sup_max);
        let mut model = Model {
            sizes,
            sup_max: sup_max as usize,
            resident: Vec::new(),
            filter: Vec::new(),
            made: VecDeque::new(),
        };
        for op in ops {
            match op {
                Op::Write(block, hot) => {
                    write(&mut tested, Block(block), hot);
                    model.write(Block(block), hot);
                }
                Op::Trim(block) => {
                    let block = Block(block);
                    if model.in_slot(block) {
                        tested.vacate(tested.slot(block).expect("in a slot"));
                        model.vacate(block, false);
                    } else {
                        tested.recall(block);
                        model.forget(block);
                    }
                }
                Op::Evict(at) => {
                    let inside: Vec<u32> = (0..slots).filter(|&s| tested.resident(s).is_some()).collect();
                    if !inside.is_empty() {
                        let slot = inside[at % inside.len()];
                        let block = tested.resident(slot).unwrap().0;
                        tested.evict(slot);
                        model.vacate(block, true);
                    }
                }
                Op::Quota(sup_max) => {
                    tested.set_sup_max(sup_max);
                    model.sup_max = sup_max as usize;
                    model.keep_quota();
                }
                Op::Renumber => tested.run_out_of_time(),
            }
            tested.check();
            let (filter, resident) = tested.lists();
            prop_assert_eq!(filter, model.filter.clone());
            prop_assert_eq!(resident, model.resident.clone());
        }
    }
}
