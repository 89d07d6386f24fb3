//! Serves caches in one process, until they are stopped: to clients as NBD exports, and to
//! operators over one control socket each.

mod opening;
mod reloading;

use std::io;
use std::mem;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shingle_core::registry::Registry;
use shingle_device::panicked;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::server::{Limits, Server, Withdrawn};
use shingle_nbd::tls::Tls;
use shingle_nbd::users::Users;
use uuid::Uuid;

use self::opening::{OpeningNumber, Openings};
use self::reloading::{Prepared, Reload};
pub use super::cache::Record;
use super::cache::{Cache, Common, Opened};
use super::control::{self, Answer, Telling};
pub use super::errors::ServeError;
use super::missing::Missing;
use super::notice::TellNotice;
pub use super::notice::{Left, Notice, Outcome};
use super::operators::{ReloadAnswer, ServeCommand, outcome_answer};
pub use super::options::{CacheOptions, Options};
use super::reload;
pub use super::reload::{Changes, ReloadError};
pub use super::roster::Roster;
use super::shared::Shared;
use super::status::Recording;
use super::threads::{in_parallel, on_own_thread};

/// Controls a serving process, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<ServeCommand>);

impl Stopper {
    /// Shuts down in order.
    pub fn stop(&self) {
        // The receiver may be gone: the process is ending.
        let _ = self.0.send(ServeCommand::All);
    }

    /// Serves these options from now on. Clients of exports that stay the same notice nothing. An export that cannot be opened
    /// is not served, and others are.
    ///
    /// # Errors
    /// If the options contradict each other, or an address is taken: then nothing is changed.
    pub fn reload(&self, options: Options) -> Result<Changes, ServeError> {
        let (to, answer) = channel();
        let gone = || ServeError::System(io::Error::other("it is leaving"));
        self.0.send(ServeCommand::Reload(options, to)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// Optional companions of the served caches.
#[derive(Default)]
pub struct ServeOptions<'a> {
    /// Makes an observer that records the only cache.
    pub record: Option<Record<'a>>,
    /// The state of the recording, for operators.
    pub recording: Option<Arc<Mutex<Recording>>>,
    /// Further sockets where clients connect.
    pub inherited: Vec<Listener>,
}

/// The served caches.
pub struct Serving {
    common: Common,
    caches: Vec<Cache>,
    /// Addresses as requested, and as bound.
    addresses: Vec<(Address, Address)>,
    users: Users,
    tls: Option<Arc<Tls>>,
    roster: Roster,
    commands: Receiver<ServeCommand>,
    /// Outcomes of work on other threads. A command tells of each.
    done: (Sender<Done>, Receiver<Done>),
    openings: Openings,
    /// Reloads that wait for their new exports.
    reloads: Vec<Reload>,
    /// Threads of caches that are ending while others are served.
    ending: Vec<JoinHandle<()>>,
    /// Whether one of several caches has failed or did not end properly, with a notice of its own.
    some_failed: Arc<AtomicBool>,
}

/// The outcome of work on another thread.
enum Done {
    /// What a reload needs is there.
    Prepared(Box<Prepared>, ReloadAnswer),
    /// The cache of an export was opened and put into use, or cannot be.
    Opened(OpeningNumber, Result<Box<Cache>, ServeError>),
}

/// For a thread to send the outcome of its work.
struct WhenDone {
    done: Sender<Done>,
    commands: Sender<ServeCommand>,
}

impl WhenDone {
    /// Sends it; gives it back if the process is ending.
    fn tell(&self, outcome: Done) -> Result<(), Done> {
        self.done.send(outcome).map_err(|SendError(outcome)| outcome)?;
        // (Whoever ends the process looks at what was sent, too.)
        let _ = self.commands.send(ServeCommand::Done);
        Ok(())
    }
}

/// For an operator who ends a cache that has ended meanwhile.
const ENDED: &str = "it is served no longer: a failure, a reload or another operator has ended it";

/// How long requests of clients may take when the process ends.
const GRACE: Duration = Duration::from_secs(30);

impl Serving {
    /// Opens the caches and begins to serve. `tell` receives notices for the operator. Of several caches those that can be
    /// opened are served.
    ///
    /// # Errors
    /// If options contradict each other, an address is taken, or no cache can be opened.
    pub fn start(
        options: Options,
        registry: &Registry,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        Serving::start_with(options, registry, ServeOptions::default(), tell)
    }

    /// As [`Serving::start`], with companions.
    ///
    /// # Errors
    /// The same, or if `record` fails.
    pub fn start_with(
        options: Options,
        registry: &Registry,
        extra: ServeOptions<'_>,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        reload::check(&options.caches)?;
        // An address that is taken is found before anything is changed.
        if let Err(error) = options.addresses.iter().try_for_each(Listener::look) {
            if let [only] = &options.caches[..] {
                // It may say more than that another server listens there.
                Opened::open(only, registry)?;
            }
            return Err(error.into());
        }
        let tell: TellNotice = Arc::new(tell);
        let of_clients = tell.clone();
        let of_clients = move |event| of_clients(Notice::Client(event));
        let server = Server::start_at(vec![], vec![], Limits::default(), of_clients)?;
        let (to, commands) = channel();
        let server = Arc::new(server);
        let (registry, counters) = (registry.clone(), options.counters);
        let recording = extra.recording;
        let missing = Missing::default();
        let roster = Roster::new(missing.clone());
        let common = Common { registry, server, commands: to, tell, counters, missing, recording };
        let mut serving = Serving {
            common,
            caches: Vec::new(),
            addresses: Vec::new(),
            users: options.users,
            tls: options.tls,
            roster,
            commands,
            done: channel(),
            openings: Openings::new(),
            reloads: Vec::new(),
            ending: Vec::new(),
            some_failed: Arc::default(),
        };
        serving.open_all(options.caches, extra.record)?;
        // Where clients can connect, operators are answered, too.
        if let Err(error) = serving.begin_to_listen(options.addresses, extra.inherited) {
            // The reason for the end is worth more than what it brings.
            let _ = serving.end_all(|| ());
            return Err(error);
        }
        Ok(serving)
    }

    fn begin_to_listen(
        &mut self,
        addresses: Vec<Address>,
        inherited: Vec<Listener>,
    ) -> Result<(), ServeError> {
        for asked in addresses {
            let listener = bind(&asked, &self.tls)?;
            self.listen(Some(asked), listener)?;
        }
        for listener in inherited {
            let listener = match &self.tls {
                Some(tls) => listener.encrypted(tls.clone()),
                None => listener,
            };
            self.listen(None, listener)?;
        }
        Ok(())
    }

    /// Where another thread sends the outcome of its work.
    fn when_done(&self) -> WhenDone {
        WhenDone { done: self.done.0.clone(), commands: self.common.commands.clone() }
    }

    /// Offers a cache to clients and operators, as it is wanted by now.
    fn offer(&mut self, mut cache: Cache, wanted: &CacheOptions) -> Result<(), ServeError> {
        cache.rename(wanted);
        if let Err(error) = cache.listen(self.common.commands.clone()) {
            self.end_unused(cache);
            return Err(error.into());
        }
        if !self.common.server.offer(cache.export()) {
            // A reload has given the name to another cache meanwhile.
            self.end_unused(cache);
            return Err(ReloadError::Other(wanted.name.clone()).into());
        }
        self.roster.lock().push(cache.shared.clone());
        (self.common.tell)(Notice::Begun(cache.options.name.clone(), cache.uuid()));
        if let Some(why) = cache.failed.get() {
            // It was told of before it was here to be found.
            let _ = self.common.commands.send(ServeCommand::Failed(cache.uuid(), why.clone()));
        }
        self.caches.push(cache);
        // They are told of in this order, whichever was opened first.
        self.caches.sort_by(|one, two| one.options.name.cmp(&two.options.name));
        Ok(())
    }

    fn listen(&mut self, asked: Option<Address>, listener: Listener) -> Result<(), ServeError> {
        listener.allow(self.users.clone());
        let address = listener.address();
        self.common.server.listen(listener)?;
        if let (Some(asked), Ok(address)) = (asked, address) {
            self.addresses.push((asked, address));
        }
        Ok(())
    }

    /// The UUIDs of the caches.
    #[must_use]
    pub fn uuids(&self) -> Vec<Uuid> {
        self.caches.iter().map(Cache::uuid).collect()
    }

    /// The names of exports, and the UUIDs of their caches.
    #[must_use]
    pub fn exports(&self) -> Vec<(String, Uuid)> {
        self.caches.iter().map(|cache| (cache.options.name.clone(), cache.uuid())).collect()
    }

    /// The addresses where clients connect, with real ports in place of 0.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.common.server.addresses()
    }

    /// The names of exports that are block devices as well, and the paths of these.
    #[must_use]
    pub fn block_devices(&self) -> Vec<(String, PathBuf)> {
        let path = |cache: &Cache| Some((cache.options.name.clone(), cache.options.ublk?.path()));
        self.caches.iter().filter_map(path).collect()
    }

    /// A handle to stop it, for a thread that waits for signals.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.common.commands.clone())
    }

    /// Access to the state of all caches.
    #[must_use]
    pub fn roster(&self) -> Roster {
        self.roster.clone()
    }

    /// Serves until it is stopped, or no cache is left. Then it shuts down in order: clients first,
    /// then the stores, then the superblocks with the state of the disks. `last` is the last work
    /// of the process; the operator who asked for the end is answered after it, and may then use
    /// all files. It is skipped if the last store fails by itself, as its I/O may hang.
    ///
    /// # Errors
    /// If a store fails, or a superblock cannot be written, also of a cache that ended earlier.
    pub fn wait(mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        let outcome = self.until_all_have_ended(last);
        self.end_opened();
        self.ending.drain(..).for_each(|thread| drop(thread.join()));
        let all = match self.some_failed.load(Ordering::Relaxed) {
            true => Err(ServeError::SomeFailed),
            false => Ok(()),
        };
        outcome.and(all)
    }

    fn until_all_have_ended(&mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        loop {
            self.answer_reloads();
            self.try_again();
            let Some(command) = self.next_command() else { continue };
            match command {
                ServeCommand::All => return self.end_all(last),
                ServeCommand::Reload(wanted, to) => self.prepare(wanted, to),
                ServeCommand::Done => match self.done.1.try_recv() {
                    Ok(Done::Prepared(prepared, to)) => self.reload(*prepared, to),
                    Ok(Done::Opened(number, opened)) => {
                        self.opened(number, opened.map(|cache| *cache));
                        if self.is_empty() {
                            // As at a start: nobody is served, and no operator could reach this process.
                            self.answer_reloads();
                            self.common.server.stop(Duration::ZERO);
                            return Err(ServeError::NoneServed);
                        }
                    }
                    Err(_) => {}
                },
                ServeCommand::Failed(uuid, why) => {
                    let Some((cache, users)) = self.take(uuid, Duration::ZERO) else { continue };
                    if let Some(users) = users {
                        users.send_away(Duration::ZERO);
                    }
                    let options = cache.options.clone();
                    cache.abandon();
                    let error = ServeError::Failed(why);
                    if self.is_empty() {
                        self.common.server.stop(Duration::ZERO);
                        return Err(error);
                    }
                    let name = options.name.clone();
                    self.common.missing.put(options, &error);
                    tell_of_one(&self.common.tell, &self.some_failed, name, uuid, error);
                }
                ServeCommand::Stop(uuid, asker) => match self.end_one(uuid, false, asker) {
                    Some((asker, outcome)) => return finish(&asker, outcome, last),
                    None => continue,
                },
                ServeCommand::Detach(uuid, asker) => match self.end_one(uuid, true, asker) {
                    Some((asker, outcome)) => return finish(&asker, outcome, last),
                    None => continue,
                },
            }
        }
    }

    /// The next command; `None` if something else is to be done before.
    fn next_command(&self) -> Option<ServeCommand> {
        let next = [self.next_answer(), self.next_attempt()].into_iter().flatten().min();
        let Some(next) = next else {
            // This process holds a sender, so the channel never closes.
            return Some(self.commands.recv().unwrap_or(ServeCommand::All));
        };
        self.commands.recv_timeout(next.saturating_duration_since(Instant::now())).ok()
    }

    /// Whether nothing is served, or is about to be because somebody has asked for it.
    fn is_empty(&self) -> bool {
        self.caches.is_empty() && !self.openings.are_asked_for()
    }

    /// Takes a cache out of use: no client can open it any more. If it is the last one, all clients are disconnected within
    /// `grace`; if not, the caller has to disconnect those that use it.
    fn take(&mut self, uuid: Uuid, grace: Duration) -> Option<(Cache, Option<Withdrawn>)> {
        let at = self.caches.iter().position(|cache| cache.uuid() == uuid)?;
        let cache = self.caches.remove(at);
        self.roster.lock().retain(|shared| shared.uuid != uuid);
        if !self.is_empty() {
            let users = self.common.server.withdraw(&cache.options.name);
            return Some((cache, users));
        }
        // No client should find a server without exports.
        self.common.server.stop(grace);
        Some((cache, None))
    }

    /// Ends one cache for an operator, who is answered when it has ended. If it was the last one,
    /// the caller answers later.
    fn end_one(
        &mut self,
        uuid: Uuid,
        detach: bool,
        asker: Arc<UnixStream>,
    ) -> Option<(Arc<UnixStream>, Result<(), ServeError>)> {
        let Some(cache) = self.caches.iter().find(|cache| cache.uuid() == uuid) else {
            // The operator may be gone.
            let _ = control::say(&asker, &Answer::Failed(ENDED.to_owned()));
            return None;
        };
        let telling = tell_what_it_waits_for(cache.shared.clone(), asker.clone());
        let (cache, users) = self.take(uuid, GRACE)?;
        if self.is_empty() {
            let outcome = end(cache, detach, &self.common.tell);
            self.end_opened();
            telling.end();
            return Some((asker, outcome));
        }
        self.end_in_background(cache, users, detach, move |outcome| {
            telling.end();
            // The operator may be gone.
            let _ = control::say(&asker, &outcome_answer(outcome.as_ref().copied()));
        });
        None
    }

    /// Disconnects the users of a cache and ends it, on a thread of its own: a device that hangs must not delay other requests.
    /// `then` receives the result.
    fn end_in_background(
        &mut self,
        cache: Cache,
        users: Option<Withdrawn>,
        detach: bool,
        then: impl FnOnce(&Result<(), ServeError>) + Send + 'static,
    ) {
        let (name, uuid) = (cache.options.name.clone(), cache.uuid());
        let (tell, some_failed) = (self.common.tell.clone(), self.some_failed.clone());
        let ending = move || {
            if let Some(users) = users {
                users.send_away(GRACE);
            }
            let outcome = end(cache, detach, &tell);
            then(&outcome);
            if let Err(error) = outcome {
                tell_of_one(&tell, &some_failed, name, uuid, error);
            }
        };
        self.ending.retain(|thread| !thread.is_finished());
        self.ending.extend(on_own_thread("shingle-ended", ending));
    }

    /// Ends all caches. The error of one among several is a notice.
    fn end_all(&mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        self.common.server.stop(GRACE);
        let caches = mem::take(&mut self.caches);
        let names: Vec<_> = caches.iter().map(|it| (it.options.name.clone(), it.uuid())).collect();
        let panic = |_| Err(ServeError::System(panicked("a cache")));
        let ended =
            in_parallel("shingle-cache", caches, |cache| end(cache, false, &self.common.tell));
        let ended: Vec<_> = ended.into_iter().map(|ended| ended.unwrap_or_else(panic)).collect();
        self.end_opened();
        last();
        if ended.len() == 1 {
            return ended.into_iter().collect();
        }
        for ((name, uuid), ended) in names.into_iter().zip(ended) {
            if let Err(error) = ended {
                tell_of_one(&self.common.tell, &self.some_failed, name, uuid, error);
            }
        }
        Ok(())
    }
}

/// Reports the error of one of several caches, which [`Serving::wait`] then returns as one of some.
fn tell_of_one(
    tell: &TellNotice,
    some_failed: &AtomicBool,
    name: String,
    uuid: Uuid,
    error: ServeError,
) {
    some_failed.store(true, Ordering::Relaxed);
    tell(Notice::Failed(name, uuid, error));
}

/// Ends a cache, and reports what is left of it.
fn end(cache: Cache, detach: bool, tell: &TellNotice) -> Result<(), ServeError> {
    let (name, uuid) = (cache.options.name.clone(), cache.uuid());
    let left = cache.end(detach)?;
    tell(Notice::Ended(name, uuid, left));
    Ok(())
}

/// Tells an operator what the end of a cache waits for.
fn tell_what_it_waits_for(shared: Arc<Shared>, asker: Arc<UnixStream>) -> Telling {
    Telling::begin(move || control::say(&asker, &Answer::Waits(shared.waits_for())).is_ok())
}

/// Binds an address, encrypted if TLS is configured.
fn bind(address: &Address, tls: &Option<Arc<Tls>>) -> Result<Listener, ListenError> {
    match tls {
        Some(tls) => Listener::bind_encrypted(address, tls.clone()),
        None => Listener::bind(address),
    }
}

/// Answers the operator who ended the last cache, after all other work.
fn finish(
    asker: &UnixStream,
    ended: Result<(), ServeError>,
    last: impl FnOnce(),
) -> Result<(), ServeError> {
    last();
    // The operator may be gone.
    let _ = control::say(asker, &outcome_answer(ended.as_ref().copied()));
    ended
}
