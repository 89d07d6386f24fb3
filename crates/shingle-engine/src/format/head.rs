//! What each page of journal and table begins with: the magic of its kind, the checksum of the page, and whose
//! it is.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Owner, Page, Unusable, checksum, seal};

const CRC_AT: usize = 4;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Head {
    magic: U32,
    crc: U32,
    owner: U64,
}

impl Head {
    /// Of a page that is to be sealed.
    pub(super) fn new(magic: u32, owner: Owner) -> Head {
        Head { magic: magic.into(), crc: 0.into(), owner: owner.0.into() }
    }

    /// Puts the checksum in, of a page that is complete.
    pub(super) fn seal(page: &mut Page) {
        seal(page, CRC_AT);
    }

    /// Whether `page`, which begins with this, is one of these, and whole.
    pub(super) fn check(&self, page: &Page, magic: u32, owner: Owner) -> Result<(), Unusable> {
        if self.magic.get() != magic || self.owner.get() != owner.0 {
            return Err(Unusable::Foreign);
        }
        if self.crc.get() != checksum(page, CRC_AT) {
            return Err(Unusable::Damaged);
        }
        Ok(())
    }
}
