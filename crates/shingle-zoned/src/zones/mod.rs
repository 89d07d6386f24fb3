//! The rules of zones (ZBC/ZAC, sequential write required; capacity and active zones as in ZNS):
//! conditions, write pointers, which zones are open, and which commands are refused. No I/O and no
//! data. All disks of this crate use this module: the one in memory, the one in a file, and the
//! model of a block device.
//!
//! A zone is opened by a write (implicitly). If the limit is exceeded, the zone that was opened
//! longest ago is closed. Zones that were opened by a command (explicitly) stay open: no host of
//! this crate sends it, but a device may report such zones. A write has two steps, as a disk takes time in between: [`Zones::admit`] refuses it or opens its
//! zone, [`Zones::advance`] moves the write pointer.

mod rules;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use shingle_core::units::{Block, Zone};

use crate::disk::ZoneCommand;
use crate::error::Refused;
use crate::geometry::Geometry;
use crate::zone::{Condition, ZoneReport};

pub use state::ZoneState;

/// The zones of a disk; see the module.
#[derive(Clone, Debug)]
pub struct Zones {
    geometry: Geometry,
    zones: Vec<ZoneState>,
    /// When each zone was implicitly opened; not used for other zones.
    turns: Vec<u64>,
    /// The implicitly opened zones, by the time of opening.
    implicit: BTreeMap<u64, Zone>,
    explicit: u32,
    closed: u32,
    turn: u64,
    /// Zones that have changed since [`Zones::take_changed`].
    changed: BTreeSet<Zone>,
}

impl Zones {
    /// The zones of a new disk.
    ///
    /// # Panics
    /// If the geometry is not possible: [`Geometry::check`].
    #[must_use]
    pub fn new(geometry: Geometry) -> Zones {
        let conventional = geometry.conventional_zones;
        let new =
            |zone| if zone < conventional { ZoneState::CONVENTIONAL } else { ZoneState::EMPTY };
        Zones::restore(geometry, (0..geometry.zones).map(new).collect())
            .expect("zones of a new disk")
    }

    /// The zones as found on a disk.
    ///
    /// # Errors
    /// If a state or the geometry is not valid.
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

    /// The geometry of the disk.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The state of a zone.
    #[must_use]
    pub fn state(&self, zone: Zone) -> ZoneState {
        self.zones[zone.index()]
    }

    /// The report of a zone for the host.
    #[must_use]
    pub fn report(&self, zone: Zone) -> ZoneReport {
        report(&self.geometry, zone, self.state(zone))
    }

    /// Takes the zones that have changed since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<Zone> {
        std::mem::take(&mut self.changed)
    }

    /// Has the next [`Zones::take_changed`] name zones again.
    pub(crate) fn not_settled(&mut self, zones: impl IntoIterator<Item = Zone>) {
        self.changed.extend(zones);
    }

    /// The end of the written part of a zone. A conventional one counts as written everywhere, even
    /// if it has failed.
    #[must_use]
    pub(crate) fn written_end(&self, zone: Zone) -> u64 {
        match self.state(zone) {
            state if has_no_pointer(&self.geometry, zone, state) => self.geometry.zone_blocks,
            state => u64::from(state.written),
        }
    }

    fn is_conventional(&self, zone: Zone) -> bool {
        self.state(zone).condition == Condition::Conventional
    }

    /// Admits a write, and opens its zone. Returns the zone of its first block.
    ///
    /// # Errors
    /// The broken rule; then nothing has changed.
    pub fn admit(&mut self, block: Block, count: u64) -> Result<Zone, Refused> {
        let zone = self.may_write(block, count)?;
        if count > 0 && !self.is_conventional(zone) && !self.state(zone).condition.is_open() {
            self.make_place();
            let state = self.state(zone);
            self.put(zone, ZoneState { condition: Condition::ImplicitOpen, ..state });
        }
        Ok(zone)
    }

    /// Moves the write pointer after an admitted write, or a part of it, is done. False if the
    /// pointer is not where the write began any more.
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
            // It was closed for another zone in the meantime.
            Condition::Empty if count > 0 => Condition::Closed,
            other => other,
        };
        self.put(zone, ZoneState { condition, pointer, written: pointer, torn_bytes: 0 });
        true
    }

    /// Carries out a command.
    ///
    /// # Errors
    /// The broken rule; then nothing has changed.
    pub fn command(&mut self, command: ZoneCommand, zone: Zone) -> Result<(), Refused> {
        match command {
            ZoneCommand::Finish => self.finish(zone),
            ZoneCommand::Reset => self.reset(zone),
        }
    }

    /// Finishes a zone. For a moment it counts as open.
    fn finish(&mut self, zone: Zone) -> Result<(), Refused> {
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

    fn reset(&mut self, zone: Zone) -> Result<(), Refused> {
        self.may_move(zone)?;
        self.put(zone, ZoneState::EMPTY);
        Ok(())
    }

    /// Sets the state of a zone without a check: the device reports it, or it has failed.
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

    /// Updates the counts for a zone that enters or leaves a condition.
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

    /// Closes the zone that was implicitly opened longest ago, if the limit is reached.
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

    /// Checks the invariants, for tests.
    ///
    /// # Panics
    /// If an invariant is broken.
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

/// Whether a zone is conventional, even if it has failed.
fn has_no_pointer(geometry: &Geometry, zone: Zone, state: ZoneState) -> bool {
    state.condition == Condition::Conventional || geometry.is_conventional(zone)
}

/// The report of a zone for the host.
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
