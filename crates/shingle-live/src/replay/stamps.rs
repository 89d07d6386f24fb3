//! The data that a replay writes: each block repeats its address and the number of the request, so
//! that a read of any part shows whether it is the last written version.

use std::collections::BTreeMap;

use shingle_core::units::{BLOCK_BYTES, Op, Request};
use thiserror::Error;

/// A read returned something other than the last written version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "block {block} is not as request {by} wrote it: this is a bug in shingle, or a device that does not keep what is \
     written to it"
)]
pub struct StampError {
    /// Address of the block.
    pub block: u64,
    /// Number of the request that wrote it, from 0.
    pub by: u64,
}

/// The last writer of each block. Partly written and never written blocks are unknown.
#[derive(Default)]
pub(super) struct Stamps {
    written_by: BTreeMap<u64, u64>,
    /// Blocks checked.
    pub(super) checked: u64,
}

/// The last writers of the blocks of a read, when it was submitted; blocks count from 0. (The store
/// serves requests for one block in the order of submission.)
#[derive(Default)]
pub(super) struct Expected(Vec<(u64, u64)>);

/// Size of a stamp: block and number of the request, 8 bytes each.
const STAMP_BYTES: usize = 16;

fn stamp(block: u64, number: u64) -> [u8; STAMP_BYTES] {
    let mut stamp = [0; STAMP_BYTES];
    stamp[..8].copy_from_slice(&block.to_le_bytes());
    stamp[8..].copy_from_slice(&number.to_le_bytes());
    stamp
}

/// The part of `request` within its block number `place`: the offset of its first byte in that
/// block, and its range in the data of the request.
fn part(request: &Request, place: u64) -> (usize, std::ops::Range<usize>) {
    let block = (request.first().0 + place) * BLOCK_BYTES;
    let from = request.offset.max(block);
    let to = (request.offset + request.bytes).min(block + BLOCK_BYTES);
    let within = (from - block) as usize;
    (within, (from - request.offset) as usize..(to - request.offset) as usize)
}

impl Stamps {
    /// Makes the data of a write.
    pub(super) fn data(number: u64, request: &Request) -> Vec<u8> {
        let mut data = vec![0; request.bytes as usize];
        for place in 0..request.blocks() {
            let (within, range) = part(request, place);
            let stamp = stamp(request.first().0 + place, number);
            for (at, byte) in (within..).zip(&mut data[range]) {
                *byte = stamp[at % STAMP_BYTES];
            }
        }
        data
    }

    /// Updates the known data for a request that is submitted, and returns what it has to read.
    pub(super) fn submitted(&mut self, number: u64, request: &Request) -> Expected {
        let blocks = request.first().0..request.first().0 + request.blocks();
        match request.op {
            Op::Read => {
                let known = self.written_by.range(blocks);
                Expected(known.map(|(&block, &by)| (block - request.first().0, by)).collect())
            }
            Op::Write => {
                for block in blocks {
                    if request.partial(shingle_core::units::Block(block)) {
                        self.written_by.remove(&block);
                    } else {
                        self.written_by.insert(block, number);
                    }
                }
                Expected::default()
            }
            Op::Trim => {
                self.invalidate(request);
                Expected::default()
            }
            Op::Flush => Expected::default(),
        }
    }

    /// Notes that a request failed: after a failed write the data is unknown.
    pub(super) fn failed(&mut self, request: &Request) {
        if request.op == Op::Write {
            self.invalidate(request);
        }
    }

    fn invalidate(&mut self, request: &Request) {
        let end = request.first().0 + request.blocks();
        let mut rest = self.written_by.split_off(&request.first().0);
        self.written_by.append(&mut rest.split_off(&end));
    }

    /// Checks the data of a read.
    pub(super) fn check(
        &mut self,
        request: &Request,
        expected: &Expected,
        data: &[u8],
    ) -> Result<(), StampError> {
        for &(place, by) in &expected.0 {
            let block = request.first().0 + place;
            let (within, range) = part(request, place);
            self.compare(block, by, within, &data[range])?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        block: u64,
        by: u64,
        within: usize,
        data: &[u8],
    ) -> Result<(), StampError> {
        let stamp = stamp(block, by);
        if (within..).zip(data).any(|(at, &byte)| byte != stamp[at % STAMP_BYTES]) {
            return Err(StampError { block, by });
        }
        self.checked += 1;
        Ok(())
    }

    /// Checks a block of the disk itself, if its data is known.
    pub(super) fn check_block(&mut self, block: u64, data: &[u8]) -> Result<(), StampError> {
        match self.written_by.get(&block) {
            Some(&by) => self.compare(block, by, 0, data),
            None => Ok(()),
        }
    }

    /// The blocks whose data is known.
    pub(super) fn blocks(&self) -> Vec<u64> {
        self.written_by.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::Nanos;

    fn request(op: Op, offset: u64, bytes: u64) -> Request {
        Request { at: Nanos::ZERO, offset, bytes, op }
    }

    #[test]
    fn another_version_and_another_place_are_noticed() {
        let mut stamps = Stamps::default();
        let write = request(Op::Write, 4096, 8192);
        stamps.submitted(7, &write);
        let data = Stamps::data(7, &write);
        let read = request(Op::Read, 5000, 6000);
        let expected = stamps.submitted(8, &read);
        stamps.check(&read, &expected, &data[904..6904]).expect("as written");
        assert_eq!(stamps.checked, 2);
        assert!(stamps.check(&read, &expected, &data[905..6905]).is_err(), "another place");
        let other = Stamps::data(6, &write);
        assert!(stamps.check(&read, &expected, &other[904..6904]).is_err(), "an older version");
        // A later write does not affect an earlier read.
        stamps.submitted(9, &write);
        stamps.check(&read, &expected, &data[904..6904]).expect("as it was then");
        assert!(stamps.check_block(1, &data[..4096]).is_err());
        // A partly written block is unknown.
        stamps.submitted(10, &request(Op::Write, 4096, 512));
        assert_eq!(stamps.blocks(), [2]);
        stamps.submitted(11, &request(Op::Trim, 0, 1 << 20));
        assert!(stamps.blocks().is_empty());
    }
}
