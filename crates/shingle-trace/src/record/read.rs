//! Reads a recording event by event. The requests among them come from its trace.

use shingle_core::observer::Event;
use shingle_core::units::{Nanos, Request};

use super::code::{Bytes, Decoded, Last};
use super::{About, CHUNK_BYTES_MAX, CHUNK_HEAD_BYTES};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::native::header::{self, cut_short};
use crate::native::{MAGIC, u32_at};
use crate::source::Source;

/// The events of a recording. Times count from the start of the recording.
pub struct Events {
    input: Input,
    about: About,
    unread_bytes: u64,
    chunk: Vec<u8>,
    /// Bytes of the chunk that have been read.
    consumed: usize,
    /// Events of the chunk not read yet.
    events_left: u32,
    last: Last,
    source: Box<dyn Source>,
    requests: std::vec::IntoIter<Request>,
    /// Arrival of the first request.
    base: Nanos,
}

impl Events {
    /// Opens a recording, compressed or not.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or is a trace without events.
    pub fn open(path: &str) -> Result<Events, TraceError> {
        let mut input = Input::open(path)?;
        let fail = |problem: Problem| problem.at(path, Place::Whole);
        if !input.peek(MAGIC.len())?.starts_with(&MAGIC) {
            let message = "is no recording; `shingle store serve --record` and `shingle replay --record` make them";
            return Err(fail(Problem::new(Kind::Format, message)));
        }
        let mut base = None;
        let (_, layout) = header::read(&mut input, |first, _| {
            base.get_or_insert(Nanos(first));
        })?;
        if layout.events_bytes == 0 {
            let message = "holds no events: it is a trace and no recording";
            return Err(fail(Problem::new(Kind::Format, message)));
        }
        let mut blocks = layout.file_bytes - layout.header_bytes - layout.events_bytes;
        while blocks > 0 {
            let part = blocks.min(CHUNK_BYTES_MAX as u64);
            if (input.next_record(part as usize)?.len() as u64) < part {
                return Err(fail(cut_short("in its requests")));
            }
            blocks -= part;
        }
        let source = crate::open(path, &crate::OpenOptions::default())?.source;
        let mut events = Events {
            input,
            about: About::default(),
            unread_bytes: layout.events_bytes,
            chunk: Vec::new(),
            consumed: 0,
            events_left: 0,
            last: Last::default(),
            source,
            requests: Vec::new().into_iter(),
            base: base.unwrap_or(Nanos::ZERO),
        };
        events.next_chunk()?;
        let text = std::str::from_utf8(&events.chunk).ok().filter(|_| events.events_left == 0);
        events.about = text.and_then(About::of_text).ok_or_else(|| events.damaged())?;
        events.consumed = events.chunk.len();
        Ok(events)
    }

    /// Returns the description of the cache that was recorded.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    #[allow(clippy::should_implement_trait)] // it returns errors
    pub fn next(&mut self) -> Result<Option<Event>, TraceError> {
        while self.events_left == 0 {
            if self.consumed < self.chunk.len() {
                return Err(self.damaged());
            }
            if self.unread_bytes == 0 {
                return Ok(None);
            }
            self.next_chunk()?;
        }
        self.events_left -= 1;
        let mut bytes = Bytes(&self.chunk[self.consumed..]);
        let event = bytes.event(&mut self.last);
        self.consumed = self.chunk.len() - bytes.0.len();
        match event {
            Some(Decoded::Event(event)) => Ok(Some(event)),
            Some(Decoded::Request) => self.request().map(|request| Some(Event::Request(request))),
            None => Err(self.damaged()),
        }
    }

    fn request(&mut self) -> Result<Request, TraceError> {
        if self.requests.len() == 0 {
            let mut batch = Vec::with_capacity(4096);
            self.source.fill(&mut batch)?;
            self.requests = batch.into_iter();
        }
        let request = self.requests.next().ok_or_else(|| self.damaged())?;
        Ok(Request { at: request.at + self.base, ..request })
    }

    fn next_chunk(&mut self) -> Result<(), TraceError> {
        (self.chunk, self.events_left) = chunk(&mut self.input, &mut self.unread_bytes)?;
        self.consumed = 0;
        self.last = Last::default();
        Ok(())
    }

    fn damaged(&self) -> TraceError {
        damaged(&self.input)
    }
}

fn chunk(input: &mut Input, unread_bytes: &mut u64) -> Result<(Vec<u8>, u32), TraceError> {
    let cut_error =
        |input: &Input| cut_short("in its events").at(input.name(), Place::Byte(input.byte()));
    let head = input.next_record(CHUNK_HEAD_BYTES)?.to_vec();
    if head.len() < CHUNK_HEAD_BYTES {
        return Err(cut_error(input));
    }
    let bytes = u32_at(&head, 4) as usize;
    let whole = (CHUNK_HEAD_BYTES + bytes) as u64;
    if bytes > CHUNK_BYTES_MAX || whole > *unread_bytes {
        return Err(damaged(input));
    }
    let body = input.next_record(bytes)?.to_vec();
    if body.len() < bytes {
        return Err(cut_error(input));
    }
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&head[4..]);
    checksum.update(&body);
    if checksum.finalize() != u32_at(&head, 0) {
        return Err(damaged(input));
    }
    *unread_bytes -= whole;
    Ok((body, u32_at(&head, 8)))
}

/// Skips the events behind the requests of a trace, and checks that all are there.
pub(crate) fn skip(input: &mut Input, mut bytes: u64) -> Result<(), TraceError> {
    while bytes > 0 {
        chunk(input, &mut bytes)?;
    }
    Ok(())
}

fn damaged(input: &Input) -> TraceError {
    let message = "the events make no sense: the file is damaged; copy it again";
    Problem::new(Kind::Corrupt, message).at(input.name(), Place::Byte(input.byte()))
}
