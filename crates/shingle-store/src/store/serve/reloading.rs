//! Reloads the options of a serving process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shingle_device::is_same;
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::tls::{Rights, Tls};
use uuid::Uuid;

use super::super::errors::ServeError;
use super::super::operators::ReloadAnswer;
use super::super::options::{CacheOptions, Options};
use super::super::reload::{self, Changes, Plan, ReloadError};
use super::super::shared::LATE;
use super::super::threads::{in_parallel, on_own_thread};
use super::opening::{Opening, OpeningNumber};
use super::{Cache, Done, GRACE, Serving, bind};

/// A cache that is served, or being opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Served(Uuid),
    Opening(OpeningNumber),
}

/// The state of a serving process when a reload begins.
struct Before {
    known: Vec<Known>,
    /// Of each; and the current SSD, if it is served.
    options: Vec<(CacheOptions, Option<PathBuf>)>,
    addresses: Vec<Address>,
    tls: Option<Arc<Tls>>,
}

/// What a reload needs, ready. What is served is not changed yet.
pub(super) struct Prepared {
    wanted: Options,
    known: Vec<Known>,
    plan: Plan,
    bound: Vec<(Address, Listener)>,
}

/// A reload that was carried out, and whose new exports are being opened.
pub(super) struct Reload {
    changes: Changes,
    left: Vec<(OpeningNumber, String)>,
    /// It is answered by then.
    until: Instant,
    to: ReloadAnswer,
}

/// A reload does not wait any longer for its new exports. (A device that another process has is waited for for 10 s.)
const OPENING_TIME_MAX: Duration = Duration::from_secs(15);

impl Prepared {
    /// Does what can fail or what a device may delay, but for opening caches.
    fn make(wanted: Options, before: Before) -> Result<Prepared, ServeError> {
        let Before { known, options, addresses, tls } = before;
        let named = |(options, ssd): &(CacheOptions, Option<PathBuf>)| match ssd {
            Some(ssd) => as_named(options, ssd, &wanted),
            None => options.clone(),
        };
        let options: Vec<_> = options.iter().map(named).collect();
        let plan = reload::plan(&options.iter().collect::<Vec<_>>(), &wanted.caches)?;
        let folder = |tls: &Option<Arc<Tls>>| tls.as_ref().map(|tls| tls.folder().to_owned());
        if folder(&tls) != folder(&wanted.tls) {
            return Err(ReloadError::Tls.into());
        }
        let new = wanted.addresses.iter().filter(|new| !addresses.contains(new));
        let bound = new.map(|new| Ok((new.clone(), bind(new, &tls)?)));
        let bound = bound.collect::<Result<Vec<_>, ServeError>>()?;
        Ok(Prepared { wanted, known, plan, bound })
    }
}

impl Serving {
    fn known(&self) -> Vec<Known> {
        let served = self.caches.iter().map(|cache| Known::Served(cache.uuid()));
        served.chain(self.openings.all.iter().map(|one| Known::Opening(one.number))).collect()
    }

    /// Prepares a reload, on a thread of its own: a device that hangs delays this reload only.
    pub(super) fn prepare(&self, wanted: Options, to: ReloadAnswer) {
        let served = |cache: &Cache| (cache.options.clone(), Some(cache.shared.ssd()));
        let opening = |one: &Opening| (one.options.clone(), None);
        let before = Before {
            known: self.known(),
            options: (self.caches.iter().map(served))
                .chain(self.openings.all.iter().map(opening))
                .collect(),
            addresses: self.addresses.iter().map(|(asked, _)| asked.clone()).collect(),
            tls: self.tls.clone(),
        };
        let when_done = self.when_done();
        // (The operator may be gone, and the process may be ending.)
        on_own_thread("shingle-prepare", move || match Prepared::make(wanted, before) {
            Ok(prepared) => drop(when_done.tell(Done::Prepared(Box::new(prepared), to))),
            Err(error) => drop(to.send(Err(error))),
        });
    }

    /// Carries out a reload, for which all was looked at before. It is prepared again if the caches have changed meanwhile.
    pub(super) fn reload(&mut self, prepared: Prepared, to: ReloadAnswer) {
        let Prepared { wanted, known, plan: Plan { end, change, begin }, bound } = prepared;
        if known != self.known() {
            drop(bound);
            return self.prepare(wanted, to);
        }
        let mut changes = Changes::default();
        self.exchange(&known, &end, &change, &wanted, &mut changes);
        // (A name may belong to another cache by now, which is served.)
        self.common.missing.retain(|name| {
            wanted.caches.iter().any(|cache| cache.name == name)
                && !self.caches.iter().any(|cache| cache.options.name == name)
        });
        // This reload waits for them, and is told how each ends.
        self.openings.all.iter_mut().for_each(|one| one.is_by_itself = false);
        for at in begin {
            self.open(wanted.caches[at].clone(), false);
        }
        changes.users = self.users != wanted.users;
        self.users = wanted.users;
        self.common.server.allow(&self.users);
        self.listen_at(&wanted.addresses, bound, &mut changes);
        let left = self.openings.all.iter().map(|one| (one.number, one.options.name.clone()));
        let (left, until) = (left.collect(), Instant::now() + OPENING_TIME_MAX);
        self.reloads.push(Reload { changes, left, until, to });
    }

    /// Tells reloads how an opening has ended.
    pub(super) fn reloads_hear(&mut self, number: OpeningNumber, name: &str, is_served: bool) {
        for reload in &mut self.reloads {
            let waited = reload.left.extract_if(.., |(left, _)| *left == number).count() > 0;
            let Changes { begun, not_served, .. } = &mut reload.changes;
            if waited {
                if is_served { begun } else { not_served }.push(name.to_owned());
            }
        }
    }

    /// When the next reload has to be answered.
    pub(super) fn next_answer(&self) -> Option<Instant> {
        let at = |reload: &Reload| match reload.left.is_empty() {
            true => Instant::now(),
            false => reload.until,
        };
        self.reloads.iter().map(at).min()
    }

    /// Answers the reloads of which all exports are opened, or which have waited for long enough.
    pub(super) fn answer_reloads(&mut self) {
        let now = Instant::now();
        let is_done = |reload: &mut Reload| reload.left.is_empty() || reload.until <= now;
        for mut reload in self.reloads.extract_if(.., is_done) {
            for names in [&mut reload.changes.begun, &mut reload.changes.not_served] {
                names.sort();
            }
            reload.changes.awaited = reload.left.into_iter().map(|(_, name)| name).collect();
            // The sender may be gone.
            let _ = reload.to.send(Ok(reload.changes));
        }
    }

    /// Ends caches, and renames others, by their indices in a [`Plan`].
    fn exchange(
        &mut self,
        known: &[Known],
        end: &[usize],
        change: &[(usize, usize)],
        wanted: &Options,
        changes: &mut Changes,
    ) {
        let begun = Instant::now();
        let names: Vec<_> = self.caches.iter().map(|cache| cache.options.name.clone()).collect();
        // Names are released before other exports take them.
        let renamed = change.iter().filter_map(|&(at, _)| names.get(at));
        let users: Vec<_> = renamed.filter_map(|name| self.common.server.withdraw(name)).collect();
        for &at in end {
            match known[at] {
                Known::Served(uuid) => {
                    // Not by `take`: other exports follow, so the server continues.
                    let users = self.common.server.withdraw(&names[at]);
                    self.roster.lock().retain(|shared| shared.uuid != uuid);
                    let at = self.caches.iter().position(|cache| cache.uuid() == uuid);
                    let cache = self.caches.remove(at.expect("it was there"));
                    changes.ended.push(cache.options.name.clone());
                    self.end_in_background(cache, users, false, |_| ());
                }
                Known::Opening(number) => {
                    self.openings.all.retain(|one| one.number != number);
                    for reload in &mut self.reloads {
                        reload.left.retain(|(left, _)| *left != number);
                    }
                }
            }
        }
        // All have the same time.
        drop(in_parallel("shingle-cache", users, |users| users.send_away(GRACE)));
        self.wait_for_ends(begun);
        // No old name is left without its rule, and no new name is ever without one.
        if let (Some(tls), Some(new)) = (&self.tls, &wanted.tls) {
            changes.certificates = tls.allow(Rights::clone(&new.rights()));
            self.common.server.judge_again(GRACE);
        }
        for &(at, to) in change {
            let new = &wanted.caches[to];
            match known[at] {
                Known::Served(uuid) => {
                    let mut all = self.caches.iter_mut();
                    let cache = all.find(|cache| cache.uuid() == uuid).expect("it stays");
                    cache.rename(new);
                    changes.changed.push(new.name.clone());
                    let offered = self.common.server.offer(cache.export());
                    debug_assert!(offered, "names were looked at");
                }
                Known::Opening(number) => {
                    if let Some(opening) = self.openings.of(number) {
                        opening.options = new.clone();
                    }
                }
            }
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
