//! Blocks that cannot be read when they are moved, and how they are recovered ([`crate::lost`]).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work};
use shingle_zoned::ZonedDisk as _;

use super::Shared;
use super::worker::{Stop, Worker};
use crate::lost::zone_of;

impl Worker {
    /// Marks a block of the host as lost, with the place of its old copy, if the copy stays there.
    pub(super) fn lose_block(&mut self, block: u64, copy: Option<Block>) {
        match copy {
            Some(copy) => self.lost.insert_with_copy(block, copy),
            None => self.lost.insert(block..block + 1),
        }
        self.lost_now.insert(block..block + 1);
    }

    /// Whether a physical zone has old copies of lost blocks, by the durable map or the next one. Such a zone must not be reset.
    pub(super) fn has_old_copies(&self, shared: &Shared, physical: u32) -> bool {
        let zone_blocks = shared.plan.zone_blocks;
        self.table.holding.contains(&physical)
            || self.lost.has_copies_in(physical, zone_blocks)
            || shared.map().lost.has_copies_in(physical, zone_blocks)
    }

    /// Gives up old copies before a commit: at most half of the zones that no logical zone lies in are kept for them, and the
    /// map has room for `copies_max`.
    pub(super) fn give_up_copies(&mut self, shared: &Shared) {
        let (plan, table) = (&shared.plan, &self.table);
        let mut zones = shared.map().lost.zones(plan.zone_blocks);
        if zones.is_empty() {
            return;
        }
        zones.retain(|zone| !table.physical.contains(zone));
        let leaving = table.leaving.iter().filter(|zone| !zones.contains(zone)).count();
        let most = table.spares.len() + leaving;
        let given_up = zones.len().saturating_sub(most);
        let given_up: BTreeSet<u32> = zones.into_iter().take(given_up).collect();
        let mut room = plan.copies_max;
        self.lost_unlogged |= shared.map_mut().lost.keep_copies(|copy| {
            let keeps = room > 0 && !given_up.contains(&zone_of(copy, plan.zone_blocks));
            room -= u64::from(keeps);
            keeps
        });
    }

    /// Gives up all old copies, as no spare zone is left.
    pub(super) fn give_up_all_copies(&mut self, shared: &Shared) {
        self.lost_unlogged |= shared.map_mut().lost.keep_copies(|_| false);
    }

    /// Whether there are old copies to be tried in idle time.
    pub(super) fn is_to_read_again(&mut self, shared: &Shared) -> bool {
        // A client has read one, so others may be readable again, too.
        if shared.reads_again.swap(false, Ordering::Relaxed) {
            self.to_read_again.extend(shared.map().lost.with_copies());
        }
        !self.to_read_again.is_empty()
    }

    /// Tries to read the old copy of one lost block. If that succeeds, the block is written anew, and is lost no more.
    pub(super) fn read_one_again(
        &mut self,
        shared: &Shared,
        queue: &dyn Queue,
    ) -> Result<(), Stop> {
        let Some(&block) = self.to_read_again.first() else { return Ok(()) };
        let copy = shared.map().lost.copy(block);
        let mut data = [Buffer::default()];
        if copy.is_some_and(|copy| shared.disk.read(copy, &mut data).is_ok()) {
            self.work(shared, Work::Write { block: Block(block), count: 1 }, &data, queue)?;
        }
        self.to_read_again.remove(&block);
        Ok(())
    }
}
