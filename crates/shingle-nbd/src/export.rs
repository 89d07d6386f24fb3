//! The interface to what is served: an export gets commands, each with a completion that may be
//! called from any thread.

use std::fmt;
use std::sync::Arc;

pub use crate::answer::{Answer, Extent, Failure, Piece};
pub use crate::command::{Command, Context, Contexts, DIRTY, HOLE, ZERO};
use crate::outbox::{InFlight, Outbox};
use crate::replies::ErrorCode;

/// A block device that can be served.
pub trait Export: Send + Sync {
    /// The size in bytes. It must not change while it is served.
    fn size_bytes(&self) -> u64;

    /// Whether writes are refused.
    fn read_only(&self) -> bool {
        false
    }

    /// Takes a command. Its range is inside the export, not empty, and a multiple of the minimum
    /// block size; writes occur only if the export is not read-only.
    ///
    /// An engine with a thread of its own queues the command with its completion and returns. The
    /// export may also do the work in this call; the next request of the connection waits
    /// meanwhile.
    ///
    /// A flush covers every write, of any connection, that was answered before it was submitted:
    /// multi-conn is always advertised.
    /// multi-conn is always advertised.
    fn submit(&self, command: Command, done: Completion);

    /// Called when a connection has submitted all requests that have arrived, and is about to wait
    /// for more. A sleeping engine may delay its wake-up until then.
    fn kick(&self) {}

    /// Called when a client has chosen this export. Its connection has a new number, from 1 on,
    /// which [`Completion::connection`] returns for each of its commands.
    fn opened(&self, _connection: u64) {}

    /// Called when a connection has ended. All its commands are answered, or their results will be
    /// dropped.
    fn closed(&self, _connection: u64) {}
}

type Call = Box<dyn FnOnce(Result<Answer, Failure>) + Send>;

/// Receives the result of a command, on any thread. If it is dropped, the result is EIO, so that no
/// client waits forever.
pub struct Completion(Option<Sink>);

enum Sink {
    Connection { outbox: Arc<Outbox>, which: InFlight },
    Call { connection: u64, done: Call },
}

impl Completion {
    /// A completion that calls `done`, for commands without a connection.
    pub fn new(done: impl FnOnce(Result<Answer, Failure>) + Send + 'static) -> Self {
        Self::of(0, done)
    }

    /// As [`Completion::new`], for a client that is not one of a [`Server`](crate::server::Server);
    /// `connection` is a number that no connection of a server has.
    pub fn of(
        connection: u64,
        done: impl FnOnce(Result<Answer, Failure>) + Send + 'static,
    ) -> Self {
        Self(Some(Sink::Call { connection, done: Box::new(done) }))
    }

    pub(crate) fn to_connection(outbox: Arc<Outbox>, which: InFlight) -> Self {
        Self(Some(Sink::Connection { outbox, which }))
    }

    /// The connection of the command; 0 if there is none.
    pub fn connection(&self) -> u64 {
        match &self.0 {
            Some(Sink::Connection { outbox, .. }) => outbox.connection(),
            Some(Sink::Call { connection, .. }) => *connection,
            None => 0,
        }
    }

    /// Completes the command. Does not block: what the client does not take at once, the thread of
    /// the connection sends.
    pub fn done(self, result: Result<Answer, Failure>) {
        drop(self.put(result));
    }

    /// As [`Completion::done`], for a caller with more results: replies may wait until the returned
    /// [`Wake`] is dropped, so that many are sent together.
    pub fn put(mut self, result: Result<Answer, Failure>) -> Option<Wake> {
        self.0.take()?.put(result)
    }
}

impl Sink {
    fn put(self, result: Result<Answer, Failure>) -> Option<Wake> {
        match self {
            // Only where it is needed: dropping it wakes the writer.
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

/// A wake-up of the thread that sends replies. When it is dropped, the waiting replies are sent, if
/// the client takes them at once, or that thread is woken.
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
