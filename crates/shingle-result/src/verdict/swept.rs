//! What the cells of a sweep come to.

use std::collections::BTreeMap;

use super::firsts::firsts;
use super::measure::{CLEANINGS_MIN, hardly_cleaned, measure, never_filled, overloaded};
use crate::run::RunResult;
use crate::said::{Said, SaidKind};
use crate::swept::Swept;

/// The axis within whose places runs are compared.
pub const POLICY: &str = "policy";

/// A place of the grid but for the policy, with the runs that belong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRuns<'a> {
    /// Its value on each axis.
    pub at: BTreeMap<&'a str, &'a str>,
    /// Numbers of its runs, the best first.
    pub runs: Vec<usize>,
}

/// Runs by place. What an axis makes no difference to belongs to each of its values, as `none` does
/// to each cache size.
#[must_use]
pub fn places<'a>(runs: &[RunResult], sweep: &'a Swept) -> Vec<PlaceRuns<'a>> {
    let mut places: Vec<PlaceRuns> = Vec::new();
    let mut numbers = BTreeMap::new();
    let cells: Vec<BTreeMap<&str, &str>> = sweep
        .cells
        .iter()
        .map(|cell| {
            let at = cell.at.iter().filter(|(axis, _)| *axis != POLICY);
            at.map(|(axis, value)| (axis.as_str(), value.as_str())).collect()
        })
        .collect();
    let most = cells.iter().map(BTreeMap::len).max().unwrap_or(0);
    for (run, at) in cells.iter().enumerate().filter(|(_, at)| at.len() == most) {
        let number = *numbers.entry(at.clone()).or_insert_with(|| {
            places.push(PlaceRuns { at: at.clone(), runs: Vec::new() });
            places.len() - 1
        });
        places[number].runs.push(run);
    }
    for (run, at) in cells.iter().enumerate().filter(|(_, at)| at.len() < most) {
        let mut alone = true;
        for place in &mut places {
            if at.iter().all(|(axis, value)| place.at.get(axis) == Some(value)) {
                place.runs.push(run);
                alone = false;
            }
        }
        if alone {
            places.push(PlaceRuns { at: at.clone(), runs: vec![run] });
        }
    }
    for place in &mut places {
        place.runs.sort_by(|&a, &b| measure(&runs[a]).total_cmp(&measure(&runs[b])));
    }
    places
}

/// What the cells of a sweep come to in words.
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
            "{} of {} runs cleaned fewer than {CLEANINGS_MIN} bands: they say little about shingling.",
            few.len(),
            runs.len()
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
