//! Failed I/O: the last error of each device for the status, and a limited number of lines for the
//! log. The engine only counts errors.

use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shingle_device::{IoError, Operation, RepeatLimiter, Repeats, cause};
use shingle_engine::{Device, Kind};

/// Receives a line about failed I/O. The store's thread calls it and waits for it.
pub type Tell = Box<dyn FnMut(FailedIo) + Send>;

/// A line about failed I/O, with its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedIo {
    /// The operation and the device.
    pub operation: Operation,
    /// The reason: `Input/output error (EIO)`.
    pub cause: String,
    /// The error number of the system, if there is one.
    pub errno: Option<i32>,
    /// What the store does next, if the line says so: `; its blocks are tried one by one`.
    pub follows: String,
    /// Whether it is the first of its kind since the start.
    pub first: bool,
    /// The number of similar errors that were not shown before it.
    pub more: u64,
}

impl fmt::Display for FailedIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedIo { operation, cause, follows, more, .. } = self;
        write!(f, "{operation} failed: {cause}{follows}")?;
        match more {
            0 => Ok(()),
            more => write!(f, "; {more} more like it"),
        }
    }
}

/// The last failed I/O of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastError {
    /// The operation.
    pub operation: Operation,
    /// The reason: `Input/output error (EIO)`.
    pub cause: String,
    /// The time.
    pub at: Instant,
}

/// The last errors of the SSD and of the disk, shared with other threads.
#[derive(Clone, Default)]
pub(super) struct LastErrors(Arc<Mutex<[Option<LastError>; 2]>>);

impl LastErrors {
    pub(super) fn get(&self) -> Vec<LastError> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().flatten().cloned().collect()
    }

    fn set(&self, error: LastError) {
        let place = usize::from(error.operation.device == Device::Disk);
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(error);
    }
}

/// Records and reports failed I/O.
pub(super) struct Errors {
    last: LastErrors,
    /// Errors of one device, one operation (trims of any length are one) and one error number are
    /// of one kind.
    limiter: RepeatLimiter<(Device, Discriminant<Kind>, Option<i32>), FailedIo>,
    tell: Option<Tell>,
}

impl Errors {
    pub(super) fn new(tell: Option<Tell>) -> Errors {
        Errors { last: LastErrors::default(), limiter: RepeatLimiter::default(), tell }
    }

    pub(super) fn last(&self) -> LastErrors {
        self.last.clone()
    }

    /// Adds a failed I/O. `follows` says what the store does next.
    pub(super) fn add(&mut self, error: &IoError, follows: &str, now: Instant) {
        let IoError { operation, error: why } = error;
        self.last.set(LastError { operation: *operation, cause: cause(why), at: now });
        let Some(tell) = &mut self.tell else { return };
        let (operation, follows) = (*operation, follows.to_owned());
        let (cause, errno) = (cause(why), why.raw_os_error());
        let of = (operation.device, discriminant(&operation.kind), errno);
        let failed = FailedIo { operation, cause, errno, follows, first: false, more: 0 };
        if let Some(told) = self.limiter.add(of, failed, now) {
            tell(line(told));
        }
    }

    /// Reports what is due at this time.
    pub(super) fn tick(&mut self, now: Instant) {
        let Some(tell) = &mut self.tell else { return };
        self.limiter.tick(now).into_iter().map(line).for_each(tell);
    }

    /// Reports what is left: no more I/O comes.
    pub(super) fn end(&mut self, now: Instant) {
        let Some(tell) = &mut self.tell else { return };
        self.limiter.end(now).into_iter().map(line).for_each(tell);
    }
}

fn line(told: Repeats<FailedIo>) -> FailedIo {
    let Repeats { what, first, more } = told;
    FailedIo { first, more, ..what }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    fn log() -> (Errors, Receiver<FailedIo>) {
        let (to, told) = channel();
        let tell = move |line| to.send(line).expect("a receiver");
        (Errors::new(Some(Box::new(tell))), told)
    }

    fn error(device: Device, block: u64, number: i32) -> IoError {
        failed(device, Kind::Write, block, number)
    }

    fn failed(device: Device, kind: Kind, block: u64, number: i32) -> IoError {
        let operation = Operation { device, kind, block, blocks: 1 };
        IoError { operation, error: io::Error::from_raw_os_error(number) }
    }

    #[test]
    fn the_first_of_each_kind_is_a_line_and_the_others_are_counted() {
        const EIO: i32 = 5;
        const ENOSPC: i32 = 28;
        let (mut errors, told) = log();
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        let lines = || told.try_iter().map(|failed| failed.to_string()).collect::<Vec<_>>();
        for block in 0..100 {
            errors.add(&error(Device::Disk, block, EIO), "; tried again", after(block));
            errors.tick(after(block));
        }
        errors.add(&error(Device::Disk, 7, ENOSPC), "", after(100));
        errors.add(&error(Device::Ssd, 8, EIO), "", after(100));
        assert_eq!(
            lines(),
            [
                "disk: write of 4 KiB at block 0 failed: Input/output error (EIO); tried again",
                "disk: write of 4 KiB at block 7 failed: No space left on device (ENOSPC)",
                "SSD: write of 4 KiB at block 8 failed: Input/output error (EIO)",
            ]
        );
        errors.tick(after(999));
        assert!(lines().is_empty());
        errors.tick(after(1000));
        let rest = "disk: write of 4 KiB at block 99 failed: Input/output error (EIO); tried again; 98 more \
                    like it";
        assert_eq!(lines(), [rest]);
        errors.tick(after(5000));
        assert!(lines().is_empty(), "nothing is said twice");
        // Long after the last line the next error counts as a first one.
        errors.add(&error(Device::Disk, 1, EIO), "", after(5000));
        let again = told.try_recv().expect("a line");
        assert_eq!((again.first, again.errno, again.operation.block), (false, Some(EIO), 1));
        errors.add(&error(Device::Disk, 2, EIO), "", after(5001));
        assert!(lines().is_empty());
        errors.end(after(5002));
        assert_eq!(lines(), ["disk: write of 4 KiB at block 2 failed: Input/output error (EIO)"]);
        let last = errors.last().get();
        let places: Vec<_> = last.iter().map(|last| last.operation.block).collect();
        assert_eq!(places, [8, 2], "of the SSD and of the disk");
        assert_eq!(last[1].cause, "Input/output error (EIO)");
    }

    #[test]
    fn trims_are_alike_however_long_they_are() {
        const EOPNOTSUPP: i32 = 95;
        let (mut errors, told) = log();
        let begun = Instant::now();
        for pages in 1..100 {
            errors.add(&failed(Device::Disk, Kind::Trim(pages), 0, EOPNOTSUPP), "", begun);
        }
        errors.end(begun);
        let more: Vec<u64> = told.try_iter().map(|failed| failed.more).collect();
        assert_eq!(more, [0, 97], "the first at once, and the last for all others");
    }
}
