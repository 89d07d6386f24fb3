//! What operators ask of a process that serves a cache, and are answered.

use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_device::Fingerprint;
use shingle_engine::settings::{Settings, SettingsError};
use shingle_nbd::server::Server;
use uuid::Uuid;

use super::change::{ChangeError, Replace};
use super::control::{self, Answer, Request, watch};
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
    /// What changes only with the devices.
    pub(super) fixed: Status,
    pub(super) uuid: Uuid,
    pub(super) devices: Mutex<Devices>,
    /// Stands in the superblock while the disk changes.
    pub(super) fingerprint_in_use: Fingerprint,
    /// Held while devices change.
    pub(super) changing: Mutex<()>,
}

/// The devices that are used.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    pub(super) ssd: String,
    pub(super) edition: u64,
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
            Request::Replace { with, overwrite, accept_lost } => {
                let replace = Replace { with: &with, overwrite, accept_lost };
                let mut tell = |left| answer(&Answer::DirtyBlocks(left));
                let outcome = self.replace(&replace, &mut tell);
                answer(&said(outcome))
            }
            Request::Watch => watch::tell(&self.handle, stream),
            Request::Grow => {
                let outcome = self.grow(&mut |left| answer(&Answer::DirtyBlocks(left)));
                answer(&said(outcome))
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
        self.hold_settings().clone()
    }

    /// Nobody sets anything as long as this is held.
    pub(super) fn hold_settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn slots(&self) -> u64 {
        self.devices().slots
    }

    pub(super) fn disk_blocks(&self) -> u64 {
        self.devices().disk_blocks
    }

    pub(super) fn set_disk_blocks(&self, blocks: u64) {
        self.devices().disk_blocks = blocks;
    }

    /// Another SSD is used.
    pub(super) fn exchanged(&self, ssd: &Path, slots: u64, edition: u64) {
        let mut devices = self.devices();
        devices.ssd = ssd.display().to_string();
        (devices.slots, devices.edition) = (slots, edition);
    }

    /// Devices may be changed as long as this is held, if nobody else does.
    pub(super) fn change(&self) -> Result<MutexGuard<'_, ()>, ChangeError> {
        if self.recorded {
            return Err(ChangeError::Recorded);
        }
        match self.changing.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => Err(ChangeError::Busy),
        }
    }

    pub(super) fn status(&self) -> Option<Status> {
        let said = self.handle.status()?;
        let mut status = Status {
            addresses: self
                .server(Server::addresses)
                .iter()
                .flatten()
                .map(ToString::to_string)
                .collect(),
            connections: self.server(Server::connections).unwrap_or(0) as u64,
            ..self.fixed.clone()
        };
        let Devices { ssd, edition, slots, .. } = self.devices().clone();
        (status.ssd, status.edition, status.slots) = (ssd, edition, slots);
        status.disk_bytes = self.handle.disk_bytes();
        status.zoned = self.watch.as_ref().and_then(Watch::status);
        status.put_settings(&self.settings());
        status.put_engine(&said, &self.handle.last_errors());
        Some(status)
    }

    /// All of it counts at once, and at the next start.
    fn set(&self, what: &[String]) -> Result<(), SettingsError> {
        let mut held = self.hold_settings();
        let mut settings = held.clone();
        what.iter().try_for_each(|text| settings.set(text))?;
        let (slots, disk_blocks) = (self.slots(), self.disk_blocks());
        let cache = settings.cache(&self.registry, slots as u32, disk_blocks)?;
        let limits = settings.limits(&self.registry)?;
        let text = settings.to_text()?;
        if settings.decides_otherwise_than(&held) {
            if self.recorded {
                return Err(SettingsError::recorded());
            }
            self.handle.set_cache(cache);
        }
        self.handle.set_limits(limits);
        self.handle.set_settings(text);
        self.handle.set_mode(settings.mode);
        *held = settings;
        Ok(())
    }
}

fn said(outcome: Result<Option<String>, ChangeError>) -> Answer {
    match outcome {
        Ok(None) => Answer::Done(()),
        Ok(Some(text)) => Answer::Said(text),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

/// What an operator is told of it.
pub(super) fn done(outcome: Result<(), impl Display>) -> Answer {
    match outcome {
        Ok(()) => Answer::Done(()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
