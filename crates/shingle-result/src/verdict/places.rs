//! The places where runs of a sweep are compared: places of its grid without the policy axis.

use std::collections::BTreeMap;

use super::measure::measure;
use crate::run::RunResult;
use crate::swept::Swept;

/// The axis within whose places runs are compared.
pub const POLICY: &str = "policy";

/// A place of the grid without the policy, with its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRuns<'a> {
    /// Its value on each axis.
    pub at: BTreeMap<&'a str, &'a str>,
    /// Numbers of its runs, the best first.
    pub runs: Vec<usize>,
}

/// Values by axis.
type At<'a> = BTreeMap<&'a str, &'a str>;

/// Returns runs by place. A run to which an axis makes no difference belongs to each of its values,
/// as `none` does to each cache size, and a policy to each value of another policy's parameter.
#[must_use]
pub fn places<'a>(runs: &[RunResult], sweep: &'a Swept) -> Vec<PlaceRuns<'a>> {
    let mut by_policy: BTreeMap<Option<&str>, Vec<At>> = BTreeMap::new();
    let mut cells: Vec<At> = Vec::new();
    for cell in &sweep.cells {
        let mut at: At = cell.at.iter().map(|(axis, value)| (&**axis, &**value)).collect();
        let policy = at.remove(POLICY);
        by_policy.entry(policy).or_default().push(at.clone());
        cells.push(at);
    }
    let mut all: Vec<At> = Vec::new();
    for of_policy in by_policy.values() {
        all = joined(all, of_policy);
    }
    let most = all.iter().map(BTreeMap::len).max().unwrap_or(0);
    let number = |at: &At| -> Vec<usize> {
        let of = |value: &&str, values: &[String]| values.iter().position(|other| other == value);
        let axes = sweep.axes.iter().filter(|axis| axis.name != POLICY);
        axes.map(|axis| {
            at.get(&*axis.name).and_then(|value| of(value, &axis.values)).unwrap_or(usize::MAX)
        })
        .collect()
    };
    all.sort_by_cached_key(|at| (at.len() < most, number(at), at.clone()));
    let mut known = Known::new(&cells);
    let measure = |&run: &usize| measure(&runs[run]);
    let mut places: Vec<PlaceRuns> = Vec::new();
    for at in all {
        let mut here = known.agreeing(&at);
        here.retain(|&run| cells[run].keys().all(|axis| at.contains_key(axis)));
        // (Of equal ones, those to which every axis makes a difference come first.)
        let after = |run: &usize| (cells[*run].len() < at.len(), *run);
        here.sort_by(|a, b| measure(a).total_cmp(&measure(b)).then(after(a).cmp(&after(b))));
        places.push(PlaceRuns { at, runs: here });
    }
    places
}

/// Joins each of `places` with each of `cells` that agrees with it on their common axes, and adds
/// those of either that agree with none.
fn joined<'a>(places: Vec<At<'a>>, cells: &[At<'a>]) -> Vec<At<'a>> {
    let mut known = Known::new(cells);
    let mut met = vec![false; cells.len()];
    let mut all = Vec::new();
    for place in places {
        let agree = known.agreeing(&place);
        if agree.is_empty() {
            all.push(place);
            continue;
        }
        for cell in agree {
            met[cell] = true;
            let mut both = place.clone();
            both.extend(&cells[cell]);
            all.push(both);
        }
    }
    all.extend(cells.iter().zip(met).filter(|(_, met)| !met).map(|(at, _)| at.clone()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Numbers of cells by their values on some axes.
type Numbers<'a> = BTreeMap<Vec<&'a str>, Vec<usize>>;

/// Cells, found by values on any of their axes.
struct Known<'a, 'b> {
    cells: &'b [At<'a>],
    /// By their axes.
    kinds: BTreeMap<Vec<&'a str>, Kind<'a>>,
}

/// Cells with the same axes, and these by their values on some of them.
type Kind<'a> = (Vec<usize>, BTreeMap<Vec<&'a str>, Numbers<'a>>);

/// Returns the values on `axes`, all of which exist.
fn on<'a>(at: &At<'a>, axes: &[&'a str]) -> Vec<&'a str> {
    axes.iter().map(|axis| at[axis]).collect()
}

impl<'a, 'b> Known<'a, 'b> {
    fn new(cells: &'b [At<'a>]) -> Known<'a, 'b> {
        let mut kinds: BTreeMap<Vec<&str>, Kind> = BTreeMap::new();
        for (number, at) in cells.iter().enumerate() {
            kinds.entry(at.keys().copied().collect()).or_default().0.push(number);
        }
        Known { cells, kinds }
    }

    /// Returns those that agree with `place` on all axes that both have.
    fn agreeing(&mut self, place: &At<'a>) -> Vec<usize> {
        let cells = self.cells;
        let mut found = Vec::new();
        for (axes, (numbers, by)) in &mut self.kinds {
            let shared: Vec<&str> =
                axes.iter().copied().filter(|axis| place.contains_key(axis)).collect();
            let values = on(place, &shared);
            let by_values = by.entry(shared.clone()).or_insert_with(|| {
                let mut all = Numbers::new();
                for &number in &*numbers {
                    all.entry(on(&cells[number], &shared)).or_default().push(number);
                }
                all
            });
            found.extend(by_values.get(&values).into_iter().flatten());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use shingle_core::policy::Memory;

    use super::*;
    use crate::{Axis, Labels, Place};

    /// Places and runs of cells written as `policy=sac a=1`, each better than the one before.
    fn places_of(axes: &[(&str, &[&str])], cells: &[&str]) -> Vec<(String, Vec<usize>)> {
        let axis = |(name, values): &(&str, &[&str])| Axis {
            name: (*name).into(),
            values: values.iter().map(|&value| value.into()).collect(),
        };
        let cell = |text: &&str| {
            let at = text.split(' ').map(|one| one.split_once('=').expect("NAME=VALUE"));
            Place { trace: 0, at: at.map(|(name, value)| (name.into(), value.into())).collect() }
        };
        let sweep = Swept {
            axes: axes.iter().map(axis).collect(),
            traces: Vec::new(),
            cells: cells.iter().map(cell).collect(),
            left_out: Vec::new(),
        };
        let mut seconds = 100.0;
        let run = |_| {
            let mut run = RunResult::without_counts(&Labels::default(), Memory::default());
            seconds -= 1.0;
            run.all.seconds.total = seconds;
            run
        };
        let runs: Vec<RunResult> = cells.iter().map(run).collect();
        let shown = |place: &PlaceRuns| {
            let at: Vec<String> = place.at.iter().map(|(a, v)| format!("{a}={v}")).collect();
            (at.join(" "), place.runs.clone())
        };
        places(&runs, &sweep).iter().map(shown).collect()
    }

    fn expected(places: &[(&str, &[usize])]) -> Vec<(String, Vec<usize>)> {
        places.iter().map(|&(at, runs)| (at.to_owned(), runs.to_vec())).collect()
    }

    #[test]
    fn policies_with_parameters_of_their_own_are_compared() {
        let axes: [(&str, &[&str]); 3] = [("z", &["1", "2"]), ("w", &["3", "4"]), ("policy", &[])];
        let cells = [
            "policy=lru",
            "policy=most z=1",
            "policy=sac w=3",
            "policy=sac w=4",
            "policy=most z=2",
        ];
        let found = places_of(&axes, &cells);
        let places: [(&str, &[usize]); 4] = [
            ("w=3 z=1", &[2, 1, 0]),
            ("w=4 z=1", &[3, 1, 0]),
            ("w=3 z=2", &[4, 2, 0]),
            ("w=4 z=2", &[4, 3, 0]),
        ];
        assert_eq!(found, expected(&places));
    }

    #[test]
    fn what_goes_with_nothing_else_stands_alone() {
        // A disk without a buffer, and one with it.
        let axes: [(&str, &[&str]); 3] =
            [("drive", &["cmr", "smr"]), ("pb", &["1", "2"]), ("w", &["3"])];
        let cells = [
            "drive=cmr policy=lru",
            "drive=cmr policy=sac w=3",
            "drive=smr pb=1 policy=lru",
            "drive=smr pb=1 policy=sac w=3",
            "drive=smr pb=2 policy=lru",
        ];
        let places: [(&str, &[usize]); 3] =
            [("drive=smr pb=1 w=3", &[3, 2]), ("drive=cmr w=3", &[1, 0]), ("drive=smr pb=2", &[4])];
        assert_eq!(places_of(&axes, &cells), expected(&places));
    }
}
