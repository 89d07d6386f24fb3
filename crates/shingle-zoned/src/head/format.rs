//! The format of the head of a zoned disk in a file or on a block device, byte by byte. All numbers are little-endian.
//!
//! ```text
//! page 0, 1     header, twice the same
//! table, twice  an entry a zone; of each page the newer whole copy counts
//! zones         from the next multiple of 1 MiB on, one behind the other
//! ```
//! A page has 4 KiB and carries a CRC32C of itself with the CRC's field as zero.
//!
//! ```text
//! header    0  magic     "SHZONED\0"        table     0  magic    "SZTB"
//!           8  version   u32, 1                       4  crc      u32
//!          12  crc       u32                          8  owner    u64, first eight bytes of the UUID
//!          16  uuid      16 bytes                    16  place    u32, which page of the table, from 0
//!          32  zones, conventional zones u32         20  zero     u32
//!          40  blocks of a zone, capacity u64        24  edition  u64, which time it is written
//!          56  logical, physical block bytes u32     32  entries of 12 bytes:
//!          64  most open, most active u32                condition u8, zero u8, torn bytes u16,
//!          72  reads beyond u32: 0 zeros, 1 refused      pointer u32, written u32
//! ```

use shingle_core::units::BLOCK_BYTES;
pub use shingle_engine::format::Page;
use shingle_engine::format::{checksum, seal};
use uuid::Uuid;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::geometry::{Geometry, ReadsBeyond};
use crate::zone::Condition;
use crate::zones::ZoneState;

const MAGIC: [u8; 8] = *b"SHZONED\0";
const VERSION: u32 = 1;
const HEADER_CRC_AT: usize = 12;
const TABLE_MAGIC: u32 = u32::from_le_bytes(*b"SZTB");
const TABLE_CRC_AT: usize = 4;
/// The number of copies of the header.
pub(crate) const HEADERS: u64 = 2;
/// Zones begin at a multiple of this number of pages: 1 MiB.
pub(crate) const ALIGNMENT_PAGES: u64 = 256;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 8],
    version: U32,
    crc: U32,
    uuid: [u8; 16],
    zones: U32,
    conventional_zones: U32,
    zone_blocks: U64,
    zone_capacity_blocks: U64,
    logical_block_bytes: U32,
    physical_block_bytes: U32,
    max_open: U32,
    max_active: U32,
    reads_beyond: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct TableHead {
    magic: U32,
    crc: U32,
    owner: U64,
    place: U32,
    zero: U32,
    edition: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RawEntry {
    condition: u8,
    zero: u8,
    torn_bytes: U16,
    pointer: U32,
    written: U32,
}

const HEAD_BYTES: usize = size_of::<TableHead>();
const ENTRY_BYTES: usize = size_of::<RawEntry>();

/// The number of zones on a page of the table.
pub const ENTRIES: usize = (BLOCK_BYTES as usize - HEAD_BYTES) / ENTRY_BYTES;

/// Why a page cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum Unusable {
    #[error("there is no zoned disk; `shingle zoned create` makes one")]
    Foreign,
    #[error(
        "it is of version {0}, and version 1 is known here; use the program that made it, or a newer one"
    )]
    Version(u32),
    #[error("its checksum is wrong")]
    Damaged,
    #[error("it makes no sense: {0}")]
    Nonsense(String),
    #[error("it is of another zoned disk, {0}")]
    Another(Uuid),
}

impl Unusable {
    /// The same for a page that is known to be a copy of one of a zoned disk.
    pub(crate) fn of_copy(&self) -> String {
        match self {
            Unusable::Foreign => "something else is written there".to_owned(),
            other => other.to_string(),
        }
    }
}

/// The header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The UUID of the disk.
    pub uuid: [u8; 16],
    /// The sizes, kinds and limits of its zones.
    pub geometry: Geometry,
}

impl Header {
    /// Encodes the header for the file.
    #[must_use]
    pub fn encode(&self) -> Page {
        let geometry = &self.geometry;
        let raw = RawHeader {
            magic: MAGIC,
            version: VERSION.into(),
            crc: 0.into(),
            uuid: self.uuid,
            zones: geometry.zones.into(),
            conventional_zones: geometry.conventional_zones.into(),
            zone_blocks: geometry.zone_blocks.into(),
            zone_capacity_blocks: geometry.zone_capacity_blocks.into(),
            logical_block_bytes: geometry.logical_block_bytes.into(),
            physical_block_bytes: geometry.physical_block_bytes.into(),
            max_open: geometry.max_open.into(),
            max_active: geometry.max_active.into(),
            reads_beyond: u32::from(geometry.reads_beyond == ReadsBeyond::Refused).into(),
        };
        let mut page = [0; BLOCK_BYTES as usize];
        page[..size_of::<RawHeader>()].copy_from_slice(raw.as_bytes());
        seal(&mut page, HEADER_CRC_AT);
        page
    }

    /// Decodes a header of a file.
    ///
    /// # Errors
    /// If it is not a valid header.
    pub fn decode(page: &Page) -> Result<Header, Unusable> {
        let (raw, _) = RawHeader::ref_from_prefix(page).map_err(|_| Unusable::Foreign)?;
        match raw.version.get() {
            _ if raw.magic != MAGIC => return Err(Unusable::Foreign),
            VERSION => {}
            other => return Err(Unusable::Version(other)),
        }
        if raw.crc.get() != checksum(page, HEADER_CRC_AT) {
            return Err(Unusable::Damaged);
        }
        let geometry = Geometry {
            zones: raw.zones.get(),
            conventional_zones: raw.conventional_zones.get(),
            zone_blocks: raw.zone_blocks.get(),
            zone_capacity_blocks: raw.zone_capacity_blocks.get(),
            logical_block_bytes: raw.logical_block_bytes.get(),
            physical_block_bytes: raw.physical_block_bytes.get(),
            max_open: raw.max_open.get(),
            max_active: raw.max_active.get(),
            reads_beyond: match raw.reads_beyond.get() {
                0 => ReadsBeyond::Zeros,
                1 => ReadsBeyond::Refused,
                other => {
                    return Err(Unusable::Nonsense(format!("reads beyond pointers are {other}")));
                }
            },
        };
        geometry.check().map_err(|error| Unusable::Nonsense(error.to_string()))?;
        Ok(Header { uuid: raw.uuid, geometry })
    }

    #[must_use]
    pub(crate) fn layout(&self) -> Layout {
        Layout::of(&self.geometry)
    }

    pub(crate) fn uuid(&self) -> Uuid {
        Uuid::from_bytes(self.uuid)
    }

    /// The mark of the pages of this disk.
    pub(crate) fn owner(&self) -> u64 {
        let first: [u8; 8] = *self.uuid.first_chunk().expect("a UUID has sixteen bytes");
        u64::from_le_bytes(first)
    }
}

/// The layout of a file or device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The pages of one copy of the table.
    pub table_pages: u64,
    /// The first page of the zones.
    pub first_page: u64,
    /// The pages of the whole disk, with its head.
    pub pages: u64,
}

impl Layout {
    pub(crate) fn of(geometry: &Geometry) -> Layout {
        let table_pages = u64::from(geometry.zones).div_ceil(ENTRIES as u64);
        let first_page = (HEADERS + 2 * table_pages).next_multiple_of(ALIGNMENT_PAGES);
        Layout { table_pages, first_page, pages: first_page + geometry.blocks() }
    }

    /// The page of the file or device for a page of the table: `copy` is 0 or 1.
    pub(crate) fn table_page(&self, place: u64, copy: u64) -> u64 {
        HEADERS + copy * self.table_pages + place
    }
}

/// A page of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablePage {
    /// The place of the page in the table, from 0.
    pub place: u32,
    /// Which write of the page this is: of two copies the one with the higher edition is valid.
    pub edition: u64,
    /// The states of zones, none of them open; at most [`ENTRIES`].
    pub zones: Vec<ZoneState>,
}

impl TablePage {
    /// Whether a page is an undamaged page of the table of any disk.
    pub(crate) fn is_one(page: &Page) -> bool {
        TableHead::ref_from_prefix(page).is_ok_and(|(head, _)| {
            head.magic.get() == TABLE_MAGIC && head.crc.get() == checksum(page, TABLE_CRC_AT)
        })
    }

    /// Encodes the page for the file.
    #[must_use]
    pub fn encode(&self, owner: u64) -> Page {
        let head = TableHead {
            magic: TABLE_MAGIC.into(),
            crc: 0.into(),
            owner: owner.into(),
            place: self.place.into(),
            zero: 0.into(),
            edition: self.edition.into(),
        };
        let mut page = [0; BLOCK_BYTES as usize];
        page[..HEAD_BYTES].copy_from_slice(head.as_bytes());
        for (place, zone) in page[HEAD_BYTES..].chunks_exact_mut(ENTRY_BYTES).zip(&self.zones) {
            let raw = RawEntry {
                condition: number(zone.condition),
                zero: 0,
                torn_bytes: zone.torn_bytes.into(),
                pointer: zone.pointer.into(),
                written: zone.written.into(),
            };
            place.copy_from_slice(raw.as_bytes());
        }
        seal(&mut page, TABLE_CRC_AT);
        page
    }

    /// Decodes page `place` of the table.
    ///
    /// # Errors
    /// If it is not this page of this disk, damaged, or has invalid zones.
    pub fn decode(
        page: &Page,
        owner: u64,
        place: u32,
        geometry: &Geometry,
    ) -> Result<TablePage, Unusable> {
        let (head, entries) = TableHead::ref_from_prefix(page).map_err(|_| Unusable::Foreign)?;
        if head.magic.get() != TABLE_MAGIC || head.owner.get() != owner || head.place.get() != place
        {
            return Err(Unusable::Foreign);
        }
        if head.crc.get() != checksum(page, TABLE_CRC_AT) {
            return Err(Unusable::Damaged);
        }
        let first = u64::from(place) * ENTRIES as u64;
        let count = u64::from(geometry.zones).saturating_sub(first).min(ENTRIES as u64);
        let mut zones = Vec::new();
        for (zone, bytes) in (first..first + count).zip(entries.chunks_exact(ENTRY_BYTES)) {
            let wrong = |what| Unusable::Nonsense(format!("zone {zone}: {what}"));
            let raw = RawEntry::ref_from_bytes(bytes).map_err(|_| Unusable::Foreign)?;
            let condition = condition(raw.condition);
            let condition =
                condition.ok_or_else(|| wrong(format!("condition {}", raw.condition)))?;
            let state = ZoneState {
                condition,
                pointer: raw.pointer.get(),
                written: raw.written.get(),
                torn_bytes: raw.torn_bytes.get(),
            };
            state.check(geometry).map_err(wrong)?;
            let conventional = zone < u64::from(geometry.conventional_zones);
            if !condition.has_failed() && conventional != (condition == Condition::Conventional) {
                return Err(wrong(condition.name().to_owned()));
            }
            zones.push(state);
        }
        Ok(TablePage { place, edition: head.edition.get(), zones })
    }
}

/// The numbers of conditions of zones that are not open, as in ZBC.
const NUMBERS: [(u8, Condition); 6] = [
    (0x0, Condition::Conventional),
    (0x1, Condition::Empty),
    (0x4, Condition::Closed),
    (0xd, Condition::ReadOnly),
    (0xe, Condition::Full),
    (0xf, Condition::Offline),
];

fn number(condition: Condition) -> u8 {
    let known = NUMBERS.iter().find(|(_, known)| *known == condition);
    known.expect("zones of the table are not open").0
}

fn condition(number: u8) -> Option<Condition> {
    NUMBERS.iter().find(|(known, _)| *known == number).map(|(_, condition)| *condition)
}
