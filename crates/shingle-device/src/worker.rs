//! Threads that are joined: a panic becomes an error that names the thread.

use std::io;
use std::thread::{Builder, JoinHandle};

/// A running thread.
pub struct Worker<T> {
    whose: &'static str,
    thread: JoinHandle<io::Result<T>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread. `name` is for debuggers; `whose` describes it in errors.
    pub fn start(
        name: &str,
        whose: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<Worker<T>> {
        Ok(Worker { whose, thread: start_thread(name, work)? })
    }

    /// Whether the thread has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// The error of the work, or a panic.
    pub fn end(self) -> io::Result<T> {
        self.thread.join().unwrap_or_else(|_| Err(panicked(self.whose)))
    }
}

/// Starts a thread with a name for debuggers.
pub fn start_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let without = |error: io::Error| {
        io::Error::new(error.kind(), format!("the system gives no thread: {error}"))
    };
    Builder::new().name(name.to_owned()).spawn(work).map_err(without)
}

/// The error of depending on a thread that has panicked.
#[must_use]
pub fn panicked(whose: &str) -> io::Error {
    io::Error::other(format!("the thread of {whose} has panicked: this is a bug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let end = |work: fn() -> io::Result<u8>| {
            Worker::start("shingle-test", "the test", work).expect("started").end()
        };
        assert_eq!(end(|| Ok(7)).expect("it went well"), 7);
        let error = end(|| Err(io::ErrorKind::NotFound.into())).expect_err("its own");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = end(|| panic!("a bug")).expect_err("it panicked");
        assert_eq!(error.to_string(), "the thread of the test has panicked: this is a bug");
    }
}
