//! Opens the caches of exports, each on a thread of its own: a device that is missing or hangs delays its export only. What
//! may pass by itself is tried again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::cache::{Cache, Common, Opened, Record};
use super::super::errors::ServeError;
use super::super::notice::Notice;
use super::super::operators::ServeCommand;
use super::super::options::CacheOptions;
use super::super::shared::LATE;
use super::super::threads::on_own_thread;
use super::{Done, Serving};

/// Tells the openings of one process apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpeningNumber(u64);

/// An export whose cache is being opened.
pub(super) struct Opening {
    pub(super) number: OpeningNumber,
    /// How it is to be served: a reload may change the name.
    pub(super) options: CacheOptions,
    /// Nobody has asked for this attempt.
    pub(super) is_by_itself: bool,
}

/// The exports that are being opened.
pub(super) struct Openings {
    pub(super) all: Vec<Opening>,
    count: u64,
    /// How many caches are put into use just now.
    beginning: Arc<AtomicU32>,
    /// When those that were not served were tried again.
    tried: Instant,
}

/// After this time what may pass by itself is tried again.
const EVERY: Duration = Duration::from_secs(10);

/// A start waits for this time before it serves without those that are still being opened.
const START_TIME_MAX: Duration = Duration::from_secs(300);

impl Openings {
    pub(super) fn new() -> Openings {
        let tried = Instant::now();
        Openings { all: Vec::new(), count: 0, beginning: Arc::default(), tried }
    }

    fn add(&mut self, options: CacheOptions, is_by_itself: bool) -> OpeningNumber {
        self.count += 1;
        let number = OpeningNumber(self.count);
        self.all.push(Opening { number, options, is_by_itself });
        number
    }

    pub(super) fn of(&mut self, number: OpeningNumber) -> Option<&mut Opening> {
        self.all.iter_mut().find(|one| one.number == number)
    }

    /// Whether somebody has asked for one of them.
    pub(super) fn are_asked_for(&self) -> bool {
        self.all.iter().any(|one| !one.is_by_itself)
    }
}

impl Serving {
    /// Opens all caches, and waits for them.
    pub(super) fn open_all(
        &mut self,
        caches: Vec<CacheOptions>,
        record: Option<Record<'_>>,
    ) -> Result<(), ServeError> {
        let is_alone = caches.len() == 1;
        for options in caches {
            match record {
                // It belongs to this thread.
                Some(_) => {
                    let number = self.openings.add(options.clone(), false);
                    match make(&options, record, &self.common, &AtomicU32::new(0)) {
                        Err(error) if is_alone => return Err(error),
                        opened => self.opened(number, opened),
                    }
                }
                None => drop(self.open(options, false)),
            }
        }
        let begun = Instant::now();
        let mut later = Vec::new();
        while !self.openings.all.is_empty() {
            let left = match self.caches.is_empty() {
                true => Duration::MAX,
                false => START_TIME_MAX.saturating_sub(begun.elapsed()),
            };
            match self.commands.recv_timeout(left) {
                Ok(ServeCommand::Done) => match self.done.1.try_recv() {
                    Ok(Done::Opened(_, Err(error))) if is_alone => return Err(error),
                    Ok(Done::Opened(number, opened)) => {
                        self.opened(number, opened.map(|cache| *cache));
                    }
                    // (No reload is prepared before this has ended.)
                    Ok(Done::Prepared(..)) | Err(_) => {}
                },
                Ok(other) => later.push(other),
                Err(_) => break,
            }
        }
        // This process holds the receiver, so nothing is lost.
        later.into_iter().for_each(|command| drop(self.common.commands.send(command)));
        if self.caches.is_empty() { Err(ServeError::NoneServed) } else { Ok(()) }
    }

    /// Begins to open a cache.
    pub(super) fn open(&mut self, options: CacheOptions, is_by_itself: bool) -> OpeningNumber {
        let number = self.openings.add(options.clone(), is_by_itself);
        let (common, beginning) = (self.common.clone(), self.openings.beginning.clone());
        let when_done = self.when_done();
        on_own_thread("shingle-open", move || {
            let opened = make(&options, None, &common, &beginning);
            let counted = opened.is_ok();
            let outcome = Done::Opened(number, opened.map(Box::new));
            if let Err(Done::Opened(_, Ok(cache))) = when_done.tell(outcome) {
                drop(cache.end(false));
            }
            if counted {
                beginning.fetch_sub(1, Ordering::SeqCst);
            }
        });
        number
    }

    /// Offers a cache that was opened to clients, or notes why it is not served.
    pub(super) fn opened(&mut self, number: OpeningNumber, opened: Result<Cache, ServeError>) {
        let at = self.openings.all.iter().position(|one| one.number == number);
        let Some(at) = at else {
            // A reload has taken the export out meanwhile.
            if let Ok(cache) = opened {
                self.end_unused(cache);
            }
            return;
        };
        let Opening { options, is_by_itself, .. } = self.openings.all.remove(at);
        let name = options.name.clone();
        let offered = opened.and_then(|cache| self.offer(cache, &options));
        let is_served = offered.is_ok();
        match offered {
            Ok(()) => self.common.missing.retain(|other| other != name),
            Err(error) => {
                let (one, is_new) = self.common.missing.put(options, &error);
                if is_new || !is_by_itself {
                    (self.common.tell)(Notice::NotServed(one));
                }
            }
        }
        self.reloads_hear(number, &name, is_served);
    }

    /// Ends a cache that no client has reached. An error does not matter beside the reason for it.
    pub(super) fn end_unused(&mut self, cache: Cache) {
        self.ending.extend(on_own_thread("shingle-ended", || drop(cache.end(false))));
    }

    /// When something is to be tried again.
    pub(super) fn next_attempt(&self) -> Option<Instant> {
        let waits = !self.common.missing.tried_again().is_empty();
        waits.then(|| self.openings.tried + EVERY)
    }

    /// Tries again what may have passed, if it is time to.
    pub(super) fn try_again(&mut self) {
        if self.next_attempt().is_none_or(|at| Instant::now() < at) {
            return;
        }
        self.openings.tried = Instant::now();
        for options in self.common.missing.tried_again() {
            if !self.openings.all.iter().any(|one| one.options.name == options.name) {
                self.open(options, true);
            }
        }
    }

    /// Ends the caches that were opened while the process ended, unless a device hangs.
    pub(super) fn end_opened(&mut self) {
        let begun = Instant::now();
        while self.openings.beginning.load(Ordering::SeqCst) > 0 && begun.elapsed() < LATE {
            thread::sleep(Duration::from_millis(5));
        }
        for outcome in self.done.1.try_iter() {
            if let Done::Opened(_, Ok(cache)) = outcome {
                drop(cache.end(false));
            }
        }
    }
}

/// Opens a cache and puts it into use; no client reaches it yet. If that is done it counts as `beginning` still.
fn make(
    options: &CacheOptions,
    record: Option<Record<'_>>,
    common: &Common,
    beginning: &AtomicU32,
) -> Result<Cache, ServeError> {
    let opened = Opened::open(options, &common.registry)?;
    beginning.fetch_add(1, Ordering::SeqCst);
    let begun = Cache::begin(opened, record, common);
    if begun.is_err() {
        beginning.fetch_sub(1, Ordering::SeqCst);
    }
    begun
}
