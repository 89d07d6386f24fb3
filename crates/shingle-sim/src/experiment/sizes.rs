//! Sizes as they are written: shares of what a trace touches, and plain ones.

use shingle_core::params::nearest;
use shingle_core::size;
use shingle_core::units::BLOCK_BYTES;
use shingle_trace::Summary;

use super::options::{ExperimentError, usage};

/// `percent` (a decimal number) of `bytes`.
pub(super) fn percent_of(percent: &str, bytes: u64) -> Option<u64> {
    let value: f64 = percent.trim().parse().ok()?;
    if !(value > 0.0 && value <= 100.0) {
        return None;
    }
    // Thousandths of a percent, so that no rounding of floats decides a size.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let thousandths = (value * 1000.0).round() as u64;
    Some((u128::from(bytes) * u128::from(thousandths) / 100_000) as u64)
}

/// Blocks of a cache of the size `text`, as in `-c`, for a trace.
///
/// # Errors
/// If it is no size.
pub fn share(text: &str, summary: &Summary) -> Result<u64, ExperimentError> {
    let wrong = |why: String| usage(format!("-c {text}: {why}"));
    let blocks = match text.split_once('%') {
        Some((percent, of)) => {
            let bytes = match of {
                "" | "footprint" => summary.distinct_blocks * BLOCK_BYTES,
                "zones" => summary.accessed_zone_bytes(),
                "written" => summary.written_zone_bytes(),
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
            let share = percent_of(percent, bytes)
                .ok_or_else(|| wrong("give a share above 0% and up to 100%".into()))?;
            share.div_ceil(BLOCK_BYTES)
        }
        None => {
            let bytes = size::parse_bytes(text)
                .map_err(|error| wrong(format!("{error}, or a share such as 5%")))?;
            // A share whose % was forgotten would be a cache of one block.
            if (1..BLOCK_BYTES).contains(&bytes) {
                return Err(wrong(format!(
                    "that is {bytes} bytes, less than a block of {BLOCK_BYTES}; write a size such as {text}G, or \
                     a share such as 5%"
                )));
            }
            bytes.div_ceil(BLOCK_BYTES)
        }
    };
    Ok(blocks)
}
