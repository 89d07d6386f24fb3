//! Limits that an operator sets: the rate of destages, the hours in which idle time is used, and
//! the bytes written to the SSD in a day.

use crate::units::Nanos;

/// The limits of a cache. By default there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Blocks destaged per second, at most. Writes that wait for room wait for this, too. Not
    /// applied when an operator wants everything on the disk, when the SSD has failed, and at the
    /// end.
    pub destage_blocks_per_s: Option<u64>,
    /// Hours in which idle time is used.
    pub hours: Hours,
    /// Blocks written to the SSD per day, metadata included. When they are used up, blocks that are
    /// not cached bypass the cache: reads do not fill it, and writes go to the disk. Cached blocks
    /// are still written there, and what that takes beyond the budget is subtracted later.
    pub ssd_blocks_per_day: Option<u64>,
}

/// A set of whole hours of the day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hours(u32);

/// All bits of [`Hours`].
const DAY: u32 = (1 << 24) - 1;
/// The length of an hour.
const HOUR: Nanos = Nanos::from_millis(3_600_000);

impl Default for Hours {
    fn default() -> Hours {
        Hours::ALL
    }
}

impl Hours {
    /// The whole day.
    pub const ALL: Hours = Hours(DAY);

    /// Creates the set from bits: hour *n* is in it if bit *n* is set. `None` if none is set, or a
    /// bit is not an hour.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Hours> {
        (bits != 0 && bits & !DAY == 0).then_some(Hours(bits))
    }

    /// Returns the set as bits: see [`Hours::from_bits`].
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns whether this time since midnight is within the hours.
    #[must_use]
    pub fn contains(self, time_of_day: Nanos) -> bool {
        let hour = time_of_day.0 / HOUR.0 % 24;
        self.0 >> hour & 1 == 1
    }

    /// Parses hours such as `22-6` or `0-6,12-14`: from the start of one hour to the start of
    /// another, also over midnight.
    ///
    /// # Errors
    /// A message that says what to write instead.
    pub fn parse(text: &str) -> Result<Hours, String> {
        let wrong = || "give hours of the day such as 22-6 or 0-6,12-14".to_owned();
        let mut bits = 0;
        for span in text.split(',') {
            let (from, to) = span.split_once('-').ok_or_else(wrong)?;
            let hour = |text: &str| text.trim().parse().ok().filter(|&hour: &u32| hour <= 24);
            let (Some(from), Some(to)) = (hour(from), hour(to)) else { return Err(wrong()) };
            let span = if to > from { to - from } else { to + 24 - from };
            (from..from + span).for_each(|hour| bits |= 1 << (hour % 24));
        }
        Hours::from_bits(bits).ok_or_else(wrong)
    }
}

impl core::fmt::Display for Hours {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let has = |hour: u32| self.0 >> (hour % 24) & 1 == 1;
        if *self == Hours::ALL {
            return f.write_str("0-24");
        }
        let begins = (0..24).filter(|&hour| has(hour) && !has(hour + 23));
        for (at, from) in begins.enumerate() {
            let length = (1..24).find(|&length| !has(from + length)).unwrap_or(24);
            let comma = if at > 0 { "," } else { "" };
            write!(
                f,
                "{comma}{from}-{}",
                if from + length == 24 { 24 } else { (from + length) % 24 }
            )?;
        }
        Ok(())
    }
}

/// A rate limit: a number of blocks per span of time. Unused blocks may be used later, within
/// `kept`; blocks used in excess are subtracted later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rate {
    blocks: u64,
    span: Nanos,
    /// For how long unused blocks may still be used.
    kept: Nanos,
    /// Time up to which the rate is used up.
    used: Nanos,
}

impl Rate {
    pub(super) fn new(blocks: u64, span: Nanos, kept: Nanos) -> Rate {
        Rate { blocks: blocks.max(1), span, kept, used: Nanos::ZERO }
    }

    /// Returns whether a block may be used at `now`, leaving `percent_left` percent of `kept`
    /// unused.
    pub(super) fn allows(&self, now: Nanos, percent_left: u64) -> bool {
        self.used.0 <= now.0.saturating_add(self.kept.0 / 100 * (100 - percent_left))
    }

    pub(super) fn uses(&mut self, blocks: u64, now: Nanos) {
        let takes = u128::from(blocks) * u128::from(self.span.0) / u128::from(self.blocks);
        let takes = u64::try_from(takes).unwrap_or(u64::MAX);
        self.used = Nanos(self.used.max(now).0.saturating_add(takes));
    }

    /// Takes over what was used under an earlier rate.
    pub(super) fn like(self, other: Option<Rate>) -> Rate {
        Rate { used: other.map_or(Nanos::ZERO, |other| other.used), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_and_shown() {
        for (text, shown) in [
            ("22-6", "22-6"),
            ("0-6,12-14", "0-6,12-14"),
            ("6-22", "6-22"),
            ("0-24", "0-24"),
            ("7-7", "0-24"),
            ("20-24", "20-24"),
            ("20-0", "20-24"),
            ("23-1,1-3", "23-3"),
        ] {
            let hours = Hours::parse(text).expect(text);
            assert_eq!(hours.to_string(), shown, "{text}");
            assert_eq!(Hours::parse(shown), Ok(hours));
        }
        for text in ["", "22", "22-25", "a-b", "-1-3", "1-3,"] {
            assert!(Hours::parse(text).is_err(), "{text}");
        }
        let night = Hours::parse("22-6").expect("hours");
        let at =
            |hour: u64, minute| night.contains(Nanos::from_millis((hour * 60 + minute) * 60_000));
        assert!(at(22, 0) && at(23, 59) && at(0, 0) && at(5, 59));
        assert!(!at(6, 0) && !at(21, 59) && at(24, 0) && at(22 + 48, 1));
    }

    #[test]
    fn what_is_used_too_much_is_missing_later() {
        let second = Nanos::from_millis(1_000);
        let mut rate = Rate::new(100, second, Nanos::from_millis(100));
        let at = Nanos::from_millis;
        // Ten blocks were kept; 128 more are a debt of 1.28 s.
        assert!(rate.allows(at(5_000), 0));
        rate.uses(138, at(5_000));
        assert!(!rate.allows(at(6_279), 0) && rate.allows(at(6_280), 0));
        // In the long run it is the rate, however it is used.
        let mut rate = Rate::new(100, second, Nanos::from_millis(100));
        let mut used = 0;
        for ms in 0..60_000 {
            while rate.allows(at(ms), 0) {
                rate.uses(7, at(ms));
                used += 7;
            }
        }
        assert!((5_990..=6_020).contains(&used), "{used}");
    }
}
