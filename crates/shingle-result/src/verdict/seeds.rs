//! Finds runs that differ only in their seed.

use crate::run::RunResult;

/// Returns for each run the number of the run of the first seed that differs only in the seed. (A
/// cache size that is a share of what a trace touches differs by seed, so that sizes do not
/// decide.) A run without such a counterpart gets its own number. For runs of `compare`, in their
/// order.
#[must_use]
pub fn counterparts(runs: &[RunResult]) -> Vec<usize> {
    let Some(first) = runs.first() else { return Vec::new() };
    let each = runs.iter().take_while(|run| run.labels.seed == first.labels.seed).count();
    let same = |a: &RunResult, b: &RunResult| {
        let of = |run: &RunResult| run.labels.cache_blocks > 0;
        (&a.labels.policy, &a.labels.drive, &a.labels.translation, of(a))
            == (&b.labels.policy, &b.labels.drive, &b.labels.translation, of(b))
    };
    // Runs of a seed are adjacent, and those of each seed are in the same order.
    (0..runs.len())
        .map(|at| if same(&runs[at], &runs[at % each]) { at % each } else { at })
        .collect()
}

#[cfg(test)]
mod tests {
    use shingle_core::policy::Memory;

    use super::*;
    use crate::verdict::said;
    use crate::{Labels, Target};

    /// A share of what a trace touches is another size with each seed.
    #[test]
    fn sizes_that_differ_by_seed_are_one_over_all_seeds() {
        let run = |(seed, policy, cache_blocks, seconds): &(u64, &str, u64, f64)| {
            let labels = Labels {
                seed: *seed,
                policy: (*policy).into(),
                cache_blocks: *cache_blocks,
                ..Labels::default()
            };
            let mut run = RunResult::without_counts(&labels, Memory::default());
            (run.warm_from, run.all.seconds.total) = (Some(1), *seconds);
            run
        };
        let all = [
            (1, "lru", 1000, 90.0),
            (1, "sac", 1000, 60.0),
            (1, "lru", 2000, 50.0),
            (1, "sac", 2000, 40.0),
            (2, "lru", 1100, 110.0),
            (2, "sac", 1100, 80.0),
            (2, "lru", 2100, 70.0),
            (2, "sac", 2100, 50.0),
        ];
        let runs: Vec<RunResult> = all.iter().map(run).collect();
        let told = said(&runs);
        let over_seeds: Vec<_> = told.iter().filter(|said| said.compared.len() == 4).collect();
        let texts: Vec<&str> = over_seeds.iter().map(|said| said.text.as_str()).collect();
        assert_eq!(texts, ["Best of 2 seeds: sac in 2."; 2]);
        assert_eq!(over_seeds[1].compared, [2, 3, 6, 7]);
        // With one of the seeds the small cache is too small.
        let smallest = Target::parse("seconds=70").expect("a target").smallest(&runs);
        let tried: Vec<(u64, f64, bool)> =
            smallest[1].tried.iter().map(|t| (t.cache_blocks, t.value, t.meets)).collect();
        assert_eq!(tried, [(1100, 80.0, false), (2100, 50.0, true)]);
        assert_eq!([&smallest[0], &smallest[1]].map(|s| s.cache_blocks), [Some(2100); 2]);
    }
}
