//! Modes: what of the client's reads and writes the cache takes.

use core::str::FromStr;

/// What the cache takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Reads and writes; the disk gets writes later.
    WriteBack,
    /// Reads and writes; a write is answered when the disk has it, too.
    WriteThrough,
    /// Reads. Writes go to the disk, unless the block is cached: then as in `WriteThrough`.
    WriteAround,
    /// Writes, as in `WriteBack`; reads that miss leave no trace.
    NoReadFill,
    /// Nothing new: what is cached serves reads, and is written as in `WriteThrough`.
    PassThrough,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 5] = [
        Mode::WriteBack,
        Mode::WriteThrough,
        Mode::WriteAround,
        Mode::NoReadFill,
        Mode::PassThrough,
    ];

    /// As in commands and reports.
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

    /// What is not cached does not enter.
    #[must_use]
    pub fn bypasses(self, write: bool) -> bool {
        match self {
            Mode::WriteBack | Mode::WriteThrough => false,
            Mode::WriteAround => write,
            Mode::NoReadFill => !write,
            Mode::PassThrough => true,
        }
    }

    /// A write is answered when the disk has it.
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
