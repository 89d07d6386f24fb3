//! Test support for several crates: temporary changes of the machine (loop devices, mounts, other
//! users), the search for seeded bugs ([`bugs`]), state space exploration ([`explore`]), the
//! repetition ([`times`]) and [`seeds`] of random tests, and the location of real traces
//! ([`trace`]).
//!
//! Changes of the machine need root. They are made only if `SHINGLE_ROOT_TESTS=1` is set, because
//! root may want only the other tests. Without it these tests print `SKIPPED: …`.

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

/// Reads a number from an environment variable.
///
/// # Panics
/// If its value is not a whole number: the test would not do what was asked for.
#[must_use]
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a whole number")))
}

/// The seeds of random runs: the seed in `SHINGLE_SEED`, or as many as `SHINGLE_SEEDS` says (`N`,
/// or `FIRST..END`), or `0..default`.
///
/// # Panics
/// If a variable has any other value.
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

/// The number of repetitions of a test that finds more with each one: `count`, multiplied by
/// `SHINGLE_TIMES` if that is set.
#[must_use]
pub fn times(count: u64) -> u64 {
    count * number("SHINGLE_TIMES").unwrap_or(1)
}

/// Makes a temporary folder, in memory if possible, so that no test waits for the disk of the
/// machine.
///
/// # Panics
/// If no folder can be made.
#[must_use]
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Binds a socket to `path` without listening. Until `listen` is called each accept fails, as on a
/// system without free descriptors.
///
/// # Panics
/// If the socket cannot be made.
#[must_use]
pub fn bound_socket(path: &Path) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).expect("a short path")).expect("bound");
    socket
}

/// The environment variable that enables tests that need root.
pub const VARIABLE: &str = "SHINGLE_ROOT_TESTS";

/// How long the kernel may keep a device or mount busy after its last use.
const BUSY_MAX: Duration = Duration::from_secs(60);

/// Checks whether tests that need root are enabled and possible.
///
/// # Errors
/// The reason why not, in a few words.
pub fn root() -> Result<(), String> {
    if std::env::var_os(VARIABLE).is_none_or(|value| value != "1") {
        return Err(format!("{VARIABLE}=1 asks for tests that need root"));
    }
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("not root".to_owned()),
    }
}

/// As [`root`]; prints that `test` is skipped if they are not.
pub fn root_or_skip(test: &str) -> bool {
    skip_if(test, root())
}

/// Returns whether the precondition holds. Otherwise prints that `test` is skipped, and why.
pub fn skip_if<T>(test: &str, there: Result<T, String>) -> bool {
    if let Err(why) = &there {
        eprintln!("SKIPPED: {test}: {why}");
    }
    there.is_ok()
}

/// Finds a real trace, or a folder of traces: in the folder that `SHINGLE_TRACES` names, or beside
/// the repository. They are not part of the project: if it is missing, a line says that the test is
/// skipped.
///
/// # Panics
/// If `SHINGLE_TRACES` names no folder: a set variable means that the tests must run.
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

/// Runs a program, and returns its standard output.
///
/// # Errors
/// If it is missing or fails, with its standard error.
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

/// Converts a path to an argument.
///
/// # Panics
/// If it is not UTF-8: tests use no such paths.
#[must_use]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of a test is text")
}

/// Retries while the kernel reports that something is busy. That is so for a moment after a process
/// was killed: the kernel closes its io_uring, with the files of all I/O in flight, only after the
/// process has been reaped.
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

/// A loop device over a file. It is detached on drop.
#[derive(Debug)]
pub struct Loop {
    device: PathBuf,
    attached: bool,
}

impl Loop {
    /// Attaches a loop device; `more` goes to `losetup`.
    pub fn new(file: &Path, more: &[&str]) -> Result<Loop, String> {
        let device = run("losetup", &[&["-f", "--show"], more, &[text(file)]].concat())?;
        let made = Loop { device: device.into(), attached: true };
        // (A device stays read-only after it is detached, so an earlier user may have left it so.)
        if !more.contains(&"--read-only") {
            run("blockdev", &["--setrw", text(&made.device)])?;
        }
        Ok(made)
    }

    /// Path of the device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Name of the device, without `/dev/`.
    ///
    /// # Panics
    /// Never: the path is in /dev.
    #[must_use]
    pub fn name(&self) -> &str {
        self.device.file_name().and_then(|name| name.to_str()).expect("/dev/loopN")
    }

    /// Detaches the device, and waits until the file behind it is free.
    pub fn detach(mut self) -> Result<(), String> {
        self.attached = false;
        run("losetup", &["-d", text(&self.device)])?;
        // A device that is still open disappears only after the last close.
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

/// A mounted file system. It is unmounted on drop.
#[derive(Debug)]
pub struct Mount {
    folder: PathBuf,
    mounted: bool,
}

impl Mount {
    /// Mounts a device on a folder; `options` as for `mount -o`.
    pub fn new(device: &Path, folder: &Path, options: Option<&str>) -> Result<Mount, String> {
        let options = options.map_or(Vec::new(), |options| vec!["-o", options]);
        run("mount", &[&options[..], &[text(device), text(folder)]].concat())?;
        Ok(Mount { folder: folder.to_owned(), mounted: true })
    }

    /// Mounts a file system in memory of `bytes` bytes, for tests of a full disk.
    ///
    /// # Errors
    /// If this is not root, or `mount` fails.
    pub fn in_memory(folder: &Path, bytes: u64) -> Result<Mount, String> {
        root()?;
        run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "none", text(folder)])?;
        Ok(Mount { folder: folder.to_owned(), mounted: true })
    }

    /// The mount point.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Unmounts the file system, as soon as the kernel allows it.
    pub fn unmount(mut self) -> Result<(), String> {
        until_not_busy(|| run("umount", &[text(&self.folder)]))?;
        self.mounted = false;
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted && run("umount", &[text(&self.folder)]).is_err() {
            // A test has failed, and the file system is still in use.
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
