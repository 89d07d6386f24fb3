//! Reloads the options of a serving process.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::SendError;
use std::thread;
use std::time::{Duration, Instant};

use shingle_device::is_same;
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::tls::{Rights, Tls};
use uuid::Uuid;

use super::super::cache::{Cache, Common, Opened};
use super::super::errors::ServeError;
use super::super::operators::{ReloadAnswer, ServeCommand};
use super::super::options::{CacheOptions, Options};
use super::super::reload::{self, Changes, Plan, ReloadError};
use super::super::shared::LATE;
use super::{
    GRACE, Serving, begin_all, bind, end_unused, in_parallel, on_own_thread, with_export_name,
};

/// The state of a serving process when a reload begins.
struct Before {
    /// The exports, with their current SSDs.
    served: Vec<(CacheOptions, PathBuf)>,
    names: Vec<(String, Uuid)>,
    addresses: Vec<Address>,
    tls: Option<Arc<Tls>>,
    common: Common,
}

/// What a reload needs, ready. What is served is not changed yet.
pub(super) struct Prepared {
    wanted: Options,
    names: Vec<(String, Uuid)>,
    plan: Plan,
    /// New caches, which no client reaches.
    begun: Vec<Cache>,
    bound: Vec<(Address, Listener)>,
}

/// Counts a reload while it puts caches into use, until they are handed over.
struct Begins {
    all: Arc<AtomicU32>,
    counted: Cell<bool>,
}

impl Begins {
    fn now(&self) {
        self.counted.set(true);
        self.all.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Begins {
    fn drop(&mut self) {
        if self.counted.get() {
            self.all.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Prepared {
    /// Does everything that can fail or that a device may delay. Nothing is written before
    /// everything is open.
    fn make(wanted: Options, before: Before, begins: &Begins) -> Result<Prepared, ServeError> {
        let Before { served, names, addresses, tls, common } = before;
        let served: Vec<_> =
            served.iter().map(|(options, ssd)| as_named(options, ssd, &wanted)).collect();
        let plan = reload::plan(&served.iter().collect::<Vec<_>>(), &wanted.caches)?;
        let folder = |tls: &Option<Arc<Tls>>| tls.as_ref().map(|tls| tls.folder().to_owned());
        if folder(&tls) != folder(&wanted.tls) {
            return Err(ReloadError::Tls.into());
        }
        let open = |&at: &usize| {
            let cache = &wanted.caches[at];
            Opened::open(cache, &common.registry).map_err(with_export_name(cache, &wanted))
        };
        let opened = in_parallel(&plan.begin, open);
        let opened = opened.into_iter().collect::<Result<Vec<_>, _>>()?;
        let new = wanted.addresses.iter().filter(|new| !addresses.contains(new));
        let bound = new.map(|new| Ok((new.clone(), bind(new, &tls)?)));
        let bound = bound.collect::<Result<Vec<_>, ServeError>>()?;
        begins.now();
        let begun = begin_all(opened, None, &common)?;
        Ok(Prepared { wanted, names, plan, begun, bound })
    }

    /// Whether the process still serves the exports of the preparation.
    pub(super) fn is_for(&self, exports: &[(String, Uuid)]) -> bool {
        self.names == exports
    }

    /// Ends and closes everything, and returns the options.
    fn undo(self) -> Options {
        end_unused(self.begun);
        self.wanted
    }
}

impl Serving {
    /// Prepares a reload, on a thread of its own: a device that hangs delays this reload only.
    pub(super) fn prepare(&self, wanted: Options, to: ReloadAnswer) {
        let now = |cache: &Cache| (cache.options.clone(), cache.shared.ssd());
        let before = Before {
            served: self.caches.iter().map(now).collect(),
            names: self.exports(),
            addresses: self.addresses.iter().map(|(asked, _)| asked.clone()).collect(),
            tls: self.tls.clone(),
            common: self.common.clone(),
        };
        let (commands, waiting) = (self.common.commands.clone(), self.prepared.0.clone());
        let beginning = self.beginning.clone();
        // (The operator may be gone, and the process may be ending.)
        on_own_thread("shingle-prepare", move || {
            let begins = Begins { all: beginning, counted: Cell::new(false) };
            match Prepared::make(wanted, before, &begins) {
                Ok(prepared) => match waiting.send((prepared, to)) {
                    Ok(()) => drop(commands.send(ServeCommand::Prepared)),
                    Err(SendError((prepared, _))) => drop(prepared.undo()),
                },
                Err(error) => drop(to.send(Err(error))),
            }
        });
    }

    /// Prepares a reload again, as the caches have changed meanwhile.
    pub(super) fn prepare_again(&self, prepared: Prepared, to: ReloadAnswer) {
        let commands = self.common.commands.clone();
        on_own_thread("shingle-prepare", move || {
            // (The process may be ending.)
            let _ = commands.send(ServeCommand::Reload(prepared.undo(), to));
        });
    }

    /// Ends the caches of reloads that are not carried out any more, unless a device hangs.
    pub(super) fn end_prepared(&mut self) {
        let begun = Instant::now();
        while self.beginning.load(Ordering::SeqCst) > 0 && begun.elapsed() < LATE {
            thread::sleep(Duration::from_millis(5));
        }
        self.prepared.1.try_iter().for_each(|(prepared, _)| drop(prepared.undo()));
    }

    /// Carries out a reload. What can fail was done before.
    pub(super) fn reload(&mut self, prepared: Prepared) -> Changes {
        let Prepared { wanted, plan: Plan { end, change, .. }, begun, bound, .. } = prepared;
        let mut changes = Changes::default();
        self.exchange(&end, &change, &wanted, &mut changes);
        for cache in begun {
            changes.begun.push(cache.options.name.clone());
            self.offer(cache);
        }
        changes.users = self.users != wanted.users;
        self.users = wanted.users;
        self.common.server.allow(&self.users);
        self.listen_at(&wanted.addresses, bound, &mut changes);
        changes
    }

    /// Ends caches, and renames others, by their indices in a [`Plan`].
    fn exchange(
        &mut self,
        end: &[usize],
        change: &[(usize, usize)],
        wanted: &Options,
        changes: &mut Changes,
    ) {
        let begun = Instant::now();
        let names: Vec<_> = self.caches.iter().map(|cache| cache.options.name.clone()).collect();
        let uuids = self.uuids();
        // Names are released before other exports take them.
        let users = change.iter().filter_map(|&(at, _)| self.common.server.withdraw(&names[at]));
        let users: Vec<_> = users.collect();
        // Not by `take`: other exports follow, so the server continues.
        for &at in end {
            let users = self.common.server.withdraw(&names[at]);
            self.roster.lock().retain(|shared| shared.uuid != uuids[at]);
            let at = self.caches.iter().position(|cache| cache.uuid() == uuids[at]);
            let cache = self.caches.remove(at.expect("it was there"));
            changes.ended.push(cache.options.name.clone());
            self.end_in_background(cache, users, false, |_| ());
        }
        // All have the same time.
        in_parallel(users, |users| Ok(users.send_away(GRACE)));
        self.wait_for_ends(begun);
        // No old name is left without its rule, and no new name is ever without one.
        if let (Some(tls), Some(new)) = (&self.tls, &wanted.tls) {
            changes.certificates = tls.allow(Rights::clone(&new.rights()));
            self.common.server.judge_again(GRACE);
        }
        for &(at, to) in change {
            let CacheOptions { name, minimum_block, .. } = &wanted.caches[to];
            let mut all = self.caches.iter_mut();
            let cache = all.find(|cache| cache.uuid() == uuids[at]).expect("it stays");
            (cache.options.name, cache.options.minimum_block) = (name.clone(), *minimum_block);
            cache.shared.rename(name);
            changes.changed.push(name.clone());
            let offered = self.common.server.offer(cache.export());
            debug_assert!(offered, "names were looked at");
        }
    }

    /// Waits for the ends of caches that `begun` then, unless a device hangs.
    fn wait_for_ends(&self, begun: Instant) {
        while self.ending.iter().any(|thread| !thread.is_finished()) && begun.elapsed() < LATE {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Listens at the `bound` addresses, and no longer at those that are not `wanted`.
    fn listen_at(
        &mut self,
        wanted: &[Address],
        bound: Vec<(Address, Listener)>,
        changes: &mut Changes,
    ) {
        let gone = |(asked, _): &mut (Address, Address)| !wanted.contains(asked);
        for (asked, address) in self.addresses.extract_if(.., gone) {
            self.common.server.close(&address);
            changes.addresses.1.push(asked.to_string());
        }
        for (asked, listener) in bound {
            let name = asked.to_string();
            match self.listen(Some(asked), listener) {
                Ok(()) => changes.addresses.0.push(name),
                Err(error) => changes.failed_addresses.push(format!("{name} ({error})")),
            }
        }
    }
}

/// The options that a served cache was started with. An exchanged SSD, which is at `ssd` now, may be named by its old or its new path.
fn as_named(options: &CacheOptions, ssd: &Path, wanted: &Options) -> CacheOptions {
    let mut all = wanted.caches.iter();
    let named = all.find(|new| is_same(&new.disk, &options.disk) && is_same(&new.ssd, ssd));
    let ssd = named.unwrap_or(options).ssd.clone();
    CacheOptions { ssd, ..options.clone() }
}
