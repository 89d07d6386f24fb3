//! Scaling: less work than in the papers, with the same meaning of the results.
//!
//! First, copies and accesses are reduced. A trace of copies keeps its proportions, and a cache
//! given in bytes shrinks with the copies. Zones, bands, blocks and the drive's buffer keep their
//! size. Beyond that, a geometric scale keeps one zone in N, and shrinks cache, buffer and
//! footprint. It is refused if the buffer would hold fewer than 30 zones: targets are chosen by the
//! zone, and with so few zones one more or less matters.

use shingle_core::units::BLOCK_BYTES;
use shingle_trace::Summary;
use shingle_trace::zones::ZONE_BLOCKS;

use crate::grid::{Grid, Size};

/// The fewest zones of a buffer after a geometric scale.
pub const ZONES_MIN: u64 = 30;

/// The scale of an experiment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Factor of the copies and accesses of traces made of copies; 1 for the paper's scale.
    pub work: f64,
    /// Factor of the accesses of single volumes.
    pub volumes: f64,
    /// Keeps one zone in this number; 1 for all.
    pub every_zone: u64,
}

impl Scale {
    /// Makes a scale with the same factor for everything.
    #[must_use]
    pub fn of(part: f64) -> Scale {
        Scale { work: part, volumes: part, every_zone: 1 }
    }
}

/// A scaled grid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scaled {
    /// Number of copies of which the trace is made.
    pub copies: u32,
    /// Number of accesses at the start of the trace.
    pub accesses: Option<u64>,
    /// The part of the whole trace, if no number of accesses is given.
    pub part: f64,
    /// Factor of sizes in bytes, which follow the copies.
    pub of_bytes: f64,
    /// Keeps one zone in this number.
    pub every_zone: u64,
}

impl Scaled {
    /// Scales `grid` by `scale`, or by its default.
    #[must_use]
    pub fn new(grid: &Grid, scale: Option<Scale>) -> Scaled {
        let scale = scale.unwrap_or_else(|| Scale::of(grid.default_scale));
        let copies = (f64::from(grid.copies) * scale.work).round().max(1.0);
        let by_copies = copies / f64::from(grid.copies);
        // Accesses shrink with the copies. At a single copy only accesses shrink further.
        let part = match grid.copies {
            1 => scale.volumes,
            _ if copies > 1.0 => by_copies,
            _ => scale.work.min(by_copies),
        };
        Scaled {
            copies: copies as u32,
            accesses: grid.accesses.map(|n| ((n as f64 * part) as u64 / scale.every_zone).max(1)),
            part: if grid.accesses.is_some() { 1.0 } else { part },
            of_bytes: by_copies / scale.every_zone as f64,
            every_zone: scale.every_zone,
        }
    }

    /// The blocks of `size` for a trace with this summary; `None` for the drive's own size.
    #[must_use]
    pub fn blocks(&self, size: Size, summary: &Summary) -> Option<u64> {
        let part = |bytes: u64, thousandths: u64| {
            let bytes = u128::from(bytes) * u128::from(thousandths) / 1000;
            (bytes as u64 / BLOCK_BYTES).max(1)
        };
        Some(match size {
            Size::Blocks(blocks) => (blocks / self.every_zone).max(1),
            Size::Bytes(bytes) => {
                let scaled = bytes as f64 * self.of_bytes;
                (scaled as u64 / BLOCK_BYTES).max(1)
            }
            Size::Written(thousandths) => part(summary.written_zone_bytes(), thousandths),
            Size::Accessed(thousandths) => part(summary.accessed_zone_bytes(), thousandths),
            Size::Different(thousandths) => {
                part(summary.distinct_written_blocks * BLOCK_BYTES, thousandths)
            }
            Size::WrittenLarge(thousandths) => {
                part(summary.written_large_zone_bytes(), thousandths)
            }
            Size::Real => return None,
        })
    }

    /// Whether a buffer of `blocks` still holds enough zones.
    #[must_use]
    pub fn allowed(&self, buffer_blocks: u64) -> bool {
        self.every_zone == 1 || buffer_blocks / ZONE_BLOCKS >= ZONES_MIN
    }

    /// Describes the scale in words.
    #[must_use]
    pub fn words(&self, grid: &Grid) -> String {
        let mut words = Vec::new();
        if grid.copies > 1 && self.copies != grid.copies {
            words.push(format!("{} of {} copies, cache to match", self.copies, grid.copies));
        }
        if self.part != 1.0 {
            words.push(format!("the first {:.3} of each trace", self.part));
        }
        match (grid.accesses, self.accesses) {
            (Some(paper), Some(here)) if paper != here => words.push(format!(
                "{:.1} of {:.0} million accesses",
                here as f64 / 1e6,
                paper as f64 / 1e6
            )),
            _ => {}
        }
        if self.every_zone != 1 {
            words.push(format!("one zone of {}, cache and buffer to match", self.every_zone));
        }
        if words.is_empty() { "the paper's scale".into() } else { words.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_result::Pacing;

    fn grid(copies: u32, accesses: Option<u64>) -> Grid {
        Grid {
            traces: &["long"],
            pacing: Pacing::Closed,
            accesses,
            copies,
            drive: "sac-emulator",
            buffer: Size::Blocks(150_000),
            cache: Size::Bytes(32 << 30),
            ..Grid::PLAIN
        }
    }

    #[test]
    fn fewer_copies_take_accesses_and_cache_with_them_but_not_the_buffer() {
        let grid = grid(18, Some(100_000_000));
        let scaled = Scaled::new(&grid, Some(Scale::of(1.0 / 6.0)));
        assert_eq!((scaled.copies, scaled.accesses), (3, Some(16_666_666)));
        let summary = Summary::default();
        let cache = scaled.blocks(grid.cache, &summary).expect("a size");
        assert_eq!(cache, (32u64 << 30) / 6 / 4096);
        assert_eq!(scaled.blocks(grid.buffer, &summary), Some(150_000));
        assert_eq!(
            scaled.words(&grid),
            "3 of 18 copies, cache to match; 16.7 of 100 million accesses"
        );
        let full = Scaled::new(&grid, Some(Scale::of(1.0)));
        assert_eq!(full.words(&grid), "the paper's scale");
    }

    #[test]
    fn a_single_volume_is_cut_and_a_geometric_scale_needs_thirty_zones() {
        let volume = grid(1, None);
        let scaled = Scaled::new(&volume, Some(Scale::of(0.25)));
        assert_eq!((scaled.copies, scaled.part, scaled.of_bytes), (1, 0.25, 1.0));
        assert!(scaled.allowed(1), "nothing is left out");
        let halved = Scaled::new(&volume, Some(Scale { every_zone: 2, ..Scale::of(1.0) }));
        let buffer = |blocks| halved.blocks(Size::Blocks(blocks), &Summary::default()).unwrap_or(0);
        assert!(!halved.allowed(buffer(150_000)), "15 zones");
        assert!(halved.allowed(buffer(300_000)), "30 zones");
    }
}
