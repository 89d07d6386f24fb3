//! What a comparison comes to: what runs are ranked by, which are compared with which, and what is
//! said of them in words.

mod sentences;
mod swept;

use crate::result::RunResult;
use crate::said::{Kind, Said};
pub use swept::{POLICY, Place, places};

/// A run with fewer cleanings than this says little about shingling.
pub const CLEANINGS_MIN: u64 = 30;

/// Less than this apart, two runs are level.
const LEVEL: f64 = 1.005;

/// What a run costs, work put off included: its I/O time and that of the work it leaves, in seconds.
/// With `--drain` nothing is left, and both are in the I/O time.
#[must_use]
pub fn done_and_left(run: &RunResult) -> f64 {
    run.all.seconds.total + run.left.seconds
}

/// What runs are ranked by: in closed loop seconds of I/O, done and left; in open loop microseconds
/// of mean response. Lower is better.
#[must_use]
pub fn measure(run: &RunResult) -> f64 {
    match run.queue {
        None => done_and_left(run),
        Some(_) => run.latency.mean_us,
    }
}

/// Numbers of `runs` by [`measure`], the best first.
#[must_use]
pub fn ranking(runs: &[&RunResult]) -> Vec<usize> {
    order_by(runs, measure)
}

fn order_by(runs: &[&RunResult], key: impl Fn(&RunResult) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| key(runs[a]).total_cmp(&key(runs[b])));
    order
}

/// Whether the cache of a run never filled: no policy was ever asked whom to evict.
#[must_use]
pub fn never_filled(run: &RunResult) -> bool {
    run.warm_from.is_none() && run.cache_blocks > 0
}

/// Whether caches of `runs` tell nothing of policies: there are some, and none of them ever filled.
#[must_use]
pub fn none_filled(runs: &[&RunResult]) -> bool {
    let mut cached = runs.iter().filter(|run| run.cache_blocks > 0).peekable();
    cached.peek().is_some() && cached.all(|run| never_filled(run))
}

/// Cleanings while requests came, those of `--drain` apart.
#[must_use]
pub fn cleanings(run: &RunResult) -> u64 {
    let drained = run.drained.map_or(0, |drained| drained.rmw + drained.rmw_free);
    (run.all.drive_io.rmw + run.all.drive_io.rmw_free).saturating_sub(drained)
}

/// Whether a run cleaned too little to say much about shingling.
#[must_use]
pub fn hardly_cleaned(run: &RunResult) -> bool {
    // Only shingled drives have the size of a buffer among what was set.
    run.drive_parameters.contains_key("pb") && cleanings(run) < CLEANINGS_MIN
}

/// Whether the queue of a run in open loop still grew at its end.
fn overloaded(run: &RunResult) -> bool {
    run.queue.is_some_and(|queue| queue.overloaded)
}

/// Runs that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Slots of their caches; 0 if none has one.
    pub cache_blocks: u64,
    /// Their numbers, in the order of the result. A run without a cache belongs to each size.
    pub runs: Vec<usize>,
}

/// Which runs are compared with each other: those of a seed, drive and cache size.
#[must_use]
pub fn groups(runs: &[RunResult]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        // Runs of one drive stand together, and so do those of one seed.
        let like = |run: &RunResult| run.drive == runs[at].drive && run.seed == runs[at].seed;
        let of_drive: Vec<usize> = (at..runs.len()).take_while(|&i| like(&runs[i])).collect();
        at += of_drive.len();
        let mut sizes: Vec<u64> = of_drive.iter().map(|&i| runs[i].cache_blocks).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() > 1 {
            sizes.retain(|&size| size > 0);
        }
        groups.extend(sizes.into_iter().map(|size| {
            let here = |&i: &usize| [0, size].contains(&runs[i].cache_blocks);
            Group { cache_blocks: size, runs: of_drive.iter().copied().filter(here).collect() }
        }));
    }
    groups
}

/// What `runs` of `compare` or `run` come to in words, group by group, and over all seeds.
#[must_use]
pub fn said(runs: &[RunResult]) -> Vec<Said> {
    let groups = groups(runs);
    let mut said: Vec<Said> =
        groups.iter().flat_map(|group| sentences::of(runs, &group.runs)).collect();
    said.extend(over_seeds(runs, &groups));
    said
}

/// What the cells of a sweep come to in words.
pub use swept::said as said_of_sweep;

/// Who is first with how many seeds; nothing with one seed.
fn over_seeds(runs: &[RunResult], groups: &[Group]) -> Vec<Said> {
    let seed = |group: &Group| runs[group.runs[0]].seed;
    let alike = |a: &Group, b: &Group| {
        runs[a.runs[0]].drive == runs[b.runs[0]].drive && a.cache_blocks == b.cache_blocks
    };
    let first_seed = groups.iter().take_while(|group| seed(group) == seed(&groups[0]));
    let several = |group: &&Group| groups.iter().filter(|other| alike(group, other)).count() > 1;
    first_seed
        .filter(several)
        .filter_map(|first| {
            let of: Vec<&Group> = groups.iter().filter(|other| alike(first, other)).collect();
            let places: Vec<Vec<&RunResult>> =
                of.iter().map(|group| group.runs.iter().map(|&i| &runs[i]).collect()).collect();
            let compared: Vec<usize> = of.iter().flat_map(|group| group.runs.clone()).collect();
            Some(Said {
                kind: Kind::Verdict,
                text: firsts(&places, "seeds")?,
                runs: compared.clone(),
                compared,
            })
        })
        .collect()
}

/// Who is first in how many of `places`, which are so many `of`. Nothing where nothing is compared.
fn firsts(places: &[Vec<&RunResult>], of: &str) -> Option<String> {
    let mut wins: Vec<(String, usize)> = Vec::new();
    let mut all = 0;
    for runs in places.iter().filter(|runs| runs.len() > 1 && !none_filled(runs)) {
        all += 1;
        let first = name(runs[ranking(runs)[0]], runs);
        match wins.iter_mut().find(|(name, _)| *name == first) {
            Some((_, count)) => *count += 1,
            None => wins.push((first, 1)),
        }
    }
    wins.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let wins: Vec<String> = wins.iter().map(|(name, count)| format!("{name} in {count}")).collect();
    (all > 0).then(|| format!("Best of {all} {of}: {}.", wins.join(", ")))
}

/// What a run is called among `runs`: after its policy, and its translation if they differ in that.
#[must_use]
pub fn name(run: &RunResult, runs: &[&RunResult]) -> String {
    let alike = runs.iter().all(|other| other.translation == run.translation);
    match (&run.translation, run.policy.as_str()) {
        (Some(translation), "none") if !alike => translation.clone(),
        (Some(translation), policy) if !alike => format!("{policy} over {translation}"),
        (_, policy) => policy.to_owned(),
    }
}

/// A number with commas between thousands.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_141_869, "1,141,869")] {
            assert_eq!(count(number), shown);
        }
    }
}
