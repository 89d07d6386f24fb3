//! Restores the two buffers from a saved map.

use super::Amphisbaena;
use crate::parts::{InBuffer, in_buffer, in_zones, misplaced};
use crate::translation::{Layout, Make, Place, SavedMap};
use shingle_core::units::Block;
use std::cmp::Reverse;

/// A frame, according to a saved map.
struct Frame {
    frame: u32,
    blocks: u32,
    /// The part of its first block, and whether all blocks are of this part and in their places.
    part: u64,
    fits: bool,
    first: (u64, Block),
}

impl Amphisbaena {
    /// Restores the state from a saved map; nothing is written yet.
    ///
    /// The owner of a frame is not saved. The HFB never gives up its initial frames. Any other
    /// frame is of the LFB if its blocks are in their places within one chunk, of which no other
    /// frame has more; else the HFB had obtained it. Roles, ghosts and shadows, and the sizes of
    /// requests are forgotten: the blocks of the HFB enter it anew, in the order of their places.
    /// Below a zone's write pointer, the blocks that the map has there or in the buffer are valid.
    pub(super) fn opened(mut self, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        saved.check(Self::NAME, layout, self.native.blocks())?;
        self.native.open(Self::NAME, layout, saved)?;
        for (zone, &pointer) in (0..).zip(saved.pointers()).filter(|&(_, &pointer)| pointer > 0) {
            let number = self.touch(zone);
            self.zones.get_mut(number).write_pointer = pointer as u32;
        }
        for (block, _, count) in in_zones(saved) {
            let mut next = block.0;
            while next < block.0 + count {
                let zone = next / layout.zone_blocks;
                let end = ((zone + 1) * layout.zone_blocks).min(block.0 + count);
                let number = self.touch(zone as u32);
                self.zones.get_mut(number).native += (end - next) as u32;
                next = end;
            }
        }
        let runs = in_buffer(Self::NAME, layout, saved)?;
        let obtained = self.obtained(layout, &runs)?;
        for (place, block) in runs.into_iter().flat_map(InBuffer::each) {
            self.put(place, block, &obtained);
        }
        Ok(self)
    }

    /// Gives the HFB the frames that it must have obtained. Returns each with its first slot.
    fn obtained(&mut self, layout: Layout, runs: &[InBuffer]) -> Result<Vec<(u32, u32)>, String> {
        let settings = self.settings;
        let refused = |(place, block), why: &str| {
            Err(misplaced(Self::NAME, layout, block, Place::Buffer(place), why))
        };
        let mut frames: Vec<Frame> = Vec::new();
        for (place, block) in runs.iter().copied().flat_map(InBuffer::each) {
            let (frame, within) = settings.geometry.frame(place);
            if frame >= settings.frames {
                return refused((place, block), "that is of no chunk of the buffer");
            }
            let at = settings.geometry.address(block);
            match frames.last_mut() {
                Some(last) if last.frame == frame => {
                    last.blocks += 1;
                    last.fits &= (at.part, at.within) == (last.part, within);
                }
                _ if frame < settings.hot_first => {}
                _ => frames.push(Frame {
                    frame,
                    blocks: 1,
                    part: at.part,
                    fits: at.within == within,
                    first: (place, block),
                }),
            }
        }
        // The first frame of each part is the LFB's, if it fits.
        frames.sort_unstable_by_key(|of| (of.part, !of.fits, Reverse(of.blocks), of.frame));
        let mut before = None;
        frames.retain(|of| before.replace(of.part) == Some(of.part) || !of.fits);
        frames.sort_unstable_by_key(|of| of.frame);
        let room = settings.hot_max - settings.hot_first;
        if let Some(of) = frames.get(room as usize) {
            let why =
                "it is not in its place within a chunk, and the HFB has no room for more chunks";
            return refused(of.first, why);
        }
        let mut obtained = Vec::with_capacity(frames.len());
        for Frame { frame, .. } in frames {
            self.cold.take_frame(frame);
            let slots = self.hot.add(frame, true);
            obtained.push((frame, slots.start));
            slots.for_each(|slot| self.roles.add_slot(slot));
        }
        self.roles.set_sup_max(settings.sup_max(self.hot.blocks()));
        Ok(obtained)
    }

    /// Adds `block` at `place` of the buffer.
    fn put(&mut self, place: u64, block: Block, obtained: &[(u32, u32)]) {
        let at = self.settings.geometry.address(block);
        let zone = self.touch(at.zone);
        let state = self.zones.get_mut(zone);
        state.native += u32::from(at.offset < state.write_pointer);
        let (frame, within) = self.settings.geometry.frame(place);
        // The HFB's initial frames are the first of the buffer, and have its first slots.
        let of_hot = match obtained.binary_search_by_key(&frame, |&(frame, _)| frame) {
            Ok(found) => Some(obtained[found].1 + within),
            Err(_) => (frame < self.settings.hot_first).then_some(place as u32),
        };
        if let Some(slot) = of_hot {
            self.zones.count_hot(zone, true);
            self.roles.enter_slot(slot, block, None);
        } else {
            if self.cold.frame(at.part).is_none() {
                self.cold.map_frame(frame, at.part, zone, &mut self.zones);
            }
            self.cold.add(frame, at, zone, &mut self.zones);
        }
    }
}
