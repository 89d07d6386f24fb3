//! Draining: destages everything that is dirty, in some modes, after a failure of the SSD, or for
//! an operator.

use std::collections::VecDeque;

use shingle_core::plan::Destage;
use shingle_core::units::{Block, Nanos};

use super::super::contents::Contents;

/// How many blocks are destaged at a time.
const AT_A_TIME: usize = 1024;
/// When nothing can be destaged now, the next search comes after this.
const LATER: Nanos = Nanos::from_millis(100);

/// The rest of a pass over all dirty blocks, by address.
#[derive(Clone, Default)]
pub(in super::super) struct Drain {
    wanted: bool,
    left: VecDeque<Destage>,
    /// The next search begins at this time at the earliest.
    not_before: Nanos,
}

impl Drain {
    /// Sets whether an operator wants to drain.
    pub(in super::super) fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    pub(in super::super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Lets the next search begin at once: other blocks may be dirty now.
    pub(in super::super) fn search_again(&mut self) {
        self.not_before = Nanos::ZERO;
    }

    /// Drops what it knows of slots, which is not valid any more.
    pub(in super::super) fn forget(&mut self) {
        self.left.clear();
        self.search_again();
    }

    /// Whether destages may be planned now, with `under_way` in progress.
    pub(in super::super) fn may_continue(
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

    /// Searches for dirty blocks that `may` be destaged, if none are left or in progress.
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

    /// The next blocks to destage, with `under_way` in progress. `None` if that is enough, or none
    /// are left.
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
