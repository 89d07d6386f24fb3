//! Something in place of the disk: what emulates another one on it. It serves one I/O at a time, on a
//! thread of its own.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use rustix::io::{preadv, pwritev};

use super::ring::Done;
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Failed, Io, Kind};

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

/// Pages at a time that the system takes.
const PAGES_MAX: usize = 1024;

/// Pages of a disk, past the page cache where the file system can.
#[derive(Debug)]
pub struct Direct(pub(super) File);

impl Direct {
    /// Reads pages from `page` on.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, mut page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        for part in buffers.chunks_mut(PAGES_MAX) {
            let bytes = part.len() * PAGE_BYTES;
            let mut slices: Vec<_> =
                part.iter_mut().map(|buffer| IoSliceMut::new(&mut buffer.0)).collect();
            let read = preadv(&self.0, &mut slices, page * PAGE_BYTES as u64)?;
            whole(read, bytes)?;
            page += PAGES_MAX as u64;
        }
        Ok(())
    }

    /// Writes pages from `page` on.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, mut page: u64, buffers: &[Buffer]) -> io::Result<()> {
        for part in buffers.chunks(PAGES_MAX) {
            let slices: Vec<_> = part.iter().map(|buffer| IoSlice::new(&buffer.0)).collect();
            let written = pwritev(&self.0, &slices, page * PAGE_BYTES as u64)?;
            whole(written, part.len() * PAGE_BYTES)?;
            page += PAGES_MAX as u64;
        }
        Ok(())
    }

    /// What was written survives a power cut when this is done.
    ///
    /// # Errors
    /// If that is not so.
    pub fn flush(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn whole(done: usize, wanted: usize) -> io::Result<()> {
    if done == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A medium at work.
pub(super) struct Served {
    to: Sender<Io>,
    from: Receiver<Done>,
    thread: JoinHandle<io::Result<()>>,
}

impl Served {
    /// `bell` is rung when something is done.
    pub(super) fn start(mut medium: Box<dyn Medium>, bell: Arc<File>) -> io::Result<Served> {
        let (to, ios) = channel::<Io>();
        let (done, from) = channel();
        let thread = thread::Builder::new().name("shingle-medium".to_owned());
        let thread = thread.spawn(move || {
            for Io { id, kind, page, mut buffers, .. } in ios {
                let bytes = buffers.len() * PAGE_BYTES;
                let result = medium.serve(kind, page, &mut buffers);
                let result = result.map(|()| bytes).map_err(|_| Failed);
                // If the store has gone there is nobody to tell.
                let _ = done.send(Done { id, result, buffers });
                let _ = (&*bell).write(&1_u64.to_ne_bytes());
            }
            medium.end()
        })?;
        Ok(Served { to, from, thread })
    }

    pub(super) fn begin(&self, io: Io) {
        // It ends only after us, or has panicked: then `done` says so.
        let _ = self.to.send(io);
    }

    /// What is done.
    ///
    /// # Errors
    /// If nothing ever will be any more.
    pub(super) fn done(&self, done: &mut Vec<Done>) -> io::Result<()> {
        loop {
            match self.from.try_recv() {
                Ok(io) => done.push(io),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(panicked()),
            }
        }
    }

    /// Waits until all is done.
    pub(super) fn end(self) -> io::Result<()> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|_| Err(panicked()))
    }
}

fn panicked() -> io::Error {
    io::Error::other("the thread of the disk has panicked")
}
