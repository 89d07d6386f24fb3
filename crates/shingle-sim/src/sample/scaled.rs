//! A drive for a sample: its buffer is scaled down as the sample is.

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::{self as drives, Buffer, Settings};

use super::part_of;

/// Returns `settings` of a disk for a sample of `millionths`: its buffer is scaled down by the same
/// factor.
pub(crate) fn scaled_settings(
    name: &str,
    settings: &Settings,
    millionths: u64,
) -> Result<Settings, String> {
    let make = |settings: &Settings| drives::make(name, settings).map_err(|e| e.to_string());
    let whole = make(settings)?.description().buffer_blocks;
    let wanted = part_of(whole, millionths).max(64);
    let sized = |bytes: u64| {
        let buffer = match settings.buffer {
            Buffer::Limits { extents, .. } => {
                let extents = part_of(extents, millionths).max(1);
                Buffer::Limits { log_bytes: bytes, extents }
            }
            Buffer::Real | Buffer::Bytes(_) => Buffer::Bytes(bytes),
        };
        Settings { buffer, ..settings.clone() }
    };
    // A buffer holds less than its bytes; this measures by how much.
    let bytes = wanted * BLOCK_BYTES;
    let fit = make(&sized(bytes))?.description().buffer_blocks.max(1);
    Ok(sized((u128::from(bytes) * u128::from(wanted) / u128::from(fit)) as u64))
}
