//! The time series of a run, in parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_core::units::Nanos;
use shingle_drive::BufferState;

use crate::counts::Counts;

/// The figures of one part of a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Point {
    /// Requests from the start of the run to the end of this part.
    pub requests: u64,
    /// Seconds from the start of the run to the end of this part.
    pub at_seconds: f64,
    /// Device time of this part.
    pub seconds: f64,
    /// Of that, cleaning.
    #[schemars(with = "Option<f64>")]
    pub clean_seconds: f64,
    /// Block accesses of this part.
    pub blocks: u64,
    /// Hits ÷ accesses of this part.
    pub hit_ratio: Option<f64>,
    /// Bands cleaned in this part.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Dirty blocks in the cache at the end of this part.
    pub dirty_blocks: u64,
    /// Blocks in the disk's buffer at the end of this part, counted as in `left`.
    #[schemars(with = "Option<u64>")]
    pub buffer_blocks: u64,
    /// Bands of the blocks in the buffer.
    #[schemars(with = "Option<u64>")]
    pub buffer_bands: u64,
}

impl Point {
    /// Creates the point at the end of a part with the counters `part`.
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

/// Addresses by time. A row is a group of neighbouring 5,000-block zones that the trace touches;
/// all rows have nearly the same number. Untouched zones belong to the row before them: only
/// host-side RMWs write there.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Heat {
    /// The first byte of the first zone of each row.
    pub row_first_bytes: Vec<u64>,
    /// For each part of the series, blocks that the host wrote, by row.
    pub written_blocks: Vec<Vec<u64>>,
    /// For each part of the series, blocks written to the disk, by row: by destages, bypassing
    /// writes and host-side RMWs.
    pub drive_written_blocks: Vec<Vec<u64>>,
}

/// Equal parts of a run's requests.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    requests: usize,
    parts: usize,
    ended: usize,
    next: usize,
}

impl Parts {
    /// Creates `parts` parts, or as many as there are requests.
    #[must_use]
    pub fn new(requests: usize, parts: u32) -> Parts {
        let mut this = Parts { requests, parts: requests.min(parts as usize), ended: 0, next: 0 };
        this.advance();
        this
    }

    fn advance(&mut self) {
        self.ended += 1;
        self.next = match self.parts {
            0 => 0,
            parts => (self.requests as u128 * self.ended as u128 / parts as u128) as usize,
        };
    }

    /// Returns whether a part ends with request `number`, counted from 1.
    #[inline]
    pub fn ends(&mut self, number: usize) -> bool {
        let ends = number == self.next;
        if ends {
            self.advance();
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_and_end_with_the_last_request() {
        let ends = |requests, parts| {
            let mut parts = Parts::new(requests, parts);
            (1..=requests).filter(|&number| parts.ends(number)).collect::<Vec<_>>()
        };
        assert_eq!(ends(10, 3), [3, 6, 10]);
        assert_eq!(ends(2, 5), [1, 2]);
        assert!(ends(5, 0).is_empty() && ends(0, 3).is_empty());
    }
}
