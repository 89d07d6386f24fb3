//! Room for what is not in its band yet, and what a block takes of it at least.

/// Where data can be until its band is rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Slots of the cache.
    pub cache: u64,
    /// Entries of the map of the disk's buffer.
    pub entries: u64,
    /// Blocks of log that the buffer has.
    pub log: u64,
    /// Neighbours of which one entry holds so many at most.
    pub run_max: u64,
}

/// Prices of an entry and of a block of log, in slots of the cache. With any such prices the relaxation is a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Form {
    entry: f64,
    block: f64,
}

/// Prices of entries that are tried: a single block is dear in a buffer of few entries, a long run is not.
const ENTRIES: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 128.0];
/// Prices of blocks of log that are tried with them.
const BLOCKS: [f64; 3] = [1.0, 0.25, 0.0625];

impl Room {
    /// A cache, and a buffer in which each block takes a place.
    #[must_use]
    pub fn of_blocks(cache: u64, buffer: u64) -> Room {
        Room { cache, entries: buffer, log: buffer, run_max: 1 }
    }

    /// All there is, in slots of the cache.
    pub(super) fn at(&self, form: Form) -> f64 {
        self.cache as f64 + form.entry * self.entries as f64 + form.block * self.log as f64
    }

    /// Whether its map is what may fill first.
    fn by_entries(&self) -> bool {
        self.run_max > 1 && self.entries < self.log
    }

    /// Forms to begin with.
    pub(super) fn forms(&self) -> Vec<Form> {
        let blocks = Form { entry: 0.0, block: 1.0 };
        let entries = ENTRIES.iter().map(|&entry| Form { entry, block: 0.0 });
        let entries = entries.filter(|_| self.by_entries());
        std::iter::once(blocks).chain(entries).collect()
    }
}

impl Form {
    /// Forms with the same price of entries, and one of blocks.
    pub(super) fn and_blocks(self) -> impl Iterator<Item = Form> {
        BLOCKS
            .into_iter()
            .filter(move |_| self.entry > 0.0)
            .map(move |block| Form { block, ..self })
    }

    /// What a block takes at least that can be in a run of so many, in slots of the cache: it is in the cache, or in the
    /// buffer with a part of an entry.
    pub(super) fn of_run(self, run: u64) -> f64 {
        (self.entry / run as f64 + self.block).min(1.0)
    }
}
