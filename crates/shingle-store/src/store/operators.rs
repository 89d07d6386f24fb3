//! What operators ask of a process that serves a cache, and are answered.

use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_engine::settings::{Settings, SettingsError};
use shingle_nbd::server::Server;
use uuid::Uuid;

use super::control::{self, Answer, Request};
use super::counters::Counters;
use super::drain::drain;
use super::errors::ServeError;
use super::reload::Changes;
use super::serve::Options;
use super::status::Status;
use crate::backend::{Handle, Watch};
use crate::measures::{Measures, Now};

/// What a process that serves is to do.
#[derive(Debug)]
pub(super) enum Leave {
    /// To end all.
    All,
    /// To end this cache; who wants it gets the answer when it is done.
    Stop(Uuid, UnixStream),
    /// Likewise, for good.
    Detach(Uuid, UnixStream),
    /// The store of this cache has failed.
    Failed(Uuid, String),
    /// To serve this instead; the answer goes back.
    Reload(Options, Sender<Result<Changes, ServeError>>),
}

/// A store answers at once, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// What answers to operators are made of.
pub(super) struct Shared {
    pub(super) handle: Handle,
    pub(super) server: Arc<Server>,
    pub(super) settings: Mutex<Settings>,
    pub(super) registry: Registry,
    /// A recording has one policy.
    pub(super) recorded: bool,
    /// Tells of the disk, if that is a zoned one.
    pub(super) watch: Option<Watch>,
    /// What hardly ever changes.
    pub(super) status: Mutex<Status>,
    pub(super) counters: Counters,
    pub(super) uuid: Uuid,
    pub(super) slots: u64,
    pub(super) disk_blocks: u64,
}

impl Shared {
    pub(super) fn answer(&self, stream: &UnixStream, leave: &Sender<Leave>) {
        // An operator who has gone needs no answer.
        let _ = control::serve(stream, |request, answer| match request {
            Request::Status => answer(&match self.status() {
                Some(status) => Answer::Status(Box::new(status)),
                None => Answer::Failed("the store has ended".to_owned()),
            }),
            Request::Measures => answer(&Answer::Measures(Box::new(self.measures()))),
            Request::Set { what } => answer(&done(self.set(&what))),
            Request::Flush => {
                let outcome = drain(&self.handle, &mut |left| answer(&Answer::DirtyBlocks(left)));
                answer(&done(outcome))
            }
            Request::Detach => {
                // Nothing becomes dirty again while the last of it goes.
                self.handle.set_mode(Mode::PassThrough);
                let outcome = drain(&self.handle, &mut |left| answer(&Answer::DirtyBlocks(left)));
                if outcome.is_err() {
                    self.handle.set_mode(self.settings().mode);
                    return answer(&done(outcome));
                }
                let _ = leave.send(Leave::Detach(self.uuid, stream.try_clone()?));
                Ok(())
            }
            Request::Stop => {
                let _ = leave.send(Leave::Stop(self.uuid, stream.try_clone()?));
                Ok(())
            }
        });
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn unchanging(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Name of the export.
    pub(super) fn export(&self) -> String {
        self.unchanging().export.clone()
    }

    /// The export has another name.
    pub(super) fn rename(&self, export: &str) {
        export.clone_into(&mut self.unchanging().export);
    }

    fn status(&self) -> Option<Status> {
        Some(self.status_of(&self.handle.status()?))
    }

    /// What is measured. A store that does not answer is told of, as it was.
    pub(super) fn measures(&self) -> Measures {
        let said = self.handle.measure_within(PATIENCE);
        let zoned = self.watch.as_ref().and_then(Watch::status);
        let Status { export, uuid, ssd, disk, slots, .. } = self.unchanging().clone();
        let Settings { policy, mode, .. } = self.settings();
        let connections = self.server.connections_of(&export) as u64;
        let up = said.is_some();
        let (totals, now) = self.counters.told(said.as_ref(), zoned.as_ref(), slots);
        let (now, mode) = (Now { connections, ..now }, mode.name().to_owned());
        Measures { export, uuid, ssd, disk, policy, mode, up, totals, now, zoned }
    }

    /// Nobody has to ask for counters that are to go on.
    pub(super) fn save_counters(&self) {
        if self.counters.are_kept() {
            let _ = self.measures();
        }
    }

    fn status_of(&self, said: &shingle_engine::Status) -> Status {
        let mut status = self.unchanging().clone();
        status.addresses = self.server.addresses().iter().map(ToString::to_string).collect();
        status.connections = self.server.connections_of(&status.export) as u64;
        status.zoned = self.watch.as_ref().and_then(Watch::status);
        status.put_settings(&self.settings());
        status.put_engine(said, &self.handle.last_errors());
        status
    }

    /// All of it counts at once, and at the next start.
    fn set(&self, what: &[String]) -> Result<(), SettingsError> {
        let mut held = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = held.clone();
        what.iter().try_for_each(|text| settings.set(text))?;
        let cache = settings.cache(&self.registry, self.slots as u32, self.disk_blocks)?;
        let text = settings.to_text()?;
        if (&settings.policy, &settings.sets) != (&held.policy, &held.sets) {
            if self.recorded {
                return Err(SettingsError::recorded());
            }
            self.handle.set_cache(cache);
        }
        self.handle.set_settings(text);
        self.handle.set_mode(settings.mode);
        *held = settings;
        Ok(())
    }
}

/// What an operator is told of it.
pub(super) fn done(outcome: Result<(), impl Display>) -> Answer {
    match outcome {
        Ok(()) => Answer::Done(()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
