//! Exports that a process is to serve, and does not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An export that a process is to serve, and does not.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NotServed {
    /// Its name.
    pub export: String,
    /// The absolute path of its SSD.
    pub ssd: String,
    /// Why it is not served.
    pub why: String,
    /// Whether the process tries it again by itself.
    pub is_tried_again: bool,
}

impl fmt::Display for NotServed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = match self.is_tried_again {
            true => "it is tried again every 10 s",
            false => "a reload (SIGHUP) tries it again",
        };
        write!(f, "not served: {}; {next}", self.why)
    }
}
