//! The superblock: what this SSD is, which disk it belongs to, and from where the journal counts.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::layout::Layout;
use super::{NUMBERS_END, Owner, PAGE_BYTES, Page, Unusable, checksum, seal};

const MAGIC: [u8; 8] = *b"SHINGLE\0";
const CRC_AT: usize = 12;

/// The version of the format that is written.
pub const VERSION: u32 = 2;
/// The version before: without sessions.
const VERSION_WITHOUT_SESSIONS: u32 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Raw {
    magic: [u8; 8],
    version: U32,
    crc: U32,
    uuid: [u8; 16],
    edition: U64,
    ssd_bytes: U64,
    disk_bytes: U64,
    fingerprint: [u8; 32],
    journal_pages: U64,
    table_pages: U64,
    frames: U64,
    slots: U64,
    journal_from: U64,
    clean_from: U64,
    dirty_from: U64,
    clean: u8,
    table_written: u8,
    settings_bytes: U16,
}

const RAW_BYTES: usize = size_of::<Raw>();

/// The offset of the session number; the first page of the session follows.
const SESSION_AT: usize = PAGE_BYTES - 16;

/// The most bytes of [`Superblock::settings`].
pub const SETTINGS_BYTES_MAX: usize = SESSION_AT - RAW_BYTES;

/// How many editions ahead a cache is created on an SSD that is to replace another one.
pub const SUCCESSOR_AHEAD: u64 = 2;

/// The superblock: the description of a cache on its SSD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// The UUID of the cache.
    pub uuid: [u8; 16],
    /// Which write of the superblock this is, from 1.
    pub edition: u64,
    /// Size of the SSD in bytes.
    pub ssd_bytes: u64,
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// The fingerprint of the disk at the last orderly shutdown.
    pub fingerprint: [u8; 32],
    /// The layout of the SSD.
    pub layout: Layout,
    /// The number of the first valid page of the journal.
    pub journal_from: u64,
    /// Clean blocks are valid only if their record is on this page of the journal or a later one; 0:
    /// all are valid. Set by a process that has to write past an SSD that fails.
    pub clean_from: u64,
    /// The same for dirty blocks.
    pub dirty_from: u64,
    /// Set by an orderly shutdown: the table is complete.
    pub clean: bool,
    /// Whether every page of the table was written when the cache was created: then a page of zeros
    /// is damaged. If not, it was never written.
    pub table_written: bool,
    /// The edition with which the cache was last put into use. It marks the pages of the journal
    /// written since.
    pub session: u64,
    /// Pages of the journal from this number on are valid only if that session wrote them. An
    /// earlier one may have left parts of such pages, which a torn write could make whole.
    pub session_from: u64,
    /// Policy and parameters, one a line.
    pub settings: String,
}

impl Superblock {
    /// The superblock of an empty cache: first edition, shut down in order, without fingerprint and
    /// settings.
    #[must_use]
    pub fn new(uuid: [u8; 16], layout: Layout, ssd_bytes: u64, disk_bytes: u64) -> Superblock {
        Superblock {
            uuid,
            edition: 1,
            ssd_bytes,
            disk_bytes,
            fingerprint: [0; 32],
            layout,
            journal_from: 1,
            clean_from: 0,
            dirty_from: 0,
            clean: true,
            table_written: false,
            session: 0,
            session_from: 0,
            settings: String::new(),
        }
    }

    /// The mark of the pages of this cache.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner(u64::from_le_bytes(self.uuid[..8].try_into().expect("eight bytes")))
    }

    /// The next edition of the same cache, with nothing in it: no page of metadata on the SSD is
    /// valid any more, in whatever state it is.
    #[must_use]
    pub fn emptied(&self) -> Superblock {
        // The journal is a ring: no page of it has a number as high.
        let from = self.journal_from.max(self.clean_from).max(self.dirty_from)
            + 2 * self.layout.journal_pages;
        Superblock {
            edition: self.edition + 1,
            journal_from: from,
            clean_from: from,
            dirty_from: from,
            clean: false,
            table_written: false,
            ..self.clone()
        }
    }

    /// Whether anything in the table is valid. If not, everything valid is in the journal.
    pub(crate) fn table_counts(&self) -> bool {
        self.clean_from.min(self.dirty_from) < self.journal_from
    }

    /// Encodes the superblock for the SSD.
    ///
    /// # Panics
    /// If the settings are too long: callers check them when a cache is created or set.
    #[must_use]
    pub fn encode(&self) -> Page {
        assert!(self.settings.len() <= SETTINGS_BYTES_MAX, "the settings do not fit");
        let raw = Raw {
            magic: MAGIC,
            version: VERSION.into(),
            crc: 0.into(),
            uuid: self.uuid,
            edition: self.edition.into(),
            ssd_bytes: self.ssd_bytes.into(),
            disk_bytes: self.disk_bytes.into(),
            fingerprint: self.fingerprint,
            journal_pages: self.layout.journal_pages.into(),
            table_pages: self.layout.table_pages.into(),
            frames: self.layout.frames.into(),
            slots: self.layout.slots.into(),
            journal_from: self.journal_from.into(),
            clean_from: self.clean_from.into(),
            dirty_from: self.dirty_from.into(),
            clean: self.clean.into(),
            table_written: self.table_written.into(),
            settings_bytes: (self.settings.len() as u16).into(),
        };
        let mut page = [0; PAGE_BYTES];
        page[..RAW_BYTES].copy_from_slice(raw.as_bytes());
        page[RAW_BYTES..RAW_BYTES + self.settings.len()].copy_from_slice(self.settings.as_bytes());
        page[SESSION_AT..SESSION_AT + 8].copy_from_slice(&self.session.to_le_bytes());
        page[SESSION_AT + 8..].copy_from_slice(&self.session_from.to_le_bytes());
        seal(&mut page, CRC_AT);
        page
    }

    /// Decodes a superblock of the SSD.
    ///
    /// # Errors
    /// If it is not a superblock, damaged, or of another version.
    pub fn decode(page: &Page) -> Result<Superblock, Unusable> {
        let (raw, rest) = Raw::ref_from_prefix(page).expect("a page is longer");
        if raw.magic != MAGIC {
            return Err(Unusable::Foreign);
        }
        if raw.crc.get() != checksum(page, CRC_AT) {
            return Err(Unusable::Damaged);
        }
        let layout = Layout {
            journal_pages: raw.journal_pages.get(),
            table_pages: raw.table_pages.get(),
            frames: raw.frames.get(),
            slots: raw.slots.get(),
        };
        let settings = usize::from(raw.settings_bytes.get());
        if settings > SETTINGS_BYTES_MAX {
            return Err(Unusable::Nonsense);
        }
        let settings = rest.get(..settings).ok_or(Unusable::Nonsense)?;
        let settings = str::from_utf8(settings).map_err(|_| Unusable::Nonsense)?;
        let ssd_bytes = raw.ssd_bytes.get();
        let version = raw.version.get();
        // The next edition, and the next page of the journal, need numbers.
        let numbers = [&raw.journal_from, &raw.clean_from, &raw.dirty_from].map(|from| from.get());
        let ours = [VERSION_WITHOUT_SESSIONS, VERSION].contains(&version)
            && layout.is_sound(ssd_bytes)
            && raw.clean <= 1
            && raw.journal_from.get() > 0
            && raw.edition.get() < u64::MAX
            && numbers.iter().all(|&from| from < NUMBERS_END);
        if !ours {
            return Err(Unusable::Nonsense);
        }
        let number = |at: usize| {
            let bytes = page[at..at + 8].try_into().expect("eight bytes");
            if version == VERSION { u64::from_le_bytes(bytes) } else { 0 }
        };
        Ok(Superblock {
            uuid: raw.uuid,
            edition: raw.edition.get(),
            ssd_bytes,
            disk_bytes: raw.disk_bytes.get(),
            fingerprint: raw.fingerprint,
            layout,
            journal_from: raw.journal_from.get(),
            clean_from: raw.clean_from.get(),
            dirty_from: raw.dirty_from.get(),
            clean: raw.clean == 1,
            table_written: raw.table_written == 1,
            session: number(SESSION_AT),
            session_from: number(SESSION_AT + 8),
            settings: settings.to_owned(),
        })
    }

    /// The valid copy with the higher edition.
    ///
    /// # Errors
    /// If neither copy is valid. Damage is reported rather than absence.
    pub fn newer(copies: &[Page; 2]) -> Result<Superblock, Unusable> {
        let [one, two] = [0, 1].map(|copy: usize| Superblock::decode(&copies[copy]));
        match (one, two) {
            (Ok(one), Ok(two)) => Ok(if one.edition > two.edition { one } else { two }),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(Unusable::Foreign), Err(why)) | (Err(why), Err(_)) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn superblock(edition: u64) -> Superblock {
        let ssd_bytes = 64 << 20;
        Superblock {
            uuid: *b"0123456789abcdef",
            edition,
            ssd_bytes,
            disk_bytes: 1 << 40,
            fingerprint: [7; 32],
            layout: Layout::for_ssd(ssd_bytes).expect("large enough"),
            journal_from: 9,
            clean_from: 7,
            dirty_from: 5,
            clean: edition.is_multiple_of(2),
            table_written: edition.is_multiple_of(3),
            session: edition.wrapping_add(3),
            session_from: edition.wrapping_mul(2),
            settings: "policy sac\nsac.rule4=exact\n".into(),
        }
    }

    #[test]
    fn a_superblock_is_laid_out_as_documented() {
        assert_eq!(RAW_BYTES, 148);
        let page = superblock(2).encode();
        assert_eq!(&page[..8], b"SHINGLE\0");
        assert_eq!(page[8..12], 2_u32.to_le_bytes());
        assert_eq!(page[32..40], 2_u64.to_le_bytes());
        assert_eq!(page[120..128], 9_u64.to_le_bytes());
        assert_eq!(page[128..136], 7_u64.to_le_bytes());
        assert_eq!(page[136..144], 5_u64.to_le_bytes());
        assert_eq!((page[144], &page[148..158]), (1, &b"policy sac"[..]));
        assert_eq!((page[145], superblock(3).encode()[145]), (0, 1));
        assert_eq!(page[4080..4088], 5_u64.to_le_bytes());
        assert_eq!(page[4088..], 4_u64.to_le_bytes());
    }

    #[test]
    fn the_newer_copy_counts_and_a_torn_one_does_not() {
        let (old, new) = (superblock(4), superblock(5));
        let copies = [old.encode(), new.encode()];
        assert_eq!(Superblock::newer(&copies), Ok(new));
        let mut torn = copies;
        torn[1][700] ^= 1;
        assert_eq!(Superblock::newer(&torn), Ok(old));
        torn[0][700] ^= 1;
        assert_eq!(Superblock::newer(&torn), Err(Unusable::Damaged));
        assert_eq!(Superblock::newer(&[[0; PAGE_BYTES]; 2]), Err(Unusable::Foreign));
    }

    /// Whatever is decoded can be written again, and followed by a next one.
    #[test]
    fn what_could_not_be_gone_on_with_makes_no_sense() {
        let sealed = |mut page: Page| {
            seal(&mut page, CRC_AT);
            Superblock::decode(&page)
        };
        let mut page = superblock(2).encode();
        assert_eq!(sealed(page), Ok(superblock(2)));
        // Settings that overlap the fields behind them.
        page[RAW_BYTES..].fill(b' ');
        page[146..148].copy_from_slice(&(SETTINGS_BYTES_MAX as u16 + 1).to_le_bytes());
        assert_eq!(sealed(page), Err(Unusable::Nonsense));
        let edition = superblock(u64::MAX);
        let journal = Superblock { journal_from: NUMBERS_END, ..superblock(2) };
        let clean = Superblock { clean_from: u64::MAX, ..superblock(2) };
        for superblock in [edition, journal, clean] {
            assert_eq!(sealed(superblock.encode()), Err(Unusable::Nonsense));
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(edition in 1..u64::MAX) {
            let superblock = superblock(edition);
            prop_assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock));
        }

        /// No flipped bit goes unnoticed.
        #[test]
        fn damage_is_found(at in 0..PAGE_BYTES * 8) {
            let mut page = superblock(1).encode();
            page[at / 8] ^= 1 << (at % 8);
            prop_assert!(Superblock::decode(&page).is_err());
        }

        /// Any bytes are decoded or refused.
        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), PAGE_BYTES)) {
            let mut page: Page = bytes.try_into().expect("a page");
            page[..8].copy_from_slice(&MAGIC);
            seal(&mut page, CRC_AT);
            prop_assert!(Superblock::decode(&page).is_err());
        }
    }
}
