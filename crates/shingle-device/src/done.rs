//! Completed I/O, and how threads hand it over.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use shingle_engine::buffer::Buffer;
use shingle_engine::{Io, IoId, Kind};

use crate::error::{IoError, Operation};

/// A completed I/O.
pub struct Done {
    /// Its id.
    pub id: IoId,
    /// Whether all of it was done.
    pub result: Result<(), IoError>,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
}

impl Done {
    /// Does an I/O by `serve`.
    pub(crate) fn by(
        io: Io,
        serve: impl FnOnce(Kind, u64, &mut [Buffer]) -> io::Result<()>,
    ) -> Done {
        let operation = Operation::of(&io);
        let Io { id, kind, page, mut buffers, .. } = io;
        let result = serve(kind, page, &mut buffers);
        let result = result.map_err(|error| IoError { operation, error });
        Done { id, result, buffers }
    }
}

/// Where threads send what is done.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) to: Sender<Done>,
    /// An eventfd that the receiver waits for.
    pub(crate) doorbell: Arc<File>,
}

impl Answers {
    /// Does an I/O by `serve`, and sends its result.
    pub(crate) fn serve(
        &self,
        io: Io,
        serve: impl FnOnce(Kind, u64, &mut [Buffer]) -> io::Result<()>,
    ) {
        // The receiver may have ended.
        let _ = self.to.send(Done::by(io, serve));
        // It fails only if the counter is full, which wakes the receiver, too.
        let _ = (&*self.doorbell).write(&1_u64.to_ne_bytes());
    }
}
