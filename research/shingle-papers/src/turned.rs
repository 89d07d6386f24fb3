//! Compares two reproductions of a paper, one before and one after a change: which verdicts
//! changed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::result::{Reproduction, SCHEMA};
use crate::verdict::Verdict;

/// A statement whose verdict has changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Turned<'a> {
    /// Identifier of the table or figure.
    pub figure: &'a str,
    /// The paper's words.
    pub says: &'a str,
    /// The earlier result in words.
    pub before: String,
    /// The new result in words.
    pub now: &'a str,
    /// The new verdict.
    pub verdict: Verdict,
}

/// The differences between two reproductions.
#[derive(Clone, PartialEq, Debug)]
pub struct Differences<'a> {
    /// The changed statements, in the order of the paper.
    pub turned: Vec<Turned<'a>>,
    /// Number of statements in both.
    pub both: usize,
    /// Number of these that agreed before.
    pub agreed: usize,
    /// Other differences, in words: seeds, traces, scale.
    pub otherwise: Vec<String>,
}

/// The part of `--json FILE` that is read.
#[derive(Debug, Deserialize)]
struct File {
    result: Before,
}

/// The compared part of an earlier reproduction.
#[derive(Debug, Deserialize)]
pub struct Before {
    schema: String,
    paper: String,
    traces: String,
    seeds: Vec<u64>,
    figures: Vec<Figure>,
}

#[derive(Debug, Deserialize)]
struct Figure {
    id: String,
    scale: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    says: String,
    shown: String,
    verdict: Verdict,
}

impl Before {
    /// Reads the output of `--json`, for `paper`.
    ///
    /// # Errors
    /// A sentence, if it is something else.
    pub fn read(text: &str, paper: &str) -> Result<Before, String> {
        let File { result } = serde_json::from_str(text)
            .map_err(|error| format!("holds no result of `reproduce --json` ({error})"))?;
        if result.schema != SCHEMA {
            return Err(format!("is {}, and {SCHEMA} can be read", result.schema));
        }
        if result.paper != paper {
            return Err(format!("is of `{}`, and this is `{paper}`", result.paper));
        }
        Ok(result)
    }

    /// Compares the earlier reproduction with `now`.
    #[must_use]
    pub fn differences<'a>(&self, now: &'a Reproduction) -> Differences<'a> {
        let mut otherwise = Vec::new();
        if self.seeds != now.seeds {
            otherwise.push(format!("seeds were {:?}", self.seeds));
        }
        if self.traces != now.traces {
            otherwise.push(format!("traces were {}", self.traces));
        }
        let mut known: BTreeMap<(&str, &str), &Row> = BTreeMap::new();
        for figure in &self.figures {
            known.extend(figure.rows.iter().map(|row| ((&*figure.id, &*row.says), row)));
            let same = now.figures.iter().find(|other| other.id == figure.id);
            if same.is_some_and(|same| same.scale != figure.scale) {
                let scale = figure.scale.join("; ");
                otherwise.push(format!("{} was run at another scale: {scale}", figure.id));
            }
        }
        let (mut turned, mut both, mut agreed) = (Vec::new(), 0, 0);
        for (figure, row) in now.figures.iter().flat_map(|f| f.rows.iter().map(move |row| (f, row)))
        {
            let Some(before) = known.get(&(figure.id, row.says)) else { continue };
            both += 1;
            agreed += usize::from(before.verdict.agrees());
            if before.verdict.agrees() != row.verdict.agrees() {
                turned.push(Turned {
                    figure: figure.id,
                    says: row.says,
                    before: before.shown.clone(),
                    now: &row.shown,
                    verdict: row.verdict,
                });
            }
        }
        Differences { turned, both, agreed, otherwise }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{FigureResult, RowResult};

    fn result(rows: &[(&'static str, Verdict)], seeds: &[u64]) -> Reproduction {
        let row = |&(says, verdict): &(&'static str, Verdict)| RowResult {
            at: "§1",
            says,
            published: None,
            unit: "",
            ours: Vec::new(),
            shown: format!("{says} came out"),
            verdict,
            reason: "",
        };
        Reproduction {
            schema: SCHEMA,
            paper: "roco",
            citation: "",
            about: Vec::new(),
            traces: "made".into(),
            seeds: seeds.to_vec(),
            figures: vec![FigureResult {
                id: "9",
                title: "",
                how: "",
                scale: Vec::new(),
                rows: rows.iter().map(row).collect(),
                numbers: Vec::new(),
                pictures: Vec::new(),
            }],
        }
    }

    #[test]
    fn statements_that_turned_are_told() {
        use Verdict::{AgreesInOrder, AgreesInSize, Disagrees};
        let before = result(
            &[("a", Disagrees), ("b", AgreesInSize), ("c", Disagrees), ("x", Disagrees)],
            &[1],
        );
        let before = serde_json::json!({ "result": before, "sensitivity": null }).to_string();
        let now = result(
            &[("a", AgreesInOrder), ("b", Disagrees), ("c", Disagrees), ("new", AgreesInSize)],
            &[1, 2],
        );
        let read = Before::read(&before, "roco").expect("the same paper");
        let found = read.differences(&now);
        assert_eq!((found.both, found.agreed), (3, 1));
        let turned: Vec<_> =
            found.turned.iter().map(|turned| (turned.says, turned.verdict)).collect();
        assert_eq!(turned, [("a", AgreesInOrder), ("b", Disagrees)]);
        assert_eq!(found.otherwise, ["seeds were [1]"]);
        assert!(Before::read(&before, "sac").expect_err("another").contains("`roco`"));
        assert!(Before::read("{}", "roco").expect_err("nothing").contains("reproduce --json"));
    }
}
