//! The state of a slot, in the bits of its record that no block number needs.

/// Holds a block.
pub(super) const LIVE: u64 = 1 << 48;
/// Holds data the disk does not have yet.
pub(super) const DIRTY: u64 = 1 << 49;
/// Named as a victim: in no order of the policy, but lookups find it.
pub(super) const LEAVING: u64 = 1 << 50;
/// A destage of it is in flight.
pub(super) const DESTAGING: u64 = 1 << 51;
/// Written again since its destage began.
pub(super) const REWRITTEN: u64 = 1 << 52;
/// One I/O in flight: the top byte counts them.
pub(super) const PIN: u64 = 1 << 56;
pub(super) const PINS: u64 = 0xFF << 56;

/// The state of a slot before a touch.
#[derive(Clone, Copy)]
pub(crate) struct OldState(pub(super) u64);

impl OldState {
    #[inline]
    pub(crate) fn dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    #[inline]
    pub(crate) fn leaving(self) -> bool {
        self.0 & LEAVING != 0
    }
}

/// Returns whether a slot in this state holds a block and has no I/O in flight.
#[inline]
pub(super) fn is_evictable(state: u64) -> bool {
    state & (PINS | LIVE | LEAVING | DESTAGING) == LIVE
}

/// Says why a slot in this state may not be named.
#[cold]
pub(super) fn refusal_reason(state: Option<u64>) -> &'static str {
    match state {
        None => "which does not exist",
        Some(state) if state & LIVE == 0 => {
            "which holds no block: a clean one is gone once it was named, a trimmed one before"
        }
        Some(state) if state & LEAVING != 0 => {
            "which was named before and is on its way to the disk"
        }
        Some(state) if state & DESTAGING != 0 => "which is being written to the disk",
        Some(state) if state & PINS != 0 => "which is in use: I/O on it is under way",
        Some(_) => "which is clean",
    }
}
