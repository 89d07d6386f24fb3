//! What runs have in common, and a name for each from what differs.

use shingle_core::size::{parse_blocks, show_blocks};
use shingle_result::RunResult;
use shingle_result::verdict::count;

use crate::lines::blocks_of;

/// A name and a value, as on the command line.
type Setting = (String, String);

/// The differences between runs.
pub(super) struct Names {
    /// The settings that differ between runs; the policy is always one of them.
    pub(super) columns: Vec<String>,
    /// For each run, the value of each column; empty where it has none.
    pub(super) values: Vec<Vec<String>>,
    pub(super) common: Vec<Setting>,
}

pub(super) const CACHE: &str = "cache";
/// The seed of a synthetic trace.
pub(super) const SEED: &str = "seed";

impl Names {
    pub(super) fn of(runs: &[RunResult]) -> Names {
        let settings: Vec<Vec<Setting>> = runs.iter().map(settings).collect();
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in settings.iter().flatten() {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        let values_of = |key: &str| -> Vec<&str> {
            let value = |of: &'_ Vec<Setting>| of.iter().position(|(name, _)| name == key);
            let found = settings.iter().map(|of| value(of).map_or("", |at| of[at].1.as_str()));
            found.collect()
        };
        let (mut columns, mut common) = (Vec::new(), Vec::new());
        for key in keys {
            let values = values_of(key);
            let differs = |a: usize, b: usize| {
                let owner = owner(key);
                let alike = owner(&runs[a]) == owner(&runs[b]);
                alike && !values[a].is_empty() && !values[b].is_empty() && values[a] != values[b]
            };
            // A parameter distinguishes only runs that both have it.
            let mut firsts: Vec<usize> = Vec::new();
            let mut apart = key == "policy";
            for at in 0..runs.len() {
                apart |= firsts.iter().any(|&first| differs(first, at));
                let known = |&first: &usize| owner(key)(&runs[first]) == owner(key)(&runs[at]);
                if !values[at].is_empty() && !firsts.iter().any(known) {
                    firsts.push(at);
                }
            }
            if apart {
                columns.push(key.to_owned());
            } else if let Some(value) = values.iter().find(|value| !value.is_empty())
                && values.iter().all(|other| other.is_empty() || other == value)
            {
                common.push((key.to_owned(), (*value).to_owned()));
            }
        }
        let mut rows = vec![Vec::new(); runs.len()];
        for column in &columns {
            for (row, value) in rows.iter_mut().zip(values_of(column)) {
                row.push(value.to_owned());
            }
        }
        Names { columns, values: rows, common }
    }

    /// Returns the name of a run, without the columns in `without`.
    pub(super) fn name(&self, run: usize, without: &[&str]) -> String {
        let named = self
            .columns
            .iter()
            .zip(&self.values[run])
            .filter(|(column, value)| !value.is_empty() && !without.contains(&column.as_str()));
        let words = named.map(|(column, value)| match column.as_str() {
            "policy" | "drive" | "translation" | "ssd" | CACHE => shown(column, value),
            _ => format!("{column}={}", shown(column, value)),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Returns a value of `column` as a page shows it: sizes in blocks get a unit, and sizes of parameters stay distinct.
pub(super) fn shown(column: &str, value: &str) -> String {
    let Some(blocks) = blocks_of(value) else { return value.to_owned() };
    let size = show_blocks(blocks);
    match column == CACHE || parse_blocks(&size) == Ok(blocks) {
        true => size,
        false => format!("{size} ({} blocks)", count(blocks)),
    }
}

/// Returns what owns parameter `key`: for runs with different owners the parameter is no
/// difference.
fn owner(key: &str) -> fn(&RunResult) -> Option<&str> {
    match key.split_once('.') {
        Some(("drive", _)) => |run| Some(&run.labels.drive),
        Some(("translation", _)) => |run| run.labels.translation.as_deref(),
        Some(("ssd", _)) => |run| Some(&run.labels.ssd),
        Some(("policy", _)) => |run| Some(&run.labels.policy),
        _ => |_| None,
    }
}

fn settings(run: &RunResult) -> Vec<Setting> {
    let mut all: Vec<Setting> = vec![("policy".into(), run.labels.policy.clone())];
    all.push(("translation".into(), run.labels.translation.clone().unwrap_or_default()));
    all.push(("drive".into(), run.labels.drive.clone()));
    let cache = match run.labels.cache_blocks {
        0 => String::new(),
        blocks => format!("{blocks}b"),
    };
    all.push((CACHE.into(), cache));
    all.push(("ssd".into(), run.labels.ssd.clone()));
    all.push((SEED.into(), run.labels.seed.to_string()));
    all.push(("mode".into(), run.labels.mode.to_string()));
    all.push(("pacing".into(), run.labels.pacing.to_string()));
    let rules = ["split", "partial"];
    for (name, value) in &run.labels.parameters {
        let owned = name.contains('.') || rules.contains(&name.as_str());
        let name = if owned { name.clone() } else { format!("policy.{name}") };
        all.push((name, value.clone()));
    }
    let named = |owner: &'static str| {
        move |(name, value): (&String, &String)| (format!("{owner}.{name}"), value.clone())
    };
    all.extend(run.labels.drive_parameters.iter().map(named("drive")));
    let of_translation = run.labels.translation_parameters.iter().flatten();
    all.extend(of_translation.map(named("translation")));
    all
}
