//! Parsing of cache sizes: shares of what a trace touches, and absolute sizes.

use shingle_core::params::nearest;
use shingle_core::size;
use shingle_core::units::BLOCK_BYTES;
use shingle_trace::Summary;

use super::options::{ExperimentError, usage};

/// Resolution of a share: integers, so that no float decides a size.
const PARTS: u64 = 100 * PARTS_OF_PERCENT;
const PARTS_OF_PERCENT: u64 = 1_000_000;

/// Converts `percent`, a decimal number, to [`PARTS`].
fn parts(percent: &str) -> Option<u64> {
    size::scaled(percent.trim(), PARTS_OF_PERCENT).filter(|parts| (1..=PARTS).contains(parts))
}

fn part_of(bytes: u64, parts: u64) -> u64 {
    (u128::from(bytes) * u128::from(parts) / u128::from(PARTS)) as u64
}

/// Returns `percent` (a decimal number) of `bytes`.
pub(super) fn percent_of(percent: &str, bytes: u64) -> Option<u64> {
    Some(part_of(bytes, parts(percent)?))
}

/// The size of a cache, as in `-c`.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// A share, in [`PARTS`], of something that a trace touches.
    Share(u64, Whole),
    Blocks(u64),
}

#[derive(Clone, Copy, Debug)]
enum Whole {
    Footprint,
    Zones,
    Written,
}

impl Size {
    fn parse(text: &str) -> Result<Size, ExperimentError> {
        let wrong = |why: String| usage(format!("-c {text}: {why}"));
        let Some((percent, of)) = text.split_once('%') else {
            let bytes = size::parse_bytes(text)
                .map_err(|error| wrong(format!("{error}, or a share such as 5%")))?;
            // A share without its % would be a cache of one block.
            if (1..BLOCK_BYTES).contains(&bytes) {
                return Err(wrong(format!(
                    "that is less than a block of {BLOCK_BYTES} bytes; write a size such as {text}G, or \
                     a share such as 5%"
                )));
            }
            return Ok(Size::Blocks(bytes.div_ceil(BLOCK_BYTES)));
        };
        let whole = match of {
            "" | "footprint" => Whole::Footprint,
            "zones" => Whole::Zones,
            "written" => Whole::Written,
            _ if of.starts_with("..") => {
                let told = "`curve` and `sweep --vary cache=` take ranges; give sizes with commas between them";
                return Err(wrong(told.into()));
            }
            _ => {
                let known = ["footprint", "zones", "written"].into_iter();
                let names = nearest(of, known).join(", ");
                return Err(wrong(format!("percent of what? there are {names}")));
            }
        };
        let parts =
            parts(percent).ok_or_else(|| wrong("give a share above 0% and up to 100%".into()))?;
        Ok(Size::Share(parts, whole))
    }

    fn blocks(self, summary: &Summary) -> u64 {
        let (parts, whole) = match self {
            Size::Blocks(blocks) => return blocks,
            Size::Share(parts, whole) => (parts, whole),
        };
        let whole_bytes = match whole {
            Whole::Footprint => summary.distinct_blocks * BLOCK_BYTES,
            Whole::Zones => summary.accessed_zone_bytes(),
            Whole::Written => summary.written_zone_bytes(),
        };
        part_of(whole_bytes, parts).div_ceil(BLOCK_BYTES)
    }
}

/// Returns the blocks of a cache of the size `text`, as in `-c`, for a trace.
///
/// # Errors
/// If it is not a size.
pub fn share(text: &str, summary: &Summary) -> Result<u64, ExperimentError> {
    Ok(Size::parse(text)?.blocks(summary))
}

/// Checks that `text` is a cache size, without a trace.
///
/// # Errors
/// A message that says what to write instead.
pub fn check_size(text: &str) -> Result<(), ExperimentError> {
    Size::parse(text).map(drop)
}
