//! The state of the SSD of an engine: in use, or being exchanged.

/// The state of the SSD of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SsdState {
    /// In use, or failed.
    #[default]
    In,
    /// Being taken out: dirty blocks are being destaged.
    Leaving,
    /// Failed, and its invalidation could not be written. The disk has everything that was durable.
    Untold,
    /// Not used any more: the disk serves alone. The SSD may be removed.
    Out,
    /// Another SSD is about to be used.
    Entering,
}

impl SsdState {
    /// The name of the state.
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
