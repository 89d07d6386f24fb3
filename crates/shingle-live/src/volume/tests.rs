use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use shingle_engine::buffer::Buffer;

use super::*;

/// A timeout that is never reached, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const BLOCKS: u64 = 300;

/// Blocks in memory, with a log of calls.
struct InMemory {
    blocks: u64,
    bytes: Mutex<Vec<u8>>,
    calls: Mutex<Vec<String>>,
    /// If set, each write waits for a message.
    gate: Mutex<Option<Receiver<()>>>,
    fails: bool,
    flush_fails: AtomicBool,
    idle_left: Mutex<u32>,
}

impl InMemory {
    fn new(blocks: u64) -> InMemory {
        // (Nothing is read from large volumes.)
        let bytes = vec![0; (blocks.min(BLOCKS) * BLOCK_BYTES) as usize];
        InMemory {
            blocks,
            bytes: Mutex::new(bytes),
            calls: Mutex::default(),
            gate: Mutex::default(),
            fails: false,
            flush_fails: AtomicBool::new(false),
            idle_left: Mutex::new(0),
        }
    }

    fn log_call(&self, what: String) {
        self.calls.lock().expect("no panic").push(what);
    }

    fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().expect("no panic"))
    }
}

fn range(block: Block, count: usize) -> Range<usize> {
    let first = block.bytes() as usize;
    first..first + count * BLOCK_BYTES as usize
}

impl Volume for InMemory {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> io::Result<()> {
        let bytes = self.bytes.lock().expect("no panic");
        let found = bytes[range(block, buffers.len())].as_chunks().0;
        found.iter().zip(buffers).for_each(|(page, buffer)| buffer.0 = *page);
        Ok(())
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> io::Result<()> {
        if let Some(gate) = &*self.gate.lock().expect("no panic") {
            let _ = gate.recv();
        }
        if self.fails {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "zone 7 is full"));
        }
        self.log_call(format!("write {} +{}", block.0, buffers.len()));
        let mut bytes = self.bytes.lock().expect("no panic");
        let found = bytes[range(block, buffers.len())].as_chunks_mut().0;
        found.iter_mut().zip(buffers).for_each(|(page, buffer)| *page = buffer.0);
        Ok(())
    }

    fn trim(&self, block: Block, count: u64) -> io::Result<()> {
        self.log_call(format!("trim {} +{count}", block.0));
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.log_call("flush".to_owned());
        match self.flush_fails.load(Ordering::Relaxed) {
            true => Err(io::Error::other("it is gone")),
            false => Ok(()),
        }
    }

    fn idle(&self) -> io::Result<bool> {
        let mut left = self.idle_left.lock().expect("no panic");
        *left = left.saturating_sub(1);
        Ok(*left > 0)
    }
}

type Answered = Receiver<Result<Answer, Failure>>;

fn submit(served: &ServedVolume, command: Command) -> Answered {
    let (sender, answered) = channel();
    served.submit(command, Completion::new(move |result| drop(sender.send(result))));
    answered
}

fn call(served: &ServedVolume, command: Command) -> Result<Answer, Failure> {
    submit(served, command).recv_timeout(PATIENCE).expect("an answer")
}

fn start(volume: InMemory) -> (Arc<InMemory>, ServedVolume) {
    let volume = Arc::new(volume);
    let served = ServedVolume::start(volume.clone(), Box::new(|_| {})).expect("started");
    (volume, served)
}

/// A volume whose writes block until the sender sends, or is dropped.
fn gated(blocks: u64) -> (Arc<InMemory>, ServedVolume, Sender<()>) {
    let (release, gate) = channel();
    let (volume, served) =
        start(InMemory { gate: Mutex::new(Some(gate)), ..InMemory::new(blocks) });
    (volume, served, release)
}

fn write_of(offset: u64, bytes: usize, byte: u8, fua: bool) -> Command {
    Command::Write { offset, data: vec![byte; bytes], fua }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Requests of any byte range, compared with an array of bytes.
    #[test]
    fn a_read_returns_the_last_write(
        steps in prop::collection::vec(
            (0..3_u8, 0..BLOCKS * BLOCK_BYTES, prop_oneof![1..10_000_u64, 1..1_000_000_u64], any::<u8>()), 1..30,
        ),
    ) {
        let (_, served) = start(InMemory::new(BLOCKS));
        let mut expected = vec![0_u8; (BLOCKS * BLOCK_BYTES) as usize];
        for (op, offset, bytes, byte) in steps {
            let bytes = bytes.min(BLOCKS * BLOCK_BYTES - offset);
            let part = offset as usize..(offset + bytes) as usize;
            let length = bytes as u32;
            match op {
                0 => {
                    call(&served, write_of(offset, part.len(), byte, false)).expect("written");
                    expected[part].fill(byte);
                }
                1 => {
                    let (fua, no_hole, fast) = (false, false, false);
                    let zeroes = Command::WriteZeroes { offset, length, fua, no_hole, fast };
                    call(&served, zeroes).expect("written");
                    expected[part].fill(0);
                }
                _ => {
                    let read = call(&served, Command::Read { offset, length }).expect("read");
                    prop_assert!(read == Answer::Data(expected[part].to_vec()));
                }
            }
        }
    }
}

#[test]
fn what_is_long_goes_in_pieces_and_fua_is_a_flush_behind_it() {
    let (volume, served) = start(InMemory::new(BLOCKS));
    call(&served, write_of(4096, 200 * 4096, 1, true)).expect("written");
    assert_eq!(volume.take_calls(), ["write 1 +128", "write 129 +72", "flush"]);
    call(&served, write_of(100, 10, 1, false)).expect("written");
    call(&served, Command::Flush).expect("flushed");
    assert_eq!(volume.take_calls(), ["write 0 +1", "flush"]);
    let trim = Command::Trim { offset: 100, length: 3 * 4096, fua: true };
    call(&served, trim).expect("trimmed");
    assert_eq!(volume.take_calls(), ["trim 1 +2", "flush"], "whole blocks only");
    call(&served, Command::Trim { offset: 100, length: 4096, fua: false }).expect("none is whole");
    assert!(volume.take_calls().is_empty());
    served.end().expect("in order");
    assert_eq!(volume.take_calls(), ["flush"]);
    let late = call(&served, Command::Flush).expect_err("it is over");
    assert_eq!(late.code, ErrorCode::Shutdown);
}

#[test]
fn one_flush_is_for_all_that_came_together() {
    let (volume, served, release) = gated(BLOCKS);
    let trim = Command::Trim { offset: 0, length: 4096, fua: true };
    let all = [
        write_of(4096, 4096, 1, true),
        Command::Flush,
        trim,
        write_of(8192, 4096, 1, true),
        write_of(12288, 4096, 1, false),
        Command::Flush,
    ];
    let answers = all.map(|command| submit(&served, command));
    drop(release);
    for answered in answers {
        answered.recv_timeout(PATIENCE).expect("an answer").expect("done");
    }
    let calls = volume.take_calls();
    let flushes = calls.iter().filter(|line| *line == "flush").count();
    assert!(flushes <= 2 && calls.last().is_some_and(|line| line == "flush"), "{calls:?}");
    // Under any load each command is answered: a flush completes a limited number.
    let (volume, served, release) = gated(BLOCKS);
    let many = 3 * JOBS_BEFORE_FLUSH as u64;
    let answers: Vec<_> =
        (0..many).map(|n| submit(&served, write_of(n << 12, 4096, 1, true))).collect();
    drop(release);
    for answered in answers {
        answered.recv_timeout(PATIENCE).expect("an answer").expect("done");
    }
    let flushes = volume.take_calls().iter().filter(|line| *line == "flush").count();
    assert!((2..40).contains(&flushes), "{flushes} flushes");
}

#[test]
fn reads_pass_a_write_that_is_stuck() {
    let (_, served, release) = gated(BLOCKS);
    let written = submit(&served, write_of(0, 4096, 1, false));
    call(&served, Command::Read { offset: 4096, length: 4096 }).expect("read meanwhile");
    drop(release);
    written.recv_timeout(PATIENCE).expect("an answer").expect("written");
}

/// A write waits for one piece of a trim only.
#[test]
fn what_comes_during_a_long_trim_goes_between() {
    let (volume, served, release) = gated(1 << 24);
    // The first write blocks, so that all others are queued behind it.
    let first = submit(&served, write_of(0, 4096, 1, false));
    let trim = Command::Trim { offset: 1 << 20, length: 5 << 26, fua: false };
    let trimmed = submit(&served, trim);
    let second = submit(&served, write_of(8192, 4096, 1, false));
    drop(release);
    for answered in [first, second, trimmed] {
        answered.recv_timeout(PATIENCE).expect("an answer").expect("done");
    }
    let calls = volume.take_calls();
    let place = |what: &str| calls.iter().position(|line| line == what).expect("asked for");
    assert!(place("write 2 +1") < place("trim 65792 +16384"), "{calls:?}");
    let trims = calls.iter().filter(|line| line.starts_with("trim"));
    assert_eq!(trims.count(), 5, "{calls:?}");
}

/// Otherwise the trim would destroy data that was already acknowledged.
#[test]
fn a_write_within_a_trim_comes_after_it() {
    let (volume, served, release) = gated(BLOCKS);
    let first = submit(&served, write_of(0, 4096, 1, false));
    let trim = Command::Trim { offset: 0, length: 100 * 4096, fua: false };
    let trimmed = submit(&served, trim);
    let second = submit(&served, write_of(99 * 4096, 4096, 1, false));
    drop(release);
    for answered in [first, second, trimmed] {
        answered.recv_timeout(PATIENCE).expect("an answer").expect("done");
    }
    assert_eq!(volume.take_calls(), ["write 0 +1", "trim 0 +100", "write 99 +1"]);
}

#[test]
fn what_fails_says_why() {
    let (_, served) = start(InMemory { fails: true, ..InMemory::new(BLOCKS) });
    let failure = call(&served, write_of(0, 4096, 1, false)).expect_err("refused");
    assert_eq!((failure.code, failure.message.as_ref()), (ErrorCode::NoSpc, "zone 7 is full"));
    let fast =
        Command::WriteZeroes { offset: 0, length: 1, fua: false, no_hole: false, fast: true };
    assert_eq!(call(&served, fast).expect_err("refused").code, ErrorCode::NotSup);
}

#[test]
fn idle_time_is_used() {
    let (volume, _served) = start(InMemory { idle_left: Mutex::new(3), ..InMemory::new(BLOCKS) });
    let begun = Instant::now();
    while *volume.idle_left.lock().expect("no panic") > 0 {
        assert!(begun.elapsed() < PATIENCE, "it is not");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Other connections may have lost data too: each gets one error, but a later connection gets none.
#[test]
fn a_flush_that_fails_is_told_on_each_connection() {
    let (volume, served) = start(InMemory::new(BLOCKS));
    let flush = |connection: u64| {
        let (sender, answered) = channel();
        let done = Completion::of(connection, move |result| drop(sender.send(result)));
        served.submit(Command::Flush, done);
        answered.recv_timeout(PATIENCE).expect("an answer").is_ok()
    };
    [1, 2].into_iter().for_each(|connection| served.opened(connection));
    assert!(flush(1) && flush(2));
    volume.flush_fails.store(true, Ordering::Relaxed);
    assert!(!flush(1));
    volume.flush_fails.store(false, Ordering::Relaxed);
    served.opened(3);
    assert_eq!([1, 2, 3, 2].map(flush), [true, false, true, true]);
    // A closed connection gets no reply, and is forgotten. So the next connection gets the error,
    // and no further one.
    served.closed(2);
    volume.flush_fails.store(true, Ordering::Relaxed);
    assert!(!flush(2));
    volume.flush_fails.store(false, Ordering::Relaxed);
    assert_eq!(lock(&served.losses).reported_to.len(), 2);
    [4, 5].into_iter().for_each(|connection| served.opened(connection));
    assert!(!flush(4));
    served.opened(6);
    assert!(flush(6));
    served.end().expect("in order");
}
