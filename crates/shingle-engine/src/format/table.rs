//! Pages of the frame table: what each frame held when the page was last written.

use shingle_core::units::Block;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::head::Head;
use super::{Owner, PAGE_BYTES, Page, State, Unusable, packed, unpacked};

const MAGIC: u32 = u32::from_le_bytes(*b"STBL");

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    head: Head,
    place: U32,
    zero: U32,
    edition: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RawEntry {
    word: U64,
    sequence: U64,
    crc: U32,
}

const HEADER_BYTES: usize = size_of::<Header>();
const ENTRY_BYTES: usize = size_of::<RawEntry>();

/// The number of entries on a page.
pub const ENTRIES: usize = (PAGE_BYTES - HEADER_BYTES) / ENTRY_BYTES;

/// The entry of a frame in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The block it holds, or held.
    pub block: Block,
    /// The state of the frame.
    pub state: State,
    /// Roughly when the block was last used: higher is later.
    pub hint: u16,
    /// The sequence number of the record that set it; 0 if there was none.
    pub sequence: u64,
    /// CRC32C of its data.
    pub crc: u32,
}

impl Entry {
    /// A frame that was never used.
    pub const UNUSED: Entry =
        Entry { block: Block(0), state: State::Free, hint: 0, sequence: 0, crc: 0 };
}

/// A page of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablePage {
    /// The place of the page in the table, from 0.
    pub place: u32,
    /// Which write of the page this is, from 1.
    pub edition: u64,
    /// The entries of [`ENTRIES`] frames.
    pub entries: Vec<Entry>,
}

impl TablePage {
    /// A page without any entry in use. If it was not written when the cache was created, the SSD
    /// has zeros there.
    #[must_use]
    pub fn unused(place: u32) -> TablePage {
        TablePage { place, edition: 0, entries: vec![Entry::UNUSED; ENTRIES] }
    }

    /// Encodes the page for the SSD.
    #[must_use]
    pub fn encode(&self, owner: Owner) -> Page {
        assert_eq!(self.entries.len(), ENTRIES, "a page is whole");
        let mut page = [0; PAGE_BYTES];
        let header = Header {
            head: Head::new(MAGIC, owner),
            place: self.place.into(),
            zero: 0.into(),
            edition: self.edition.into(),
        };
        page[..HEADER_BYTES].copy_from_slice(header.as_bytes());
        let places = page[HEADER_BYTES..].chunks_exact_mut(ENTRY_BYTES);
        for (place, entry) in places.zip(&self.entries) {
            let raw = RawEntry {
                word: packed(entry.block, entry.state, entry.hint).into(),
                sequence: entry.sequence.into(),
                crc: entry.crc.into(),
            };
            place.copy_from_slice(raw.as_bytes());
        }
        Head::seal(&mut page);
        page
    }

    /// Decodes page `place` of the table.
    ///
    /// # Errors
    /// If it is not this page of this cache's table, or damaged.
    pub fn decode(page: &Page, owner: Owner, place: u32) -> Result<TablePage, Unusable> {
        let mut entries = Vec::with_capacity(ENTRIES);
        let edition = TablePage::decode_into(page, owner, place, &mut entries)?;
        Ok(TablePage { place, edition, entries })
    }

    /// Decodes a page and appends its entries to `into`, as there are millions. Returns its
    /// edition.
    pub(crate) fn decode_into(
        page: &Page,
        owner: Owner,
        place: u32,
        into: &mut Vec<Entry>,
    ) -> Result<u64, Unusable> {
        if *page == [0; PAGE_BYTES] {
            into.extend([Entry::UNUSED; ENTRIES]);
            return Ok(0);
        }
        let (header, rest) = Header::ref_from_prefix(page).expect("a page is longer");
        header.head.check(page, MAGIC, owner)?;
        if header.place.get() != place {
            // The page was written to the wrong address.
            return Err(Unusable::Foreign);
        }
        let edition = header.edition.get();
        // The next edition needs a number.
        if edition == u64::MAX {
            return Err(Unusable::Nonsense);
        }
        let mut makes_sense = true;
        into.extend(rest.chunks_exact(ENTRY_BYTES).map(|bytes| {
            let raw = RawEntry::ref_from_bytes(bytes).expect("as long as an entry");
            match unpacked(raw.word.get()) {
                // Only records have this state: a superseded frame is free.
                None | Some((_, State::Superseded, _)) => {
                    makes_sense = false;
                    Entry::UNUSED
                }
                Some((block, state, hint)) => {
                    let (sequence, crc) = (raw.sequence.get(), raw.crc.get());
                    Entry { block, state, hint, sequence, crc }
                }
            }
        }));
        if !makes_sense {
            into.truncate(into.len() - ENTRIES);
            return Err(Unusable::Nonsense);
        }
        Ok(edition)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWNER: Owner = Owner(77);

    fn page(place: u32, edition: u64) -> TablePage {
        let entry = |n: usize| Entry {
            block: Block(n as u64 * 999_983),
            state: [State::Free, State::Clean, State::Dirty][n % 3],
            hint: n as u16 * 300,
            sequence: n as u64 * edition,
            crc: n as u32,
        };
        TablePage { place, edition, entries: (0..ENTRIES).map(entry).collect() }
    }

    #[test]
    fn a_page_is_laid_out_as_documented() {
        assert_eq!((HEADER_BYTES, ENTRY_BYTES, ENTRIES), (32, 20, 203));
        let bytes = page(9, 4).encode(OWNER);
        assert_eq!(&bytes[..4], b"STBL");
        assert_eq!(bytes[16..20], 9_u32.to_le_bytes());
        assert_eq!(bytes[24..32], 4_u64.to_le_bytes());
        // The second entry: block 999,983, clean, hint 300, sequence 4, crc 1.
        assert_eq!(bytes[52..60], (999_983_u64 | 1 << 44 | 300 << 48).to_le_bytes());
        assert_eq!(bytes[60..68], 4_u64.to_le_bytes());
        assert_eq!(bytes[68..72], 1_u32.to_le_bytes());
    }

    #[test]
    fn a_page_at_the_wrong_place_is_not_used() {
        let bytes = page(9, 4).encode(OWNER);
        assert_eq!(TablePage::decode(&bytes, OWNER, 8), Err(Unusable::Foreign));
        assert_eq!(TablePage::decode(&bytes, Owner(78), 9), Err(Unusable::Foreign));
    }

    /// Such an entry would be taken for a block that is cached.
    #[test]
    fn what_only_a_record_says_makes_no_sense() {
        let mut given_up = page(9, 4);
        given_up.entries[7].state = State::Superseded;
        let last = TablePage { edition: u64::MAX, ..page(9, 4) };
        for page in [given_up, last] {
            let bytes = page.encode(OWNER);
            assert_eq!(TablePage::decode(&bytes, OWNER, 9), Err(Unusable::Nonsense));
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(place in any::<u32>(), edition in 1..1_u64 << 50) {
            let page = page(place, edition);
            prop_assert_eq!(TablePage::decode(&page.encode(OWNER), OWNER, place), Ok(page));
        }

        /// No flipped bit goes unnoticed.
        #[test]
        fn damage_is_found(at in 0..PAGE_BYTES * 8) {
            let mut bytes = page(3, 6).encode(OWNER);
            bytes[at / 8] ^= 1 << (at % 8);
            prop_assert!(TablePage::decode(&bytes, OWNER, 3).is_err());
        }
    }
}
