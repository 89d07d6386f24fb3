//! Tests whether the drive cleans when it is idle, and after which delay (Skylight, "aggressive"
//! cleaning).
//!
//! The buffer gets dirty blocks of many bands. After a pause without I/O one block is read: if a
//! cleaning is in progress, the read waits for it. The pause doubles until two reads have waited, then
//! a binary search narrows it down.

use serde::{Deserialize, Serialize};

use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::scratch::{Scratch, write};
use crate::target::{Block, Io, Nanos, Op};

/// A pause without I/O, and the latency of the read after it, both in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Length of the pause.
    pub idle_us: u64,
    /// The second longest latency of the read after it, of up to eight tries: a cleaning makes more
    /// than one of them wait, and what else a read may have met does not.
    pub read_us: u64,
}

/// Tries of each pause: a read may come just between two steps of a cleaning.
const TRIES: u64 = 8;
/// Dirty blocks to clean, each in a band of its own if the region has enough bands.
const DIRTY: u64 = 400;
/// The first pause, in microseconds.
const SHORTEST: u64 = 50_000;

/// All trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trials {
    /// A read that takes longer has waited for a cleaning.
    pub waited_us: u64,
    /// The trials, in order.
    pub trials: Vec<Trial>,
}

impl Trials {
    /// The longest pause without cleaning, and the shortest longer one with cleaning, in
    /// microseconds.
    #[must_use]
    pub(crate) fn delay_us(&self) -> (u64, Option<u64>) {
        let waited = |trial: &&Trial| trial.read_us > self.waited_us;
        let cleaned = self.trials.iter().filter(waited).map(|trial| trial.idle_us).min();
        let calm = self.trials.iter().filter(|trial| !waited(trial)).map(|trial| trial.idle_us);
        let calm = calm.filter(|&idle| cleaned.is_none_or(|cleaned| idle < cleaned)).max();
        (calm.unwrap_or(0), cleaned)
    }
}

/// Tries pauses up to `longest_us`. The buffer of `entries` must be empty before; afterwards it
/// holds blocks of the region.
pub(crate) fn idle(
    scratch: &mut Scratch,
    entries: u64,
    longest_us: u64,
    seed: u64,
) -> Result<Trials, ProbeError> {
    let mut host = Host::new(scratch, entries, seed);
    // Reads without a pause show how long a read takes at most.
    let mut sorted = (0..200).map(|_| host.read()).collect::<Result<Vec<u64>, _>>()?;
    sorted.sort_unstable();
    let waited_us = sorted[sorted.len() - 1].min(2 * sorted[sorted.len() * 9 / 10]) * 3 / 2;
    let mut shown = Trials { waited_us, trials: Vec::new() };
    let doubled = std::iter::successors(Some(SHORTEST), |pause| Some(pause * 2));
    let pauses = doubled.take_while(|&pause| pause < longest_us).chain([longest_us]);
    for idle_us in pauses.filter(|&pause| pause > 0) {
        shown.trials.push(host.attempt(idle_us, waited_us)?);
        if shown.delay_us().1.is_some() {
            break;
        }
    }
    // Search to within 2 %, or 10 ms.
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
    /// Blocks in the buffer, and their limit: a nearly full buffer is cleaned in any pause.
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
        let times =
            self.scratch.latencies_us(std::iter::once(Io { op: Op::Read, block, count: 1 }))?;
        Ok(times[0])
    }

    fn attempt(&mut self, idle_us: u64, enough_us: u64) -> Result<Trial, ProbeError> {
        let (mut longest_us, mut read_us) = (0, 0);
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
            self.scratch.run_all(blocks)?;
            // Moves the head away from the log.
            self.read()?;
            self.scratch.target.idle(Nanos::from_micros(idle_us))?;
            let us = self.read()?;
            read_us = read_us.max(us.min(longest_us));
            longest_us = longest_us.max(us);
            if read_us > enough_us {
                break;
            }
        }
        Ok(Trial { idle_us, read_us })
    }
}
