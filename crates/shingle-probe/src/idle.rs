//! Whether the drive cleans when nothing is asked of it, and after how long (Skylight, "aggressive"
//! cleaning).
//!
//! Dirty blocks of many bands lie in the buffer. Then nothing is asked for a while, then one block is
//! read: if a cleaning is under way the read waits for it. The while doubles until a read waits, and is
//! halved in from there.

use serde::{Deserialize, Serialize};

use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::scratch::{Scratch, write};
use crate::target::{Block, Io, Nanos, Op};

/// A while without I/O, and the latency of the read after it, both in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// How long nothing was asked.
    pub idle_us: u64,
    /// The longest latency of the read after it, of eight tries.
    pub read_us: u64,
}

/// How often each while is tried: a read may come just between two steps of cleaning.
const TRIES: u64 = 8;
/// Dirty blocks to clean, each in a band of its own as far as the region has them.
const DIRTY: u64 = 400;
/// The first while.
const SHORTEST: u64 = 50_000;

/// What was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trials {
    /// A read that takes longer has waited.
    pub waited_us: u64,
    /// In the order in which they were tried.
    pub trials: Vec<Trial>,
}

impl Trials {
    /// The longest while without cleaning, and the shortest with it that is longer; microseconds.
    #[must_use]
    pub(crate) fn delay_us(&self) -> (u64, Option<u64>) {
        let waited = |trial: &&Trial| trial.read_us > self.waited_us;
        let cleaned = self.trials.iter().filter(waited).map(|trial| trial.idle_us).min();
        let calm = self.trials.iter().filter(|trial| !waited(trial)).map(|trial| trial.idle_us);
        let calm = calm.filter(|&idle| cleaned.is_none_or(|cleaned| idle < cleaned)).max();
        (calm.unwrap_or(0), cleaned)
    }
}

/// Tries whiles up to `longest_us`. The buffer, which has `entries`, must be empty; it holds blocks of the region afterwards.
pub(crate) fn idle(
    scratch: &mut Scratch,
    entries: u64,
    longest_us: u64,
    seed: u64,
) -> Result<Trials, ProbeError> {
    let mut host = Host::new(scratch, entries, seed);
    // Reads without a pause tell how long one takes at most.
    let mut sorted = (0..200).map(|_| host.read()).collect::<Result<Vec<u64>, _>>()?;
    sorted.sort_unstable();
    let waited_us = sorted[sorted.len() - 1].min(2 * sorted[sorted.len() * 9 / 10]) * 3 / 2;
    let mut shown = Trials { waited_us, trials: Vec::new() };
    let mut idle_us = SHORTEST;
    while shown.delay_us().1.is_none() && idle_us <= longest_us {
        shown.trials.push(host.attempt(idle_us, waited_us)?);
        idle_us *= 2;
    }
    // To a fiftieth, or a hundredth of a second.
    while let (calm, Some(cleaned)) = shown.delay_us()
        && cleaned - calm > (cleaned / 50).max(10_000)
    {
        shown.trials.push(host.attempt(u64::midpoint(calm, cleaned), waited_us)?);
    }
    Ok(shown)
}

struct Host<'a, 'b> {
    scratch: &'a mut Scratch<'b>,
    dirty: Permutation,
    written: u64,
    /// Blocks in the buffer, and how many may be: one that is nearly full is cleaned in any pause.
    held: u64,
    room: u64,
    reads: Permutation,
    read: u64,
}

impl<'a, 'b> Host<'a, 'b> {
    fn new(scratch: &'a mut Scratch<'b>, entries: u64, seed: u64) -> Host<'a, 'b> {
        let blocks = scratch.target.facts().blocks;
        let dirty = Permutation::new(scratch.region_blocks, seed);
        let reads = Permutation::new(blocks - scratch.region_blocks, seed);
        let room = (entries / 2).max(1);
        Host { scratch, dirty, written: 0, held: 0, room, reads, read: 0 }
    }

    /// The latency of a read of a block that is not in the buffer.
    fn read(&mut self) -> Result<u64, ProbeError> {
        let place = self.reads.get(self.read % self.reads.bound());
        self.read += 1;
        let block = Block(self.scratch.region_blocks + place);
        let times = self.scratch.times(std::iter::once(Io { op: Op::Read, block, count: 1 }))?;
        Ok(times[0])
    }

    fn attempt(&mut self, idle_us: u64, enough_us: u64) -> Result<Trial, ProbeError> {
        let mut read_us = 0;
        for _ in 0..TRIES {
            let dirty = DIRTY.min(self.room);
            if self.held + dirty > self.room {
                self.scratch.sweep()?;
                self.held = 0;
            }
            let (from, bound) = (self.written, self.dirty.bound());
            self.written += dirty;
            self.held += dirty;
            let blocks = (from..from + dirty).map(|nth| write(self.dirty.get(nth % bound)));
            self.scratch.all(blocks)?;
            // The head leaves the log, as after any other read.
            self.read()?;
            self.scratch.target.idle(Nanos::from_micros(idle_us))?;
            read_us = read_us.max(self.read()?);
            if read_us > enough_us {
                break;
            }
        }
        Ok(Trial { idle_us, read_us })
    }
}
