//! Writes lines of the log in a thread of its own, so that no other thread waits: a pipe that
//! is not read must not stop the server. Lines for which there is no room are dropped, and
//! counted.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use shingle_device::start_thread;

use crate::output;

/// Most queued lines: some 1 MB.
const LINES_MAX: usize = 4096;
/// How long the end of the process waits for one line to be written; if none is, they are not read.
const PATIENCE: Duration = Duration::from_secs(1);

/// A queue of lines.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Shared>);

struct Shared {
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// Whether a line is being written.
    writes: bool,
    /// Number of lines written.
    written: u64,
    /// Number of lines lost since that was last reported.
    lost: u64,
    /// The writer's thread, whose lines always have room: it reports lost lines.
    writer: Option<ThreadId>,
}

impl Lines {
    /// Starts writing lines to `out`. When writing succeeds again after losses, `tell` adds a line
    /// that says how many were lost.
    pub(crate) fn begin(
        out: impl Write + Send + 'static,
        tell: impl Fn(&Lines, u64) + Send + 'static,
    ) -> io::Result<Lines> {
        Lines::of(LINES_MAX, out, tell)
    }

    fn of(
        most: usize,
        mut out: impl Write + Send + 'static,
        tell: impl Fn(&Lines, u64) + Send + 'static,
    ) -> io::Result<Lines> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let lines = Lines(Arc::new(Shared { most, state, changed }));
        let own = lines.clone();
        // (The thread ends with the process.)
        start_thread("shingle-log", move || {
            own.lock().writer = Some(thread::current().id());
            loop {
                let lost = own.write_one(&mut out);
                if lost > 0 {
                    tell(&own, lost);
                }
            }
        })?;
        Ok(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line, with its line end.
    fn put(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if state.waiting.len() < self.0.most || state.writer == Some(thread::current().id()) {
            state.waiting.push_back(line);
            self.0.changed.notify_all();
        } else {
            state.lost += 1;
        }
    }

    /// Queues a line.
    pub(crate) fn say(&self, text: &str) {
        self.put(format!("{text}\n").into_bytes());
    }

    /// Waits for a line and writes it. Returns how many lines were lost, if that can be reported
    /// now.
    fn write_one(&self, out: &mut impl Write) -> u64 {
        let mut state = self.lock();
        let line = loop {
            match state.waiting.pop_front() {
                Some(line) => break line,
                None => state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        state.writes = true;
        drop(state);
        let written = out.write_all(&line);
        let mut state = self.lock();
        (state.writes, state.written) = (false, state.written + 1);
        self.0.changed.notify_all();
        match written {
            Ok(()) => std::mem::take(&mut state.lost),
            // (Losses are not reported as long as nothing can be written.)
            Err(_) => {
                state.lost += 1;
                0
            }
        }
    }

    /// Waits until all lines are written. Returns false if they are not read.
    fn flush(&self, patience: Duration) -> bool {
        let mut state = self.lock();
        while state.writes || !state.waiting.is_empty() {
            let before = state.written;
            let stays = |state: &mut State| state.written == before;
            let waited = self.0.changed.wait_timeout_while(state, patience, stays);
            let (after, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return false;
            }
            state = after;
        }
        true
    }
}

/// A subscriber writes one line at a time.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all queued lines when dropped, however the process ends, unless they are not read.
pub(crate) struct FlushOnDrop(pub(crate) Lines);

impl Drop for FlushOnDrop {
    fn drop(&mut self) {
        if !self.0.flush(PATIENCE) {
            output::stop_stderr();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn tell(lines: &Lines, lost: u64) {
        lines.say(&format!("{lost} lost"));
    }

    #[test]
    fn nobody_waits_for_who_does_not_read_and_what_is_lost_is_told_when_he_does() {
        const MOST: usize = 10;
        let (reader, writer) = UnixStream::pair().expect("two sockets");
        let lines = Lines::of(MOST, writer, tell).expect("a thread");
        let long = "x".repeat(1 << 16);
        // The socket is full long before the last.
        (0..100).for_each(|n| lines.say(&format!("{n} {long}")));
        assert!(!lines.flush(Duration::from_millis(10)), "nobody reads");
        let mut read = BufReader::new(reader).lines().map(|line| line.expect("text"));
        let (mut came, mut lost, mut next) = (0, 0, 0);
        while came + lost < 100 {
            let line = read.next().expect("a line");
            let (number, rest) = line.split_once(' ').expect("two words");
            let number: u64 = number.parse().expect("a number");
            if rest == "lost" {
                lost += number;
            } else {
                assert!(number >= next, "in order");
                (came, next) = (came + 1, number + 1);
            }
        }
        assert!(came + lost == 100 && lost > 50, "{came} came, {lost} are lost");
        lines.say("heard");
        assert!(lines.flush(PATIENCE), "all is read");
        assert_eq!(read.next().as_deref(), Some("heard"));
    }

    #[test]
    fn a_reader_who_has_gone_keeps_nobody_busy() {
        let (reader, writer) = UnixStream::pair().expect("two sockets");
        let lines = Lines::of(10, writer, tell).expect("a thread");
        // (A process that another test begins may have it, too, for a moment.)
        reader.shutdown(Shutdown::Both).expect("gone");
        lines.say("to nobody");
        assert!(lines.flush(PATIENCE));
        let state = lines.lock();
        assert_eq!(
            (state.written, state.lost),
            (1, 1),
            "that is not told, as it would be lost, too"
        );
    }
}
