//! Steps that are one I/O: reads or writes of the buffer that go on where the one before ended.

use shingle_core::units::Block;
use shingle_translation::step::{Place, Step};

/// What one I/O moves between the drive and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Read,
    /// Into the buffer; whether that is the host's data.
    Buffer {
        hosts: bool,
    },
}

/// One I/O and the host's blocks that are its parts, in order.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub(super) way: Way,
    pub(super) place: Place,
    pub(super) count: u64,
    pub(super) parts: Vec<(Block, u64)>,
}

/// Parts are remembered up to this many without taking memory.
const PARTS: usize = 1 << 10;

impl Joined {
    pub(super) fn new() -> Joined {
        let parts = Vec::with_capacity(PARTS);
        Joined { way: Way::Read, place: Place::Nowhere, count: 0, parts }
    }

    /// Begins with `step`, if it is one that others may go on from. `hosts` tells whether blocks are
    /// what the host writes.
    pub(super) fn begin(&mut self, step: Step, hosts: impl Fn(Block, u64) -> bool) -> bool {
        let Some((way, place, block, count)) = joinable(step, hosts) else { return false };
        (self.way, self.place, self.count) = (way, place, count);
        self.parts.clear();
        self.parts.push((block, count));
        true
    }

    /// Takes `step` in, if it goes on where this ends.
    pub(super) fn extend(&mut self, step: Step, hosts: impl Fn(Block, u64) -> bool) -> bool {
        let goes_on = |&(way, place, _, _): &(Way, Place, Block, u64)| {
            place != Place::Nowhere && (way, place) == (self.way, self.place.after(self.count))
        };
        let Some((_, _, block, count)) = joinable(step, hosts).filter(goes_on) else {
            return false;
        };
        self.count += count;
        self.parts.push((block, count));
        true
    }
}

fn joinable(step: Step, hosts: impl Fn(Block, u64) -> bool) -> Option<(Way, Place, Block, u64)> {
    match step {
        Step::Read { from, block, count } => Some((Way::Read, from, block, count)),
        Step::Buffer { block, count, at } => {
            let way = Way::Buffer { hosts: hosts(block, count) };
            Some((way, Place::Buffer(at), block, count))
        }
        Step::Append { .. } | Step::Reset { .. } | Step::Commit => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_goes_on_is_joined() {
        let hosts = |block: Block, _| block.0 < 10;
        let read = |from, block, count| Step::Read { from, block: Block(block), count };
        let write = |at, block, count| Step::Buffer { block: Block(block), count, at };
        let mut joined = Joined::new();
        assert!(!joined.begin(Step::Commit, hosts));
        assert!(joined.begin(read(Place::Buffer(4), 70, 2), hosts));
        assert!(joined.extend(read(Place::Buffer(6), 20, 1), hosts));
        assert!(!joined.extend(read(Place::Native(7), 80, 1), hosts));
        assert!(!joined.extend(read(Place::Buffer(8), 80, 1), hosts));
        assert!(!joined.extend(write(7, 80, 1), hosts));
        assert_eq!((joined.count, &joined.parts[..]), (3, &[(Block(70), 2), (Block(20), 1)][..]));
        assert!(joined.begin(write(0, 5, 1), hosts));
        assert!(!joined.extend(write(1, 30, 1), hosts), "not the host's");
        assert!(joined.extend(write(1, 3, 1), hosts));
        assert!(joined.begin(read(Place::Nowhere, 5, 1), hosts));
        assert!(!joined.extend(read(Place::Nowhere, 6, 1), hosts));
    }
}
