//! Writes a recording: a thread encodes events into unnamed files, which become one named file at
//! the end.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use shingle_core::observer::{Event, Observer};
use shingle_core::units::{Op, Request};

use super::code::{Last, encode};
use super::spool::{Spool, reserve};
use super::{About, CHUNK_BYTES_MAX};
use crate::error::{Kind, Place, TraceError};
use crate::input::error_text;
use crate::native::block::Encoder;
use crate::native::header::{self, Recorded};
use crate::native::{BLOCK_REQUESTS, TOOL};
use crate::source::{DISK_BYTES_MAX, REQUEST_BYTES_MAX, TRIM_BYTES_MAX};
use crate::summary::Tally;
use crate::write::Out;

/// Events sent to the thread at a time.
pub(super) const BATCH_EVENTS: usize = 4096;
/// The most batches that wait for the thread: some 300 MB.
const BATCHES_MAX: usize = 1024;
const EVENT_BYTES_MAX: usize = 64;

/// Receives events on the thread of the executor. Dropping it ends the recording.
pub struct Recorder {
    batch: Vec<Event>,
    sender: SyncSender<Vec<Event>>,
    /// The executor serves requests, so it must not be blocked any more.
    is_serving: bool,
    /// The thread could not keep up: the recording ends here.
    ended_early: bool,
    notified: bool,
}

/// A recording in progress.
pub struct Recording {
    thread: JoinHandle<Result<Vec<String>, TraceError>>,
}

impl Recording {
    /// Starts to record into a file, which gets its name when the recording is complete.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(path: &str, about: &About) -> Result<(Recorder, Recording), TraceError> {
        Recording::begin_telling(path, about, |_| {})
    }

    /// Does the same. `on_end` is called, from another thread, if the recording ends early: the
    /// file cannot be written any more, or not as fast as events come. The file then gets what was
    /// recorded before.
    ///
    /// # Errors
    /// The same.
    pub fn begin_telling(
        path: &str,
        about: &About,
        on_end: impl FnOnce(&TraceError) + Send + 'static,
    ) -> Result<(Recorder, Recording), TraceError> {
        let mut file = Writer::create(path, about)?;
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        let thread = thread::Builder::new().name("shingle-record".to_owned());
        let thread = thread.spawn(move || {
            let written = file.write(&receiver);
            // The executor must not wait for a thread that no longer receives.
            drop(receiver);
            if let Some(error) = file.end_reason.as_ref().or(written.as_ref().err()) {
                on_end(error);
            }
            written.and_then(|()| file.finish())
        });
        let thread = thread.map_err(|error| failed(path, &error))?;
        Ok((Recorder::new(sender), Recording { thread }))
    }

    /// Waits until the file is complete, after the [`Recorder`] was dropped. Returns sentences
    /// about what could not be recorded.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<Vec<String>, TraceError> {
        self.thread.join().unwrap_or_else(|_| {
            let error = io::Error::other("the thread that writes it has panicked");
            Err(failed("recording", &error))
        })
    }
}

impl Recorder {
    fn new(sender: SyncSender<Vec<Event>>) -> Recorder {
        let batch = Vec::with_capacity(BATCH_EVENTS);
        Recorder { batch, sender, is_serving: false, ended_early: false, notified: false }
    }

    fn send_batch(&mut self) {
        let next = Vec::with_capacity(BATCH_EVENTS);
        let batch = std::mem::replace(&mut self.batch, next);
        // While a cache is restored it may block; while clients are served it must not.
        self.ended_early |= if self.is_serving {
            self.sender.try_send(batch).is_err()
        } else {
            self.sender.send(batch).is_err()
        };
    }

    /// Sends an empty batch, as soon as there is room for one, which tells the thread that none
    /// follows.
    fn notify_end(&mut self) {
        self.notified = self.notified
            || !matches!(self.sender.try_send(Vec::new()), Err(TrySendError::Full(_)));
    }
}

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        if self.ended_early {
            self.notify_end();
            return;
        }
        self.is_serving |= matches!(event, Event::Request(_));
        self.batch.push(*event);
        if self.batch.len() == BATCH_EVENTS {
            self.send_batch();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.is_serving = false;
        if !self.ended_early && !self.batch.is_empty() {
            self.send_batch();
        }
        if self.ended_early && !self.notified {
            // A failed send means that the thread has ended already.
            let _ = self.sender.send(Vec::new());
        }
    }
}

struct Writer {
    path: String,
    out: Option<Out>,
    encoder: Encoder,
    /// Requests of the current block, which is not full.
    waiting: Vec<Request>,
    packed: Vec<u8>,
    requests: Spool,
    index: Vec<(u64, u64)>,
    tally: Tally,
    events: Spool,
    chunk: Vec<u8>,
    chunk_events: u32,
    last: Last,
    /// Dropped when a file cannot be written any more, and at the end.
    reserve: Option<File>,
    /// Why the recording ends early: a write failed, or was slower than the events.
    end_reason: Option<TraceError>,
}

impl Writer {
    fn create(path: &str, about: &About) -> Result<Writer, TraceError> {
        let out = Out::create(path)?;
        let io_error = |error: io::Error| failed(path, &error);
        let mut writer = Writer {
            encoder: Encoder::default(),
            waiting: Vec::with_capacity(BLOCK_REQUESTS),
            packed: Vec::new(),
            requests: Spool::beside(&out).map_err(io_error)?,
            index: Vec::new(),
            tally: Tally::default(),
            events: Spool::beside(&out).map_err(io_error)?,
            chunk: about.to_text().into_bytes(),
            chunk_events: 0,
            last: Last::default(),
            reserve: Some(reserve(&out).map_err(io_error)?),
            end_reason: None,
            path: path.to_owned(),
            out: Some(out),
        };
        writer.end_chunk().map_err(io_error)?;
        Ok(writer)
    }

    /// Writes batches until the last one, or until the recording ends early.
    fn write(&mut self, receiver: &Receiver<Vec<Event>>) -> Result<(), TraceError> {
        for batch in receiver {
            if batch.is_empty() {
                let why = "could not be written as fast as requests came".to_owned();
                self.end_reason = Some(TraceError::new(Kind::Io, &self.path, Place::Whole, why));
                return Ok(());
            }
            for event in &batch {
                self.event(event).map_err(|error| failed(&self.path, &error))?;
                if self.end_reason.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let mut in_trace = false;
        if let Event::Request(request) = event {
            in_trace = is_in_trace(request);
            if in_trace {
                self.tally.add(request);
                self.waiting.push(*request);
                if self.waiting.len() == BLOCK_REQUESTS {
                    self.end_block()?;
                }
            }
        }
        encode(&mut self.chunk, &mut self.last, event, in_trace);
        self.chunk_events += 1;
        if self.chunk.len() > CHUNK_BYTES_MAX - EVENT_BYTES_MAX {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if let Some(first) = self.waiting.first() {
            self.index.push((first.at.0, self.requests.bytes));
            self.packed.clear();
            self.encoder.encode(&self.waiting, &mut self.packed);
            self.waiting.clear();
            let packed = std::mem::take(&mut self.packed);
            self.put(|writer| writer.requests.put(&packed))?;
            self.packed = packed;
        }
        Ok(())
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; super::CHUNK_HEAD_BYTES];
        chunk[4..8].copy_from_slice(&(self.chunk.len() as u32).to_le_bytes());
        chunk[8..12].copy_from_slice(&self.chunk_events.to_le_bytes());
        chunk.append(&mut self.chunk);
        let checksum = crc32fast::hash(&chunk[4..]);
        chunk[..4].copy_from_slice(&checksum.to_le_bytes());
        self.put(|writer| writer.events.put(&chunk))?;
        (self.chunk_events, self.last) = (0, Last::default());
        Ok(())
    }

    /// Writes to a file. If that fails it frees the reserve, tries once more, and ends the
    /// recording: so requests and events stay consistent.
    fn put(&mut self, write: impl Fn(&mut Writer) -> io::Result<()>) -> io::Result<()> {
        let Err(error) = write(self) else { return Ok(()) };
        let Some(reserve) = self.reserve.take() else { return Err(error) };
        drop(reserve);
        self.end_reason = Some(failed(&self.path, &error));
        write(self)
    }

    fn finish(mut self) -> Result<Vec<String>, TraceError> {
        self.end_block().and_then(|()| self.end_chunk()).map_err(|e| failed(&self.path, &e))?;
        let path = std::mem::take(&mut self.path);
        let io_error = |error: io::Error| failed(&path, &error);
        let requests = self.tally.requests.total();
        let why = self.end_reason.as_ref().map(ToString::to_string);
        if requests == 0 {
            let why = why.unwrap_or_else(|| format!("{path}: there was no request"));
            return Ok(vec![format!("{why}; the recording is not written")]);
        }
        let recorded = Recorded::of(&self.tally, String::new(), TOOL.to_owned());
        let (blocks, events) = (self.requests.bytes, self.events.bytes);
        let header = header::encode(&recorded, &self.index, blocks, events);
        let mut out = self.out.take().expect("finished once");
        drop(self.reserve);
        out.put(&header)?;
        self.requests.move_to(&mut out).map_err(io_error)?;
        self.events.move_to(&mut out).map_err(io_error)?;
        out.finish()?;
        let word = if requests == 1 { "request" } else { "requests" };
        let cut = why.map(|why| format!("{why}; the recording ends after {requests} {word}"));
        Ok(cut.into_iter().collect())
    }
}

fn is_in_trace(request: &Request) -> bool {
    let most = match request.op {
        Op::Read | Op::Write => REQUEST_BYTES_MAX,
        Op::Trim => TRIM_BYTES_MAX,
        Op::Flush => return true,
    };
    let end = request.offset.checked_add(request.bytes);
    (1..=most).contains(&request.bytes) && end.is_some_and(|end| end <= DISK_BYTES_MAX)
}

#[cold]
fn failed(path: &str, error: &io::Error) -> TraceError {
    let message = format!("cannot be written: {}", error_text(error));
    TraceError::new(Kind::Io, path, Place::Whole, message)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use shingle_core::units::Nanos;

    use super::*;

    #[test]
    fn one_that_cannot_follow_ends_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("live.shingle").display().to_string();
        let mut writer = Writer::create(&path, &About::default()).expect("a file");
        let (sender, receiver) = sync_channel(1);
        let mut recorder = Recorder::new(sender);
        let request = Request { at: Nanos(0), offset: 0, bytes: 4096, op: Op::Read };
        // One batch waits, and there is no room for the next.
        (0..2 * BATCH_EVENTS).for_each(|_| recorder.event(&Event::Request(request)));
        let thread = thread::spawn(move || {
            writer.write(&receiver).expect("written");
            writer
        });
        let begun = Instant::now();
        while !thread.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it waits for more");
            recorder.event(&Event::Request(request));
        }
        let why = format!("{path}: could not be written as fast as requests came");
        let said = thread.join().expect("no panic").finish().expect("written");
        assert_eq!(said, [format!("{why}; the recording ends after {BATCH_EVENTS} requests")]);
    }
}
