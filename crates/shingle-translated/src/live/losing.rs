//! Blocks that cannot be read when they are to be moved, and what is done to get them back ([`crate::lost`]).

use std::sync::atomic::Ordering;

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work};
use shingle_zoned::ZonedDisk as _;

use super::Shared;
use super::works::{Stop, Works};

impl Works {
    /// The host's block is lost. Its copy stays where it is, at `copy`, unless that is `None`.
    pub(super) fn lose_block(&mut self, block: u64, copy: Option<Block>) {
        match copy {
            Some(copy) => self.lost.insert_with_copy(block, copy),
            None => self.lost.insert(block..block + 1),
        }
        self.lost_now.insert(block..block + 1);
    }

    /// Whether a physical zone has old copies of lost blocks, by the durable map or by what is to become it: it must not be
    /// reset.
    pub(super) fn has_old_copies(&self, shared: &Shared, physical: u32) -> bool {
        let zone_blocks = shared.plan.zone_blocks;
        self.table.holding.contains(&physical)
            || self.lost.has_copies_in(physical, zone_blocks)
            || shared.map().lost.has_copies_in(physical, zone_blocks)
    }

    /// The map is about to become durable: gives up old copies whose zones are needed. At most half of the zones that no
    /// logical zone lies in are kept for them, and the map has room for so many copies only.
    pub(super) fn give_up_copies(&mut self, shared: &Shared) {
        let (plan, table) = (&shared.plan, &self.table);
        let mut zones = shared.map().lost.zones(plan.zone_blocks);
        if zones.is_empty() {
            return;
        }
        zones.retain(|zone| !table.physical.contains(zone));
        let leaving = table.leaving.iter().filter(|zone| !zones.contains(zone)).count();
        let most = table.spares.len() + leaving;
        while zones.len() > most {
            let given_up = zones.pop_first();
            let is_other = |copy: Block| Some((copy.0 / plan.zone_blocks) as u32) != given_up;
            self.loss_unlogged |= shared.map_mut().lost.keep_copies(is_other);
        }
        let mut room = plan.copies_max;
        let is_room = |_| {
            let is_room = room > 0;
            room = room.saturating_sub(1);
            is_room
        };
        self.loss_unlogged |= shared.map_mut().lost.keep_copies(is_room);
    }

    /// No spare zone is left: gives up all old copies.
    pub(super) fn give_up_all_copies(&mut self, shared: &Shared) {
        self.loss_unlogged |= shared.map_mut().lost.keep_copies(|_| false);
    }

    /// Whether idle time is to try old copies once more.
    pub(super) fn is_to_read_again(&mut self, shared: &Shared) -> bool {
        // A reader has found one: so others may be readable, too.
        if shared.reads_again.swap(false, Ordering::Relaxed) {
            let map = shared.map();
            self.to_read_again.extend(map.lost.copies().map(|(block, _)| block));
        }
        !self.to_read_again.is_empty()
    }

    /// Tries the old copy of one lost block. If it can be read, the block is written with it, and is lost no more.
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
