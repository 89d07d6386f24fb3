//! Disks and data of tests.

#![allow(dead_code, unreachable_pub)] // no test uses them all

pub mod world;

use std::sync::Arc;

use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Format, LiveDisk, LiveError, format};
use shingle_zoned::{Faults, Geometry, MemoryDisk, ZoneReport, ZonedDisk, ZonedError};

/// A disk in memory that outlives those who have it.
#[derive(Clone)]
pub struct Held(pub Arc<MemoryDisk>);

impl Held {
    pub fn new(geometry: Geometry, faults: Faults) -> Held {
        Held(Arc::new(MemoryDisk::new(geometry, faults)))
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
        self.0.report(first, count)
    }
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        let r = self.0.read(block, buffers);
        if std::env::var("TRACE").is_ok() {
            eprintln!("read {} {} {}", block.0, buffers.len(), r.is_ok());
        }
        r
    }
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        let r = self.0.write(block, buffers);
        if std::env::var("TRACE").is_ok() {
            eprintln!(
                "write {} {} {} first={:?}",
                block.0,
                buffers.len(),
                r.is_ok(),
                u64::from_le_bytes(buffers[0].0[..8].try_into().unwrap())
            );
        }
        r
    }
    fn append(&self, zone: Zone, buffers: &[Buffer]) -> Result<Block, ZonedError> {
        self.0.append(zone, buffers)
    }
    fn open(&self, zone: Zone) -> Result<(), ZonedError> {
        self.0.open(zone)
    }
    fn close(&self, zone: Zone) -> Result<(), ZonedError> {
        self.0.close(zone)
    }
    fn finish(&self, zone: Zone) -> Result<(), ZonedError> {
        self.0.finish(zone)
    }
    fn reset(&self, zone: Zone) -> Result<(), ZonedError> {
        let r = self.0.reset(zone);
        if std::env::var("TRACE").is_ok() {
            eprintln!("reset {} {}", zone.0, r.is_ok());
        }
        r
    }
    fn reset_all(&self) -> Result<(), ZonedError> {
        self.0.reset_all()
    }
    fn flush(&self) -> Result<(), ZonedError> {
        let r = self.0.flush();
        if std::env::var("TRACE").is_ok() {
            eprintln!("flush {}", r.is_ok());
        }
        r
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

/// What version `version` of a block is: in each 512 bytes the block and the version; version 0 is zeros.
pub fn data(block: u64, version: u64) -> Buffer {
    let mut buffer = Buffer::default();
    if version > 0 {
        for part in buffer.0.chunks_mut(512) {
            part[..8].copy_from_slice(&block.to_le_bytes());
            part[8..16].copy_from_slice(&version.to_le_bytes());
        }
    }
    buffer
}

/// The version of each 512 bytes; `None` where they are another block's.
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

/// The version of a block that is whole.
pub fn read(disk: &LiveDisk, block: u64) -> Result<u64, LiveError> {
    let mut buffers = [Buffer::default()];
    disk.read(Block(block), &mut buffers)?;
    let found = versions(block, &buffers[0]);
    match found[0] {
        Some(version) if found == [Some(version); 8] => Ok(version),
        _ => panic!("block {block} is of versions {found:?}"),
    }
}

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
