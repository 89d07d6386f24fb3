//! How long flash operations take. When a unit has time for them says [`crate::parts::schedule`].

use shingle_core::units::Nanos;

/// How long operations on a page or an erase block take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// From the cells to the register of the unit.
    pub(crate) read: Nanos,
    /// From the register to the cells.
    pub(crate) program: Nanos,
    /// An erase block.
    pub(crate) erase: Nanos,
    /// A page over the pins of the unit, either way. Each unit has pins of its own: data moves to
    /// and from one while another programs.
    pub(crate) transfer: Nanos,
}

impl Times {
    /// Garbage collection of an erase block of which so many pages are copied. They stay within the
    /// unit (copy-back), so that nothing goes over its pins.
    pub(crate) fn collection(&self, copied: u32) -> Nanos {
        Nanos((self.read + self.program).0 * u64::from(copied)) + self.erase
    }
}
