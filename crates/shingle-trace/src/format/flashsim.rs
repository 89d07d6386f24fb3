//! FlashSim: the columns of DiskSim, with sizes in pages of 4 KiB.
//!
//! ```text
//! 26.214000 0 303574 1 0
//! time (ms) device address (sectors of 512 bytes) size (pages of 4 KiB) flags: 1 reads
//! ```
//!
//! This is how the UMass traces come with FlashSim (Gupta, Kim, Urgaonkar: DFTL, ASPLOS 2009).
//! Their sizes were rounded up to pages while addresses stayed sectors, and the column of the ASU
//! was dropped, which lays all volumes on top of each other.

use shingle_core::units::BLOCK_BYTES;

use super::five::{self, Units};
use super::{Decoded, Format, Options, Sample, Weight, units};
use crate::error::TraceError;
use crate::input::Input;

pub(super) const FORMAT: Format = Format {
    name: "flashsim",
    about: "FlashSim text: milliseconds device sector pages flags; 1 reads",
    sniff: five::sniff,
    weigh: Some(weigh),
    open,
};

fn weigh(sample: &Sample) -> Weight {
    let seen = units::of_five(sample);
    if seen.nanoseconds == Some(true) || seen.pages == Some(false) {
        Weight::Excluded
    } else {
        Weight::Fits
    }
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    const UNITS: Units = Units { time_ns: 1_000_000, size_bytes: BLOCK_BYTES, flags_max: u32::MAX };
    five::open(input, options, FORMAT.name, UNITS)
}
