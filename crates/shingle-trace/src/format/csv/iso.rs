//! Parses times written as dates of ISO 8601, as in logs and spreadsheets.

use chrono::{DateTime, NaiveDateTime};

use crate::error::{Problem, shown};

/// Returns the nanoseconds since 1970 of `2026-11-23T08:15:00.25Z`. In place of the `Z` there may
/// be an offset such as `+01:00`, or nothing, which means UTC. A blank may replace the `T`.
pub(super) fn nanoseconds(field: &[u8]) -> Option<u64> {
    // A cheap test first: most fields are no dates.
    let text = str::from_utf8(field).ok().filter(|text| text.as_bytes().get(4) == Some(&b'-'))?;
    let with_offset = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    let time = with_offset.ok().or_else(|| {
        let bare = |format| NaiveDateTime::parse_from_str(text, format).ok();
        bare("%Y-%m-%dT%H:%M:%S%.f").or_else(|| bare("%Y-%m-%d %H:%M:%S%.f")).map(|t| t.and_utc())
    })?;
    u64::try_from(time.timestamp_nanos_opt()?).ok()
}

/// Returns the error for a field that is no time in any supported form.
#[cold]
pub(super) fn bad_time(field: &[u8], column: &str) -> Problem {
    Problem::syntax(format!(
        "the time ({column}) is {}, and a time is a number (time=COLUMN/s, ms, us, ns or filetime) or a date from 1970 \
         to 2262 as 2026-11-23T08:15:00.25Z (time=COLUMN/iso); convert it, or say what the columns are: --format \
         csv:time=COLUMN/us,…",
        shown(field)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_with_and_without_an_offset() {
        let second = 1_795_421_700_000_000_000;
        for (text, ns) in [
            ("2026-11-23T08:15:00Z", second),
            ("2026-11-23T08:15:00.25Z", second + 250_000_000),
            ("2026-11-23T09:15:00+01:00", second),
            ("2026-11-23T08:15:00", second),
            ("2026-11-23 08:15:00.000000001", second + 1),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), Some(ns), "{text}");
        }
        for bad in ["2026-11-23", "1969-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "1234567890", ""]
        {
            assert_eq!(nanoseconds(bad.as_bytes()), None, "{bad}");
        }
    }
}
