//! How other threads talk to the thread of a store: clients ask, and wait for their turn; operators are
//! heard at once.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use shingle_core::cache::CacheCore;
use shingle_core::service::Mode;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::{Command, Connection, Errno, Status};

use super::errors::{LastError, LastErrors};
use crate::measures::DevicesNow;

/// What becomes of a command: its data, or an error.
pub type Answer = Box<dyn FnOnce(Result<Vec<u8>, Errno>) + Send>;

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
    ShutDown,
    ShutDownForGood,
}

/// Questions that wait at most; who asks waits longer.
const QUESTIONS_MAX: usize = 1024;

/// Talks to a store from any thread.
#[derive(Clone)]
pub struct Handle {
    questions: SyncSender<Question>,
    orders: Sender<Order>,
    doorbell: Arc<File>,
    disk_blocks: u64,
    last_errors: LastErrors,
}

/// Where the store's thread gets what was said to a [`Handle`].
pub(super) struct Inbox {
    /// Looked at only while the engine takes more.
    pub(super) questions: Receiver<Question>,
    /// Looked at always: nobody waits behind clients.
    pub(super) orders: Receiver<Order>,
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
        let inbox = Inbox { questions: asked, orders: told };
        (Handle { questions, orders, doorbell, disk_blocks, last_errors }, inbox)
    }

    /// Size of the disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_blocks * BLOCK_BYTES
    }

    /// Gives a command, whose `id` is of no meaning here; `answer` is called by the store's thread and
    /// must not block. Waits while too many commands wait.
    pub fn submit(&self, command: Command, answer: Answer) {
        self.send(command, answer);
        self.ring();
    }

    /// As [`Handle::submit`], without waking the store: [`Handle::ring`] does, once for many.
    pub fn send(&self, command: Command, answer: Answer) {
        if let Err(refused) = self.questions.send(Question::Command(command, answer))
            && let Question::Command(_, answer) = refused.0
        {
            answer(Err(Errno::SHUT_DOWN));
        }
    }

    /// As [`Handle::submit`], and waits for the answer.
    ///
    /// # Errors
    /// What the command was answered.
    pub fn call(&self, command: Command) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = sync_channel(1);
        self.submit(command, Box::new(move |result| drop(sender.send(result))));
        receiver.recv().unwrap_or(Err(Errno::SHUT_DOWN))
    }

    /// A client has connected, who is told if writes that were answered may be lost.
    pub fn opened(&self, connection: Connection) {
        // If the store has ended there is nobody to tell; nor need it wake for this.
        let _ = self.questions.send(Question::Opened(connection));
    }

    /// It has left, and all its commands are answered.
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

    /// Destages everything that is dirty, now and from now on; or no longer.
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
        let (sender, receiver) = sync_channel(1);
        self.order(Order::Status(sender));
        receiver.recv().ok()
    }

    /// The same, within `patience`: a thread that hangs says nothing.
    #[must_use]
    pub fn status_within(&self, patience: Duration) -> Option<Status> {
        let (sender, receiver) = sync_channel(1);
        self.order(Order::Status(sender));
        receiver.recv_timeout(patience).ok()
    }

    /// How things are, and what both devices do, within `patience`.
    #[must_use]
    pub fn measure_within(&self, patience: Duration) -> Option<(Status, DevicesNow)> {
        let (sender, receiver) = sync_channel(1);
        self.order(Order::Measure(sender));
        receiver.recv_timeout(patience).ok()
    }

    /// The last I/O of the SSD and of the disk that failed, if any did.
    #[must_use]
    pub fn last_errors(&self) -> Vec<LastError> {
        self.last_errors.get()
    }

    pub(super) fn order(&self, order: Order) {
        // If the store has ended there is nobody to tell.
        if self.orders.send(order).is_ok() {
            self.ring();
        }
    }

    /// Wakes the store.
    pub fn ring(&self) {
        let _ = (&*self.doorbell).write(&1_u64.to_ne_bytes());
    }
}
