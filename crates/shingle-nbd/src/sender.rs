//! Sends the replies of a connection. A few are sent at once by the thread that answered; otherwise
//! the thread of the connection sends them, and may wait for the client. The state is here, so that
//! each thread can continue what the other one began.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::activity::{Activity, NonBlocking, Watched};
use crate::batch::Batch;
use crate::queue::Ready;
use crate::session::Session;
use crate::stream::Stream;
use crate::tls::Channel;

pub(crate) struct Sender {
    pub(crate) stream: Arc<Stream>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) channel: Arc<OnceLock<Channel>>,
    pub(crate) session: Session,
    /// Held while replies are sent: the thread of the connection may wait with it for the client,
    /// and other threads only try to lock it.
    pub(crate) sending: Mutex<Sending>,
}

/// Replies that are being sent.
#[derive(Default)]
pub(crate) struct Sending {
    batch: Batch,
    sent: Sent,
}

/// Requests whose replies were sent, and the memory that they are charged for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) requests: usize,
    pub(crate) memory_bytes: u64,
}

impl Sender {
    /// Locks for the thread of the connection, which may wait.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for another thread, which may not wait: `None` if another thread sends, or if the
    /// connection is encrypted: that takes time, and new keys are handled by the thread of the
    /// connection.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Sending>> {
        if self.channel.get().is_some() { None } else { self.sending.try_lock().ok() }
    }

    pub(crate) fn watched(&self) -> Watched<'_> {
        Watched { stream: &self.stream, activity: &self.activity, channel: &self.channel }
    }
}

impl Sending {
    /// Adds replies, and leaves `ready` empty.
    pub(crate) fn add(&mut self, session: &Session, ready: &mut Vec<Ready>) {
        for (which, result) in ready.drain(..) {
            self.sent.requests += 1;
            self.sent.memory_bytes += which.memory_bytes;
            session.reply(&which.request, result, &mut self.batch);
        }
    }

    /// Sends all replies. Waits for the client.
    pub(crate) fn send(&mut self, to: Watched<'_>) -> io::Result<Sent> {
        self.batch.send(to)?;
        Ok(self.discard())
    }

    /// Sends as much as is possible at once; the rest stays here.
    ///
    /// # Errors
    /// If the connection is broken, or the client has to be waited for.
    pub(crate) fn send_at_once(&mut self, to: Watched<'_>) -> io::Result<Sent> {
        self.batch.send(NonBlocking(to))?;
        Ok(self.discard())
    }

    /// Drops what was not sent.
    pub(crate) fn discard(&mut self) -> Sent {
        self.batch.clear();
        std::mem::take(&mut self.sent)
    }
}
