//! The place of each block of the host: five bytes per block, in pages that are allocated once one
//! of their blocks is written.

use super::packed::{NONE, Packed};

/// Blocks of a page: 8 MiB of the host's addresses.
const PAGE: u64 = 2048;

#[derive(Clone, Debug)]
pub(super) struct Map {
    blocks: u64,
    pages: Vec<Option<Box<Packed>>>,
    memory_bytes: u64,
}

impl Map {
    pub(super) fn new(blocks: u64) -> Map {
        let pages = vec![None; blocks.div_ceil(PAGE) as usize];
        let memory_bytes = (pages.capacity() * size_of::<Option<Box<Packed>>>()) as u64;
        Map { blocks, pages, memory_bytes }
    }

    /// Returns the number of blocks that the host may address.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the place of `block`, counted from the start of the sequential zones.
    #[inline]
    pub(super) fn get(&self, block: u64) -> Option<u64> {
        let page = self.pages[(block / PAGE) as usize].as_ref()?;
        Some(page.get(block % PAGE)).filter(|&place| place != NONE)
    }

    #[inline]
    pub(super) fn set(&mut self, block: u64, place: u64) {
        let page = &mut self.pages[(block / PAGE) as usize];
        if page.is_none() {
            let new = Packed::none(PAGE as usize);
            self.memory_bytes += new.memory_bytes() + size_of::<Packed>() as u64;
            *page = Some(Box::new(new));
        }
        page.as_mut().expect("it is there now").set(block % PAGE, place);
    }

    /// Removes `count` blocks from `block` on; `forgot` is called with the places of those that
    /// were written.
    pub(super) fn forget(&mut self, block: u64, count: u64, mut forgot: impl FnMut(u64)) {
        let end = block + count;
        let mut at = block;
        while at < end {
            let next = ((at / PAGE + 1) * PAGE).min(end);
            if let Some(page) = &mut self.pages[(at / PAGE) as usize] {
                for block in at..next {
                    let place = page.get(block % PAGE);
                    if place != NONE {
                        page.set(block % PAGE, NONE);
                        forgot(place);
                    }
                }
            }
            at = next;
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}
