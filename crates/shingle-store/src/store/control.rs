//! The control socket: operators send requests to the process that serves a cache. Lines of JSON,
//! one request a connection, with answers until one is the last.
//!
//! ```text
//! {"do":"status"}                          {"status":{…}}
//! {"do":"set","what":["mode=write-around"]}   {"done":null} or {"failed":"why"}
//! {"do":"flush"}                           {"dirty_blocks":812} … {"done":null}
//! ```

mod owner;
mod telling;
pub mod watch;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shingle_device::{is_same, start_thread};
use shingle_nbd::listen::Listener;
use shingle_nbd::stream::Stream;
use thiserror::Error;
use uuid::Uuid;

pub use owner::ForeignSocket;
pub use telling::Telling;

use super::threads::in_parallel;
use crate::measures::{Measures, NotServed};

/// The longest request.
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// The longest time to send a request: a slow sender must not hold up the process.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// The longest time until the first answer: the process answers at once, whatever its devices do.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// A request of an operator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// Get the status.
    Status,
    /// Get the measurements.
    Measures,
    /// Set policy, mode or parameters: texts such as `mode=write-around`.
    Set {
        /// The settings.
        what: Vec<String>,
    },
    /// Destage everything that is dirty, while clients are served.
    Flush,
    /// Replace the SSD by another one, while clients are served.
    Replace {
        /// The new SSD: an absolute path.
        with: PathBuf,
        /// The UUIDs of caches that may be destroyed: the one on the new SSD, and the one whose
        /// disk it is.
        #[serde(default)]
        destroy: Vec<String>,
        /// A file system or other data on it may be destroyed.
        #[serde(default)]
        overwrite: bool,
        /// Blocks whose data is lost may be given up: the disk then serves what it has of them.
        #[serde(default)]
        accept_lost: bool,
    },
    /// Use the whole of an SSD or a disk that has grown, while clients are served.
    Grow,
    /// Get the requests of clients, until the connection ends.
    Watch,
    /// As `Flush`; then delete the cache and stop serving it.
    Detach,
    /// Stop serving; dirty blocks stay in the cache.
    Stop,
}

impl Request {
    /// The request as an operator writes it, if it changes something.
    #[must_use]
    pub fn change(&self) -> Option<String> {
        match self {
            Request::Status | Request::Measures | Request::Watch => None,
            Request::Set { what } => Some(format!("set {}", what.join(" "))),
            Request::Flush => Some("flush".to_owned()),
            Request::Replace { with, .. } => Some(format!("replace --with {}", with.display())),
            Request::Grow => Some("grow".to_owned()),
            Request::Detach => Some("detach".to_owned()),
            Request::Stop => Some("stop".to_owned()),
        }
    }

    /// Whether the answer needs no I/O.
    pub(super) fn is_quick(&self) -> bool {
        matches!(self, Request::Status | Request::Measures | Request::Set { .. })
    }
}

/// An answer of the serving process.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The status.
    Status(Box<super::status::Status>),
    /// The measurements.
    Measures(Box<Measures>),
    /// The status of a zoned disk that is served without a cache.
    Zoned(Box<shingle_translated::Status>),
    /// The number of dirty blocks left; more answers follow.
    DirtyBlocks(u64),
    /// The number has not decreased for a while, with the reason; more answers follow.
    Stuck(String),
    /// It takes long, with what it waits for; more answers follow.
    Waits(String),
    /// It is done.
    Done(()),
    /// It is done, with a message for the operator.
    Said(String),
    /// A batch of requests of clients follows,
    /// [`REQUEST_RECORD_BYTES`](watch::REQUEST_RECORD_BYTES) each, and then more answers.
    Requests {
        /// The number of requests.
        count: u64,
        /// The number of requests missed before these.
        missed: u64,
    },
    /// It cannot be done, with the reason.
    Failed(String),
}

impl Answer {
    /// Whether more answers follow.
    #[must_use]
    pub fn has_more(&self) -> bool {
        matches!(self, Answer::DirtyBlocks(_) | Answer::Stuck(_) | Answer::Waits(_))
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum ControlError {
    #[error("this cache is not served (no server listens at {0}); `shingle store serve` serves it")]
    NotServed(PathBuf),
    #[error(transparent)]
    Foreign(#[from] ForeignSocket),
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "{}: no answer within {} s; is the process that serves stopped (SIGSTOP, a debugger), or may it open no more \
         files, as its log says then?",
        path.display(), ANSWER_TIME_MAX.as_secs()
    )]
    Silent { path: PathBuf },
    #[error("{path}: the answer makes no sense to this version: {error}")]
    Nonsense { path: PathBuf, error: serde_json::Error },
}

/// The control socket of a cache: in `$XDG_RUNTIME_DIR/shingle`; without that variable in
/// `/run/shingle` for root, and in `/tmp/shingle-UID` for others.
#[must_use]
pub fn socket(uuid: Uuid) -> PathBuf {
    folder().join(format!("{uuid}.sock"))
}

fn folder() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let user = rustix::process::geteuid();
    match folder {
        Some(folder) => Path::new(&folder).join("shingle"),
        None if user.is_root() => PathBuf::from("/run/shingle"),
        None => PathBuf::from(format!("/tmp/shingle-{}", user.as_raw())),
    }
}

/// All sockets in that folder, sorted. Some may have no listener.
///
/// # Errors
/// If others may write to the folder, or it cannot be read.
pub fn sockets() -> Result<Vec<PathBuf>, ControlError> {
    let folder = folder();
    owner::folder(&folder)?;
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| ControlError::Io { path: folder, error })?,
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut sockets: Vec<_> =
        paths.filter(|p| p.extension().is_some_and(|e| e == "sock")).collect();
    sockets.sort();
    Ok(sockets)
}

/// An absolute path, whether the file exists or not: the name of an SSD that died may be gone.
pub(super) fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Sends a request to all at once: the time that servers take that hang does not add up.
#[must_use]
pub fn ask_all(sockets: &[PathBuf], request: &Request) -> Vec<Result<Answer, ControlError>> {
    let said = in_parallel("shingle-ask", sockets, |socket| ask(socket, &mut |_| {}, request));
    said.into_iter().map(|said| said.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// The measurements of all caches of processes that answer. A process that does not, or is not trusted, has none.
fn measures_of_all() -> Result<Vec<(PathBuf, Measures)>, ControlError> {
    let sockets = sockets()?;
    let answers = ask_all(&sockets, &Request::Measures);
    let told = sockets.into_iter().zip(answers).filter_map(|(socket, said)| match said {
        Ok(Answer::Measures(measures)) => Some((socket, *measures)),
        _ => None,
    });
    Ok(told.collect())
}

/// The socket of the only process that says that it serves a cache on this SSD. The SSD itself is
/// not read. `None` if there is no such process, or more than one.
///
/// # Errors
/// If others may write to the folder of sockets, or it cannot be read.
pub fn socket_of_ssd(ssd: &Path) -> Result<Option<PathBuf>, ControlError> {
    let place = place(ssd).display().to_string();
    let mut found = measures_of_all()?.into_iter().filter(|(_, one)| one.ssd_place == place);
    let first = found.next();
    Ok(first.filter(|_| found.next().is_none()).map(|(socket, _)| socket))
}

/// What a process says that is to serve the cache on this SSD, and does not.
#[must_use]
pub fn not_served(ssd: &Path) -> Option<NotServed> {
    let all = measures_of_all().ok()?;
    let mut missing = all.into_iter().flat_map(|(_, one)| one.not_served);
    missing.find(|one| is_same(Path::new(&one.ssd), ssd))
}

/// Creates the folder of a socket, accessible to the user only.
///
/// # Errors
/// If it cannot be created, or others may write there.
pub fn make_folder(socket: &Path) -> Result<(), ControlError> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    let io = |error| ControlError::Io { path: folder.to_owned(), error };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    Ok(owner::folder(folder)?)
}

/// Sends a request to the process that listens at `path`. `each` gets all answers; the last one is
/// returned.
///
/// # Errors
/// If no process serves it, if another user may listen there, or if the connection fails.
pub fn ask(
    path: &Path,
    each: &mut dyn FnMut(&Answer),
    request: &Request,
) -> Result<Answer, ControlError> {
    ask_within(ANSWER_TIME_MAX, path, each, request)
}

/// Connects to the process that listens at `path`, if it is trusted.
fn connect(path: &Path) -> Result<UnixStream, ControlError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    owner::folder(folder.unwrap_or(Path::new(".")))?;
    let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ControlError::NotServed(path.to_owned())
        }
        _ => ControlError::Io { path: path.to_owned(), error },
    })?;
    owner::listener(&stream, path)?;
    Ok(stream)
}

/// As [`ask`]. The first answer has to come within `answer_time`.
fn ask_within(
    answer_time: Duration,
    path: &Path,
    each: &mut dyn FnMut(&Answer),
    request: &Request,
) -> Result<Answer, ControlError> {
    let io = |error| ControlError::Io { path: path.to_owned(), error };
    let mut stream = connect(path)?;
    if request.is_quick() {
        stream.set_read_timeout(Some(answer_time)).map_err(io)?;
    }
    // A path that is not valid UTF-8 cannot be sent as JSON.
    let mut line = serde_json::to_vec(request).map_err(|error| io(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(io)?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => ControlError::Silent { path: path.to_owned() },
            _ => io(error),
        })?;
        let answer: Answer = serde_json::from_str(&line)
            .map_err(|error| ControlError::Nonsense { path: path.to_owned(), error })?;
        each(&answer);
        if !answer.has_more() {
            return Ok(answer);
        }
    }
    Err(io(io::Error::new(io::ErrorKind::UnexpectedEof, "the process that serves has gone")))
}

/// Calls `answer` for each connection, in a thread of its own, until `socket` is closed.
pub fn listen(
    socket: Arc<Listener>,
    answer: impl Fn(&Arc<UnixStream>) + Clone + Send + 'static,
) -> io::Result<()> {
    let accept = move || {
        loop {
            let accepted = socket.accept();
            if socket.is_closed() {
                return;
            }
            match accepted {
                Ok(Stream::Unix(stream)) => {
                    let (answer, asker) = (answer.clone(), Arc::new(stream));
                    let own = asker.clone();
                    let answering = start_thread("shingle-operator", move || answer(&own));
                    if let Err(error) = answering {
                        // The operator may be gone.
                        let _ = say(&asker, &Answer::Failed(format!("{error}; ask again")));
                    }
                }
                Ok(Stream::Tcp(_)) => {}
                // Most likely the process has no more file descriptors: a retry at once would not
                // help.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    start_thread("shingle-control", accept)?;
    Ok(())
}

/// Sends an answer over `stream`.
pub fn say(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Reads the request of a connection and passes it to `handle`, which may answer many times.
///
/// # Errors
/// If the connection fails; a bad request is answered.
pub fn serve(
    stream: &UnixStream,
    handle: impl FnOnce(Request, &mut dyn FnMut(&Answer) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIME_MAX))?;
    stream.set_write_timeout(Some(REQUEST_TIME_MAX))?;
    let mut line = Vec::new();
    BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_until(b'\n', &mut line)?;
    let mut answer = |answer: &Answer| say(stream, answer);
    match serde_json::from_slice(&line) {
        Ok(request) => handle(request, &mut answer),
        Err(error) => answer(&Answer::Failed(format!("the request makes no sense: {error}"))),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// The answers to `bytes` of a server that sends a few lines.
    fn answers(bytes: &[u8]) -> Vec<Answer> {
        let (mut client, server) = UnixStream::pair().expect("a pair");
        client.write_all(bytes).expect("sent");
        client.shutdown(std::net::Shutdown::Write).expect("shut");
        serve(&server, |request, answer| {
            if request == Request::Flush {
                answer(&Answer::DirtyBlocks(3))?;
            }
            answer(&Answer::Done(()))
        })
        .expect("served");
        drop(server);
        let lines = BufReader::new(client).lines();
        lines.map(|line| serde_json::from_str(&line.expect("read")).expect("JSON")).collect()
    }

    #[test]
    fn who_says_nothing_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let _silent = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let asked = ask_within(Duration::from_millis(50), &path, &mut |_| {}, &Request::Status);
        let error = asked.expect_err("silent");
        assert!(matches!(error, ControlError::Silent { .. }), "{error}");
    }

    /// As when there are no more file descriptors for a while.
    #[test]
    fn who_asks_is_answered_though_the_system_refused_connections_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let socket = shingle_testbed::bound_socket(&path);
        let not_yet = socket.try_clone().expect("the same").into();
        let not_yet = Arc::new(Listener::inherit_unix(not_yet).expect("it has a path"));
        let done = |stream: &Arc<UnixStream>| {
            serve(stream, |_, answer| answer(&Answer::Done(()))).expect("answered");
        };
        listen(not_yet.clone(), done).expect("a thread");
        // Until the socket listens each call fails.
        thread::sleep(Duration::from_millis(20));
        rustix::net::listen(&socket, 1).expect("it listens");
        for _ in 0..2 {
            let answer = ask(&path, &mut |_| {}, &Request::Status).expect("answered");
            assert_eq!(answer, Answer::Done(()));
        }
        not_yet.close();
    }

    #[test]
    fn a_path_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let _listens = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let with = std::ffi::OsStr::from_bytes(b"/odd\xff").into();
        let request =
            Request::Replace { with, destroy: vec![], overwrite: false, accept_lost: false };
        let error = ask(&path, &mut |_| {}, &request).expect_err("no text").to_string();
        assert!(error.contains("UTF-8"), "{error}");
    }

    #[test]
    fn requests_are_lines_of_json() {
        assert_eq!(answers(b"{\"do\":\"stop\"}\n"), [Answer::Done(())]);
        let flush = [Answer::DirtyBlocks(3), Answer::Done(())];
        assert_eq!(answers(b"{\"do\":\"flush\"}\n"), flush);
        let set = b"{\"do\":\"set\",\"what\":[\"mode=write-back\"]}\n";
        assert_eq!(answers(set), [Answer::Done(())]);
        for bad in [&b""[..], b"\n", b"{\"do\":\"dance\"}\n", &[0xff; 100_000]] {
            let answers = answers(&bad[..bad.len().min(60_000)]);
            assert!(matches!(answers[..], [Answer::Failed(_)]), "{answers:?}");
        }
    }
}
