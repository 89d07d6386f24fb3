//! The labels of a run: everything that is known before it begins.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pacing {
    /// Each when the previous one is complete.
    Closed,
    /// At their timestamps.
    Open,
}

impl Pacing {
    /// Returns the name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Closed => "closed",
            Pacing::Open => "trace",
        }
    }
}

/// The head of a result.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Default)]
pub struct Labels {
    /// Seed of a synthetic trace.
    pub seed: u64,
    /// Policy.
    pub policy: String,
    /// Parameters of policy and cache.
    pub parameters: BTreeMap<String, String>,
    /// Drive.
    pub drive: String,
    /// Settings of the drive: buffer, timing and parameters that differ from its sheet.
    pub drive_parameters: BTreeMap<String, String>,
    /// Blocks of the persistent buffer of the disk or the translation; null for a disk without one,
    /// and for a real disk.
    #[serde(default)]
    pub pb_blocks: Option<u64>,
    /// SSD the cache is on.
    pub ssd: String,
    /// Translation over the drive; null if there is none.
    pub translation: Option<String>,
    /// Its parameters, and how long the drive must be idle before it works; null if there is none.
    pub translation_parameters: Option<BTreeMap<String, String>>,
    /// Slots of the cache.
    pub cache_blocks: u64,
    /// `rw`, `w` or `r`.
    pub mode: Cow<'static, str>,
    /// `closed` or `trace`.
    pub pacing: Cow<'static, str>,
    /// Whether the policy is given the true bands of the drive.
    pub knows_bands: bool,
}
