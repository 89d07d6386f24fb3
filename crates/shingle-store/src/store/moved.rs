//! What `replace` writes to the SSD that it takes out, in place of both superblocks: where the
//! cache is now. A command that uses that SSD again is refused, and makes no cache of old data
//! over the current one.

use std::fmt;
use std::path::Path;

use shingle_engine::format::{PAGE_BYTES, Page, checksum, seal};
use shingle_engine::recover::Pages;
use uuid::Uuid;

use crate::backend::superblock_pages;

const MAGIC: [u8; 8] = *b"SHMOVED\0";
const VERSION: u32 = 1;
const CRC_AT: usize = 12;
const PATH_AT: usize = 34;

/// Where a cache has moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The UUID of the cache.
    pub uuid: Uuid,
    /// The path of the SSD that has it now; empty if unknown.
    pub to: String,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.to.is_empty() { "another SSD" } else { &self.to };
        write!(f, "its cache {} moved to {to} by `shingle store replace`", self.uuid)
    }
}

impl Moved {
    pub(super) fn new(uuid: Uuid, to: &Path) -> Moved {
        let to = to.to_str().filter(|to| to.len() <= PAGE_BYTES - PATH_AT);
        Moved { uuid, to: to.unwrap_or_default().to_owned() }
    }

    /// Encodes the page that replaces each superblock.
    pub(super) fn encode(&self) -> Page {
        let mut page = [0; PAGE_BYTES];
        page[..8].copy_from_slice(&MAGIC);
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        page[16..32].copy_from_slice(self.uuid.as_bytes());
        let end = PATH_AT + self.to.len();
        page[32..PATH_AT].copy_from_slice(&(self.to.len() as u16).to_le_bytes());
        page[PATH_AT..end].copy_from_slice(self.to.as_bytes());
        seal(&mut page, CRC_AT);
        page
    }

    fn decode(page: &Page) -> Option<Moved> {
        let number = |at: usize| page[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let sound = page[..8] == MAGIC
            && number(8) == Some(VERSION)
            && number(CRC_AT) == Some(checksum(page, CRC_AT));
        if !sound {
            return None;
        }
        let end = PATH_AT + usize::from(u16::from_le_bytes([page[32], page[33]]));
        let to = str::from_utf8(page.get(PATH_AT..end)?).ok()?;
        Some(Moved { uuid: Uuid::from_slice(&page[16..32]).ok()?, to: to.to_owned() })
    }

    /// Reads the note of an SSD without a cache; `None` if there is none, or it cannot be read.
    pub(super) fn on(ssd: &mut impl Pages) -> Option<Moved> {
        superblock_pages(ssd).ok()?.iter().find_map(Moved::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_a_cache_went_or_nothing() {
        let moved = Moved::new(Uuid::from_bytes(*b"0123456789abcdef"), Path::new("/dev/new"));
        let page = moved.encode();
        assert_eq!(Moved::decode(&page), Some(moved.clone()));
        assert_eq!((&page[..8], &page[16..32]), (&b"SHMOVED\0"[..], &b"0123456789abcdef"[..]));
        assert_eq!(&page[32..43], b"\x08\0/dev/new\0");
        for at in [0, 8, 12, 20, 33, 40, PAGE_BYTES - 1] {
            let mut torn = page;
            torn[at] ^= 1;
            assert_eq!(Moved::decode(&torn), None, "byte {at}");
        }
        let mut long = page;
        long[32..34].copy_from_slice(&u16::MAX.to_le_bytes());
        seal(&mut long, CRC_AT);
        assert_eq!(Moved::decode(&long), None, "the path ends beyond the page");
        let far = Moved::new(moved.uuid, Path::new(&"x".repeat(PAGE_BYTES)));
        assert_eq!(Moved::decode(&far.encode()), Some(Moved { to: String::new(), ..moved }));
        assert!(far.to_string().contains("moved to another SSD"), "{far}");
    }
}
