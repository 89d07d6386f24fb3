//! Searches where bands begin and end (SAC §5.2).
//!
//! The paper's four steps: take a range around an address; write blocks of it until the buffer is
//! full; write elsewhere, so that the drive cleans some bands; read the range in order. Reads are
//! fast where the band was cleaned. They are slow elsewhere, because the head moves back and forth
//! between band and buffer.
//!
//! The paper writes the range in random order, and so does not choose the bands that get cleaned.
//! Here the order is chosen, so that only the band of the address is cleaned, and one buffer serves
//! many addresses at once. First comes one block of each band to be cleaned (its *seed*), then one
//! block each of other, distant bands (*guards*), then some blocks of each reading step of each
//! range (*marks*). The last mark is written first, so that read-ahead in the log does not find the
//! next read. Other blocks follow until the buffer is full. A drive that cleans the oldest first
//! (Skylight: first in, first out) cleans the bands of the seeds, then those of guards, but no
//! neighbour of a seed's band. On other drives the ranges show other clean bands, or none, and the
//! address is reported as not found.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use shingle_drive::profile::BandFacts;

use crate::change::real;
use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::scratch::{LARGE_BLOCKS, Scratch, large, write};
use crate::split::split;
use crate::target::{Block, Io, Op};

/// Marks in each reading step. A step of an uncleaned band takes as many trips to the buffer and
/// back, so it is slow even on a disk where each read waits for a rotation.
pub(crate) const MARKS: u64 = 8;

/// A range that is marked and read: `steps` steps of `step_blocks`, a multiple of [`MARKS`], from
/// `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u64,
    pub(crate) step_blocks: u64,
    pub(crate) steps: u64,
}

impl Range {
    fn starts(self) -> impl Iterator<Item = u64> {
        (0..self.steps).map(move |step| self.first + step * self.step_blocks)
    }

    fn marks(self) -> impl Iterator<Item = u64> {
        let apart = self.step_blocks / MARKS;
        (0..self.steps * MARKS).map(move |mark| self.first + mark * apart)
    }

    fn contains(&self, block: u64) -> bool {
        (self.first..self.first + self.steps * self.step_blocks).contains(&block)
    }
}

/// An address whose band is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// A block of the band: a mark of its range, or a block outside all ranges.
    pub(crate) seed: u64,
    pub(crate) ranges: Vec<Range>,
}

impl Site {
    /// Makes the widest range around `block`, on a disk of `disk_blocks`.
    pub(crate) fn around(block: u64, half_blocks: u64, step_blocks: u64, disk_blocks: u64) -> Site {
        let first = block.saturating_sub(half_blocks);
        let end = (block + half_blocks).min(disk_blocks);
        let range = Range { first, step_blocks, steps: (end - first) / step_blocks };
        let seed = first + (block - first) / step_blocks * step_blocks;
        let last = first + (range.steps - 1) * step_blocks;
        Site { seed: seed.min(last), ranges: vec![range] }
    }

    /// Makes narrow ranges around the borders of a roughly known band. `None` if the band is too
    /// small.
    pub(crate) fn refined(band: &BandFacts, step_blocks: u64, disk_blocks: u64) -> Option<Site> {
        // Both sides of a border, as far as the error reaches, with a margin.
        let half = (band.error_blocks + 4 * step_blocks).next_multiple_of(step_blocks);
        let range = |border: u64| {
            let first = border.saturating_sub(half);
            let steps = ((border + half).min(disk_blocks) - first) / step_blocks;
            Range { first, step_blocks, steps }
        };
        let ranges = vec![range(band.first_block), range(band.first_block + band.blocks)];
        let seed = band.first_block + band.blocks / 2;
        (!ranges.iter().any(|range| range.contains(seed))).then_some(Site { seed, ranges })
    }

    /// Blocks of it that are written, each an entry of the buffer.
    pub(crate) fn entries(&self) -> u64 {
        let marks: u64 = self.ranges.iter().map(|range| range.steps * MARKS).sum();
        // The seed is a mark, or is written in addition.
        marks + u64::from(!self.ranges.iter().any(|range| range.contains(self.seed)))
    }

    pub(crate) fn near(&self, block: u64, distance: u64) -> bool {
        self.seed.abs_diff(block) < distance
    }
}

/// The read latency of each step of a range, in microseconds: the lesser of two passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strip {
    /// First block.
    pub first: u64,
    /// Blocks of a step.
    pub step_blocks: u64,
    /// One latency for each step.
    pub us: Vec<u64>,
}

/// The measurements of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// A block of the band.
    pub seed: u64,
    /// One strip for each range.
    pub strips: Vec<Strip>,
}

/// What is known of the buffer when bands are cleaned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferEstimate {
    /// Capacity in writes of one block.
    pub(crate) entries: u64,
    /// Bytes limit the capacity, so that larger writes fill it as well.
    pub(crate) by_bytes: bool,
    /// A write that takes at least this long has waited for cleaning.
    pub(crate) stall_us: f64,
}

impl BufferEstimate {
    /// Whether a write that took `us` waited for cleaning, after `held` blocks were written to an
    /// empty buffer. While half of the buffer is free, the wait has another cause.
    pub(crate) fn stalled(&self, us: u64, held: u64) -> bool {
        real(us) >= self.stall_us && held >= self.entries / 2
    }
}

/// The order in which marks are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Range after range, the last mark first. A band's marks are adjacent in the log, so a drive
    /// that collects little at a time cleans the band at once.
    Descending,
    /// Random within a site: for a drive that reads the log in both directions.
    Random,
}

/// Makes the drive clean the bands of sites, and reads their ranges.
pub(crate) struct Survey<'a> {
    pub(crate) sites: &'a [Site],
    pub(crate) estimate: &'a BufferEstimate,
    /// Blocks that are more than this number of blocks apart are in different bands.
    pub(crate) apart: u64,
    pub(crate) order: Order,
    pub(crate) seed: u64,
}

impl Survey<'_> {
    /// The buffer must be empty before, and is not empty afterwards.
    pub(crate) fn run(&self, scratch: &mut Scratch) -> Result<Vec<Seen>, ProbeError> {
        let marked = self.blocks(scratch);
        scratch.run_all(marked.iter().map(|&block| write(block)))?;
        self.fill(scratch, marked.len() as u64)?;
        let mut seen = self.read(scratch, self.seed)?;
        let again = self.read(scratch, self.seed + 1)?;
        for (seen, again) in seen.iter_mut().zip(again) {
            for (strip, again) in seen.strips.iter_mut().zip(again.strips) {
                strip.us.iter_mut().zip(again.us).for_each(|(us, again)| *us = again.min(*us));
            }
        }
        Ok(seen)
    }

    /// Returns the blocks to write first, in order: seeds, guards, marks.
    fn blocks(&self, scratch: &Scratch) -> Vec<u64> {
        let disk_blocks = scratch.target.facts().blocks;
        let clear = |block: u64| !self.sites.iter().any(|site| site.near(block, 2 * self.apart));
        let guards = (1..)
            .map(|nth| scratch.region_blocks + nth * self.apart)
            .take_while(|block| *block < disk_blocks)
            .filter(|&block| clear(block))
            .take(3 * self.sites.len() + 8);
        let seeds = self.sites.iter().map(|site| site.seed);
        let marks = self.sites.iter().flat_map(|site| {
            let marks = site.ranges.iter().flat_map(|range| range.marks());
            let marks: Vec<u64> = marks.filter(|block| *block != site.seed).collect();
            let random = Permutation::new(marks.len() as u64, self.seed);
            let place = move |nth: usize| match self.order {
                Order::Descending => marks[marks.len() - 1 - nth],
                Order::Random => marks[random.get(nth as u64) as usize],
            };
            (0..site.entries() as usize - 1).map(place)
        });
        seeds.chain(guards).chain(marks).collect()
    }

    /// Writes elsewhere until the buffer, which holds `held` blocks, is full and bands have been
    /// cleaned.
    fn fill(&self, scratch: &mut Scratch, mut held: u64) -> Result<(), ProbeError> {
        let mut filler = Filler::new(scratch.region_blocks, self.estimate, self.seed);
        let around = |seed: u64| (seed.saturating_sub(2 * self.apart), seed + 2 * self.apart);
        filler.avoid = self.sites.iter().map(|site| around(site.seed)).collect();
        held += filler.nearly_fill(scratch, self.estimate, held)?;
        // One stall per site is enough for a drive that cleans one band at a time; others clean
        // guards too.
        let enough = self.sites.len().max(2);
        let mut stalls = 0;
        scratch.run_each(filler.singles(), |us| {
            held += 1;
            stalls += usize::from(self.estimate.stalled(us, held));
            if stalls < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    }

    /// Reads the ranges of all sites once.
    fn read(&self, scratch: &mut Scratch, seed: u64) -> Result<Vec<Seen>, ProbeError> {
        clear_read_cache(scratch, seed)?;
        let seen = self.sites.iter().map(|site| {
            let strips = site.ranges.iter().map(|range| read(scratch, *range));
            Ok(Seen { seed: site.seed, strips: strips.collect::<Result<_, _>>()? })
        });
        seen.collect()
    }
}

fn read(scratch: &mut Scratch, range: Range) -> Result<Strip, ProbeError> {
    let step = |block| Io { op: Op::Read, block: Block(block), count: range.step_blocks };
    let us = scratch.latencies_us(range.starts().map(step))?;
    Ok(Strip { first: range.first, step_blocks: range.step_blocks, us })
}

/// Reads unrelated blocks, to replace the content of the drive's read cache.
fn clear_read_cache(scratch: &mut Scratch, seed: u64) -> Result<(), ProbeError> {
    const READS: u64 = 128;
    let places = scratch.target.facts().blocks / LARGE_BLOCKS;
    let order = Permutation::new(places, seed ^ 0xf0e7);
    let read = |nth| Io { op: Op::Read, ..large(order.get(nth) * LARGE_BLOCKS) };
    scratch.run_all((0..READS.min(places)).map(read))
}

/// Writes within the region that fill the rest of the buffer.
pub(crate) struct Filler {
    /// Positions of large writes, if they are used, in the first seven eighths of the region, and
    /// of single blocks in the rest.
    large: Permutation,
    single: Permutation,
    single_from: u64,
    avoid: Vec<(u64, u64)>,
}

impl Filler {
    pub(crate) fn new(region_blocks: u64, estimate: &BufferEstimate, seed: u64) -> Filler {
        let single_from = if estimate.by_bytes { region_blocks / 8 * 7 } else { 0 };
        Filler {
            large: Permutation::new((single_from / LARGE_BLOCKS).max(1), seed),
            single: Permutation::new(region_blocks - single_from, seed),
            single_from,
            avoid: Vec::new(),
        }
    }

    fn clear(&self, block: u64) -> bool {
        !self.avoid.iter().any(|&(from, to)| (from..to).contains(&block))
    }

    /// Writes of single blocks, each position once.
    pub(crate) fn singles(&self) -> impl Iterator<Item = Io> {
        let places = (0..self.single.bound()).map(|nth| self.single_from + self.single.get(nth));
        places.filter(|&block| self.clear(block)).map(write)
    }

    /// Fills a buffer that is limited by bytes up to 95 %, with large writes. It holds `held`
    /// blocks already. Returns the number of blocks written.
    pub(crate) fn nearly_fill(
        &self,
        scratch: &mut Scratch,
        estimate: &BufferEstimate,
        held: u64,
    ) -> Result<u64, ProbeError> {
        if !estimate.by_bytes {
            return Ok(0);
        }
        let room = (estimate.entries / 20 * 19).saturating_sub(held);
        let places = (0..self.large.bound()).map(|nth| self.large.get(nth) * LARGE_BLOCKS);
        let wanted = (room / LARGE_BLOCKS) as usize;
        let places: Vec<u64> = places.filter(|&block| self.clear(block)).take(wanted).collect();
        scratch.run_all(places.iter().map(|&block| large(block)))?;
        Ok(places.len() as u64 * LARGE_BLOCKS)
    }
}

/// Evaluates the band of a seed. `None` if the measurements do not show it: it was not cleaned, or
/// reaches beyond the ranges.
#[must_use]
pub fn band(seen: &Seen, disk_blocks: u64) -> Option<BandFacts> {
    let (low, high) = match seen.strips.as_slice() {
        [whole] => {
            let clean = clean(whole)?;
            let at = ((seen.seed.checked_sub(whole.first)?) / whole.step_blocks) as usize;
            if !*clean.get(at)? {
                return None;
            }
            let left = clean[..at].iter().rposition(|clean| !clean);
            let right = clean[at..].iter().position(|clean| !clean).map(|right| at + right);
            (first_block(whole, left)?, end_block(whole, right, disk_blocks)?)
        }
        // The left strip is dirty, then clean; the right one is clean, then dirty.
        [left, right] => {
            let (before, after) = (clean(left)?, clean(right)?);
            let first = before.iter().position(|clean| *clean)?;
            let last = after.iter().rposition(|clean| *clean)?;
            let sorted = before[first..].iter().all(|clean| *clean)
                && after[..=last].iter().all(|clean| *clean);
            if !sorted || first == 0 || last + 1 == after.len() {
                return None;
            }
            (first_block(left, Some(first - 1))?, end_block(right, Some(last + 1), disk_blocks)?)
        }
        _ => return None,
    };
    let first = u64::midpoint(low.0, low.1);
    let end = u64::midpoint(high.0, high.1);
    let error_blocks = (low.1 - low.0).max(high.1 - high.0).div_ceil(2);
    Some(BandFacts { first_block: first, blocks: end.checked_sub(first)?, error_blocks })
}

/// Whether around the seed of a place more than `largest` blocks were cleaned, or all that was read:
/// then its band may be larger than was looked for. `read_us` is the time of a random read.
pub(crate) fn may_be_larger(seen: &Seen, largest: u64, read_us: f64) -> bool {
    let [strip] = seen.strips.as_slice() else { return false };
    // If all steps are alike, these are fast or slow by the time of so many trips to the buffer.
    let threshold = split(&strip.us).unwrap_or(real(MARKS / 2) * read_us);
    let fast = |us: &u64| real(*us) < threshold;
    let at = (seen.seed.saturating_sub(strip.first) / strip.step_blocks) as usize;
    let Some((before, after)) = strip.us.split_at_checked(at) else { return false };
    let right = after.iter().take_while(|us| fast(us)).count();
    let left = before.iter().rev().take_while(|us| fast(us)).count();
    right > 0 && (left + right) as u64 * strip.step_blocks > largest
}

/// The steps of a strip that were read without seeks to the buffer.
fn clean(strip: &Strip) -> Option<Vec<bool>> {
    let threshold = split(&strip.us)?;
    Some(strip.us.iter().map(|&us| real(us) < threshold).collect())
}

/// Least and greatest first block of a band that begins within step `dirty`, the last slow one, or
/// the next: a step that contains the border may be slow or fast. Without a slow step the band
/// begins with the disk.
fn first_block(strip: &Strip, dirty: Option<usize>) -> Option<(u64, u64)> {
    let start = |step: usize| strip.first + step as u64 * strip.step_blocks;
    match dirty {
        Some(dirty) => Some((start(dirty) + 1, start(dirty + 2) - strip.step_blocks / MARKS)),
        None => (strip.first == 0).then_some((0, 0)),
    }
}

/// Least and greatest end of a band that ends within step `dirty`, the first slow one, or the
/// previous. Without a slow step the band ends with the disk.
fn end_block(strip: &Strip, dirty: Option<usize>, disk_blocks: u64) -> Option<(u64, u64)> {
    let start = |step: usize| strip.first + step as u64 * strip.step_blocks;
    match dirty {
        Some(dirty) => Some((start(dirty - 1) + 1, start(dirty + 1) - strip.step_blocks / MARKS)),
        None => {
            let end = start(strip.us.len());
            (end + strip.step_blocks > disk_blocks).then_some((disk_blocks, disk_blocks))
        }
    }
}
