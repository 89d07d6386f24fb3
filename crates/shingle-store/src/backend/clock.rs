//! The time of the day, where the machine is.

use chrono::{Local, Timelike};
use shingle_core::units::Nanos;

/// Since midnight.
pub(super) fn time_of_day() -> Nanos {
    let seconds = Local::now().time().num_seconds_from_midnight();
    Nanos::from_millis(u64::from(seconds) * 1_000)
}
