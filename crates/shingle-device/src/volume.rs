//! Volumes: disks that are made of another disk. Blocks can be written in any order, and are stored
//! elsewhere.

use std::io;
use std::sync::Arc;

use shingle_core::units::Block;
use shingle_engine::Kind;
use shingle_engine::buffer::Buffer;

use crate::medium::{Medium, Reader};

/// Blocks that can be read and written in any order, from any thread. Calls block.
///
/// Calls that change the volume run one after the other; reads run in parallel. While a write is in
/// progress, a read returns the old or the new version of each block.
pub trait Volume: Send + Sync {
    /// The size in blocks.
    fn blocks(&self) -> u64;

    /// Reads blocks, from `block` on.
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> io::Result<()>;

    /// Writes blocks, from `block` on. They are durable after the next flush.
    fn write(&self, block: Block, buffers: &[Buffer]) -> io::Result<()>;

    /// Discards blocks. They may then read as anything that was ever written there, or as zeros;
    /// after the next flush that does not change any more until they are written.
    fn trim(&self, block: Block, count: u64) -> io::Result<()>;

    /// Makes everything durable that was written.
    fn flush(&self) -> io::Result<()>;

    /// Called when there are no requests: does a piece of idle work, and returns whether there is
    /// more.
    fn idle(&self) -> io::Result<bool>;
}

/// A volume in place of the disk of a store.
pub struct VolumeMedium(pub Arc<dyn Volume>);

impl Medium for VolumeMedium {
    fn serve(&mut self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        match kind {
            Kind::Read => self.0.read(Block(page), buffers),
            Kind::Write => self.0.write(Block(page), buffers),
            Kind::Flush => self.0.flush(),
            Kind::Trim(pages) => self.0.trim(Block(page), pages),
        }
    }

    fn reader(&self) -> Option<Reader> {
        let volume = self.0.clone();
        Some(Box::new(move |page, buffers| volume.read(Block(page), buffers)))
    }

    fn idle(&mut self) -> bool {
        // An error shows in the next request.
        self.0.idle().unwrap_or(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
