//! A cache full of dirty data over a slow disk: writes complete at the speed of the disk, none
//! waits long, and flushes do not wait for destages. In virtual time: the engine knows only the
//! time that it is given.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use shingle_core::parts::split_mix;
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Device, Engine, Io};

use crate::memory::{Held, carry_out, serve, slots};

const DEPTH: u64 = 32;
const MINUTES: u64 = 3;

/// Random 4 KiB writes at depth 32, over ten times the cache.
#[derive(Clone, Copy)]
struct Client {
    /// The number of writes between flushes; 0: no flushes.
    flush_each: u64,
    /// One request of this many is a read; 0: no reads.
    read_one_in: u64,
}

/// What the client measured from the time when the cache was full.
#[derive(Debug)]
struct Seen {
    /// Number of writes answered in each second.
    seconds: Vec<u64>,
    /// The longest latency of a write.
    longest: Nanos,
    longest_flush: Nanos,
    longest_read: Nanos,
}

struct Bed {
    engine: Engine,
    ssd: Held,
    disk: Held,
    /// The time at which each I/O is done.
    events: BinaryHeap<Reverse<(Nanos, u64)>>,
    under_way: HashMap<u64, Io>,
    numbers: u64,
    now: Nanos,
    /// When the disk has done all its I/O.
    disk_free: Nanos,
    slots: u64,
    random: u64,
}

impl Bed {
    fn new(policy: &str) -> Bed {
        let (engine, ssd) = serve(&Settings::new(policy), slots() * 10, |_| {});
        Bed {
            engine,
            ssd,
            disk: Held::new(),
            events: BinaryHeap::new(),
            under_way: HashMap::new(),
            numbers: 0,
            now: Nanos::ZERO,
            disk_free: Nanos::ZERO,
            slots: slots(),
            random: 1,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        split_mix::next(&mut self.random) % bound
    }

    /// The SSD executes much in parallel; the disk one I/O after the other, each in 20 ms.
    fn begin(&mut self, io: Io) {
        let done = match io.device {
            Device::Ssd => self.now + Nanos::from_micros(100),
            Device::Disk => {
                self.disk_free = self.disk_free.max(self.now) + Nanos::from_millis(20);
                self.disk_free
            }
        };
        self.events.push(Reverse((done, self.numbers)));
        self.under_way.insert(self.numbers, io);
        self.numbers += 1;
    }

    fn end(&mut self, mut io: Io) {
        let pages = if io.device == Device::Ssd { &mut self.ssd } else { &mut self.disk };
        carry_out(pages, &mut io);
        let bytes = io.buffers.len() * PAGE_BYTES;
        self.engine.io_done(io.id, Ok(bytes), io.buffers);
    }

    fn run(mut self, client: Client) -> Seen {
        const TICK: Nanos = Nanos::from_millis(50);
        let mut seen = Seen {
            seconds: Vec::new(),
            longest: Nanos::ZERO,
            longest_flush: Nanos::ZERO,
            longest_read: Nanos::ZERO,
        };
        let mut asked: HashMap<u64, (CommandOp, Nanos)> = HashMap::new();
        let (mut ids, mut writes, mut tick) = (0, 0, Nanos::ZERO);
        let mut full_since = None;
        loop {
            while (asked.len() as u64) < DEPTH && self.engine.can_submit() {
                ids += 1;
                let read = client.read_one_in > 0 && self.below(client.read_one_in) == 0;
                let flush = client.flush_each > 0 && ids % (client.flush_each + 1) == 0;
                let op = match (flush, read) {
                    (true, _) => CommandOp::Flush,
                    (_, true) => CommandOp::Read,
                    _ => CommandOp::Write,
                };
                let offset = self.below(self.slots * 10) * BLOCK_BYTES;
                let data =
                    if op == CommandOp::Write { vec![ids as u8; PAGE_BYTES] } else { vec![] };
                let bytes = if flush { 0 } else { BLOCK_BYTES };
                self.engine.submit(Command { data, ..Command::new(ids, op, offset, bytes) });
                asked.insert(ids, (op, self.now));
            }
            let effects = self.engine.take_effects();
            effects.ios.into_iter().for_each(|io| self.begin(io));
            for reply in effects.replies {
                reply.result.expect("an answer");
                let (op, since) = asked.remove(&reply.id).expect("it was asked");
                writes += u64::from(op == CommandOp::Write);
                let Some(full) = full_since else { continue };
                let second = self.now.since(full).0 / 1_000_000_000;
                seen.seconds.resize(second as usize + 1, 0);
                seen.seconds[second as usize] += u64::from(op == CommandOp::Write);
                let longest = match op {
                    CommandOp::Flush => &mut seen.longest_flush,
                    CommandOp::Read => &mut seen.longest_read,
                    _ => &mut seen.longest,
                };
                *longest = self.now.since(since).max(*longest);
            }
            if full_since.is_none() && writes >= self.slots {
                full_since = Some(self.now);
            }
            if full_since.is_some_and(|full| self.now.since(full).0 >= MINUTES * 60_000_000_000) {
                return seen;
            }
            match self.events.peek() {
                Some(&Reverse((at, number))) if at <= tick + TICK => {
                    self.events.pop();
                    self.now = self.now.max(at);
                    self.engine.tick(self.now);
                    let io = self.under_way.remove(&number).expect("it is under way");
                    self.end(io);
                }
                _ => {
                    tick += TICK;
                    self.now = self.now.max(tick);
                    self.engine.tick(self.now);
                }
            }
        }
    }
}

fn no_client_waits_long(client: Client) {
    for policy in ["lru", "sac", "most", "pore-pf"] {
        let mut seen = Bed::new(policy).run(client);
        // The last second was incomplete.
        seen.seconds.truncate((MINUTES * 60) as usize);
        let least = seen.seconds.iter().min().copied().unwrap_or(0);
        let total: u64 = seen.seconds.iter().sum();
        println!(
            "{policy}: {total} writes in {MINUTES} minutes, {least} in the worst second, at most {} ms; \
             reads {} ms, flushes {} ms",
            seen.longest.0 / 1_000_000,
            seen.longest_read.0 / 1_000_000,
            seen.longest_flush.0 / 1_000_000,
        );
        assert_eq!(seen.seconds.len() as u64, MINUTES * 60, "{policy}: nothing at the end");
        assert!(least > 0, "{policy}: a second without a write");
        for longest in [seen.longest, seen.longest_read, seen.longest_flush] {
            assert!(longest <= Nanos::from_millis(2_000), "{policy}");
        }
        // Two thirds of the 50 I/Os a second are blocks of clients; most policies save some by
        // merging neighbours.
        assert!(total >= MINUTES * 60 * 33, "{policy}: only {total}");
    }
}

#[test]
fn writes_into_a_cache_full_of_dirty_data_go_at_the_pace_of_the_disk() {
    no_client_waits_long(Client { flush_each: 0, read_one_in: 0 });
}

#[test]
fn flushes_wait_for_no_destages() {
    no_client_waits_long(Client { flush_each: 64, read_one_in: 0 });
}

#[test]
fn readers_get_their_share() {
    no_client_waits_long(Client { flush_each: 64, read_one_in: 4 });
}
