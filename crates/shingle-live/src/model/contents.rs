//! The data of a served model: a sparse, unlinked file with each byte at its own offset. Memory
//! does not grow with the drive, and the file occupies only the space of written data.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use shingle_core::units::BLOCK_BYTES;
use shingle_nbd::export::{Answer, Extent, HOLE, Piece, ZERO};

/// The written data, or nothing if it is not kept.
pub struct Contents(Option<File>);

impl Contents {
    /// Keeps what is written to a drive of `bytes` bytes, in the folder for temporary files.
    ///
    /// # Errors
    /// If that folder cannot hold a file of this length.
    pub fn with_data(bytes: u64) -> io::Result<Contents> {
        let file = tempfile::tempfile()?;
        file.set_len(bytes)?;
        Ok(Contents(Some(file)))
    }

    /// Keeps nothing.
    #[must_use]
    pub fn without_data() -> Contents {
        Contents(None)
    }

    /// Reads a range.
    pub(super) fn read(&self, offset: u64, length: u32) -> io::Result<Answer> {
        let zeroes = || Ok(Answer::Pieces(vec![Piece::Zeroes(length)]));
        let Some(file) = &self.0 else { return zeroes() };
        let mut pieces = Vec::new();
        let mut at = offset;
        for Extent { length_bytes, flags } in self.extents(offset, length)? {
            let bytes = length_bytes as u32; // within the length
            pieces.push(if flags == 0 {
                let mut data = vec![0; bytes as usize];
                file.read_exact_at(&mut data, at)?;
                Piece::Data(data)
            } else {
                Piece::Zeroes(bytes)
            });
            at += length_bytes;
        }
        Ok(Answer::Pieces(pieces))
    }

    /// Writes a range.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |file| file.write_all_at(data, offset))
    }

    /// Makes a range read as zeroes, and frees its space.
    pub(super) fn clear(&self, offset: u64, length: u32) -> io::Result<()> {
        let Some(file) = &self.0 else { return Ok(()) };
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(file, hole, offset, length.into())?)
    }

    /// Writes zeroes to a range, and so keeps its space allocated.
    pub(super) fn write_zeroes(&self, offset: u64, length: u32) -> io::Result<()> {
        static ZEROES: [u8; 64 << 10] = [0; 64 << 10];
        let end = offset + u64::from(length);
        for at in (offset..end).step_by(ZEROES.len()) {
            self.write(at, &ZEROES[..ZEROES.len().min((end - at) as usize)])?;
        }
        Ok(())
    }

    /// Lists the allocated parts and the holes of a range, in whole blocks.
    pub(super) fn extents(&self, offset: u64, length: u32) -> io::Result<Vec<Extent>> {
        let end = offset + u64::from(length);
        let mut extents = Vec::new();
        let mut at = offset;
        let mut put = |until: u64, flags| {
            if until > at {
                extents.push(Extent { length_bytes: until - at, flags });
                at = until;
            }
            at
        };
        let mut from = offset;
        while let (true, Some(file)) = (from < end, &self.0) {
            let data = match seek(file, SeekFrom::Data(from)) {
                Err(Errno::NXIO) => break,
                place => place?,
            };
            put((data - data % BLOCK_BYTES).clamp(from, end), HOLE | ZERO);
            let hole = seek(file, SeekFrom::Hole(data))?;
            from = put(hole.next_multiple_of(BLOCK_BYTES).min(end), 0);
        }
        put(end, HOLE | ZERO);
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCKS: u64 = 64;

    fn read(contents: &Contents, block: u64, count: u64) -> Vec<u8> {
        let length = (count * BLOCK_BYTES) as u32;
        match contents.read(block * BLOCK_BYTES, length).expect("read") {
            Answer::Pieces(pieces) => pieces
                .into_iter()
                .flat_map(|piece| match piece {
                    Piece::Data(data) => data,
                    Piece::Zeroes(bytes) => vec![0; bytes as usize],
                })
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn a_read_returns_the_last_write(
            steps in prop::collection::vec((0..4, 0..BLOCKS, 1..20_u64, 1..=255_u8), 1..40),
        ) {
            let contents = Contents::with_data(BLOCKS * BLOCK_BYTES).expect("made");
            let mut model = [0_u8; BLOCKS as usize];
            for (op, block, count, stamp) in steps {
                let count = count.min(BLOCKS - block);
                let (place, bytes) = (block * BLOCK_BYTES, (count * BLOCK_BYTES) as usize);
                let part = block as usize..(block + count) as usize;
                match op {
                    0 => {
                        contents.write(place, &vec![stamp; bytes]).expect("written");
                        model[part].fill(stamp);
                    }
                    1 => {
                        contents.clear(place, bytes as u32).expect("cleared");
                        model[part].fill(0);
                    }
                    2 => {
                        contents.write_zeroes(place, bytes as u32).expect("written");
                        let extents = contents.extents(place, bytes as u32).expect("told");
                        prop_assert!(extents.iter().all(|extent| extent.flags == 0));
                        model[part].fill(0);
                    }
                    _ => {
                        let expected: Vec<u8> =
                            model[part].iter().flat_map(|&stamp| [stamp; 4096]).collect();
                        prop_assert!(read(&contents, block, count) == expected);
                        let extents = contents.extents(place, bytes as u32).expect("told");
                        let sum: u64 = extents.iter().map(|extent| extent.length_bytes).sum();
                        prop_assert_eq!(sum, bytes as u64);
                        prop_assert!(extents.iter().all(|e| e.length_bytes % BLOCK_BYTES == 0));
                    }
                }
            }
        }
    }

    #[test]
    fn eight_terabytes_take_no_room() {
        let contents =
            Contents::with_data(8_000_000_000_000 / BLOCK_BYTES * BLOCK_BYTES).expect("made");
        let place = 7_000_000_000_000 / BLOCK_BYTES * BLOCK_BYTES;
        contents.write(place, &[7; 4096]).expect("written");
        let block = place / BLOCK_BYTES;
        assert_eq!(read(&contents, block - 1, 3), [[0; 4096], [7; 4096], [0; 4096]].concat());
        let extents = contents.extents(place - 4096, 3 * 4096).expect("told");
        let extent = |flags| Extent { length_bytes: 4096, flags };
        assert_eq!(extents, [extent(HOLE | ZERO), extent(0), extent(HOLE | ZERO)]);
    }

    #[test]
    fn what_is_forgotten_reads_as_zeroes() {
        let contents = Contents::without_data();
        contents.write(0, &[7; 4096]).expect("taken");
        assert_eq!(read(&contents, 0, 1), [0; 4096]);
        let extents = contents.extents(0, 8192).expect("told");
        assert_eq!(extents, [Extent { length_bytes: 8192, flags: HOLE | ZERO }]);
    }
}
