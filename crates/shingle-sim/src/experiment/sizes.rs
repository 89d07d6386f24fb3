//! Sizes as they are written: shares of what a trace touches, and plain ones.

use shingle_core::params::nearest;
use shingle_core::size;
use shingle_core::units::BLOCK_BYTES;
use shingle_trace::Summary;

use super::options::{ExperimentError, usage};

/// Thousandths of a percent, so that no rounding of floats decides a size. `percent` is a decimal number.
fn thousandths(percent: &str) -> Option<u64> {
    let value: f64 = percent.trim().parse().ok()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (value > 0.0 && value <= 100.0).then_some((value * 1000.0).round() as u64)
}

fn part_of(bytes: u64, thousandths: u64) -> u64 {
    (u128::from(bytes) * u128::from(thousandths) / 100_000) as u64
}

/// `percent` (a decimal number) of `bytes`.
pub(super) fn percent_of(percent: &str, bytes: u64) -> Option<u64> {
    Some(part_of(bytes, thousandths(percent)?))
}

/// The size of a cache, as in `-c`.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// Thousandths of a percent of something that a trace touches.
    Share(u64, Whole),
    Blocks(u64),
}

/// Of what a share is a share.
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
            // A share whose % was forgotten would be a cache of one block.
            if (1..BLOCK_BYTES).contains(&bytes) {
                return Err(wrong(format!(
                    "that is {bytes} bytes, less than a block of {BLOCK_BYTES}; write a size such as {text}G, or \
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
        let thousandths = thousandths(percent)
            .ok_or_else(|| wrong("give a share above 0% and up to 100%".into()))?;
        Ok(Size::Share(thousandths, whole))
    }

    fn blocks(self, summary: &Summary) -> u64 {
        let (thousandths, whole) = match self {
            Size::Blocks(blocks) => return blocks,
            Size::Share(thousandths, whole) => (thousandths, whole),
        };
        let whole_bytes = match whole {
            Whole::Footprint => summary.distinct_blocks * BLOCK_BYTES,
            Whole::Zones => summary.accessed_zone_bytes(),
            Whole::Written => summary.written_zone_bytes(),
        };
        part_of(whole_bytes, thousandths).div_ceil(BLOCK_BYTES)
    }
}

/// Blocks of a cache of the size `text`, as in `-c`, for a trace.
///
/// # Errors
/// If it is no size.
pub fn share(text: &str, summary: &Summary) -> Result<u64, ExperimentError> {
    Ok(Size::parse(text)?.blocks(summary))
}

/// Fails unless `text` is a size of a cache, whatever the trace.
///
/// # Errors
/// Says what it is to be.
pub fn check_size(text: &str) -> Result<(), ExperimentError> {
    Size::parse(text).map(drop)
}
