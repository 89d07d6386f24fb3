//! Modes: which reads and writes of the client the cache takes.

use core::str::FromStr;

/// Which reads and writes the cache takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Reads and writes; writes reach the disk later.
    WriteBack,
    /// Reads and writes; a write is acknowledged when the disk has it, too.
    WriteThrough,
    /// Reads. Writes go to the disk; a write of a cached block is as in `WriteThrough`.
    WriteAround,
    /// Writes, as in `WriteBack`; reads that miss do not fill the cache.
    NoReadFill,
    /// Nothing new: cached blocks serve reads, and writes of them are as in `WriteThrough`.
    PassThrough,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 5] = [
        Mode::WriteBack,
        Mode::WriteThrough,
        Mode::WriteAround,
        Mode::NoReadFill,
        Mode::PassThrough,
    ];

    /// Returns the name in commands and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::WriteBack => "write-back",
            Mode::WriteThrough => "write-through",
            Mode::WriteAround => "write-around",
            Mode::NoReadFill => "no-read-fill",
            Mode::PassThrough => "pass-through",
        }
    }

    /// Returns whether an operation on a block that is not cached bypasses the cache.
    #[must_use]
    pub fn bypasses(self, write: bool) -> bool {
        match self {
            Mode::WriteBack | Mode::WriteThrough => false,
            Mode::WriteAround => write,
            Mode::NoReadFill => !write,
            Mode::PassThrough => true,
        }
    }

    /// Returns whether a write is acknowledged only when the disk has it.
    #[must_use]
    pub fn writes_through(self) -> bool {
        matches!(self, Mode::WriteThrough | Mode::WriteAround | Mode::PassThrough)
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let names = Mode::ALL.map(Mode::name);
        let found = Mode::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| format!("there is no mode `{text}`; there are {}", names.join(", ")))
    }
}
