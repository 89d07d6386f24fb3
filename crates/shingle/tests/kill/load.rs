//! One connection under load, which tells the oracle what it does and believes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use shingle_nbd::client::{Client, Reply};
use shingle_nbd::wire::{command, command_flag};

use crate::oracle::{BLOCK, Content, Oracle, Rng, SECTORS, bytes};

/// Requests in flight on a connection.
const DEPTH: usize = 16;

/// What the reply to a request will mean.
enum Meaning {
    Written { blocks: Range<u64>, fua: bool },
    Read { first: u64, expected: Vec<Content> },
    Flushed { covered: u64 },
}

pub(crate) struct Load<'a> {
    client: Client<UnixStream>,
    oracle: &'a Mutex<Oracle>,
    /// Nobody else touches these.
    own: Range<u64>,
    rng: Rng,
    under_way: BTreeMap<u64, Meaning>,
    /// Blocks of `under_way`.
    busy: BTreeSet<u64>,
    /// Where a long stretch of writes in order goes on, and how many are left.
    stretch: (u64, u64),
}

impl<'a> Load<'a> {
    pub(crate) fn new(
        client: Client<UnixStream>,
        oracle: &'a Mutex<Oracle>,
        own: Range<u64>,
        seed: u64,
    ) -> Load<'a> {
        let (under_way, busy) = (BTreeMap::new(), BTreeSet::new());
        Load { client, oracle, stretch: (own.start, 0), own, rng: Rng(seed), under_way, busy }
    }

    /// Goes on until the connection breaks, or a request fails, which must not be before the cut:
    /// returns what was wrong. What is answered when `is_vain` makes nothing durable.
    pub(crate) fn run(
        mut self,
        is_cut: &dyn Fn() -> bool,
        is_vain: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        loop {
            let outcome = self.step(is_vain);
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(wrong)) => return Err(wrong),
                // An error of the server, or its end.
                Err(_) if is_cut() => return Ok(()),
                Err(error) => return Err(format!("before the cut: {error}")),
            }
        }
    }

    fn step(&mut self, is_vain: &dyn Fn() -> bool) -> io::Result<Result<(), String>> {
        while self.under_way.len() < DEPTH {
            self.begin()?;
        }
        let mut reply = self.client.receive()?;
        let meaning = self.under_way.remove(&reply.cookie).expect("the client has checked it");
        match reply.error.take() {
            Some(error) => Err(io::Error::other(format!("{error:?}"))),
            None => Ok(self.end(meaning, &reply, is_vain())),
        }
    }

    /// A range of blocks that nobody uses now.
    fn free(&mut self) -> Option<Range<u64>> {
        let first = if self.stretch.1 > 0 {
            self.stretch.1 -= 1;
            self.stretch.0
        } else if self.rng.one_in(100) {
            self.stretch.1 = 400;
            self.own.start
        } else {
            self.own.start + self.rng.below(self.own.end - self.own.start)
        };
        let most = if self.stretch.1 > 0 { 8 } else { 1 + self.rng.below(4) };
        let blocks = first..(first + most).min(self.own.end);
        self.stretch.0 = if blocks.end == self.own.end { self.own.start } else { blocks.end };
        blocks.clone().all(|block| !self.busy.contains(&block)).then_some(blocks)
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.rng.one_in(40) {
            let covered = self.oracle.lock().expect("no panic").flush_begins();
            let cookie = self.client.send(command::FLUSH, 0, 0, 0, &[])?;
            self.under_way.insert(cookie, Meaning::Flushed { covered });
            return Ok(());
        }
        let Some(blocks) = self.free() else { return Ok(()) };
        let (first, count) = (blocks.start, blocks.end - blocks.start);
        let (offset, length) = (first * BLOCK as u64, (count * BLOCK as u64) as u32);
        let fua = self.rng.one_in(10);
        let flags = if fua { command_flag::FUA } else { 0 };
        let mut oracle = self.oracle.lock().expect("no panic");
        let kind = self.rng.below(20);
        let (cookie, meaning) = match kind {
            0..=5 => {
                let expected = blocks.clone().map(|block| oracle.newest(block)).collect();
                drop(oracle);
                let cookie = self.client.send(command::READ, 0, offset, length, &[])?;
                (cookie, Meaning::Read { first, expected })
            }
            6 | 7 => {
                let content =
                    if kind == 6 { Content::Stamps([0; SECTORS]) } else { Content::Anything };
                blocks.clone().for_each(|block| oracle.written(block, content));
                drop(oracle);
                let kind = if kind == 6 { command::WRITE_ZEROES } else { command::TRIM };
                let cookie = self.client.send(kind, flags, offset, length, &[])?;
                (cookie, Meaning::Written { blocks: blocks.clone(), fua })
            }
            _ => {
                let (skipped, data) = self.data(&blocks, &mut oracle);
                drop(oracle);
                let (offset, length) = (offset + skipped, data.len() as u32);
                let cookie = self.client.send(command::WRITE, flags, offset, length, &data)?;
                (cookie, Meaning::Written { blocks: blocks.clone(), fua })
            }
        };
        self.busy.extend(blocks);
        self.under_way.insert(cookie, meaning);
        Ok(())
    }

    /// New data for some blocks, sometimes for a part of one, and where it begins.
    fn data(&mut self, blocks: &Range<u64>, oracle: &mut Oracle) -> (u64, Vec<u8>) {
        let stamp = oracle.stamp();
        let first = blocks.start;
        if blocks.end - first == 1
            && let Content::Stamps(mut stamps) = oracle.newest(first)
        {
            let begin = self.rng.below(SECTORS as u64) as usize;
            let end = begin + 1 + self.rng.below((SECTORS - begin) as u64) as usize;
            stamps[begin..end].fill(stamp);
            oracle.written(first, Content::Stamps(stamps));
            return ((begin * (BLOCK / SECTORS)) as u64, bytes(first, &stamps, begin..end));
        }
        let stamps = [stamp; SECTORS];
        let data = blocks.clone().flat_map(|block| {
            oracle.written(block, Content::Stamps(stamps));
            bytes(block, &stamps, 0..SECTORS)
        });
        (0, data.collect())
    }

    fn end(&mut self, meaning: Meaning, reply: &Reply, is_vain: bool) -> Result<(), String> {
        match meaning {
            Meaning::Written { blocks, fua } => {
                let mut oracle = self.oracle.lock().expect("no panic");
                for block in blocks {
                    oracle.answered(block, fua && !is_vain);
                    self.busy.remove(&block);
                }
            }
            Meaning::Read { first, expected } => {
                let found = expected.iter().zip(reply.data.chunks_exact(BLOCK));
                for (block, (&expected, data)) in (first..).zip(found) {
                    Oracle::read(expected, block, data)?;
                    self.busy.remove(&block);
                }
            }
            Meaning::Flushed { .. } if is_vain => {}
            Meaning::Flushed { covered } => {
                self.oracle.lock().expect("no panic").flush_ends(covered);
            }
        }
        Ok(())
    }
}
