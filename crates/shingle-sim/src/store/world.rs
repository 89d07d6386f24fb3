//! The environment of a simulated store: a clock, models of an SSD and a disk, and the engine
//! between them. It replaces the files and the system time of a real store.

use shingle_core::ahead::Ahead;
use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_drive::{Io, Stamp};
use shingle_engine::{self as engine, Command, Effects, Engine, IoId, Kind, Reply};
use shingle_result::{HostCounters, HostMeter, Snapshot};

use super::agenda::Agenda;
use super::stamps::Stamped;
use crate::device::{self, Device};
use crate::watch::Cause;

/// Interval of clock ticks when nothing else happens, as in a store.
const TICK: Nanos = Nanos::from_millis(100);

/// After this many ticks without effect, more have none either: the engine waits longer than this
/// only for devices and clients.
const QUIET_TICKS: u32 = 30;

/// An engine in virtual time.
pub(super) struct World {
    pub(super) engine: Engine<Stamped>,
    ssd: Device,
    disk: Device,
    now: Nanos,
    last_tick: Nanos,
    /// Ticks since something last happened.
    quiet: u32,
    /// Completion times of I/O in flight, by the engine's key.
    due: Agenda,
    /// Buffers of I/O in flight, by the engine's key.
    in_flight: Vec<Vec<Stamped>>,
    effects: Effects<Stamped>,
    checked: bool,
    scratch: Vec<Stamp>,
    ahead: Ahead,
}

impl World {
    /// Creates it around an engine that has just been opened. With `checked` the devices keep what
    /// is written.
    pub(super) fn new(engine: Engine<Stamped>, ssd: Device, disk: Device, checked: bool) -> World {
        let mut world = World {
            engine,
            ssd,
            disk,
            now: Nanos::ZERO,
            last_tick: Nanos::ZERO,
            quiet: 0,
            due: Agenda::default(),
            in_flight: Vec::new(),
            effects: Effects::default(),
            checked,
            scratch: Vec::new(),
            ahead: Ahead::default(),
        };
        world.settle();
        world
    }

    /// Prefetches data for the next requests.
    pub(super) fn prefetch(&mut self, requests: &[Request]) {
        let disk = self.disk.drive();
        self.engine.prefetch(&mut self.ahead, requests, &|block| disk.prefetch(block));
    }

    /// Returns the counters of host and cache: the observer of the cache.
    pub(super) fn meter(&mut self) -> &mut HostMeter {
        self.engine.cache_observer().expect("the cache was given one")
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Returns the completion time of the last I/O. It is later than the last reply if blocks were
    /// still being destaged.
    pub(super) fn finished(&self) -> Nanos {
        self.now.max(self.disk.last_io()).max(self.ssd.last_io())
    }

    pub(super) fn submit(&mut self, command: Command<Stamped>) {
        self.quiet = 0;
        self.engine.submit(command);
    }

    /// Submits the I/O that the engine requests, and appends its replies to `replies`.
    pub(super) fn carry_out(&mut self, replies: &mut Vec<Reply<Stamped>>) {
        self.engine.take_effects_into(&mut self.effects);
        let Effects { ios, replies: answers } = &mut self.effects;
        if !ios.is_empty() || !answers.is_empty() {
            self.quiet = 0;
        }
        if replies.is_empty() {
            std::mem::swap(replies, answers);
        } else {
            replies.append(answers);
        }
        if !ios.is_empty() {
            let mut begun = std::mem::take(ios);
            let on_disk = begun.iter().filter(|io| io.device == engine::Device::Disk);
            on_disk.for_each(|io| self.disk.drive().prefetch(Block(io.page)));
            begun.iter_mut().for_each(|io| self.begin(io));
            begun.clear();
            self.effects.ios = begun;
        }
    }

    /// As [`World::carry_out`], when no command is in flight.
    fn carry_out_own(&mut self) {
        let mut replies = Vec::new();
        self.carry_out(&mut replies);
        assert!(replies.is_empty(), "no command is in flight");
    }

    /// Advances the time to the next event, at most to `until`. Returns whether any event is
    /// possible.
    pub(super) fn pass(&mut self, until: Nanos) -> bool {
        let ticks = self.quiet < QUIET_TICKS;
        let tick = if ticks { self.last_tick + TICK } else { Nanos::NEVER };
        let next = self.due.next().min(tick).min(until);
        if next == Nanos::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        self.last_tick = self.now;
        self.quiet += 1;
        // Before completions are reported: the time they took counts up to now.
        self.engine.tick(self.now);
        while let Some(key) = self.due.done(self.now) {
            let buffers = std::mem::take(&mut self.in_flight[key]);
            let bytes = buffers.len() * shingle_engine::format::PAGE_BYTES;
            self.engine.io_done(IoId(key as u64), Ok(bytes), buffers);
        }
        true
    }

    /// Waits until nothing is in flight.
    pub(super) fn settle(&mut self) {
        loop {
            self.carry_out_own();
            if self.engine.is_idle() || !self.pass(Nanos::NEVER) {
                return;
            }
        }
    }

    fn begin(&mut self, io: &mut engine::Io<Stamped>) {
        let op = match io.kind {
            Kind::Read => Op::Read,
            Kind::Write => Op::Write,
            Kind::Flush => Op::Flush,
            Kind::Trim(_) => Op::Trim,
        };
        let count = if let Kind::Trim(pages) = io.kind { pages } else { io.buffers.len() as u64 };
        let asked = Io { op, block: Block(io.page), count };
        if self.checked {
            self.scratch.clear();
            self.scratch.extend(io.buffers.iter().map(|block| block.0));
        }
        let turn = match io.device {
            engine::Device::Ssd => self.ssd.serve(self.now, &asked, &mut self.scratch),
            engine::Device::Disk => {
                let cause = match io.kind {
                    Kind::Read => Cause::Miss,
                    Kind::Write => Cause::Destage,
                    Kind::Flush => Cause::Flush,
                    Kind::Trim(_) => Cause::Trim,
                };
                self.disk.serve_for(cause, self.now, &asked, &mut self.scratch)
            }
        };
        if self.checked && io.kind == Kind::Read {
            io.buffers.iter_mut().zip(&self.scratch).for_each(|(block, &stamp)| block.0 = stamp);
        }
        let device = usize::from(io.device == engine::Device::Disk);
        let key = io.id.0 as usize;
        if self.in_flight.len() <= key {
            self.in_flight.resize_with(key + 1, Vec::new);
        }
        // The entry there is empty.
        std::mem::swap(&mut self.in_flight[key], &mut io.buffers);
        self.due.begin(device, turn.done, key);
    }

    /// Destages everything, and drains the buffer of the disk.
    pub(super) fn drain(&mut self) {
        self.engine.drain();
        while self.engine.dirty_blocks() > 0 {
            self.quiet = 0;
            self.carry_out_own();
            self.pass(Nanos::NEVER);
        }
        self.settle();
        self.now = self.disk.drain(self.now.max(self.disk.last_io()));
    }

    pub(super) fn snapshot(&self, host: &HostCounters) -> Snapshot {
        device::snapshot(host, &self.ssd, &self.disk)
    }

    pub(super) fn disk(&self) -> &Device {
        &self.disk
    }

    pub(super) fn ssd(&self) -> &Device {
        &self.ssd
    }
}
