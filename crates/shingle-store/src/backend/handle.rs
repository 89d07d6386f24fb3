//! How other threads talk to the thread of a store: clients ask, and wait for their turn; operators are
//! heard at once.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use shingle_core::cache::CacheCore;
use shingle_core::service::{Limits, Mode};
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError, Mark};
use shingle_engine::{Command, Connection, Errno, NewSsd, Status};
use shingle_nbd::export::Wake;

use super::bell::Bell;
use super::errors::{LastError, LastErrors};
use super::store_error::StoreError;
use super::tap::Seen;
use crate::measures::DevicesNow;

/// What becomes of a command: its data, or an error. What it returns is dropped when all are answered that can be.
pub(crate) type Answer = Box<dyn FnOnce(Result<Vec<u8>, Errno>) -> Option<Wake> + Send>;

/// What becomes of a question which blocks are dirty.
type Runs = Box<dyn FnOnce(Vec<(u64, bool)>) + Send>;

/// What clients want.
pub(super) enum Question {
    Command(Command, Answer),
    Opened(Connection),
    Closed(Connection),
    Dirty(Block, u64, Runs),
}

/// What operators want.
pub(super) enum Order {
    SetMode(Mode),
    SetCache(Box<dyn CacheCore>),
    Drain(bool),
    SetSettings(String),
    Status(SyncSender<Status>),
    Measure(SyncSender<(Status, DevicesNow)>),
    SetLimits(Limits),
    SetTellsTrims(bool),
    GrowDisk(u64, Box<dyn CacheCore>, SyncSender<Result<(), StoreError>>),
    TakeSsdOut { forgets_lost: bool },
    KeepSsdIn(SyncSender<bool>),
    AbandonSsd,
    PutSsdIn(Box<(Device, NewSsd)>, SyncSender<Result<Device, StoreError>>),
    LeaveMark(Mark, SyncSender<Result<(), StoreError>>),
    Share(SyncSender<Result<Shared, StoreError>>),
    Watch(SyncSender<Seen>),
    ShutDown,
    ShutDownForGood,
}

/// What is known of the devices of a store while it uses them.
pub(crate) struct Shared {
    /// The SSD, with all that it has by now; an error where the process may open no more files.
    pub(crate) ssd: Result<Device, DeviceError>,
    /// The SSD is a file without a name.
    pub(crate) ssd_is_deleted: bool,
    /// What is used of it.
    pub(crate) ssd_used_bytes: u64,
    /// The size of the disk by now.
    pub(crate) disk_bytes: u64,
    /// The disk is a file without a name.
    pub(crate) disk_is_deleted: bool,
    /// Blocks that only the SSD has.
    pub(crate) dirty_blocks: u64,
}

/// Questions that wait at most; who asks waits longer.
const QUESTIONS_MAX: usize = 1024;

/// Talks to a store from any thread.
#[derive(Clone)]
pub struct Handle {
    questions: SyncSender<Question>,
    orders: Sender<Order>,
    bell: Arc<Bell>,
    /// It may grow.
    disk_blocks: Arc<AtomicU64>,
    last_errors: LastErrors,
}

/// Where the store's thread gets what was said to a [`Handle`].
pub(super) struct Inbox {
    /// Looked at only while the engine takes more.
    pub(super) questions: Receiver<Question>,
    /// Looked at always: nobody waits behind clients.
    pub(super) orders: Receiver<Order>,
    pub(super) bell: Arc<Bell>,
    /// Where it is told how large the disk is.
    pub(super) disk_blocks: Arc<AtomicU64>,
}

impl Handle {
    /// The two ends; `doorbell` is rung when something was said.
    pub(super) fn new(
        doorbell: Arc<File>,
        disk_blocks: u64,
        last_errors: LastErrors,
    ) -> (Handle, Inbox) {
        let (questions, asked) = sync_channel(QUESTIONS_MAX);
        let (orders, told) = channel();
        let disk_blocks = Arc::new(AtomicU64::new(disk_blocks));
        let bell = Arc::new(Bell::new(doorbell));
        let inbox = Inbox {
            questions: asked,
            orders: told,
            bell: bell.clone(),
            disk_blocks: disk_blocks.clone(),
        };
        (Handle { questions, orders, bell, disk_blocks, last_errors }, inbox)
    }

    /// Size of the disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_blocks.load(Ordering::Relaxed) * BLOCK_BYTES
    }

    /// Gives a command, whose `id` is of no meaning here; `answer` is called by the store's thread and
    /// must not block. Waits while too many commands wait.
    pub fn submit(
        &self,
        command: Command,
        answer: impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static,
    ) {
        let answer = |result| {
            answer(result);
            None
        };
        self.send(command, Box::new(answer));
        self.ring();
    }

    /// As [`Handle::submit`], without waking the store: [`Handle::ring`] does, once for many.
    pub(crate) fn send(&self, command: Command, answer: Answer) {
        if let Err(refused) = self.questions.send(Question::Command(command, answer))
            && let Question::Command(_, answer) = refused.0
        {
            drop(answer(Err(Errno::SHUT_DOWN)));
        }
    }

    /// As [`Handle::submit`], and waits for the answer.
    ///
    /// # Errors
    /// What the command was answered.
    pub fn call(&self, command: Command) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = sync_channel(1);
        self.submit(command, move |result| drop(sender.send(result)));
        receiver.recv().unwrap_or(Err(Errno::SHUT_DOWN))
    }

    /// A client has connected, who is told if writes that were answered may be lost.
    pub fn opened(&self, connection: Connection) {
        // If the store has ended there is nobody to tell; nor need it wake for this.
        let _ = self.questions.send(Question::Opened(connection));
    }

    /// It has left: nobody hears what is still answered to it.
    pub fn closed(&self, connection: Connection) {
        let _ = self.questions.send(Question::Closed(connection));
    }

    /// Switches the mode.
    pub fn set_mode(&self, mode: Mode) {
        self.order(Order::SetMode(mode));
    }

    /// From now on this cache decides, which is empty and of the same size. What is cached goes over to
    /// it. One that does not fit changes nothing.
    pub fn set_cache(&self, cache: Box<dyn CacheCore>) {
        self.order(Order::SetCache(cache));
    }

    /// Destages everything that is dirty, now and from now on; or no longer, when all who wanted it have said so.
    pub fn drain(&self, on: bool) {
        self.order(Order::Drain(on));
    }

    /// Sets what the superblock says of policy and parameters, for the next start.
    pub fn set_settings(&self, text: String) {
        self.order(Order::SetSettings(text));
    }

    /// Gives `answer` the runs of `blocks` blocks from `first` on that are dirty and that are not,
    /// with the length of each in blocks. They may end early. The store's thread calls it.
    pub fn dirty(
        &self,
        first: Block,
        blocks: u64,
        answer: impl FnOnce(Vec<(u64, bool)>) + Send + 'static,
    ) {
        // If the store has ended there is nobody to ask.
        if self.questions.send(Question::Dirty(first, blocks, Box::new(answer))).is_ok() {
            self.ring();
        }
    }

    /// How things are; `None` if the store has ended.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.ask(Order::Status)
    }

    /// The same, within `patience`: a thread that hangs says nothing.
    #[must_use]
    pub fn status_within(&self, patience: Duration) -> Option<Status> {
        self.asked_for_status().recv_timeout(patience).ok()
    }

    /// Likewise, where the answer will be. Whoever asks several stores does so before he waits for one of them.
    pub(crate) fn asked_for_status(&self) -> Receiver<Status> {
        self.asked(Order::Status)
    }

    /// Where will be how things are, and what both devices do.
    pub(crate) fn asked_for_measures(&self) -> Receiver<(Status, DevicesNow)> {
        self.asked(Order::Measure)
    }

    /// The last I/O of the SSD and of the disk that failed, if any did.
    #[must_use]
    pub fn last_errors(&self) -> Vec<LastError> {
        self.last_errors.get()
    }

    /// Sets what is allowed from now on.
    pub fn set_limits(&self, limits: Limits) {
        self.order(Order::SetLimits(limits));
    }

    /// Whether the disk is told from now on what clients trim.
    pub fn set_tells_trims(&self, tells: bool) {
        self.order(Order::SetTellsTrims(tells));
    }

    /// Begins to take the SSD out, or to hold on to it: see [`Engine::take_ssd_out`](shingle_engine::Engine::take_ssd_out).
    pub(crate) fn take_ssd_out(&self, forgets_lost: bool) {
        self.order(Order::TakeSsdOut { forgets_lost });
    }

    /// Returns whether it stays in.
    pub(crate) fn keep_ssd_in(&self) -> bool {
        self.ask(Order::KeepSsdIn).unwrap_or(false)
    }

    /// The SSD, which takes nothing any more, will not be served again.
    pub(crate) fn abandon_ssd(&self) {
        self.order(Order::AbandonSsd);
    }

    /// Another SSD is used from now on; returns the one before.
    pub(crate) fn put_ssd_in(&self, ssd: Device, new: NewSsd) -> Result<Device, StoreError> {
        self.ask(|to| Order::PutSsdIn(Box::new((ssd, new)), to)).unwrap_or_else(ended)
    }

    /// The disk has so many blocks from now on.
    pub(crate) fn grow_disk(
        &self,
        blocks: u64,
        cache: Box<dyn CacheCore>,
    ) -> Result<(), StoreError> {
        self.ask(|to| Order::GrowDisk(blocks, cache, to)).unwrap_or_else(ended)
    }

    /// Leaves a mark on the disk.
    pub(crate) fn leave_mark(&self, mark: Mark) -> Result<(), StoreError> {
        self.ask(|to| Order::LeaveMark(mark, to)).unwrap_or_else(ended)
    }

    /// From now on `to` gets what clients ask for. Whoever takes it late misses some, and is told how much; nobody waits
    /// for him. It ends when the other end is dropped.
    pub(crate) fn watch(&self, to: SyncSender<Seen>) {
        self.order(Order::Watch(to));
    }

    /// The devices, as they are by now.
    pub(crate) fn devices(&self) -> Result<Shared, StoreError> {
        self.ask(Order::Share).unwrap_or_else(ended)
    }

    /// The same, if the store says so within `patience`.
    pub(crate) fn devices_within(&self, patience: Duration) -> Option<Shared> {
        self.asked(Order::Share).recv_timeout(patience).ok()?.ok()
    }

    /// `None` if the store has ended.
    fn ask<T>(&self, order: impl FnOnce(SyncSender<T>) -> Order) -> Option<T> {
        self.asked(order).recv().ok()
    }

    fn asked<T>(&self, order: impl FnOnce(SyncSender<T>) -> Order) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.order(order(sender));
        receiver
    }

    pub(super) fn order(&self, order: Order) {
        // If the store has ended there is nobody to tell.
        if self.orders.send(order).is_ok() {
            self.ring();
        }
    }

    /// Wakes the store.
    pub fn ring(&self) {
        self.bell.ring();
    }
}

fn ended<T>() -> Result<T, StoreError> {
    Err(StoreError::Ended)
}
