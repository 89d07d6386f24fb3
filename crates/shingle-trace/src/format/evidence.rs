//! What a format says of a content: that it may be its own and why, and whether its numbers fit.

use core::fmt;

use super::text;
use crate::error::TraceError;
use crate::input::Input;

/// How it is known which format a trace is in. Lines are those of the beginning, up to 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The user said so.
    Told,
    /// It is a built-in workload.
    Workload,
    /// It begins with bytes, or a line, with which only this format begins.
    Magic,
    /// A first line of names, and so many of the lines below it.
    Header {
        /// Lines that fit.
        fit: usize,
        /// Lines that were looked at.
        of: usize,
    },
    /// Lines that fit this format and no other.
    Lines {
        /// Lines that fit.
        fit: usize,
        /// Lines that were looked at.
        of: usize,
    },
    /// As many binary records, without a fault.
    Records(usize),
}

impl Evidence {
    /// One word for it: `told`, `workload`, `magic`, `header`, `lines` or `records`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Told => "told",
            Evidence::Workload => "workload",
            Evidence::Magic => "magic",
            Evidence::Header { .. } => "header",
            Evidence::Lines { .. } => "lines",
            Evidence::Records(_) => "records",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |f: &mut fmt::Formatter<'_>, fit: usize, of: usize| match (fit, of) {
            (1, 1) => f.write_str("the only line fits"),
            (fit, of) if fit == of => write!(f, "{fit} of the first {of} lines fit"),
            (fit, of) => write!(f, "only {fit} of the first {of} lines fit"),
        };
        match *self {
            Evidence::Told => f.write_str("as --format says"),
            Evidence::Workload => f.write_str("built in"),
            Evidence::Magic => f.write_str("certain by how it begins"),
            Evidence::Header { of: 0, .. } => f.write_str("by its header"),
            Evidence::Header { fit, of } => {
                f.write_str("by its header; ")?;
                lines(f, fit, of)
            }
            Evidence::Lines { fit, of } => {
                lines(f, fit, of)?;
                f.write_str(" this format and no other")
            }
            Evidence::Records(1) => f.write_str("the first record fits"),
            Evidence::Records(count) => write!(f, "the first {count} records fit"),
        }
    }
}

/// That the content may be in a format, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// How sure: of several formats the surest wins.
    pub sureness: u8,
    /// Why.
    pub evidence: Evidence,
}

impl Match {
    /// The content is possible, and it is hardly anything else.
    pub(crate) const LIKELY: u8 = 60;
    /// Only this format looks like that.
    pub(crate) const SURE: u8 = 90;

    /// Certain by the first bytes.
    pub(super) fn magic(is: bool) -> Option<Match> {
        is.then_some(Match { sureness: Match::SURE, evidence: Evidence::Magic })
    }

    /// By lines, if they fit.
    pub(super) fn lines(sureness: u8, fit: Option<(usize, usize)>) -> Option<Match> {
        fit.map(|(fit, of)| Match { sureness, evidence: Evidence::Lines { fit, of } })
    }
}

/// A long look at a text: pieces from all over a file, or its beginning.
pub(crate) struct Sample {
    pieces: Vec<Vec<u8>>,
}

impl Sample {
    pub(super) fn of(input: &mut Input) -> Result<Sample, TraceError> {
        Ok(Sample { pieces: input.pieces()? })
    }

    #[cfg(test)]
    pub(super) fn of_bytes(bytes: &[u8]) -> Sample {
        Sample { pieces: vec![bytes.to_vec()] }
    }

    /// The lines of each piece.
    pub(super) fn pieces(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.pieces.iter().map(|piece| text::lines(piece))
    }
}

/// What the numbers of a longer sample say of a format whose lines fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    /// They can be in its units.
    Fits,
    /// They are in the units of another format.
    Excluded,
    /// They would be odd in its units, for this reason; and the map that reads them in others.
    Odd {
        why: &'static str,
        /// What to type behind `--format`.
        map: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_reads_well() {
        let told = |evidence: Evidence| evidence.to_string();
        assert_eq!(
            told(Evidence::Lines { fit: 9, of: 9 }),
            "9 of the first 9 lines fit this format and no other"
        );
        assert_eq!(
            told(Evidence::Lines { fit: 1, of: 1 }),
            "the only line fits this format and no other"
        );
        assert_eq!(
            told(Evidence::Header { fit: 8, of: 9 }),
            "by its header; only 8 of the first 9 lines fit"
        );
    }
}
