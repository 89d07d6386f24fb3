//! A server over socket pairs, with memory as its export.
#![allow(unreachable_pub)]

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::export::{Answer, Command, Completion, Export, Failure};
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Event, Limits, Served, Server};
use shingle_nbd::stream::Stream;

/// Long enough for a busy machine; a test that waits this long has failed.
pub const LONG: Duration = Duration::from_secs(30);

pub struct Bed {
    pub server: Server,
    pub events: Mutex<Receiver<Event>>,
}

pub fn served(export: Arc<dyn Export>, minimum_block: u32) -> Served {
    let (name, description) = ("disk".to_owned(), "a disk".to_owned());
    Served { name, description, minimum_block, export }
}

impl Bed {
    pub fn new(export: Arc<dyn Export>) -> Self {
        Self::with(export, 1, Limits::default())
    }

    pub fn with(export: Arc<dyn Export>, minimum_block: u32, limits: Limits) -> Self {
        let (told, events) = channel();
        let told = Mutex::new(told);
        let exports = vec![served(export, minimum_block)];
        let server = Server::start(&[], exports, limits, move |event| {
            let _ = told.lock().expect("no panics").send(event);
        });
        Self { server: server.expect("no address to fail at"), events: Mutex::new(events) }
    }

    /// The client's end of a new connection. Reads from it time out.
    pub fn raw(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        ours.set_read_timeout(Some(LONG)).expect("a time");
        assert!(self.server.adopt(Stream::Unix(theirs)));
        ours
    }

    pub fn client(&self, structured: bool) -> Client<UnixStream> {
        let contexts: &[&str] =
            if structured { &["base:allocation", "shingle:dirty"] } else { &[] };
        let options = ClientOptions { export: "", structured, contexts };
        Client::connect(self.raw(), &options).expect("a handshake")
    }

    /// The next event that `wanted` accepts.
    pub fn event<T>(&self, wanted: impl Fn(Event) -> Option<T>) -> T {
        let events = self.events.lock().expect("no panics");
        loop {
            let event = events.recv_timeout(LONG).expect("an event");
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    }
}

/// Keeps commands until the test answers them.
pub struct Held {
    pub commands: Mutex<Receiver<(Command, Completion)>>,
    queue: Mutex<std::sync::mpsc::Sender<(Command, Completion)>>,
    pub kicks: std::sync::atomic::AtomicUsize,
}

impl Held {
    pub fn new() -> Arc<Self> {
        let (queue, commands) = channel();
        let kicks = 0.into();
        Arc::new(Self { commands: Mutex::new(commands), queue: Mutex::new(queue), kicks })
    }

    pub fn next(&self) -> (Command, Completion) {
        self.commands.lock().expect("no panics").recv_timeout(LONG).expect("a command")
    }

    pub fn none_within(&self, time: Duration) -> bool {
        self.commands.lock().expect("no panics").recv_timeout(time).is_err()
    }
}

impl Export for Held {
    fn size_bytes(&self) -> u64 {
        1 << 40
    }

    fn submit(&self, command: Command, done: Completion) {
        let _ = self.queue.lock().expect("no panics").send((command, done));
    }

    fn kick(&self) {
        self.kicks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Memory whose replies come from other threads, in random order.
pub struct Shuffled {
    memory: Arc<Memory>,
    queue: Mutex<Vec<std::sync::mpsc::Sender<(Command, Completion)>>>,
}

impl Shuffled {
    pub fn new(memory: Arc<Memory>) -> Self {
        let queue = (0..3).map(|_| {
            let (queue, commands) = channel::<(Command, Completion)>();
            let memory = Arc::clone(&memory);
            std::thread::spawn(move || {
                for (command, done) in commands {
                    done.done(memory.execute(command));
                }
            });
            queue
        });
        Self { queue: Mutex::new(queue.collect()), memory }
    }
}

impl Export for Shuffled {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    fn submit(&self, command: Command, done: Completion) {
        let mut queue = self.queue.lock().expect("no panics");
        queue.rotate_left(1);
        queue[0].send((command, done)).expect("the thread is there");
    }
}

/// Answers every command with the same failure.
pub struct Failing(pub Failure);

impl Export for Failing {
    fn size_bytes(&self) -> u64 {
        1 << 20
    }

    fn submit(&self, _: Command, done: Completion) {
        let result: Result<Answer, Failure> = Err(self.0.clone());
        done.done(result);
    }
}
