//! Decodes reports of zones by the kernel (`struct blk_zone_report` of `linux/blkzoned.h`).
//!
//! ```text
//! report   0  sector u64        zone   0  start, length, write pointer u64, in sectors of 512 bytes
//!          8  zones u32               24  type, condition, non-sequential, reset advised u8
//!         12  flags u32               28  four bytes of nothing
//!         16  zones of 64 bytes       32  capacity u64, if flags have bit 0
//! ```
//! Numbers have the byte order of the machine.

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::geometry::Geometry;
use crate::zone::Condition;
use crate::zones::ZoneState;

const SECTORS_A_BLOCK: u64 = BLOCK_BYTES / SECTOR_BYTES;
const HAS_CAPACITY: u32 = 1;
const CONVENTIONAL: u8 = 1;
const SEQUENTIAL_REQUIRED: u8 = 2;
const SEQUENTIAL_PREFERRED: u8 = 3;

/// The start of a report.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Head {
    pub(crate) sector: u64,
    pub(crate) zones: u32,
    pub(crate) flags: u32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct RawZone {
    start: u64,
    length: u64,
    write_pointer: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset_advised: u8,
    nothing: [u8; 4],
    capacity: u64,
    reserved: [u8; 24],
}

pub(crate) const HEAD_BYTES: usize = size_of::<Head>();
pub(crate) const ZONE_BYTES: usize = size_of::<RawZone>();

/// A zone as reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported {
    /// Whether it is of the conventional type, in any condition.
    pub is_conventional: bool,
    /// The number of blocks that can be written.
    pub capacity_blocks: u64,
    /// The state of the zone.
    pub state: ZoneState,
}

/// Decodes the zones of a report from zone `first` on, for zones of `zone_blocks` blocks.
///
/// # Errors
/// One line, if it is not a report of such zones.
pub fn parse(bytes: &[u8], first: u32, zone_blocks: u64) -> Result<Vec<Reported>, String> {
    let (flags, zones) = raw(bytes)?;
    let parsed = (u64::from(first)..).zip(zones).map(|(zone, raw)| {
        raw.zone(zone, zone_blocks, flags).map_err(|what| format!("zone {zone}: {what}"))
    });
    parsed.collect()
}

/// The flags and the zones of a report.
fn raw(bytes: &[u8]) -> Result<(u32, impl Iterator<Item = RawZone>), String> {
    let cut_off = || "the report of zones is cut off".to_owned();
    let (head, rest) = Head::read_from_prefix(bytes).map_err(|_| cut_off())?;
    let room = rest.len() / ZONE_BYTES;
    let zones = rest.chunks_exact(ZONE_BYTES).take(head.zones as usize);
    if (head.zones as usize) > room {
        return Err(format!("a report of {} zones has room for {room}", head.zones));
    }
    // (Chunks have the bytes of a zone.)
    Ok((head.flags, zones.filter_map(|bytes| RawZone::read_from_bytes(bytes).ok())))
}

/// How the zones of a report are to be written, by the first that is not conventional.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// At write pointers only: the disk is host-managed.
    Required,
    /// Anywhere, and in order for better times: it is host-aware.
    Preferred,
    /// All are conventional, the last of them up to the sector `end`.
    None { end: u64 },
}

/// # Errors
/// One line, if it is not a report of zones.
pub(crate) fn order(bytes: &[u8]) -> Result<Order, String> {
    let mut end = 0;
    for zone in raw(bytes)?.1 {
        match zone.kind {
            CONVENTIONAL => end = zone.start.saturating_add(zone.length),
            SEQUENTIAL_PREFERRED => return Ok(Order::Preferred),
            // What is not known is not written as if it were a plain disk.
            _ => return Ok(Order::Required),
        }
    }
    Ok(Order::None { end })
}

impl RawZone {
    fn zone(&self, zone: u64, zone_blocks: u64, flags: u32) -> Result<Reported, String> {
        let sectors = zone_blocks.checked_mul(SECTORS_A_BLOCK).ok_or("it is too large")?;
        if Some(self.start) != zone.checked_mul(sectors) || self.length != sectors {
            let (start, length) = (self.start, self.length);
            return Err(format!("{length} sectors from {start} on, where zones have {sectors}"));
        }
        let capacity = if flags & HAS_CAPACITY == 0 { self.length } else { self.capacity };
        if capacity > sectors || capacity < SECTORS_A_BLOCK {
            return Err(format!("a capacity of {capacity} sectors of {sectors}"));
        }
        let capacity_blocks = capacity / SECTORS_A_BLOCK;
        let geometry =
            Geometry { zone_capacity_blocks: capacity_blocks, ..Geometry::new(1, zone_blocks) };
        geometry.check().map_err(|error| error.to_string())?;
        let condition = self.known_condition()?;
        match self.kind {
            CONVENTIONAL | SEQUENTIAL_REQUIRED => {}
            SEQUENTIAL_PREFERRED => {
                return Err("written in any order: the disk is host-aware".to_owned());
            }
            other => return Err(format!("of type {other}, which is not known")),
        }
        let whole = ZoneState::written(capacity_blocks as u32, 0, &geometry);
        let state = match condition {
            // The write pointer has no meaning here: -1 on disks, the end of the zone elsewhere.
            Condition::ReadOnly | Condition::Offline => ZoneState { condition, ..whole },
            _ if self.kind == CONVENTIONAL => ZoneState::CONVENTIONAL,
            Condition::Full => whole,
            Condition::Empty => ZoneState::EMPTY,
            Condition::Conventional => return Err("sequential, without write pointer".to_owned()),
            open => {
                let at = self.write_pointer.checked_sub(self.start).filter(|&at| at <= capacity);
                let at = at.ok_or_else(|| {
                    format!("its write pointer is at sector {}", self.write_pointer)
                })?;
                let torn = at % SECTORS_A_BLOCK * SECTOR_BYTES;
                let state =
                    ZoneState::written((at / SECTORS_A_BLOCK) as u32, torn as u16, &geometry);
                match open.is_open() && state.condition != Condition::Full {
                    true => ZoneState { condition: open, ..state },
                    false => state,
                }
            }
        };
        Ok(Reported { is_conventional: self.kind == CONVENTIONAL, capacity_blocks, state })
    }

    fn known_condition(&self) -> Result<Condition, String> {
        Ok(match self.condition {
            0x0 => Condition::Conventional,
            0x1 => Condition::Empty,
            0x2 => Condition::ImplicitOpen,
            0x3 => Condition::ExplicitOpen,
            0x4 => Condition::Closed,
            0xd => Condition::ReadOnly,
            0xe => Condition::Full,
            0xf => Condition::Offline,
            other => return Err(format!("in condition {other}, which is not known")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::zones;
    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::Zone;

    /// Zones of 8 blocks, which are 64 sectors.
    const BLOCKS: u64 = 8;

    fn zone(number: u64, kind: u8, condition: u8, write_pointer: u64, capacity: u64) -> RawZone {
        let (start, length) = (number * 64, 64);
        let (non_sequential, reset_advised, nothing, reserved) = (0, 0, [0; 4], [0; 24]);
        RawZone {
            start,
            length,
            write_pointer,
            kind,
            condition,
            non_sequential,
            reset_advised,
            nothing,
            capacity,
            reserved,
        }
    }

    fn bytes(zones: &[RawZone], flags: u32) -> Vec<u8> {
        let head = Head { sector: 0, zones: zones.len() as u32, flags };
        let zones = zones.iter().flat_map(|zone| zone.as_bytes().to_vec());
        head.as_bytes().iter().copied().chain(zones).collect()
    }

    fn parsed(zones: &[RawZone]) -> Vec<(Condition, u32, u16)> {
        let parsed = parse(&bytes(zones, 0), 0, BLOCKS).expect("a report");
        let state =
            |zone: &Reported| (zone.state.condition, zone.state.pointer, zone.state.torn_bytes);
        parsed.iter().map(state).collect()
    }

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!((HEAD_BYTES, ZONE_BYTES), (16, 64));
        let raw = zone(1, 2, 2, 64 + 8, 0);
        let raw = raw.as_bytes();
        assert_eq!(raw[0..8], 64_u64.to_ne_bytes());
        assert_eq!(raw[16..24], 72_u64.to_ne_bytes());
        assert_eq!(raw[24..28], [2, 2, 0, 0]);
    }

    #[test]
    fn zones_are_as_the_kernel_says() {
        let zones = [
            // A conventional zone as SCSI disks report it, and as null_blk does.
            zone(0, 1, 0, u64::MAX, 64),
            zone(1, 1, 0, 128, 64),
            zone(2, 2, 1, 128, 64),
            zone(3, 2, 2, 192 + 24, 64),
            zone(4, 2, 3, 256, 64),
            zone(5, 2, 4, 320 + 13, 64),
            zone(6, 2, 0xe, 448, 64),
            zone(7, 2, 0xd, u64::MAX, 64),
            zone(8, 2, 0xf, 0, 64),
        ];
        use Condition::{
            Closed, Conventional, Empty, ExplicitOpen, Full, ImplicitOpen, Offline, ReadOnly,
        };
        assert_eq!(
            parsed(&zones),
            [
                (Conventional, 0, 0),
                (Conventional, 0, 0),
                (Empty, 0, 0),
                (ImplicitOpen, 3, 0),
                (ExplicitOpen, 0, 0),
                (Closed, 1, 2560),
                (Full, 8, 0),
                (ReadOnly, 8, 0),
                (Offline, 8, 0),
            ]
        );
    }

    /// Otherwise the map on these zones would be looked for elsewhere, and not be found.
    #[test]
    fn a_conventional_zone_that_has_failed_is_one_still() {
        for (failed, condition) in [(0, 0xd), (0, 0xf), (1, 0xd), (2, 0xf)] {
            let conventional =
                (0..3).map(|at| zone(at, 1, if at == failed { condition } else { 0 }, 0, 64));
            let sequential = [zone(3, 2, 0xf, 0, 48), zone(4, 2, 1, 0, 48)];
            let all: Vec<_> = conventional.chain(sequential).collect();
            let reported = parse(&bytes(&all, HAS_CAPACITY), 0, BLOCKS).expect("a report");
            let zones = zones(Geometry::new(5, BLOCKS), &reported).expect("zones can be so");
            let found = zones.geometry();
            assert_eq!((found.conventional_zones, found.zone_capacity_blocks), (3, 6));
            let report = zones.report(Zone(failed as u32));
            assert_eq!((report.condition.has_failed(), report.capacity_blocks), (true, BLOCKS));
        }
    }

    #[test]
    fn a_capacity_counts_where_the_kernel_says_so() {
        let zones = [zone(0, 2, 0xe, 64, 48)];
        let capacity =
            |flags| parse(&bytes(&zones, flags), 0, BLOCKS).expect("a report")[0].capacity_blocks;
        assert_eq!((capacity(0), capacity(1)), (8, 6));
    }

    #[test]
    fn sectors_behind_the_last_whole_block_hold_nothing() {
        // 13 sectors are a block and five more sectors, all of which were written.
        let zones = [zone(0, 2, 4, 13, 13), zone(1, 2, 2, 64 + 12, 13)];
        let zones = parse(&bytes(&zones, HAS_CAPACITY), 0, BLOCKS).expect("a report");
        let full =
            ZoneState::written(1, 0, &Geometry { zone_capacity_blocks: 1, ..Geometry::new(2, 8) });
        assert_eq!(full.condition, Condition::Full);
        assert_eq!(
            zones,
            [Reported { is_conventional: false, capacity_blocks: 1, state: full }; 2]
        );
    }

    #[test]
    fn the_first_zone_with_a_pointer_says_how_a_disk_is_written() {
        let conventional = || [zone(0, 1, 0, 0, 64), zone(1, 1, 0, 0, 64)];
        let order_with = |more: Vec<RawZone>| {
            order(&bytes(&conventional().into_iter().chain(more).collect::<Vec<_>>(), 1))
        };
        assert_eq!(order_with(vec![]), Ok(Order::None { end: 128 }));
        for (kind, order) in [(2, Order::Required), (3, Order::Preferred), (4, Order::Required)] {
            assert_eq!(order_with(vec![zone(2, kind, 1, 128, 64)]), Ok(order), "type {kind}");
        }
        assert_eq!(order(&bytes(&[], 0)), Ok(Order::None { end: 0 }));
        assert!(order(&bytes(&conventional(), 0)[..80]).is_err(), "one zone is cut off");
    }

    #[test]
    fn what_is_no_zone_is_told() {
        let error = |zone: RawZone| parse(&bytes(&[zone], 1), 0, BLOCKS).expect_err("no zone");
        assert_eq!(
            error(zone(0, 3, 1, 0, 64)),
            "zone 0: written in any order: the disk is host-aware"
        );
        assert_eq!(error(zone(0, 7, 1, 0, 64)), "zone 0: of type 7, which is not known");
        assert_eq!(error(zone(0, 2, 9, 0, 64)), "zone 0: in condition 9, which is not known");
        assert_eq!(error(zone(0, 2, 0, 0, 64)), "zone 0: sequential, without write pointer");
        assert_eq!(error(zone(0, 2, 2, 65, 64)), "zone 0: its write pointer is at sector 65");
        assert_eq!(error(zone(0, 2, 1, 0, 65)), "zone 0: a capacity of 65 sectors of 64");
        assert_eq!(
            error(zone(1, 2, 1, 0, 64)),
            "zone 0: 64 sectors from 64 on, where zones have 64"
        );
        let mut cut = bytes(&[zone(0, 2, 1, 0, 64)], 0);
        cut.truncate(70);
        assert_eq!(parse(&cut, 0, BLOCKS).expect_err("cut"), "a report of 1 zones has room for 0");
        assert_eq!(parse(&cut[..9], 0, BLOCKS).expect_err("cut"), "the report of zones is cut off");
    }

    proptest! {
        /// Bytes of a device with wrong reports: an error, or valid zones.
        #[test]
        fn any_bytes_are_zones_or_an_error(
            mut bytes in prop::collection::vec(any::<u8>(), 0..400),
            plain in any::<bool>(),
            pointer in 0_u64..200,
            capacity in 0_u64..200,
            zone_blocks in prop_oneof![1_u64..20, Just(u64::MAX), Just(u64::from(u32::MAX))],
        ) {
            // Most random bytes are refused at once: with valid start and length more code is
            // reached.
            if plain && bytes.len() >= HEAD_BYTES + ZONE_BYTES {
                bytes[8..12].copy_from_slice(&1_u32.to_ne_bytes());
                bytes[16..24].fill(0);
                bytes[24..32].copy_from_slice(&zone_blocks.saturating_mul(8).to_ne_bytes());
                bytes[32..40].copy_from_slice(&pointer.to_ne_bytes());
                bytes[40] %= 4;
                bytes[41] %= 16;
                bytes[48..56].copy_from_slice(&capacity.to_ne_bytes());
            }
            if let Ok(zones) = parse(&bytes, 0, zone_blocks) {
                for zone in zones {
                    let geometry =
                        Geometry { zone_capacity_blocks: zone.capacity_blocks, physical_block_bytes: 512, ..Geometry::new(1, zone_blocks) };
                    prop_assert_eq!(zone.state.check(&geometry), Ok(()));
                }
            }
        }
    }
}
