//! The trace of a run, and how its format was recognised.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_core::units::Request;
use shingle_trace::{Recognised, Summary};

/// The trace, after filters.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TraceInfo {
    /// File name or workload.
    pub name: String,
    /// Its format, or the built-in workload; null if a program made the requests.
    pub format: Option<TraceFormat>,
    /// Hash of the requests as they were run, after all filters ([`shingle_trace::hash`]).
    pub hash: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Blocks accessed: each block a read or write touches, once a request.
    pub blocks: u64,
    /// Of these, accessed by reads.
    pub read_blocks: u64,
    /// Of these, accessed by writes.
    pub write_blocks: u64,
    /// Different blocks accessed.
    pub distinct_blocks: u64,
    /// Bytes of the 5,000-block zones that any access touches.
    pub accessed_zone_bytes: u64,
    /// Bytes of the 5,000-block zones that writes touch.
    pub written_zone_bytes: u64,
}

impl TraceInfo {
    /// Creates the entry of a summarised trace of `requests`.
    #[must_use]
    pub fn new(
        name: &str,
        format: Option<&Recognised>,
        requests: &[Request],
        summary: &Summary,
    ) -> TraceInfo {
        TraceInfo::with_hash(name, format, shingle_trace::hash::hash(requests), summary)
    }

    /// Creates the entry of a trace whose [`hash`](shingle_trace::hash::hash) is known.
    #[must_use]
    pub fn with_hash(
        name: &str,
        format: Option<&Recognised>,
        hash: String,
        summary: &Summary,
    ) -> TraceInfo {
        TraceInfo {
            name: name.into(),
            format: format.map(TraceFormat::new),
            hash,
            requests: summary.requests.total(),
            blocks: summary.blocks(),
            read_blocks: summary.read_blocks,
            write_blocks: summary.write_blocks,
            distinct_blocks: summary.distinct_blocks,
            accessed_zone_bytes: summary.accessed_zone_bytes(),
            written_zone_bytes: summary.written_zone_bytes(),
        }
    }
}

/// The format of a trace, and how it was recognised.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TraceFormat {
    /// The name for `--format`, or of a built-in workload.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// How it was recognised: `told` (by `--format`), `magic` (only this format begins so),
    /// `header` (by the names of its columns), `lines` or `records` (those at the beginning fit
    /// this format and no other), or `workload` (it is built in).
    pub by: Cow<'static, str>,
    /// The same in words, with the number of lines or records that were checked.
    pub evidence: String,
}

impl TraceFormat {
    /// Creates the entry of a recognised format.
    #[must_use]
    pub fn new(recognised: &Recognised) -> TraceFormat {
        TraceFormat {
            name: recognised.name.into(),
            about: recognised.about.into(),
            by: recognised.evidence.kind().into(),
            evidence: recognised.evidence.to_string(),
        }
    }
}
