//! Settings that an operator changes while SSDs are exchanged, and a disk that grows beyond the
//! limit.

use shingle_core::cache::CacheCore;
use shingle_core::registry::Registry;
use shingle_core::units::{Block, Nanos};
use shingle_engine::format::BLOCKS_MAX;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::settings::Settings;
use shingle_engine::{CommandOp, Device, Io, Kind, NewSsd, SsdState};

use crate::memory::{Fate, Held, Memory, Store, slots, ssd_with, superblock};

const DISK_BLOCKS: u64 = 10_000;

fn new_ssd(edition: u64) -> Held {
    let settings = "from before".to_owned();
    ssd_with(&Superblock { edition, settings, ..superblock(DISK_BLOCKS) })
}

fn found(ssd: &Held) -> Recovered {
    recover(&mut Memory(ssd)).expect("it can be used")
}

fn cache(disk_blocks: u64) -> Box<dyn CacheCore> {
    Settings::new("lru").cache(&Registry::default(), slots() as u32, disk_blocks).expect("lru")
}

/// Devices complete I/O at once, except for reads of the disk while they are held.
struct Bed {
    store: Store,
    holds: bool,
    held: Vec<Io>,
}

impl Bed {
    fn new() -> Bed {
        let store = Store::new(DISK_BLOCKS, |_| {});
        let mut bed = Bed { store, holds: false, held: Vec::new() };
        bed.pass();
        bed
    }

    fn work(&mut self) {
        let holds = self.holds;
        let held = self.store.work(|io| {
            let stays = holds && (io.device, io.kind) == (Device::Disk, Kind::Read);
            if stays { Fate::Stays } else { Fate::Done }
        });
        self.held.extend(held);
    }

    fn pass(&mut self) {
        self.store.tick(Nanos::from_millis(1_100));
        self.work();
    }
}

#[test]
fn what_is_set_before_another_ssd_is_used_stands_on_that() {
    let mut bed = Bed::new();
    bed.store.ask(CommandOp::Write, 7, 1);
    bed.pass();
    bed.store.engine.take_ssd_out(false);
    while bed.store.engine.ssd_state() != SsdState::Out {
        bed.pass();
    }
    let before = bed.store.engine.status().journal;
    assert!(before.records > 0 && before.commits > 0);
    bed.holds = true;
    bed.store.ask(CommandOp::Read, 0, 1);
    bed.work();
    bed.store.ssd = new_ssd(9);
    let (found_on_it, cache) = (found(&bed.store.ssd), cache(DISK_BLOCKS));
    let new = NewSsd { found: found_on_it, cache, room_slots: 0 };
    bed.store.engine.put_ssd_in(new).expect("the one before is out");
    assert_eq!(bed.store.engine.ssd_state(), SsdState::Entering, "a read of before is under way");
    bed.store.engine.set_settings("set meanwhile".to_owned());
    let read = bed.held.pop().expect("the read");
    bed.store.end(read);
    (0..3).for_each(|_| bed.pass());
    assert_eq!(bed.store.engine.ssd_state(), SsdState::In);
    assert_eq!(found(&bed.store.ssd).journal.superblock().settings, "set meanwhile");
    // What is counted goes on.
    let after = bed.store.engine.status().journal;
    assert!(after.records >= before.records && after.commits > before.commits, "{after:?}");
}

#[test]
fn a_disk_does_not_grow_beyond_the_largest_there_is() {
    let mut bed = Bed::new();
    let too_large = BLOCKS_MAX + 1;
    bed.store
        .engine
        .grow_disk(too_large, cache(too_large))
        .expect_err("no block has such a number");
    bed.store.engine.grow_disk(BLOCKS_MAX, cache(BLOCKS_MAX)).expect("the largest there is");
    bed.work();
    bed.store.ask(CommandOp::Write, BLOCKS_MAX - 1, 1);
    (0..3).for_each(|_| bed.pass());
    let held: Vec<Block> = found(&bed.store.ssd).live().map(|(block, _)| block).collect();
    assert_eq!(held, [Block(BLOCKS_MAX - 1)]);
}
