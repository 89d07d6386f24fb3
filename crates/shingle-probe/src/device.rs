//! A file or block device under probe: direct I/O past the page cache, with one thread for each I/O
//! in flight.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use shingle_core::units::BLOCK_BYTES;
use shingle_device::Device;

use crate::clock::Clock;
use crate::fill::{AlignedBuffer, Payload};
use crate::guard::Allowed;
use crate::target::{Block, Done, Facts, Io, Nanos, Op, Target, TargetError};

/// The error of an I/O that failed.
pub(crate) fn failed(facts: &Facts, io: &Io, error: io::Error) -> TargetError {
    let what = match io.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    };
    let name = facts.name.clone();
    TargetError::Io { name, what, block: io.block.0, count: io.count, error }
}

/// A file or block device.
#[derive(Debug)]
pub struct Disk {
    device: Device,
    facts: Facts,
    clock: Clock,
    seed: u64,
    workers: Vec<Worker>,
}

/// Executes one I/O at a time.
#[derive(Debug)]
struct Worker {
    payload: Payload,
    read: AlignedBuffer,
}

impl Worker {
    fn execute(&mut self, file: &File, clock: &Clock, number: u64, io: &Io) -> io::Result<Done> {
        let (place, length) = (io.block.bytes(), io.count * BLOCK_BYTES);
        let begun;
        match io.op {
            Op::Read => {
                let length = usize::try_from(length).map_err(io::Error::other)?;
                let room = self.read.reserve(length);
                begun = clock.now();
                file.read_exact_at(room, place)?;
            }
            Op::Write => {
                let bytes = self.payload.blocks(io.count);
                begun = clock.now();
                file.write_all_at(bytes, place)?;
            }
            Op::Flush => {
                begun = clock.now();
                file.sync_data()?;
            }
            Op::Trim => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(Done { number, begun, done: clock.now() })
    }
}

impl Disk {
    /// Takes a disk that may be overwritten. `seed` decides what is written. I/O and waits end
    /// early once `interrupted` is set.
    #[must_use]
    pub fn new(allowed: Allowed, seed: u64, interrupted: Arc<AtomicBool>) -> Disk {
        let Allowed { device, facts } = allowed;
        Disk { device, facts, clock: Clock::new(interrupted), seed, workers: Vec::new() }
    }

    /// Makes sure that there are at least `count` workers.
    fn add_workers(&mut self, count: usize) {
        for worker in self.workers.len()..count {
            let payload = Payload::new(self.seed.wrapping_add(worker as u64));
            self.workers.push(Worker { payload, read: AlignedBuffer::default() });
        }
    }

    fn run_sequentially(
        &mut self,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let worker = &mut self.workers[0];
        for number in 0.. {
            self.clock.check_interrupted()?;
            let Some(io) = next() else { break };
            let done = worker.execute(self.device.direct(), &self.clock, number, &io);
            if on_done(done.map_err(|error| failed(&self.facts, &io, error))?).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The result of an I/O, and the worker that is free again.
struct Outcome {
    worker: usize,
    io: Io,
    result: io::Result<Done>,
}

impl Target for Disk {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(
        &mut self,
        depth: usize,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let depth = depth.max(1);
        self.add_workers(depth);
        if depth == 1 {
            return self.run_sequentially(next, on_done);
        }
        let Disk { device, facts, clock, workers, .. } = self;
        let (file, clock) = (device.direct(), &*clock);
        thread::scope(|scope| {
            let (outcomes, from) = channel();
            let mut to: Vec<Sender<(u64, Io)>> = Vec::with_capacity(depth);
            for (number, worker) in workers.iter_mut().enumerate().take(depth) {
                let (sender, ios) = channel();
                let outcomes = outcomes.clone();
                let work = move || {
                    for (of, io) in ios {
                        let result = worker.execute(file, clock, of, &io);
                        if outcomes.send(Outcome { worker: number, io, result }).is_err() {
                            return;
                        }
                    }
                };
                let thread = thread::Builder::new().name(format!("probe-{number}"));
                let none = Io { op: Op::Flush, block: Block(0), count: 0 };
                thread.spawn_scoped(scope, work).map_err(|error| failed(facts, &none, error))?;
                to.push(sender);
            }
            dispatch(facts, clock, &to, &from, next, on_done)
        })
    }

    fn idle(&mut self, span: Nanos) -> Result<(), TargetError> {
        self.clock.sleep(span)
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }
}

/// Keeps all workers busy until there is no more I/O, and waits for them.
fn dispatch(
    facts: &Facts,
    clock: &Clock,
    to: &[Sender<(u64, Io)>],
    from: &Receiver<Outcome>,
    next: &mut dyn FnMut() -> Option<Io>,
    on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
) -> Result<(), TargetError> {
    let mut free: Vec<usize> = (0..to.len()).collect();
    let mut numbers = 0..;
    let mut result = Ok(());
    let mut more = true;
    loop {
        while more && !free.is_empty() {
            if let Err(stop) = clock.check_interrupted() {
                (result, more) = (Err(stop), false);
                break;
            }
            match (next(), numbers.next(), free.pop()) {
                (Some(io), Some(number), Some(worker)) => {
                    to[worker]
                        .send((number, io))
                        .expect("workers work until they are told to stop");
                }
                (_, _, worker) => {
                    more = false;
                    free.extend(worker);
                }
            }
        }
        if free.len() == to.len() {
            return result;
        }
        let Outcome { worker, io, result: outcome } = from.recv().expect("some worker is at work");
        free.push(worker);
        match outcome {
            Ok(done) => more &= on_done(done).is_continue(),
            Err(error) => {
                more = false;
                // The first error is the most useful one.
                if !matches!(result, Err(TargetError::Io { .. })) {
                    result = Err(failed(facts, &io, error));
                }
            }
        }
    }
}
