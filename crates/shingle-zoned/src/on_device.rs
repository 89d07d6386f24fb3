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
        let (zone, before) = self.admit(call).map_err(self.refused(call))?;
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

    /// Admits a write, and returns its zone and the state before it. Before one is refused the device
    /// is asked: when its power has failed for a moment, write pointers are behind those known here,
    /// and a reset may be lost.
    fn admit(&self, call: Call) -> Result<(Zone, ZoneState), Refused> {
        let admitted = || {
            let mut zones = self.zones();
            let zone = zones.admit(call.block, call.blocks)?;
            Ok((zone, zones.state(zone)))
        };
        match admitted() {
            Err(Refused { zone: Some(zone), reason }) if reason.is_of_pointers() => {
                self.ask_device(zone);
                admitted()
            }
            other => other,
        }
    }

    /// Whether a zone that is full by what is known here is so on the device.
    fn is_full(&self, zone: Zone) -> bool {
        let reported = self.backing.report_states(&self.device, zone, 1).ok().flatten();
        let state = reported.and_then(|states| states.first().copied());
        state.is_none_or(|state| state.condition == Condition::Full)
    }

    /// Takes over the zones as the device reports them, except those that are being written. This
    /// caller has `own`.
    fn ask_device(&self, own: Zone) {
        let turns: Vec<_> = self.turns.iter().map(|turn| turn.try_lock().ok()).collect();
        let reported = self.backing.report_states(&self.device, Zone(0), self.geometry.zones);
        let Ok(Some(states)) = reported else { return };
        let mut zones = self.zones();
        for (zone, (state, turn)) in (0..).map(Zone).zip(states.into_iter().zip(&turns)) {
            if turn.is_some() || zone == own {
                zones.put(zone, state);
            }
        }
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
        if before == after && command == ZoneCommand::Finish && self.is_full(zone) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of which only the zones count.
    struct Fake(Mutex<Zones>);

    impl Backing for Fake {
        fn command(
            &self,
            _: &Device,
            _: &Direct,
            command: ZoneCommand,
            zone: Zone,
        ) -> io::Result<()> {
            locked(&self.0).command(command, zone).map_err(|_| io::Error::from(Errno::IO))
        }
        fn flush(&self, _: &Direct, _: &Mutex<Zones>) -> io::Result<()> {
            Ok(())
        }
        fn report_states(
            &self,
            _: &Device,
            first: Zone,
            count: u32,
        ) -> io::Result<Option<Vec<ZoneState>>> {
            let zones = locked(&self.0);
            Ok(Some((first.0..first.0 + count).map(|zone| zones.state(Zone(zone))).collect()))
        }
        fn reads_beyond(&self) -> bool {
            true
        }
    }

    /// Eight zones of four blocks, one of them conventional. The zones of the device are empty; those
    /// known to the disk were written for so many blocks.
    fn after_a_moment_without_power(
        written: &[(u32, u32)],
        max_active: u32,
    ) -> (tempfile::TempDir, OnDevice<Fake>) {
        let max_open = max_active;
        let geometry =
            Geometry { conventional_zones: 1, max_open, max_active, ..Geometry::new(8, 4) };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("device");
        std::fs::write(&path, vec![0; 8 * 4 * 4096]).expect("room");
        let device = Device::open(&path).expect("a file");
        let direct = device.again().expect("it is open");
        let mut known = Zones::new(geometry);
        for &(zone, blocks) in written {
            let first = geometry.first(Zone(zone));
            known.admit(first, blocks.into()).expect("it is empty");
            assert!(known.advance(first, blocks.into()));
        }
        let fake = Fake(Mutex::new(Zones::new(geometry)));
        (folder, OnDevice::new(device, direct, 0, known, fake))
    }

    #[test]
    fn write_pointers_that_fell_back_are_those_of_the_device() {
        let block = || [Buffer::default()];
        for blocks in [1, 2, 4] {
            let (_folder, disk) = after_a_moment_without_power(&[(1, blocks)], 0);
            disk.write(Block(4), &block()).expect("at the pointer of the device");
            disk.write(Block(5), &block()).expect("it has moved");
            // What the device refuses, too, stays refused.
            let (_folder, disk) = after_a_moment_without_power(&[(1, blocks)], 0);
            let at = Block(if blocks == 1 { 6 } else { 5 });
            let error = disk.write(at, &block()).expect_err("not at its pointer");
            assert!(matches!(error.reason, Reason::NotAtPointer { pointer: Block(4) }), "{error}");
        }
    }

    #[test]
    fn a_zone_that_is_being_written_is_left_alone() {
        let (_folder, disk) = after_a_moment_without_power(&[(1, 2), (2, 2)], 0);
        let turn = disk.turn(Zone(2));
        disk.write(Block(4), &[Buffer::default()]).expect("at the pointer of the device");
        assert_eq!(disk.zones().state(Zone(2)).pointer, 2);
        drop(turn);
    }

    #[test]
    fn zones_that_are_empty_again_are_not_active() {
        let (_folder, disk) = after_a_moment_without_power(&[(1, 2), (2, 2)], 2);
        disk.write(Block(12), &[Buffer::default()]).expect("no zone is active");
    }

    #[test]
    fn a_zone_that_is_full_no_more_is_finished() {
        let (_folder, disk) = after_a_moment_without_power(&[(1, 4)], 0);
        disk.finish(Zone(1)).expect("it can be");
        let state = locked(&disk.backing.0).state(Zone(1));
        assert_eq!(state.condition, Condition::Full);
    }
}
