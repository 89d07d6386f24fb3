//! Phase two of the classification: the roles of blocks (Amphisbaena §5.1.1, §5.1.2, §5.2.2).
//!
//! The paper keeps two lists. The filter list holds the LUP blocks; its LRU end leaves the buffer for
//! hot blocks. The resident list sorts blocks of all roles by their last update, and ends with a SUP
//! block: pruning forgets the ghosts and shadows below it, and drops the entries of LUP blocks there.
//!
//! Here the resident list is no list. It has to answer only which SUP block is the last, and
//! whether another block was updated after the time of the last pruning. So SUP blocks are on a
//! list of their own, every block has the time of its last update, and pruning stores one time, the
//! `floor`: a LUP block is on the resident list, and a ghost or shadow remembered, if its time is
//! after the floor. A slot is on one list only, and costs 16 bytes.

use super::history::History;
use super::index::{IDS_MAX, Index, hash};
use super::record::{Record, Role, TIME_MAX};
use shingle_core::parts::{Links, List};
use shingle_core::units::Block;

/// The number of slots, and the size of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Slots of the buffer for hot blocks at its largest size.
    pub(super) slots: u32,
    /// Ghosts and shadows remembered; if `grows`, the initial number.
    pub(super) history: u32,
    /// Whether the history grows when it is full, as in the paper, which forgets only by pruning.
    pub(super) grows: bool,
    /// Whether a SUP block that becomes LUP goes to the MRU end of the filter list, as in LIRS, not
    /// to the LRU end.
    pub(super) demote_to_mru: bool,
}

/// What is known of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    Slot(u32),
    /// It is remembered, as a ghost or a shadow.
    Past(Role),
    /// Nothing.
    Never,
}

/// Blocks with their roles: those in the slots of the buffer for hot blocks, and those remembered.
#[derive(Clone, Debug)]
pub(super) struct Roles {
    sizes: Sizes,
    /// By slot.
    residents: Vec<Record>,
    history: History,
    /// Index of slots, and after these of places in the history.
    index: Index,
    links: Links,
    sup: List,
    filter: List,
    free: List,
    sup_max: u32,
    clock: u32,
    floor: u32,
}

impl Roles {
    /// Creates roles without slots: see [`Roles::add_slot`].
    pub(super) fn new(sizes: Sizes) -> Roles {
        let ids = sizes.slots as usize + sizes.history as usize;
        Roles {
            sizes,
            residents: vec![Record::NONE; sizes.slots as usize],
            history: History::new(sizes.history),
            index: Index::new(ids, ids),
            links: Links::new(sizes.slots as usize),
            sup: List::default(),
            filter: List::default(),
            free: List::default(),
            sup_max: 0,
            clock: 0,
            floor: 0,
        }
    }

    // ── Slots ────────────────────────────────────────────────────────────────────────────────

    /// Adds the free `slot` to the buffer.
    pub(super) fn add_slot(&mut self, slot: u32) {
        self.free.push_tail(&mut self.links, slot);
    }

    /// Removes the free `slot` from the buffer.
    pub(super) fn remove_slot(&mut self, slot: u32) {
        self.free.unlink(&mut self.links, slot);
    }

    pub(super) fn free_slots(&self) -> u32 {
        self.free.len()
    }

    /// Returns the number of blocks in slots.
    pub(super) fn residents(&self) -> u32 {
        self.sup.len() + self.filter.len()
    }

    /// Returns the block in `slot`, and its role.
    pub(super) fn resident(&self, slot: u32) -> Option<(Block, Role)> {
        let record = self.residents[slot as usize];
        (record != Record::NONE).then(|| (record.block(), record.role()))
    }

    /// Returns all blocks in slots and all remembered ones.
    pub(super) fn known(&self) -> impl Iterator<Item = Block> + '_ {
        let live = self.residents.iter().copied().filter(|record| *record != Record::NONE);
        live.chain(self.history.iter().map(|(_, record)| record)).map(Record::block)
    }

    /// Sets the most SUP blocks. Those above become LUP.
    pub(super) fn set_sup_max(&mut self, sup_max: u32) {
        self.sup_max = sup_max;
        self.keep_quota();
    }

    // ── Looking ──────────────────────────────────────────────────────────────────────────────

    #[inline]
    fn record(&self, id: u32) -> Record {
        match id.checked_sub(self.sizes.slots) {
            None => self.residents[id as usize],
            Some(at) => self.history.get(at),
        }
    }

    #[inline]
    fn find(&self, block: Block) -> Option<u32> {
        self.index.find(hash(block.0), |id| {
            let record = self.record(id);
            record != Record::NONE && record.block() == block
        })
    }

    #[inline]
    pub(super) fn slot(&self, block: Block) -> Option<u32> {
        self.find(block).filter(|&id| id < self.sizes.slots)
    }

    /// Returns what is known of `block`. Forgets it if it was pruned.
    #[inline]
    pub(super) fn look(&mut self, block: Block) -> Seen {
        match self.find(block) {
            None => Seen::Never,
            Some(slot) if slot < self.sizes.slots => Seen::Slot(slot),
            Some(id) => {
                let record = self.record(id);
                if record.time() > self.floor {
                    return Seen::Past(record.role());
                }
                self.forget(id);
                Seen::Never
            }
        }
    }

    // ── Transitions ──────────────────────────────────────────────────────────────────────────

    /// Puts `block`, which is in no slot, into a free one: as SUP while there are too few of these
    /// (the rule at the start, §5.2.2) or if it was a ghost, else as LUP on both lists. `past` is
    /// what it was remembered as before [`Roles::recall`].
    pub(super) fn enter(&mut self, block: Block, past: Option<Role>) -> u32 {
        let slot = self.free.head().expect("a block enters a buffer without room");
        self.enter_slot(slot, block, past);
        slot
    }

    /// Does the same with a given free slot.
    #[inline]
    pub(super) fn enter_slot(&mut self, slot: u32, block: Block, past: Option<Role>) {
        self.free.unlink(&mut self.links, slot);
        self.index.insert(hash(block.0), slot);
        let time = self.tick();
        if self.sup.len() < self.sup_max || past == Some(Role::Ghost) {
            self.residents[slot as usize] = Record::new(block, Role::Sup, time);
            self.sup.push_head(&mut self.links, slot);
            self.keep_quota();
        } else {
            self.residents[slot as usize] = Record::new(block, Role::Lup, time);
            self.filter.push_head(&mut self.links, slot);
        }
    }

    /// Updates the block in `slot`, by a request that changes roles.
    pub(super) fn hit(&mut self, slot: u32) {
        let time = self.tick();
        let record = self.residents[slot as usize];
        self.residents[slot as usize] = record.with(Role::Sup, time);
        if record.role() == Role::Sup {
            let was_last = self.sup.tail() == Some(slot);
            self.sup.to_head(&mut self.links, slot);
            if was_last {
                self.prune();
            }
        } else {
            self.filter.unlink(&mut self.links, slot);
            self.sup.push_head(&mut self.links, slot);
            self.keep_quota();
        }
    }

    /// Records that `block`, which is in no slot, is written elsewhere: it becomes a shadow, unless
    /// it is a ghost, which it stays.
    pub(super) fn pass_by(&mut self, block: Block) {
        match self.look(block) {
            Seen::Past(Role::Ghost) => return,
            Seen::Past(_) => self.recall(block),
            _ => {}
        }
        let time = self.tick();
        self.remember(Record::new(block, Role::Shadow, time));
    }

    /// Forgets `block`: it returns, or was trimmed.
    pub(super) fn recall(&mut self, block: Block) {
        if let Some(id) = self.find(block).filter(|&id| id >= self.sizes.slots) {
            self.forget(id);
        }
    }

    /// Returns the slot to evict next: the LRU end of the filter list. If no block is LUP, the last
    /// SUP block becomes so.
    pub(super) fn victim(&mut self) -> Option<u32> {
        if self.filter.is_empty() {
            self.demote();
        }
        self.filter.tail()
    }

    /// Evicts the block in `slot`, which becomes a ghost if it is on the resident list.
    pub(super) fn evict(&mut self, slot: u32) {
        let record = self.residents[slot as usize];
        self.vacate(slot);
        if record.time() > self.floor {
            self.remember(record.with(Role::Ghost, record.time()));
        }
    }

    /// Removes the block in `slot`, and forgets it.
    pub(super) fn vacate(&mut self, slot: u32) {
        let record = core::mem::replace(&mut self.residents[slot as usize], Record::NONE);
        self.index.remove(hash(record.block().0), slot);
        if record.role() == Role::Sup {
            let was_last = self.sup.tail() == Some(slot);
            self.sup.unlink(&mut self.links, slot);
            if was_last {
                self.floor = record.time();
                self.prune();
            }
        } else {
            self.filter.unlink(&mut self.links, slot);
        }
        self.free.push_head(&mut self.links, slot);
    }

    /// Demotes the last SUP blocks to LUP until their number is allowed.
    fn keep_quota(&mut self) {
        while self.sup.len() > self.sup_max {
            self.demote();
        }
    }

    /// Demotes the last SUP block to LUP, which removes it from the resident list and prunes that.
    fn demote(&mut self) {
        let Some(slot) = self.sup.pop_tail(&mut self.links) else { return };
        let record = self.residents[slot as usize];
        self.residents[slot as usize] = record.with(Role::Lup, record.time());
        if self.sizes.demote_to_mru {
            self.filter.push_head(&mut self.links, slot);
        } else {
            self.filter.push_tail(&mut self.links, slot);
        }
        self.floor = record.time();
        self.prune();
    }

    /// Prunes the resident list, so that it ends with a SUP block.
    fn prune(&mut self) {
        if let Some(last) = self.sup.tail() {
            self.floor = self.residents[last as usize].time();
        }
    }

    // ── History ──────────────────────────────────────────────────────────────────────────────

    fn remember(&mut self, record: Record) {
        if self.history.is_full() {
            self.make_room();
        }
        if self.history.capacity() > 0 {
            let at = self.history.push(record);
            self.index.insert(hash(record.block().0), self.sizes.slots + at);
        }
    }

    /// Makes room for one more record in the history: removes holes and pruned records first, then
    /// the oldest.
    fn make_room(&mut self) {
        while let Some(oldest) = self.history.oldest_record() {
            let pruned = self.history.get(oldest).time() <= self.floor;
            if !pruned && (!self.history.is_full() || self.sizes.grows && self.grow()) {
                return;
            }
            self.forget(self.sizes.slots + oldest);
        }
    }

    /// Doubles the history, if so many places can be numbered.
    fn grow(&mut self) -> bool {
        let capacity = 2 * u64::from(self.history.capacity());
        let ids = u64::from(self.sizes.slots) + capacity;
        if ids > IDS_MAX {
            return false;
        }
        self.history.grow(capacity as u32);
        self.index = Index::new(ids as usize, ids as usize);
        for (slot, record) in (0u32..).zip(&self.residents) {
            if *record != Record::NONE {
                self.index.insert(hash(record.block().0), slot);
            }
        }
        for (at, record) in self.history.iter() {
            self.index.insert(hash(record.block().0), self.sizes.slots + at);
        }
        true
    }

    fn forget(&mut self, id: u32) {
        self.index.remove(hash(self.record(id).block().0), id);
        self.history.remove(id - self.sizes.slots);
    }

    // ── Time ─────────────────────────────────────────────────────────────────────────────────

    /// Returns the time of this update.
    fn tick(&mut self) -> u32 {
        if self.clock == TIME_MAX {
            self.renumber();
        }
        self.clock += 1;
        self.clock
    }

    /// Renumbers times from 1, in the same order: once in 268 million updates.
    fn renumber(&mut self) {
        let live = self.residents.iter().copied().filter(|record| *record != Record::NONE);
        let past = self.history.iter().map(|(_, record)| record);
        let mut times: Vec<u32> = live.chain(past).map(Record::time).collect();
        times.sort_unstable();
        let rank = |time: u32| times.partition_point(|&other| other <= time) as u32;
        for record in self.residents.iter_mut().filter(|record| **record != Record::NONE) {
            *record = record.with(record.role(), rank(record.time()));
        }
        self.history.retime(rank);
        self.floor = rank(self.floor);
        self.clock = times.len() as u32;
        assert!(self.clock < TIME_MAX, "more blocks than times");
    }

    // ── For reports and tests ────────────────────────────────────────────────────────────────

    pub(super) fn bytes(&self) -> usize {
        self.residents.capacity() * size_of::<Record>()
            + self.history.bytes()
            + self.index.bytes()
            + self.links.bytes()
    }

    /// Panics if lists, slots and index disagree.
    pub(super) fn check(&self) {
        for list in [&self.sup, &self.filter, &self.free] {
            list.check(&self.links);
        }
        assert!(self.sup.len() <= self.sup_max, "more SUP blocks than may be");
        for (list, role) in [(&self.sup, Role::Sup), (&self.filter, Role::Lup)] {
            for slot in list.from_tail(&self.links) {
                let (block, found) = self.resident(slot).expect("a slot on a list is empty");
                assert_eq!((found, self.slot(block)), (role, Some(slot)));
            }
        }
        let times = self.sup.from_tail(&self.links).map(|slot| self.record(slot).time());
        assert!(times.is_sorted(), "SUP blocks are not in the order of their updates");
        for (at, record) in self.history.iter() {
            assert!(matches!(record.role(), Role::Ghost | Role::Shadow));
            assert_eq!(self.find(record.block()), Some(self.sizes.slots + at));
        }
    }

    /// Returns the paper's lists, from the LRU end: filter list, and resident list.
    #[cfg(test)]
    pub(super) fn lists(&self) -> (Vec<Block>, Vec<(Block, Role)>) {
        let filter =
            self.filter.from_tail(&self.links).map(|slot| self.record(slot).block()).collect();
        let live = self.residents.iter().copied().filter(|record| *record != Record::NONE);
        let past = self.history.iter().map(|(_, record)| record);
        let mut resident: Vec<Record> = live
            .chain(past)
            .filter(|record| record.role() == Role::Sup || record.time() > self.floor)
            .collect();
        resident.sort_by_key(|record| record.time());
        (filter, resident.iter().map(|record| (record.block(), record.role())).collect())
    }

    /// Makes the next update renumber times.
    #[cfg(test)]
    pub(super) fn run_out_of_time(&mut self) {
        self.clock = TIME_MAX;
    }
}
