//! Pages as numbers: equal pages have the same number, so that the copy of a world takes a word a
//! page.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hasher as _;
use std::ops::Range;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::{Data, Device};
use shingle_testbed::explore::Digest;

/// A page, as its number in the table of this thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Cell(u32);

/// Most pages are metadata of a small world, and zero except for a few of these.
const CHUNK_BYTES: usize = 64;

/// The index and contents of a chunk that is not zero.
type Chunk = (u8, [u8; CHUNK_BYTES]);

struct Met {
    /// Each page with its checksum.
    pages: Vec<(Vec<Chunk>, u32)>,
    numbers: HashMap<(u64, u32), u32>,
}

impl Default for Met {
    fn default() -> Met {
        let mut met = Met { pages: Vec::new(), numbers: HashMap::new() };
        assert_eq!(met.number(&[0; PAGE_BYTES]), Cell::ZEROS.0, "the first");
        met
    }
}

impl Met {
    fn number(&mut self, page: &Page) -> u32 {
        let mut digest = Digest::default();
        let (words, _) = page.as_chunks::<8>();
        words.iter().for_each(|word| digest.write_u64(u64::from_le_bytes(*word)));
        let crc = crc32c::crc32c(page);
        let next = self.pages.len() as u32;
        let number = *self.numbers.entry((digest.finish(), crc)).or_insert(next);
        if number == next {
            let (chunks, _) = page.as_chunks::<CHUNK_BYTES>();
            let chunks = (0..).zip(chunks).filter(|(_, chunk)| **chunk != [0; CHUNK_BYTES]);
            self.pages.push((chunks.map(|(at, chunk)| (at, *chunk)).collect(), crc));
        }
        number
    }
}

thread_local! {
    static MET: RefCell<Met> = RefCell::default();
}

impl Cell {
    /// A page of zeros: number 0 on every thread.
    pub(crate) const ZEROS: Cell = Cell(0);

    pub(crate) fn of(page: &Page) -> Cell {
        Cell(MET.with_borrow_mut(|met| met.number(page)))
    }

    pub(crate) fn page(self) -> Page {
        MET.with_borrow(|met| {
            let mut page = [0; PAGE_BYTES];
            for (at, chunk) in &met.pages[self.0 as usize].0 {
                page[usize::from(*at) * CHUNK_BYTES..][..CHUNK_BYTES].copy_from_slice(chunk);
            }
            page
        })
    }

    /// A torn write of `new` over this page: only `bytes` of it have arrived. On an SSD all pages
    /// have a checksum, and all pages with a wrong checksum are equal.
    pub(crate) fn torn(self, new: Cell, bytes: usize, device: Device) -> Cell {
        let mut page = self.page();
        page[..bytes].copy_from_slice(&new.page()[..bytes]);
        match Cell::of(&page) {
            torn if torn == self || torn == new || device == Device::Disk => torn,
            _ => Cell::damaged(),
        }
    }

    /// A page with a wrong checksum, which stands for all of these.
    fn damaged() -> Cell {
        Cell::of(&[0xDA; PAGE_BYTES])
    }

    /// Flips a bit in the middle.
    pub(crate) fn flipped(self) -> Cell {
        let mut page = self.page();
        page[PAGE_BYTES / 2] ^= 1;
        Cell::of(&page)
    }
}

/// The data of a command: the part of each block that counts, as it is in a page.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Pieces {
    pub(crate) bytes: u64,
    pub(crate) cells: Vec<Cell>,
}

/// The index of the block at byte `at` of a command: the first block may be a part of one.
fn piece(at: usize) -> usize {
    at.div_ceil(PAGE_BYTES)
}

impl Data for Cell {
    type Payload = Pieces;

    fn zeroed() -> Cell {
        Cell::ZEROS
    }

    fn room(bytes: u64) -> Pieces {
        let cells = vec![Cell::ZEROS; piece(bytes as usize) + 1];
        Pieces { bytes, cells }
    }

    fn fits(payload: &Pieces, bytes: u64) -> bool {
        payload.bytes == bytes
    }

    fn write(&mut self, part: Range<usize>, payload: &Pieces, at: usize) {
        let new = payload.cells[piece(at)];
        *self = if part.len() == PAGE_BYTES { new } else { merged(*self, new, part) };
    }

    fn clear(&mut self, part: Range<usize>) {
        *self = merged(*self, Cell::ZEROS, part);
    }

    fn read(&self, part: Range<usize>, payload: &mut Pieces, at: usize) {
        payload.cells[piece(at)] = merged(Cell::ZEROS, *self, part);
    }

    fn crc(&self) -> u32 {
        MET.with_borrow(|met| met.pages[self.0 as usize].1)
    }

    fn set_page(&mut self, page: &Page) {
        *self = Cell::of(page);
    }
}

fn merged(old: Cell, new: Cell, part: Range<usize>) -> Cell {
    if part.len() == PAGE_BYTES {
        return new;
    }
    let mut page = old.page();
    page[part.clone()].copy_from_slice(&new.page()[part]);
    Cell::of(&page)
}
