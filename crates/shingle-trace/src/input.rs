//! The bytes of a trace: a file or stdin, decompressed while reading, with a look-ahead.
//!
//! The compression is recognised by the first bytes, never by the name. Memory is bounded: one
//! window and the memory of the decompressor, whose window is limited too.

mod compression;

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Kind, Place, TraceError};
use compression::{Compression, decompressed, unsupported};

/// Decompressed bytes held at a time.
const WINDOW_BYTES: usize = 256 << 10;

/// The longest line of a text trace.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 10;

/// The most bytes that [`Input::peek`] can look ahead.
pub(crate) const PEEK_BYTES_MAX: usize = 64 << 10;

/// Number of pieces of a file that are sampled where its beginning is not enough.
const PIECES: u64 = 16;
const PIECE_BYTES: u64 = 64 << 10;

/// A trace's bytes.
pub struct Input {
    name: String,
    /// Whether the name is a path.
    is_file: bool,
    reader: Box<dyn Read + Send>,
    compression: Compression,
    used: Arc<AtomicU64>,
    total: Option<u64>,
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of content before `start`.
    consumed: u64,
    ended: bool,
    lines: u64,
}

impl Input {
    /// Opens a file, or stdin if `path` is `-`.
    ///
    /// # Errors
    /// If it is not there, cannot be read, is empty, a directory or an archive.
    pub fn open(path: &str) -> Result<Input, TraceError> {
        if path == "-" {
            return Input::new("stdin", None, io::stdin());
        }
        let failed = |error: &io::Error| {
            let hint = if error.kind() == ErrorKind::NotFound {
                "; give a path, - for stdin, or a workload as synth:NAME"
            } else {
                ""
            };
            TraceError::new(
                Kind::Io,
                path,
                Place::Whole,
                format!("cannot be opened: {}{hint}", error_text(error)),
            )
        };
        let metadata = std::fs::metadata(Path::new(path)).map_err(|error| failed(&error))?;
        if metadata.is_dir() {
            let message = "is a directory; name a trace file in it";
            return Err(TraceError::new(Kind::Io, path, Place::Whole, message));
        }
        let total = metadata.is_file().then_some(metadata.len());
        let file = File::open(Path::new(path)).map_err(|error| failed(&error))?;
        let input = Input::new(path, total, file)?;
        Ok(Input { is_file: metadata.is_file(), ..input })
    }

    /// Reads from bytes in memory, compressed or not. Errors call them `name`.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Input, TraceError> {
        let bytes = bytes.into();
        let total = bytes.len() as u64;
        Input::new(name, Some(total), Cursor::new(bytes))
    }

    fn new(
        name: &str,
        total: Option<u64>,
        mut stored: impl Read + Send + 'static,
    ) -> Result<Input, TraceError> {
        const HEAD_BYTES: u64 = 512;
        let fail = |kind, message: String| TraceError::new(kind, name, Place::Whole, message);
        let mut head = Vec::new();
        (&mut stored)
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .map_err(|error| fail(Kind::Io, format!("cannot be read: {}", error_text(&error))))?;
        if head.is_empty() {
            return Err(fail(Kind::Empty, "is empty: there is no request in it".to_owned()));
        }
        if let Some(what) = unsupported(&head) {
            return Err(fail(Kind::Format, format!("is {what}")));
        }
        let compression = Compression::of(&head);
        let used = Arc::new(AtomicU64::new(0));
        let stored = Cursor::new(head).chain(stored);
        let reader = decompressed(compression, stored, &used)
            .map_err(|error| fail(Kind::Io, format!("cannot be decompressed: {error}")))?;
        let mut input = Input {
            name: name.to_owned(),
            is_file: false,
            reader,
            compression,
            used,
            total,
            window: vec![0; WINDOW_BYTES],
            start: 0,
            end: 0,
            consumed: 0,
            ended: false,
            lines: 0,
        };
        let head = input.peek(HEAD_BYTES as usize)?;
        if head.is_empty() {
            return Err(fail(Kind::Empty, "is empty once decompressed".to_owned()));
        }
        if let Some(what) = unsupported(head) {
            return Err(fail(Kind::Format, format!("holds {what}")));
        }
        Ok(input)
    }

    /// Returns the name that the user gave.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stored bytes used, and their total if it is known.
    #[must_use]
    pub fn progress(&self) -> Option<(u64, u64)> {
        // Bytes in the window were read but not decoded yet.
        let ahead = if self.compression == Compression::None { self.end - self.start } else { 0 };
        let used = self.used.load(Ordering::Relaxed);
        self.total.map(|total| (used.saturating_sub(ahead as u64).min(total), total))
    }

    /// Returns the size of the content, if it is a file that is not compressed.
    pub(crate) fn content_bytes(&self) -> Option<u64> {
        self.total.filter(|_| self.compression == Compression::None)
    }

    /// Opens the file again for reads at any place. `None` if it is no file, or is compressed.
    pub(crate) fn reopen(&self) -> Option<io::Result<File>> {
        let plain = self.is_file && self.compression == Compression::None;
        plain.then(|| File::open(Path::new(&self.name)))
    }

    /// Returns the next `count` bytes without consuming them; fewer only at the end.
    ///
    /// # Errors
    /// If the file cannot be read or decompressed.
    pub fn peek(&mut self, count: usize) -> Result<&[u8], TraceError> {
        self.fill_window(count.min(PEEK_BYTES_MAX))
    }

    /// Returns samples of a text, of whole lines: from all over a file that can be read at any
    /// place, else from its beginning.
    pub(crate) fn pieces(&mut self) -> Result<Vec<Vec<u8>>, TraceError> {
        if let Some(total) = self.content_bytes().filter(|&total| total > PIECES * PIECE_BYTES)
            && let Some(Ok(mut file)) = self.reopen()
        {
            let begins = (1..PIECES).map(|nth| nth * (total / PIECES));
            let further =
                begins.map(|begin| piece(&mut file, begin)).collect::<io::Result<Vec<_>>>();
            // A failed read is not reported here: the error appears when reading gets to that
            // place.
            if let Ok(further) = further {
                let mut pieces = vec![self.peek(PEEK_BYTES_MAX)?.to_vec()];
                pieces.extend(further);
                return Ok(pieces);
            }
        }
        let mut head = self.fill_window((PIECES * PIECE_BYTES) as usize)?.to_vec();
        if !self.ended {
            head.truncate(memchr::memrchr(b'\n', &head).map_or(0, |end| end + 1));
        }
        Ok(vec![head])
    }

    fn fill_window(&mut self, count: usize) -> Result<&[u8], TraceError> {
        if self.window.len() < count {
            self.window.resize(count, 0);
        }
        while self.end - self.start < count && !self.ended {
            self.refill()?;
        }
        Ok(&self.window[self.start..self.end.min(self.start + count)])
    }

    /// Returns the number of the line that [`Input::next_line`] returned last, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.lines
    }

    /// Returns the offset in the content of the byte that is consumed next.
    pub(crate) fn byte(&self) -> u64 {
        self.consumed
    }

    /// Returns the next line without its end. The last line may lack an end.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let mut searched = 0;
        loop {
            let found = memchr::memchr(b'\n', &self.window[self.start + searched..self.end]);
            let bytes = match found {
                Some(at) => searched + at,
                None => self.end - self.start,
            };
            if bytes > LINE_BYTES_MAX {
                let error = self.line_too_long();
                return Err(self.root_cause(error));
            }
            let last = found.is_none() && self.ended;
            if found.is_some() || (last && bytes > 0) {
                let from = self.start;
                let step = bytes + usize::from(found.is_some());
                self.start += step;
                self.consumed += step as u64;
                self.lines += 1;
                let line = &self.window[from..from + bytes];
                return Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)));
            }
            if last {
                return Ok(None);
            }
            searched = bytes;
            self.refill()?;
        }
    }

    /// Consumes the next `count` bytes, at most a window. At the end it returns fewer and consumes
    /// none.
    pub(crate) fn next_record(&mut self, count: usize) -> Result<&[u8], TraceError> {
        if self.end - self.start < count {
            let available = self.fill_window(count)?.len();
            if available < count {
                return self.fill_window(count);
            }
        }
        let from = self.start;
        self.start += count;
        self.consumed += count as u64;
        Ok(&self.window[from..from + count])
    }

    /// Moves the unconsumed bytes to the front of the window and reads more behind them.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        assert!(self.end < self.window.len(), "nothing asks for more than a window");
        // A window that was widened to look far ahead is used up before it is filled again.
        let to = if self.end < WINDOW_BYTES { WINDOW_BYTES } else { self.window.len() };
        loop {
            match self.reader.read(&mut self.window[self.end..to]) {
                Ok(count) => {
                    self.end += count;
                    self.ended = count == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(&error)),
            }
        }
    }

    /// Returns `error`, or the damage of a compressed file that caused it. Its checksum is at the
    /// end, so the rest of the file is read.
    #[cold]
    pub(crate) fn root_cause(&mut self, error: TraceError) -> TraceError {
        // The most bytes that are read for it: a wrong format must not wait for all of a large
        // file, or for a pipe.
        const CHECKED_BYTES: u64 = 1 << 30;
        let end = self.consumed.saturating_add(CHECKED_BYTES);
        let packed = self.compression != Compression::None && self.total.is_some();
        // A second volume is no damage: who reads the trace reads on, to count the volumes.
        let packed = packed && error.kind != Kind::Volume;
        while packed && !self.ended && self.consumed < end {
            self.consumed += (self.end - self.start) as u64;
            self.start = self.end;
            match self.refill() {
                Err(damage) if damage.kind == Kind::Corrupt => return damage,
                Err(_) => break,
                Ok(()) => {}
            }
        }
        error
    }

    #[cold]
    fn line_too_long(&self) -> TraceError {
        TraceError::new(
            Kind::Syntax,
            &self.name,
            Place::Line(self.lines + 1),
            "is longer than 64 KiB: the file is damaged here, or is no text trace; copy it again, or name another \
             format (--format)",
        )
    }

    #[cold]
    fn read_error(&self, error: &io::Error) -> TraceError {
        let used = self.used.load(Ordering::Relaxed);
        let decoded = self.consumed + (self.end - self.start) as u64;
        let how = self.compression.name();
        if self.compression == Compression::None {
            let message = format!("cannot be read on: {}", error_text(error));
            return TraceError::new(Kind::Io, &self.name, Place::StoredByte(used), message);
        }
        let (kind, message) = if error.kind() == ErrorKind::UnexpectedEof {
            (
                Kind::Truncated,
                format!(
                    "the {how} data stops in the middle, after {decoded} bytes of content: the \
                     file is cut short; copy it again"
                ),
            )
        } else if error.to_string().contains("memory") {
            (
                Kind::Corrupt,
                format!(
                    "the {how} data asks for too much memory; unpack it first and give the plain \
                     file or pipe it to -"
                ),
            )
        } else {
            (
                Kind::Corrupt,
                format!(
                    "the {how} data is damaged ({}), after {decoded} bytes of content; copy the \
                     file again",
                    error_text(error)
                ),
            )
        };
        TraceError::new(kind, &self.name, Place::StoredByte(used), message)
    }
}

/// Returns the whole lines of one piece of a file.
fn piece(file: &mut File, begin: u64) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    file.take(PIECE_BYTES).read_to_end(&mut piece)?;
    piece.truncate(memchr::memrchr(b'\n', &piece).map_or(0, |end| end + 1));
    piece.drain(..memchr::memchr(b'\n', &piece).map_or(0, |end| end + 1));
    Ok(piece)
}

/// Returns the text of an I/O error without the number of the system.
pub(crate) fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
