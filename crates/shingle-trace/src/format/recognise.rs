//! Recognises the format of a trace from its content, and reports the evidence.
//!
//! Each format first checks the beginning. Formats that differ only in the units of their numbers
//! then weigh a longer sample: pieces from all over a file, or a MiB of a stream. If several
//! formats fit equally, the error names all of them: a guess could be wrong by a factor of eight
//! and look right.

use core::fmt;

use super::evidence::{Evidence, Match, Sample, Weight};
use super::{FORMATS, Format, csv, text};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};

/// The format of a trace, and how it was recognised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recognised {
    /// The name for `--format`, or the name of a workload.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// How it was recognised.
    pub evidence: Evidence,
}

impl fmt::Display for Recognised {
    /// `msr, MSR Cambridge CSV (1,000 lines fit, and no other format)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.about.split([':', ';']).next().unwrap_or(self.about);
        write!(f, "{}, {title} ({})", self.name, self.evidence)
    }
}

/// Returns the format that the content shows.
pub(super) fn recognised(input: &mut Input) -> Result<(&'static Format, Evidence), TraceError> {
    let head = input.peek(PEEK_BYTES_MAX)?;
    let mut found: Vec<(&'static Format, Match)> = Vec::new();
    for format in FORMATS {
        let Some(matched) = (format.sniff)(head) else { continue };
        if found.first().is_none_or(|(_, best)| matched.sureness >= best.sureness) {
            found.retain(|(_, other)| other.sureness == matched.sureness);
            found.push((format, matched));
        }
    }
    if found.is_empty() {
        let problem = unrecognised(head);
        return Err(problem.at(input.name(), Place::Whole));
    }
    let mut odd = None;
    if found.iter().any(|(format, _)| format.weigh.is_some()) {
        let sample = Sample::of(input)?;
        let all = found.clone();
        found.retain(|(format, _)| match format.weigh.map(|weigh| weigh(&sample)) {
            None | Some(Weight::Fits) => true,
            Some(Weight::Excluded) => false,
            Some(Weight::Odd { why, map }) => {
                odd = Some((why, map));
                true
            }
        });
        if found.is_empty() {
            found = all;
        }
    }
    let problem = match (found.as_slice(), odd) {
        (&[(format, matched)], None) => return Ok((format, matched.evidence)),
        (several, odd) => ambiguous(several, odd),
    };
    Err(problem.at(input.name(), Place::Whole))
}

fn ambiguous(several: &[(&Format, Match)], odd: Option<(&str, &str)>) -> Problem {
    let mut choices: Vec<String> = several
        .iter()
        .map(|(format, _)| format!("--format {} ({})", format.name, format.about))
        .collect();
    let mut why = "the content does not tell its format";
    if let Some((reason, map)) = odd {
        why = reason;
        choices.push(format!("--format {map}"));
    }
    Problem::new(Kind::Format, format!("{why}; choose {}", choices.join(" or ")))
}

fn unrecognised(head: &[u8]) -> Problem {
    if let Some(problem) = text::utf16_error(head) {
        return problem;
    }
    if text::is_binary(head) {
        return Problem::new(
            Kind::Format,
            "is binary, and no binary format that is known (native, vscsi, blktrace, lcs, \
             oracleGeneral, parquet); convert it to CSV",
        );
    }
    let Some(line) = text::lines(head).next() else {
        let why = "begins with empty lines and comments alone, and no request; name its format (--format)";
        return Problem::new(Kind::Format, why);
    };
    if let Some(problem) = csv::unclear_header(line) {
        return problem;
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    Problem::new(
        Kind::Format,
        format!(
            "no format recognises the text, which begins {}; {}, or --format NAME for one of {}",
            shown(line),
            csv::COLUMNS_ADVICE,
            names.join(", ")
        ),
    )
}
