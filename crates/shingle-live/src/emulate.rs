//! An emulated drive on an ordinary disk (SAC A.5, example 3): a model decides, and its steps are
//! executed as real I/O.
//!
//! ```text
//! ┌────────────────────────────┬─────────┬───────────────┄
//! │ blocks at their own places │ scratch │ the buffer's slots
//! └────────────────────────────┴─────────┴───────────────┄
//! ```
//! The map of the buffer is in memory only, as in SAC's emulator. At the end the buffer is emptied,
//! and then every block is at its own place.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shingle_core::units::{Block, Nanos, Op};
use shingle_device::{Direct, Medium};
use shingle_drive::steps::{Place, Step};
use shingle_drive::{BufferState, Drive, Io, Stamp};
use shingle_engine::Kind;
use shingle_engine::buffer::{Buffer, zeroed};
use shingle_result::ModelCounters;
use thiserror::Error;

/// The reason why a drive cannot be emulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// Its model does not report its steps.
    #[error(
        "its model does not tell its steps; st8000as0002 does, and the emulators of SAC's and PORE's prototypes"
    )]
    NoSteps,
    /// It is not a shingled drive.
    #[error("it has no bands to emulate")]
    NoBands,
}

/// A drive that can be emulated.
pub struct Emulation {
    drive: Box<dyn Drive>,
    /// First block of the scratch area, and the size of that area.
    end: u64,
    scratch_blocks: u64,
}

/// The model's counters and buffer state, shared with a running replay.
#[derive(Clone, Default)]
pub(crate) struct EmulationState {
    pub(crate) counters: ModelCounters,
    pub(crate) buffer: Arc<Mutex<BufferState>>,
}

impl Emulation {
    /// Prepares the emulation of `drive` for requests that end before block `end`.
    pub fn new(mut drive: Box<dyn Drive>, end: u64) -> Result<Emulation, EmulateError> {
        let Some(steps) = drive.steps() else { return Err(EmulateError::NoSteps) };
        steps.begin();
        let Some(bands) = &drive.description().bands else {
            return Err(EmulateError::NoBands);
        };
        let last = bands.zone(Block(end.max(1) - 1));
        let end = bands.first_block(last).0 + bands.blocks(last);
        let scratch_blocks = bands.largest();
        Ok(Emulation { drive, end, scratch_blocks })
    }

    /// The size of the emulated disk in blocks. All requests end before it. The scratch area and
    /// the buffer of the emulation lie behind it.
    #[must_use]
    pub fn disk_blocks(&self) -> u64 {
        self.end
    }

    pub(crate) fn on(self, disk: Direct, state: EmulationState) -> Emulated {
        Emulated {
            drive: self.drive,
            disk,
            scratch: self.end,
            slots: self.end + self.scratch_blocks,
            state,
            now: Nanos::ZERO,
            memory: HashMap::new(),
            steps: Vec::new(),
            rewrites: Vec::new(),
            collected: BTreeMap::new(),
            times: Times::default(),
            failed: false,
        }
    }
}

/// Elapsed real time by kind of I/O.
#[derive(Default)]
struct Times {
    read: Nanos,
    log: Nanos,
    native: Nanos,
    clean: Nanos,
}

/// A running emulated drive.
pub(crate) struct Emulated {
    drive: Box<dyn Drive>,
    disk: Direct,
    scratch: u64,
    /// Block of the first slot.
    slots: u64,
    state: EmulationState,
    /// The model's time.
    now: Nanos,
    /// The blocks in the model's memory.
    memory: HashMap<u64, Buffer>,
    steps: Vec<Step>,
    /// Pending rewrites: first block, number of blocks, whether they are read before.
    rewrites: Vec<(u64, u64, bool)>,
    /// For each block that is merged into the rewrites: its slot.
    collected: BTreeMap<u64, u32>,
    times: Times,
    /// An I/O failed, so the disk no longer matches the model.
    failed: bool,
}

/// The stamp of a block identifies the data's address.
fn stamp(block: u64) -> Stamp {
    block + 1
}

/// Adjacent blocks that will be written as one I/O.
#[derive(Default)]
struct Run {
    page: u64,
    buffers: Vec<Buffer>,
    log: bool,
}

fn copy(buffer: &Buffer) -> Buffer {
    let mut copy = zeroed();
    copy.0 = buffer.0;
    copy
}

impl Emulated {
    /// Makes the model serve an I/O, and executes its steps.
    fn io(&mut self, op: Op, first: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        let count = buffers.len() as u64;
        let io = Io { op, block: Block(first), count };
        let mut stamps: Vec<Stamp> = (first..first + count).map(stamp).collect();
        self.now = self.drive.serve(self.now, &io, &mut stamps).done;
        self.execute_steps(first, buffers)
    }

    fn execute_steps(&mut self, first: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        let mut steps = std::mem::take(&mut self.steps);
        if let Some(taken) = self.drive.steps() {
            taken.take(&mut steps);
        }
        let mut run = Run::default();
        let mut reads: Vec<(u64, usize)> = Vec::new();
        for step in steps.drain(..) {
            match step {
                Step::Put { stamp, to, block } => {
                    let whose = if to == Place::Memory { block.0 } else { stamp - 1 };
                    let data = match self.memory.remove(&whose) {
                        Some(held) if to != Place::Memory => held,
                        _ => copy(&buffers[(whose - first) as usize]),
                    };
                    match to {
                        Place::Memory => drop(self.memory.insert(whose, data)),
                        Place::Slot(slot) => {
                            self.append(&mut run, self.slots + u64::from(slot), data, true)?;
                        }
                        Place::Native => self.append(&mut run, block.0, data, false)?,
                    }
                }
                Step::Rewrite { first, blocks, read } => {
                    self.rewrites.push((first.0, blocks, read));
                }
                Step::Collect { slot, block } => drop(self.collected.insert(block.0, slot)),
                Step::Written => {
                    self.write(&mut run)?;
                    self.clean()?;
                }
                Step::Read { from, block } => {
                    let at = (block.0 - first) as usize;
                    match from {
                        Place::Memory => buffers[at].0 = self.memory[&block.0].0,
                        Place::Native => reads.push((block.0, at)),
                        Place::Slot(slot) => reads.push((self.slots + u64::from(slot), at)),
                    }
                }
            }
        }
        self.steps = steps;
        self.write(&mut run)?;
        let begun = Instant::now();
        for run in reads.chunk_by(|a, b| (a.0 + 1, a.1 + 1) == *b) {
            let (page, at) = run[0];
            self.disk.read(page, &mut buffers[at..at + run.len()])?;
        }
        self.times.read += since(begun);
        Ok(())
    }

    /// Appends a block to the pending run, or writes that and begins a new one.
    fn append(&mut self, run: &mut Run, page: u64, data: Buffer, log: bool) -> io::Result<()> {
        if run.page + run.buffers.len() as u64 != page || run.log != log {
            self.write(run)?;
            (run.page, run.log) = (page, log);
        }
        run.buffers.push(data);
        Ok(())
    }

    fn write(&mut self, run: &mut Run) -> io::Result<()> {
        if run.buffers.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        self.disk.write(run.page, &run.buffers)?;
        run.buffers.clear();
        let times = if run.log { &mut self.times.log } else { &mut self.times.native };
        *times += since(begun);
        Ok(())
    }

    /// Cleans bands: reads them, merges the collected blocks of the buffer, stages and writes them.
    fn clean(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        let mut merged = self.collect()?;
        for (first, blocks, read) in std::mem::take(&mut self.rewrites) {
            let mut buffers: Vec<Buffer> = (0..blocks).map(|_| zeroed()).collect();
            if read {
                self.disk.read(first, &mut buffers)?;
            }
            for (block, buffer) in (first..).zip(&mut buffers) {
                if let Some(newer) = merged.remove(&block) {
                    *buffer = newer;
                }
            }
            if read {
                // The band must survive a power cut.
                self.disk.write(self.scratch, &buffers)?;
            }
            self.disk.write(first, &buffers)?;
        }
        assert!(merged.is_empty(), "what is collected lies in what is rewritten");
        self.times.clean += since(begun);
        Ok(())
    }

    /// Reads the collected blocks, adjacent slots as one I/O.
    fn collect(&mut self) -> io::Result<HashMap<u64, Buffer>> {
        let collected = std::mem::take(&mut self.collected);
        let mut slots: Vec<(u32, u64)> =
            collected.into_iter().map(|(block, slot)| (slot, block)).collect();
        slots.sort_unstable();
        let mut merged = HashMap::new();
        for run in slots.chunk_by(|a, b| a.0 + 1 == b.0) {
            let mut buffers: Vec<Buffer> = run.iter().map(|_| zeroed()).collect();
            self.disk.read(self.slots + u64::from(run[0].0), &mut buffers)?;
            merged.extend(run.iter().map(|&(_, block)| block).zip(buffers));
        }
        Ok(merged)
    }

    /// Publishes the model's state, with the measured times.
    fn publish_state(&self) {
        let mut counters = *self.drive.counters();
        counters.read_time = self.times.read;
        counters.log_time = self.times.log;
        counters.write_time = self.times.native;
        counters.clean_time = self.times.clean;
        counters.idle_clean_time = Nanos::ZERO;
        *self.state.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
        *self.state.buffer.lock().unwrap_or_else(PoisonError::into_inner) = self.drive.buffer();
    }
}

fn since(begun: Instant) -> Nanos {
    begun.elapsed().into()
}

impl Medium for Emulated {
    fn serve(&mut self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an I/O of the emulated drive has failed before"));
        }
        let outcome = match kind {
            Kind::Read => self.io(Op::Read, page, buffers),
            Kind::Write => self.io(Op::Write, page, buffers),
            // (Not supported: a model keeps its data.)
            Kind::Trim(_) => return Err(io::ErrorKind::Unsupported.into()),
            Kind::Flush => self.io(Op::Flush, 0, &mut []).and_then(|()| {
                let begun = Instant::now();
                self.disk.flush()?;
                self.times.log += since(begun);
                Ok(())
            }),
        };
        self.failed |= outcome.is_err();
        self.publish_state();
        outcome
    }

    fn end(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("the emulated drive has failed: the disk is not whole"));
        }
        self.now = self.drive.drain(self.now);
        self.execute_steps(0, &mut [])?;
        self.disk.flush()?;
        self.publish_state();
        Ok(())
    }
}
