//! What a translation over a zoned drive has done, beyond what every drive counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters of a translation; all but the memory only grow. Blocks are of 4 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
pub struct Translating {
    /// Blocks that the host wrote.
    pub written_blocks: u64,
    /// Of these, updates of blocks in the buffer (Amphisbaena §6.2, write hits).
    pub write_hits: u64,
    /// Of these, in a buffer for hot blocks (Amphisbaena's HFB).
    pub hot_hits: u64,
    /// Cleanings of the buffer: each frees room once.
    pub cleanings: u64,
    /// Zones written back.
    pub victims: u64,
    /// Of these, those whose collection stopped early because a write for them waited.
    pub aborted: u64,
    /// Live blocks that left the buffer for zones. ÷ `victims`: the average victim zone size of
    /// Amphisbaena §6.2.
    pub evicted_blocks: u64,
    /// Blocks moved within the buffer, or from zones to it.
    pub moved_blocks: u64,
    /// Chunks that the buffer for hot blocks gained.
    pub chunks_to_hot: u64,
    /// Chunks that it gave back.
    pub chunks_to_cold: u64,
    /// Blocks that nobody wrote, written to fill gaps: each gap once.
    pub padded_first_blocks: u64,
    /// The same counted in every writing of a zone, so that a gap counts again whenever its zone is
    /// rewritten. Only so can the volumes of Amphisbaena's Figure 16 come about, which exceed the
    /// zones that its traces touch.
    pub padded_blocks: u64,
    /// Memory that the translation takes at the end, in bytes, everything included.
    pub memory_bytes: u64,
}
