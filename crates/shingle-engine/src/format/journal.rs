//! Pages of the journal: changes of what each frame holds.

use shingle_core::units::Block;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::head::Head;
use super::superblock::Superblock;
use super::{Frame, NUMBERS_END, Owner, PAGE_BYTES, Page, State, Unusable, packed, unpacked};

const MAGIC: u32 = u32::from_le_bytes(*b"SJRN");

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    head: Head,
    number: U64,
    previous: U64,
    durable: U64,
    count: U16,
    session: [u8; 6],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RawRecord {
    frame: U32,
    crc: U32,
    word: U64,
}

/// The bytes of a session number that fit on a page.
const SESSION_BYTES: usize = 6;

const HEADER_BYTES: usize = size_of::<Header>();
const RECORD_BYTES: usize = size_of::<RawRecord>();

/// The number of records on a page.
pub const RECORDS_MAX: usize = (PAGE_BYTES - HEADER_BYTES) / RECORD_BYTES;

/// A change of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// The frame.
    pub frame: Frame,
    /// The CRC32C of its data; 0 if the frame is released.
    pub crc: u32,
    /// The block that it holds, or held.
    pub block: Block,
    /// Its new state.
    pub state: State,
}

/// A page of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalPage {
    /// The number of the page, from 1.
    pub number: u64,
    /// The number of the valid page before it. Pages between the two, left by a crash, are not
    /// valid.
    pub previous: u64,
    /// All valid pages up to this number were durable when this one was written.
    pub durable: u64,
    /// The session that wrote it, of which a page holds the lower 48 bits.
    pub session: u64,
    /// The records, in order.
    pub records: Vec<Record>,
}

/// The sequence number of a record: records apply in this order.
#[must_use]
pub fn sequence(number: u64, place: usize) -> u64 {
    debug_assert!(place < RECORDS_MAX);
    number << 8 | place as u64
}

/// The number of the page that holds the record with this sequence number.
#[must_use]
pub fn page_of(sequence: u64) -> u64 {
    sequence >> 8
}

impl JournalPage {
    /// Whether the page may be valid: pages of earlier sessions are valid only below the first
    /// number of the last session.
    #[must_use]
    pub fn is_of(&self, superblock: &Superblock) -> bool {
        let bits = 8 * SESSION_BYTES as u32;
        let session = superblock.session & ((1 << bits) - 1);
        self.number < superblock.session_from || self.session == session
    }

    /// Encodes the page for the SSD.
    #[must_use]
    pub fn encode(&self, owner: Owner) -> Page {
        assert!(self.records.len() <= RECORDS_MAX, "more records than fit");
        assert!(self.durable <= self.previous && self.previous < self.number, "pages follow");
        let mut page = [0; PAGE_BYTES];
        let header = Header {
            head: Head::new(MAGIC, owner),
            number: self.number.into(),
            previous: self.previous.into(),
            durable: self.durable.into(),
            count: (self.records.len() as u16).into(),
            session: self.session.to_le_bytes()[..SESSION_BYTES].try_into().expect("six bytes"),
        };
        page[..HEADER_BYTES].copy_from_slice(header.as_bytes());
        let places = page[HEADER_BYTES..].chunks_exact_mut(RECORD_BYTES);
        for (place, record) in places.zip(&self.records) {
            let raw = RawRecord {
                frame: record.frame.0.into(),
                crc: record.crc.into(),
                word: packed(record.block, record.state, 0).into(),
            };
            place.copy_from_slice(raw.as_bytes());
        }
        Head::seal(&mut page);
        page
    }

    /// Decodes a page of the SSD.
    ///
    /// # Errors
    /// If it is not a page of this cache's journal, or damaged.
    pub fn decode(page: &Page, owner: Owner) -> Result<JournalPage, Unusable> {
        let (header, rest) = Header::ref_from_prefix(page).expect("a page is longer");
        header.head.check(page, MAGIC, owner)?;
        let (number, previous) = (header.number.get(), header.previous.get());
        let durable = header.durable.get();
        let count = usize::from(header.count.get());
        let follow = durable <= previous && previous < number && number < NUMBERS_END;
        if count > RECORDS_MAX || !follow {
            return Err(Unusable::Nonsense);
        }
        let records = rest
            .chunks_exact(RECORD_BYTES)
            .take(count)
            .map(|bytes| {
                let raw = RawRecord::ref_from_bytes(bytes).expect("as long as a record");
                let (block, state, _) = unpacked(raw.word.get())?;
                Some(Record { frame: Frame(raw.frame.get()), crc: raw.crc.get(), block, state })
            })
            .collect::<Option<_>>()
            .ok_or(Unusable::Nonsense)?;
        let mut session = [0; 8];
        session[..SESSION_BYTES].copy_from_slice(&header.session);
        let session = u64::from_le_bytes(session);
        Ok(JournalPage { number, previous, durable, session, records })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWNER: Owner = Owner(0x0123_4567_89ab_cdef);

    fn page(number: u64, count: usize) -> JournalPage {
        let record = |n: usize| Record {
            frame: Frame(n as u32 * 3),
            crc: n as u32 ^ 0xdead_beef,
            block: Block(n as u64 * 1_000_003),
            state: [State::Free, State::Clean, State::Dirty][n % 3],
        };
        let records = (0..count).map(record).collect();
        let (previous, durable, session) = (number - 1, number / 2, number * 5);
        JournalPage { number, previous, durable, session, records }
    }

    #[test]
    fn a_page_is_laid_out_as_documented() {
        assert_eq!((HEADER_BYTES, RECORD_BYTES, RECORDS_MAX), (48, 16, 253));
        let bytes = page(2, 3).encode(OWNER);
        assert_eq!(&bytes[..4], b"SJRN");
        assert_eq!(bytes[8..16], OWNER.0.to_le_bytes());
        assert_eq!(bytes[16..24], 2_u64.to_le_bytes());
        assert_eq!(bytes[24..32], 1_u64.to_le_bytes());
        assert_eq!(bytes[40..42], 3_u16.to_le_bytes());
        // The second record: frame 3, block 1,000,003, clean.
        assert_eq!(bytes[64..68], 3_u32.to_le_bytes());
        assert_eq!(bytes[72..80], (1_000_003_u64 | 1 << 44).to_le_bytes());
    }

    /// A following page would have no number, or the sequence numbers of another page.
    #[test]
    fn numbers_that_have_no_next_make_no_sense() {
        for (number, sound) in [(NUMBERS_END - 1, true), (NUMBERS_END, false), (u64::MAX, false)] {
            let bytes = JournalPage { number, ..page(2, 1) }.encode(OWNER);
            assert_eq!(JournalPage::decode(&bytes, OWNER).is_ok(), sound, "{number}");
        }
    }

    #[test]
    fn pages_of_other_caches_are_foreign() {
        let bytes = page(1, 1).encode(Owner(1));
        assert_eq!(JournalPage::decode(&bytes, OWNER), Err(Unusable::Foreign));
        assert_eq!(JournalPage::decode(&[0; PAGE_BYTES], OWNER), Err(Unusable::Foreign));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(number in 1..1_u64 << 40, count in 0..=RECORDS_MAX) {
            let page = page(number, count);
            prop_assert_eq!(JournalPage::decode(&page.encode(OWNER), OWNER), Ok(page));
        }

        /// No flipped bit goes unnoticed.
        #[test]
        fn damage_is_found(count in 0..=RECORDS_MAX, at in 0..PAGE_BYTES * 8) {
            let mut bytes = page(5, count).encode(OWNER);
            bytes[at / 8] ^= 1 << (at % 8);
            prop_assert!(JournalPage::decode(&bytes, OWNER).is_err());
        }

        /// A torn page is one of old and new 512-byte parts: it is either or neither.
        #[test]
        fn tearing_is_found(torn in 0_u8..=255) {
            let (old, new) = (page(1, 253).encode(OWNER), page(17, 250).encode(OWNER));
            let mut bytes = old;
            for part in 0..8 {
                if torn & 1 << part != 0 {
                    bytes[part * 512..(part + 1) * 512].copy_from_slice(&new[part * 512..][..512]);
                }
            }
            match JournalPage::decode(&bytes, OWNER) {
                Ok(found) => prop_assert!(bytes == old && found.number == 1
                    || bytes == new && found.number == 17),
                Err(_) => prop_assert!(bytes != old && bytes != new),
            }
        }
    }
}
