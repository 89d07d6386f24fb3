//! Applies the pages of the journal to the table, and undoes what did not arrive.

use std::collections::HashMap;

use shingle_core::units::Block;

use super::Pages;
use crate::format::journal::{JournalPage, Record, page_of, sequence};
use crate::format::layout::Layout;
use crate::format::superblock::Superblock;
use crate::format::table::Entry;
use crate::format::{Frame, PAGE_BYTES, State, Unusable};
use crate::table::set;

/// The replay of a journal.
pub(super) struct Replay<'a, P> {
    ssd: &'a mut P,
    layout: Layout,
    /// Pages up to this number are known to be flushed.
    durable: u64,
    /// The entries of all frames, by number.
    pub(super) entries: Vec<Entry>,
    /// The frames of valid records, with the number of the page.
    pub(super) touched: Vec<(Frame, u64)>,
    /// Void records that say where a block is.
    pub(super) void_records: u64,
    /// Void records, and those of frames that lose their block.
    void: Vec<Record>,
    /// For each block the last record, of pages not known to be flushed, that says where it is.
    last_of: HashMap<Block, Last>,
    /// Blocks that have left since, or that the disk has, with the sequence number of the record.
    left: Vec<(Block, u64)>,
}

/// The last record of a block on a page not known to be flushed.
struct Last {
    frame: Frame,
    valid: bool,
}

impl<'a, P: Pages> Replay<'a, P> {
    pub(super) fn new(
        ssd: &'a mut P,
        layout: Layout,
        durable: u64,
        entries: Vec<Entry>,
    ) -> Replay<'a, P> {
        Replay {
            ssd,
            layout,
            durable,
            entries,
            touched: Vec::new(),
            void_records: 0,
            void: Vec::new(),
            last_of: HashMap::new(),
            left: Vec::new(),
        }
    }

    /// Applies the next page.
    pub(super) fn page(&mut self, page: &JournalPage) -> Result<(), Unusable> {
        for (place, record) in page.records.iter().enumerate() {
            if u64::from(record.frame.0) >= self.layout.frames {
                return Err(Unusable::Nonsense);
            }
            let sequence = sequence(page.number, place);
            let is_left = |last: &Last| record.state == State::Free && last.frame == record.frame;
            if self.last_of.get(&record.block).is_some_and(is_left) {
                self.left.push((record.block, sequence));
            }
            if page.number > self.durable && !self.is_valid(record) {
                self.void(record, sequence);
                continue;
            }
            let entry = &mut self.entries[record.frame.0 as usize];
            if sequence > entry.sequence {
                set(entry, record, sequence);
            }
            self.touched.push((record.frame, page.number));
        }
        Ok(())
    }

    /// Whether a record on a page not known to be flushed is valid.
    fn is_valid(&mut self, record: &Record) -> bool {
        match record.state {
            State::Free => true,
            State::Superseded => self.last_of.get(&record.block).is_none_or(|last| last.valid),
            State::Clean | State::Dirty => {
                let mut data = [[0; PAGE_BYTES]];
                let read = self.ssd.read(self.layout.frame_page(record.frame), &mut data);
                let valid = read.is_ok() && crc32c::crc32c(&data[0]) == record.crc;
                self.last_of.insert(record.block, Last { frame: record.frame, valid });
                valid
            }
        }
    }

    fn void(&mut self, record: &Record, sequence: u64) {
        self.void_records += u64::from(matches!(record.state, State::Clean | State::Dirty));
        if record.state == State::Clean {
            // The disk has the block: another frame holds an older version at most, and this one
            // can be missed.
            self.left.push((record.block, sequence));
            let entry = &mut self.entries[record.frame.0 as usize];
            if entry.block == record.block {
                entry.state = State::Free;
            }
        }
        self.void.push(*record);
    }

    /// Leaves each block in at most one frame. A block that moved twice, with only the second move
    /// valid, is no longer in its first frame; nor is a block whose move was split (`split_move`)
    /// by the crash, which took the second record. A block that has left since is in no frame:
    /// another may have its slot, and the disk newer data.
    pub(super) fn keep_one_frame(&mut self, split_move: Option<&Record>) {
        let moved = self.void.iter().filter(|record| record.state == State::Superseded);
        let mut newest: HashMap<Block, u64> =
            moved.chain(split_move).map(|record| (record.block, 0)).collect();
        if newest.is_empty() {
            return;
        }
        for &(block, at) in &self.left {
            newest.entry(block).and_modify(|sequence| *sequence = at.max(*sequence));
        }
        for entry in self.entries.iter().filter(|entry| entry.state != State::Free) {
            if let Some(sequence) = newest.get_mut(&entry.block) {
                *sequence = entry.sequence.max(*sequence);
            }
        }
        let live = self.entries.iter_mut().zip(0..).filter(|(entry, _)| entry.state != State::Free);
        for (entry, frame) in live {
            if newest.get(&entry.block).is_some_and(|&newest| entry.sequence < newest) {
                entry.state = State::Free;
                let (frame, block) = (Frame(frame), entry.block);
                self.void.push(Record { frame, crc: 0, block, state: State::Superseded });
            }
        }
    }

    /// Removes blocks that were written past an SSD that failed.
    pub(super) fn drop_invalidated(&mut self, superblock: &Superblock) {
        if superblock.clean_from.max(superblock.dirty_from) == 0 {
            return;
        }
        for entry in &mut self.entries {
            let from = match entry.state {
                State::Clean => superblock.clean_from,
                State::Dirty => superblock.dirty_from,
                State::Free | State::Superseded => continue,
            };
            if page_of(entry.sequence) < from {
                entry.state = State::Free;
            }
        }
    }

    /// The records that correct the frames of void records. Frames that hold a block come first:
    /// the record of where a block is must stand before that of a frame that held it, which could
    /// otherwise be taken for the block's leaving.
    pub(super) fn corrections(&self) -> Vec<Record> {
        let entry = |frame: Frame| &self.entries[frame.0 as usize];
        let mut frames: Vec<Frame> = self.void.iter().map(|record| record.frame).collect();
        frames.sort_unstable_by_key(|&frame| (entry(frame).state == State::Free, frame));
        frames.dedup();
        let of = |frame| {
            let &Entry { block, state, crc, .. } = entry(frame);
            Record { frame, crc, block, state }
        };
        frames.into_iter().map(of).collect()
    }
}
