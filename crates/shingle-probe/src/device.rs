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
use crate::fill::{Aligned, Fill};
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
    lanes: Vec<Lane>,
}

/// Executes one I/O at a time.
#[derive(Debug)]
struct Lane {
    fill: Fill,
    read: Aligned,
}

impl Lane {
    fn carry_out(&mut self, file: &File, clock: &Clock, number: u64, io: &Io) -> io::Result<Done> {
        let (place, length) = (io.block.bytes(), io.count * BLOCK_BYTES);
        let begun;
        match io.op {
            Op::Read => {
                let length = usize::try_from(length).map_err(io::Error::other)?;
                let room = self.read.room(length);
                begun = clock.now();
                file.read_exact_at(room, place)?;
            }
            Op::Write => {
                let bytes = self.fill.blocks(io.count);
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
        Disk { device, facts, clock: Clock::new(interrupted), seed, lanes: Vec::new() }
    }

    /// Makes sure that there are at least `count` lanes.
    fn add_lanes(&mut self, count: usize) {
        for lane in self.lanes.len()..count {
            let fill = Fill::new(self.seed.wrapping_add(lane as u64));
            self.lanes.push(Lane { fill, read: Aligned::default() });
        }
    }

    fn one_by_one(
        &mut self,
        next: &mut dyn FnMut() -> Option<Io>,
        seen: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let lane = &mut self.lanes[0];
        for number in 0.. {
            self.clock.go_on()?;
            let Some(io) = next() else { break };
            let done = lane.carry_out(self.device.direct(), &self.clock, number, &io);
            if seen(done.map_err(|error| failed(&self.facts, &io, error))?).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The result of an I/O, and the lane that is free again.
struct Outcome {
    lane: usize,
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
        seen: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let depth = depth.max(1);
        self.add_lanes(depth);
        if depth == 1 {
            return self.one_by_one(next, seen);
        }
        let Disk { device, facts, clock, lanes, .. } = self;
        let (file, clock) = (device.direct(), &*clock);
        thread::scope(|scope| {
            let (outcomes, from) = channel();
            let mut to: Vec<Sender<(u64, Io)>> = Vec::with_capacity(depth);
            for (number, lane) in lanes.iter_mut().enumerate().take(depth) {
                let (sender, ios) = channel();
                let outcomes = outcomes.clone();
                let work = move || {
                    for (of, io) in ios {
                        let result = lane.carry_out(file, clock, of, &io);
                        if outcomes.send(Outcome { lane: number, io, result }).is_err() {
                            return;
                        }
                    }
                };
                let thread = thread::Builder::new().name(format!("probe-{number}"));
                let none = Io { op: Op::Flush, block: Block(0), count: 0 };
                thread.spawn_scoped(scope, work).map_err(|error| failed(facts, &none, error))?;
                to.push(sender);
            }
            hand_out(facts, clock, &to, &from, next, seen)
        })
    }

    fn idle(&mut self, span: Nanos) -> Result<(), TargetError> {
        self.clock.sleep(span)
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }
}

/// Keeps all lanes busy until there is no more I/O, and waits for them.
fn hand_out(
    facts: &Facts,
    clock: &Clock,
    to: &[Sender<(u64, Io)>],
    from: &Receiver<Outcome>,
    next: &mut dyn FnMut() -> Option<Io>,
    seen: &mut dyn FnMut(Done) -> ControlFlow<()>,
) -> Result<(), TargetError> {
    let mut free: Vec<usize> = (0..to.len()).collect();
    let mut numbers = 0..;
    let mut result = Ok(());
    let mut more = true;
    loop {
        while more && !free.is_empty() {
            if let Err(stop) = clock.go_on() {
                (result, more) = (Err(stop), false);
                break;
            }
            match (next(), numbers.next(), free.pop()) {
                (Some(io), Some(number), Some(lane)) => {
                    to[lane].send((number, io)).expect("lanes work until they are told to stop");
                }
                (_, _, lane) => {
                    more = false;
                    free.extend(lane);
                }
            }
        }
        if free.len() == to.len() {
            return result;
        }
        let Outcome { lane, io, result: outcome } = from.recv().expect("some lane is at work");
        free.push(lane);
        match outcome {
            Ok(done) => more &= seen(done).is_continue(),
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
