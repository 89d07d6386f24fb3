//! Durations for people: `300 us`, `12.3 ms`, `76.7 s`, `9 min 16 s`, `3 h 12 min`, `6 d 16 h`.

/// Below this many seconds, tenths of a second would show nothing.
const TENTHS_FROM: f64 = 0.05;
/// From this many seconds on, minutes come before seconds.
const MINUTES_FROM: f64 = 120.0;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Formats seconds for people: milliseconds or microseconds where tenths of a second would show
/// nothing, tenths below two minutes, then the two largest units that are not zero. `-` if it is no
/// number, such as the mean of nothing.
#[must_use]
// Negative and infinite durations are answered before.
pub fn show_duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "-".into();
    }
    if 0.0 < seconds && seconds < TENTHS_FROM {
        return show_micros(seconds * 1e6);
    }
    if seconds < MINUTES_FROM {
        return format!("{seconds:.1} s");
    }
    // Rounded before the split, so that no part shows as 60.
    let in_steps_of = |step: u64| (seconds / step as f64).round() as u64 * step;
    let (whole, large, large_name, small, small_name) = match seconds {
        s if s < (2 * HOUR) as f64 => (in_steps_of(1), MINUTE, "min", 1, "s"),
        s if s < (2 * DAY) as f64 => (in_steps_of(MINUTE), HOUR, "h", MINUTE, "min"),
        _ => (in_steps_of(HOUR), DAY, "d", HOUR, "h"),
    };
    match whole % large / small {
        0 => format!("{} {large_name}", whole / large),
        rest => format!("{} {large_name} {rest} {small_name}", whole / large),
    }
}

/// Formats microseconds for people: microseconds and milliseconds below a second, then as
/// [`show_duration`].
#[must_use]
pub fn show_micros(us: f64) -> String {
    match us {
        us if !us.is_finite() => "-".into(),
        // A value that would round up to the next unit is shown in that unit.
        us if us < 999.5 => format!("{us:.0} us"),
        us if us < 999_950.0 => format!("{:.1} ms", us / 1_000.0),
        us => show_duration(us / 1_000_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_largest_units_are_shown() {
        for (seconds, shown) in [
            (0.0, "0.0 s"),
            (0.000_04, "40 us"),
            (0.0425, "42.5 ms"),
            (0.049_99, "50.0 ms"),
            (0.06, "0.1 s"),
            (76.66, "76.7 s"),
            (119.9, "119.9 s"),
            (120.0, "2 min"),
            (614.1, "10 min 14 s"),
            (5_530.7, "92 min 11 s"),
            (7_200.0, "2 h"),
            (82_793.6, "23 h"),
            (82_893.6, "23 h 2 min"),
            (576_557.6, "6 d 16 h"),
            (31_536_000.0, "365 d"),
        ] {
            assert_eq!(show_duration(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn no_part_rounds_up_to_a_whole_of_the_next() {
        for (seconds, shown) in [
            (179.7, "3 min"),
            (7_199.9, "120 min"),
            (10_799.0, "3 h"),
            (172_799.9, "48 h"),
            (259_199.0, "3 d"),
        ] {
            assert_eq!(show_duration(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn short_times_have_short_units() {
        for (us, shown) in [
            (0.0, "0 us"),
            (999.4, "999 us"),
            (999.6, "1.0 ms"),
            (12_340.0, "12.3 ms"),
            (999_960.0, "1.0 s"),
            (5_530_700_000.0, "92 min 11 s"),
        ] {
            assert_eq!(show_micros(us), shown, "{us}");
        }
    }

    #[test]
    fn what_is_no_duration_is_a_dash() {
        assert_eq!(show_duration(f64::NAN), "-");
        assert_eq!(show_micros(f64::INFINITY), "-");
    }
}
