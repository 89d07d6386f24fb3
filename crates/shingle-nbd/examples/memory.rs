//! Serves memory: `cargo run --release -p shingle-nbd --example memory -- unix:/tmp/nbd.sock 1024`
//! serves 1024 MiB. With a third argument, `queue`, commands go through a queue to a thread of
//! their own, as in a store. Ends when its standard input ends.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use shingle_nbd::export::{Command, Completion, Export};
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Limits, Served, Server};

struct Queued {
    size_bytes: u64,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    commands: Vec<(Command, Completion)>,
    sleeping: bool,
}

impl Queued {
    fn new(memory: Memory) -> Arc<Self> {
        let (queue, wake) = Default::default();
        let queued = Arc::new(Self { size_bytes: memory.size_bytes(), queue, wake });
        let engine = Arc::clone(&queued);
        std::thread::spawn(move || {
            let mut commands = Vec::new();
            loop {
                let mut queue = engine.queue.lock().expect("no panic");
                while queue.commands.is_empty() {
                    queue.sleeping = true;
                    queue = engine.wake.wait(queue).expect("no panic");
                }
                std::mem::swap(&mut commands, &mut queue.commands);
                drop(queue);
                for (command, done) in commands.drain(..) {
                    memory.submit(command, done);
                }
            }
        });
        queued
    }
}

impl Export for Queued {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn submit(&self, command: Command, done: Completion) {
        self.queue.lock().expect("no panic").commands.push((command, done));
    }

    /// Wakes the engine once for all commands that arrived together.
    fn kick(&self) {
        let mut queue = self.queue.lock().expect("no panic");
        if queue.sleeping && !queue.commands.is_empty() {
            queue.sleeping = false;
            drop(queue);
            self.wake.notify_one();
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "tcp:localhost".to_owned()).parse()?;
    let mib = arguments.next().map_or(Ok(1024), |mib| mib.parse::<usize>())?;
    let memory = Memory::new(mib << 20);
    let export: Arc<dyn Export> = match arguments.next().as_deref() {
        Some("queue") => Queued::new(memory),
        _ => Arc::new(memory),
    };
    let served = Served {
        name: "memory".to_owned(),
        description: format!("{mib} MiB of memory"),
        minimum_block: 1,
        export,
    };
    let server = Server::start(&[address], vec![served], Limits::default(), |event| {
        eprintln!("{event}");
    })?;
    for address in server.addresses() {
        eprintln!("serving {address}");
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop(Duration::from_secs(10));
    Ok(())
}
