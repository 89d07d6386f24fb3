//! The superblock: the description of the disk, and the checkpoint in use. All numbers are
//! little-endian.
//!
//! ```text
//!   0  magic             "SHTRANS\0"
//!   8  version           u32; 2 if conventional zones are left out, else 1
//!  12  crc               u32, CRC32C of the page with this field as zero
//!  16  uuid              16 bytes
//!  32  epoch             u64, how often the disk was opened, from 1
//!  40  generation        u64, of the checkpoint
//!  48  checkpoint epoch  u64, in which it was written
//!  56  checkpoint pages  u32, how many it has
//!  60  zones, conventional zones   u32 each
//!  68  blocks of a zone, capacity  u64 each
//!  84  room of a checkpoint, of a log, in pages   u32 each
//!  92  logical zones     u32
//!  96  buffer blocks     u64
//! 104  blocks            u64, that the host may address
//! 112  text bytes        u16
//! 114  text              UTF-8: name of the translation, then a line for each parameter, NAME=VALUE
//! 4064 conventional zones that map and buffer are in: the first, and how many   u32 each; zeros in version 1: all
//! 4072 mark              16 bytes and u64: UUID and edition of the cache that used it last; zeros if none did
//! ```
//! The superblock with the higher epoch is valid, in one epoch the one with the higher generation.

use std::ops::Range;

use shingle_device::Mark;
use shingle_engine::format::{Page, checksum, seal};
use shingle_translation::translations;
use shingle_zoned::Geometry;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::areas::Areas;
use super::page::Owner;

const MAGIC: [u8; 8] = *b"SHTRANS\0";
const CRC_AT: usize = 12;
/// The version of a map for which conventional zones that have failed are left out, and of one that
/// uses them all.
const VERSION: u32 = 2;
const VERSION_OF_ALL: u32 = 1;
/// The limit of epochs and generations: beyond it, counters could overflow.
pub(crate) const COUNTER_MAX: u64 = u64::MAX / 2;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Raw {
    magic: [u8; 8],
    version: U32,
    crc: U32,
    uuid: [u8; 16],
    epoch: U64,
    generation: U64,
    checkpoint_epoch: U64,
    checkpoint_pages: U32,
    zones: U32,
    conventional_zones: U32,
    zone_blocks: U64,
    zone_capacity_blocks: U64,
    checkpoint_room: U32,
    log_pages: U32,
    logical_zones: U32,
    buffer_blocks: U64,
    blocks: U64,
    text_bytes: U16,
}

const RAW_BYTES: usize = size_of::<Raw>();
const MARK_AT: usize = 4096 - 24;
const USED_AT: usize = MARK_AT - 8;
const TEXT_BYTES_MAX: usize = USED_AT - RAW_BYTES;

/// The superblock; see the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    pub(crate) epoch: u64,
    pub(crate) generation: u64,
    pub(crate) checkpoint_epoch: u64,
    pub(crate) checkpoint_pages: u32,
    pub(crate) zones: u32,
    pub(crate) conventional_zones: u32,
    pub(crate) zone_blocks: u64,
    pub(crate) zone_capacity_blocks: u64,
    pub(crate) areas: Areas,
    pub(crate) logical_zones: u32,
    pub(crate) buffer_blocks: u64,
    pub(crate) blocks: u64,
    pub(crate) translation: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) mark: Option<Mark>,
}

/// Why a page is not a valid superblock.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NoSuperblock {
    #[error("there is none")]
    Foreign,
    #[error("its checksum is wrong")]
    Checksum,
    #[error(
        "it is of version {0}, and versions 1 and 2 are known here; use the program that made it, or a newer one"
    )]
    Version(u32),
    #[error("its checksum is right, and what it says makes no sense: {0}")]
    Nonsense(&'static str),
    #[error("{0}")]
    Unread(String),
}

/// The valid superblock, and the state of the two copies.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) superblock: Superblock,
    /// What is wrong with each copy.
    pub(crate) wrong: [Option<String>; 2],
    /// The copy to write first: the one that is bad or older. The other one stays until then.
    pub(crate) worse: usize,
}

impl Superblock {
    /// The owner of the pages in use.
    pub(crate) fn owner(&self) -> Owner {
        Owner { uuid: self.uuid, epoch: self.checkpoint_epoch, generation: self.generation }
    }

    /// The age: of two superblocks of one map the valid one has the higher age.
    pub(crate) fn age(&self) -> (u64, u64) {
        (self.epoch, self.generation)
    }

    /// The size of the buffer for users: 0 for a translation that does not use one.
    pub(crate) fn told_buffer_blocks(&self) -> u64 {
        match translations::get(&self.translation) {
            Ok(entry) if !entry.has_buffer => 0,
            _ => self.buffer_blocks,
        }
    }

    /// The conventional zones that map and buffer are in.
    pub(crate) fn used_zones(&self) -> Range<u32> {
        let blocks = self.areas.blocks();
        (blocks.start / self.zone_blocks) as u32..(blocks.end / self.zone_blocks) as u32
    }

    fn text(&self) -> String {
        let params = self.params.iter().map(|(name, value)| format!("\n{name}={value}"));
        std::iter::once(self.translation.clone()).chain(params).collect()
    }

    /// Encodes the superblock for the disk.
    pub(crate) fn encode(&self) -> Page {
        let text = self.text();
        assert!(text.len() <= TEXT_BYTES_MAX, "names and values of parameters are short");
        let used = self.used_zones();
        let used_all = used == (0..self.conventional_zones);
        let raw = Raw {
            magic: MAGIC,
            version: if used_all { VERSION_OF_ALL } else { VERSION }.into(),
            crc: 0.into(),
            uuid: self.uuid,
            epoch: self.epoch.into(),
            generation: self.generation.into(),
            checkpoint_epoch: self.checkpoint_epoch.into(),
            checkpoint_pages: self.checkpoint_pages.into(),
            zones: self.zones.into(),
            conventional_zones: self.conventional_zones.into(),
            zone_blocks: self.zone_blocks.into(),
            zone_capacity_blocks: self.zone_capacity_blocks.into(),
            checkpoint_room: self.areas.checkpoint_pages.into(),
            log_pages: self.areas.log_pages.into(),
            logical_zones: self.logical_zones.into(),
            buffer_blocks: self.buffer_blocks.into(),
            blocks: self.blocks.into(),
            text_bytes: (text.len() as u16).into(),
        };
        let mut page = [0; 4096];
        page[..RAW_BYTES].copy_from_slice(raw.as_bytes());
        page[RAW_BYTES..RAW_BYTES + text.len()].copy_from_slice(text.as_bytes());
        if !used_all {
            page[USED_AT..USED_AT + 4].copy_from_slice(&used.start.to_le_bytes());
            page[USED_AT + 4..MARK_AT].copy_from_slice(&(used.end - used.start).to_le_bytes());
        }
        if let Some(Mark { uuid, edition }) = self.mark {
            page[MARK_AT..MARK_AT + 16].copy_from_slice(&uuid);
            page[MARK_AT + 16..].copy_from_slice(&edition.to_le_bytes());
        }
        seal(&mut page, CRC_AT);
        page
    }

    /// Decodes a superblock.
    pub(crate) fn decode(page: &Page) -> Result<Superblock, NoSuperblock> {
        let (raw, rest) = Raw::read(page)?;
        let (translation, params) = raw.text(rest)?;
        let geometry = raw.geometry()?;
        let areas = raw.areas(&geometry, page)?;
        raw.check_counts(&geometry)?;
        Ok(Superblock {
            uuid: raw.uuid,
            epoch: raw.epoch.get(),
            generation: raw.generation.get(),
            checkpoint_epoch: raw.checkpoint_epoch.get(),
            checkpoint_pages: raw.checkpoint_pages.get(),
            zones: geometry.zones,
            conventional_zones: geometry.conventional_zones,
            zone_blocks: geometry.zone_blocks,
            zone_capacity_blocks: geometry.zone_capacity_blocks,
            areas,
            logical_zones: raw.logical_zones.get(),
            buffer_blocks: raw.buffer_blocks.get(),
            blocks: raw.blocks.get(),
            translation,
            params,
            mark: mark_of(&page[MARK_AT..]),
        })
    }
}

fn nonsense<T>(what: &'static str) -> Result<T, NoSuperblock> {
    Err(NoSuperblock::Nonsense(what))
}

/// The name of a translation, and its parameters by name.
type Text = (String, Vec<(String, String)>);

impl Raw {
    /// Reads a page that has the checksum of a superblock; returns the rest of the page, too.
    fn read(page: &Page) -> Result<(Raw, &[u8]), NoSuperblock> {
        let (raw, rest) = Raw::read_from_prefix(page).expect("a page is longer");
        if raw.magic != MAGIC {
            return Err(NoSuperblock::Foreign);
        }
        if raw.crc.get() != checksum(page, CRC_AT) {
            return Err(NoSuperblock::Checksum);
        }
        if ![VERSION, VERSION_OF_ALL].contains(&raw.version.get()) {
            return Err(NoSuperblock::Version(raw.version.get()));
        }
        Ok((raw, rest))
    }

    fn text(&self, rest: &[u8]) -> Result<Text, NoSuperblock> {
        let bytes = usize::from(self.text_bytes.get());
        let text = rest.get(..bytes).filter(|_| bytes <= TEXT_BYTES_MAX);
        let Some(text) = text.and_then(|text| std::str::from_utf8(text).ok()) else {
            return nonsense("the text");
        };
        let mut lines = text.lines();
        let translation = lines.next().unwrap_or_default().to_owned();
        let params = lines
            .map(|line| line.split_once('=').map(|(name, value)| (name.into(), value.into())))
            .collect::<Option<Vec<_>>>();
        params.map_or_else(|| nonsense("the parameters"), |params| Ok((translation, params)))
    }

    fn geometry(&self) -> Result<Geometry, NoSuperblock> {
        let geometry = Geometry {
            conventional_zones: self.conventional_zones.get(),
            zone_capacity_blocks: self.zone_capacity_blocks.get(),
            ..Geometry::new(self.zones.get(), self.zone_blocks.get())
        };
        if geometry.check().is_err() { nonsense("the geometry") } else { Ok(geometry) }
    }

    fn areas(&self, geometry: &Geometry, page: &Page) -> Result<Areas, NoSuperblock> {
        let used = match self.version.get() {
            VERSION_OF_ALL => Some(0..geometry.conventional_zones),
            _ => used_zones(&page[USED_AT..MARK_AT]),
        };
        let Some(used) = used.filter(|used| used.end <= geometry.conventional_zones) else {
            return nonsense("the conventional zones that are used");
        };
        let areas = Areas {
            first_block: u64::from(used.start) * geometry.zone_blocks,
            conventional_blocks: u64::from(used.end - used.start) * geometry.zone_blocks,
            checkpoint_pages: self.checkpoint_room.get(),
            log_pages: self.log_pages.get(),
        };
        let between = areas.between();
        // Copies that overlap leave no space for a buffer.
        if areas.log_pages == 0
            || !(1..=between.end - between.start).contains(&self.buffer_blocks.get())
            || !(1..=areas.checkpoint_pages).contains(&self.checkpoint_pages.get())
        {
            return nonsense("the areas");
        }
        Ok(areas)
    }

    fn check_counts(&self, geometry: &Geometry) -> Result<(), NoSuperblock> {
        let logical = self.logical_zones.get();
        if !(1..=geometry.zones - geometry.conventional_zones).contains(&logical) {
            return nonsense("the number of zones");
        }
        // Zones and buffer together have no more; the translation determines the number later.
        let room = u64::from(logical) * geometry.zone_capacity_blocks + self.buffer_blocks.get();
        if self.blocks.get() > room {
            return nonsense("the number of blocks");
        }
        // Both only increase, by one at a time.
        if [&self.epoch, &self.generation].iter().any(|counter| counter.get() > COUNTER_MAX) {
            return nonsense("how often it was opened and saved");
        }
        Ok(())
    }
}

fn used_zones(bytes: &[u8]) -> Option<Range<u32>> {
    let (first, rest) = U32::read_from_prefix(bytes).ok()?;
    let (count, _) = U32::read_from_prefix(rest).ok()?;
    Some(first.get()..first.get().checked_add(count.get())?)
}

fn mark_of(bytes: &[u8]) -> Option<Mark> {
    let (uuid, edition) = bytes.split_at(16);
    let mark = Mark {
        uuid: uuid.try_into().expect("16 bytes"),
        edition: u64::from_le_bytes(edition.try_into().expect("8 bytes")),
    };
    (mark.uuid != [0; 16]).then_some(mark)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn example() -> Superblock {
        Superblock {
            uuid: *b"0123456789abcdef",
            epoch: 3,
            generation: 8,
            checkpoint_epoch: 2,
            checkpoint_pages: 2,
            zones: 20,
            conventional_zones: 4,
            zone_blocks: 64,
            zone_capacity_blocks: 60,
            areas: Areas {
                first_block: 0,
                conventional_blocks: 256,
                checkpoint_pages: 5,
                log_pages: 8,
            },
            logical_zones: 14,
            buffer_blocks: 100,
            blocks: 800,
            translation: "fluid-loop".to_owned(),
            params: vec![
                ("sigma".to_owned(), "1".to_owned()),
                ("batch".to_owned(), "64b".to_owned()),
            ],
            mark: Some(Mark { uuid: *b"a cache's UUID..", edition: 0x102 }),
        }
    }

    #[test]
    fn a_superblock_byte_by_byte() {
        let page = example().encode();
        let mut bytes = Vec::new();
        bytes.extend(b"SHTRANS\0\x01\0\0\0");
        bytes.extend(checksum(&page, 12).to_le_bytes());
        bytes.extend(b"0123456789abcdef");
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, 20, 0, 0, 0, 4, 0, 0, 0]);
        bytes.extend([64, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([5, 0, 0, 0, 8, 0, 0, 0, 14, 0, 0, 0]);
        bytes.extend([100, 0, 0, 0, 0, 0, 0, 0, 0x20, 3, 0, 0, 0, 0, 0, 0, 28, 0]);
        bytes.extend(b"fluid-loop\nsigma=1\nbatch=64b");
        assert_eq!(page[..bytes.len()], bytes);
        assert_eq!(&page[4072..], b"a cache's UUID..\x02\x01\0\0\0\0\0\0");
        let none = Superblock { mark: None, ..example() };
        assert_eq!(Superblock::decode(&none.encode()), Ok(none));
        assert_eq!(Superblock::decode(&page), Ok(example()));
    }

    #[test]
    fn conventional_zones_may_be_left_out() {
        let areas = Areas { first_block: 64, conventional_blocks: 192, ..example().areas };
        let some = Superblock { areas, ..example() };
        let page = some.encode();
        assert_eq!((page[8], &page[4064..4072]), (2, [1, 0, 0, 0, 3, 0, 0, 0].as_slice()));
        assert_eq!((Superblock::decode(&page), some.used_zones()), (Ok(some), 1..4));
        let mut beyond = page;
        for (first, count) in [(2, 3), (255, 1)] {
            (beyond[4064], beyond[4068]) = (first, count);
            seal(&mut beyond, CRC_AT);
            let why = NoSuperblock::Nonsense("the conventional zones that are used");
            assert_eq!(Superblock::decode(&beyond), Err(why));
        }
    }

    #[test]
    fn a_translation_without_a_buffer_shows_none() {
        assert_eq!(example().told_buffer_blocks(), 100);
        let log = Superblock { translation: "log".to_owned(), ..example() };
        assert_eq!(log.told_buffer_blocks(), 0);
        let unknown = Superblock { translation: "of a later version".to_owned(), ..example() };
        assert_eq!(unknown.told_buffer_blocks(), 100);
    }

    #[test]
    fn what_is_none_is_refused() {
        assert_eq!(Superblock::decode(&[0; 4096]), Err(NoSuperblock::Foreign));
        let changed = |at: usize, to: u8, sealed: bool| {
            let mut page = example().encode();
            page[at] = to;
            if sealed {
                seal(&mut page, CRC_AT);
            }
            Superblock::decode(&page).expect_err("it was changed")
        };
        assert_eq!(changed(40, 9, false), NoSuperblock::Checksum);
        assert_eq!(changed(8, 3, true), NoSuperblock::Version(3));
        // No conventional zone is used.
        assert_eq!(changed(8, 2, true), NoSuperblock::Nonsense("the areas"));
        assert_eq!(changed(64, 21, true), NoSuperblock::Nonsense("the geometry"));
        assert_eq!(changed(84, 200, true), NoSuperblock::Nonsense("the areas"));
        assert_eq!(changed(97, 7, true), NoSuperblock::Nonsense("the areas"));
        assert_eq!(changed(92, 17, true), NoSuperblock::Nonsense("the number of zones"));
        assert_eq!(changed(114, 0xff, true), NoSuperblock::Nonsense("the text"));
        assert_eq!(changed(113, 0x7f, true), NoSuperblock::Nonsense("the text"));
        // No log; and a buffer that overlaps the second copy.
        assert_eq!(changed(88, 0, true), NoSuperblock::Nonsense("the areas"));
        assert_eq!(changed(96, 203, true), NoSuperblock::Nonsense("the areas"));
    }

    #[test]
    fn limits_are_what_still_makes_sense() {
        let largest = Superblock {
            epoch: COUNTER_MAX,
            generation: COUNTER_MAX,
            // 14 zones of 60 blocks, and a buffer that fills the space between two copies of 27.
            buffer_blocks: 202,
            blocks: 14 * 60 + 202,
            translation: "x".repeat(TEXT_BYTES_MAX),
            params: Vec::new(),
            ..example()
        };
        assert_eq!(Superblock::decode(&largest.encode()), Ok(largest.clone()));
        let refused = |superblock: Superblock| Superblock::decode(&superblock.encode()).is_err();
        assert!(refused(Superblock { epoch: COUNTER_MAX + 1, ..largest.clone() }));
        assert!(refused(Superblock { generation: COUNTER_MAX + 1, ..largest.clone() }));
        assert!(refused(Superblock { blocks: largest.blocks + 1, ..largest }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 100)) {
            let mut page = example().encode();
            page[16..116].copy_from_slice(&bytes);
            seal(&mut page, CRC_AT);
            let _ = Superblock::decode(&page);
        }
    }
}
