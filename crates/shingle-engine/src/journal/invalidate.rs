//! The last superblock of an SSD that fails: what the SSD holds is not valid any more, as writes go
//! past it.

use shingle_core::units::Block;

use super::{Journal, PageKind, Write};
use crate::format::State;
use crate::format::layout::Copy;
use crate::format::superblock::Superblock;

/// What an SSD may hold when it is read the next time, whichever writes in flight arrive. Both
/// lists are sorted.
#[derive(Clone, Default, Debug)]
pub(crate) struct PossibleContents {
    /// Clean blocks. A block may be in both lists.
    pub clean: Vec<Block>,
    /// Dirty blocks.
    pub dirty: Vec<Block>,
}

impl Journal {
    /// What the SSD may hold at the next start.
    #[must_use]
    pub(crate) fn possible_contents(&self) -> PossibleContents {
        let mut held = PossibleContents::default();
        let committed = self.table.entries().iter().map(|entry| (entry.block, entry.state));
        let sealed = self.sealed.iter().flat_map(|page| &page.records);
        for (block, state) in committed.chain(sealed.map(|record| (record.block, record.state))) {
            match state {
                State::Clean => held.clean.push(block),
                State::Dirty => held.dirty.push(block),
                State::Free | State::Superseded => {}
            }
        }
        held.clean.sort_unstable();
        held.dirty.sort_unstable();
        held
    }

    /// Encodes a superblock that invalidates the clean blocks, and with `dirty_too` everything: two
    /// copies, the second to be written when the first is flushed. No page of metadata may be in
    /// flight, and none may follow: the journal has ended.
    pub fn invalidate(&mut self, dirty_too: bool) -> [Write; 2] {
        let on_its_way = self.pairs.iter().find_map(|page| match page.what {
            PageKind::Superblock(copy) => Some(copy),
            _ => None,
        });
        // The copy known to be good stays until the other one is written.
        let first = on_its_way.or(self.uneven).unwrap_or(Copy::One);
        let edition = self.next_superblock.as_ref().unwrap_or(&self.superblock).edition + 1;
        let from = |too: bool, before: u64| if too { self.next } else { before };
        let superblock = Superblock {
            edition,
            clean: false,
            clean_from: self.next,
            dirty_from: from(dirty_too, self.superblock.dirty_from),
            ..self.superblock.clone()
        };
        let bytes = self.bytes(|| superblock.encode());
        self.superblock = superblock;
        self.next_superblock = None;
        self.pairs.clear();
        [first, first.other()].map(|copy| {
            let what = PageKind::Superblock(copy);
            Write { what, page: self.page_of(what), bytes: bytes.clone() }
        })
    }
}
