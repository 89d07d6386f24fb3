//! The rules of zones (ZBC/ZAC, sequential write required; capacity and active zones as in ZNS): conditions, write
//! pointers, which zones are open, and what is refused. Pure: no I/O, no data. Every disk of this crate obeys this one
//! piece, the one in memory, the one in a file, and what this crate knows of a block device.
//!
//! A zone is opened by a command (explicitly) or by a write (implicitly). When one zone too many is opened, that opened
//! longest ago by a write is closed for it; those opened by commands stay open. A write is two steps, as a disk takes
//! time in between: [`Zones::admit`] refuses it or opens the zone for it, [`Zones::advance`] moves the write pointer.

use std::collections::{BTreeMap, BTreeSet};

use shingle_core::units::{Block, Zone};

use crate::error::{Reason, Refused};
use crate::geometry::{Geometry, ReadsBeyond};
use crate::zone::{Condition, ZoneReport};

/// What a disk knows of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneState {
    /// Its condition.
    pub condition: Condition,
    /// The write pointer, in blocks from the start of the zone. 0 in conventional zones.
    pub pointer: u32,
    /// How far the zone holds what was written: less than the pointer where it was finished before.
    pub written: u32,
    /// Bytes of the block at the pointer that were written before a power cut.
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

    /// A zone written up to `pointer`, that is not open. Bytes behind its last block do not count: a capacity need not be
    /// whole blocks, and what of a block is there can never be completed.
    #[must_use]
    pub fn written(pointer: u32, torn_bytes: u16, geometry: &Geometry) -> ZoneState {
        let (condition, torn_bytes) = match u64::from(pointer) {
            0 if torn_bytes == 0 => (Condition::Empty, 0),
            at if at == geometry.zone_capacity_blocks => (Condition::Full, 0),
            _ => (Condition::Closed, torn_bytes),
        };
        ZoneState { torn_bytes, ..ZoneState::new(condition, pointer) }
    }

    /// What is left of it when the disk has no power: no zone is open then.
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

    /// What becomes of it when it fails for good: `condition` is read-only or offline.
    #[must_use]
    pub fn failed(self, condition: Condition, geometry: &Geometry) -> ZoneState {
        match self.condition {
            // It was written everywhere, as far as anybody knows.
            Condition::Conventional => {
                ZoneState::new(condition, geometry.zone_capacity_blocks as u32)
            }
            _ => ZoneState { condition, ..self },
        }
    }

    fn has_nothing(self) -> bool {
        self.pointer == 0 && self.torn_bytes == 0
    }

    /// Whether a zone can be so.
    ///
    /// # Errors
    /// What cannot be.
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

/// See the module.
#[derive(Clone, Debug)]
pub struct Zones {
    geometry: Geometry,
    zones: Vec<ZoneState>,
    /// When each was opened by a write; of no meaning in other zones.
    turns: Vec<u64>,
    /// Those opened by a write, the one opened longest ago first.
    implicit: BTreeMap<u64, Zone>,
    explicit: u32,
    closed: u32,
    turn: u64,
    /// Zones that are no longer as they were when they were last taken from here.
    changed: BTreeSet<Zone>,
}

impl Zones {
    /// Zones of a new disk.
    ///
    /// # Panics
    /// If there can be no such disk: [`Geometry::check`].
    #[must_use]
    pub fn new(geometry: Geometry) -> Zones {
        let conventional = geometry.conventional_zones;
        let new =
            |zone| if zone < conventional { ZoneState::CONVENTIONAL } else { ZoneState::EMPTY };
        Zones::restore(geometry, (0..geometry.zones).map(new).collect())
            .expect("zones of a new disk")
    }

    /// Zones as they were found on a disk.
    ///
    /// # Errors
    /// If a zone cannot be so, or there is no such disk.
    pub fn restore(geometry: Geometry, zones: Vec<ZoneState>) -> Result<Zones, String> {
        geometry.check().map_err(|error| error.to_string())?;
        if zones.len() != geometry.zones as usize {
            return Err(format!("{} zones, not {}", zones.len(), geometry.zones));
        }
        let mut restored = Zones {
            geometry,
            turns: vec![0; zones.len()],
            zones: Vec::new(),
            implicit: BTreeMap::new(),
            explicit: 0,
            closed: 0,
            turn: 0,
            changed: BTreeSet::new(),
        };
        for (zone, &state) in (0..).zip(&zones) {
            state.check(&geometry).map_err(|what| format!("zone {zone}: {what}"))?;
            use Condition::{Conventional, Offline, ReadOnly};
            let conventional = matches!(state.condition, Conventional | Offline | ReadOnly);
            if zone < geometry.conventional_zones && !conventional {
                return Err(format!("zone {zone}: {}, not conventional", state.condition.name()));
            }
            restored.zones.push(ZoneState::EMPTY);
            restored.put(Zone(zone), state);
        }
        restored.changed.clear();
        Ok(restored)
    }

    /// What the disk is like.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// A zone.
    #[must_use]
    pub fn state(&self, zone: Zone) -> ZoneState {
        self.zones[zone.index()]
    }

    /// A zone as a host is told of it.
    #[must_use]
    pub fn report(&self, zone: Zone) -> ZoneReport {
        report(&self.geometry, zone, self.state(zone))
    }

    /// Zones whose state is no longer what it was when this was last asked.
    pub fn take_changed(&mut self) -> BTreeSet<Zone> {
        std::mem::take(&mut self.changed)
    }

    /// How far a zone holds what was written: a conventional one everywhere, also when it has failed.
    #[must_use]
    pub fn written_end(&self, zone: Zone) -> u64 {
        match self.state(zone) {
            state if has_no_pointer(&self.geometry, zone, state) => self.geometry.zone_blocks,
            state => u64::from(state.written),
        }
    }

    fn is_conventional(&self, zone: Zone) -> bool {
        self.state(zone).condition == Condition::Conventional
    }

    // ── What the rules allow ─────────────────────────────────────────────────────────────────

    fn pointer(&self, zone: Zone) -> Block {
        self.geometry.first(zone).after(u64::from(self.state(zone).pointer))
    }

    fn in_range(&self, block: Block, count: u64) -> Result<(Zone, u64), Refused> {
        let blocks = self.geometry.blocks();
        match self.geometry.place(block) {
            Some(place) if block.0.checked_add(count).is_some_and(|end| end <= blocks) => Ok(place),
            _ => Err(Refused { zone: None, reason: Reason::OutOfRange { blocks } }),
        }
    }

    /// Whether there is such a zone.
    ///
    /// # Errors
    /// If the disk ends before.
    pub fn may_name(&self, zone: Zone) -> Result<(), Refused> {
        self.in_range(self.geometry.first(zone), 0).map(|_| ())
    }

    /// Whether blocks may be read. Reads may cross zones.
    ///
    /// # Errors
    /// The rule that forbids it.
    pub fn may_read(&self, block: Block, count: u64) -> Result<(), Refused> {
        self.in_range(block, count)?;
        let refuses = self.geometry.reads_beyond == ReadsBeyond::Refused;
        for (zone, offset, count) in self.pieces(block, count) {
            let state = self.state(zone);
            let end = match state.condition {
                Condition::Offline => return refuse(zone, Reason::Offline),
                _ if has_no_pointer(&self.geometry, zone, state) => self.geometry.zone_blocks,
                _ => u64::from(state.pointer),
            };
            if refuses && offset + count > end {
                return refuse(
                    zone,
                    Reason::ReadBeyond { pointer: self.geometry.first(zone).after(end) },
                );
            }
        }
        Ok(())
    }

    /// The parts of a run of blocks that lie in one zone each: the zone, how far into it, how many.
    pub fn pieces(
        &self,
        block: Block,
        count: u64,
    ) -> impl Iterator<Item = (Zone, u64, u64)> + use<> {
        let (geometry, end) = (self.geometry, block.0 + count);
        let mut next = block.0;
        std::iter::from_fn(move || {
            let (zone, offset) = geometry.place(Block(next)).filter(|_| next < end)?;
            let count = (geometry.zone_blocks - offset).min(end - next);
            next += count;
            Some((zone, offset, count))
        })
    }

    /// Whether commands may move the write pointer of a zone, forwards or back.
    fn may_move(&self, zone: Zone) -> Result<(), Refused> {
        self.may_name(zone)?;
        match self.state(zone).condition {
            Condition::Conventional => refuse(zone, Reason::Conventional),
            Condition::ReadOnly => refuse(zone, Reason::ReadOnly),
            Condition::Offline => refuse(zone, Reason::Offline),
            _ => Ok(()),
        }
    }

    /// Whether a zone, open or not, may be open.
    fn may_be_open(&self, zone: Zone) -> Result<(), Refused> {
        let Geometry { max_open, max_active, .. } = self.geometry;
        let state = self.state(zone);
        // As long as not all were opened by commands there is one to close, or room for one more.
        if max_open != 0 && !state.condition.is_open() && self.explicit >= max_open {
            return refuse(zone, Reason::TooManyOpen { max: max_open });
        }
        let active = self.explicit as usize + self.implicit.len() + self.closed as usize;
        if max_active != 0 && state.condition == Condition::Empty && active >= max_active as usize {
            return refuse(zone, Reason::TooManyActive { max: max_active });
        }
        Ok(())
    }

    /// Whether blocks, of which the first lies in `first`, a conventional zone, all lie in such.
    fn may_write_anywhere(&self, first: Zone, block: Block, count: u64) -> Result<(), Refused> {
        let end = self.geometry.blocks();
        let inside = self.pieces(block, count.min(end - block.0));
        let other = inside.map(|(zone, ..)| zone).find(|&zone| !self.is_conventional(zone));
        let end = Block(other.map_or(end, |zone| self.geometry.first(zone).0));
        match end.0 - block.0 < count {
            true => refuse(first, Reason::Boundary { end }),
            false => Ok(()),
        }
    }

    fn may_write(&self, block: Block, count: u64) -> Result<Zone, Refused> {
        // Where it ends beyond the disk it ends beyond its zone.
        let (zone, offset) = self.in_range(block, 0)?;
        if self.is_conventional(zone) {
            return self.may_write_anywhere(zone, block, count).map(|()| zone);
        }
        self.may_move(zone)?;
        let (state, capacity) = (self.state(zone), self.geometry.zone_capacity_blocks);
        let pointer = self.pointer(zone);
        match () {
            () if state.condition == Condition::Full => refuse(zone, Reason::Full),
            () if capacity.saturating_sub(offset) < count => {
                refuse(zone, Reason::Boundary { end: self.geometry.first(zone).after(capacity) })
            }
            () if block != pointer => refuse(zone, Reason::NotAtPointer { pointer }),
            () if state.torn_bytes > 0 => refuse(zone, Reason::Torn { pointer }),
            () => self.may_be_open(zone).map(|()| zone),
        }
    }

    /// Where an append to a zone begins; whether it may, [`Zones::admit`] says.
    ///
    /// # Errors
    /// If the zone has no write pointer to append at.
    pub fn append_at(&self, zone: Zone) -> Result<Block, Refused> {
        self.may_move(zone)?;
        match self.state(zone).condition {
            Condition::Full => refuse(zone, Reason::Full),
            _ => Ok(self.pointer(zone)),
        }
    }

    // ── What is done ─────────────────────────────────────────────────────────────────────────

    /// Takes a write in, and opens its zone. The zone of its first block.
    ///
    /// # Errors
    /// The rule that forbids it; then nothing has changed.
    pub fn admit(&mut self, block: Block, count: u64) -> Result<Zone, Refused> {
        let zone = self.may_write(block, count)?;
        if count > 0 && !self.is_conventional(zone) && !self.state(zone).condition.is_open() {
            self.make_place();
            self.set_condition(zone, Condition::ImplicitOpen);
        }
        Ok(zone)
    }

    /// A write that was admitted is done, or so many blocks of it. False if the write pointer is no longer where the
    /// write began.
    pub fn advance(&mut self, block: Block, count: u64) -> bool {
        let Some((zone, offset)) = self.geometry.place(block) else { return false };
        let state = self.state(zone);
        match state.condition {
            Condition::Conventional => return true,
            _ if self.may_move(zone).is_err() || u64::from(state.pointer) != offset => {
                return false;
            }
            _ => {}
        }
        let pointer = (offset + count) as u32;
        let at_end = u64::from(pointer) == self.geometry.zone_capacity_blocks;
        let condition = match state.condition {
            _ if at_end => Condition::Full,
            // It was closed for another zone meanwhile.
            Condition::Empty if count > 0 => Condition::Closed,
            other => other,
        };
        self.put(zone, ZoneState { condition, pointer, written: pointer, torn_bytes: 0 });
        true
    }

    /// Opens a zone by command.
    ///
    /// # Errors
    /// The rule that forbids it; then nothing has changed.
    pub fn open(&mut self, zone: Zone) -> Result<(), Refused> {
        self.may_move(zone)?;
        let condition = self.state(zone).condition;
        if matches!(condition, Condition::Full | Condition::ExplicitOpen) {
            return Ok(());
        }
        self.may_be_open(zone)?;
        if !condition.is_open() {
            self.make_place();
        }
        self.set_condition(zone, Condition::ExplicitOpen);
        Ok(())
    }

    /// The zone is no longer open.
    ///
    /// # Errors
    /// The rule that forbids it; then nothing has changed.
    pub fn close(&mut self, zone: Zone) -> Result<(), Refused> {
        self.may_move(zone)?;
        let settled = self.state(zone).settled();
        self.put(zone, settled);
        Ok(())
    }

    /// The zone is full. For a moment it takes a place among the open ones.
    ///
    /// # Errors
    /// The rule that forbids it; then nothing has changed.
    pub fn finish(&mut self, zone: Zone) -> Result<(), Refused> {
        self.may_move(zone)?;
        let state = self.state(zone);
        if state.condition == Condition::Full {
            return Ok(());
        }
        self.may_be_open(zone)?;
        if !state.condition.is_open() {
            self.make_place();
        }
        let pointer = self.geometry.zone_capacity_blocks as u32;
        self.put(zone, ZoneState { condition: Condition::Full, pointer, torn_bytes: 0, ..state });
        Ok(())
    }

    /// The zone is empty.
    ///
    /// # Errors
    /// The rule that forbids it; then nothing has changed.
    pub fn reset(&mut self, zone: Zone) -> Result<(), Refused> {
        self.may_move(zone)?;
        self.put(zone, ZoneState::EMPTY);
        Ok(())
    }

    /// Zones that a reset of all empties: those that hold something and can be reset.
    #[must_use]
    pub fn to_reset(&self) -> Vec<Zone> {
        let zones = (0..self.geometry.zones).map(Zone);
        let resets =
            |&zone: &Zone| self.may_move(zone).is_ok() && self.state(zone) != ZoneState::EMPTY;
        zones.filter(resets).collect()
    }

    /// The zone is like this, whatever the rules say: so the device tells, or it has failed.
    pub fn put(&mut self, zone: Zone, state: ZoneState) {
        let before = std::mem::replace(&mut self.zones[zone.index()], state);
        if before.condition != state.condition {
            self.count(zone, before.condition, false);
            self.count(zone, state.condition, true);
        }
        if before.settled() != state.settled() {
            self.changed.insert(zone);
        }
    }

    fn set_condition(&mut self, zone: Zone, condition: Condition) {
        let state = self.state(zone);
        self.put(zone, ZoneState { condition, ..state });
    }

    /// Notes that a zone is in a condition now, or no longer.
    fn count(&mut self, zone: Zone, condition: Condition, now: bool) {
        let by = |count: u32| if now { count + 1 } else { count - 1 };
        match condition {
            Condition::ExplicitOpen => self.explicit = by(self.explicit),
            Condition::Closed => self.closed = by(self.closed),
            Condition::ImplicitOpen if now => {
                self.turn += 1;
                self.turns[zone.index()] = self.turn;
                self.implicit.insert(self.turn, zone);
            }
            Condition::ImplicitOpen => drop(self.implicit.remove(&self.turns[zone.index()])),
            _ => {}
        }
    }

    /// Closes the zone opened longest ago by a write, if all places are taken.
    fn make_place(&mut self) {
        let max = self.geometry.max_open as usize;
        if max == 0 || self.explicit as usize + self.implicit.len() < max {
            return;
        }
        if let Some((_, &zone)) = self.implicit.first_key_value() {
            let settled = self.state(zone).settled();
            self.put(zone, settled);
        }
    }

    /// Panics if an invariant is broken. For tests.
    ///
    /// # Panics
    /// See above.
    pub fn validate(&self) {
        let with = |condition| {
            let zones = self.zones.iter();
            zones.filter(|state| state.condition == condition).count()
        };
        assert_eq!(with(Condition::ExplicitOpen), self.explicit as usize);
        assert_eq!(with(Condition::Closed), self.closed as usize);
        assert_eq!(with(Condition::ImplicitOpen), self.implicit.len());
        let open = self.explicit as usize + self.implicit.len();
        assert!(self.geometry.max_open == 0 || open <= self.geometry.max_open as usize);
        for (at, state) in (0..).zip(&self.zones) {
            state.check(&self.geometry).unwrap_or_else(|what| panic!("zone {at}: {what}"));
        }
    }
}

fn refuse<T>(zone: Zone, reason: Reason) -> Result<T, Refused> {
    Err(Refused { zone: Some(zone), reason })
}

/// Whether a zone is conventional, also if it has failed since.
fn has_no_pointer(geometry: &Geometry, zone: Zone, state: ZoneState) -> bool {
    state.condition == Condition::Conventional || geometry.is_conventional(zone)
}

/// A zone as a host is told of it.
pub(crate) fn report(geometry: &Geometry, zone: Zone, state: ZoneState) -> ZoneReport {
    use Condition::{Conventional, Offline, ReadOnly};
    let told = !matches!(state.condition, Conventional | ReadOnly | Offline);
    ZoneReport {
        zone,
        first: geometry.first(zone),
        blocks: geometry.zone_blocks,
        capacity_blocks: if has_no_pointer(geometry, zone, state) {
            geometry.zone_blocks
        } else {
            geometry.zone_capacity_blocks
        },
        condition: state.condition,
        write_pointer: told.then_some(u64::from(state.pointer)),
        torn_bytes: if told { u32::from(state.torn_bytes) } else { 0 },
    }
}
