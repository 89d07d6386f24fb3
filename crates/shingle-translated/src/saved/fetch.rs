//! Reads pages of a map from the disk.

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_engine::format::Page;
use shingle_zoned::{ZonedDisk, ZonedError};

pub(super) fn read_page(disk: &dyn ZonedDisk, at: Block) -> Result<Page, ZonedError> {
    let mut buffers = [Buffer::default()];
    disk.read(at, &mut buffers)?;
    Ok(buffers[0].0)
}

/// Reads pages in one I/O; if that fails, one after the other.
pub(super) fn read_pages(
    disk: &dyn ZonedDisk,
    first: Block,
    count: usize,
) -> Vec<Result<Buffer, ZonedError>> {
    let mut buffers = vec![Buffer::default(); count];
    if disk.read(first, &mut buffers).is_ok() {
        return buffers.into_iter().map(Ok).collect();
    }
    let alone = |(block, mut buffer): (Block, Buffer)| {
        disk.read(block, std::slice::from_mut(&mut buffer)).map(|()| buffer)
    };
    (0..).map(|ahead| first.after(ahead)).zip(buffers).map(alone).collect()
}
