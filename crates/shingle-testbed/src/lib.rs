//! What tests of several crates share: temporary changes of the machine (loop devices, mounts, other users), the
//! search for seeded mistakes ([`bugs`]), the exploration of small worlds ([`explore`]), how often random tests
//! are repeated ([`times`]) and from which [`seeds`], and where real traces are ([`trace`]).
//!
//! Changes of the machine need root. They are made only if `SHINGLE_ROOT_TESTS=1` is set, because root may only
//! want to run the tests; without it these tests print `SKIPPED: …`.

pub mod bugs;
pub mod explore;
mod quiet;

use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use tempfile::TempDir;

/// The number that a variable of the environment sets for a test.
///
/// # Panics
/// If it is set to what is no whole number: what was asked for would not be what runs.
#[must_use]
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a whole number")))
}

/// The seeds of random runs: the one that `SHINGLE_SEED` says, or as many as `SHINGLE_SEEDS` says (`N`, or
/// `FIRST..END`), or `0..default`.
///
/// # Panics
/// If one is set to anything else.
#[must_use]
pub fn seeds(default: u64) -> Range<u64> {
    if let Some(seed) = number("SHINGLE_SEED") {
        return seed..seed + 1;
    }
    let Ok(text) = std::env::var("SHINGLE_SEEDS") else { return 0..default };
    let (first, end) = text.split_once("..").unwrap_or(("0", &text));
    match (first.parse(), end.parse()) {
        (Ok(first), Ok(end)) if first < end => first..end,
        _ => panic!("SHINGLE_SEEDS={text}: give a number of seeds, or FIRST..END"),
    }
}

/// How often to do what tells the more the more often it is done: `count` times, or as many times that as `SHINGLE_TIMES`
/// says.
#[must_use]
pub fn times(count: u64) -> u64 {
    count * number("SHINGLE_TIMES").unwrap_or(1)
}

/// A folder in memory where there is such a file system, so that no test waits for the disk of the machine.
///
/// # Panics
/// If no folder can be made.
#[must_use]
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// A socket at `path` that does not listen yet: until it does each attempt to accept a connection is an error, as where
/// the system has no more descriptors.
///
/// # Panics
/// If there can be none.
#[must_use]
pub fn bound_socket(path: &Path) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).expect("a short path")).expect("bound");
    socket
}

/// The variable that asks for tests that need root.
pub const VARIABLE: &str = "SHINGLE_ROOT_TESTS";

/// How long the kernel may hold on to what nobody uses any more.
const BUSY_MAX: Duration = Duration::from_secs(60);

/// Whether tests that need root are asked for and can be done.
///
/// # Errors
/// Why not, in a few words.
pub fn root() -> Result<(), String> {
    if std::env::var_os(VARIABLE).is_none_or(|value| value != "1") {
        return Err(format!("{VARIABLE}=1 asks for tests that need root"));
    }
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("not root".to_owned()),
    }
}

/// As [`root`]; says what is left out if it is so.
pub fn root_or_skip(test: &str) -> bool {
    skip_if(test, root())
}

/// True if all is there; otherwise says that `test` is left out, and why.
pub fn skip_if<T>(test: &str, there: Result<T, String>) -> bool {
    if let Err(why) = &there {
        eprintln!("SKIPPED: {test}: {why}");
    }
    there.is_ok()
}

/// Where a real trace is, or a folder of them: in the folder that `SHINGLE_TRACES` names, or beside the repository. They are
/// no part of the project: where it is not there a line says that it is left out.
///
/// # Panics
/// If the variable names no folder: whoever sets it wants the tests to run.
#[must_use]
pub fn trace(name: &str) -> Option<PathBuf> {
    let path = traces(std::env::var_os("SHINGLE_TRACES")).join(name);
    let there = match path.exists() {
        true => Ok(()),
        false => Err(format!("there is no {}; SHINGLE_TRACES names the folder", path.display())),
    };
    skip_if(name, there).then_some(path)
}

fn traces(told: Option<OsString>) -> PathBuf {
    let Some(told) = told else {
        return Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    };
    let folder = PathBuf::from(told);
    assert!(folder.is_dir(), "SHINGLE_TRACES={}: there is no such folder", folder.display());
    folder
}

/// Runs a program, which must succeed; what it wrote.
///
/// # Errors
/// If it is not there or fails, with what it said.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{program} {}: {}", arguments.join(" "), said.trim()))
        }
    }
}

/// A path as an argument.
///
/// # Panics
/// If it is no text: tests choose better ones.
#[must_use]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of a test is text")
}

/// Does it again while the kernel says that something is busy. That is so for a moment after a process
/// was killed: the end of its io_uring, with the files of all I/O that was under way, is work that the
/// kernel puts off until after the process has been waited for.
fn until_not_busy(what: impl Fn() -> Result<String, String>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match what() {
            Err(why) if why.contains("busy") && begun.elapsed() < BUSY_MAX => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other.map(drop),
        }
    }
}

/// A loop device over a file, until it is dropped.
#[derive(Debug)]
pub struct Loop {
    device: PathBuf,
    attached: bool,
}

impl Loop {
    /// Makes one; `more` goes to `losetup`.
    ///
    /// # Errors
    /// If there are no loop devices here.
    pub fn new(file: &Path, more: &[&str]) -> Result<Loop, String> {
        let device = run("losetup", &[&["-f", "--show"], more, &[text(file)]].concat())?;
        let made = Loop { device: device.into(), attached: true };
        // (Such a device stays write-protected after its file is gone: somebody may have left it so.)
        if !more.contains(&"--read-only") {
            run("blockdev", &["--setrw", text(&made.device)])?;
        }
        Ok(made)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// The last part of its path.
    ///
    /// # Panics
    /// Never: it is in /dev.
    #[must_use]
    pub fn name(&self) -> &str {
        self.device.file_name().and_then(|name| name.to_str()).expect("/dev/loopN")
    }

    /// Takes it away, and waits until the file behind it is free.
    ///
    /// # Errors
    /// If that takes too long.
    pub fn detach(mut self) -> Result<(), String> {
        self.attached = false;
        run("losetup", &["-d", text(&self.device)])?;
        // While somebody has it open it stays, and goes by itself when the last one has closed it.
        let backing = format!("/sys/block/{}/loop/backing_file", self.name());
        until_not_busy(|| match Path::new(&backing).exists() {
            true => Err(format!("{} is busy", self.device.display())),
            false => Ok(String::new()),
        })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.attached {
            let _ = run("losetup", &["-d", text(&self.device)]);
        }
    }
}

/// A mounted file system, until it is dropped.
#[derive(Debug)]
pub struct Mount {
    folder: PathBuf,
    mounted: bool,
}

impl Mount {
    /// Mounts a device on a folder; `options` as of `mount -o`.
    ///
    /// # Errors
    /// If that cannot be done here.
    pub fn new(device: &Path, folder: &Path, options: Option<&str>) -> Result<Mount, String> {
        let options = options.map_or(Vec::new(), |options| vec!["-o", options]);
        run("mount", &[&options[..], &[text(device), text(folder)]].concat())?;
        Ok(Mount { folder: folder.to_owned(), mounted: true })
    }

    /// A file system in memory, of so many bytes: one that is soon full.
    ///
    /// # Errors
    /// If that cannot be done here.
    pub fn in_memory(folder: &Path, bytes: u64) -> Result<Mount, String> {
        root()?;
        run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "none", text(folder)])?;
        Ok(Mount { folder: folder.to_owned(), mounted: true })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes it away, as soon as the kernel has let go of it.
    ///
    /// # Errors
    /// If that takes too long.
    pub fn unmount(mut self) -> Result<(), String> {
        until_not_busy(|| run("umount", &[text(&self.folder)]))?;
        self.mounted = false;
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted && run("umount", &[text(&self.folder)]).is_err() {
            // A test has failed, and something in there is in use still.
            let _ = run("umount", &["-l", text(&self.folder)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "SHINGLE_TRACES=no-such-folder: there is no such folder")]
    fn a_folder_of_traces_that_is_not_there_is_told() {
        let _ = traces(Some("no-such-folder".into()));
    }

    #[test]
    fn a_folder_of_traces_is_where_the_variable_says() {
        let folder = folder();
        assert_eq!(traces(Some(folder.path().into())), folder.path());
        assert!(traces(None).ends_with("shared/traces"));
    }
}
