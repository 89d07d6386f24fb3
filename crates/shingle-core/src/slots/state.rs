//! The state of a slot, in the bits of its record that no block's number needs.

/// Holds a block.
pub(super) const LIVE: u64 = 1 << 48;
/// Holds data the disk does not have yet.
pub(super) const DIRTY: u64 = 1 << 49;
/// Named as a victim: the policy has forgotten it, but it is still found.
pub(super) const LEAVING: u64 = 1 << 50;
/// Its data is on its way to the disk.
pub(super) const DESTAGING: u64 = 1 << 51;
/// Written again since its destage began.
pub(super) const REWRITTEN: u64 = 1 << 52;
/// One I/O under way: the top byte counts them.
pub(super) const PIN: u64 = 1 << 56;
pub(super) const PINS: u64 = 0xFF << 56;

/// What a slot was before it was touched.
#[derive(Clone, Copy)]
pub(crate) struct Before(pub(super) u64);

impl Before {
    #[inline]
    pub(crate) fn dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    #[inline]
    pub(crate) fn leaving(self) -> bool {
        self.0 & LEAVING != 0
    }
}

/// Whether a slot in this state holds a block and no I/O is under way on it.
#[inline]
pub(super) fn may_be_named(state: u64) -> bool {
    state & (PINS | LIVE | LEAVING | DESTAGING) == LIVE
}

/// Why a slot in this state may not be named.
#[cold]
pub(super) fn why_not(state: Option<u64>) -> &'static str {
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
