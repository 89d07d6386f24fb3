//! The format of the SSD. docs/format.md says what stands at each byte, and why.
//!
//! ```text
//! page 0, 1       superblock, two copies, the newer valid one counts      superblock.rs
//! journal         pages in a circle: what has changed                     journal.rs
//! table, twice    an entry a frame; of each page the newer copy counts    table.rs
//! frames          4 KiB of data each
//! ```
//!
//! All numbers are little-endian. Every structure is one page of 4 KiB, carries a CRC32C of itself
//! with the CRC's field as zero, and the first eight bytes of the cache's UUID, so that pages of a
//! former cache are never taken for this one's.

mod head;
pub mod journal;
pub mod layout;
pub mod superblock;
pub mod table;

use shingle_core::units::{BLOCK_BYTES, Block};

/// Bytes of a page of metadata, and of a frame.
pub const PAGE_BYTES: usize = BLOCK_BYTES as usize;

/// One page.
pub type Page = [u8; PAGE_BYTES];

/// A frame: the place of one block on the SSD.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame(pub u32);

/// The state of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Holds nothing.
    Free,
    /// Holds a block that the disk has, too.
    Clean,
    /// Holds a block that the disk does not have.
    Dirty,
    /// Holds nothing any more, as another frame holds the block now. Occurs in the journal only,
    /// and is valid if the record of the other frame is.
    Superseded,
}

/// The limit of the numbers of journal pages: a sequence number contains a place as well, and the
/// last page needs a next number, too. No SSD lasts for as many writes.
pub(crate) const NUMBERS_END: u64 = 1 << 55;

/// Block numbers have 44 bits: 64 PiB.
pub const BLOCKS_MAX: u64 = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 44;
const STATE_BITS: u32 = 4;

/// Packs block, state and hint into one word.
fn packed(block: Block, state: State, hint: u16) -> u64 {
    assert!(block.0 < BLOCKS_MAX, "no disk is that large");
    let state = match state {
        State::Free => 0,
        State::Clean => 1,
        State::Dirty => 2,
        State::Superseded => 3,
    };
    block.0 | state << BLOCK_BITS | u64::from(hint) << (BLOCK_BITS + STATE_BITS)
}

/// Unpacks a word; `None` if the state does not exist.
fn unpacked(word: u64) -> Option<(Block, State, u16)> {
    let state = match (word >> BLOCK_BITS) & ((1 << STATE_BITS) - 1) {
        0 => State::Free,
        1 => State::Clean,
        2 => State::Dirty,
        3 => State::Superseded,
        _ => return None,
    };
    let hint = (word >> (BLOCK_BITS + STATE_BITS)) as u16;
    Some((Block(word & (BLOCKS_MAX - 1)), state, hint))
}

/// The owner of a page: the beginning of the UUID of its cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(pub u64);

/// Why a page cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Unusable {
    #[error("it is no page of this kind of this cache")]
    Foreign,
    #[error("its checksum does not fit: it was torn or damaged")]
    Damaged,
    #[error("its content makes no sense; if a newer version of shingle wrote it, use that one")]
    Nonsense,
}

/// Writes the checksum of a page into the four bytes at `at`.
pub fn seal(page: &mut Page, at: usize) {
    let crc = checksum(page, at);
    page[at..at + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The checksum (CRC32C) of a page that stores it in the four bytes at `at`.
#[must_use]
pub fn checksum(page: &Page, at: usize) -> u32 {
    let head = crc32c::crc32c(&page[..at]);
    let own = crc32c::crc32c_append(head, &[0; 4]);
    crc32c::crc32c_append(own, &page[at + 4..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_they_hold() {
        for (block, state, hint) in [
            (0, State::Free, 0),
            (BLOCKS_MAX - 1, State::Dirty, u16::MAX),
            (1 << 40, State::Clean, 7),
        ] {
            let block = Block(block);
            assert_eq!(unpacked(packed(block, state, hint)), Some((block, state, hint)));
        }
        assert_eq!(unpacked(4 << BLOCK_BITS), None);
    }
}
