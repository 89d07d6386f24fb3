//! Guesses the units of five columns from their numbers.
//!
//! Times, addresses and sizes are compared with the behaviour of disks and hosts: the usual rate of
//! requests, and that a request often begins where another ended. If the evidence is not clear, the
//! unit stays undecided.

use super::line::numbers;
use crate::format::evidence::Sample;
use crate::format::number;
use crate::format::units::{LINES_MIN, add_distinct};

/// Sectors of a page of 4 KiB.
const PAGE_SECTORS: u64 = 8;

/// The units found; `None` where the numbers do not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Times are in nanoseconds rather than in milliseconds.
    pub(super) nanoseconds: Option<bool>,
    /// Sizes are in pages of 4 KiB rather than in sectors.
    pub(super) pages: Option<bool>,
}

impl Seen {
    /// Examines a sample of five columns.
    pub(super) fn of(sample: &Sample) -> Self {
        let (mut pace, mut sizes) = (Pace::default(), Sizes::default());
        for lines in sample.pieces() {
            pace.begin();
            sizes.begin();
            for numbers in lines.filter_map(numbers) {
                pace.add(numbers.time, numbers.flag);
                sizes.add(numbers.sector, numbers.size);
            }
        }
        Self { nanoseconds: pace.nanoseconds(), pages: sizes.pages() }
    }
}

/// Statistics of the times.
#[derive(Default)]
struct Pace {
    /// A time has a point, or flags have more than one bit: nanoseconds exclude both.
    excludes_ns: bool,
    first: Option<u64>,
    previous: Option<u64>,
    /// Number of times that are later than the one before; the sum of these gaps; and the number of
    /// gaps that would be too small between two requests if they were nanoseconds.
    later: u64,
    gaps_sum: u64,
    close_gaps: u64,
    /// Number of times that equal the one before.
    same: u64,
    /// The largest distance from the first time.
    span: u64,
}

impl Pace {
    /// Starts a new piece: its times do not continue those of the piece before.
    fn begin(&mut self) {
        self.previous = None;
    }

    fn add(&mut self, time: &[u8], flag: bool) {
        /// The largest gap that is too small for a host: 100 ns.
        const CLOSE_MAX: u64 = 100;
        let Some(time) = number::whole(time).filter(|_| flag) else {
            self.excludes_ns = true;
            return;
        };
        let first = *self.first.get_or_insert(time);
        self.span = self.span.max(time.abs_diff(first));
        let Some(gap) = self.previous.replace(time).and_then(|before| time.checked_sub(before))
        else {
            return;
        };
        if gap == 0 {
            self.same += 1;
        } else {
            self.later += 1;
            self.gaps_sum = self.gaps_sum.saturating_add(gap);
            self.close_gaps += u64::from(gap <= CLOSE_MAX);
        }
    }

    /// Decides the unit of times. Nanoseconds are whole numbers. If all times are whole, the mean
    /// gap decides: 10,000 units are 10 µs in nanoseconds, which is fast, and 10 s in milliseconds,
    /// which is slow. But an idle disk is that slow, too: then its requests come in bursts, though
    /// a part of its trace may be too short or too sparse to have any. A span in milliseconds that
    /// is longer than any trace proves nanoseconds.
    fn nanoseconds(&self) -> Option<bool> {
        const NS_PACE_MIN: u64 = 10_000;
        const MS_PACE_MAX: u64 = 100;
        /// This many requests without a burst would be hours of an idle disk.
        const NS_GAPS_MIN: u64 = 1_000;
        /// A year in milliseconds, which is half a minute in nanoseconds.
        const MS_SPAN_MAX: u64 = 365 * 24 * 3_600_000;
        if self.excludes_ns {
            return Some(false);
        }
        if self.span > MS_SPAN_MAX {
            return Some(true);
        }
        let gaps = self.later + self.same;
        if gaps < LINES_MIN || self.later == 0 {
            return None;
        }
        let pace = self.gaps_sum / gaps;
        let bursts = self.same + self.close_gaps;
        if pace <= MS_PACE_MAX || (pace >= NS_PACE_MIN && self.close_gaps * 10 >= self.later) {
            Some(false)
        } else if pace >= NS_PACE_MIN && gaps >= NS_GAPS_MIN && bursts * 20 <= gaps {
            Some(true)
        } else {
            None
        }
    }
}

/// How many requests back a continued request is looked for: fewer than a page has sectors, or a
/// run of whole requests would look like one of pages.
const BACK_MAX: usize = 4;

/// Statistics of sizes and addresses.
#[derive(Default)]
struct Sizes {
    /// The previous requests, the newest last.
    previous: [Option<(u64, u64)>; BACK_MAX],
    lines: u64,
    /// Requests whose address or size is no multiple of a page, if both are in sectors.
    unaligned: u64,
    largest: u64,
    /// The first few distinct sizes, and the first few distinct offsets of addresses within 32 KiB.
    distinct_sizes: Vec<u64>,
    distinct_offsets: Vec<u64>,
    /// Requests that continue an earlier one if sizes are sectors but not if they are pages; those
    /// that do only if sizes are pages; and distinct pairs of distance and size of the latter.
    as_sectors: u64,
    as_pages: u64,
    page_steps: Vec<(u64, u64)>,
}

impl Sizes {
    fn begin(&mut self) {
        self.previous = [None; BACK_MAX];
    }

    fn add(&mut self, sector: u64, size: u64) {
        self.lines += 1;
        self.largest = self.largest.max(size);
        let aligned = sector.is_multiple_of(PAGE_SECTORS) && size.is_multiple_of(PAGE_SECTORS);
        self.unaligned += u64::from(!aligned);
        add_distinct(&mut self.distinct_sizes, size);
        add_distinct(&mut self.distinct_offsets, sector % (PAGE_SECTORS * PAGE_SECTORS));
        let gaps = self.previous.iter().flatten().filter_map(|&(from, size)| {
            sector.checked_sub(from).filter(|&gap| gap > 0 && size > 0).map(|gap| (gap, size))
        });
        let (mut fits_sectors, mut fits_pages) = (false, None);
        for (gap, size) in gaps {
            fits_sectors |= gap == size;
            // Sizes in pages were rounded up, so the next request begins in the last page, or
            // behind it.
            if gap.div_ceil(PAGE_SECTORS) == size {
                fits_pages = Some((gap, size));
            }
        }
        match (fits_sectors, fits_pages) {
            (true, None) => self.as_sectors += 1,
            (false, Some(step)) => {
                self.as_pages += 1;
                // A size of one page fits any distance of up to eight sectors.
                if step.1 > 1 {
                    add_distinct(&mut self.page_steps, step);
                }
            }
            (false, None) | (true, Some(_)) => {}
        }
        self.previous.rotate_left(1);
        self.previous[BACK_MAX - 1] = Some((sector, size));
    }

    /// Decides the unit of sizes. Requests that continue another one show the length of that one.
    /// If all addresses and sizes are multiples of eight, and sizes differ, sizes are sectors: as
    /// pages they would all be at least 32 KiB long, at addresses not aligned to that.
    fn pages(&self) -> Option<bool> {
        const FOLLOWING_MIN: u64 = 8;
        /// Requests at equal distances, some of which are missing, look like pages of one size by
        /// chance.
        const PAGE_STEPS_MIN: usize = 3;
        const SIZES_MIN: usize = 4;
        const OFFSETS_MIN: usize = 4;
        /// 16 MiB in pages.
        const PAGES_MAX: u64 = 4_096;
        if self.largest > PAGES_MAX {
            return Some(false);
        }
        if self.as_sectors >= FOLLOWING_MIN && self.as_sectors > 2 * self.as_pages {
            return Some(false);
        }
        if self.unaligned == 0 {
            let sectors = self.lines >= LINES_MIN
                && self.distinct_sizes.len() >= SIZES_MIN
                && self.distinct_offsets.len() >= OFFSETS_MIN;
            return sectors.then_some(false);
        }
        let pages = self.as_pages >= FOLLOWING_MIN
            && self.as_pages > 4 * self.as_sectors
            && self.page_steps.len() >= PAGE_STEPS_MIN;
        pages.then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Seen {
        Seen::of(&Sample::of_bytes(text.as_bytes()))
    }

    fn times_of(count: u64, time: impl Fn(u64) -> u64) -> Option<bool> {
        of(&(0..count).map(|n| format!("{} 0 0 8 1\n", time(n))).collect::<String>()).nanoseconds
    }

    fn times(time: impl Fn(u64) -> u64) -> Option<bool> {
        times_of(80, time)
    }

    #[test]
    fn the_pace_tells_the_unit_of_time() {
        assert_eq!(of("1 0 0 8 1\n2.5 0 0 8 1\n").nanoseconds, Some(false));
        assert_eq!(of("1 0 0 8 1\n2 0 0 8 8f\n").nanoseconds, Some(false));
        assert_eq!(times_of(1_001, |n| 938_513_000 + n * 315_000), Some(true));
        assert_eq!(times(|n| 938_513_000 + n * 315_000), None, "25 ms, or 7 hours");
        assert_eq!(times(|n| 938_513_000 + n * 600_000_000), Some(true), "48 s, or 18 months");
        assert_eq!(times(|n| n * 20), Some(false));
        assert_eq!(times(|n| n * 1_000), None);
        assert_eq!(times(|_| 938_513_000), None);
        assert_eq!(of("938513000 0 0 8 1\n938828000 0 0 8 1\n").nanoseconds, None, "two lines");
    }

    #[test]
    fn a_disk_at_rest_is_not_taken_for_nanoseconds() {
        // An hour between bursts of four requests, in milliseconds.
        let at_rest = |within: u64| times(|n| n / 4 * 3_600_000 + n % 4 * within);
        assert_eq!(at_rest(5), Some(false));
        assert_eq!(at_rest(0), None);
        assert_eq!(times(|n| n * 40_000), None, "one request in 40 s, without a burst");
    }

    #[test]
    fn what_follows_tells_the_unit_of_size() {
        let lines = |text: &mut dyn FnMut(u64) -> (u64, u64)| {
            let line = |n| {
                let (sector, size) = text(n);
                format!("{n}.5 0 {sector} {size} 0\n")
            };
            of(&(0..40).map(line).collect::<String>()).pages
        };
        assert_eq!(lines(&mut |n| (3 + n * 7, 7)), Some(false));
        assert_eq!(lines(&mut |n| (n * 8, 8)), Some(false));
        let mut next = 3;
        // In sectors 5, 12, 19, 26, and so on from the beginning.
        let pages = lines(&mut |n| {
            let (from, sectors) = (next, 5 + n % 4 * 7);
            next += sectors;
            (from, sectors.div_ceil(8))
        });
        assert_eq!(pages, Some(true));
        assert_eq!(lines(&mut |n| (3 + n * 1_000, 2)), None, "nothing goes on");
        assert_eq!(lines(&mut |n| (n * 1_000, 8)), None, "32 KiB or 4 KiB");
        assert_eq!(lines(&mut |n| (n * 1_000, 8 + n % 4 * 8)), Some(false));
        assert_eq!(lines(&mut |n| (n * 6_400, 8 + n % 4 * 8)), None, "aligned to 32 KiB");
        assert_eq!(lines(&mut |n| (3 + n * 1_000, 5_000)), Some(false), "20 MiB are too long");
        // Every second request of a run is missing.
        assert_eq!(lines(&mut |n| (n * 16, 8)), None);
        assert_eq!(lines(&mut |n| (3 + n * 6, 3)), None);
        assert_eq!(of("1.5 0 16 8 0\n").pages, None, "one line is no evidence");
    }
}
