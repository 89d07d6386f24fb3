//! The size of the buffer of a drive or of a translation.

use std::collections::BTreeMap;

use shingle_core::size;
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Buffer;
use shingle_drive::Description;
use shingle_trace::Summary;

use super::options::{ExperimentError, Options, usage};
use super::sizes::percent_of;

/// Buffers are scaled to this many thousandths of the touched zones (PORE §V-A.3: 20 GB of 5 TB)…
const SCALED_BUFFER_THOUSANDTHS: u64 = 4;
/// …for traces that touch less than one such part of the drive.
pub(super) const TOUCHED_PART: u64 = 10;

/// Chooses the size of the buffer: as requested, or scaled with the data.
pub(super) fn buffer(
    name: &str,
    options: &Options,
    summary: &Summary,
    real: &Description,
    shown: &mut BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> Result<Buffer, ExperimentError> {
    let touched = summary.accessed_zone_bytes();
    let scaled = |thousandths: u64| (touched * thousandths / 1000).max(BLOCK_BYTES);
    let extents = extents(options)?;
    let log_bytes = match options.sets.last("drive", "pb") {
        Some(text) => pb_bytes(text, touched)?,
        None if touched < real.disk_blocks * BLOCK_BYTES / TOUCHED_PART => {
            let bytes = scaled(SCALED_BUFFER_THOUSANDTHS);
            notes.push(format!(
                "{name}: the trace touches {} of {}, so the drive's buffer is scaled to 0.4% of \
                 that, {} (--set drive.pb=real for the drive's own)",
                size::show_bytes(touched),
                size::show_blocks(real.disk_blocks),
                size::show_bytes(bytes),
            ));
            notes.extend(holds_all(name, bytes, summary));
            Some(bytes)
        }
        None => None,
    };
    shown.insert("pb".into(), shown_pb(log_bytes));
    shown.extend(extents.map(|extents| ("extents".into(), extents.to_string())));
    Ok(Buffer::of(log_bytes, extents))
}

/// Checks the settings of a buffer that do not depend on the trace.
pub(super) fn check_buffer(options: &Options) -> Result<(), ExperimentError> {
    extents(options)?;
    // With a whole so large that no share of it is less than a block.
    options.sets.last("drive", "pb").map_or(Ok(()), |text| pb_bytes(text, u64::MAX).map(drop))
}

/// Returns the number of map entries requested.
fn extents(options: &Options) -> Result<Option<u64>, ExperimentError> {
    let Some(text) = options.sets.last("drive", "extents") else { return Ok(None) };
    let extents = Buffer::parse_extents(text);
    extents.map(Some).map_err(|error| usage(format!("drive.extents={text}: {error}")))
}

/// Returns a note if a scaled buffer has room for all that is written. The data of a sparse trace
/// is much less than the zones it touches.
pub(super) fn holds_all(name: &str, buffer_bytes: u64, summary: &Summary) -> Option<String> {
    let written = summary.distinct_written_blocks * BLOCK_BYTES;
    (0 < written && written <= buffer_bytes).then(|| {
        format!(
            "{name}: the trace is sparse: that buffer has room for all {} it writes, so that little or \
             nothing need be cleaned; a smaller one (--set drive.pb=SIZE) shows more",
            size::show_bytes(written),
        )
    })
}

/// Returns the value of `drive.pb` in bytes: a share of `whole`, a size, or `None` for `real`.
pub(super) fn pb_bytes(text: &str, whole: u64) -> Result<Option<u64>, ExperimentError> {
    let bytes = match text.strip_suffix('%') {
        None => match size::parse_bytes(text) {
            Err(error) if text != "real" => Err(format!("{error}, a share such as 0.4%, or real")),
            _ => Buffer::parse_log(text),
        },
        Some(percent) => match percent_of(percent, whole) {
            None => Err("give a share such as 0.4%, a size, or real".into()),
            Some(bytes) => Buffer::check_log(bytes).map(Some),
        },
    };
    bytes.map_err(|error| usage(format!("drive.pb={text}: {error}")))
}

/// Formats the size of a buffer as a user would write it.
pub(super) fn shown_pb(bytes: Option<u64>) -> String {
    bytes.map_or("real".into(), |bytes| format!("{}b", bytes / BLOCK_BYTES))
}
