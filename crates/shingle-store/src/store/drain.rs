//! All that is dirty goes to the disk, while somebody waits.

use std::collections::HashSet;
use std::io;
use std::mem::{Discriminant, discriminant};
use std::thread;
use std::time::{Duration, Instant};

use shingle_engine::{Device, Kind};

use crate::backend::{Handle, LastError};

/// What somebody who waits is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// So many blocks are dirty still.
    Dirty(u64),
    /// Nothing has gone for a while, and this is what the disk said last. Each kind of error is told once.
    Stuck(String),
}

/// Somebody who waits.
pub type Tell<'a> = &'a mut dyn FnMut(Told) -> io::Result<()>;

/// Waits until nothing is dirty, and tells now and then how many blocks are. Blocks whose data is lost
/// do not count: they never will be clean.
///
/// # Errors
/// If data is lost, the disk takes nothing, or `tell` fails.
pub fn drain(handle: &Handle, tell: Tell<'_>) -> io::Result<()> {
    /// If the SSD has failed, with what it still gives.
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
        waiting.are_left(dirty);
        if status.errors.ssd_failed && waiting.idle > PATIENCE_GONE {
            let told = format!("the SSD has failed; {dirty} blocks stay dirty");
            break Err(io::Error::other(told));
        }
        if waiting.is_in_vain() {
            break Err(io::Error::other(waiting.takes_nothing()));
        }
        if let Err(error) = waiting.step(tell) {
            break Err(error);
        }
    };
    handle.drain(false);
    outcome
}

/// Somebody waits for dirty blocks to reach the disk.
pub(super) struct Waiting<'a> {
    handle: &'a Handle,
    since: Instant,
    /// Blocks that are dirty, and the least that were.
    dirty: u64,
    least: u64,
    /// Since a block was destaged.
    idle: Duration,
    /// What was tried in vain, and why, as far as that was told. (Each is tried again and again, at other places.)
    told: HashSet<(Discriminant<Kind>, String)>,
    /// Whether it was told that the disk does not answer.
    told_of_silence: bool,
}

const STEP: Duration = Duration::from_millis(20);
/// Without a block destaged for so long, who waits wants to know why.
const SILENCE: Duration = Duration::from_secs(5);
/// And for so long, there is something wrong with the disk.
const PATIENCE: Duration = Duration::from_secs(120);

impl Waiting<'_> {
    pub(super) fn for_blocks_of(handle: &Handle) -> Waiting<'_> {
        let (since, dirty, least, idle) = (Instant::now(), 0, u64::MAX, Duration::ZERO);
        let (told, told_of_silence) = (HashSet::new(), false);
        Waiting { handle, since, dirty, least, idle, told, told_of_silence }
    }

    /// So many blocks are dirty.
    pub(super) fn are_left(&mut self, dirty: u64) {
        self.dirty = dirty;
        if dirty < self.least {
            (self.least, self.idle) = (dirty, Duration::ZERO);
        }
    }

    pub(super) fn is_in_vain(&self) -> bool {
        self.idle > PATIENCE
    }

    /// Why it is.
    pub(super) fn takes_nothing(&self) -> String {
        let why = self.disk_error().map(|last| text(&last)).or_else(|| self.silence());
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        format!("the disk takes nothing{why}; {} blocks stay dirty", self.dirty)
    }

    /// Tells who waits how far it is, and goes on a little later.
    ///
    /// # Errors
    /// If nobody waits any more.
    pub(super) fn step(&mut self, tell: Tell<'_>) -> io::Result<()> {
        let mut told = tell(Told::Dirty(self.dirty));
        if self.idle > SILENCE
            && let Some(why) = self.news()
        {
            told = told.and_then(|()| tell(Told::Stuck(why)));
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

    /// Why nothing is taken, if that was not told yet.
    fn news(&mut self) -> Option<String> {
        if let Some(last) = self.disk_error() {
            return self.told.insert(kind(&last)).then(|| text(&last));
        }
        let silence = if self.told_of_silence { None } else { self.silence() };
        self.told_of_silence |= silence.is_some();
        silence
    }

    /// What the disk does if it does not even fail.
    fn silence(&self) -> Option<String> {
        let said = self.handle.asked_for_measures().recv_timeout(SILENCE).ok();
        let [_, disk] = said?.1.now;
        let oldest = Duration::from_nanos(disk.oldest_ns);
        (oldest >= SILENCE).then(|| {
            let seconds = oldest.as_secs();
            format!("it does not answer: an I/O has been under way for {seconds} s; see dmesg")
        })
    }

    /// What the disk said last, since somebody waits.
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
