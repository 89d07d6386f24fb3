//! Counters of a translation over a zoned drive, beyond those of every drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters of a translation; all but the memory only grow. Blocks have 4 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
pub struct Translating {
    /// Blocks that the host wrote.
    pub written_blocks: u64,
    /// Of these, updates of blocks in the buffer (Amphisbaena §6.2, write hits).
    pub write_hits: u64,
    /// Of these, updates in a buffer for hot blocks (Amphisbaena's HFB).
    pub hot_hits: u64,
    /// Cleanings of the buffer: each frees space once.
    pub cleanings: u64,
    /// Zones written back.
    pub victims: u64,
    /// Of these, zones whose collection stopped early because a write to them waited.
    pub aborted: u64,
    /// Live blocks moved from the buffer to zones. Divided by `victims`: the average victim zone
    /// size of Amphisbaena §6.2.
    pub evicted_blocks: u64,
    /// Blocks moved within the buffer, or from zones to it.
    pub moved_blocks: u64,
    /// Chunks that the buffer for hot blocks gained.
    pub chunks_to_hot: u64,
    /// Chunks that it gave back.
    pub chunks_to_cold: u64,
    /// Never-written blocks, written to fill gaps: each gap counts once.
    pub padded_first_blocks: u64,
    /// The same, but a gap counts again whenever its zone is rewritten. This gives the volumes of
    /// Amphisbaena's Figure 16, which exceed the zones that its traces touch.
    pub padded_blocks: u64,
    /// Memory of the translation at the end, in bytes, everything included.
    pub memory_bytes: u64,
}
