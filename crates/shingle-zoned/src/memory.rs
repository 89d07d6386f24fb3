//! A zoned disk in memory, with a volatile write cache and faults by seed, for tests with thousands
//! of crashes a second. It obeys the same rules as the disk in a file ([`crate::Zones`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use shingle_core::units::{BLOCK_BYTES, Block, Zone};
use shingle_engine::Buffer;

use crate::cut::after_power_cut;
use crate::disk::{Call, ZoneCommand, ZonedDisk};
use crate::error::{Operation, Reason, Refused, ZonedError};
use crate::faults::{Draw, Fault, Faults};
use crate::geometry::Geometry;
use crate::zone::{Condition, ZoneReport};
use crate::zones::{ZoneState, Zones};

type Page = [u8; BLOCK_BYTES as usize];
/// A block; `None` if it was never written.
type Data = Option<Arc<Page>>;

/// A zoned disk in memory; see the module.
#[derive(Debug)]
pub struct MemoryDisk {
    geometry: Geometry,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    zones: Zones,
    contents: Vec<Content>,
    /// Zones with unflushed changes.
    unflushed: BTreeSet<Zone>,
    calls: u64,
    faults: Faults,
    draw: Draw,
    /// The host is gone: no command is carried out.
    off: bool,
    /// The last command of a killed host, and the call before which it is carried out.
    late: Option<(u64, Command)>,
    /// Commands that fail from now on.
    failing: Vec<(Operation, Option<Zone>)>,
}

/// The content of a zone.
#[derive(Clone, Debug)]
struct Content {
    blocks: Vec<Data>,
    /// The state at the last flush.
    flushed: ZoneState,
    /// The state and content of a sequential zone before each reset since then.
    before_resets: Vec<(ZoneState, Vec<Data>)>,
    /// The versions of each block of a conventional zone that was written since then, the oldest
    /// first.
    older: BTreeMap<u64, Vec<Data>>,
}

/// A command of the host.
#[derive(Clone, Debug)]
enum Command {
    Report,
    Read(Block, u64),
    Write(Block, Vec<Arc<Page>>),
    Zone(ZoneCommand, Zone),
    Flush,
}

impl Command {
    fn operation(&self) -> Operation {
        match *self {
            Command::Report => Operation::Report,
            Command::Read(..) => Operation::Read,
            Command::Write(..) => Operation::Write,
            Command::Zone(command, _) => command.into(),
            Command::Flush => Operation::Flush,
        }
    }

    fn zone(&self, geometry: &Geometry) -> Option<Zone> {
        match *self {
            Command::Read(block, _) | Command::Write(block, _) => Some(geometry.place(block)?.0),
            Command::Zone(_, zone) => Some(zone),
            Command::Report | Command::Flush => None,
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    Failed,
    Forgotten,
    PowerCut,
    Kill { lands_after: u64 },
}

impl MemoryDisk {
    /// A new disk, with its faults.
    ///
    /// # Panics
    /// If the geometry is not possible: [`Geometry::check`].
    #[must_use]
    pub fn new(geometry: Geometry, faults: Faults) -> MemoryDisk {
        let zones = Zones::new(geometry);
        let content = |zone| Content {
            blocks: Vec::new(),
            flushed: zones.state(Zone(zone)),
            before_resets: Vec::new(),
            older: BTreeMap::new(),
        };
        let state = State {
            contents: (0..geometry.zones).map(content).collect(),
            zones,
            unflushed: BTreeSet::new(),
            calls: 0,
            draw: Draw::new(faults.seed),
            faults,
            off: false,
            late: None,
            failing: Vec::new(),
        };
        MemoryDisk { geometry, state: Mutex::new(state) }
    }

    /// Whether a fault has ended the host: every call fails until the next [`MemoryDisk::restart`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.state().off
    }

    /// Cuts the power now.
    pub fn cut_power(&self) {
        let mut state = self.state();
        state.lose_unflushed();
        state.off = true;
    }

    /// Starts the next host, after a power cut or a kill.
    pub fn restart(&self) {
        self.state().off = false;
    }

    /// Panics if an invariant of the zones is broken.
    pub fn validate(&self) {
        self.state().zones.validate();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, call: Call, command: &Command) -> Result<MutexGuard<'_, State>, ZonedError> {
        let mut state = self.state();
        match state.call(command) {
            Ok(()) => Ok(state),
            Err(Refused { reason: Reason::Device(error), .. }) => {
                Err(call.failed(self.name(), &self.geometry, error))
            }
            Err(refused) => Err(call.refused(self.name(), refused)),
        }
    }
}

impl ZonedDisk for MemoryDisk {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        let call = Call::of(Operation::Report, Some(first), &self.geometry);
        let state = self.call(call, &Command::Report)?;
        state.zones.may_name(first).map_err(|refused| call.refused(self.name(), refused))?;
        let end = first.0.saturating_add(count).min(self.geometry.zones);
        Ok((first.0..end).map(|zone| state.zones.report(Zone(zone))).collect())
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        let count = buffers.len() as u64;
        let call = Call::at(Operation::Read, block, buffers.len());
        let state = self.call(call, &Command::Read(block, count))?;
        let mut buffers = buffers.iter_mut();
        for (zone, offset, count) in state.zones.pieces(block, count) {
            let (end, content) = (state.zones.written_end(zone), &state.contents[zone.index()]);
            for (at, buffer) in (offset..offset + count).zip(&mut buffers) {
                let data = content.blocks.get(at as usize).filter(|_| at < end);
                buffer.0 = data.and_then(Option::as_deref).copied().unwrap_or([0; 4096]);
            }
        }
        Ok(())
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        let pages = buffers.iter().map(|buffer| Arc::new(buffer.0)).collect();
        let call = Call::at(Operation::Write, block, buffers.len());
        self.call(call, &Command::Write(block, pages)).map(drop)
    }

    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        let call = Call::of(command.into(), Some(zone), &self.geometry);
        self.call(call, &Command::Zone(command, zone)).map(drop)
    }

    fn flush(&self) -> Result<(), ZonedError> {
        self.call(Call::of(Operation::Flush, None, &self.geometry), &Command::Flush).map(drop)
    }
}

/// The error that the kernel returns for a device that failed or is gone.
fn device(errno: Errno) -> Refused {
    Refused { zone: None, reason: Reason::Device(io::Error::from(errno)) }
}

impl State {
    fn call(&mut self, command: &Command) -> Result<(), Refused> {
        if self.off {
            return Err(device(Errno::NODEV));
        }
        let now = self.calls;
        self.calls += 1;
        if let Some((_, late)) = self.late.take_if(|(at, _)| *at <= now) {
            // The killed host does not learn whether the disk has refused it.
            let _ = self.apply(&late, u64::MAX);
        }
        match self.fate(now, command) {
            Fate::Done => self.apply(command, u64::MAX),
            Fate::Failed => {
                if let Command::Write(_, pages) = command {
                    let part = self.draw.below(pages.len() as u64 + 1);
                    self.apply(command, part)?;
                }
                Err(device(Errno::IO))
            }
            Fate::Forgotten => {
                self.lose_unflushed();
                Err(device(Errno::IO))
            }
            Fate::PowerCut => {
                // The flush may be done without an acknowledgement, or not. Of a write more is lost
                // with the rest.
                if !matches!(command, Command::Flush) || self.draw.below(2) == 0 {
                    let _ = self.apply(command, u64::MAX);
                }
                self.lose_unflushed();
                self.off = true;
                Err(device(Errno::NODEV))
            }
            Fate::Kill { lands_after } => {
                self.late = Some((now + 1 + lands_after, command.clone()));
                self.off = true;
                Err(device(Errno::NODEV))
            }
        }
    }

    fn fate(&mut self, now: u64, command: &Command) -> Fate {
        let mut fate = Fate::Done;
        let kind = (command.operation(), command.zone(self.zones.geometry()));
        let mut faults = std::mem::take(&mut self.faults.faults);
        faults.retain(|fault| match *fault {
            Fault::ReadOnly { call, zone } if call <= now => self.fail(zone, Condition::ReadOnly),
            Fault::Offline { call, zone } if call <= now => self.fail(zone, Condition::Offline),
            Fault::FlushForgets { call } if call <= now && matches!(command, Command::Flush) => {
                fate = Fate::Forgotten;
                false
            }
            Fault::Error { call, for_ever } if call == now => {
                fate = Fate::Failed;
                if for_ever {
                    self.failing.push(kind);
                }
                false
            }
            _ => true,
        });
        // Ends of the host have priority over other faults.
        for fault in &faults {
            match *fault {
                Fault::PowerCut { call } if call == now => fate = Fate::PowerCut,
                Fault::Kill { call, lands_after } if call == now => {
                    fate = Fate::Kill { lands_after }
                }
                _ => {}
            }
        }
        self.faults.faults = faults;
        if fate == Fate::Done && self.failing.contains(&kind) { Fate::Failed } else { fate }
    }

    /// Makes a zone fail for good. Returns false, so that the fault is not applied again.
    fn fail(&mut self, zone: Zone, condition: Condition) -> bool {
        let state = self.zones.state(zone).settled();
        if state.condition != Condition::Offline {
            self.zones.put(zone, state.failed(condition, self.zones.geometry()));
            self.unflushed.insert(zone);
        }
        false
    }

    /// Carries out a command; of a write at most `most` blocks.
    fn apply(&mut self, command: &Command, most: u64) -> Result<(), Refused> {
        match *command {
            Command::Report => Ok(()),
            Command::Read(block, count) => self.zones.may_read(block, count),
            Command::Write(block, ref pages) => self.write(block, pages, most),
            Command::Zone(ZoneCommand::Reset, zone) => self.reset(zone),
            Command::Zone(ZoneCommand::Finish, zone) => {
                self.zones.command(ZoneCommand::Finish, zone)?;
                self.unflushed.insert(zone);
                Ok(())
            }
            Command::Flush => {
                for zone in std::mem::take(&mut self.unflushed) {
                    let content = &mut self.contents[zone.index()];
                    content.flushed = self.zones.state(zone).settled();
                    content.before_resets.clear();
                    content.older.clear();
                }
                Ok(())
            }
        }
    }

    fn write(&mut self, block: Block, pages: &[Arc<Page>], most: u64) -> Result<(), Refused> {
        let count = pages.len() as u64;
        self.zones.admit(block, count)?;
        let count = count.min(most);
        let mut pages = pages.iter();
        for (zone, offset, count) in self.zones.pieces(block, count) {
            let conventional = self.zones.state(zone).condition == Condition::Conventional;
            let content = &mut self.contents[zone.index()];
            let end = (offset + count) as usize;
            if content.blocks.len() < end {
                content.blocks.resize(end, None);
            }
            for (at, page) in (offset..end as u64).zip(&mut pages) {
                let before = content.blocks[at as usize].replace(Arc::clone(page));
                if conventional {
                    content.older.entry(at).or_default().push(before);
                }
            }
            self.unflushed.insert(zone);
        }
        self.zones.advance(block, count);
        Ok(())
    }

    fn reset(&mut self, zone: Zone) -> Result<(), Refused> {
        let before = self.zones.may_name(zone).map(|()| self.zones.state(zone).settled())?;
        self.zones.command(ZoneCommand::Reset, zone)?;
        let content = &mut self.contents[zone.index()];
        content.before_resets.push((before, std::mem::take(&mut content.blocks)));
        self.unflushed.insert(zone);
        Ok(())
    }

    /// Loses a part of what was not flushed.
    fn lose_unflushed(&mut self) {
        let geometry = *self.zones.geometry();
        let zones = (0..geometry.zones).map(Zone);
        let mut states: Vec<ZoneState> =
            zones.map(|zone| self.zones.state(zone).settled()).collect();
        for zone in std::mem::take(&mut self.unflushed) {
            let (content, state) = (&mut self.contents[zone.index()], &mut states[zone.index()]);
            content.lose_unflushed(&geometry, &mut self.draw);
            // A conventional zone that has failed as well: it is written everywhere.
            if !geometry.is_conventional(zone) {
                content.lose_pointer(state, &geometry, self.faults.lost_resets, &mut self.draw);
            }
        }
        self.zones = Zones::restore(geometry, states).expect("zones can be so");
    }
}

impl Content {
    /// Of a block that was written several times without a flush any version may be left.
    fn lose_unflushed(&mut self, geometry: &Geometry, draw: &mut Draw) {
        for (at, mut versions) in std::mem::take(&mut self.older) {
            let block = &mut self.blocks[at as usize];
            versions.push(block.take());
            *block = torn(&versions, geometry.physical_block_bytes as usize, draw);
        }
    }

    /// Loses what is behind the remaining write pointer of a sequential zone.
    fn lose_pointer(
        &mut self,
        state: &mut ZoneState,
        geometry: &Geometry,
        lost_resets: bool,
        draw: &mut Draw,
    ) {
        // The remaining state is between two of these resets.
        let resets = self.before_resets.len();
        let part = if lost_resets { draw.below(resets as u64 + 1) as usize } else { resets };
        let flushed = if part == 0 { self.flushed } else { ZoneState::EMPTY };
        let condition = state.condition;
        if part < resets {
            (*state, self.blocks) = self.before_resets.swap_remove(part);
        }
        let mut cut = after_power_cut(flushed, *state, geometry, &mut |below| draw.below(below));
        if condition.has_failed() {
            cut.condition = condition;
        }
        self.blocks.truncate(cut.written as usize);
        (*state, self.flushed) = (cut, cut);
        self.before_resets.clear();
    }
}

/// A block of a conventional zone after a power cut: each physical block is of one of the versions.
fn torn(versions: &[Data], physical_block_bytes: usize, draw: &mut Draw) -> Data {
    let mut pick = || &versions[draw.below(versions.len() as u64) as usize];
    if physical_block_bytes == size_of::<Page>() {
        return pick().clone();
    }
    let mut page = [0; BLOCK_BYTES as usize];
    for (at, part) in page.chunks_mut(physical_block_bytes).enumerate() {
        if let Some(version) = pick() {
            part.copy_from_slice(&version[at * physical_block_bytes..][..part.len()]);
        }
    }
    Some(Arc::new(page))
}
