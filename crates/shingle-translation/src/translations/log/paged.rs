//! A number for each of many places, in pages of 2048. Numbers often count on from place to place:
//! blocks that were written in sequence lie in sequence. So a page is a list of runs, eight bytes
//! each, as long as it has few of them, and has five bytes for each place otherwise. A page without
//! a number takes no memory of its own.

use super::packed::{NONE, PAGE, Packed, counted_on, counts_on};

/// Most runs of a page that is a list of them: that takes less than half of what [`Packed`] does.
const RUNS_MAX: usize = 512;

/// Fewest runs of a page that is not, when they are counted; half as many, so that pages do not change
/// back and forth.
const RUNS_MIN: usize = RUNS_MAX / 2;

/// The first place of a run within its page, and its number. The next ones count on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run(u64);

const START_SHIFT: u32 = 48;

impl Run {
    #[inline]
    fn new(start: u64, number: u64) -> Run {
        debug_assert!(number <= NONE, "40 bits");
        Run(start << START_SHIFT | number)
    }

    #[inline]
    fn start(self) -> u64 {
        self.0 >> START_SHIFT
    }

    /// Returns the number at a place of the run.
    #[inline]
    fn at(self, place: u64) -> u64 {
        counted_on(self.0 & NONE, place - self.start())
    }
}

#[derive(Clone, Debug)]
enum Page {
    /// In order, the first one at place 0.
    Runs(Vec<Run>),
    Packed(Box<Packed>),
}

impl Page {
    /// Creates a page without a number.
    fn none() -> Page {
        Page::Runs(vec![Run::new(0, NONE)])
    }

    fn is_none(&self) -> bool {
        matches!(self, Page::Runs(runs) if runs[..] == [Run::new(0, NONE)])
    }

    fn memory_bytes(&self) -> u64 {
        let of_its_own = match self {
            Page::Runs(runs) => runs.capacity() * size_of::<Run>(),
            Page::Packed(_) => size_of::<Packed>(),
        };
        (size_of::<Page>() + of_its_own) as u64
    }

    /// Returns the number at a place, and how many of `most` places from there on continue its run.
    fn run(&self, at: u64, most: u64) -> (u64, u64) {
        match self {
            Page::Runs(runs) => {
                let behind = runs.partition_point(|run| run.start() <= at);
                let end = runs.get(behind).map_or(PAGE, |next| next.start());
                (runs[behind - 1].at(at), most.min(end - at))
            }
            Page::Packed(packed) => {
                let number = packed.get(at);
                let goes_on = |ahead: &u64| packed.get(at + ahead) == counted_on(number, *ahead);
                (number, 1 + (1..most).take_while(goes_on).count() as u64)
            }
        }
    }

    fn set(&mut self, at: u64, count: u64, number: u64) {
        match self {
            Page::Runs(runs) => {
                set(runs, at, count, number);
                if runs.len() > RUNS_MAX {
                    *self = Page::Packed(pack(runs));
                }
            }
            Page::Packed(_) if count == PAGE => *self = Page::Runs(vec![Run::new(0, number)]),
            Page::Packed(packed) => {
                if packed.set(at, count, number) && packed.starts().count() < RUNS_MIN {
                    let runs = packed.starts().map(|at| Run::new(at, packed.get(at)));
                    *self = Page::Runs(runs.collect());
                }
            }
        }
    }
}

/// Sets `count` places to a run that begins with `number`.
fn set(runs: &mut Vec<Run>, at: u64, count: u64, number: u64) {
    let end = at + count;
    // Runs that begin at one of these places, or right behind them, are replaced. Zones are written
    // from start to end, so most begin behind all others.
    let first = match runs.last() {
        Some(last) if last.start() < at => runs.len(),
        _ => runs.partition_point(|run| run.start() < at),
    };
    let replaced = runs[first..].iter().take_while(|run| run.start() <= end).count();
    let begins = first == 0 || !counts_on(runs[first - 1].at(at - 1), number);
    let next = (end < PAGE).then(|| runs[first + replaced - 1].at(end));
    let next = next.filter(|&next| !counts_on(counted_on(number, count - 1), next));
    make_room(runs, first, replaced, usize::from(begins) + usize::from(next.is_some()));
    let mut new = runs[first..].iter_mut();
    if begins && let Some(run) = new.next() {
        *run = Run::new(at, number);
    }
    if let Some((run, next)) = new.next().zip(next) {
        *run = Run::new(end, next);
    }
}

/// Replaces `replaced` runs from index `first` on by `count` that are to be set.
fn make_room(runs: &mut Vec<Run>, first: usize, replaced: usize, count: usize) {
    let (before, after) = (runs.len(), runs.len() - replaced + count);
    if after > before {
        if after > runs.capacity() {
            // By a quarter: most of the memory is in such lists.
            runs.reserve_exact((before / 4).max(6));
        }
        runs.resize(after, Run(0));
    }
    if count != replaced {
        runs.copy_within(first + replaced..before, first + count);
        runs.truncate(after);
    }
}

fn pack(runs: &[Run]) -> Box<Packed> {
    let ends = runs.iter().skip(1).map(|next| next.start()).chain([PAGE]);
    let numbers =
        runs.iter().zip(ends).flat_map(|(run, end)| (run.start()..end).map(|place| run.at(place)));
    Packed::new(numbers)
}

/// A number for each place, or none.
#[derive(Clone, Debug, Default)]
pub(super) struct Paged {
    /// Pages without a number are not there.
    pages: Vec<Option<Box<Page>>>,
}

impl Paged {
    /// Creates this many places without a number.
    pub(super) fn new(places: u64) -> Paged {
        Paged { pages: vec![None; places.div_ceil(PAGE) as usize] }
    }

    /// Returns the number at a place, and how many of `most` places from there on, at least one,
    /// continue its run. There may be more, on the next page.
    pub(super) fn run(&self, at: u64, most: u64) -> (Option<u64>, u64) {
        let most = most.min(PAGE - at % PAGE);
        let Some(page) = &self.pages[(at / PAGE) as usize] else { return (None, most) };
        let (number, count) = page.run(at % PAGE, most);
        (Some(number).filter(|&number| number != NONE), count)
    }

    /// Returns the runs of numbers, and of places without any, from place `at` up to `end`: the
    /// first place, the number there, and the places. Runs end with pages.
    pub(super) fn runs(
        &self,
        mut at: u64,
        end: u64,
    ) -> impl Iterator<Item = (u64, Option<u64>, u64)> + '_ {
        std::iter::from_fn(move || {
            let most = end.checked_sub(at).filter(|&most| most > 0)?;
            let (number, count) = self.run(at, most);
            let first = at;
            at += count;
            Some((first, number, count))
        })
    }

    /// Gives `count` places numbers that count on from `number`.
    #[inline]
    pub(super) fn set(&mut self, at: u64, count: u64, number: u64) {
        for (ahead, at, count) in parts(PAGE, at, count) {
            let page = &mut self.pages[(at / PAGE) as usize];
            let page = page.get_or_insert_with(|| Box::new(Page::none()));
            page.set(at % PAGE, count, number + ahead);
        }
    }

    /// Takes the numbers of `count` places away.
    #[inline]
    pub(super) fn clear(&mut self, at: u64, count: u64) {
        for (_, at, count) in parts(PAGE, at, count) {
            let of = &mut self.pages[(at / PAGE) as usize];
            let Some(page) = of else { continue };
            page.set(at % PAGE, count, NONE);
            if page.is_none() {
                *of = None;
            }
        }
    }

    /// Takes all numbers away.
    pub(super) fn clear_all(&mut self) {
        self.pages.fill(None);
    }

    /// Returns the memory in bytes; asks each page.
    pub(super) fn memory_bytes(&self) -> u64 {
        let pages = self.pages.iter().flatten().map(|page| page.memory_bytes());
        (self.pages.capacity() * size_of::<Option<Box<Page>>>()) as u64 + pages.sum::<u64>()
    }
}

/// Returns the parts of `count` places that are in one group of `size` each: how far behind the
/// first place each begins, its first place and its length.
pub(super) fn parts(size: u64, at: u64, count: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let mut ahead = 0;
    std::iter::from_fn(move || {
        let left = count.checked_sub(ahead).filter(|&left| left > 0)?;
        let (first, at) = (ahead, at + ahead);
        let part = left.min(size - at % size);
        ahead += part;
        Some((first, at, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACES: u64 = PAGE + 100;

    fn get(paged: &Paged, at: u64) -> Option<u64> {
        paged.run(at, 1).0
    }

    /// The memory of all pages, without the list of them.
    fn pages_bytes(paged: &Paged) -> u64 {
        paged.memory_bytes() - Paged::new(paged.pages.len() as u64 * PAGE).memory_bytes()
    }

    proptest! {
        /// Short runs make pages of single numbers, long ones make lists of them again.
        #[test]
        fn it_has_a_number_for_each_place(
            sets in prop::collection::vec(
                (0..PLACES, prop_oneof![199 => 1u64..4, 1 => 1..2 * PAGE], 0u64..9, any::<bool>()),
                1..5000,
            ),
        ) {
            let mut paged = Paged::new(PLACES);
            let mut plain = vec![None; PLACES as usize];
            for (at, count, number, some) in sets {
                let count = count.min(PLACES - at);
                let set = &mut plain[at as usize..(at + count) as usize];
                if some {
                    // Near each other, so that some happen to count on.
                    let number = number + at;
                    paged.set(at, count, number);
                    set.iter_mut().zip(number..).for_each(|(set, number)| *set = Some(number));
                } else {
                    paged.clear(at, count);
                    set.fill(None);
                }
            }
            let found: Vec<_> = (0..PLACES).map(|at| get(&paged, at)).collect();
            prop_assert_eq!(&found, &plain);
            let mut next = 0;
            for (at, number, count) in paged.runs(0, PLACES) {
                prop_assert_eq!(at, next);
                for ahead in 0..count {
                    let wanted = number.map(|number| number + ahead);
                    prop_assert_eq!(plain[(at + ahead) as usize], wanted);
                }
                let end = at + count;
                if end % PAGE != 0 && end < PLACES {
                    let goes_on = plain[end as usize] == number.map(|number| number + count);
                    prop_assert!(!goes_on, "the run at {} is longer", at);
                }
                next = end;
            }
            prop_assert_eq!(next, PLACES);
            paged.clear(0, PLACES);
            prop_assert_eq!(pages_bytes(&paged), 0);
        }
    }

    /// A page is a list of runs, then packed, then a list again.
    #[test]
    fn the_form_of_a_page_follows_its_runs() {
        let mut paged = Paged::new(PAGE);
        let list = |paged: &Paged| matches!(paged.pages[0].as_deref(), Some(Page::Runs(_)));
        // The gaps count as runs, and so does what is behind the last.
        let most = RUNS_MAX as u64 / 2;
        for at in 0..most {
            paged.set(2 * at, 1, 7 * at);
            assert!(list(&paged));
            let most = 5 * (2 * at + 2) / 4 * 8 + 8 * 8;
            assert!(pages_bytes(&paged) <= 24 + most, "{} for {at}", pages_bytes(&paged));
        }
        assert!(pages_bytes(&paged) < 24 + 5 * RUNS_MAX as u64 / 4 * 8, "{}", pages_bytes(&paged));
        paged.set(2 * most, 1, 0);
        assert!(!list(&paged));
        assert_eq!(pages_bytes(&paged), 24 + size_of::<Packed>() as u64);
        // One run more than it takes, and one fewer, when they are counted.
        let left = RUNS_MIN as u64 - 1;
        for (first, is_list) in [(left, false), (left - 1, true)] {
            for _ in 0..1024 {
                paged.set(first, PAGE - first, 1 << 39);
            }
            assert_eq!(list(&paged), is_list, "from {first} on");
        }
        assert_eq!(get(&paged, PAGE - 1), Some((1 << 39) + PAGE - left));
        paged.clear(0, PAGE);
        assert_eq!(pages_bytes(&paged), 0);
    }

    #[test]
    fn a_page_takes_little_beside_its_list() {
        assert_eq!((size_of::<Page>(), size_of::<Run>()), (24, 8));
    }
}
