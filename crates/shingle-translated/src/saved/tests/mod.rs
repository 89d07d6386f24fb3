//! The map step by step: what is written when, and what is read from disks that are assembled page
//! by page. `tests/all/crash.rs` tests that no crash loses anything.

mod finding;
mod read_back;
mod reading;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_engine::format::Page;
use shingle_translation::{Piece, Place};
use shingle_zoned::{
    Condition, Geometry, Operation, Reason, ZoneCommand, ZoneReport, ZonedDisk, ZonedError, Zones,
};

use super::page::Record;
use super::superblock::tests::example;
use super::{Areas, Superblock};

/// An I/O of a disk: the first block, and the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read(u64, u64),
    Write(u64, u64),
    Flush,
}

/// The conventional zones of a disk. Unwritten blocks are zeros.
struct Disk {
    geometry: Geometry,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    pages: BTreeMap<u64, Page>,
    unreadable: BTreeSet<u64>,
    /// Conventional zones that can only be read.
    failed: BTreeSet<u32>,
    steps: Vec<Step>,
    /// Which write or flush fails, counted from the next one on: it is not carried out.
    fails: Option<usize>,
    /// The disk loses its power for a moment before the next flush, and with it what was written to this block.
    forgets: Option<u64>,
}

impl Disk {
    /// A disk for `superblock`.
    fn new(superblock: &Superblock) -> Disk {
        let geometry = Geometry {
            conventional_zones: superblock.conventional_zones,
            zone_capacity_blocks: superblock.zone_capacity_blocks,
            ..Geometry::new(superblock.zones, superblock.zone_blocks)
        };
        Disk { geometry, inside: Mutex::default() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().expect("no panic")
    }

    /// The I/O since the last call.
    fn steps(&self) -> Vec<Step> {
        std::mem::take(&mut self.inside().steps)
    }

    /// The same without reads.
    fn changes(&self) -> Vec<Step> {
        let steps = self.steps().into_iter();
        steps.filter(|step| !matches!(step, Step::Read(..))).collect()
    }

    fn fail(&self, after: usize) {
        self.inside().fails = Some(after);
    }

    fn put(&self, at: Block, page: Page) {
        self.inside().pages.insert(at.0, page);
    }

    fn page(&self, at: Block) -> Page {
        self.inside().pages.get(&at.0).copied().unwrap_or([0; 4096])
    }

    /// The superblock of a copy.
    fn superblock(&self, copy: usize) -> Superblock {
        let blocks = u64::from(self.geometry.conventional_zones) * self.geometry.zone_blocks;
        let at = Areas::superblocks_in(&(0..blocks))[copy];
        Superblock::decode(&self.page(at)).expect("it was written")
    }

    fn begin(&self, step: Step) -> Result<MutexGuard<'_, Inside>, ZonedError> {
        let mut inside = self.inside();
        inside.steps.push(step);
        let (operation, block, blocks) = match step {
            Step::Read(block, count) => (Operation::Read, block, count),
            Step::Write(block, count) => (Operation::Write, block, count),
            Step::Flush => (Operation::Flush, 0, 0),
        };
        let end = u64::from(self.geometry.conventional_zones) * self.geometry.zone_blocks;
        assert!(block + blocks <= end, "{step:?} is behind the last conventional zone");
        let fails = match operation {
            Operation::Read => inside.unreadable.range(block..block + blocks).next().is_some(),
            _ => match inside.fails {
                Some(0) => {
                    inside.fails = None;
                    true
                }
                Some(after) => {
                    inside.fails = Some(after - 1);
                    false
                }
                None => false,
            },
        };
        if fails {
            let reason = Reason::Device(std::io::Error::from_raw_os_error(5));
            let (device, block) = ("steps".to_owned(), Block(block));
            return Err(ZonedError { device, operation, zone: None, block, blocks, reason });
        }
        Ok(inside)
    }
}

impl ZonedDisk for Disk {
    fn name(&self) -> &'static str {
        "steps"
    }
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        let inside = self.begin(Step::Read(block.0, buffers.len() as u64))?;
        for (at, buffer) in (block.0..).zip(buffers) {
            buffer.0 = inside.pages.get(&at).copied().unwrap_or([0; 4096]);
        }
        Ok(())
    }
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        let mut inside = self.begin(Step::Write(block.0, buffers.len() as u64))?;
        inside.pages.extend((block.0..).zip(buffers).map(|(at, buffer)| (at, buffer.0)));
        Ok(())
    }
    fn flush(&self) -> Result<(), ZonedError> {
        let mut inside = self.begin(Step::Flush)?;
        if let Some(block) = inside.forgets.take() {
            inside.pages.insert(block, [9; 4096]);
        }
        Ok(())
    }
    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        assert!(first.0 + count <= self.geometry.conventional_zones, "the map is not there");
        let mut zones = Zones::new(self.geometry);
        for zone in &self.inside().failed {
            let failed = zones.state(Zone(*zone)).failed(Condition::ReadOnly, &self.geometry);
            zones.put(Zone(*zone), failed);
        }
        Ok((first.0..first.0 + count).map(|zone| zones.report(Zone(zone))).collect())
    }
    fn command(&self, _: ZoneCommand, _: Zone) -> Result<(), ZonedError> {
        unreachable!("the map is not in sequential zones")
    }
}

/// A map whose checkpoint and log take several I/Os. Pages of its log are full.
fn large() -> Superblock {
    Superblock {
        zones: 80,
        conventional_zones: 64,
        areas: Areas {
            first_block: 0,
            conventional_blocks: 4096,
            checkpoint_pages: 400,
            log_pages: 600,
        },
        buffer_blocks: 50,
        ..example()
    }
}

/// Each logical zone of `superblock` is one of those behind the conventional ones.
fn zones(superblock: &Superblock) -> Vec<Record> {
    let first = superblock.conventional_zones;
    let zone = |logical| Record::Zone { logical, physical: first + logical, pointer: 0 };
    (0..superblock.logical_zones).map(zone).collect()
}

/// Blocks in the buffer, from its start on.
fn run(block: u64, count: u64) -> Record {
    Record::Run(Block(block), Piece { place: Place::Buffer(0), count })
}
