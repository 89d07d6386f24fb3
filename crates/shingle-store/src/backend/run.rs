//! The thread of a store, from start to end.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use shingle_core::cache::CacheCore;
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_device::{
    Device, DeviceIo, Done, IoFile, IoMethod, MediumThreads, Operation, Worker, panicked,
};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Effects, Engine, Failed, Kind, NewSsd, OpenError, SsdState};

use super::clock::{self, Clock};
use super::disk::Disk;
use super::errors::Errors;
use super::handle::{AdminCommand, ClientRequest, Handle, Inbox};
use super::replies::Replies;
use super::store_error::StoreError;
use super::tap::Tap;
use crate::measures::Devices;

/// How often the engine gets the time at least.
const TICK: Duration = Duration::from_millis(50);

/// How often the engine gets the time of day, which an operator may set.
const CLOCK_EVERY: Duration = Duration::from_secs(60);

/// The name of its thread in errors.
const WHOSE: &str = "the store";

/// A running store. Dropping it shuts it down in order.
pub struct Store {
    handle: Handle,
    io_method: IoMethod,
    worker: Option<Worker<ShutDown>>,
    failure: Option<Receiver<String>>,
}

/// What is left of a store that has ended: both devices, still locked.
#[derive(Debug)]
pub struct ShutDown {
    /// The SSD.
    pub ssd: Device,
    /// The disk.
    pub disk: Box<dyn Disk>,
    /// The number of dirty blocks.
    pub dirty_blocks: u64,
    /// The number of dirty blocks whose data is lost.
    pub lost_blocks: u64,
    /// The state of the SSD, if it was being exchanged.
    pub ssd_state: SsdState,
    /// Whether the SSD is marked as shut down in order. A failed SSD may still have the mark of an
    /// earlier shutdown.
    pub in_order: bool,
}

impl Store {
    /// A handle to it.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// How its I/O is done.
    #[must_use]
    pub fn io_method(&self) -> IoMethod {
        self.io_method
    }

    /// The channel for the reason if the store ends by itself; otherwise it is closed at the end.
    /// Can be taken once.
    pub fn failure(&mut self) -> Option<Receiver<String>> {
        self.failure.take()
    }

    /// Shuts it down in order: dirty blocks stay dirty, and are there at the next start.
    pub fn shut_down(mut self) -> io::Result<ShutDown> {
        self.end(AdminCommand::ShutDown).expect("it was not ended before")
    }

    /// Shuts it down before its cache is deleted, which takes no time for any size. If blocks are
    /// dirty, the cache is as after a crash.
    pub fn shut_down_for_removal(mut self) -> io::Result<ShutDown> {
        self.end(AdminCommand::ShutDownForGood).expect("it was not ended before")
    }

    /// Lets go of a store that has failed, without waiting for its I/O.
    pub fn abandon(mut self) {
        self.worker = None;
    }

    fn end(&mut self, how: AdminCommand) -> Option<io::Result<ShutDown>> {
        let worker = self.worker.take()?;
        self.handle.send_admin(how);
        let outcome = worker.end();
        // (A mark that is being written must not come after one that the caller writes next.)
        drop(self.handle.hold_marks());
        Some(outcome)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // An owner that needs the outcome calls [`Store::shut_down`].
        let _ = self.end(AdminCommand::ShutDown);
    }
}

/// The state of the thread. Fields that others wait for are dropped first, in case of a panic: I/O
/// may take long.
pub(super) struct Run {
    replies: Replies,
    effects: Effects,
    inbox: Inbox,
    engine: Engine,
    medium: Option<MediumThreads>,
    io: DeviceIo,
    errors: Errors,
    measured: Devices,
    /// Receivers of a copy of the requests.
    taps: Vec<Tap>,
    /// How many callers want everything destaged.
    drains: u32,
    /// The time that the engine got last.
    now: Nanos,
    /// The store is to end.
    ended: bool,
    /// The devices with their locks.
    devices: (Device, Box<dyn Disk>),
}

/// Reports the end of the thread, and the reason.
struct ExitNotice {
    to: Sender<String>,
    why: Option<String>,
}

impl Drop for ExitNotice {
    fn drop(&mut self) {
        let panicked = || thread::panicking().then(|| panicked(WHOSE).to_string());
        if let Some(why) = self.why.take().or_else(panicked) {
            // The receiver may be gone.
            let _ = self.to.send(why);
        }
    }
}

impl Run {
    pub(super) fn new(
        inbox: Inbox,
        engine: Engine,
        io: DeviceIo,
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
            io,
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
        let io_method = self.io.method();
        let worker = Worker::start("shingle-store", WHOSE, move || self.live(exit_notice))?;
        Ok(Store { handle, io_method, worker: Some(worker), failure: Some(failure) })
    }

    /// Runs the store to its end. The exit notice comes before everything else, even after a panic:
    /// the last argument is dropped first.
    fn live(mut self, mut exit_notice: ExitNotice) -> io::Result<ShutDown> {
        let outcome = self.run();
        self.errors.end(Instant::now());
        if let Err(error) = outcome {
            exit_notice.why = Some(error.to_string());
            return Err(error);
        }
        let status = self.engine.status();
        let (dirty_blocks, lost_blocks) = (status.dirty_blocks, status.lost.len() as u64);
        let (ssd_state, in_order) = (self.engine.ssd_state(), self.engine.is_stopped());
        self.medium.map_or(Ok(()), MediumThreads::end)?;
        let (ssd, disk) = self.devices;
        Ok(ShutDown { ssd, disk, dirty_blocks, lost_blocks, ssd_state, in_order })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut clock = Clock::new(Instant::now());
        let mut done = Vec::new();
        let mut clock_set_at = None;
        loop {
            self.take_messages();
            let (taps, now) = (std::mem::take(&mut self.taps), self.now);
            self.taps = taps.into_iter().filter_map(|tap| tap.hand_over(now)).collect();
            self.carry_out();
            if self.ended && (self.engine.is_stopped() || self.engine.is_failed_and_idle()) {
                self.replies.send();
                return Ok(());
            }
            // One piece of background work, and then the messages that have arrived.
            let has_more = self.engine.has_more_to_do();
            let more_to_do = has_more || self.has_messages();
            // Replies wait for completions that are there already, so that all go out together.
            if has_more || !self.io.has_finished() {
                self.replies.send();
            }
            let patience = if more_to_do { Duration::ZERO } else { TICK };
            self.io.wait(patience)?;
            self.inbox.waker.end_sleep();
            // Before completions are reported, so that their time is counted up to now.
            let stood_still = clock.look(Instant::now());
            let now = clock.ran();
            self.now = now.into();
            self.engine.tick(self.now);
            if stood_still || clock_set_at.is_none_or(|at| now - at >= CLOCK_EVERY) {
                clock_set_at = Some(now);
                self.engine.set_time_of_day(now.into(), clock::time_of_day());
            }
            self.finished(&mut done)?;
            self.report(&mut done);
        }
    }

    fn finished(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        self.io.done(done);
        self.medium.as_ref().map_or(Ok(()), |medium| medium.done(done))
    }

    /// Reports completions to the engine, and the reasons of failures to the error log.
    fn report(&mut self, done: &mut Vec<Done>) {
        let now = Instant::now();
        for Done { id, result, buffers } in done.drain(..) {
            let bytes = buffers.len() * PAGE_BYTES;
            self.measured.done(id, buffers.len(), result.is_ok(), now);
            let result_bytes = result.as_ref().map(|()| bytes).map_err(|_| Failed);
            self.engine.io_done(id, result_bytes, buffers);
            if let Err(error) = result {
                let follows = self.follows(&error.operation);
                self.errors.add(&error, &follows, now);
            }
        }
        self.errors.tick(now);
    }

    /// What the engine does after this error, for the log.
    fn follows(&self, failed: &Operation) -> String {
        let of_disk = failed.device == shingle_engine::Device::Disk && failed.kind != Kind::Read;
        match self.engine.destage_back_off() {
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

    /// Whether messages have arrived since the last check. If not, later ones wake the thread.
    fn has_messages(&mut self) -> bool {
        self.inbox.waker.begin_sleep();
        self.take_messages()
    }

    /// Takes all messages. Returns whether there were any.
    fn take_messages(&mut self) -> bool {
        let mut some = false;
        // Admin commands do not wait behind requests, which may depend on a slow disk.
        while let Ok(command) = self.inbox.admin.try_recv() {
            self.replies.send();
            self.carry_out_admin(command);
            some = true;
        }
        while self.engine.can_submit() {
            match self.inbox.requests.try_recv() {
                // The answer is immediate, but may take milliseconds: a client that asks repeatedly
                // must not delay I/O.
                Ok(request @ ClientRequest::Dirty(..)) => {
                    self.replies.send();
                    self.take_request(request);
                    return true;
                }
                Ok(request) => self.take_request(request),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.carry_out_admin(AdminCommand::ShutDown);
                    break;
                }
            }
            some = true;
        }
        some
    }

    fn take_request(&mut self, request: ClientRequest) {
        match request {
            ClientRequest::Command(mut command, answer) => {
                for tap in &mut self.taps {
                    tap.record(&command, self.now);
                }
                command.id = self.replies.register(answer);
                self.engine.submit(command);
            }
            ClientRequest::Opened(connection) => self.engine.connection_opened(connection),
            ClientRequest::Closed(connection) => self.engine.connection_closed(connection),
            ClientRequest::Dirty(first, blocks, answer) => {
                answer(self.engine.dirty_runs(first, blocks));
            }
        }
    }

    fn carry_out_admin(&mut self, command: AdminCommand) {
        match command {
            AdminCommand::SetMode(mode) => self.engine.set_mode(mode),
            // The caller has made the cache for this store.
            AdminCommand::SetCache(cache) => drop(self.engine.set_cache(cache)),
            AdminCommand::Drain(true) => {
                self.drains += 1;
                self.engine.drain();
            }
            AdminCommand::Drain(false) => {
                // Other callers may still want it.
                self.drains = self.drains.saturating_sub(1);
                if self.drains == 0 {
                    self.engine.cancel_drain();
                }
            }
            AdminCommand::SetSettings(text) => self.engine.set_settings(text),
            AdminCommand::Status(sender) => drop(sender.send(self.engine.status())),
            AdminCommand::Measure(sender) => {
                drop(sender.send((self.engine.status(), self.measured.now(Instant::now()))));
            }
            AdminCommand::SetLimits(limits) => self.engine.set_limits(limits),
            AdminCommand::SetTrimPassdown(passes) => self.engine.set_trim_passdown(passes),
            AdminCommand::TakeSsdOut { forgets_lost } => self.engine.take_ssd_out(forgets_lost),
            AdminCommand::KeepSsdIn(sender) => drop(sender.send(self.engine.keep_ssd_in())),
            AdminCommand::AbandonSsd => self.engine.abandon_ssd(),
            AdminCommand::PutSsdIn(pair, sender) => {
                let (ssd, file, new) = *pair;
                drop(sender.send(self.put_ssd_in(ssd, file, new)));
            }
            AdminCommand::GrowDisk(blocks, cache, sender) => {
                drop(sender.send(self.grow_disk(blocks, cache)));
            }
            AdminCommand::Watch(to) => self.taps.push(Tap::new(to)),
            AdminCommand::Share(sender) => {
                let (ssd, disk) = &self.devices;
                drop(sender.send((ssd.clone(), disk.share())));
            }
            AdminCommand::ShutDown => {
                self.ended = true;
                self.engine.shut_down();
            }
            AdminCommand::ShutDownForGood => {
                self.ended = true;
                self.engine.shut_down_for_removal();
            }
        }
    }

    /// None of the old SSD's I/O is in flight, and none is submitted before the new one has
    /// taken its place.
    fn put_ssd_in(&mut self, ssd: Device, file: IoFile, new: NewSsd) -> Result<Device, StoreError> {
        if self.engine.ssd_state() != SsdState::Out {
            return Err(OpenError::NotOut.into());
        }
        self.io.set_ssd(file);
        self.engine.put_ssd_in(new)?;
        Ok(std::mem::replace(&mut self.devices.0, ssd))
    }

    fn grow_disk(&mut self, blocks: u64, cache: Box<dyn CacheCore>) -> Result<(), StoreError> {
        self.engine.grow_disk(blocks, cache)?;
        self.devices.1.grow(blocks * BLOCK_BYTES);
        Ok(())
    }

    fn carry_out(&mut self) {
        self.engine.take_effects_into(&mut self.effects);
        let now = Instant::now();
        self.inbox.disk_blocks.store(self.engine.disk_blocks(), Ordering::Relaxed);
        for io in self.effects.ios.drain(..) {
            self.measured.begin(&io, now);
            match &self.medium {
                Some(medium) if io.device == shingle_engine::Device::Disk => medium.begin(io),
                _ => self.io.begin(io),
            }
        }
        self.replies.deliver(&mut self.effects.replies);
    }
}
