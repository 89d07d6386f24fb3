//! The times of flash operations. [`crate::parts::schedule`] decides when a unit does them.

use shingle_core::units::Nanos;

/// The times of operations on a page or an erase block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Read of a page from the cells to the register of the unit.
    pub(crate) read: Nanos,
    /// Program of a page from the register to the cells.
    pub(crate) program: Nanos,
    pub(crate) erase: Nanos,
    /// Transfer of a page over the pins of the unit, in either direction. Each unit has its own
    /// pins: data moves to and from one while another programs.
    pub(crate) transfer: Nanos,
}

impl Times {
    /// Returns the time of collecting an erase block of which `copied` pages are copied. They stay
    /// within the unit (copy-back), so nothing goes over its pins.
    pub(crate) fn collection(&self, copied: u32) -> Nanos {
        Nanos((self.read + self.program).0 * u64::from(copied)) + self.erase
    }
}
