//! Locks on files and devices: one process at a time may use one, as long as its I/O is in flight.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};

/// How long to wait for another process in general: it may be about to end.
const WITHIN: Duration = Duration::from_millis(200);
/// How long to wait for this process itself. A program that it starts inherits all open files,
/// including those that are closed here meanwhile, until it begins to run, which takes a while on a
/// busy machine.
const WITHIN_FOR_OUR_OWN: Duration = Duration::from_secs(2);
/// How long to wait for what passes by itself: a process that only tests the lock holds it for a
/// moment ([`is_locked`]), or until it is scheduled again; I/O of a killed process lasts as long as
/// the device needs.
const WITHIN_FOR_WHAT_PASSES: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// Opens a file or block device for direct I/O, if the file system supports it, and locks it. The
/// lock belongs to the open file of the I/O, so it outlives the process.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if another process has the lock.
pub(crate) fn open_alone(path: &Path, metadata: &Metadata, write: bool) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        let error = match try_open(path, metadata.is_file(), write) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => error,
            other => return other,
        };
        // A mounted device is refused with an error number of the system.
        let by_lock = error.raw_os_error().is_none();
        if begun.elapsed() >= patience(path, metadata, by_lock) {
            return Err(error);
        }
        thread::sleep(STEP);
    }
}

fn try_open(path: &Path, regular: bool, write: bool) -> io::Result<File> {
    // The system does not allow exclusive access to a mounted block device.
    let alone = if regular { OFlags::empty() } else { OFlags::EXCL };
    let open = |flags: OFlags| {
        OpenOptions::new().read(true).write(write).custom_flags(flags.bits() as i32).open(path)
    };
    let file = match open(alone | OFlags::DIRECT) {
        // The file system does not support direct I/O.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => open(alone)?,
        other => other?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
            Err(io::ErrorKind::ResourceBusy.into())
        }
        other => other.map(|()| file).map_err(io::Error::from),
    }
}

/// Opens a file or block device for inspection, without a lock. Anything else is refused: opening
/// it may wait forever, as for a named pipe, or change something.
///
/// # Errors
/// If it cannot be opened, or is neither.
pub fn open_unlocked(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_block_device() {
        return File::open(path);
    }
    let what = "it is neither a file nor a block device";
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Whether another process has locked `file`, which is open for reading. Holds a lock itself for a
/// moment.
#[must_use]
pub fn is_locked(file: &File) -> bool {
    if flock(file, FlockOperation::NonBlockingLockShared).is_err() {
        return true;
    }
    // Closing the file would do the same, a little later.
    let _ = flock(file, FlockOperation::Unlock);
    false
}

/// How long to wait for the lock. Longer if the reason passes by itself: the holder only tests the
/// lock, is a process that is gone, or cannot be seen from here. `by_lock` is false if the system
/// refused the open, because the device is mounted or locked.
fn patience(path: &Path, metadata: &Metadata, by_lock: bool) -> Duration {
    if File::open(path).is_ok_and(|file| !is_locked(&file)) {
        return if by_lock { WITHIN_FOR_WHAT_PASSES } else { WITHIN };
    }
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let ours = std::process::id().to_string();
    let of_one = |process: &str| match process {
        _ if process == ours => WITHIN_FOR_OUR_OWN,
        _ if Path::new("/proc").join(process).exists() => WITHIN,
        _ => WITHIN_FOR_WHAT_PASSES,
    };
    lockers(&locks, metadata.ino()).map(of_one).min().unwrap_or(WITHIN_FOR_WHAT_PASSES)
}

/// The processes that have locked the file with this inode number, on any file system, according to
/// `/proc/locks`; the device number listed there is not always that of `stat`.
fn lockers(locks: &str, inode: u64) -> impl Iterator<Item = &str> {
    locks.lines().filter_map(move |line| {
        let mut words = line.split_whitespace().skip_while(|&word| word != "FLOCK").skip(3);
        let (process, place) = (words.next()?, words.next()?);
        let number: u64 = place.rsplit(':').next()?.parse().ok()?;
        (number == inode).then_some(process)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that tests the lock holds it for a moment, and may be gone when it is looked up.
    #[test]
    fn a_look_at_the_lock_does_not_disturb_its_owner() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let metadata = file.as_file().metadata().expect("told");
        let done = std::sync::atomic::AtomicBool::new(false);
        let kinds: Vec<_> = thread::scope(|scope| {
            let (begun, begins) = std::sync::mpsc::channel();
            let done = &done;
            let look = File::open(file.path()).expect("opened");
            scope.spawn(move || {
                begun.send(()).expect("heard");
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = is_locked(&look);
                }
            });
            begins.recv().expect("it looks");
            let open = |_| open_alone(file.path(), &metadata, true).err().map(|error| error.kind());
            let kinds = (0..500).filter_map(open).collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            kinds
        });
        assert_eq!(kinds, []);
    }

    /// Opens a file that this process has locked in this way, and gives up after `patience`.
    fn open_locked(
        operation: FlockOperation,
        held: Duration,
    ) -> (tempfile::NamedTempFile, io::Result<File>) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let metadata = file.as_file().metadata().expect("told");
        flock(file.as_file(), operation).expect("not locked");
        let opened = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(held);
                flock(file.as_file(), FlockOperation::Unlock).expect("it was ours");
            });
            open_alone(file.path(), &metadata, true)
        });
        (file, opened)
    }

    /// On a busy machine the holder may keep its lock for long.
    #[test]
    fn who_looks_for_long_is_waited_for() {
        let (file, opened) = open_locked(FlockOperation::LockShared, 4 * WITHIN);
        drop(opened.expect("waited for"));
        let metadata = file.as_file().metadata().expect("told");
        flock(file.as_file(), FlockOperation::LockExclusive).expect("not locked");
        let refused = open_alone(file.path(), &metadata, true).expect_err("it is in use");
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
    }

    /// As programs started here have the file open for a while, too.
    #[test]
    fn what_this_process_locks_is_waited_for() {
        let (_file, opened) = open_locked(FlockOperation::LockExclusive, 2 * WITHIN);
        opened.expect("waited for");
    }

    #[test]
    fn lockers_are_told_by_the_file() {
        let locks = "1: FLOCK  ADVISORY  WRITE 4023 fe:00:5677359 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 17 fe:00:5677359 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 00:2c:7 0 EOF\nnonsense\n";
        assert_eq!(lockers(locks, 5_677_359).collect::<Vec<_>>(), ["4023"]);
        assert_eq!(lockers(locks, 7).collect::<Vec<_>>(), ["99"]);
        assert_eq!(lockers(locks, 8).count(), 0);
    }
}
