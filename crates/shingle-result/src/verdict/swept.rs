//! Remarks on the cells of a sweep.

use super::firsts::firsts;
use super::measure::{CLEANINGS_MIN, cleaned, hardly_cleaned, never_filled, overloaded};
use super::places::places;
use crate::run::RunResult;
use crate::said::{Said, SaidKind};
use crate::swept::Swept;

/// Returns the remarks on the cells of a sweep.
#[must_use]
pub fn said(runs: &[RunResult], sweep: &Swept) -> Vec<Said> {
    let all: Vec<usize> = (0..runs.len()).collect();
    let of_places: Vec<Vec<&RunResult>> = places(runs, sweep)
        .iter()
        .map(|place| place.runs.iter().map(|&i| &runs[i]).collect())
        .collect();
    let mut said = Vec::new();
    let mut say = |kind, text, runs| {
        said.push(Said { kind, text, compared: all.clone(), runs });
    };
    if let Some(text) = firsts(&of_places, "places") {
        say(SaidKind::Verdict, text, all.clone());
    }
    let those = |is: fn(&RunResult) -> bool| -> Vec<usize> {
        all.iter().copied().filter(|&i| is(&runs[i])).collect()
    };
    let cold = those(never_filled);
    if !cold.is_empty() {
        let text = format!(
            "The cache never filled in {} of {} runs; places where it filled in none count for no \
             policy.",
            cold.len(),
            runs.len()
        );
        say(SaidKind::Warning, text, cold);
    }
    let few = those(hardly_cleaned);
    if !few.is_empty() {
        let text = format!(
            "{} of {} runs cleaned fewer than {CLEANINGS_MIN} {}: they say little about shingling.",
            few.len(),
            runs.len(),
            cleaned(&few.iter().map(|&i| &runs[i]).collect::<Vec<_>>())
        );
        say(SaidKind::Warning, text, few);
    }
    let over = those(overloaded);
    if !over.is_empty() {
        let text = format!(
            "{} of {} runs are overloaded (!): the queue still grew at the end, so their mean says how \
             long the trace is.",
            over.len(),
            runs.len()
        );
        say(SaidKind::Warning, text, over);
    }
    said
}
