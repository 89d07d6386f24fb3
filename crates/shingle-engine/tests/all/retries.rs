//! A disk that fails gets fewer and fewer destages and flushes; commands that wait for room time
//! out; and when the disk has recovered, everything is destaged. In virtual time.

use shingle_core::service::Rules;
use shingle_core::units::Nanos;
use shingle_engine::{CommandOp, Device, Errno, Kind};

use crate::memory::{Fate, Store, slots};

const TICK: Nanos = Nanos::from_millis(50);

/// What the disk refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refuses {
    Nothing,
    Writes,
    Flushes,
    /// Writes to blocks below this one.
    Below(u64),
}

struct Bed {
    store: Store,
    slots: u64,
    refuses: Refuses,
    /// Number of writes and flushes that the disk has refused.
    refused: u64,
}

impl Bed {
    /// A cache full of dirty data.
    fn full() -> Bed {
        let slots = slots();
        let store = Store::new(slots * 4, |config| {
            config.rules = Rules { sequential_bytes: None, ..Rules::for_slots(slots) };
        });
        let mut bed = Bed { store, slots, refuses: Refuses::Nothing, refused: 0 };
        bed.pass(Nanos::from_millis(200));
        bed.refuses = Refuses::Writes;
        // Every second block: no two are neighbours, so each is tried individually.
        for block in 0..bed.slots {
            bed.store.ask(CommandOp::Write, block * 2, 1);
            bed.work();
        }
        bed.refuses = Refuses::Nothing;
        bed
    }

    fn work(&mut self) {
        let (refuses, refused) = (self.refuses, &mut self.refused);
        self.store.work(|io| {
            let refuses = io.device == Device::Disk
                && match refuses {
                    Refuses::Nothing => false,
                    Refuses::Writes => io.kind == Kind::Write,
                    Refuses::Flushes => io.kind == Kind::Flush,
                    Refuses::Below(end) => io.kind == Kind::Write && io.page < end,
                };
            *refused += u64::from(refuses);
            if refuses { Fate::Failed } else { Fate::Done }
        });
    }

    /// Time passes; returns how much the disk refused meanwhile.
    fn pass(&mut self, time: Nanos) -> u64 {
        let (before, end) = (self.refused, self.store.now + time);
        while self.store.now < end {
            self.store.tick(TICK);
            self.work();
        }
        self.refused - before
    }

    fn seconds(&mut self, seconds: u64) -> Vec<u64> {
        (0..seconds).map(|_| self.pass(Nanos::from_millis(1_000))).collect()
    }
}

/// A few tries at first, later about one a second.
fn are_few(refused: &[u64]) {
    println!("refused in each second: {refused:?}");
    assert!((2..=10).contains(&refused[0]), "at first");
    assert!(refused[1..].iter().all(|&tries| tries <= 2), "later");
    let last: u64 = refused[refused.len() - 20..].iter().sum();
    assert!((10..=20).contains(&last), "at last, and for ever: {last}");
}

#[test]
fn a_disk_that_takes_no_writes_is_asked_less_and_less_often() {
    let mut bed = Bed::full();
    bed.refuses = Refuses::Writes;
    bed.store.engine.drain();
    let waits = bed.store.ask(CommandOp::Write, 1, 1);
    are_few(&bed.seconds(59));
    assert!(bed.store.replies.iter().all(|reply| reply.id != waits), "not before its time");
    bed.seconds(3);
    let told = bed.store.replies.iter().find(|reply| reply.id == waits).expect("it is told");
    assert_eq!(told.result, Err(Errno::TIMED_OUT));
    bed.refuses = Refuses::Nothing;
    bed.seconds(12);
    assert_eq!(bed.store.engine.status().dirty_blocks, 0, "all is there in the end");
}

#[test]
fn a_disk_that_does_not_flush_is_asked_less_and_less_often() {
    let mut bed = Bed::full();
    bed.refuses = Refuses::Flushes;
    bed.store.engine.drain();
    are_few(&bed.seconds(60));
    let dirty = bed.store.engine.status().dirty_blocks;
    assert_eq!(dirty, bed.slots, "what is not flushed stays dirty");
    bed.refuses = Refuses::Nothing;
    bed.seconds(12);
    assert_eq!(bed.store.engine.status().dirty_blocks, 0, "all is there in the end");
}

/// Bad blocks neither delay the others nor are tried all the time.
#[test]
fn a_disk_that_is_bad_in_part_gets_the_rest() {
    let mut bed = Bed::full();
    let bad = 400;
    bed.refuses = Refuses::Below(bad * 2);
    bed.store.engine.drain();
    let refused = bed.seconds(120);
    println!("refused in each second: {refused:?}");
    assert_eq!(bed.store.engine.status().dirty_blocks, bad);
    let last: u64 = refused[60..].iter().sum();
    assert!(last <= 60 * bad / 5 + bad, "each once in 5 s: {last}");
    assert!(last > 0, "they are tried");
}
