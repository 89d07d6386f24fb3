//! Data of a simulated store: a block in memory is the number of the write that made it.

use std::ops::Range;

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Stamp;
use shingle_engine::data::Data;
use shingle_engine::format::Page;

/// The number of the last write of a block; 0 in unchecked runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamped(pub(super) Stamp);

/// Stamps of the blocks of a command, in order; empty in unchecked runs.
pub(super) type Stamps = Vec<Stamp>;

/// Returns the index of a block within its command, from its byte offset in the command.
fn place(at: usize) -> usize {
    at.div_ceil(BLOCK_BYTES as usize)
}

impl Data for Stamped {
    type Payload = Stamps;

    /// Metadata pages are never read back.
    const HAS_PAGES: bool = false;

    fn zeroed() -> Stamped {
        Stamped(0)
    }

    fn room(_: u64) -> Stamps {
        Stamps::new()
    }

    fn fits(_: &Stamps, _: u64) -> bool {
        true
    }

    /// A partial write gives the whole block a new stamp.
    fn write(&mut self, _: Range<usize>, payload: &Stamps, at: usize) {
        self.0 = payload.get(place(at)).copied().unwrap_or(0);
    }

    fn clear(&mut self, _: Range<usize>) {
        self.0 = 0;
    }

    fn read(&self, _: Range<usize>, payload: &mut Stamps, at: usize) {
        if self.0 == 0 {
            return; // unchecked: there are no stamps
        }
        let place = place(at);
        if payload.len() <= place {
            payload.resize(place + 1, 0);
        }
        payload[place] = self.0;
    }

    fn crc(&self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }

    fn set_page(&mut self, _: &Page) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_command_are_told_apart() {
        // From the middle of one block to that of the fourth.
        let written = vec![5, 6, 7, 8];
        let parts = [(2048..4096, 0), (0..4096, 2048), (0..4096, 6144), (0..100, 10_240)];
        let mut read = Stamped::room(0);
        for (number, (part, at)) in parts.into_iter().enumerate() {
            let mut block = Stamped::zeroed();
            block.write(part.clone(), &written, at);
            assert_eq!(block, Stamped(written[number]));
            block.read(part, &mut read, at);
        }
        assert_eq!(read, written);
    }
}
