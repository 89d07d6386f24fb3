//! The evidence that content is in a format: whether it looks so and why, and whether its numbers
//! fit.

use core::fmt;

use super::text;
use crate::error::TraceError;
use crate::input::Input;

/// How the format of a trace was recognised. Lines are counted in the first 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The user named the format.
    Explicit,
    /// It is a built-in workload.
    Workload,
    /// It begins with bytes, or a line, that are unique to this format.
    Magic,
    /// A header, and this many of the lines below it.
    Header {
        /// Lines that fit.
        fit: usize,
        /// Lines that were examined.
        of: usize,
    },
    /// Lines that fit this format and no other.
    Lines {
        /// Lines that fit.
        fit: usize,
        /// Lines that were examined.
        of: usize,
    },
    /// This many binary records, all valid.
    Records(usize),
}

impl Evidence {
    /// Returns one word for it: `told`, `workload`, `magic`, `header`, `lines` or `records`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Explicit => "told",
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
            Evidence::Explicit => f.write_str("as --format says"),
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

/// A possible format of the content, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// How sure it is, from 0 to 100: the surest format wins.
    pub sureness: u8,
    /// Why.
    pub evidence: Evidence,
}

impl Match {
    /// The content fits, and hardly fits another format.
    pub(crate) const LIKELY: u8 = 60;
    /// Only this format looks like that.
    pub(crate) const SURE: u8 = 90;

    /// Returns a sure match if the first bytes are unique to the format.
    pub(super) fn magic(is: bool) -> Option<Match> {
        is.then_some(Match { sureness: Match::SURE, evidence: Evidence::Magic })
    }

    pub(super) fn lines(sureness: u8, fit: Option<(usize, usize)>) -> Option<Match> {
        fit.map(|(fit, of)| Match { sureness, evidence: Evidence::Lines { fit, of } })
    }
}

/// A sample of a text for `weigh`: pieces from all over a file, or its beginning.
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

    pub(super) fn pieces(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.pieces.iter().map(|piece| text::lines(piece))
    }
}

/// How the numbers of a longer sample fit a format whose lines fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    /// They can be in the units of the format.
    Fits,
    /// They are in the units of another format.
    Excluded,
    /// They would be odd in its units, for this reason; the map reads them in other units.
    Odd {
        why: &'static str,
        /// The option for `--format`.
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
