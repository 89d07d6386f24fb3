//! MQSim ASCII: the columns of DiskSim, with times in nanoseconds.
//!
//! ```text
//! 938513000 4 264719034 16 0
//! time (ns) device address (sectors of 512 bytes) size (sectors) type: 0 writes, 1 reads
//! ```
//!
//! From the README and the trace reader of MQSim (Tavakkol and others, FAST 2018). Times are whole
//! numbers, and the type is the opposite of Tencent's. MQSim itself does not look at the device and
//! lays all on one SSD; here a device is a volume, and `--volume '*'` reads all side by side.

use super::five::{self, Units};
use super::{Decoded, Format, Options, Sample, Weight, units};
use crate::error::TraceError;
use crate::input::Input;

pub(super) const FORMAT: Format = Format {
    name: "mqsim",
    about: "MQSim ASCII: nanoseconds device sector sectors type; 0 writes, 1 reads",
    sniff: five::sniff,
    weigh: Some(weigh),
    open,
};

fn weigh(sample: &Sample) -> Weight {
    let seen = units::of_five(sample);
    if seen.nanoseconds == Some(false) { Weight::Excluded } else { Weight::Fits }
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    const UNITS: Units = Units { time_ns: 1, size_bytes: 512, flags_max: 1 };
    five::open(input, options, FORMAT.name, UNITS)
}
