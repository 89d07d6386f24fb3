//! An export in memory: for tests, examples, and to measure the cost of the protocol.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::export::{
    Answer, Command, Completion, Contexts, DIRTY, Export, Extent, Failure, HOLE, Piece, ZERO,
};

/// The unit of allocation, and of what is restored after a crash.
const BLOCK_BYTES: usize = 4096;

/// Bytes in memory, with holes. Unflushed writes can be lost on purpose.
pub struct Memory {
    size_bytes: u64,
    state: Mutex<State>,
}

struct State {
    bytes: Vec<u8>,
    /// Whether each block is allocated.
    allocated: Vec<bool>,
    /// The durable version of each block that has changed since. `None` if crashes are not
    /// simulated.
    durable: Option<BTreeMap<usize, Was>>,
}

struct Was {
    bytes: Vec<u8>,
    allocated: bool,
}

impl Memory {
    /// Makes an export of zeroes, with nothing allocated.
    pub fn new(size_bytes: usize) -> Self {
        let state = State {
            bytes: vec![0; size_bytes],
            allocated: vec![false; size_bytes.div_ceil(BLOCK_BYTES)],
            durable: None,
        };
        Self { size_bytes: size_bytes as u64, state: Mutex::new(state) }
    }

    /// The same with simulated crashes.
    pub fn with_crashes(size_bytes: usize) -> Self {
        let memory = Self::new(size_bytes);
        memory.lock().durable = Some(BTreeMap::new());
        memory
    }

    /// Loses everything that is not durable.
    pub fn crash(&self) {
        let mut state = self.lock();
        for (block, was) in state.durable.replace(BTreeMap::new()).unwrap_or_default() {
            let start = block * BLOCK_BYTES;
            state.bytes[start..start + was.bytes.len()].copy_from_slice(&was.bytes);
            state.allocated[block] = was.allocated;
        }
    }

    /// Copies all bytes.
    pub fn contents(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a command.
    pub fn execute(&self, command: Command) -> Result<Answer, Failure> {
        let mut state = self.lock();
        match command {
            Command::Read { offset, length } => return Ok(state.read(offset, length)),
            Command::Write { offset, data, fua } => {
                state.change(offset, data.len() as u32, fua, true, |to, from| {
                    to.copy_from_slice(&data[from..from + to.len()]);
                });
            }
            Command::Flush => {
                if let Some(durable) = &mut state.durable {
                    durable.clear();
                }
            }
            Command::Trim { offset, length, fua } => {
                state.change(offset, length, fua, false, |to, _| to.fill(0));
            }
            Command::Cache { .. } => {}
            // Zeroes are fast because of holes, and filling memory is faster than receiving data.
            Command::WriteZeroes { offset, length, fua, no_hole, fast: _ } => {
                state.change(offset, length, fua, no_hole, |to, _| to.fill(0));
            }
            Command::BlockStatus { offset, length, contexts, one: _ } => {
                return Ok(state.status(offset, length, contexts));
            }
        }
        Ok(Answer::Done)
    }
}

/// Splits a range at block borders: block, first byte, number of bytes.
fn blocks(offset: u64, length: u32) -> impl Iterator<Item = (usize, usize, usize)> {
    let (mut at, end) = (offset as usize, offset as usize + length as usize);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let block = at / BLOCK_BYTES;
            let bytes = end.min((block + 1) * BLOCK_BYTES) - at;
            at += bytes;
            (block, at - bytes, bytes)
        })
    })
}

impl State {
    /// Changes a range block by block; `put` gets the bytes and their offset in the range.
    fn change(
        &mut self,
        offset: u64,
        length: u32,
        fua: bool,
        allocate: bool,
        put: impl Fn(&mut [u8], usize),
    ) {
        for (block, at, bytes) in blocks(offset, length) {
            let start = block * BLOCK_BYTES;
            let end = self.bytes.len().min(start + BLOCK_BYTES);
            let allocated = self.allocated[block];
            if let Some(durable) = &mut self.durable {
                let was = durable
                    .entry(block)
                    .or_insert_with(|| Was { bytes: self.bytes[start..end].to_vec(), allocated });
                if fua {
                    put(&mut was.bytes[at - start..][..bytes], at - offset as usize);
                    was.allocated |= allocate;
                }
            }
            put(&mut self.bytes[at..at + bytes], at - offset as usize);
            // A block becomes a hole only if all of it was discarded.
            self.allocated[block] = allocate || (allocated && bytes < end - start);
        }
    }

    fn read(&self, offset: u64, length: u32) -> Answer {
        let mut pieces: Vec<(bool, usize, usize)> = Vec::new();
        for (block, at, bytes) in blocks(offset, length) {
            match pieces.last_mut() {
                Some((allocated, _, sum)) if *allocated == self.allocated[block] => *sum += bytes,
                _ => pieces.push((self.allocated[block], at, bytes)),
            }
        }
        if let [(true, at, bytes)] = pieces[..] {
            return Answer::Data(self.bytes[at..at + bytes].to_vec());
        }
        let piece = |(allocated, at, bytes): (bool, usize, usize)| match allocated {
            true => Piece::Data(self.bytes[at..at + bytes].to_vec()),
            false => Piece::Zeroes(bytes as u32),
        };
        Answer::Pieces(pieces.into_iter().map(piece).collect())
    }

    fn status(&self, offset: u64, length: u32, contexts: Contexts) -> Answer {
        let extents = |wanted: bool, flags: &dyn Fn(usize) -> u32| {
            let mut extents: Vec<Extent> = Vec::new();
            for (block, _, bytes) in blocks(offset, length).filter(|_| wanted) {
                let (flags, bytes) = (flags(block), bytes as u64);
                match extents.last_mut() {
                    Some(last) if last.flags == flags => last.length_bytes += bytes,
                    _ => extents.push(Extent { length_bytes: bytes, flags }),
                }
            }
            extents
        };
        let dirty =
            |block| self.durable.as_ref().is_some_and(|durable| durable.contains_key(&block));
        Answer::Status {
            allocation: extents(contexts.allocation, &|block| match self.allocated[block] {
                true => 0,
                false => HOLE | ZERO,
            }),
            dirty: extents(contexts.dirty, &|block| if dirty(block) { DIRTY } else { 0 }),
        }
    }
}

impl Export for Memory {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn submit(&self, command: Command, done: Completion) {
        done.done(self.execute(command));
    }
}
