//! Sends the replies of a connection: few of them at once, on the thread that answered; or the connection's own thread
//! does, which may wait for the client. What was begun on one thread the other goes on with: all that is on its way is
//! here.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::activity::{Activity, AtOnce, Watched};
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
    pub(crate) sending: Mutex<Sending>,
}

/// Replies on their way.
#[derive(Default)]
pub(crate) struct Sending {
    batch: Batch,
    sent: Sent,
}

/// Requests that have their replies, and the memory that they are charged for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) requests: usize,
    pub(crate) memory_bytes: u64,
}

impl Sender {
    /// The connection's own thread, which may wait.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another one, which may not: `None` if somebody sends, or if it is encrypted (which takes its time, and what is
    /// said of keys is the other thread's).
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

    /// Sends what there is. Waits for the client.
    ///
    /// # Errors
    /// If the connection is broken.
    pub(crate) fn send(&mut self, to: Watched<'_>) -> io::Result<Sent> {
        self.batch.send(to)?;
        Ok(self.given_up())
    }

    /// Sends what there is, if that goes at once; if not, the rest stays here.
    ///
    /// # Errors
    /// If the connection is broken, or the client has to be waited for.
    pub(crate) fn send_at_once(&mut self, to: Watched<'_>) -> io::Result<Sent> {
        self.batch.send(AtOnce(to))?;
        Ok(self.given_up())
    }

    /// Nobody will send what there is.
    pub(crate) fn given_up(&mut self) -> Sent {
        self.batch.clear();
        std::mem::take(&mut self.sent)
    }
}
