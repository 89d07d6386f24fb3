//! Something in place of the disk: what emulates another one on it. It serves one I/O at a time, on a
//! thread of its own.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use shingle_engine::buffer::Buffer;
use shingle_engine::{Io, Kind};

use crate::error::{IoError, Operation};
use crate::ring::Done;
use crate::worker::{Worker, panicked};

/// Serves I/O on the disk.
pub trait Medium: Send {
    /// Reads into `buffers` from `page` on, writes them there, or flushes.
    ///
    /// # Errors
    /// If the disk does not do it.
    fn serve(&mut self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()>;

    /// No more I/O comes.
    ///
    /// # Errors
    /// If what was left to do cannot be done.
    fn end(&mut self) -> io::Result<()>;
}

/// What errors call its thread.
const WHOSE: &str = "the disk";

/// A medium at work, on a thread of its own.
pub struct MediumThread {
    to: Sender<Io>,
    from: Receiver<Done>,
    worker: Worker<()>,
}

impl MediumThread {
    /// Begins. The doorbell is rung when something is done.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(mut medium: Box<dyn Medium>, doorbell: Arc<File>) -> io::Result<MediumThread> {
        let (to, ios) = channel::<Io>();
        let (done, from) = channel();
        let worker = Worker::start("shingle-medium", WHOSE, move || {
            for io in ios {
                let operation = Operation::of(&io);
                let Io { id, kind, page, mut buffers, .. } = io;
                let result = medium.serve(kind, page, &mut buffers);
                let result = result.map_err(|error| IoError { operation, error });
                // If the store has gone there is nobody to tell.
                let _ = done.send(Done { id, result, buffers });
                let _ = (&*doorbell).write(&1_u64.to_ne_bytes());
            }
            medium.end()
        })?;
        Ok(MediumThread { to, from, worker })
    }

    /// Gives it an I/O.
    pub fn begin(&self, io: Io) {
        // It ends only after us, or has panicked: then `done` says so.
        let _ = self.to.send(io);
    }

    /// Adds what is done.
    ///
    /// # Errors
    /// If nothing ever will be any more.
    pub fn done(&self, done: &mut Vec<Done>) -> io::Result<()> {
        loop {
            match self.from.try_recv() {
                Ok(io) => done.push(io),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(panicked(WHOSE)),
            }
        }
    }

    /// Waits until all is done.
    ///
    /// # Errors
    /// If the medium fails at its end, or has panicked.
    pub fn end(self) -> io::Result<()> {
        drop(self.to);
        self.worker.end()
    }
}
