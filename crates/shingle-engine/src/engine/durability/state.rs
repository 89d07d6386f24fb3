//! Hashes the state of records and commits, with numbers as distances to the last committed record.

use std::hash::{Hash, Hasher};

use super::super::state::View;
use super::Durability;
use super::commit::GroupCommit;

impl Durability {
    pub(in super::super) fn hash_state<H: Hasher + Default>(&self, view: &View, into: &mut H) {
        let Durability { journal, frames, invalidations, added, committed: _, wanted, .. } = self;
        let Durability { oldest, commit, ended, next, waiting, released, withheld, .. } = self;
        let Durability { settled, failed, commit_after, may_be_due: _, bugs: _, .. } = self;
        journal.hash_state(into);
        frames.hash(into);
        invalidations.hash_state(view, into);
        (view.record(*added), view.record(*wanted)).hash(into);
        oldest.map(|since| view.age(since, *commit_after)).hash(into);
        view.age(*ended, *commit_after).hash(into);
        if let Some(commit) = commit {
            let GroupCommit { upto, writing, tries, failed, covered } = commit;
            (view.record(*upto), writing, tries, failed, covered).hash(into);
        }
        next.len().hash(into);
        next.iter().for_each(|write| write.hash_state(into));
        waiting.len().hash(into);
        waiting.iter().for_each(|&(number, op)| (view.record(number), (view.op)(op)).hash(into));
        view.ops(released.iter(), into);
        (withheld, settled, failed).hash(into);
    }
}
