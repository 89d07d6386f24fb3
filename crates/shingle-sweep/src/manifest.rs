//! The description of a sweep: written to its folder before the first cell, and compared with the
//! options whenever the sweep resumes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shingle_result::Swept;
use shingle_sim::experiment::Options;

use crate::plan::Plan;

/// Name and version of the format.
const SCHEMA: &str = "shingle.sweep/2";

/// One of several shards of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1.
    pub index: usize,
    /// The number of shards.
    pub count: usize,
}

/// The whole sweep.
impl Default for Shard {
    fn default() -> Shard {
        Shard { index: 1, count: 1 }
    }
}

impl Shard {
    /// Reads `2/8`.
    ///
    /// # Errors
    /// If the text is no valid shard.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            Some(Shard { index: index.trim().parse().ok()?, count: count.trim().parse().ok()? })
        });
        numbers
            .filter(|shard| (1..=shard.count).contains(&shard.index))
            .ok_or_else(|| format!("`{text}` is no share; write I/N with I from 1 to N, as in 2/8"))
    }

    /// Returns whether cell `number` belongs to this shard. Of each row of `count` cells every
    /// shard gets one, and the next row begins with another shard: so policies, which vary fastest,
    /// are spread evenly.
    pub(crate) fn has(self, number: usize) -> bool {
        (number + number / self.count) % self.count == self.index - 1
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The description of a sweep, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    schema: String,
    /// Version of the program: another version may count differently.
    version: String,
    pub(crate) shard: Shard,
    /// Seed of the report.
    pub(crate) seed: u64,
    rules: Rules,
    /// Axes, traces with their hashes, and the place of each cell.
    pub(crate) sweep: Swept,
    /// Each cell in full: all that determines its result.
    cells: Vec<Value>,
}

/// Rules of all cells that are not in their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rules {
    speed_thousandths: u64,
    drain: bool,
    check: bool,
}

impl Manifest {
    pub(crate) fn new(plan: &Plan, options: &Options, shard: Shard) -> Manifest {
        let cell = |cell: &crate::plan::Cell| {
            serde_json::to_value(&cell.identity).expect("an identity is JSON")
        };
        Manifest {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            shard,
            seed: options.seed,
            rules: Rules {
                speed_thousandths: options.speed_thousandths,
                drain: options.drain,
                check: options.check,
            },
            sweep: plan.swept.clone(),
            cells: plan.cells.iter().map(cell).collect(),
        }
    }

    /// Describes the first difference from `there`.
    pub(crate) fn difference(&self, there: &Manifest) -> Option<String> {
        let value = |manifest| serde_json::to_value(manifest).expect("a manifest is JSON");
        difference("", &value(there), &value(self))
    }
}

/// Describes where two values first differ, and how.
fn difference(path: &str, there: &Value, here: &Value) -> Option<String> {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (there, here) {
        (Value::Object(there), Value::Object(here)) => {
            let names = there.keys().chain(here.keys().filter(|name| !there.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned();
                let (there, here) = (of(there).unwrap_or_default(), of(here).unwrap_or_default());
                difference(&below(name), &there, &here)
            })
        }
        (Value::Array(there), Value::Array(here)) if there.len() == here.len() => {
            let pairs = there.iter().zip(here).enumerate();
            pairs.into_iter().find_map(|(at, (a, b))| difference(&format!("{path}[{at}]"), a, b))
        }
        (there, here) if there == here => None,
        (there, here) => Some(format!("{path} is {} there and {} here", brief(there), brief(here))),
    }
}

/// Formats a value for a sentence.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(values) if values.is_empty() => "nothing".into(),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        }
        Value::Array(values) if values.len() == 1 => "one entry".into(),
        Value::Array(values) => format!("{} entries", values.len()),
        Value::Object(_) => "something".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_cell_is_of_one_shard_and_policies_are_spread() {
        for count in 1..7 {
            let shards: Vec<Shard> = (1..=count).map(|index| Shard { index, count }).collect();
            for number in 0..200 {
                assert_eq!(shards.iter().filter(|shard| shard.has(number)).count(), 1);
            }
        }
        // As many policies as shards: number modulo the policies would give a shard one policy only.
        let shard = Shard { index: 1, count: 3 };
        let policies: Vec<usize> = (0..9).filter(|&n| shard.has(n)).map(|n| n % 3).collect();
        assert_eq!(policies, [0, 2, 1]);
    }

    #[test]
    fn shares_are_read() {
        assert_eq!(Shard::parse("2/8"), Ok(Shard { index: 2, count: 8 }));
        for text in ["0/2", "3/2", "1", "a/b", "1/0"] {
            assert!(Shard::parse(text).unwrap_err().contains("I/N"), "{text}");
        }
    }

    #[test]
    fn a_difference_is_named() {
        let there = json!({"a": 1, "axes": [{"values": ["1%", "2%"]}]});
        let here = json!({"a": 1, "axes": [{"values": ["1%", "5%"]}]});
        assert_eq!(difference("", &there, &there), None);
        assert_eq!(
            difference("", &there, &here).unwrap(),
            "axes[0].values[1] is 2% there and 5% here"
        );
        let here = json!({"a": 1, "axes": [{"values": ["1%"]}]});
        assert_eq!(
            difference("", &there, &here).unwrap(),
            "axes[0].values is 1%,2% there and 1% here"
        );
        let here = json!({"a": 1, "axes": []});
        assert_eq!(
            difference("", &there, &here).unwrap(),
            "axes is one entry there and nothing here"
        );
    }
}
