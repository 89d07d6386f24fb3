//! The geometry of a zoned disk: sizes, kinds and limits of its zones.

use shingle_core::units::{BLOCK_BYTES, Block, DISK_BYTES_MAX, SECTOR_BYTES, Zone};

/// The highest number of zones: eighty times those of the largest disk today.
const ZONES_MAX: u32 = 1 << 23;

/// The result of a read beyond the write pointer (ZBC: URSWRZ).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadsBeyond {
    /// Zeros (URSWRZ is 1).
    Zeros,
    /// An error (URSWRZ is 0).
    Refused,
    /// Unknown: the kernel does not report it.
    Unknown,
}

/// The geometry of a zoned disk. All zones have the same size and are contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// The number of zones.
    pub zones: u32,
    /// The number of conventional zones at the start of the disk: they can be written anywhere and
    /// have no write pointer. There may be others further on: the report decides.
    pub conventional_zones: u32,
    /// The blocks from the start of a zone to the start of the next one.
    pub zone_blocks: u64,
    /// The blocks of a sequential zone that can be written, from its first one on. On SMR disks all
    /// of them.
    pub zone_capacity_blocks: u64,
    /// The unit of addresses in bytes.
    pub logical_block_bytes: u32,
    /// The unit in bytes at which a write may be torn, at most a block of 4 KiB.
    pub physical_block_bytes: u32,
    /// The highest number of open zones; 0 if there is no limit.
    pub max_open: u32,
    /// The highest number of open or closed zones; 0 if there is no limit, as on SMR disks.
    pub max_active: u32,
    /// The result of a read beyond the write pointer.
    pub reads_beyond: ReadsBeyond,
}

/// The error of an impossible geometry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct GeometryError(String);

impl Geometry {
    /// A disk of `zones` zones of `zone_blocks` blocks, none of them conventional, otherwise like
    /// SMR disks: at most 128 open zones, any number active, physical blocks of 4096 bytes, zeros
    /// beyond write pointers.
    #[must_use]
    pub fn new(zones: u32, zone_blocks: u64) -> Geometry {
        Geometry {
            zones,
            conventional_zones: 0,
            zone_blocks,
            zone_capacity_blocks: zone_blocks,
            logical_block_bytes: SECTOR_BYTES as u32,
            physical_block_bytes: BLOCK_BYTES as u32,
            max_open: 128,
            max_active: 0,
            reads_beyond: ReadsBeyond::Zeros,
        }
    }

    /// Checks that the geometry is possible.
    ///
    /// # Errors
    /// What is wrong, and what is possible.
    pub fn check(&self) -> Result<(), GeometryError> {
        let wrong = |text: String| Err(GeometryError(text));
        if !(1..=ZONES_MAX).contains(&self.zones) {
            return wrong(format!("{} zones: a disk has 1 to {ZONES_MAX}", self.zones));
        }
        if self.conventional_zones > self.zones {
            let (some, all) = (self.conventional_zones, self.zones);
            return wrong(format!("{some} conventional zones: there are {all} zones in all"));
        }
        if !(1..=u64::from(u32::MAX)).contains(&self.zone_blocks)
            || self.zone_blocks * u64::from(self.zones) > DISK_BYTES_MAX / BLOCK_BYTES
        {
            let (zones, blocks) = (self.zones, self.zone_blocks);
            return wrong(format!(
                "{zones} zones of {blocks} blocks of 4 KiB: a zone has at least one and is below 16 TiB, and a disk \
                 has at most 64 PiB"
            ));
        }
        if !(1..=self.zone_blocks).contains(&self.zone_capacity_blocks) {
            let (some, all) = (self.zone_capacity_blocks, self.zone_blocks);
            return wrong(format!(
                "a capacity of {some} blocks: a zone has {all}, and one at least"
            ));
        }
        let (logical, physical) = (self.logical_block_bytes, self.physical_block_bytes);
        let sizes = u64::from(logical) >= SECTOR_BYTES
            && logical <= physical
            && u64::from(physical) <= BLOCK_BYTES;
        if !sizes || !logical.is_power_of_two() || !physical.is_power_of_two() {
            return wrong(format!(
                "logical blocks of {logical} bytes and physical ones of {physical}: powers of two from 512 to 4096, \
                 the logical ones no larger"
            ));
        }
        if self.max_active != 0 && self.max_open > self.max_active {
            let (open, active) = (self.max_open, self.max_active);
            return wrong(format!(
                "{open} zones open and {active} active at most: open ones are active"
            ));
        }
        Ok(())
    }

    /// The size of the disk in blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.zone_blocks * u64::from(self.zones)
    }

    /// The zone of a block, and the offset of the block in it; `None` beyond the last zone.
    #[must_use]
    pub fn place(&self, block: Block) -> Option<(Zone, u64)> {
        let zone = u32::try_from(block.0 / self.zone_blocks).ok()?;
        (zone < self.zones).then_some((Zone(zone), block.0 % self.zone_blocks))
    }

    /// Whether a zone is one of the conventional zones at the start of the disk, in any condition.
    #[must_use]
    pub fn is_conventional(&self, zone: Zone) -> bool {
        zone.0 < self.conventional_zones
    }

    /// The first block of a zone.
    #[must_use]
    pub fn first(&self, zone: Zone) -> Block {
        Block(u64::from(zone.0) * self.zone_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_in_zones() {
        let disk = Geometry::new(3, 10);
        assert_eq!((disk.check(), disk.blocks()), (Ok(()), 30));
        assert_eq!(disk.place(Block(0)), Some((Zone(0), 0)));
        assert_eq!(disk.place(Block(29)), Some((Zone(2), 9)));
        assert_eq!((disk.place(Block(30)), disk.place(Block(u64::MAX))), (None, None));
        assert_eq!(disk.first(Zone(2)), Block(20));
    }

    #[test]
    fn what_no_disk_is_like_is_told() {
        let good = Geometry::new(3, 10);
        let refused = |change: &dyn Fn(&mut Geometry), part: &str| {
            let mut disk = good;
            change(&mut disk);
            let error = disk.check().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        refused(&|disk| disk.zones = 0, "0 zones");
        refused(&|disk| disk.zones = u32::MAX, "4294967295 zones");
        refused(&|disk| disk.conventional_zones = 4, "4 conventional zones");
        refused(&|disk| disk.zone_blocks = 0, "3 zones of 0 blocks");
        refused(&|disk| disk.zone_blocks = u64::MAX, "below 16 TiB");
        refused(&|disk| (disk.zones, disk.zone_blocks) = (1 << 20, 1 << 30), "64 PiB");
        refused(&|disk| disk.zone_capacity_blocks = 11, "capacity of 11");
        refused(&|disk| disk.zone_capacity_blocks = 0, "capacity of 0");
        refused(&|disk| disk.physical_block_bytes = 8192, "8192");
        refused(&|disk| disk.logical_block_bytes = 600, "600");
        refused(&|disk| disk.physical_block_bytes = 256, "256");
        refused(&|disk| (disk.max_open, disk.max_active) = (5, 4), "5 zones open and 4 active");
    }
}
