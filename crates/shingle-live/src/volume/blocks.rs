//! Byte access to a volume of blocks.

use std::io;
use std::ops::Range;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::Volume;
use shingle_engine::IO_PAGES_MAX;
use shingle_engine::buffer::{Buffer, zeroed};

/// Blocks that are read or written at once: other users of the disk wait for no more than this.
const BLOCKS_AT_ONCE: u64 = IO_PAGES_MAX as u64;

/// Splits a range of bytes into parts of at most [`BLOCKS_AT_ONCE`] blocks: the first block of
/// each, and its range of bytes within these blocks.
fn parts(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = offset + bytes;
    let first = offset / BLOCK_BYTES;
    (first..end.div_ceil(BLOCK_BYTES)).step_by(BLOCKS_AT_ONCE as usize).map(move |block| {
        let start = block * BLOCK_BYTES;
        let from = offset.max(start) - start;
        let until = end.min(start + BLOCKS_AT_ONCE * BLOCK_BYTES) - start;
        (block, from as usize..until as usize)
    })
}

const BYTES: usize = BLOCK_BYTES as usize;

fn buffers(bytes: &Range<usize>) -> Vec<Buffer> {
    (0..bytes.end.div_ceil(BYTES)).map(|_| zeroed()).collect()
}

/// The part of each buffer that lies in a range of bytes over all of them.
fn within(buffers: &mut [Buffer], bytes: Range<usize>) -> impl Iterator<Item = &mut [u8]> {
    buffers.iter_mut().zip((0..).step_by(BYTES)).map(move |(buffer, start)| {
        let from = bytes.start.max(start) - start;
        let until = bytes.end.min(start + BYTES) - start;
        &mut buffer.0[from..until]
    })
}

/// Reads a range of bytes.
pub(super) fn read(volume: &dyn Volume, offset: u64, length: u32) -> io::Result<Vec<u8>> {
    let mut data = Vec::with_capacity(length as usize);
    for (block, bytes) in parts(offset, length.into()) {
        let mut buffers = buffers(&bytes);
        volume.read(Block(block), &mut buffers)?;
        within(&mut buffers, bytes).for_each(|part| data.extend_from_slice(part));
    }
    Ok(data)
}

/// Writes a range of bytes.
pub(super) fn write(volume: &dyn Volume, offset: u64, data: &[u8]) -> io::Result<()> {
    let mut rest = data;
    for (block, bytes) in parts(offset, data.len() as u64) {
        let mut buffers = read_partial_ends(volume, block, &bytes)?;
        for part in within(&mut buffers, bytes) {
            let (this, later) = rest.split_at(part.len());
            part.copy_from_slice(this);
            rest = later;
        }
        volume.write(Block(block), &buffers)?;
    }
    Ok(())
}

/// Writes zeroes to a range of bytes.
pub(super) fn zero(volume: &dyn Volume, offset: u64, length: u32) -> io::Result<()> {
    for (block, bytes) in parts(offset, length.into()) {
        let mut buffers = read_partial_ends(volume, block, &bytes)?;
        within(&mut buffers, bytes).for_each(|part| part.fill(0));
        volume.write(Block(block), &buffers)?;
    }
    Ok(())
}

/// Allocates buffers for a range of bytes from a block on. Blocks that it covers only in part, at
/// either end, are read from the disk.
fn read_partial_ends(
    volume: &dyn Volume,
    block: u64,
    bytes: &Range<usize>,
) -> io::Result<Vec<Buffer>> {
    let mut buffers = buffers(bytes);
    let last = buffers.len() - 1;
    let is_partial = [!bytes.start.is_multiple_of(BYTES), !bytes.end.is_multiple_of(BYTES)];
    if is_partial[0] || (last == 0 && is_partial[1]) {
        volume.read(Block(block), &mut buffers[..1])?;
    }
    if last > 0 && is_partial[1] {
        volume.read(Block(block + last as u64), &mut buffers[last..])?;
    }
    Ok(buffers)
}

/// The blocks that lie completely within a range of bytes.
pub(super) fn whole_blocks(offset: u64, bytes: u64) -> Range<u64> {
    let first = offset.div_ceil(BLOCK_BYTES);
    first..((offset + bytes) / BLOCK_BYTES).max(first)
}
