//! DiskSim ASCII: what DiskSim 2 to 4 reads by default, and many tools write.
//!
//! ```text
//! 5265.313 0 6357144 8 0
//! time (ms) device address (sectors of 512 bytes) size (sectors) flags (hexadecimal)
//! ```
//!
//! From the DiskSim 4.0 reference manual (Bucy, Schindler, Schlosser, Ganger 2008):
//! bit 0 of the flags says that the request reads. Further bits are of how urgent it is, and are
//! not read.
//!
//! The same columns with sizes in pages are `flashsim`; which of the two it is shows only in the
//! numbers.

use super::five::{self, Units};
use super::{Decoded, Format, Options, Sample, Weight, units};
use crate::error::TraceError;
use crate::input::Input;

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII: milliseconds device sector sectors flags; 1 reads",
    sniff: five::sniff,
    weigh: Some(weigh),
    open,
};

fn weigh(sample: &Sample) -> Weight {
    let seen = units::of_five(sample);
    if seen.nanoseconds == Some(true) || seen.pages == Some(true) {
        Weight::Excluded
    } else {
        Weight::Fits
    }
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    const UNITS: Units = Units { time_ns: 1_000_000, size_bytes: 512, flags_max: u32::MAX };
    five::open(input, options, FORMAT.name, UNITS)
}
