//! Replaces the policy while requests are served: all cached blocks move to a new cache at once, in
//! the order of their last use. Nothing is read or written for it.
//!
//! Slots get other numbers. Operations in flight go on: requests keep their blocks, and the new
//! policy may not choose a block before its destage is done.

use shingle_core::cache::CacheCore;
use shingle_core::units::Slot;

use super::super::durability::Durability;
use super::super::open_error::OpenError;
use super::Contents;
use super::mappings::Mappings;

impl Contents {
    /// Replaces the cache by `cache`, which is empty. Returns the new slot of each old one. Pins
    /// are not moved: each holder moves its own.
    ///
    /// # Errors
    /// If the new cache has another size, or its policy has to know the future.
    pub(in super::super) fn swap(
        &mut self,
        cache: Box<dyn CacheCore>,
        durability: &Durability,
    ) -> Result<Vec<Slot>, OpenError> {
        let (slots, ssd) = (cache.slots().capacity(), self.capacity());
        if slots != ssd {
            return Err(OpenError::Slots { ssd: ssd.into(), cache: slots.into() });
        }
        if cache.wants_future() {
            return Err(OpenError::Future);
        }
        let old = std::mem::replace(&mut self.cache, cache);
        let slots = old.slots();
        let lives = |&slot: &Slot| old.lookup(slots.block(slot)) == Some(slot);
        let mut live: Vec<(u16, Slot)> = (0..slots.capacity())
            .map(Slot)
            .filter(lives)
            .map(|slot| (self.hint_of(slot, durability), slot))
            .collect();
        live.sort_by_key(|&(hint, _)| hint);
        let mut new_of = vec![Slot::NONE; slots.capacity() as usize];
        let mut mappings = Mappings::new(self.capacity() as usize);
        for (_, slot) in live {
            let new = self.cache.restore(slots.block(slot), slots.dirty(slot));
            let new = new.expect("there are as many slots as before");
            new_of[slot.index()] = new;
            mappings.set(new, &self.mapping(slot));
        }
        self.mappings = mappings;
        self.ages.move_slots(&new_of);
        Ok(new_of)
    }

    /// Moves the lost blocks to their new slots, and pins these.
    pub(in super::super) fn move_lost(&mut self, new_of: &[Slot]) {
        for slot in self.lost.values_mut() {
            *slot = new_of[slot.index()];
            self.cache.pin(*slot);
        }
    }
}
