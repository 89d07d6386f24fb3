//! The layout of the SSD.

use super::table::ENTRIES;
use super::{Frame, PAGE_BYTES};

/// The highest number of frames of one SSD: their numbers have 32 bits.
pub(crate) const FRAMES_MAX: u64 = u32::MAX as u64;

/// With fewer pages of journal a cache would wait for its own metadata.
pub(crate) const JOURNAL_PAGES_MIN: u64 = 64;

/// With more pages a restart only takes longer: 3.9 million records.
pub(crate) const JOURNAL_PAGES_MAX: u64 = 16 << 10;

/// Spare frames: a write goes to a free frame, and the superseded one is free only when that is
/// durable. One frame in this many is spare, and at least [`SPARE_FRAMES_MIN`].
const SPARE_ONE_IN: u64 = 32;

/// The fewest spare frames.
pub(crate) const SPARE_FRAMES_MIN: u64 = 1024;

/// One page of journal for this many pages of data: enough for a few seconds of small writes.
const JOURNAL_ONE_IN: u64 = 512;

/// The smallest number of slots of a cache.
pub const SLOTS_MIN: u64 = 1024;

/// The numbers of pages of each part of an SSD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Pages of each copy of the journal; it begins behind the two superblocks.
    pub journal_pages: u64,
    /// Pages of each copy of the table.
    pub table_pages: u64,
    /// Frames.
    pub frames: u64,
    /// The number of blocks that the cache can hold: fewer than frames.
    pub slots: u64,
}

/// The superblocks are pages 0 and 1.
pub const SUPERBLOCKS: u64 = 2;

/// The copies of metadata: everything is stored twice, so that damage in one place loses nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Copy {
    /// Normally written first.
    One,
    /// Written when the first copy is durable, except for pages of the journal, which are written
    /// together. If only this copy is good, the order is reversed.
    Two,
}

impl Copy {
    /// Both copies.
    pub const BOTH: [Copy; 2] = [Copy::One, Copy::Two];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Copy {
        match self {
            Copy::One => Copy::Two,
            Copy::Two => Copy::One,
        }
    }

    /// The offset of this copy, if a copy has this many pages.
    fn of(self, pages: u64) -> u64 {
        match self {
            Copy::One => 0,
            Copy::Two => pages,
        }
    }

    /// The page of this superblock.
    #[must_use]
    pub fn superblock_page(self) -> u64 {
        self.of(1)
    }
}

impl Layout {
    /// The layout of an SSD of `bytes`; `None` if it is too small for [`SLOTS_MIN`] slots.
    #[must_use]
    pub fn for_ssd(bytes: u64) -> Option<Layout> {
        let pages = bytes / PAGE_BYTES as u64;
        let journal_pages = (pages / JOURNAL_ONE_IN).clamp(JOURNAL_PAGES_MIN, JOURNAL_PAGES_MAX);
        let rest = pages.checked_sub(SUPERBLOCKS + 2 * journal_pages)?;
        // Each page of the table and its copy describe ENTRIES frames.
        let entries = ENTRIES as u64;
        let frames = (rest * entries / (entries + 2)).min(FRAMES_MAX);
        let table_pages = frames.div_ceil(entries);
        // Rounding up the table may have taken more pages than there are.
        let frames = frames.min(rest.checked_sub(2 * table_pages)?);
        let table_pages = frames.div_ceil(entries);
        let slots = frames.checked_sub((frames / SPARE_ONE_IN).max(SPARE_FRAMES_MIN))?;
        (slots >= SLOTS_MIN).then_some(Layout { journal_pages, table_pages, frames, slots })
    }

    /// The size of the smallest SSD that has a layout.
    #[must_use]
    pub fn ssd_bytes_min() -> u64 {
        Layout::for_slots(SLOTS_MIN).pages() * PAGE_BYTES as u64
    }

    /// The layout for exactly this many slots, on an SSD of the matching size.
    #[must_use]
    pub fn for_slots(slots: u64) -> Layout {
        let spare = (slots / (SPARE_ONE_IN - 1)).max(SPARE_FRAMES_MIN);
        let frames = slots + spare;
        let table_pages = frames.div_ceil(ENTRIES as u64);
        let journal_pages = (frames / JOURNAL_ONE_IN).clamp(JOURNAL_PAGES_MIN, JOURNAL_PAGES_MAX);
        Layout { journal_pages, table_pages, frames, slots }
    }

    /// Whether the layout is possible on an SSD of `bytes`. Checks a superblock that was read.
    #[must_use]
    pub fn is_sound(&self, bytes: u64) -> bool {
        let parts = [SUPERBLOCKS, self.journal_pages, self.table_pages, self.frames];
        parts.iter().all(|&pages| 0 < pages && pages <= FRAMES_MAX)
            && self.pages() <= bytes / PAGE_BYTES as u64
            && self.table_pages == self.frames.div_ceil(ENTRIES as u64)
            && self.slots < self.frames
    }

    /// The page of a copy of journal page `number`, from 1.
    #[must_use]
    pub fn journal_page(&self, number: u64, copy: Copy) -> u64 {
        SUPERBLOCKS + copy.of(self.journal_pages) + (number - 1) % self.journal_pages
    }

    /// The page of a copy of table page `place`.
    #[must_use]
    pub fn table_page(&self, place: u32, copy: Copy) -> u64 {
        assert!(u64::from(place) < self.table_pages, "there is no such page");
        SUPERBLOCKS + 2 * self.journal_pages + copy.of(self.table_pages) + u64::from(place)
    }

    /// The page of a frame.
    #[must_use]
    pub fn frame_page(&self, frame: Frame) -> u64 {
        assert!(u64::from(frame.0) < self.frames, "there is no such frame");
        SUPERBLOCKS + 2 * (self.journal_pages + self.table_pages) + u64::from(frame.0)
    }

    /// The page of the table that has the entry of a frame, and the place of the entry on that
    /// page.
    #[must_use]
    pub fn entry(frame: Frame) -> (u32, usize) {
        (frame.0 / ENTRIES as u32, frame.0 as usize % ENTRIES)
    }

    /// The number of pages in all.
    #[must_use]
    pub fn pages(&self) -> u64 {
        SUPERBLOCKS + 2 * (self.journal_pages + self.table_pages) + self.frames
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ssd_that_is_too_small_is_refused() {
        assert_eq!(Layout::for_ssd(0), None);
        let least = Layout::ssd_bytes_min();
        assert_eq!(Layout::for_ssd(least - 1), None);
        assert_eq!(Layout::for_ssd(least).map(|least| least.slots), Some(SLOTS_MIN));
        let small = Layout::for_ssd(16 << 20).expect("large enough");
        assert_eq!((small.journal_pages, small.frames - small.slots), (64, SPARE_FRAMES_MIN));
    }

    proptest! {
        /// Parts neither overlap nor pass the end, and little is left unused.
        #[test]
        fn parts_lie_one_behind_the_other(bytes in (16_u64 << 20)..(20 << 40)) {
            let layout = Layout::for_ssd(bytes).expect("large enough");
            let pages = bytes / PAGE_BYTES as u64;
            prop_assert!(layout.pages() <= pages && layout.is_sound(bytes));
            prop_assert!(!layout.is_sound(layout.pages() * PAGE_BYTES as u64 - 1));
            prop_assert!(layout.frames == FRAMES_MAX || pages - layout.pages() <= 5);
            prop_assert!(layout.table_pages * ENTRIES as u64 >= layout.frames);
            prop_assert!(layout.slots < layout.frames);
            let last = |pages: u64| pages - 1;
            let journal = |number, copy| layout.journal_page(number, copy);
            let end = layout.journal_pages;
            prop_assert_eq!(journal(1, Copy::One), Copy::Two.superblock_page() + 1);
            prop_assert_eq!(journal(end, Copy::One) + 1, journal(1, Copy::Two));
            prop_assert_eq!(journal(end, Copy::Two) + 1, layout.table_page(0, Copy::One));
            let place = last(layout.table_pages) as u32;
            let table = |place, copy| layout.table_page(place, copy);
            prop_assert_eq!(table(place, Copy::One) + 1, table(0, Copy::Two));
            prop_assert_eq!(table(place, Copy::Two) + 1, layout.frame_page(Frame(0)));
            let frame = Frame(last(layout.frames) as u32);
            prop_assert_eq!(layout.frame_page(frame) + 1, layout.pages());
            prop_assert_eq!(journal(end + 1, Copy::Two), journal(1, Copy::Two));
        }
    }
}
