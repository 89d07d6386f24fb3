//! Draining: everything that is dirty is destaged, while an operator waits.

use std::collections::HashSet;
use std::io;
use std::mem::{Discriminant, discriminant};
use std::thread;
use std::time::{Duration, Instant};

use shingle_engine::{Device, Kind};

use crate::backend::{Handle, LastError};

/// The progress that an operator is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DrainProgress {
    /// The number of blocks that are still dirty.
    Dirty(u64),
    /// No block was destaged for a while, with the last error of the disk. Each kind of error is
    /// told once.
    Stuck(String),
}

/// Receives the progress for the operator.
pub type Tell<'a> = &'a mut dyn FnMut(DrainProgress) -> io::Result<()>;

/// Waits until nothing is dirty, and reports the number of dirty blocks from time to time. Blocks
/// whose data is lost do not count: they never become clean.
///
/// # Errors
/// If data is lost, the disk takes nothing, or `tell` fails.
pub fn drain(handle: &Handle, tell: Tell<'_>) -> io::Result<()> {
    /// The patience with a failed SSD that can still be read in part.
    const PATIENCE_GONE: Duration = Duration::from_secs(10);
    handle.drain(true);
    let mut waiting = Waiting::for_blocks_of(handle);
    let outcome = loop {
        let Some(status) = handle.status() else {
            break Err(io::Error::other("the store has ended"));
        };
        let lost = status.lost.len() as u64;
        let dirty = status.dirty_blocks.saturating_sub(lost);
        if dirty == 0 && lost > 0 {
            break Err(io::Error::other(format!(
                "the data of {lost} dirty blocks is lost, and all else is on the disk; `shingle store status` and \
                 `check` list them, and what is written again to them is no longer lost"
            )));
        }
        if dirty == 0 {
            break Ok(());
        }
        waiting.set_dirty(dirty);
        if status.errors.ssd_failed && waiting.idle > PATIENCE_GONE {
            let told = format!("the SSD has failed; {dirty} blocks stay dirty");
            break Err(io::Error::other(told));
        }
        if waiting.has_stalled() {
            break Err(io::Error::other(waiting.stall_reason()));
        }
        if let Err(error) = waiting.step(tell) {
            break Err(error);
        }
    };
    handle.drain(false);
    outcome
}

/// An operator's wait for dirty blocks to be destaged.
pub(super) struct Waiting<'a> {
    handle: &'a Handle,
    since: Instant,
    /// The number of dirty blocks, and the lowest number so far.
    dirty: u64,
    least: u64,
    /// The time since a block was destaged.
    idle: Duration,
    /// The kinds of failed I/O that were reported, with their reasons. Each is retried again and
    /// again, at other places.
    told: HashSet<(Discriminant<Kind>, String)>,
    /// Whether it was reported that the disk does not answer.
    silence_reported: bool,
}

const STEP: Duration = Duration::from_millis(20);
/// After this time without a destaged block the reason is reported.
const SILENCE: Duration = Duration::from_secs(5);
/// After this time without a destaged block the disk counts as failed.
const PATIENCE: Duration = Duration::from_secs(120);

impl Waiting<'_> {
    pub(super) fn for_blocks_of(handle: &Handle) -> Waiting<'_> {
        let (since, dirty, least, idle) = (Instant::now(), 0, u64::MAX, Duration::ZERO);
        let (told, silence_reported) = (HashSet::new(), false);
        Waiting { handle, since, dirty, least, idle, told, silence_reported }
    }

    /// Sets the number of dirty blocks.
    pub(super) fn set_dirty(&mut self, dirty: u64) {
        self.dirty = dirty;
        if dirty < self.least {
            (self.least, self.idle) = (dirty, Duration::ZERO);
        }
    }

    pub(super) fn has_stalled(&self) -> bool {
        self.idle > PATIENCE
    }

    /// The reason why the wait has failed.
    pub(super) fn stall_reason(&self) -> String {
        let why = self.disk_error().map(|last| text(&last)).or_else(|| self.silence());
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        format!("the disk takes nothing{why}; {} blocks stay dirty", self.dirty)
    }

    /// Reports the progress, and waits for the next step.
    pub(super) fn step(&mut self, tell: Tell<'_>) -> io::Result<()> {
        let mut told = tell(DrainProgress::Dirty(self.dirty));
        if self.idle > SILENCE
            && let Some(why) = self.new_reason()
        {
            told = told.and_then(|()| tell(DrainProgress::Stuck(why)));
        }
        told.map_err(|_| {
            let dirty = self.dirty;
            let text = format!("given up: whoever asked has gone; {dirty} blocks are still dirty");
            io::Error::other(text)
        })?;
        thread::sleep(STEP);
        self.idle += STEP;
        Ok(())
    }

    /// The reason for the standstill, if it was not reported yet.
    fn new_reason(&mut self) -> Option<String> {
        if let Some(last) = self.disk_error() {
            return self.told.insert(kind(&last)).then(|| text(&last));
        }
        let silence = if self.silence_reported { None } else { self.silence() };
        self.silence_reported |= silence.is_some();
        silence
    }

    /// What is known of a disk that does not even return errors.
    fn silence(&self) -> Option<String> {
        let said = self.handle.begin_measures().recv_timeout(SILENCE).ok();
        let [_, disk] = said?.1.now;
        let oldest = Duration::from_nanos(disk.oldest_ns);
        (oldest >= SILENCE).then(|| {
            let seconds = oldest.as_secs();
            format!("it does not answer: an I/O has been under way for {seconds} s; see dmesg")
        })
    }

    /// The last error of the disk since the wait began.
    fn disk_error(&self) -> Option<LastError> {
        let all = self.handle.last_errors().into_iter();
        let mut of_disk =
            all.filter(|last| last.operation.device == Device::Disk && last.at >= self.since);
        of_disk.next()
    }
}

fn kind(error: &LastError) -> (Discriminant<Kind>, String) {
    (discriminant(&error.operation.kind), error.cause.clone())
}

fn text(error: &LastError) -> String {
    format!("{} failed: {}", error.operation, error.cause)
}

#[cfg(test)]
mod tests {
    use shingle_device::Operation;

    use super::*;

    #[test]
    fn each_kind_of_error_is_told_once() {
        let mut told = HashSet::new();
        let mut told = |tried, block, cause: &str| {
            let operation = Operation { device: Device::Disk, kind: tried, block, blocks: 1 };
            told.insert(kind(&LastError { operation, cause: cause.to_owned(), at: Instant::now() }))
        };
        assert!(told(Kind::Write, 1, "no room"));
        assert!(!told(Kind::Write, 2, "no room"), "the same elsewhere");
        assert!(told(Kind::Write, 2, "I/O error"), "another one");
        assert!(told(Kind::Flush, 0, "I/O error"));
        assert!(!told(Kind::Write, 3, "no room"), "it was told before");
    }
}
