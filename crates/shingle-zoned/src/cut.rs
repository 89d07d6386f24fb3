//! The state of a zone after a power cut that came after unflushed writes.

use shingle_core::units::BLOCK_BYTES;

use crate::geometry::Geometry;
use crate::zone::Condition;
use crate::zones::ZoneState;

/// The state after a power cut of a zone that was in state `flushed` at the last flush and is in
/// state `last` now, without a reset in between. The write pointer is anywhere between the two, at
/// a physical block; `below(n)` draws a number below `n`. A zone that was finished may be finished
/// or not.
pub fn after_power_cut(
    flushed: ZoneState,
    last: ZoneState,
    geometry: &Geometry,
    below: &mut dyn FnMut(u64) -> u64,
) -> ZoneState {
    let last = last.settled();
    if last.condition == Condition::Conventional || flushed.condition == Condition::Full {
        return last;
    }
    let unit = u64::from(geometry.physical_block_bytes);
    let (per_block, units) = (BLOCK_BYTES / unit, |state: ZoneState| {
        (u64::from(state.written) * BLOCK_BYTES + u64::from(state.torn_bytes)) / unit
    });
    // A torn block in a finished zone is not written any more.
    let (low, high) = (units(flushed), units(last).max(units(flushed)));
    let finished = last.condition == Condition::Full && last.written < last.pointer;
    let drawn = low + below(high - low + 1 + u64::from(finished));
    if drawn > high {
        return last;
    }
    let (pointer, torn) = (drawn / per_block, drawn % per_block * unit);
    let cut = ZoneState::written(pointer as u32, torn as u16, geometry);
    match last.condition {
        condition @ (Condition::ReadOnly | Condition::Offline) => ZoneState { condition, ..cut },
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All states that a power cut may leave.
    fn cuts(
        flushed: ZoneState,
        last: ZoneState,
        geometry: &Geometry,
    ) -> Vec<(u32, u16, Condition)> {
        let mut found = BTreeSet::new();
        for at in 0.. {
            let mut most = 0;
            let cut = after_power_cut(flushed, last, geometry, &mut |below| {
                most = below;
                at.min(below - 1)
            });
            cut.check(geometry).expect("a zone can be so");
            found.insert((cut.pointer, cut.torn_bytes, cut.condition.name()));
            if at + 1 >= most {
                break;
            }
        }
        let named = |name| Condition::ALL.into_iter().find(|c| c.name() == name).expect("known");
        found.into_iter().map(|(pointer, torn, name)| (pointer, torn, named(name))).collect()
    }

    #[test]
    fn a_pointer_is_between_the_last_flush_and_the_last_write() {
        let disk = Geometry::new(1, 4);
        let written = |pointer| ZoneState::written(pointer, 0, &disk);
        let (empty, closed, full) = (Condition::Empty, Condition::Closed, Condition::Full);
        let some = [(1, 0, closed), (2, 0, closed), (3, 0, closed)];
        assert_eq!(cuts(written(1), written(3), &disk), some);
        assert_eq!(cuts(written(3), written(4), &disk), [(3, 0, closed), (4, 0, full)]);
        let open = ZoneState { condition: Condition::ExplicitOpen, ..written(0) };
        assert_eq!(cuts(written(0), open, &disk), [(0, 0, empty)]);
        let finished = ZoneState { written: 1, ..written(4) };
        assert_eq!(
            cuts(ZoneState::EMPTY, finished, &disk),
            [(0, 0, empty), (1, 0, closed), (4, 0, full)]
        );
        assert_eq!(cuts(finished, finished, &disk), [(4, 0, full)]);
        let lost = ZoneState { condition: Condition::Offline, ..written(2) };
        assert_eq!(cuts(written(2), lost, &disk), [(2, 0, Condition::Offline)]);
    }

    #[test]
    fn a_write_is_torn_at_a_physical_block() {
        let disk = Geometry { physical_block_bytes: 2048, ..Geometry::new(1, 2) };
        let written = |pointer| ZoneState::written(pointer, 0, &disk);
        let (empty, closed) = (Condition::Empty, Condition::Closed);
        assert_eq!(
            cuts(written(0), written(2), &disk),
            [
                (0, 0, empty),
                (0, 2048, closed),
                (1, 0, closed),
                (1, 2048, closed),
                (2, 0, Condition::Full)
            ]
        );
    }
}
