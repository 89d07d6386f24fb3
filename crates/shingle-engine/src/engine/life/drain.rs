//! Everything dirty goes to the disk: in some modes, when the SSD has failed, and if an operator wants it.

use std::collections::VecDeque;

use shingle_core::plan::Destage;
use shingle_core::units::{Block, Nanos};

use super::super::contents::Contents;

/// Blocks that are destaged at a time when everything has to be.
const AT_A_TIME: usize = 1024;
/// Nothing but what cannot be destaged now: it is looked again later.
const LATER: Nanos = Nanos::from_millis(100);

/// What is left of a way through all dirty blocks, in the order of their addresses.
#[derive(Clone, Default)]
pub(in super::super) struct Drain {
    wanted: bool,
    left: VecDeque<Destage>,
    /// Not to be looked for again before.
    not_before: Nanos,
}

impl Drain {
    /// An operator wants it, or no more.
    pub(in super::super) fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    pub(in super::super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// There may be other blocks now: they are looked for at once.
    pub(in super::super) fn look_again(&mut self) {
        self.not_before = Nanos::ZERO;
    }

    /// What it knows of slots does not hold any more.
    pub(in super::super) fn forget(&mut self) {
        self.left.clear();
        self.look_again();
    }

    /// Whether there may be something to plan now, while so many are under way.
    pub(in super::super) fn may_go_on(
        &self,
        contents: &Contents,
        under_way: usize,
        now: Nanos,
    ) -> bool {
        match self.left.is_empty() {
            true => under_way == 0 && contents.dirty_blocks() > 0 && now >= self.not_before,
            false => under_way < AT_A_TIME,
        }
    }

    /// Looks for dirty blocks that `may` be destaged, if none are left, and none are on their way.
    pub(in super::super) fn find(
        &mut self,
        contents: &Contents,
        none_under_way: bool,
        now: Nanos,
        may: impl Fn(Block) -> bool,
    ) {
        let looks = contents.dirty_blocks() > 0 && none_under_way && now >= self.not_before;
        if self.left.is_empty() && looks {
            let left = contents.dirty(may);
            self.not_before = if left.is_empty() { now + LATER } else { Nanos::ZERO };
            self.left = left.into();
        }
    }

    /// The next blocks that go to the disk, while `under_way` are; nothing if there are enough, or none left.
    pub(in super::super) fn next_group(
        &mut self,
        contents: &mut Contents,
        under_way: usize,
    ) -> Option<Vec<Destage>> {
        if under_way >= AT_A_TIME || self.left.is_empty() {
            return None;
        }
        let mut group = Vec::new();
        while group.len() < AT_A_TIME / 2
            && let Some(destage) = self.left.pop_front()
        {
            let there = contents.lookup(destage.block) == Some(destage.slot);
            if there && contents.begin_destage(destage.slot) {
                group.push(destage);
            }
        }
        Some(group)
    }
}

#[cfg(feature = "bugs")]
impl Drain {
    /// All of it.
    pub(in super::super) fn hash_state<H: std::hash::Hasher>(
        &self,
        view: &super::super::state::View,
        into: &mut H,
    ) {
        use std::hash::Hash;

        let Drain { wanted, left, not_before } = self;
        (wanted, left.len(), view.ahead(*not_before)).hash(into);
        left.iter().for_each(|destage| destage.block.hash(into));
    }
}
