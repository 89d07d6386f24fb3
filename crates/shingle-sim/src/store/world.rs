//! The world of a simulated store: a clock, an SSD and a disk that are models, and the engine between
//! them. What a real store gets from files and from the time of day it gets from here.

use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_drive::{Io, Stamp};
use shingle_engine::{self as engine, Command, Effects, Engine, IoId, Kind, Reply};
use shingle_result::{HostCounters, HostMeter, Snapshot};

use super::agenda::Agenda;
use super::stamps::Stamped;
use crate::device::{self, Device};
use crate::watch::Cause;

/// As often as a store looks at the clock when nothing happens.
const TICK: Nanos = Nanos::from_millis(100);

/// After so many looks at the clock that led to nothing, nothing will come of more: the engine waits for
/// nothing longer than this, but for devices and clients.
const QUIET_TICKS: u32 = 30;

/// An engine in virtual time.
pub(super) struct World {
    pub(super) engine: Engine<Stamped>,
    ssd: Device,
    disk: Device,
    now: Nanos,
    last_tick: Nanos,
    /// Looks at the clock since something last happened.
    quiet: u32,
    /// When each I/O is done that is under way at the devices, and its buffers, by the engine's number of it.
    due: Agenda,
    under_way: Vec<Vec<Stamped>>,
    effects: Effects<Stamped>,
    checked: bool,
    scratch: Vec<Stamp>,
}

impl World {
    /// An engine that has just been opened. With `checked` the devices keep what is written.
    pub(super) fn new(engine: Engine<Stamped>, ssd: Device, disk: Device, checked: bool) -> World {
        let mut world = World {
            engine,
            ssd,
            disk,
            now: Nanos::ZERO,
            last_tick: Nanos::ZERO,
            quiet: 0,
            due: Agenda::default(),
            under_way: Vec::new(),
            effects: Effects::default(),
            checked,
            scratch: Vec::new(),
        };
        world.settle();
        world
    }

    /// These requests come next.
    pub(super) fn prefetch(&self, requests: &[Request]) {
        let disk = self.disk.drive();
        self.engine.expect(requests, &|block| disk.prefetch(block));
    }

    /// What counts what host and cache do: the observer of the cache.
    pub(super) fn meter(&mut self) -> &mut HostMeter {
        self.engine.observer_of_cache().expect("the cache was given one")
    }

    /// The time.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// When the last I/O is done: later than the last answer, if that left blocks on their way to the disk.
    pub(super) fn finished(&self) -> Nanos {
        self.now.max(self.disk.last_io()).max(self.ssd.last_io())
    }

    pub(super) fn submit(&mut self, command: Command<Stamped>) {
        self.quiet = 0;
        self.engine.submit(command);
    }

    /// Hands over what the engine wants of the devices, and appends its answers to `replies`.
    pub(super) fn carry_out(&mut self, replies: &mut Vec<Reply<Stamped>>) {
        self.engine.take_into(&mut self.effects);
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

    /// Likewise, when nobody has asked for anything.
    fn carry_out_own(&mut self) {
        let mut replies = Vec::new();
        self.carry_out(&mut replies);
        assert!(replies.is_empty(), "nobody has asked for anything");
    }

    /// Lets time pass to the next thing that happens, at `until` at the latest. Returns whether anything can
    /// happen at all.
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
        // Before completions are reported: what they took is counted to now.
        self.engine.tick(self.now);
        while let Some(key) = self.due.done(self.now) {
            let buffers = std::mem::take(&mut self.under_way[key]);
            let bytes = buffers.len() * shingle_engine::format::PAGE_BYTES;
            self.engine.done(IoId(key as u64), Ok(bytes), buffers);
        }
        true
    }

    /// Waits until nothing is under way.
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
        if self.under_way.len() <= key {
            self.under_way.resize_with(key + 1, Vec::new);
        }
        // (What stands there is empty.)
        std::mem::swap(&mut self.under_way[key], &mut io.buffers);
        self.due.begin(device, turn.done, key);
    }

    /// Destages everything, and has the disk empty its buffer.
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
