//! Caches served by one process: to clients over NBD, each as an export, and to operators over a control socket
//! each, until they are stopped.

mod reloading;

use std::io;
use std::mem;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::Duration;

use shingle_core::registry::Registry;
use shingle_device::{panicked, start_thread};
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::server::{Limits, Server};
use shingle_nbd::tls::Tls;
use shingle_nbd::users::Users;
use uuid::Uuid;

pub use super::cache::Record;
use super::cache::{Cache, Common, Opened};
use super::control::{self, Answer};
pub use super::errors::ServeError;
use super::notice::TellNotice;
pub use super::notice::{Left, Notice, Outcome};
use super::operators::{Leave, done};
pub use super::options::{CacheOptions, Options};
use super::reload;
pub use super::reload::{Changes, ReloadError};
pub use super::roster::Roster;
use super::shared::Shared;
use super::status::Recording;

/// Tells a process that serves what to do, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Leave>);

impl Stopper {
    /// Shut down in order.
    pub fn stop(&self) {
        // If nobody listens it is leaving already.
        let _ = self.0.send(Leave::All);
    }

    /// Serve this from now on. Who uses an export that stays as it is notices nothing. If any of it cannot be,
    /// nothing is changed.
    ///
    /// # Errors
    /// If something does not fit together, or cannot be opened.
    pub fn reload(&self, options: Options) -> Result<Changes, ServeError> {
        let (to, answer) = channel();
        let gone = || ServeError::System(io::Error::other("it is leaving"));
        self.0.send(Leave::Reload(options, to)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// What is beside the caches of a process, if anything is.
#[derive(Default)]
pub struct Extra<'a> {
    /// Somebody looks on at the one cache there is.
    pub record: Option<Record<'a>>,
    /// And this is how that is doing, for operators who ask.
    pub recording: Option<Arc<Mutex<Recording>>>,
    /// Clients connect here, too.
    pub inherited: Vec<Listener>,
}

/// Caches that are served.
pub struct Serving {
    common: Common,
    caches: Vec<Cache>,
    /// Addresses as they were asked for, and as they are.
    addresses: Vec<(Address, Address)>,
    users: Users,
    tls: Option<Arc<Tls>>,
    roster: Roster,
    leave: Receiver<Leave>,
    /// Caches that are ending while others are served.
    ending: Vec<JoinHandle<()>>,
}

/// How long requests of clients may take when the process leaves.
const GRACE: Duration = Duration::from_secs(30);

impl Serving {
    /// Opens the caches and begins to serve. `tell` gets a line for the operator now and then.
    ///
    /// # Errors
    /// If places do not fit together, a disk was changed, or an address is taken.
    pub fn start(
        options: Options,
        registry: &Registry,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        Serving::start_with(options, registry, Extra::default(), tell)
    }

    /// As [`Serving::start`], with something beside the caches.
    ///
    /// # Errors
    /// As there, or if `record` fails.
    pub fn start_with(
        options: Options,
        registry: &Registry,
        extra: Extra<'_>,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        reload::check(&options.caches)?;
        // An address that is taken, or a cache that cannot be, is found before anything is changed. Addresses
        // come last: where clients can connect, operators are answered, too.
        let open =
            |cache: &CacheOptions| Opened::open(cache, registry).map_err(of(cache, &options));
        let opened = side_by_side(&options.caches, open);
        let opened = opened.into_iter().collect::<Result<Vec<_>, _>>()?;
        let listeners = options.addresses.iter().map(|address| bind(address, &options.tls));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let tell: TellNotice = Arc::new(tell);
        let of_clients = tell.clone();
        let of_clients = move |event| of_clients(Notice::Client(event));
        let server = Server::start_at(vec![], vec![], Limits::default(), of_clients)?;
        let (to, leave) = channel();
        let server = Arc::new(server);
        let (registry, counters) = (registry.clone(), options.counters);
        let recording = extra.recording;
        let common = Common { registry, server, leave: to, tell, counters, recording };
        let mut serving = Serving {
            common,
            caches: Vec::new(),
            addresses: Vec::new(),
            users: options.users,
            tls: options.tls,
            roster: Roster::default(),
            leave,
            ending: Vec::new(),
        };
        let begun = serving.begin(opened, extra.record)?;
        begun.into_iter().for_each(|cache| serving.offer(cache));
        for (asked, listener) in options.addresses.into_iter().zip(listeners) {
            serving.listen(Some(asked), listener)?;
        }
        for listener in extra.inherited {
            let listener = match &serving.tls {
                Some(tls) => listener.encrypted(tls.clone()),
                None => listener,
            };
            serving.listen(None, listener)?;
        }
        Ok(serving)
    }

    /// Puts caches into use, all or none.
    fn begin(
        &self,
        opened: Vec<Opened>,
        record: Option<Record<'_>>,
    ) -> Result<Vec<Cache>, ServeError> {
        let common = &self.common;
        let begun = match record {
            // (It is of the one cache there is, and of this thread.)
            Some(_) => {
                let begin = |opened| Cache::begin(opened, record, common);
                opened.into_iter().map(begin).collect()
            }
            None => side_by_side(opened, |opened| Cache::begin(opened, None, common)),
        };
        let (begun, failed): (Vec<_>, Vec<_>) = begun.into_iter().partition(Result::is_ok);
        let begun = begun.into_iter().flatten().collect();
        match failed.into_iter().find_map(Result::err) {
            None => Ok(begun),
            Some(error) => {
                // (What they say in the end does not matter beside this.)
                drop(side_by_side(begun, |cache: Cache| cache.end(false)));
                Err(error)
            }
        }
    }

    /// Clients may come.
    fn offer(&mut self, cache: Cache) {
        let offered = self.common.server.offer(cache.export());
        debug_assert!(offered, "names were looked at");
        self.roster.lock().push(cache.shared.clone());
        (self.common.tell)(Notice::Begun(cache.options.name.clone(), cache.uuid()));
        self.caches.push(cache);
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

    /// Names of the caches.
    #[must_use]
    pub fn uuids(&self) -> Vec<Uuid> {
        self.caches.iter().map(Cache::uuid).collect()
    }

    /// Names of exports and of their caches.
    #[must_use]
    pub fn exports(&self) -> Vec<(String, Uuid)> {
        self.caches.iter().map(|cache| (cache.options.name.clone(), cache.uuid())).collect()
    }

    /// Where clients connect: a port 0 has become a real one.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.common.server.addresses()
    }

    /// Names of exports that are block devices, too, and of these devices.
    #[must_use]
    pub fn block_devices(&self) -> Vec<(String, PathBuf)> {
        let path = |cache: &Cache| Some((cache.options.name.clone(), cache.options.ublk?.path()));
        self.caches.iter().filter_map(path).collect()
    }

    /// To stop it, from a thread that waits for signals.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.common.leave.clone())
    }

    /// To ask it.
    #[must_use]
    pub fn roster(&self) -> Roster {
        self.roster.clone()
    }

    /// Serves until it is stopped, or no cache is left, and shuts down in order: clients first, then the stores, then
    /// what the superblocks say of the disks. `last` is what the process has to do after that: who asked for the end
    /// is answered when that is done, too, as he may use all files then. It is left out if the last store fails by
    /// itself, as its last I/O may hang.
    ///
    /// # Errors
    /// If a store fails, or the last word cannot be written.
    pub fn wait(mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        let outcome = self.until_all_have_ended(last);
        // (What they say they have told.)
        self.ending.drain(..).for_each(|thread| drop(thread.join()));
        outcome
    }

    fn until_all_have_ended(&mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        // Of a cache that is not served any more, while others were.
        let mut before = Ok(());
        loop {
            // (This end of the channel is there as long as the other.)
            match self.leave.recv().unwrap_or(Leave::All) {
                Leave::All => return before.and(self.end_all(last)),
                Leave::Reload(options, to) => {
                    // One who has gone needs no answer.
                    let _ = to.send(self.reload(options));
                }
                Leave::Failed(uuid, why) => {
                    let Some(cache) = self.take(uuid, Duration::ZERO) else { continue };
                    let name = cache.options.name.clone();
                    cache.abandon();
                    let error = ServeError::Failed(why);
                    if self.caches.is_empty() {
                        self.common.server.stop(Duration::ZERO);
                        return Err(error);
                    }
                    (self.common.tell)(Notice::Failed(name, uuid, error));
                    before = Err(ServeError::SomeFailed);
                }
                Leave::Stop(uuid, asker) => match self.end_one(uuid, false, asker) {
                    Some((asker, outcome)) => return before.and(finish(&asker, outcome, last)),
                    None => continue,
                },
                Leave::Detach(uuid, asker) => match self.end_one(uuid, true, asker) {
                    Some((asker, outcome)) => return before.and(finish(&asker, outcome, last)),
                    None => continue,
                },
            }
        }
    }

    /// Takes a cache out of use: clients are sent away within `grace`.
    fn take(&mut self, uuid: Uuid, grace: Duration) -> Option<Cache> {
        let at = self.caches.iter().position(|cache| cache.uuid() == uuid)?;
        let cache = self.caches.remove(at);
        self.roster.lock().retain(|shared| shared.uuid != uuid);
        match self.caches.is_empty() {
            // Nobody is to find a server that serves nothing.
            true => self.common.server.stop(grace),
            false => self.common.server.withdraw(&cache.options.name, grace),
        };
        Some(cache)
    }

    /// Ends one cache for an operator. He is answered when it has ended, unless it was the last one: then that is for later.
    fn end_one(
        &mut self,
        uuid: Uuid,
        detach: bool,
        asker: Arc<UnixStream>,
    ) -> Option<(Arc<UnixStream>, Result<(), ServeError>)> {
        // (It may have ended meanwhile: the connection is closed, and he sees that.)
        let cache = self.caches.iter().find(|cache| cache.uuid() == uuid)?;
        let telling = Telling::begin(cache.shared.clone(), asker.clone());
        let cache = self.take(uuid, GRACE)?;
        if self.caches.is_empty() {
            let outcome = end(cache, detach, &self.common.tell);
            telling.end();
            return Some((asker, outcome));
        }
        self.end_aside(cache, detach, move |outcome| {
            telling.end();
            // One who has gone needs no answer.
            let _ = control::say(&asker, &done(outcome.as_ref().copied()));
        });
        None
    }

    /// Ends a cache, on a thread of its own: one whose device hangs must not hold up what others want. `then` gets what
    /// became of it.
    fn end_aside(
        &mut self,
        cache: Cache,
        detach: bool,
        then: impl FnOnce(&Result<(), ServeError>) + Send + 'static,
    ) {
        let (name, uuid) = (cache.options.name.clone(), cache.uuid());
        let tell = self.common.tell.clone();
        let ending = move || {
            let outcome = end(cache, detach, &tell);
            then(&outcome);
            if let Err(error) = outcome {
                tell(Notice::Failed(name, uuid, error));
            }
        };
        self.ending.retain(|thread| !thread.is_finished());
        self.ending.extend(aside("shingle-ended", ending));
    }

    fn end_all(&mut self, last: impl FnOnce()) -> Result<(), ServeError> {
        self.common.server.stop(GRACE);
        let caches = mem::take(&mut self.caches);
        let ended = side_by_side(caches, |cache| end(cache, false, &self.common.tell));
        last();
        ended.into_iter().collect()
    }
}

/// Ends a cache, and tells what is left of it.
fn end(cache: Cache, detach: bool, tell: &TellNotice) -> Result<(), ServeError> {
    let (name, uuid) = (cache.options.name.clone(), cache.uuid());
    let left = cache.end(detach)?;
    tell(Notice::Ended(name, uuid, left));
    Ok(())
}

/// Tells who waits for the end of a cache what that waits for, if it takes long: later and later.
struct Telling {
    done: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Telling {
    fn begin(shared: Arc<Shared>, asker: Arc<UnixStream>) -> Telling {
        const FIRST: Duration = Duration::from_secs(5);
        let (done, is_done) = channel();
        let tell = move || {
            let mut patience = FIRST;
            while is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                if control::say(&asker, &Answer::Waits(shared.waits_for())).is_err() {
                    // He has gone.
                    return;
                }
                patience *= 2;
            }
        };
        // Without a thread nothing is told, and it ends all the same.
        Telling { done, thread: start_thread("shingle-telling", tell).ok() }
    }

    /// Nothing is told after that.
    fn end(self) {
        drop(self.done);
        self.thread.map(JoinHandle::join);
    }
}

/// Does it for all, each on a thread of its own: each waits for its own devices.
fn side_by_side<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> Result<R, ServeError> + Sync,
) -> Vec<Result<R, ServeError>> {
    let all: Vec<_> = all.into_iter().map(|one| Mutex::new(Some(one))).collect();
    let act = |one| act(take(one));
    thread::scope(|scope| {
        let begin = |one| {
            let thread = thread::Builder::new().name("shingle-cache".to_owned());
            (one, thread.spawn_scoped(scope, move || act(one)))
        };
        let work: Vec<_> = all.iter().map(begin).collect();
        let outcome = |(one, work): (_, io::Result<ScopedJoinHandle<'_, _>>)| match work {
            Ok(work) => {
                work.join().unwrap_or_else(|_| Err(ServeError::System(panicked("a cache"))))
            }
            // The system gives no thread: here, then.
            Err(_) => act(one),
        };
        work.into_iter().map(outcome).collect()
    })
}

/// Does it on a thread of its own, or here and now if the system gives none.
fn aside(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    let here = Arc::new(Mutex::new(Some(work)));
    let there = here.clone();
    let begun = start_thread(name, move || take(&there)());
    if begun.is_err() {
        take(&here)();
    }
    begun.ok()
}

fn take<T>(held: &Mutex<Option<T>>) -> T {
    let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    held.expect("it is done once")
}

/// Begins to listen, encrypted where there is something to encrypt with.
fn bind(address: &Address, tls: &Option<Arc<Tls>>) -> Result<Listener, ListenError> {
    match tls {
        Some(tls) => Listener::bind_encrypted(address, tls.clone()),
        None => Listener::bind(address),
    }
}

/// Where there are several caches, an error says of which it is.
fn of<'a>(cache: &'a CacheOptions, all: &'a Options) -> impl Fn(ServeError) -> ServeError + 'a {
    move |error| match all.caches.len() {
        1 => error,
        _ => ServeError::OfExport { name: cache.name.clone(), error: Box::new(error) },
    }
}

/// The last cache has ended for an operator, who is answered when all else is done.
fn finish(
    asker: &UnixStream,
    ended: Result<(), ServeError>,
    last: impl FnOnce(),
) -> Result<(), ServeError> {
    last();
    // One who has gone needs no answer.
    let _ = control::say(asker, &done(ended.as_ref().copied()));
    ended
}
