//! Room for blocks that are not yet in their band, and the least room that a block takes.

/// The places where data can be until its band is rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Slots of the cache.
    pub cache: u64,
    /// Map entries of the disk's buffer.
    pub entries: u64,
    /// Log blocks of the buffer.
    pub log: u64,
    /// Most neighbouring blocks that one map entry holds.
    pub run_max: u64,
}

/// Prices of a map entry and of a log block, in cache slots. The relaxation is a bound with any
/// such prices.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Form {
    entry: f64,
    block: f64,
}

/// Prices of map entries to try: in a buffer of few entries a single block is expensive, a long run
/// is not.
const ENTRIES: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 128.0];
/// Prices of log blocks to try with each of them.
const BLOCKS: [f64; 3] = [1.0, 0.25, 0.0625];

impl Room {
    /// Returns the room of a cache and of a buffer in which each block takes a place.
    #[must_use]
    pub fn of_blocks(cache: u64, buffer: u64) -> Room {
        Room { cache, entries: buffer, log: buffer, run_max: 1 }
    }

    /// Returns all room, in cache slots.
    pub(super) fn at(&self, form: Form) -> f64 {
        self.cache as f64 + form.entry * self.entries as f64 + form.block * self.log as f64
    }

    /// Returns whether the map of the buffer may fill before its log.
    fn by_entries(&self) -> bool {
        self.run_max > 1 && self.entries < self.log
    }

    /// Returns the forms to try first.
    pub(super) fn forms(&self) -> Vec<Form> {
        let blocks = Form { entry: 0.0, block: 1.0 };
        let entries = ENTRIES.iter().map(|&entry| Form { entry, block: 0.0 });
        let entries = entries.filter(|_| self.by_entries());
        std::iter::once(blocks).chain(entries).collect()
    }
}

impl Form {
    /// Returns forms with the same price of entries and each price of blocks.
    pub(super) fn and_blocks(self) -> impl Iterator<Item = Form> {
        BLOCKS
            .into_iter()
            .filter(move |_| self.entry > 0.0)
            .map(move |block| Form { block, ..self })
    }

    /// Returns the least room, in cache slots, of a block that can be in a run of `run` blocks: it
    /// is in the cache, or in the buffer with a part of an entry.
    pub(super) fn of_run(self, run: u64) -> f64 {
        (self.entry / run as f64 + self.block).min(1.0)
    }
}
