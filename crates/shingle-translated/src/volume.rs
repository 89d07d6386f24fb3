//! A translated disk as a volume: for stores and servers that do not know what it is made of.

use std::io;

use shingle_core::units::Block;
use shingle_device::Volume;
use shingle_engine::Buffer;

use crate::error::{LiveError, LiveErrorKind};
use crate::live::LiveDisk;

impl From<LiveError> for io::Error {
    fn from(error: LiveError) -> io::Error {
        let kind = match error.kind {
            LiveErrorKind::OutOfRange => io::ErrorKind::InvalidInput,
            LiveErrorKind::Full => io::ErrorKind::StorageFull,
            LiveErrorKind::Lost | LiveErrorKind::Failed | LiveErrorKind::Disk => {
                io::ErrorKind::Other
            }
        };
        io::Error::new(kind, error)
    }
}

impl Volume for LiveDisk {
    fn blocks(&self) -> u64 {
        LiveDisk::blocks(self)
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> io::Result<()> {
        Ok(LiveDisk::read(self, block, buffers)?)
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> io::Result<()> {
        Ok(LiveDisk::write(self, block, buffers)?)
    }

    fn trim(&self, block: Block, count: u64) -> io::Result<()> {
        Ok(LiveDisk::trim(self, block, count)?)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(LiveDisk::flush(self)?)
    }

    fn idle(&self) -> io::Result<bool> {
        Ok(LiveDisk::idle(self)?)
    }
}
