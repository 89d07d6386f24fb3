//! The start of each page of journal and table: the magic number of its kind, the checksum of the
//! page, and its owner.

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
    /// The head of a page that is to be sealed.
    pub(super) fn new(magic: u32, owner: Owner) -> Head {
        Head { magic: magic.into(), crc: 0.into(), owner: owner.0.into() }
    }

    /// Writes the checksum of a complete page.
    pub(super) fn seal(page: &mut Page) {
        seal(page, CRC_AT);
    }

    /// Checks that `page`, which begins with this head, is of this kind and owner, and undamaged.
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
