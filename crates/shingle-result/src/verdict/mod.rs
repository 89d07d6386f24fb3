//! Verdicts of a comparison: the measure that ranks runs, the groups that are compared, and the
//! remarks on them.

mod firsts;
mod groups;
mod measure;
mod names;
mod places;
mod seeds;
mod sentences;
mod swept;

use crate::run::RunResult;
use crate::said::Said;
pub use groups::{Group, groups};
pub(crate) use measure::overloaded;
pub use measure::{
    CLEANINGS_MIN, cleaned, cleanings, done_and_left, hardly_cleaned, measure, none_filled,
    ranking, rewrites,
};
pub use names::{count, counted, name};
pub use places::{POLICY, PlaceRuns, places};
pub use seeds::counterparts;
pub use swept::said as said_of_sweep;

/// Returns the remarks on `runs` of `compare` or `run`, group by group, and over all seeds.
#[must_use]
pub fn said(runs: &[RunResult]) -> Vec<Said> {
    let groups = groups(runs);
    let mut said: Vec<Said> =
        groups.iter().flat_map(|group| sentences::of(runs, &group.runs)).collect();
    said.extend(firsts::over_seeds(runs, &groups));
    said
}
