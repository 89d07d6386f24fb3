//! What operators ask of a process that serves a cache, and are answered.

use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_engine::settings::{Settings, SettingsError};
use shingle_nbd::server::Server;
use uuid::Uuid;

use super::control::{self, Answer, Request};
use super::drain::drain;
use super::status::Status;
use crate::backend::{Handle, Watch};

/// Why a process that serves leaves.
#[derive(Debug)]
pub(super) enum Leave {
    /// Somebody wants it to; he gets the answer when it is done.
    Stop(Option<UnixStream>),
    /// Likewise, after the cache was ended.
    Detach(UnixStream),
    /// The store has failed.
    Failed(String),
}

/// What answers to operators are made of.
pub(super) struct Shared {
    pub(super) handle: Handle,
    /// Gone when the process leaves.
    pub(super) server: Mutex<Option<Server>>,
    pub(super) settings: Mutex<Settings>,
    pub(super) registry: Registry,
    /// A recording has one policy.
    pub(super) recorded: bool,
    /// Tells of the disk, if that is a zoned one.
    pub(super) watch: Option<Watch>,
    /// What does not change.
    pub(super) status: Status,
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
                let _ = leave.send(Leave::Detach(stream.try_clone()?));
                Ok(())
            }
            Request::Stop => {
                let _ = leave.send(Leave::Stop(Some(stream.try_clone()?)));
                Ok(())
            }
        });
    }

    /// What the server says, if it is there still.
    pub(super) fn server<T>(&self, ask: impl FnOnce(&Server) -> T) -> Option<T> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask)
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn status(&self) -> Option<Status> {
        let said = self.handle.status()?;
        let mut status = Status {
            addresses: self
                .server(Server::addresses)
                .iter()
                .flatten()
                .map(ToString::to_string)
                .collect(),
            connections: self.server(Server::connections).unwrap_or(0) as u64,
            ..self.status.clone()
        };
        status.zoned = self.watch.as_ref().and_then(Watch::status);
        status.put_settings(&self.settings());
        status.put_engine(&said, &self.handle.last_errors());
        Some(status)
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
