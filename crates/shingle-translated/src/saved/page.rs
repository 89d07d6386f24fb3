//! A page of a checkpoint or a log, byte by byte. All numbers are little-endian.
//!
//! ```text
//!  0  magic       "SHTP"            40  sequence  u32, which page of the checkpoint or log, from 0
//!  4  crc         u32               44  kind      u8, 1 checkpoint, 2 log
//!  8  uuid        16 bytes          45  last      u8, 1 on the last page of a checkpoint, or of a commit
//! 24  epoch       u64               46  records   u16
//! 32  generation  u64               48  commit    u64, from 1, counted from the checkpoint; 0 in a checkpoint
//!                                   56  records   of two u64 each:
//!
//! run    tag 1 (4 bits) | blocks − 1 (16 bits) | first block of the host (44 bits)
//!        kind of place (2 bits: 0 nowhere, 1 buffer, 2 sequential zones) | block there (62 bits)
//! zone   tag 2 (4 bits) | zero (28 bits) | logical zone (32 bits)
//!        physical zone (32 bits) | write pointer (32 bits)
//! lost   tag 3 | blocks − 1 | first block of the host
//!        old copies (2 bits: 0 none, 1 some) | block of the disk where they begin (62 bits)
//! none   tag 4: nothing that was lost before this record is
//! ```

use shingle_core::units::Block;
use shingle_engine::format::{Page, checksum, seal};
use shingle_translation::{Piece, Place};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::lost::Lost;

const MAGIC: U32 = U32::from_bytes(*b"SHTP");
const CRC_AT: usize = 4;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    magic: U32,
    crc: U32,
    uuid: [u8; 16],
    epoch: U64,
    generation: U64,
    sequence: U32,
    kind: u8,
    last: u8,
    records: U16,
    commit: U64,
}

const HEAD_BYTES: usize = size_of::<Head>();
const RECORD_BYTES: usize = 16;

/// The number of records on a page.
pub(crate) const RECORDS: u64 = ((4096 - HEAD_BYTES) / RECORD_BYTES) as u64;
/// The most blocks of the host in one record.
const RECORD_BLOCKS: u64 = 1 << 16;

const BLOCK_BITS: u32 = 44;
const TAG_SHIFT: u32 = 60;

/// The checkpoint that a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    pub(crate) uuid: [u8; 16],
    pub(crate) epoch: u64,
    pub(crate) generation: u64,
}

/// The kind of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Checkpoint = 1,
    Log = 2,
}

/// The place of a page in a checkpoint or log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stand {
    pub(crate) kind: Kind,
    pub(crate) sequence: u32,
    pub(crate) commit: u64,
    pub(crate) last: bool,
}

/// A record of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// Where blocks are stored, at most 65,536.
    Run(Block, Piece),
    /// The physical zone of a logical zone, and its write pointer.
    Zone { logical: u32, physical: u32, pointer: u32 },
    /// Blocks that were lost, at most 65,536, and the first block of the disk with their old copies, if there are any.
    Lost { block: Block, count: u64, first_copy: Option<Block> },
    /// No block recorded before is lost.
    NoneLost,
}

/// The records of a run of any length.
pub(crate) fn run_records(block: Block, piece: Piece) -> impl Iterator<Item = Record> {
    (0..piece.count.div_ceil(RECORD_BLOCKS)).map(move |part| {
        let ahead = part * RECORD_BLOCKS;
        let count = (piece.count - ahead).min(RECORD_BLOCKS);
        Record::Run(block.after(ahead), Piece { place: piece.place.after(ahead), count })
    })
}

/// The records of lost blocks, with ranges of any length.
pub(crate) fn lost_records(lost: &Lost) -> impl Iterator<Item = Record> + '_ {
    lost.runs().flat_map(|(range, first)| {
        range.clone().step_by(RECORD_BLOCKS as usize).map(move |start| Record::Lost {
            block: Block(start),
            count: (range.end - start).min(RECORD_BLOCKS),
            first_copy: first.map(|first| first.after(start - range.start)),
        })
    })
}

/// The most records that `blocks` take beyond one for each run or loss: long ones take several.
pub(crate) fn records_of_length(blocks: u64) -> u64 {
    2 * (blocks / RECORD_BLOCKS)
}

impl Record {
    fn encode(self) -> [u64; 2] {
        let range = |tag: u64, block: Block, count: u64| {
            debug_assert!((1..=RECORD_BLOCKS).contains(&count) && block.0 >> BLOCK_BITS == 0);
            tag << TAG_SHIFT | (count - 1) << BLOCK_BITS | block.0
        };
        match self {
            Record::Run(block, Piece { place, count }) => {
                let place = match place {
                    Place::Nowhere => 0,
                    Place::Buffer(at) => 1 << 62 | at,
                    Place::Native(at) => 2 << 62 | at,
                };
                [range(1, block, count), place]
            }
            Record::Zone { logical, physical, pointer } => [
                2 << TAG_SHIFT | u64::from(logical),
                u64::from(physical) << 32 | u64::from(pointer),
            ],
            Record::Lost { block, count, first_copy } => {
                [range(3, block, count), first_copy.map_or(0, |first| 1 << 62 | first.0)]
            }
            Record::NoneLost => [4 << TAG_SHIFT, 0],
        }
    }

    fn decode([first, second]: [u64; 2]) -> Option<Record> {
        let block = Block(first & ((1 << BLOCK_BITS) - 1));
        let count = (first >> BLOCK_BITS & (RECORD_BLOCKS - 1)) + 1;
        let at = second & ((1 << 62) - 1);
        Some(match (first >> TAG_SHIFT, second >> 62) {
            (1, 0) if at == 0 => Record::Run(block, Piece { place: Place::Nowhere, count }),
            (1, 1) => Record::Run(block, Piece { place: Place::Buffer(at), count }),
            (1, 2) => Record::Run(block, Piece { place: Place::Native(at), count }),
            (2, _) => Record::Zone {
                logical: u32::try_from(first & ((1 << TAG_SHIFT) - 1)).ok()?,
                physical: (second >> 32) as u32,
                pointer: second as u32,
            },
            (3, 0) if at == 0 => Record::Lost { block, count, first_copy: None },
            (3, 1) => Record::Lost { block, count, first_copy: Some(Block(at)) },
            (4, _) if second == 0 => Record::NoneLost,
            _ => return None,
        })
    }
}

/// Encodes a page.
pub(crate) fn encode(page: &mut Page, owner: Owner, stand: Stand, records: &[Record]) {
    let head = Head {
        magic: MAGIC,
        crc: 0.into(),
        uuid: owner.uuid,
        epoch: owner.epoch.into(),
        generation: owner.generation.into(),
        sequence: stand.sequence.into(),
        kind: stand.kind as u8,
        last: stand.last.into(),
        records: (records.len() as u16).into(),
        commit: stand.commit.into(),
    };
    page.fill(0);
    page[..HEAD_BYTES].copy_from_slice(head.as_bytes());
    for (room, record) in page[HEAD_BYTES..].chunks_exact_mut(RECORD_BYTES).zip(records) {
        let [first, second] = record.encode();
        room[..8].copy_from_slice(&first.to_le_bytes());
        room[8..].copy_from_slice(&second.to_le_bytes());
    }
    seal(page, CRC_AT);
}

/// Why a page is not the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Bad {
    #[error("there is none")]
    Blank,
    #[error("there is no page of a map")]
    Foreign,
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it is of another time")]
    Stale,
    #[error("its checksum is right, and what it says makes no sense")]
    Nonsense,
}

/// The owner of an undamaged page.
pub(crate) fn owner(page: &Page) -> Option<Owner> {
    let (head, _) = Head::read_from_prefix(page).expect("a page is longer");
    let whole = head.magic == MAGIC && head.crc.get() == checksum(page, CRC_AT);
    let (epoch, generation) = (head.epoch.get(), head.generation.get());
    whole.then_some(Owner { uuid: head.uuid, epoch, generation })
}

/// Decodes a page, if it is the one of `owner` with that kind and sequence.
pub(crate) fn decode(
    page: &Page,
    owner: Owner,
    kind: Kind,
    sequence: u32,
    records: &mut Vec<Record>,
) -> Result<Stand, Bad> {
    let (head, rest) = Head::read_from_prefix(page).expect("a page is longer");
    if head.magic != MAGIC {
        let is_blank = page.iter().all(|byte| *byte == 0);
        return Err(if is_blank { Bad::Blank } else { Bad::Foreign });
    }
    if head.crc.get() != checksum(page, CRC_AT) {
        return Err(Bad::Checksum);
    }
    let found =
        Owner { uuid: head.uuid, epoch: head.epoch.get(), generation: head.generation.get() };
    if (found, head.kind, head.sequence.get()) != (owner, kind as u8, sequence) {
        return Err(Bad::Stale);
    }
    let count = usize::from(head.records.get());
    if count as u64 > RECORDS || head.last > 1 {
        return Err(Bad::Nonsense);
    }
    records.clear();
    for bytes in rest.chunks_exact(RECORD_BYTES).take(count) {
        let word =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        records.push(Record::decode([word(0), word(8)]).ok_or(Bad::Nonsense)?);
    }
    Ok(Stand { kind, sequence, commit: head.commit.get(), last: head.last == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWNER: Owner = Owner { uuid: *b"0123456789abcdef", epoch: 3, generation: 9 };
    const STAND: Stand = Stand { kind: Kind::Log, sequence: 5, commit: 2, last: true };

    fn lost(block: u64, count: u64, first_copy: Option<u64>) -> Record {
        Record::Lost { block: Block(block), count, first_copy: first_copy.map(Block) }
    }

    fn page(records: &[Record]) -> Page {
        let mut page = [0xff; 4096];
        encode(&mut page, OWNER, STAND, records);
        page
    }

    #[test]
    fn a_page_byte_by_byte() {
        let run = Record::Run(Block(0x1234), Piece { place: Place::Buffer(7), count: 3 });
        let native = Record::Run(Block(1), Piece { place: Place::Native(0x55), count: 65_536 });
        let zone = Record::Zone { logical: 4, physical: 6, pointer: 0x100 };
        let page =
            page(&[run, native, zone, lost(2, 1, None), lost(4, 2, Some(99)), Record::NoneLost]);
        let mut bytes = Vec::new();
        bytes.extend(b"SHTP");
        bytes.extend(checksum(&page, 4).to_le_bytes());
        bytes.extend(b"0123456789abcdef");
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([5, 0, 0, 0, 2, 1, 6, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0x34, 0x12, 0, 0, 0, 0x20, 0, 0x10, 7, 0, 0, 0, 0, 0, 0, 0x40]);
        bytes.extend([1, 0, 0, 0, 0, 0xf0, 0xff, 0x1f, 0x55, 0, 0, 0, 0, 0, 0, 0x80]);
        bytes.extend([4, 0, 0, 0, 0, 0, 0, 0x20, 0, 1, 0, 0, 6, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([4, 0, 0, 0, 0, 0x10, 0, 0x30, 99, 0, 0, 0, 0, 0, 0, 0x40]);
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page[..bytes.len()], bytes);
        assert!(page[bytes.len()..].iter().all(|byte| *byte == 0));
        assert_eq!(RECORDS, 252);
    }

    #[test]
    fn a_page_of_another_time_is_not_taken() {
        let page = page(&[Record::NoneLost]);
        let look = |page: &Page, owner, kind, sequence| {
            decode(page, owner, kind, sequence, &mut Vec::new())
        };
        assert_eq!(look(&page, OWNER, Kind::Log, 5), Ok(STAND));
        assert_eq!(look(&page, OWNER, Kind::Log, 6), Err(Bad::Stale));
        assert_eq!(look(&page, OWNER, Kind::Checkpoint, 5), Err(Bad::Stale));
        assert_eq!(look(&page, Owner { epoch: 4, ..OWNER }, Kind::Log, 5), Err(Bad::Stale));
        assert_eq!(look(&page, Owner { generation: 7, ..OWNER }, Kind::Log, 5), Err(Bad::Stale));
        assert_eq!(look(&page, Owner { uuid: [0; 16], ..OWNER }, Kind::Log, 5), Err(Bad::Stale));
        assert_eq!(look(&[0; 4096], OWNER, Kind::Log, 5), Err(Bad::Blank));
        let mut nonsense = page;
        nonsense[56 + 7] = 0x50;
        assert_eq!(look(&nonsense, OWNER, Kind::Log, 5), Err(Bad::Checksum));
        seal(&mut nonsense, CRC_AT);
        assert_eq!(look(&nonsense, OWNER, Kind::Log, 5), Err(Bad::Nonsense));
        // More records than fit on a page; and `last` with the value 2.
        for (at, byte) in [(46, 253), (45, 2)] {
            let mut nonsense = page;
            nonsense[at] = byte;
            seal(&mut nonsense, CRC_AT);
            assert_eq!(look(&nonsense, OWNER, Kind::Log, 5), Err(Bad::Nonsense));
        }
    }

    #[test]
    fn a_long_run_takes_several_records() {
        let piece = Piece { place: Place::Native(10), count: 70_000 };
        let records: Vec<_> = run_records(Block(5), piece).collect();
        let part =
            |block, at, count| Record::Run(Block(block), Piece { place: Place::Native(at), count });
        assert_eq!(records, [part(5, 10, 65_536), part(65_541, 65_546, 4464)]);
        let mut lost_blocks = Lost::default();
        lost_blocks.set(5..70_005, Some(Block(1000)));
        lost_blocks.insert(80_000..80_001);
        let records: Vec<_> = lost_records(&lost_blocks).collect();
        let parts =
            [lost(5, 65_536, Some(1000)), lost(65_541, 4464, Some(66_536)), lost(80_000, 1, None)];
        assert_eq!(records, parts);
        // Beyond one record each, for runs and losses.
        assert_eq!([65_535, 65_536, 140_000].map(records_of_length), [0, 2, 4]);
    }

    fn record() -> impl Strategy<Value = Record> {
        let place = prop_oneof![
            Just(Place::Nowhere),
            (0u64..1 << 62).prop_map(Place::Buffer),
            (0u64..1 << 62).prop_map(Place::Native)
        ];
        prop_oneof![
            (0u64..1 << 44, 1u64..=65_536, place).prop_map(|(block, count, place)| Record::Run(
                Block(block),
                Piece { place, count }
            )),
            any::<(u32, u32, u32)>().prop_map(|(logical, physical, pointer)| Record::Zone {
                logical,
                physical,
                pointer
            }),
            (0u64..1 << 44, 1u64..=65_536, proptest::option::of(0u64..1 << 62))
                .prop_map(|(block, count, copy)| lost(block, count, copy)),
            Just(Record::NoneLost),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(record(), 0..252), flip in 0usize..4096 * 8) {
            let mut page = page(&records);
            let mut found = Vec::new();
            prop_assert_eq!(decode(&page, OWNER, Kind::Log, 5, &mut found), Ok(STAND));
            prop_assert_eq!(&found, &records);
            page[flip / 8] ^= 1 << (flip % 8);
            prop_assert!(decode(&page, OWNER, Kind::Log, 5, &mut found).is_err());
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 4096)) {
            let mut page: Page = bytes.try_into().expect("a page");
            let (mut head, _) = Head::read_from_prefix(&page).expect("longer");
            head.magic = MAGIC;
            head.uuid = OWNER.uuid;
            (head.epoch, head.generation) = (OWNER.epoch.into(), OWNER.generation.into());
            (head.sequence, head.kind, head.last) = (5.into(), 2, head.last % 2);
            head.records = (head.records.get() % 260).into();
            page[..HEAD_BYTES].copy_from_slice(head.as_bytes());
            seal(&mut page, CRC_AT);
            let _ = decode(&page, OWNER, Kind::Log, 5, &mut Vec::new());
        }
    }
}
