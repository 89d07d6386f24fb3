//! How to handle requests that are not in the order of their times.
//!
//! Many traces are written when requests complete, so their arrival times go back a little.

use shingle_core::units::Nanos;

use crate::error::{Kind, Place, TraceError, shown};

/// The widest window: a year.
pub(crate) const REORDER_NANOS_MAX: u64 = 365 * 86_400 * 1_000_000_000;

/// `--reorder`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reorder {
    /// Requests are sorted by time. One that comes more than this window after a later one is an
    /// error.
    Within(Nanos),
    /// Requests keep the order of the file. A time that goes back is replaced by the one before it.
    Keep,
}

/// The default window is wide enough for requests that are logged when they complete.
impl Default for Reorder {
    fn default() -> Reorder {
        Reorder::Within(Nanos(10_000_000_000))
    }
}

impl Reorder {
    /// Parses `keep`, or a time with its unit: `10s`, `500ms`, `1h`.
    ///
    /// # Errors
    /// On any other text.
    pub fn parse(text: &str) -> Result<Reorder, TraceError> {
        if text == "keep" {
            return Ok(Reorder::Keep);
        }
        let window = parse_time(text).filter(|window| window.0 <= REORDER_NANOS_MAX);
        window.map(Reorder::Within).ok_or_else(|| {
            let text = shown(text.as_bytes());
            let message = format!(
                "--reorder {text}: give a time of at most a year, such as 10s, 500ms or 1h, or keep"
            );
            TraceError::new(Kind::Usage, "", Place::Whole, message)
        })
    }
}

/// Parses a time with its unit (`ns`, `us`, `ms`, `s`, `m`, `h`, `d`); fractions are allowed.
#[must_use]
pub fn parse_time(text: &str) -> Option<Nanos> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit: u64 = match &text[at..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    crate::format::number::scaled_wide(&text.as_bytes()[..at], unit).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [
            ("10s", 10_000_000_000),
            ("0.5ms", 500_000),
            ("1.5h", 5_400_000_000_000),
            ("7ns", 7),
            ("2d", 172_800_000_000_000),
        ] {
            assert_eq!(parse_time(text), Some(Nanos(ns)), "{text}");
        }
        for bad in ["", "10", "s", "-1s", "1x", "99999999999999d", "1e3s"] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
        assert_eq!(Reorder::parse("keep"), Ok(Reorder::Keep));
        assert!(Reorder::parse("2000d").is_err());
    }
}
