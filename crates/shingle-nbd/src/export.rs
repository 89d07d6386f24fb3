//! The seam to what is served: commands go in, each with a completion that is called when its work
//! is done, from whatever thread that happens on.

use std::fmt;
use std::sync::Arc;

pub use crate::answer::{Answer, Extent, Failure, Piece};
pub use crate::command::{Command, Context, Contexts, DIRTY, HOLE, ZERO};
use crate::outbox::{InFlight, Outbox};
use crate::replies::ErrorCode;

/// Something that is served as a block device.
pub trait Export: Send + Sync {
    /// Its size. It must not change while it is served.
    fn size_bytes(&self) -> u64;

    /// Whether writes are refused.
    fn read_only(&self) -> bool {
        false
    }

    /// Takes a command. Its range lies within the export, is not empty, and is a multiple of the
    /// minimum block size that was set; writes come only if it is not read-only.
    ///
    /// An engine on a thread of its own puts both into its queue and returns. To work right here is
    /// allowed too; the connection's next request waits meanwhile.
    ///
    /// A flush covers every write, of any connection, that was answered before it was submitted:
    /// multi-conn is always advertised.
    fn submit(&self, command: Command, done: Completion);

    /// A connection has submitted all requests that have arrived, and will now wait for more. An
    /// engine that sleeps may put off waking up until then.
    fn kick(&self) {}

    /// A client has agreed to use this export. Its connection has a number that none had before, from 1
    /// on; [`Completion::connection`] tells of each command whose it is.
    fn opened(&self, _connection: u64) {}

    /// A connection has ended, and all its commands are answered, or will be answered to nobody.
    fn closed(&self, _connection: u64) {}
}

type Call = Box<dyn FnOnce(Result<Answer, Failure>) + Send>;

/// Where a command's result goes. It may be sent to any thread. One that is dropped answers EIO, so
/// that no client waits for ever.
pub struct Completion(Option<Sink>);

enum Sink {
    Connection { outbox: Arc<Outbox>, which: InFlight },
    Call { connection: u64, done: Call },
}

impl Completion {
    /// One that calls `done`: to submit commands without a connection.
    pub fn new(done: impl FnOnce(Result<Answer, Failure>) + Send + 'static) -> Self {
        Self::of(0, done)
    }

    /// As [`Completion::new`], for a client that is not one of a [`Server`](crate::server::Server): its number is
    /// none that the connections of one have.
    pub fn of(
        connection: u64,
        done: impl FnOnce(Result<Answer, Failure>) + Send + 'static,
    ) -> Self {
        Self(Some(Sink::Call { connection, done: Box::new(done) }))
    }

    pub(crate) fn to_connection(outbox: Arc<Outbox>, which: InFlight) -> Self {
        Self(Some(Sink::Connection { outbox, which }))
    }

    /// The connection that the command came from; 0 if it came from none.
    pub fn connection(&self) -> u64 {
        match &self.0 {
            Some(Sink::Connection { outbox, .. }) => outbox.connection(),
            Some(Sink::Call { connection, .. }) => *connection,
            None => 0,
        }
    }

    /// The command has this result. Does not block: what the client does not take at once the connection's own thread
    /// sends.
    pub fn done(self, result: Result<Answer, Failure>) {
        drop(self.put(result));
    }

    /// As [`Completion::done`], for one who has more results to give now: replies may wait until what is returned is
    /// dropped, so that many go at once.
    pub fn put(mut self, result: Result<Answer, Failure>) -> Option<Wake> {
        self.0.take()?.put(result)
    }
}

impl Sink {
    fn put(self, result: Result<Answer, Failure>) -> Option<Wake> {
        match self {
            // (Only where it is needed: dropping it wakes.)
            Self::Connection { outbox, which } => outbox.push(which, result).then(|| Wake(outbox)),
            Self::Call { done, .. } => {
                done(result);
                None
            }
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some(sink) = self.0.take() {
            drop(sink.put(Err(Failure::new(ErrorCode::Io, "the request was given up"))));
        }
    }
}

/// Replies wait, and the thread that sends them sleeps. When this is dropped they are sent, as many as the client takes at
/// once, or that thread is woken.
#[must_use = "dropped at once, each reply is sent by itself"]
pub struct Wake(Arc<Outbox>);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.send_or_wake();
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(Sink::Connection { which, .. }) => write!(f, "Completion({:?})", which.request),
            _ => write!(f, "Completion"),
        }
    }
}
