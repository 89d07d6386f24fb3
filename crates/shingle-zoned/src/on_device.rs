//! A zoned disk on an open file or block device. Rules are checked here, at most one write a zone
//! is in flight, and data is transferred directly. The rest is done by the [`Backing`] of the
//! device.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use shingle_core::units::{Block, Zone};
use shingle_device::{Device, Direct};
use shingle_engine::Buffer;

use crate::disk::{Call, ZoneCommand, ZonedDisk};
use crate::error::{Operation, Reason, Refused, ZonedError};
use crate::geometry::Geometry;
use crate::zone::{Condition, ZoneReport};
use crate::zones::{ZoneState, Zones, report};

/// The operations of a device other than reads and writes.
pub trait Backing: Send + Sync {
    /// Carries out a command on a zone. It is allowed, and no write to the zone is in flight.
    fn command(
        &self,
        device: &Device,
        direct: &Direct,
        command: ZoneCommand,
        zone: Zone,
    ) -> io::Result<()>;

    /// Makes written data and write pointers durable.
    fn flush(&self, direct: &Direct, zones: &Mutex<Zones>) -> io::Result<()>;

    /// The state of zones as the device reports it; `None` if it does not report any.
    fn report_states(
        &self,
        device: &Device,
        first: Zone,
        count: u32,
    ) -> io::Result<Option<Vec<ZoneState>>>;

    /// Checks whether the device can be changed.
    ///
    /// # Errors
    /// If it cannot, for good.
    fn check_writable(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the device itself returns zeros, or an error, for unwritten blocks. If not, zeros
    /// are made up here.
    fn reads_beyond(&self) -> bool;
}

/// A zoned disk on a device; see the module.
#[derive(Debug)]
pub struct OnDevice<B> {
    name: String,
    geometry: Geometry,
    pub(crate) device: Device,
    pub(crate) direct: Direct,
    /// The page of the device with the first block.
    first_page: u64,
    pub(crate) zones: Mutex<Zones>,
    /// Locked while a zone is written.
    turns: Vec<Mutex<()>>,
    pub(crate) backing: B,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Backing> OnDevice<B> {
    pub(crate) fn new(
        device: Device,
        direct: Direct,
        first_page: u64,
        zones: Zones,
        backing: B,
    ) -> Self {
        let geometry = *zones.geometry();
        OnDevice {
            name: device.path().display().to_string(),
            geometry,
            direct,
            device,
            first_page,
            turns: (0..geometry.zones).map(|_| Mutex::new(())).collect(),
            zones: Mutex::new(zones),
            backing,
        }
    }

    fn zones(&self) -> MutexGuard<'_, Zones> {
        locked(&self.zones)
    }

    /// Waits until no other write to the zone is in flight.
    pub(crate) fn turn(&self, zone: Zone) -> Option<MutexGuard<'_, ()>> {
        self.turns.get(zone.index()).map(locked)
    }

    fn refused(&self, call: Call) -> impl Fn(Refused) -> ZonedError {
        move |refused| call.refused(&self.name, refused)
    }

    /// Handles an error of the device: its report of the zone is used; without a report the state
    /// is `before`.
    fn failed(&self, call: Call, zone: Zone, before: ZoneState, error: io::Error) -> ZonedError {
        let reported = self.backing.report_states(&self.device, zone, 1);
        let state = match reported {
            Ok(Some(states)) => states.first().copied(),
            Ok(None) => Some(before),
            Err(_) => None,
        };
        // A read moves nothing, and there may be a write in flight: only a failed condition is
        // used.
        let counts =
            |state: &ZoneState| call.operation != Operation::Read || state.condition.has_failed();
        if let Some(state) = state.filter(counts) {
            self.zones().put(zone, state);
        }
        let Geometry { max_open, max_active, .. } = self.geometry;
        let reason = match state.map(|state| state.condition) {
            Some(Condition::ReadOnly) if call.operation != Operation::Read => Reason::ReadOnly,
            Some(Condition::Offline) => Reason::Offline,
            _ => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::TOOMANYREFS) => Reason::TooManyOpen { max: max_open },
                Some(Errno::OVERFLOW) => Reason::TooManyActive { max: max_active },
                _ => return call.failed(&self.name, &self.geometry, error),
            },
        };
        call.refused(&self.name, Refused { zone: Some(zone), reason })
    }

    /// Writes while this caller has the zone.
    fn write_now(&self, call: Call, buffers: &[Buffer]) -> Result<(), ZonedError> {
        let (block, count) = (call.block, buffers.len() as u64);
        let writable = self.backing.check_writable();
        writable.map_err(|error| call.failed(&self.name, &self.geometry, error))?;
        let (zone, before) = {
            let mut zones = self.zones();
            let zone = zones.admit(block, count).map_err(self.refused(call))?;
            (zone, zones.state(zone))
        };
        if let Err(error) = self.direct.write(self.first_page + block.0, buffers) {
            return Err(self.failed(call, zone, before, error));
        }
        let mut zones = self.zones();
        if zones.advance(block, count) {
            return Ok(());
        }
        // The power was cut in the meantime, which moved the pointer back.
        let pointer = self.geometry.first(zone).after(u64::from(zones.state(zone).pointer));
        let reason = Reason::NotAtPointer { pointer };
        Err(self.refused(call)(Refused { zone: Some(zone), reason }))
    }

    fn is_conventional(&self, zone: Zone) -> bool {
        self.zones().state(zone).condition == Condition::Conventional
    }
}

impl<B: Backing> ZonedDisk for OnDevice<B> {
    fn name(&self) -> &str {
        &self.name
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn backing(&self) -> Option<&Device> {
        Some(&self.device)
    }

    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        let call = Call::of(Operation::Report, Some(first), &self.geometry);
        self.zones().may_name(first).map_err(self.refused(call))?;
        let count = count.min(self.geometry.zones - first.0);
        let reported = self.backing.report_states(&self.device, first, count);
        let reported = reported.map_err(|error| call.failed(&self.name, &self.geometry, error))?;
        let zones = (first.0..first.0 + count).map(Zone);
        Ok(match reported {
            Some(states) => {
                zones.zip(states).map(|(zone, state)| report(&self.geometry, zone, state)).collect()
            }
            None => {
                let known = self.zones();
                zones.map(|zone| known.report(zone)).collect()
            }
        })
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        let (call, count) = (Call::at(Operation::Read, block, buffers.len()), buffers.len() as u64);
        let pieces: Vec<(Zone, u64, u64, u64)> = {
            let zones = self.zones();
            zones.may_read(block, count).map_err(self.refused(call))?;
            let pieces = zones.pieces(block, count);
            pieces.map(|(zone, at, count)| (zone, at, count, zones.written_end(zone))).collect()
        };
        let mut rest = buffers;
        for (zone, offset, count, end) in pieces {
            let (piece, behind) = rest.split_at_mut(count as usize);
            rest = behind;
            let there = if self.backing.reads_beyond() {
                count
            } else {
                end.saturating_sub(offset).min(count)
            };
            let (there, beyond) = piece.split_at_mut(there as usize);
            let first = self.geometry.first(zone).0 + offset;
            if !there.is_empty()
                && let Err(error) = self.direct.read(self.first_page + first, there)
            {
                let (call, state) = (
                    Call::at(Operation::Read, Block(first), there.len()),
                    self.zones().state(zone),
                );
                return Err(self.failed(call, zone, state, error));
            }
            beyond.iter_mut().for_each(|buffer| buffer.0.fill(0));
        }
        Ok(())
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        let zone = self.geometry.place(block).map(|(zone, _)| zone);
        let _turn =
            zone.filter(|&zone| !self.is_conventional(zone)).and_then(|zone| self.turn(zone));
        self.write_now(Call::at(Operation::Write, block, buffers.len()), buffers)
    }

    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        let call = Call::of(command.into(), Some(zone), &self.geometry);
        let _turn = self.turn(zone);
        let (before, after) = {
            let mut zones = self.zones();
            zones.may_name(zone).map_err(self.refused(call))?;
            let before = zones.state(zone);
            zones.command(command, zone).map_err(self.refused(call))?;
            (before, zones.state(zone))
        };
        // Some devices return an error for a zone that is full already. Which zone was closed for
        // another one is up to the device: a zone that is empty here may be open there.
        if before == after && command == ZoneCommand::Finish {
            return Ok(());
        }
        let done = self.backing.command(&self.device, &self.direct, command, zone);
        done.map_err(|error| self.failed(call, zone, before, error))
    }

    fn flush(&self) -> Result<(), ZonedError> {
        let call = Call::of(Operation::Flush, None, &self.geometry);
        let flushed = self.backing.flush(&self.direct, &self.zones);
        flushed.map_err(|error| call.failed(&self.name, &self.geometry, error))
    }
}
