//! How the SSD of an engine is doing: used, or exchanged.

/// How the SSD of an engine is doing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SsdState {
    /// It is used, or has failed.
    #[default]
    In,
    /// It is being taken out: what is dirty goes to the disk.
    Leaving,
    /// It has failed, and does not take that nothing on it counts. The disk has everything that was durable.
    Untold,
    /// It is not used any more, and the disk serves alone. It may be removed.
    Out,
    /// Another one is about to be used.
    Entering,
}

impl SsdState {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SsdState::In => "in",
            SsdState::Leaving => "leaving",
            SsdState::Untold => "untold",
            SsdState::Out => "out",
            SsdState::Entering => "entering",
        }
    }
}
