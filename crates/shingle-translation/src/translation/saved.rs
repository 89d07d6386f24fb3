//! The durable map from which a translation is opened.

use super::step::{Piece, Place};
use super::{Layout, Translation};
use shingle_core::units::{Block, Zone};

/// A durable map, and the state of the disk's zones when it became so.
///
/// It is the result of [`Translation::locate`] for all blocks between two works, or at a
/// [`Step::Commit`](super::Step::Commit) within one. Blocks in no run are stored nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Places of the host's blocks that are stored: in the order of blocks, none twice. Neighbours
    /// may or may not be joined.
    pub runs: Vec<(Block, Piece)>,
    /// The write pointer of each sequential zone, in blocks from its start.
    pub pointers: Vec<u64>,
}

/// A [`Saved`] map in whatever form: that of a disk can be larger than what is made of it.
pub trait SavedMap {
    /// Returns [`Saved::runs`].
    fn runs(&self) -> Box<dyn Iterator<Item = (Block, Piece)> + '_>;

    /// Returns [`Saved::pointers`].
    fn pointers(&self) -> &[u64];
}

impl SavedMap for Saved {
    fn runs(&self) -> Box<dyn Iterator<Item = (Block, Piece)> + '_> {
        Box::new(self.runs.iter().copied())
    }

    fn pointers(&self) -> &[u64] {
        &self.pointers
    }
}

impl Saved {
    /// Returns the map of an empty disk.
    #[must_use]
    pub fn empty(layout: Layout) -> Saved {
        Saved { runs: Vec::new(), pointers: vec![0; layout.zones as usize] }
    }

    /// Returns the current map of `translation`, which is between works or at a commit, and the
    /// write pointers of its `zones`. A copy is asked, as locating may count as use of blocks.
    #[must_use]
    pub fn of(translation: &dyn Translation, zones: u32) -> Saved {
        let mut pieces = Vec::new();
        translation.copy().locate(Block(0), translation.blocks(), &mut pieces);
        let mut block = Block(0);
        let runs = pieces.into_iter().map(|piece| {
            let first = block;
            block = block.after(piece.count);
            (first, piece)
        });
        Saved {
            runs: runs.filter(|(_, piece)| piece.place != Place::Nowhere).collect(),
            pointers: (0..zones).map(|zone| translation.write_pointer(Zone(zone))).collect(),
        }
    }
}

impl dyn SavedMap + '_ {
    /// Refuses what cannot be the map of any translation with this number of `blocks`: see
    /// [`Make::open`](super::Make::open). It does not detect two blocks in one place. `name` is the
    /// translation, for the error.
    pub(crate) fn check(&self, name: &str, layout: Layout, blocks: u64) -> Result<(), String> {
        let refused = |why: String| Err(refusal(name, &why));
        let Layout { zone_blocks, buffer_blocks, zones } = layout;
        let pointers = self.pointers().len();
        if pointers != zones as usize {
            return refused(format!("it has {pointers} write pointers for {zones} zones"));
        }
        if let Some(zone) = self.pointers().iter().position(|&pointer| pointer > zone_blocks) {
            let pointer = self.pointers()[zone];
            return refused(format!(
                "the write pointer of zone {zone}, {pointer}, is behind its end"
            ));
        }
        let mut next = 0;
        for (Block(block), Piece { place, count }) in self.runs() {
            let end = block.checked_add(count).filter(|&end| end <= blocks && count > 0);
            let Some(end) = end else {
                return refused(format!(
                    "it has {count} blocks from block {block} on, of {blocks}"
                ));
            };
            if block < next {
                return refused(format!("block {block} comes behind block {}", next - 1));
            }
            next = end;
            let (start, most) = match place {
                Place::Buffer(at) => (at, buffer_blocks),
                Place::Native(at) => (at, u64::from(zones) * zone_blocks),
                Place::Nowhere => return refused(format!("block {block} is said to lie nowhere")),
            };
            let beyond = match start.checked_add(count) {
                Some(end) if end <= most => self.first_beyond(place, count, zone_blocks),
                _ => Some(most.saturating_sub(start)),
            };
            if let Some(ahead) = beyond {
                let (place, block) = (lies(place, ahead, layout), block + ahead);
                return refused(format!(
                    "block {block} is said to lie at {place}, which was never written"
                ));
            }
        }
        Ok(())
    }

    /// Returns the first of `count` blocks at `place`, which exists, that is not below its zone's
    /// write pointer.
    fn first_beyond(&self, place: Place, count: u64, zone_blocks: u64) -> Option<u64> {
        let Place::Native(start) = place else { return None };
        let mut at = start;
        while at < start + count {
            let (zone, offset) = (at / zone_blocks, at % zone_blocks);
            let end = ((zone + 1) * zone_blocks).min(start + count);
            let below = self.pointers()[zone as usize].saturating_sub(offset);
            if below < end - at {
                return Some(at - start + below);
            }
            at = end;
        }
        None
    }
}

/// Returns the message that translation `name` cannot be opened.
pub(crate) fn refusal(name: &str, why: &str) -> String {
    format!("{name} cannot be opened from this map: {why}")
}

/// Returns the place `ahead` blocks behind another, in words.
pub(crate) fn lies(place: Place, ahead: u64, layout: Layout) -> String {
    match place {
        Place::Buffer(at) => format!("block {} of the buffer", at.saturating_add(ahead)),
        Place::Native(at) => {
            let (at, blocks) = (at.saturating_add(ahead), layout.zone_blocks);
            format!("block {} of zone {}", at % blocks, at / blocks)
        }
        Place::Nowhere => "nowhere".into(),
    }
}
