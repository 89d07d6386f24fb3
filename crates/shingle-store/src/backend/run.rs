//! The thread of a store, and its end.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use shingle_core::cache::CacheCore;
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_device::{Device, DeviceError, Done, MediumThreads, Operation, Ring, Worker, panicked};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Effects, Engine, Failed, Kind, NewSsd, OpenError, SsdState};

use super::clock::{self, Clock};
use super::disk::Disk;
use super::errors::Errors;
use super::handle::{Handle, Inbox, Order, Question, Shared};
use super::replies::Replies;
use super::store_error::StoreError;
use super::tap::Tap;
use crate::measures::Devices;

/// The engine is told the time at least so often.
const TICK: Duration = Duration::from_millis(50);

/// And the time of the day, which people may set.
const CLOCK_EVERY: Duration = Duration::from_secs(60);

/// What errors call its thread.
const WHOSE: &str = "the store";

/// A store at work. Dropped, it is shut down in order.
pub struct Store {
    handle: Handle,
    worker: Option<Worker<ShutDown>>,
    failure: Option<Receiver<String>>,
}

/// What a store leaves behind that has ended: both devices, still locked.
#[derive(Debug)]
pub struct ShutDown {
    /// The SSD.
    pub ssd: Device,
    /// The disk.
    pub disk: Box<dyn Disk>,
    /// Blocks that only the SSD has.
    pub dirty_blocks: u64,
    /// How far the SSD was, if it was being exchanged.
    pub ssd_state: SsdState,
    /// The SSD says that it was shut down in order. One that has failed may say so of an earlier time.
    pub in_order: bool,
}

impl Store {
    /// To talk to it.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Gives why the store ended, if it ends before it is told to; without that, it is closed in the
    /// end. To be asked for once.
    pub fn failure(&mut self) -> Option<Receiver<String>> {
        self.failure.take()
    }

    /// Shuts it down in order: what is dirty stays dirty, and is there at the next start.
    ///
    /// # Errors
    /// If the store failed.
    pub fn shut_down(mut self) -> io::Result<ShutDown> {
        self.end(Order::ShutDown).expect("it was not ended before")
    }

    /// Shuts it down before its cache is ended: that takes no time however large it is. If blocks are
    /// dirty, the cache is as after a crash.
    ///
    /// # Errors
    /// If the store failed.
    pub fn shut_down_for_good(mut self) -> io::Result<ShutDown> {
        self.end(Order::ShutDownForGood).expect("it was not ended before")
    }

    /// Waits for nothing, of a store that has failed: its last I/O may take as long as it likes.
    pub fn abandon(mut self) {
        self.worker = None;
    }

    fn end(&mut self, how: Order) -> Option<io::Result<ShutDown>> {
        let worker = self.worker.take()?;
        self.handle.order(how);
        Some(worker.end())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.end(Order::ShutDown);
    }
}

/// The thread's own. What others wait for is dropped first, should it fail: I/O may take long.
pub(super) struct Run {
    replies: Replies,
    effects: Effects,
    inbox: Inbox,
    engine: Engine,
    medium: Option<MediumThreads>,
    ring: Ring,
    errors: Errors,
    measured: Devices,
    /// Those who look on.
    taps: Vec<Tap>,
    /// How many want everything on the disk.
    drains: u32,
    /// As the engine was told last.
    now: Nanos,
    /// No more is wanted of it.
    ended: bool,
    /// They hold the locks.
    devices: (Device, Box<dyn Disk>),
}

/// Tells that the thread ends, and why.
struct ExitNotice {
    to: Sender<String>,
    why: Option<String>,
}

impl Drop for ExitNotice {
    fn drop(&mut self) {
        let panicked = || thread::panicking().then(|| panicked(WHOSE).to_string());
        if let Some(why) = self.why.take().or_else(panicked) {
            // Nobody may want to know.
            let _ = self.to.send(why);
        }
    }
}

impl Run {
    pub(super) fn new(
        inbox: Inbox,
        engine: Engine,
        ring: Ring,
        medium: Option<MediumThreads>,
        errors: Errors,
        devices: (Device, Box<dyn Disk>),
    ) -> Run {
        Run {
            replies: Replies::default(),
            effects: Effects::default(),
            inbox,
            engine,
            medium,
            ring,
            errors,
            measured: Devices::default(),
            taps: Vec::new(),
            drains: 0,
            now: Nanos::ZERO,
            ended: false,
            devices,
        }
    }

    pub(super) fn begin(self, handle: Handle) -> io::Result<Store> {
        let (to, failure) = channel();
        let exit_notice = ExitNotice { to, why: None };
        let worker = Worker::start("shingle-store", WHOSE, move || self.live(exit_notice))?;
        Ok(Store { handle, worker: Some(worker), failure: Some(failure) })
    }

    /// (The exit notice goes before all else, also if this panics: of arguments the last is dropped
    /// first.)
    fn live(mut self, mut exit_notice: ExitNotice) -> io::Result<ShutDown> {
        let outcome = self.run();
        self.errors.end(Instant::now());
        if let Err(error) = outcome {
            exit_notice.why = Some(error.to_string());
            return Err(error);
        }
        let dirty_blocks = self.engine.status().dirty_blocks;
        let (ssd_state, in_order) = (self.engine.ssd_state(), self.engine.is_stopped());
        self.medium.map_or(Ok(()), MediumThreads::end)?;
        let (ssd, disk) = self.devices;
        Ok(ShutDown { ssd, disk, dirty_blocks, ssd_state, in_order })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut clock = Clock::new(Instant::now());
        let mut done = Vec::new();
        let mut told_at = None;
        loop {
            self.take_messages();
            let (taps, now) = (std::mem::take(&mut self.taps), self.now);
            self.taps = taps.into_iter().filter_map(|tap| tap.hand_over(now)).collect();
            self.carry_out();
            if self.ended && (self.engine.is_stopped() || self.engine.can_do_no_more()) {
                self.replies.send();
                return Ok(());
            }
            // (A piece of what is left, and then whatever has come meanwhile.)
            let has_more = self.engine.has_more_to_do();
            let goes_on = has_more || self.hears_more();
            // With what is answered in a moment it goes out together.
            if has_more || !self.ring.has_finished() {
                self.replies.send();
            }
            let patience = if goes_on { Duration::ZERO } else { TICK };
            self.ring.wait(patience)?;
            self.inbox.bell.end_sleep();
            // Before completions are reported: what they took is counted to now.
            let stood_still = clock.look(Instant::now());
            let now = clock.ran();
            self.now = now.into();
            self.engine.tick(self.now);
            if stood_still || told_at.is_none_or(|at| now - at >= CLOCK_EVERY) {
                told_at = Some(now);
                self.engine.set_time_of_day(now.into(), clock::time_of_day());
            }
            self.finished(&mut done)?;
            self.report(&mut done);
        }
    }

    fn finished(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        self.ring.done(done);
        self.medium.as_ref().map_or(Ok(()), |medium| medium.done(done))
    }

    /// The engine is told whether I/O was done. Why it was not, others are told.
    fn report(&mut self, done: &mut Vec<Done>) {
        let now = Instant::now();
        for Done { id, result, buffers } in done.drain(..) {
            let bytes = buffers.len() * PAGE_BYTES;
            self.measured.done(id, buffers.len(), result.is_ok(), now);
            let told = result.as_ref().map(|()| bytes).map_err(|_| Failed);
            self.engine.done(id, told, buffers);
            if let Err(error) = result {
                let follows = self.follows(&error.operation);
                self.errors.add(&error, &follows, now);
            }
        }
        self.errors.tick(now);
    }

    /// What the engine does after an error, as far as it says so.
    fn follows(&self, failed: &Operation) -> String {
        let of_disk = failed.device == shingle_engine::Device::Disk && failed.kind != Kind::Read;
        match self.engine.destage_pause() {
            _ if matches!(failed.kind, Kind::Trim(_)) => {
                "; it is not told of what else waits to be trimmed".to_owned()
            }
            _ if failed.blocks > 1 => "; its blocks are tried one by one".to_owned(),
            Some(pause) if of_disk => {
                format!("; destaging is tried again in {} ms", pause.0 / 1_000_000)
            }
            _ => String::new(),
        }
    }

    /// Whether something was said since it looked last; if not, it is woken by what is said from now on.
    fn hears_more(&mut self) -> bool {
        self.inbox.bell.begin_sleep();
        self.take_messages()
    }

    /// Returns whether there were any.
    fn take_messages(&mut self) -> bool {
        let mut some = false;
        // Operators do not wait until a client's turn has come: that may depend on a slow disk.
        while let Ok(order) = self.inbox.orders.try_recv() {
            self.replies.send();
            self.carry_out_order(order);
            some = true;
        }
        while self.engine.accepts() {
            match self.inbox.questions.try_recv() {
                // It is answered at once, and may take milliseconds: who asks one after the other must not hold up I/O.
                Ok(question @ Question::Dirty(..)) => {
                    self.replies.send();
                    self.take_question(question);
                    return true;
                }
                Ok(question) => self.take_question(question),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.carry_out_order(Order::ShutDown);
                    break;
                }
            }
            some = true;
        }
        some
    }

    fn take_question(&mut self, question: Question) {
        match question {
            Question::Command(mut command, answer) => {
                for tap in &mut self.taps {
                    tap.sees(&command, self.now);
                }
                command.id = self.replies.expect(answer);
                self.engine.submit(command);
            }
            Question::Opened(connection) => self.engine.opened(connection),
            Question::Closed(connection) => self.engine.closed(connection),
            Question::Dirty(first, blocks, answer) => {
                answer(self.engine.dirty_runs(first, blocks));
            }
        }
    }

    fn carry_out_order(&mut self, order: Order) {
        match order {
            Order::SetMode(mode) => self.engine.set_mode(mode),
            // (Who sends one has made it for this store.)
            Order::SetCache(cache) => drop(self.engine.set_cache(cache)),
            Order::Drain(true) => {
                self.drains += 1;
                self.engine.drain();
            }
            Order::Drain(false) => {
                // (Others may wait for it still.)
                self.drains = self.drains.saturating_sub(1);
                if self.drains == 0 {
                    self.engine.keep_dirty();
                }
            }
            Order::SetSettings(text) => self.engine.set_settings(text),
            Order::Status(sender) => drop(sender.send(self.engine.status())),
            Order::Measure(sender) => {
                drop(sender.send((self.engine.status(), self.measured.now(Instant::now()))));
            }
            Order::SetLimits(limits) => self.engine.set_limits(limits),
            Order::SetTellsTrims(tells) => self.engine.set_tells_trims(tells),
            Order::TakeSsdOut { forgets_lost } => self.engine.take_ssd_out(forgets_lost),
            Order::KeepSsdIn(sender) => drop(sender.send(self.engine.keep_ssd_in())),
            Order::AbandonSsd => self.engine.abandon_ssd(),
            Order::PutSsdIn(pair, sender) => {
                let (ssd, new) = *pair;
                drop(sender.send(self.put_ssd_in(ssd, new)));
            }
            Order::GrowDisk(blocks, cache, sender) => {
                drop(sender.send(self.grow_disk(blocks, cache)));
            }
            Order::LeaveMark(mark, sender) => {
                let left = self.devices.1.leave_mark(&mark);
                drop(sender.send(left.map(drop).map_err(StoreError::from)));
            }
            Order::Watch(to) => self.taps.push(Tap::new(to)),
            Order::Share(sender) => drop(sender.send(self.share())),
            Order::ShutDown => {
                self.ended = true;
                self.engine.shut_down();
            }
            Order::ShutDownForGood => {
                self.ended = true;
                self.engine.shut_down_for_good();
            }
        }
    }

    /// (None of its I/O is under way, and none is begun before the ring has the new one.)
    fn put_ssd_in(&mut self, ssd: Device, new: NewSsd) -> Result<Device, StoreError> {
        if self.engine.ssd_state() != SsdState::Out {
            return Err(OpenError::NotOut.into());
        }
        let file = ssd.again().map_err(StoreError::Start)?;
        self.ring.set_ssd(file).map_err(StoreError::Start)?;
        self.engine.put_ssd_in(new)?;
        Ok(std::mem::replace(&mut self.devices.0, ssd))
    }

    fn grow_disk(&mut self, blocks: u64, cache: Box<dyn CacheCore>) -> Result<(), StoreError> {
        let disk = &mut self.devices.1;
        let has = disk.measure()?;
        let wants = blocks * BLOCK_BYTES;
        if has < wants {
            let path = disk.path().to_owned();
            return Err(DeviceError::Size { path, found: has, needed: wants }.into());
        }
        // (A power cut may take back the new size of a file, and a cache whose disk is smaller than it says is refused.)
        disk.device().map_or(Ok(()), Device::flush)?;
        self.engine.grow_disk(blocks, cache)?;
        disk.grow(wants);
        Ok(())
    }

    fn share(&self) -> Result<Shared, StoreError> {
        let (ssd, disk) = &self.devices;
        Ok(Shared {
            ssd: ssd.share(),
            ssd_is_deleted: ssd.is_deleted(),
            ssd_used_bytes: ssd.bytes(),
            disk_bytes: disk.measure()?,
            disk_is_deleted: disk.is_deleted(),
            dirty_blocks: self.engine.status().dirty_blocks,
        })
    }

    fn carry_out(&mut self) {
        self.engine.take_into(&mut self.effects);
        let now = Instant::now();
        self.inbox.disk_blocks.store(self.engine.disk_blocks(), Ordering::Relaxed);
        for io in self.effects.ios.drain(..) {
            self.measured.begin(&io, now);
            match &self.medium {
                Some(medium) if io.device == shingle_engine::Device::Disk => medium.begin(io),
                _ => self.ring.begin(io),
            }
        }
        self.replies.give(&mut self.effects.replies);
    }
}
