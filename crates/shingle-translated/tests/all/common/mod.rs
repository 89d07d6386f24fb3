//! Disks and data of tests.

#![allow(unreachable_pub)]

pub mod drills;
pub mod world;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Format, LiveDisk, LiveError, format};
use shingle_zoned::{
    Faults, Geometry, MemoryDisk, Operation, Reason, ZoneCommand, ZoneReport, ZonedDisk, ZonedError,
};

/// A disk in memory that outlives its users, has unreadable blocks, and fails on command.
#[derive(Clone)]
pub struct Held(pub Arc<MemoryDisk>, pub Arc<Mutex<BTreeSet<u64>>>, pub Arc<Switch>);

/// The failures that are switched on.
#[derive(Default)]
pub struct Switch {
    /// All calls fail.
    pub all: AtomicBool,
    /// Which calls fail: their kind, how many of that kind succeed before, and how many fail then.
    pub next: Mutex<Option<(Operation, u64, u64)>>,
    /// Which written blocks become unreadable later.
    pub spoils: Mutex<Option<Spoils>>,
    /// The power is cut after the first bad read, and this many more writes and flushes.
    pub cut: Mutex<Option<u64>>,
    /// The power fails for a moment before the call with this number from now on. (Reads do not count.)
    pub moment: Mutex<Option<u64>>,
    /// Whether an unreadable block has been read.
    pub has_read_bad: AtomicBool,
    /// This many blocks at both ends of the conventional zones stay readable: the loss of both
    /// copies of the map is tested elsewhere.
    pub spared: AtomicU64,
}

/// Which blocks become unreadable, until they are written again.
#[derive(Clone, Copy)]
pub enum Spoils {
    /// After this many writes, at most this many of the first blocks of the next write.
    Written { after: u64, blocks: u64 },
    /// The next write that fails makes this many blocks before its own unreadable.
    BeforeFailed { blocks: u64 },
}

impl Held {
    pub fn new(geometry: Geometry, faults: Faults) -> Held {
        Held(Arc::new(MemoryDisk::new(geometry, faults)), Arc::default(), Arc::default())
    }

    /// After `after` calls of this kind, the next `count` fail.
    pub fn fail(&self, operation: Operation, after: u64, count: u64) {
        *self.2.next.lock().expect("no panic") = Some((operation, after, count));
    }

    /// Ends all failures. Unreadable blocks stay so.
    pub fn go_on(&self) {
        *self.2.next.lock().expect("no panic") = None;
        *self.2.spoils.lock().expect("no panic") = None;
        *self.2.cut.lock().expect("no panic") = None;
    }

    /// Makes all unreadable blocks readable again.
    pub fn can_be_read_again(&self) {
        self.1.lock().expect("no panic").clear();
    }

    /// The power is cut before a write or flush, `after` others after the first read of an
    /// unreadable block.
    pub fn cut_power_after_a_bad_read(&self, after: u64) {
        *self.2.cut.lock().expect("no panic") = Some(after);
    }

    /// The power fails for a moment before a call that is no read, `after` others from now on: what was not flushed is lost in part, and no
    /// call fails.
    pub fn lose_power_for_a_moment(&self, after: u64) {
        *self.2.moment.lock().expect("no panic") = Some(after);
    }

    /// Whether that is still to come.
    pub fn is_to_lose_power(&self) -> bool {
        self.2.moment.lock().expect("no panic").is_some()
    }

    fn may_be_without_power(&self) {
        let mut moment = self.2.moment.lock().expect("no panic");
        *moment = match *moment {
            Some(0) => {
                self.0.cut_power();
                self.0.restart();
                None
            }
            later => later.map(|calls| calls - 1),
        };
    }

    fn may_lose_its_power(&self) {
        if !self.2.has_read_bad.load(Ordering::Relaxed) {
            return;
        }
        match self.2.cut.lock().expect("no panic").as_mut() {
            Some(0) => self.0.cut_power(),
            Some(after) => *after -= 1,
            None => {}
        }
    }

    pub fn spoil(&self, spoils: Spoils) {
        *self.2.spoils.lock().expect("no panic") = Some(spoils);
    }

    /// The blocks that become unreadable after a write that was done, or has failed.
    fn spoilt(&self, block: Block, count: u64, done: bool) -> Range<u64> {
        let spared = self.2.spared.load(Ordering::Relaxed);
        let conventional =
            u64::from(self.geometry().conventional_zones) * self.geometry().zone_blocks;
        if block.0 < spared || (conventional - spared..conventional).contains(&block.0) {
            return 0..0;
        }
        let mut spoils = self.2.spoils.lock().expect("no panic");
        let range = match &mut *spoils {
            Some(Spoils::Written { after, .. }) if done && *after > 0 => {
                *after -= 1;
                return 0..0;
            }
            Some(Spoils::Written { blocks, .. }) if done => block.0..block.0 + count.min(*blocks),
            Some(Spoils::BeforeFailed { blocks }) if !done => {
                block.0.saturating_sub(*blocks).max(spared)..block.0
            }
            _ => return 0..0,
        };
        *spoils = None;
        range
    }

    fn may(&self, operation: Operation, block: Block) -> Result<(), ZonedError> {
        let mut next = self.2.next.lock().expect("no panic");
        let fails = match &mut *next {
            Some((kind, 0, count)) if *kind == operation => {
                *count -= 1;
                if *count == 0 {
                    *next = None;
                }
                true
            }
            Some((kind, after, _)) if *kind == operation => {
                *after -= 1;
                false
            }
            _ => false,
        };
        if !fails && !self.2.all.load(Ordering::Relaxed) {
            return Ok(());
        }
        let reason = Reason::Device(std::io::Error::from_raw_os_error(5));
        let device = self.name().to_owned();
        Err(ZonedError { device, operation, zone: None, block, blocks: 1, reason })
    }

    pub fn boxed(&self) -> Box<dyn ZonedDisk> {
        Box::new(self.clone())
    }

    pub fn open(&self) -> LiveDisk {
        LiveDisk::open(self.boxed()).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl ZonedDisk for Held {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }
    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        self.may_be_without_power();
        self.may(Operation::Report, Block(0))?;
        self.0.report(first, count)
    }
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        self.may(Operation::Read, block)?;
        let range = block.0..block.0 + buffers.len() as u64;
        if let Some(&bad) = self.1.lock().expect("no panic").range(range).next() {
            let reason = Reason::Device(std::io::Error::from_raw_os_error(5));
            let (device, operation) = (self.name().to_owned(), Operation::Read);
            let block = Block(bad);
            self.2.has_read_bad.store(true, Ordering::Relaxed);
            return Err(ZonedError { device, operation, zone: None, block, blocks: 1, reason });
        }
        self.0.read(block, buffers)
    }
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        self.may_be_without_power();
        self.may_lose_its_power();
        if let Err(error) = self.may(Operation::Write, block) {
            // It may have been executed.
            if !self.2.all.load(Ordering::Relaxed) {
                let _ = self.0.write(block, buffers);
            }
            self.1.lock().expect("no panic").extend(self.spoilt(block, 0, false));
            return Err(error);
        }
        self.0.write(block, buffers)?;
        // Blocks that are written again are readable.
        let range = block.0..block.0 + buffers.len() as u64;
        let mut bad = self.1.lock().expect("no panic");
        bad.retain(|bad| !range.contains(bad));
        bad.extend(self.spoilt(block, buffers.len() as u64, true));
        Ok(())
    }
    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        self.may_be_without_power();
        if command == ZoneCommand::Reset {
            self.may(Operation::Reset, Block(0))?;
        }
        self.0.command(command, zone)
    }
    fn flush(&self) -> Result<(), ZonedError> {
        self.may_be_without_power();
        self.may_lose_its_power();
        self.may(Operation::Flush, Block(0))?;
        self.0.flush()
    }
}

/// Six conventional zones of 16 blocks, and fourteen others.
pub fn geometry() -> Geometry {
    Geometry { conventional_zones: 6, ..Geometry::new(20, 16) }
}

pub fn wanted(translation: &str) -> Format {
    let uuid = Some(*b"0123456789abcdef");
    Format { translation: translation.to_owned(), uuid, ..Format::default() }
}

/// A formatted disk without faults.
pub fn formatted(translation: &str) -> Held {
    let disk = Held::new(geometry(), Faults::none());
    format(&disk, &wanted(translation)).unwrap_or_else(|error| panic!("{error}"));
    disk
}

/// The data of version `version` of a block: in each 512 bytes the block and the version. Version 0
/// is zeros.
pub fn data(block: u64, version: u64) -> Buffer {
    let mut buffer = Buffer::default();
    if version > 0 {
        mark(&mut buffer, block, version);
    }
    buffer
}

/// Marks the buffer with a version of the block; the rest of its data stays.
pub fn mark(buffer: &mut Buffer, block: u64, version: u64) {
    for part in buffer.0.chunks_mut(512) {
        part[..8].copy_from_slice(&block.to_le_bytes());
        part[8..16].copy_from_slice(&version.to_le_bytes());
    }
}

/// The version of each 512 bytes; `None` where they are from another block.
pub fn versions(block: u64, buffer: &Buffer) -> [Option<u64>; 8] {
    std::array::from_fn(|part| {
        let word = |at: usize| {
            let bytes = &buffer.0[part * 512 + at..][..8];
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        (word(8) == 0 || word(0) == block).then(|| word(8))
    })
}

pub fn write(disk: &LiveDisk, block: u64, count: u64, version: u64) -> Result<(), LiveError> {
    let buffers: Vec<Buffer> = (block..block + count).map(|block| data(block, version)).collect();
    disk.write(Block(block), &buffers)
}

/// The version of a block that has only one.
pub fn read(disk: &LiveDisk, block: u64) -> Result<u64, LiveError> {
    let mut buffers = [Buffer::default()];
    disk.read(Block(block), &mut buffers)?;
    let found = versions(block, &buffers[0]);
    match found[0] {
        Some(version) if found == [Some(version); 8] => Ok(version),
        _ => panic!("block {block} is of versions {found:?}"),
    }
}
