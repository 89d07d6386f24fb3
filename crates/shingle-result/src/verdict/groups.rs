//! Groups the runs that are compared with each other.

use crate::run::RunResult;

/// Runs that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Slots of their caches; 0 if none has one.
    pub cache_blocks: u64,
    /// Their numbers, in the order of the result. A run without a cache belongs to each size.
    pub runs: Vec<usize>,
}

/// Groups the runs that are compared with each other: those of a seed, drive and cache size.
#[must_use]
pub fn groups(runs: &[RunResult]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        // Runs of one drive are adjacent, and so are those of one seed.
        let like = |run: &RunResult| {
            run.labels.drive == runs[at].labels.drive && run.labels.seed == runs[at].labels.seed
        };
        let of_drive: Vec<usize> = (at..runs.len()).take_while(|&i| like(&runs[i])).collect();
        at += of_drive.len();
        let mut sizes: Vec<u64> = of_drive.iter().map(|&i| runs[i].labels.cache_blocks).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() > 1 {
            sizes.retain(|&size| size > 0);
        }
        groups.extend(sizes.into_iter().map(|size| {
            let here = |&i: &usize| [0, size].contains(&runs[i].labels.cache_blocks);
            Group { cache_blocks: size, runs: of_drive.iter().copied().filter(here).collect() }
        }));
    }
    groups
}
