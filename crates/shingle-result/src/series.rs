//! The course of a run, in parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_core::units::Nanos;
use shingle_drive::drive::BufferState;

use crate::counts::Counts;

/// What happened in one part of a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Point {
    /// Requests from the start of the run to the end of this part.
    pub requests: u64,
    /// Virtual seconds from the start of the run to the end of this part.
    pub at_seconds: f64,
    /// Device time of this part.
    pub seconds: f64,
    /// Of that, cleaning.
    pub clean_seconds: f64,
    /// Block accesses of this part.
    pub blocks: u64,
    /// Hits ÷ accesses of this part.
    pub hit_ratio: Option<f64>,
    /// Bands cleaned in this part.
    pub rmw: u64,
    /// Dirty blocks in the cache at the end of this part.
    pub dirty_blocks: u64,
    /// Blocks in the disk's buffer at the end of this part, counted as in `left`.
    pub buffer_blocks: u64,
    /// Bands to which those in the buffer belong.
    pub buffer_bands: u64,
}

impl Point {
    /// The end of a part in which `part` was counted.
    #[must_use]
    pub fn of(
        requests: usize,
        at: Nanos,
        part: &Counts,
        dirty_blocks: u64,
        buffer: &BufferState,
    ) -> Point {
        Point {
            requests: requests as u64,
            at_seconds: at.as_secs_f64(),
            seconds: part.seconds.total,
            clean_seconds: part.seconds.by_cause.clean,
            blocks: part.accesses.read_blocks + part.accesses.write_blocks,
            hit_ratio: part.hits.ratio,
            rmw: part.drive_io.rmw,
            dirty_blocks,
            buffer_blocks: buffer.pending_blocks(),
            buffer_bands: buffer.bands,
        }
    }
}

/// Addresses by time. A row is a number of neighbouring 5,000-block zones that the trace touches,
/// all rows nearly the same number; those between that it does not touch are in none.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Heat {
    /// The first byte of the first zone of each row.
    pub row_first_bytes: Vec<u64>,
    /// For each part of the series, blocks that the host wrote, by row.
    pub written_blocks: Vec<Vec<u64>>,
    /// For each part of the series, blocks that the disk was asked to write, by row: what dirty
    /// evictions, bypassing writes and host-side RMWs send it.
    pub drive_written_blocks: Vec<Vec<u64>>,
}
