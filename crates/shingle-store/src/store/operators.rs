//! Answers the requests of operators to a serving process.

use std::fmt::Display;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use shingle_device::{Device, deleted};
use shingle_engine::SsdState;
use shingle_engine::settings::SettingsError;
use uuid::Uuid;

use super::change::{ChangeError, Replace};
use super::control::{self, Answer, Request, watch};
use super::drain::{DrainProgress, drain};
use super::errors::ServeError;
use super::notice::{Notice, Outcome};
use super::options::Options;
use super::reload::Changes;
use super::shared::{PATIENCE, Shared, within};

/// Where the outcome of a reload is sent.
pub(super) type ReloadAnswer = Sender<Result<Changes, ServeError>>;

/// A command to the main thread of a serving process.
pub(super) enum ServeCommand {
    /// End all caches, and the process.
    All,
    /// Stop serving this cache, and answer this operator when that is done.
    Stop(Uuid, Arc<UnixStream>),
    /// The same, and delete the cache.
    Detach(Uuid, Arc<UnixStream>),
    /// The store of this cache has failed.
    Failed(Uuid, String),
    /// Serve this instead, and send back the outcome.
    Reload(Options, ReloadAnswer),
    /// Work that was given to another thread is done: its outcome waits beside the commands.
    Done,
}

impl Shared {
    pub(super) fn answer(&self, stream: &Arc<UnixStream>, commands: &Sender<ServeCommand>) {
        // The operator may be gone.
        let _ = control::serve(stream, |request, answer| {
            if self.ending.load(Ordering::Relaxed) && request != Request::Measures {
                return answer(&Answer::Failed(self.waits_for()));
            }
            let Some(what) = request.change() else {
                return self.answer_one(request, stream, commands, answer);
            };
            if !request.is_quick() {
                self.note(&what, Outcome::Begun);
            }
            self.answer_one(request, stream, commands, &mut |said| {
                match said {
                    Answer::Done(()) | Answer::Said(_) => self.note(&what, Outcome::Done),
                    Answer::Failed(why) => self.note(&what, Outcome::Failed(why.clone())),
                    _ => {}
                }
                answer(said)
            })
        });
    }

    fn note(&self, what: &str, outcome: Outcome) {
        (self.tell)(Notice::Asked(self.export(), what.to_owned(), outcome));
    }

    fn answer_one(
        &self,
        request: Request,
        stream: &Arc<UnixStream>,
        commands: &Sender<ServeCommand>,
        answer: &mut dyn FnMut(&Answer) -> io::Result<()>,
    ) -> io::Result<()> {
        match request {
            Request::Status => answer(&match self.status() {
                Ok(status) => Answer::Status(Box::new(status)),
                Err(why) => Answer::Failed(why.to_owned()),
            }),
            Request::Measures => answer(&Answer::Measures(Box::new(self.measures()))),
            Request::Set { what } => answer(&match self.set(&what) {
                Ok(()) => outcome_answer(self.keep_settings()),
                Err(error) => Answer::Failed(error.to_string()),
            }),
            Request::Flush => {
                let outcome = drain(&self.handle, &mut |told| answer(&told.into()));
                answer(&outcome_answer(outcome))
            }
            Request::Replace { with, destroy, overwrite, accept_lost } => {
                let destroy = destroy.iter().map(|uuid| Uuid::try_parse(uuid)).collect();
                let destroy: Vec<Uuid> = match destroy {
                    Ok(destroy) => destroy,
                    Err(error) => return answer(&Answer::Failed(format!("--destroy: {error}"))),
                };
                let replace = Replace { with: &with, destroy: &destroy, overwrite, accept_lost };
                let mut tell = |told: DrainProgress| answer(&told.into());
                let outcome = self.replace(&replace, &mut tell);
                answer(&change_answer(outcome))
            }
            Request::Watch => watch::tell(&self.handle, stream),
            Request::Grow => {
                let outcome = self.grow(&mut |told| answer(&told.into()));
                answer(&change_answer(outcome))
            }
            Request::Detach => {
                if let Some(why) = self.lost_at_end(true) {
                    return answer(&Answer::Failed(why));
                }
                // Nothing becomes dirty again while the rest is destaged.
                self.set_detaching(true);
                let outcome = drain(&self.handle, &mut |told| answer(&told.into()));
                if outcome.is_err() {
                    self.set_detaching(false);
                    return answer(&outcome_answer(outcome));
                }
                // Without a receiver the process is ending, and the connection closes.
                let _ = commands.send(ServeCommand::Detach(self.uuid, stream.clone()));
                Ok(())
            }
            Request::Stop => {
                if let Some(why) = self.lost_at_end(false) {
                    return answer(&Answer::Failed(why));
                }
                // Likewise.
                let _ = commands.send(ServeCommand::Stop(self.uuid, stream.clone()));
                Ok(())
            }
        }
    }

    /// What is lost at the end because a file in use was deleted. A store that hangs may be ended.
    fn lost_at_end(&self, detach: bool) -> Option<String> {
        let handle = self.handle.clone();
        let look = move || {
            let (ssd, disk) = handle.devices().ok()?;
            let disk = disk.backing().is_some_and(Device::is_deleted);
            Some((ssd.is_deleted(), disk, handle.status()?.dirty_blocks))
        };
        let (ssd_is_deleted, disk_is_deleted, dirty) = within(PATIENCE, look)??;
        if disk_is_deleted {
            return Some(deleted(
                self.disk(),
                "all that it holds goes with the end of the server; copy what is served first, as with nbdcopy, and end the \
                 server with a signal",
            ));
        }
        (!detach && dirty > 0 && ssd_is_deleted).then(|| {
            let what = format!(
                "what is dirty on it goes with the end of the server (blocks: {dirty}); `shingle store flush` writes them to \
                 the disk, `shingle store replace` takes another SSD"
            );
            deleted(self.ssd().display(), &what)
        })
    }

    /// Counts the operators that detach the cache, and switches the mode accordingly.
    fn set_detaching(&self, begins: bool) {
        let settings = self.hold_settings();
        match begins {
            true => self.detaching.fetch_add(1, Ordering::Relaxed),
            false => self.detaching.fetch_sub(1, Ordering::Relaxed),
        };
        self.use_mode(&settings);
    }

    /// Applies settings, all or none, now and for the next start.
    fn set(&self, what: &[String]) -> Result<(), SettingsError> {
        let mut held = self.hold_settings();
        let mut settings = held.clone();
        what.iter().try_for_each(|text| settings.set(text))?;
        let (slots, disk_blocks) = (self.slots(), self.disk_blocks());
        let cache = settings.cache(&self.registry, slots as u32, disk_blocks)?;
        if self.watch.is_some() {
            settings.check_without_bands()?;
        }
        let limits = settings.limits(&self.registry)?;
        let trim_passdown = settings.trim_passdown(&self.registry, self.frees_trimmed)?;
        let text = settings.to_text()?;
        if settings.decides_otherwise_than(&held) {
            if self.is_recorded() {
                return Err(SettingsError::recorded());
            }
            self.handle.set_cache(cache);
        }
        self.handle.set_limits(limits);
        self.handle.set_trim_passdown(trim_passdown);
        self.handle.set_settings(text);
        self.use_mode(&settings);
        *held = settings;
        Ok(())
    }

    /// Waits until the SSD has stored the settings: the current one, or the new one if the current
    /// one is about to leave.
    fn keep_settings(&self) -> Result<(), &'static str> {
        let begun = Instant::now();
        loop {
            let status = self.handle.status_within(PATIENCE).ok_or(NOT_KEPT)?;
            // An SSD that leaves counts as failed once it is invalidated, and one that enters
            // stores the settings later.
            let failed = status.errors.ssd_failed && status.ssd == SsdState::In;
            if failed || begun.elapsed() > PATIENCE_WITH_SSD {
                return Err(NOT_KEPT);
            }
            if status.journal.has_settings {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// An SSD under load takes a superblock within this time. The operator waits a little longer for
/// the answer.
const PATIENCE_WITH_SSD: Duration = Duration::from_secs(6);

/// The message for an operator whose settings a failing or hanging SSD has not stored.
const NOT_KEPT: &str = "it counts from now on, but the SSD has not taken it: the next start may not know it; see \
                        `shingle store status`, and set it again";

impl From<DrainProgress> for Answer {
    fn from(told: DrainProgress) -> Answer {
        match told {
            DrainProgress::Dirty(blocks) => Answer::DirtyBlocks(blocks),
            DrainProgress::Stuck(why) => Answer::Stuck(why),
        }
    }
}

fn change_answer(outcome: Result<Option<String>, ChangeError>) -> Answer {
    match outcome {
        Ok(None) => Answer::Done(()),
        Ok(Some(text)) => Answer::Said(text),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

pub(super) fn outcome_answer(outcome: Result<(), impl Display>) -> Answer {
    match outcome {
        Ok(()) => Answer::Done(()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
