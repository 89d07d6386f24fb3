//! How other threads talk to the thread of a store. Requests of clients wait for their turn; admin
//! commands of operators are taken at once.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shingle_core::cache::CacheCore;
use shingle_core::service::{Limits, Mode};
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, IoFile, Mark};
use shingle_engine::{Command, Connection, Errno, NewSsd, Status};
use shingle_nbd::export::Wake;

use super::disk::Disk;
use super::errors::{LastError, LastErrors};
use super::store_error::StoreError;
use super::tap::Batch;
use super::waker::Waker;
use crate::measures::DevicesNow;

/// Receives the result of a command. The wake that it returns is dropped when all pending replies
/// are delivered.
pub(crate) type Answer = Box<dyn FnOnce(Result<Vec<u8>, Errno>) -> Option<Wake> + Send>;

/// Receives the runs of dirty and other blocks.
type Runs = Box<dyn FnOnce(Vec<(u64, bool)>) + Send>;

/// Messages of clients.
pub(super) enum ClientRequest {
    Command(Command, Answer),
    Opened(Connection),
    Closed(Connection),
    Dirty(Block, u64, Runs),
}

/// Messages of operators. None of them waits for a device: what would wait is asked of [`Handle::devices`].
pub(super) enum AdminCommand {
    SetMode(Mode),
    SetCache(Box<dyn CacheCore>),
    Drain(bool),
    SetSettings(String),
    Status(SyncSender<Status>),
    Measure(SyncSender<(Status, DevicesNow)>),
    SetLimits(Limits),
    SetTrimPassdown(bool),
    GrowDisk(u64, Box<dyn CacheCore>, SyncSender<Result<(), StoreError>>),
    TakeSsdOut { forgets_lost: bool },
    KeepSsdIn(SyncSender<bool>),
    AbandonSsd,
    PutSsdIn(Box<(Device, IoFile, NewSsd)>, SyncSender<Result<Device, StoreError>>),
    Share(SyncSender<(Device, Box<dyn Disk>)>),
    Watch(SyncSender<Batch>),
    ShutDown,
    ShutDownForGood,
}

/// The highest number of requests that wait. A client that sends more is blocked.
const REQUESTS_MAX: usize = 1024;

/// A handle to a store, for use from any thread.
#[derive(Clone)]
pub struct Handle {
    requests: SyncSender<ClientRequest>,
    admin: Sender<AdminCommand>,
    waker: Arc<Waker>,
    /// The disk may grow.
    disk_blocks: Arc<AtomicU64>,
    last_errors: LastErrors,
    marks: Arc<Mutex<()>>,
}

/// The receiving end of a [`Handle`], for the store's thread.
pub(super) struct Inbox {
    /// Read only while the engine accepts more commands.
    pub(super) requests: Receiver<ClientRequest>,
    /// Always read: operators do not wait behind clients.
    pub(super) admin: Receiver<AdminCommand>,
    pub(super) waker: Arc<Waker>,
    /// Where the thread stores the size of the disk.
    pub(super) disk_blocks: Arc<AtomicU64>,
}

impl Handle {
    /// Makes both ends. `doorbell` wakes the thread.
    pub(super) fn new(
        doorbell: Arc<File>,
        disk_blocks: u64,
        last_errors: LastErrors,
    ) -> (Handle, Inbox) {
        let (requests, asked) = sync_channel(REQUESTS_MAX);
        let (admin, told) = channel();
        let disk_blocks = Arc::new(AtomicU64::new(disk_blocks));
        let waker = Arc::new(Waker::new(doorbell));
        let inbox = Inbox {
            requests: asked,
            admin: told,
            waker: waker.clone(),
            disk_blocks: disk_blocks.clone(),
        };
        let marks = Arc::default();
        (Handle { requests, admin, waker, disk_blocks, last_errors, marks }, inbox)
    }

    /// The size of the disk in bytes.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_blocks.load(Ordering::Relaxed) * BLOCK_BYTES
    }

    /// Submits a command. Its `id` is not used. The store's thread calls `answer` with the result,
    /// which must not block. Waits while too many commands are queued.
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
        self.wake();
    }

    /// As [`Handle::submit`], without waking the store: the caller calls [`Handle::wake`] once for
    /// many commands.
    pub(crate) fn send(&self, command: Command, answer: Answer) {
        if let Err(refused) = self.requests.send(ClientRequest::Command(command, answer))
            && let ClientRequest::Command(_, answer) = refused.0
        {
            drop(answer(Err(Errno::SHUT_DOWN)));
        }
    }

    /// Submits a command, and waits for its result.
    pub fn call(&self, command: Command) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = sync_channel(1);
        self.submit(command, move |result| drop(sender.send(result)));
        receiver.recv().unwrap_or(Err(Errno::SHUT_DOWN))
    }

    /// Opens a connection. If acknowledged writes may be lost, that is reported to it.
    pub fn opened(&self, connection: Connection) {
        // The store may have ended. It need not wake for this.
        let _ = self.requests.send(ClientRequest::Opened(connection));
    }

    /// Closes a connection: later replies to it are dropped.
    pub fn closed(&self, connection: Connection) {
        // As above.
        let _ = self.requests.send(ClientRequest::Closed(connection));
    }

    /// Switches the mode.
    pub fn set_mode(&self, mode: Mode) {
        self.send_admin(AdminCommand::SetMode(mode));
    }

    /// Replaces the cache by this one, which is empty and of the same size. All cached blocks move
    /// to it. A cache that does not fit changes nothing.
    pub fn set_cache(&self, cache: Box<dyn CacheCore>) {
        self.send_admin(AdminCommand::SetCache(cache));
    }

    /// Destages everything that is dirty, now and later, until each caller that switched this on
    /// has switched it off.
    pub fn drain(&self, on: bool) {
        self.send_admin(AdminCommand::Drain(on));
    }

    /// Sets policy and parameters in the superblock, for the next start.
    pub fn set_settings(&self, text: String) {
        self.send_admin(AdminCommand::SetSettings(text));
    }

    /// Calls `answer` with the runs of dirty and other blocks among `blocks` blocks from `first`
    /// on, and their lengths in blocks. The runs may end early. The store's thread calls it.
    pub fn dirty(
        &self,
        first: Block,
        blocks: u64,
        answer: impl FnOnce(Vec<(u64, bool)>) + Send + 'static,
    ) {
        // The store may have ended: then nothing answers.
        if self.requests.send(ClientRequest::Dirty(first, blocks, Box::new(answer))).is_ok() {
            self.wake();
        }
    }

    /// The status; `None` if the store has ended.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.call_admin(AdminCommand::Status)
    }

    /// The status, if the store answers within `patience`: a thread that hangs does not answer.
    #[must_use]
    pub fn status_within(&self, patience: Duration) -> Option<Status> {
        self.begin_status().recv_timeout(patience).ok()
    }

    /// Requests the status, and returns where it will arrive. A caller with several stores asks all
    /// of them before it waits.
    pub(crate) fn begin_status(&self) -> Receiver<Status> {
        self.begin_admin(AdminCommand::Status)
    }

    /// The same for the status with what both devices do.
    pub(crate) fn begin_measures(&self) -> Receiver<(Status, DevicesNow)> {
        self.begin_admin(AdminCommand::Measure)
    }

    /// The last failed I/O of the SSD and of the disk, if any.
    #[must_use]
    pub fn last_errors(&self) -> Vec<LastError> {
        self.last_errors.get()
    }

    /// Sets the limits that the operator allows.
    pub fn set_limits(&self, limits: Limits) {
        self.send_admin(AdminCommand::SetLimits(limits));
    }

    /// Sets whether trims of clients are passed on to the disk.
    pub fn set_trim_passdown(&self, passes: bool) {
        self.send_admin(AdminCommand::SetTrimPassdown(passes));
    }

    /// Begins to take the SSD out: see
    /// [`Engine::take_ssd_out`](shingle_engine::Engine::take_ssd_out).
    pub(crate) fn take_ssd_out(&self, forgets_lost: bool) {
        self.send_admin(AdminCommand::TakeSsdOut { forgets_lost });
    }

    /// Keeps the SSD in, if possible. Returns whether it stays in.
    pub(crate) fn keep_ssd_in(&self) -> bool {
        self.call_admin(AdminCommand::KeepSsdIn).unwrap_or(false)
    }

    /// Notes that the SSD, which takes no writes any more, will not be served again.
    pub(crate) fn abandon_ssd(&self) {
        self.send_admin(AdminCommand::AbandonSsd);
    }

    /// Puts another SSD in; returns the old one.
    pub(crate) fn put_ssd_in(
        &self,
        ssd: Device,
        file: IoFile,
        new: NewSsd,
    ) -> Result<Device, StoreError> {
        self.call_admin(|to| AdminCommand::PutSsdIn(Box::new((ssd, file, new)), to))
            .unwrap_or_else(ended)
    }

    /// Grows the disk to this number of blocks, which it has, also after a power cut.
    pub(crate) fn grow_disk(
        &self,
        blocks: u64,
        cache: Box<dyn CacheCore>,
    ) -> Result<(), StoreError> {
        self.call_admin(|to| AdminCommand::GrowDisk(blocks, cache, to)).unwrap_or_else(ended)
    }

    /// Writes a mark to the disk.
    pub(crate) fn leave_mark(&self, mark: Mark) -> Result<(), StoreError> {
        let _the_end_waits = self.hold_marks();
        Ok(self.devices()?.1.leave_mark(&mark).map(drop)?)
    }

    /// Sends the requests of clients to `to` from now on. A slow receiver misses some, and is told
    /// how many; the store does not wait for it. Ends when the receiver is dropped.
    pub(crate) fn watch(&self, to: SyncSender<Batch>) {
        self.send_admin(AdminCommand::Watch(to));
    }

    /// While this is held no mark is written to the disk; nor is one after the end of the store.
    pub(super) fn hold_marks(&self) -> MutexGuard<'_, ()> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// SSD and disk, which are in use. They stay locked as long as these are held.
    pub(crate) fn devices(&self) -> Result<(Device, Box<dyn Disk>), StoreError> {
        self.call_admin(AdminCommand::Share).ok_or(StoreError::Ended)
    }

    /// `None` if the store has ended.
    fn call_admin<T>(&self, command: impl FnOnce(SyncSender<T>) -> AdminCommand) -> Option<T> {
        self.begin_admin(command).recv().ok()
    }

    fn begin_admin<T>(&self, command: impl FnOnce(SyncSender<T>) -> AdminCommand) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.send_admin(command(sender));
        receiver
    }

    pub(super) fn send_admin(&self, command: AdminCommand) {
        // The store may have ended: then nothing receives it.
        if self.admin.send(command).is_ok() {
            self.wake();
        }
    }

    /// Wakes the store.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

fn ended<T>() -> Result<T, StoreError> {
    Err(StoreError::Ended)
}
