//! The state of a zone, and the part of it that survives without power.

use crate::geometry::Geometry;
use crate::zone::Condition;

/// The state of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneState {
    /// Its condition.
    pub condition: Condition,
    /// The write pointer, in blocks from the start of the zone. 0 in conventional zones.
    pub pointer: u32,
    /// The end of the written part: less than the pointer if the zone was finished early.
    pub written: u32,
    /// The bytes of the block at the pointer that were written before a power cut.
    pub torn_bytes: u16,
}

impl ZoneState {
    /// A conventional zone.
    pub const CONVENTIONAL: ZoneState = ZoneState::new(Condition::Conventional, 0);
    /// A sequential zone that was reset.
    pub const EMPTY: ZoneState = ZoneState::new(Condition::Empty, 0);

    const fn new(condition: Condition, pointer: u32) -> ZoneState {
        ZoneState { condition, pointer, written: pointer, torn_bytes: 0 }
    }

    /// A zone that is written up to `pointer` and not open. Bytes after its last whole block do not
    /// count: a capacity need not be a multiple of blocks, and the last block can never be
    /// completed.
    #[must_use]
    pub fn written(pointer: u32, torn_bytes: u16, geometry: &Geometry) -> ZoneState {
        let (condition, torn_bytes) = match u64::from(pointer) {
            0 if torn_bytes == 0 => (Condition::Empty, 0),
            at if at == geometry.zone_capacity_blocks => (Condition::Full, 0),
            _ => (Condition::Closed, torn_bytes),
        };
        ZoneState { torn_bytes, ..ZoneState::new(condition, pointer) }
    }

    /// The state after the loss of power: no zone is open then.
    #[must_use]
    pub fn settled(self) -> ZoneState {
        let condition = match self.condition {
            Condition::ImplicitOpen | Condition::ExplicitOpen if self.has_nothing() => {
                Condition::Empty
            }
            Condition::ImplicitOpen | Condition::ExplicitOpen => Condition::Closed,
            other => other,
        };
        ZoneState { condition, ..self }
    }

    /// The state after a failure for good: `condition` is read-only or offline.
    #[must_use]
    pub fn failed(self, condition: Condition, geometry: &Geometry) -> ZoneState {
        match self.condition {
            // It counts as written everywhere, as that is unknown.
            Condition::Conventional => {
                ZoneState::new(condition, geometry.zone_capacity_blocks as u32)
            }
            _ => ZoneState { condition, ..self },
        }
    }

    fn has_nothing(self) -> bool {
        self.pointer == 0 && self.torn_bytes == 0
    }

    /// Checks that the state is possible.
    pub fn check(self, geometry: &Geometry) -> Result<(), String> {
        let ZoneState { condition, pointer, written, torn_bytes } = self;
        let capacity = geometry.zone_capacity_blocks;
        let known = match condition {
            Condition::Conventional | Condition::Empty => self.has_nothing() && written == 0,
            Condition::ImplicitOpen | Condition::ExplicitOpen => u64::from(pointer) < capacity,
            Condition::Closed => u64::from(pointer) < capacity && !self.has_nothing(),
            Condition::Full => u64::from(pointer) == capacity && torn_bytes == 0,
            Condition::ReadOnly | Condition::Offline => u64::from(pointer) <= capacity,
        };
        let finished =
            matches!(condition, Condition::Full | Condition::ReadOnly | Condition::Offline);
        let told = finished || written == pointer;
        let torn = u32::from(torn_bytes) < 4096
            && u32::from(torn_bytes).is_multiple_of(geometry.physical_block_bytes)
            && (torn_bytes == 0 || u64::from(pointer) < capacity);
        if known && told && torn && written <= pointer {
            return Ok(());
        }
        let name = condition.name();
        Err(format!(
            "{name}, write pointer {pointer}, {written} blocks and {torn_bytes} bytes written"
        ))
    }
}
