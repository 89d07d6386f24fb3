//! Restores chunks from a saved map.

use super::{Chunks, NONE};
use crate::parts::{InBuffer, behind_most_free, in_buffer, in_zones, misplaced};
use crate::translation::{Layout, Place, SavedMap};

impl Chunks {
    /// Assigns to chunks, of which nothing is written yet, the zones and segments in which a
    /// checked map has blocks of them. The others are free; those that must be reset are used last.
    ///
    /// The order of use is not saved. Segments are allocated in turn, so chunks in the buffer count
    /// as used in the order of their segments, from the end of the longest free run on.
    pub(in super::super) fn open(
        &mut self,
        name: &str,
        layout: Layout,
        saved: &dyn SavedMap,
    ) -> Result<(), String> {
        self.pointers = saved.pointers().iter().map(|&pointer| pointer as u32).collect();
        let mut zones = vec![NONE; layout.zones as usize];
        for (block, at, count) in in_zones(saved) {
            let mut done = 0;
            while done < count {
                let (next, place) = (block.after(done), Place::Native(at + done));
                let (zone, there) =
                    ((at + done) / self.zone_blocks, (at + done) % self.zone_blocks);
                let (chunk, offset) = self.split(next);
                let refused = |why: &str| misplaced(name, layout, next, place, why);
                if offset != there {
                    return Err(refused("a chunk's zone keeps blocks in their places"));
                }
                let owner = &mut zones[zone as usize];
                let of = self.written(chunk);
                if of.zone == NONE && *owner == NONE {
                    (of.zone, *owner) = (zone as u32, chunk);
                } else if *owner != chunk {
                    return Err(refused(&match (of.zone, *owner) {
                        (NONE, owner) => format!("that is the zone of chunk {owner}"),
                        (zone, _) => format!("its chunk has zone {zone}"),
                    }));
                }
                let part = (layout.zone_blocks - offset).min(count - done);
                of.native.fill(offset, part, true);
                done += part;
            }
        }
        let unused = |wanted: bool| {
            let numbered = (0..).zip(zones.iter().zip(saved.pointers()));
            numbered
                .filter(move |&(_, (&owner, &pointer))| owner == NONE && (pointer == 0) == wanted)
                .map(|(zone, _)| zone)
        };
        self.free_zones = unused(true).chain(unused(false)).collect();
        self.open_segments(name, layout, saved)
    }

    fn open_segments(
        &mut self,
        name: &str,
        layout: Layout,
        saved: &dyn SavedMap,
    ) -> Result<(), String> {
        let mut runs = in_buffer(name, layout, saved)?;
        let (oldest, _) = behind_most_free(&runs, layout.buffer_blocks);
        runs.rotate_left(oldest);
        let mut owners = vec![None; self.segments as usize];
        for &InBuffer { at, block, count } in &runs {
            let mut done = 0;
            while done < count {
                let (next, place) = (block.after(done), Place::Buffer(at + done));
                let segment = (at + done) / self.segment_blocks;
                let within = (at + done) % self.segment_blocks;
                let (chunk, offset) = self.split(next);
                let part = offset / self.segment_blocks;
                let refused = |why: &str| Err(misplaced(name, layout, next, place, why));
                let Some(owner) = owners.get_mut(segment as usize) else {
                    return refused(&format!("there are {} segments", self.segments));
                };
                if offset % self.segment_blocks != within {
                    return refused("a segment keeps blocks in their places");
                }
                let held = self.slot(chunk, offset).is_some();
                if owner.is_none() && !held {
                    *owner = Some((chunk, part));
                    self.give(chunk, offset, segment as u32);
                } else if *owner != Some((chunk, part)) {
                    return refused(&match *owner {
                        Some((chunk, part)) => {
                            format!("that segment is of {}", self.blocks_of(chunk, part))
                        }
                        None => format!("{} have another segment", self.blocks_of(chunk, part)),
                    });
                }
                let more = (self.segment_blocks - within)
                    .min(layout.zone_blocks - offset)
                    .min(count - done);
                self.put(chunk, offset, more);
                self.touch(chunk);
                done += more;
            }
        }
        let head =
            runs.last().map_or(0, |last| (last.at + last.count) / self.segment_blocks) as u32;
        let in_turn = (head..self.segments).chain(0..head.min(self.segments));
        self.free_segments =
            in_turn.filter(|&segment| owners[segment as usize].is_none()).collect();
        Ok(())
    }

    /// Describes the blocks of a part of a chunk.
    fn blocks_of(&self, chunk: u32, part: u64) -> String {
        let (from, first) = (part * self.segment_blocks, self.first(chunk).0);
        let end = (from + self.segment_blocks).min(self.zone_blocks);
        match end - from {
            1 => format!("block {}", first + from),
            _ => format!("blocks {} to {}", first + from, first + end - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::{Piece, Saved};
    use shingle_core::units::Block;

    #[test]
    fn a_chunk_was_used_last_where_its_last_segment_lies() {
        let layout = Layout { zone_blocks: 4, buffer_blocks: 16, zones: 8 };
        let run = |block, at| (Block(block), Piece { place: Place::Buffer(at), count: 1 });
        // Chunk 0 has segments 1 and 3, chunk 1 the one between.
        let runs = vec![run(0, 2), run(2, 6), run(4, 4)];
        let mut chunks = Chunks::new(layout, 4, 2);
        chunks.open("ucache", layout, &Saved { runs, pointers: vec![0; 8] }).expect("a map");
        chunks.check();
        assert_eq!(chunks.coldest(), Some(1));
    }
}
