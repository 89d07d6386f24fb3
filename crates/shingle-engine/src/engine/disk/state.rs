//! Hashes the state of the disk, with numbers as distances to the last write.

use std::hash::{Hash, Hasher};

use super::super::state::{View, unordered};
use super::{Disk, ROOM_WITHIN};

impl Disk {
    pub(in super::super) fn hash_state<H: Hasher + Default>(&self, view: &View, into: &mut H) {
        let Disk { written, flushed: _, flushing, for_clients, wanted, unflushed, .. } = self;
        let Disk { unflushed_order, doubted, doubts_all, destaged, destaged_since, .. } = self;
        let Disk { fresh, failures, bugs: _, .. } = self;
        [*written, *for_clients, *wanted].map(|number| view.write(number)).hash(into);
        flushing.map(|number| view.write(number)).hash(into);
        unordered(unflushed.iter(), into, |(block, &number), into| {
            (block, view.write(number)).hash(into);
        });
        unflushed_order.len().hash(into);
        unflushed_order.iter().for_each(|(number, block)| (view.write(*number), block).hash(into));
        unordered(doubted.iter(), into, |block, into| block.hash(into));
        destaged.len().hash(into);
        for &(number, job) in destaged {
            (view.write(number), (view.job)(job)).hash(into);
        }
        let waits = !destaged.is_empty();
        (if waits { view.age(*destaged_since, ROOM_WITHIN) } else { 0 }).hash(into);
        (doubts_all, fresh, failures).hash(into);
    }
}
