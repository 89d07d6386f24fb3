//! Another policy, while requests are served: all that is cached goes over to a new cache at once, in
//! the order in which it was used. Nothing is read or written for it.
//!
//! Slots get other numbers. What is under way on them goes on: requests keep their blocks, and a block
//! that is on its way to the disk may not be named by the new policy before it is there.

use shingle_core::cache::CacheCore;
use shingle_core::units::Slot;

use super::bugs::Bug;
use super::{Engine, OpenError};

impl Engine {
    /// From now on `cache`, which is empty, decides.
    ///
    /// # Errors
    /// If it has another size, or its policy has to know the future.
    pub fn set_cache(&mut self, cache: Box<dyn CacheCore>) -> Result<(), OpenError> {
        let (slots, ssd) = (cache.slots().capacity(), self.cache.slots().capacity());
        if slots != ssd {
            return Err(OpenError::Slots { ssd: ssd.into(), cache: slots.into() });
        }
        if cache.wants_future() {
            return Err(OpenError::Future);
        }
        let old = std::mem::replace(&mut self.cache, cache);
        let new_of = self.move_blocks(&*old);
        let new_of = |slot: &mut Slot| *slot = new_of[slot.index()];
        for (_, op) in &mut self.ops {
            if let Some(slot) = &mut op.slot {
                new_of(slot);
                self.cache.pin(*slot);
            }
        }
        if !self.bug(Bug::SwapForgetsDestages) {
            self.destager.move_slots(new_of, &mut *self.cache);
        }
        self.errors.move_slots(new_of, &mut *self.cache);
        self.stopping.draining.forget();
        // The new policy has not been asked yet by those who wait for room.
        for &key in &self.no_room {
            self.ops[key].asked = false;
        }
        self.pump();
        Ok(())
    }

    /// Returns the new slot of each old one.
    fn move_blocks(&mut self, old: &dyn CacheCore) -> Vec<Slot> {
        let slots = old.slots();
        let lives = |&slot: &Slot| old.lookup(slots.block(slot)) == Some(slot);
        let mut live: Vec<(u16, Slot)> = (0..slots.capacity())
            .map(Slot)
            .filter(lives)
            .map(|slot| (self.hint_of(slot), slot))
            .collect();
        live.sort_by_key(|&(hint, _)| hint);
        let mut new_of = vec![Slot::NONE; slots.capacity() as usize];
        let mut held = self.frames.none_held();
        for (_, slot) in live {
            let new = self.cache.restore(slots.block(slot), slots.dirty(slot));
            let new = new.expect("there are as many slots as before");
            new_of[slot.index()] = new;
            held[new.index()] = self.frames.held(slot);
        }
        self.frames.set_held(held);
        new_of
    }
}
