//! Counts how often each policy is first: over several seeds, or over the places of a sweep.

use super::groups::Group;
use super::measure::{measure, none_filled, ranking};
use super::names::name;
use super::seeds::counterparts;
use crate::run::RunResult;
use crate::said::{Said, SaidKind};

/// Says which policy is first with how many seeds; nothing with one seed.
pub(super) fn over_seeds(runs: &[RunResult], groups: &[Group]) -> Vec<Said> {
    let seed = |group: &Group| runs[group.runs[0]].labels.seed;
    let counterparts = counterparts(runs);
    // Slots of the cache with the first seed.
    let slots = |group: &Group| {
        group.runs.iter().map(|&run| runs[counterparts[run]].labels.cache_blocks).max().unwrap_or(0)
    };
    let alike = |a: &Group, b: &Group| {
        runs[a.runs[0]].labels.drive == runs[b.runs[0]].labels.drive && slots(a) == slots(b)
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
                kind: SaidKind::Verdict,
                text: firsts(&places, "seeds")?,
                runs: compared.clone(),
                compared,
            })
        })
        .collect()
}

/// Says which policy is first in how many of `places`, which are called `of`. Returns `None` where
/// nothing is compared.
pub(super) fn firsts(places: &[Vec<&RunResult>], of: &str) -> Option<String> {
    let mut wins: Vec<(String, usize)> = Vec::new();
    let mut all = 0;
    for runs in places.iter().filter(|runs| runs.len() > 1 && !none_filled(runs)) {
        all += 1;
        let order = ranking(runs);
        let (best, next) = (runs[order[0]], runs[order[1]]);
        // (The order of options must not decide between equal ones.)
        let first = match measure(best) < measure(next) {
            true => name(best, runs),
            false => "several alike".to_owned(),
        };
        match wins.iter_mut().find(|(name, _)| *name == first) {
            Some((_, count)) => *count += 1,
            None => wins.push((first, 1)),
        }
    }
    wins.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if let ([(first, _)], 1) = (&wins[..], all) {
        return Some(format!("Best: {first}."));
    }
    let wins: Vec<String> = wins.iter().map(|(name, count)| format!("{name} in {count}")).collect();
    (all > 0).then(|| format!("Best of {all} {of}: {}.", wins.join(", ")))
}

#[cfg(test)]
mod tests {
    use shingle_core::policy::Memory;

    use super::*;
    use crate::Labels;

    #[test]
    fn the_order_of_policies_makes_none_the_best() {
        let run = |policy: &str, seconds: f64| {
            let labels = Labels { policy: policy.into(), cache_blocks: 9, ..Labels::default() };
            let mut run = RunResult::without_counts(&labels, Memory::default());
            (run.warm_from, run.all.seconds.total) = (Some(1), seconds);
            run
        };
        let [fifo, lru, slow] = [run("fifo", 5.0), run("lru", 5.0), run("lru", 6.0)];
        let told = |a, b| firsts(&[vec![a, b], vec![&fifo, &slow]], "seeds");
        let expected = Some("Best of 2 seeds: fifo in 1, several alike in 1.".to_owned());
        assert_eq!((told(&fifo, &lru), told(&lru, &fifo)), (expected.clone(), expected));
        let one = firsts(&[vec![&lru, &slow], vec![&slow]], "places");
        assert_eq!(one.as_deref(), Some("Best: lru."), "a place of one run is none");
    }
}
