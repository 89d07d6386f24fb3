//! Opening a translation from a saved map: the common parts.

use super::native::Native;
use crate::translation::{Layout, Piece, Place, SavedMap, lies, refusal};
use shingle_core::units::{Block, Zone};

/// A run of blocks in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InBuffer {
    pub(crate) at: u64,
    pub(crate) block: Block,
    pub(crate) count: u64,
}

impl InBuffer {
    pub(crate) fn each(self) -> impl Iterator<Item = (u64, Block)> {
        (0..self.count).map(move |ahead| (self.at + ahead, self.block.after(ahead)))
    }
}

/// Returns the runs of a checked map that are in the buffer, sorted by place. Refuses two blocks in
/// one place.
pub(crate) fn in_buffer(
    name: &str,
    layout: Layout,
    saved: &dyn SavedMap,
) -> Result<Vec<InBuffer>, String> {
    let of_buffer = |(block, Piece { place, count }): (Block, Piece)| match place {
        Place::Buffer(at) => Some(InBuffer { at, block, count }),
        Place::Native(_) | Place::Nowhere => None,
    };
    let mut runs: Vec<InBuffer> = saved.runs().filter_map(of_buffer).collect();
    runs.sort_unstable_by_key(|run| run.at);
    for two in runs.windows(2) {
        if two[0].at + two[0].count > two[1].at {
            let other = two[0].block.after(two[1].at - two[0].at);
            return Err(in_one(name, layout, Place::Buffer(two[1].at), two[1].block, other));
        }
    }
    Ok(runs)
}

/// Returns the runs in zones: first block, place, and count.
pub(crate) fn in_zones(saved: &dyn SavedMap) -> impl Iterator<Item = (Block, u64, u64)> + '_ {
    saved.runs().filter_map(|(block, Piece { place, count })| match place {
        Place::Native(at) => Some((block, at, count)),
        Place::Buffer(_) | Place::Nowhere => None,
    })
}

/// Returns, of `runs`, sorted by place, in a ring of `places`, the index of the run behind the most
/// free places, and their number. If the ring is a log, filled at its head and freed at its tail,
/// that run is the oldest.
pub(crate) fn behind_most_free(runs: &[InBuffer], places: u64) -> (usize, u64) {
    let Some(last) = runs.last() else { return (0, places) };
    let mut most = (0, runs[0].at + places - (last.at + last.count));
    for (index, two) in (1..).zip(runs.windows(2)) {
        let free = two[1].at - (two[0].at + two[0].count);
        if free > most.1 {
            most = (index, free);
        }
    }
    most
}

/// Returns the error that two blocks are in one place.
pub(crate) fn in_one(name: &str, layout: Layout, place: Place, one: Block, other: Block) -> String {
    let (one, other, place) = (one.0.min(other.0), one.0.max(other.0), lies(place, 0, layout));
    refusal(name, &format!("blocks {one} and {other} are both said to lie at {place}"))
}

/// Returns the error that a block cannot be at this place, as `why` says.
pub(crate) fn misplaced(
    name: &str,
    layout: Layout,
    block: Block,
    place: Place,
    why: &str,
) -> String {
    let place = lies(place, 0, layout);
    refusal(name, &format!("block {} is said to lie at {place}, but {why}", block.0))
}

impl Native {
    /// Takes the write pointers of a checked map. Refuses blocks in zones that are not in their
    /// native places.
    pub(crate) fn open(
        &mut self,
        name: &str,
        layout: Layout,
        saved: &dyn SavedMap,
    ) -> Result<(), String> {
        if let Some((block, at, _)) = in_zones(saved).find(|&(block, at, _)| block.0 != at) {
            let why = "its zone keeps blocks in their places";
            return Err(misplaced(name, layout, block, Place::Native(at), why));
        }
        for (zone, &pointer) in (0..).map(Zone).zip(saved.pointers()) {
            self.set_pointer(zone, pointer);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(places: &[(u64, u64)]) -> Vec<InBuffer> {
        places.iter().map(|&(at, count)| InBuffer { at, block: Block(at), count }).collect()
    }

    #[test]
    fn the_oldest_lies_behind_the_most_free_places() {
        assert_eq!(behind_most_free(&[], 10), (0, 10));
        assert_eq!(behind_most_free(&runs(&[(3, 2)]), 10), (0, 8));
        assert_eq!(behind_most_free(&runs(&[(0, 10)]), 10), (0, 0));
        // Free: 1 and 9 to 0, that is 2 of them; 4 to 6, that is 3.
        assert_eq!(behind_most_free(&runs(&[(1, 3), (7, 2)]), 10), (1, 3));
        // Free: 7 to 1, that is 5; 4 to 5, 2.
        assert_eq!(behind_most_free(&runs(&[(2, 2), (6, 1)]), 10), (0, 5));
        // Three each: the first place of the ring, so that equal maps are opened alike.
        assert_eq!(behind_most_free(&runs(&[(0, 2), (5, 2)]), 10), (0, 3));
    }
}
