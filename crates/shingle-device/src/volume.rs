//! A disk that something makes of another one: its blocks are written anywhere, and lie elsewhere.

use std::io;
use std::sync::Arc;

use shingle_core::units::Block;
use shingle_engine::Kind;
use shingle_engine::buffer::Buffer;

use crate::medium::{Medium, Reader};

/// Blocks that are read and written anywhere, from any thread. Calls block.
///
/// What changes it goes one after the other, whoever asks; reads go beside that. Where a write is under way, a read
/// gives each block as it was or as it is to be.
pub trait Volume: Send + Sync {
    /// Its size.
    fn blocks(&self) -> u64;

    /// Reads blocks from `block` on.
    ///
    /// # Errors
    /// If some cannot be read.
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> io::Result<()>;

    /// Writes blocks from `block` on. They are durable after the next flush.
    ///
    /// # Errors
    /// If some cannot be written.
    fn write(&self, block: Block, buffers: &[Buffer]) -> io::Result<()>;

    /// Nobody needs these blocks any more. They may read as anything that was ever written there, or as
    /// zeros; after the next flush as the same until they are written.
    ///
    /// # Errors
    /// If that cannot be noted.
    fn trim(&self, block: Block, count: u64) -> io::Result<()>;

    /// What was written is durable when this is done.
    ///
    /// # Errors
    /// If that is not so.
    fn flush(&self) -> io::Result<()>;

    /// Nobody asks for anything: does a piece of what there is to do then, and returns whether there is more.
    ///
    /// # Errors
    /// If it fails.
    fn idle(&self) -> io::Result<bool>;
}

/// A volume in the place of the disk of a store.
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
        // What failed shows when something is asked for.
        self.0.idle().unwrap_or(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
