//! The places of the host's blocks: the map that readers use, and that is saved.
//!
//! The blocks of the host are divided into chunks of the size of a zone, 64 MiB at most. A chunk has
//! its runs in order, sixteen bytes each; blocks in no run are stored nowhere. Neighbours that are
//! stored together always form one run, so that changes can be detected.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::Block;
use shingle_translation::{Piece, Place};

/// A run of blocks that are stored together, relative to a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    /// The first block in the chunk.
    start: u32,
    count: u32,
    place: Packed,
}

impl Run {
    fn end(self) -> u32 {
        self.start + self.count
    }

    /// The part of the run in `range`.
    fn clip(self, range: &Range<u32>) -> Run {
        let (start, end) = (self.start.max(range.start), self.end().min(range.end));
        let place = self.place.after(u64::from(start - self.start));
        Run { start, count: end - start, place }
    }

    fn goes_on(self, next: Run) -> bool {
        self.end() == next.start && self.place.after(u64::from(self.count)) == next.place
    }
}

/// A place on the disk: the highest bit says whether it is in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packed(u64);

const BUFFER: u64 = 1 << 63;

impl Packed {
    fn of(place: Place) -> Option<Packed> {
        match place {
            Place::Buffer(at) => Some(Packed(at | BUFFER)),
            Place::Native(at) => Some(Packed(at)),
            Place::Nowhere => None,
        }
    }

    fn place(self) -> Place {
        if self.0 & BUFFER == 0 { Place::Native(self.0) } else { Place::Buffer(self.0 & !BUFFER) }
    }

    fn after(self, count: u64) -> Packed {
        Packed(self.0 + count)
    }
}

/// The most blocks of a chunk: each change moves what is behind it in the chunk, half of 256 KiB where all
/// blocks lie apart.
const CHUNK_BLOCKS_MAX: u64 = 16_384;

/// Chunks that are looked at for a part with many runs.
const CHUNKS_LOOKED_AT: usize = 16;

/// The map of places; see the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Whereabouts {
    chunk_blocks: u64,
    chunks: Vec<Vec<Run>>,
    blocks: u64,
    runs: u64,
}

impl Whereabouts {
    /// A map without any place, of blocks in zones of this size.
    pub(crate) fn new(blocks: u64, zone_blocks: u64) -> Whereabouts {
        let chunk_blocks = zone_blocks.min(CHUNK_BLOCKS_MAX);
        let chunks = blocks.div_ceil(chunk_blocks) as usize;
        Whereabouts { chunk_blocks, chunks: vec![Vec::new(); chunks], blocks, runs: 0 }
    }

    /// The number of blocks of the host.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of runs.
    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// The memory in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let runs: usize = self.chunks.iter().map(Vec::capacity).sum();
        (runs * size_of::<Run>() + self.chunks.capacity() * size_of::<Vec<Run>>()) as u64
    }

    /// Sets the place of blocks. Returns whether it has changed.
    pub(crate) fn set(&mut self, block: Block, piece: Piece) -> bool {
        let (mut at, end, mut place) = (block.0, block.0 + piece.count, piece.place);
        let mut changed = false;
        while at < end {
            let (chunk, start) = ((at / self.chunk_blocks) as usize, at % self.chunk_blocks);
            let count = (self.chunk_blocks - start).min(end - at);
            let range = start as u32..(start + count) as u32;
            changed |= self.set_in(chunk, &range, Packed::of(place));
            (at, place) = (at + count, place.after(count));
        }
        changed
    }

    fn set_in(&mut self, chunk: usize, range: &Range<u32>, place: Option<Packed>) -> bool {
        let runs = &mut self.chunks[chunk];
        let first = runs.partition_point(|run| run.end() <= range.start);
        let after = first + runs[first..].partition_point(|run| run.start < range.end);
        let new =
            place.map(|place| Run { start: range.start, count: range.end - range.start, place });
        match (&runs[first..after], new) {
            ([], None) => return false,
            ([run], Some(new))
                if run.start <= new.start && run.end() >= new.end() && run.clip(range) == new =>
            {
                return false;
            }
            _ => {}
        }
        let mut with = [None; 3];
        if let Some(run) = runs[first..after].first()
            && run.start < range.start
        {
            with[0] = Some(run.clip(&(0..range.start)));
        }
        with[1] = new;
        if let Some(run) = runs[first..after].last()
            && run.end() > range.end
        {
            with[2] = Some(run.clip(&(range.end..u32::MAX)));
        }
        // At most four runs meet here: the neighbours are checked again.
        let (from, to) = (first.saturating_sub(1), (after + 1).min(runs.len()));
        let mut joined: [Option<Run>; 5] = [None; 5];
        let mut count = 0_usize;
        let beside = runs[from..first].iter().copied();
        let behind = runs[after..to].iter().copied();
        for run in beside.chain(with.into_iter().flatten()).chain(behind) {
            match count.checked_sub(1).and_then(|last| joined[last].as_mut()) {
                Some(last) if last.goes_on(run) => last.count += run.count,
                _ => {
                    joined[count] = Some(run);
                    count += 1;
                }
            }
        }
        self.runs = self.runs + count as u64 - (to - from) as u64;
        if runs.len() - (to - from) + count > runs.capacity() {
            // By a quarter: most of the memory is in such lists.
            runs.reserve_exact(runs.len() / 4 + 2);
        }
        runs.splice(from..to, joined.into_iter().flatten());
        if runs.is_empty() {
            *runs = Vec::new();
        }
        true
    }

    /// The place of a block, with at most `most` of the blocks behind it that are stored together,
    /// or nowhere.
    pub(crate) fn first(&self, block: Block, most: u64) -> Piece {
        let (chunk, start) = ((block.0 / self.chunk_blocks) as usize, block.0 % self.chunk_blocks);
        let most = most.min(self.chunk_blocks - start).min(self.blocks - block.0);
        let range = start as u32..(start + most) as u32;
        let runs = &self.chunks[chunk];
        let next = runs.get(runs.partition_point(|run| run.end() <= range.start));
        match next.filter(|run| run.start < range.end) {
            Some(run) if run.start <= range.start => {
                let run = run.clip(&range);
                Piece { place: run.place.place(), count: run.count.into() }
            }
            Some(run) => Piece { place: Place::Nowhere, count: u64::from(run.start - range.start) },
            None => Piece { place: Place::Nowhere, count: most },
        }
    }

    /// The places of blocks, in order; runs end with chunks.
    pub(crate) fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = (Block, Piece)> + '_ {
        let mut next = range.start;
        std::iter::from_fn(move || {
            let most = range.end.checked_sub(next).filter(|most| *most > 0)?;
            let (block, piece) = (Block(next), self.first(Block(next), most));
            next += piece.count;
            Some((block, piece))
        })
    }

    /// The runs from block `first` on, in order.
    pub(crate) fn from(&self, first: u64) -> impl Iterator<Item = (Block, Piece)> + '_ {
        let chunk = first / self.chunk_blocks;
        let start = (first % self.chunk_blocks) as u32;
        let chunks = (chunk..).zip(self.chunks.get(chunk as usize..).unwrap_or_default());
        chunks.flat_map(move |(at, runs)| {
            let range = if at == chunk { start..u32::MAX } else { 0..u32::MAX };
            let behind = runs.partition_point(|run| run.end() <= range.start);
            runs[behind..].iter().map(move |run| {
                let run = run.clip(&range);
                let block = Block(at * self.chunk_blocks + u64::from(run.start));
                (block, Piece { place: run.place.place(), count: run.count.into() })
            })
        })
    }

    /// All runs, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Block, Piece)> + '_ {
        (0..).zip(&self.chunks).flat_map(move |(chunk, runs)| {
            runs.iter().map(move |run| {
                let block = Block(chunk * self.chunk_blocks + u64::from(run.start));
                (block, Piece { place: run.place.place(), count: run.count.into() })
            })
        })
    }

    /// The part of `blocks` blocks, or up to the end of a chunk, in which most runs begin: of those of the chunk that has most
    /// runs. If no part of that has `least` of them, or all that have overlap `without`, of the next ones.
    pub(crate) fn most_runs(
        &self,
        blocks: u64,
        least: usize,
        without: &Ranges,
    ) -> Option<Range<u64>> {
        let chunks = self.chunks.iter().enumerate();
        let fits = chunks.filter(|(_, runs)| runs.len() >= least);
        let mut fullest: BinaryHeap<_> = fits.map(|(at, runs)| (runs.len(), Reverse(at))).collect();
        (0..CHUNKS_LOOKED_AT).find_map(|_| {
            let (_, Reverse(chunk)) = fullest.pop()?;
            let mut begin = vec![0; self.chunk_blocks.div_ceil(blocks) as usize];
            for run in &self.chunks[chunk] {
                begin[(u64::from(run.start) / blocks) as usize] += 1;
            }
            let first = chunk as u64 * self.chunk_blocks;
            let end = (first + self.chunk_blocks).min(self.blocks);
            let parts = (0..).zip(begin).filter(|(_, count)| *count >= least);
            let parts = parts.map(|(part, count)| {
                let start = first + part * blocks;
                (count, Reverse(start), start..(start + blocks).min(end))
            });
            let usable = parts.filter(|(.., part)| without.first_in(part.clone()).is_none());
            usable.max_by_key(|(count, start, _)| (*count, *start)).map(|(.., part)| part)
        })
    }

    /// The first block of a range that has a place.
    pub(crate) fn first_somewhere(&self, range: Range<u64>) -> Option<u64> {
        let mut pieces = self.pieces(range);
        pieces.find(|(_, piece)| piece.place != Place::Nowhere).map(|(block, _)| block.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCKS: u64 = 45;

    fn place() -> impl Strategy<Value = Place> {
        prop_oneof![
            (0u64..12).prop_map(Place::Buffer),
            (0u64..12).prop_map(Place::Native),
            Just(Place::Nowhere)
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_place_for_each_block(
            sets in prop::collection::vec((0u64..BLOCKS, 1u64..25, place()), 1..50),
            look in (0u64..BLOCKS, 1u64..BLOCKS),
        ) {
            let mut map = Whereabouts::new(BLOCKS, 10);
            let mut plain = vec![Place::Nowhere; BLOCKS as usize];
            for (block, count, place) in sets {
                let count = count.min(BLOCKS - block);
                let before = plain.clone();
                for ahead in 0..count {
                    plain[(block + ahead) as usize] = place.after(ahead);
                }
                prop_assert_eq!(map.set(Block(block), Piece { place, count }), before != plain);
            }
            let mut found = vec![Place::Nowhere; BLOCKS as usize];
            for (block, piece) in map.all() {
                for ahead in 0..piece.count {
                    found[(block.0 + ahead) as usize] = piece.place.after(ahead);
                }
            }
            prop_assert_eq!(&found, &plain);
            // The smallest number of runs that chunks allow.
            let joins = |at: usize| {
                !at.is_multiple_of(10) && plain[at] != Place::Nowhere && plain[at - 1].after(1) == plain[at]
            };
            let runs = (0..plain.len()).filter(|&at| plain[at] != Place::Nowhere && !joins(at)).count();
            prop_assert_eq!(map.runs(), runs as u64);
            prop_assert_eq!(map.all().count(), runs);
            let mut behind = vec![Place::Nowhere; look.0 as usize];
            behind.resize(BLOCKS as usize, Place::Nowhere);
            for (block, piece) in map.from(look.0) {
                for ahead in 0..piece.count {
                    behind[(block.0 + ahead) as usize] = piece.place.after(ahead);
                }
            }
            prop_assert_eq!(&behind[look.0 as usize..], &plain[look.0 as usize..]);
            prop_assert!(behind[..look.0 as usize].iter().all(|place| *place == Place::Nowhere));
            let range = look.0..(look.0 + look.1).min(BLOCKS);
            let pieces: Vec<Place> = map
                .pieces(range.clone())
                .flat_map(|(_, piece)| (0..piece.count).map(move |ahead| piece.place.after(ahead)))
                .collect();
            prop_assert_eq!(&pieces[..], &plain[range.start as usize..range.end as usize]);
            let somewhere = range.clone().find(|&at| plain[at as usize] != Place::Nowhere);
            prop_assert_eq!(map.first_somewhere(range), somewhere);
        }

        #[test]
        fn the_part_with_most_runs_is_found(
            sets in prop::collection::vec((0u64..BLOCKS, 1u64..4, place()), 1..50),
            least in 1usize..4,
            bad in prop::collection::vec(0u64..BLOCKS, 0..4),
        ) {
            let mut map = Whereabouts::new(BLOCKS, 10);
            for (block, count, place) in sets {
                map.set(Block(block), Piece { place, count: count.min(BLOCKS - block) });
            }
            let mut without = Ranges::default();
            bad.iter().for_each(|&block| without.insert(block..block + 1));
            let begin = |part: &Range<u64>| map.all().filter(|(at, _)| part.contains(&at.0)).count();
            let mut chunks: Vec<_> =
                (0..5).map(|chunk| chunk * 10..(chunk * 10 + 10).min(BLOCKS)).collect();
            chunks.sort_by_key(|chunk| Reverse(begin(chunk)));
            let expected = chunks.into_iter().find_map(|chunk| {
                let parts = chunk.clone().step_by(4).map(|at| at..(at + 4).min(chunk.end));
                let usable = parts.filter(|part| {
                    begin(part) >= least && !bad.iter().any(|block| part.contains(block))
                });
                usable.min_by_key(|part| Reverse(begin(part)))
            });
            prop_assert_eq!(map.most_runs(4, least, &without), expected);
        }
    }

    #[test]
    fn a_chunk_that_lies_together_is_one_run() {
        let mut map = Whereabouts::new(200_000, 65_536);
        let piece = |place, count| Piece { place, count };
        assert!(map.set(Block(1000), piece(Place::Native(5), 100_000)));
        // Blocks 1,000 to 100,999 are in seven chunks of 16,384.
        assert_eq!(map.runs(), 7);
        assert!(map.set(Block(1100), piece(Place::Buffer(7), 1)));
        assert_eq!(map.runs(), 9);
        assert!(!map.set(Block(1101), piece(Place::Native(106), 20)));
        assert!(map.set(Block(1100), piece(Place::Native(105), 1)));
        assert_eq!(map.runs(), 7);
        assert_eq!(map.first(Block(1500), 10), piece(Place::Native(505), 10));
        assert_eq!(map.first(Block(0), 5000), piece(Place::Nowhere, 1000));
        assert!(map.set(Block(0), piece(Place::Nowhere, 200_000)));
        assert_eq!((map.runs(), map.all().count()), (0, 0));
    }
}
