//! What an operator sets while SSDs are exchanged, and a disk that grows beyond what there can be.

use shingle_core::cache::CacheCore;
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{BLOCKS_MAX, PAGE_BYTES};
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Device, Engine, Io, Kind, NewSsd, SsdState};

use crate::memory::{Held, Memory, carry_out, serve, slots, ssd_with, superblock};

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

/// Devices do everything at once, but for reads of the disk that are held.
struct Bed {
    engine: Engine,
    ssd: Held,
    holds: bool,
    held: Vec<Io>,
    now: Nanos,
}

impl Bed {
    fn new() -> Bed {
        let (engine, ssd) = serve(&Settings::new("lru"), DISK_BLOCKS, |_| {});
        let mut bed = Bed { engine, ssd, holds: false, held: Vec::new(), now: Nanos::ZERO };
        bed.pass();
        bed
    }

    fn carry_out(&mut self, mut io: Io) {
        if io.device == Device::Ssd {
            carry_out(&mut self.ssd, &mut io);
        }
        self.engine.done(io.id, Ok(io.buffers.len() * PAGE_BYTES), io.buffers);
    }

    fn work(&mut self) {
        loop {
            let effects = self.engine.take();
            if effects.ios.is_empty() {
                return;
            }
            for io in effects.ios {
                if self.holds && (io.device, io.kind) == (Device::Disk, Kind::Read) {
                    self.held.push(io);
                } else {
                    self.carry_out(io);
                }
            }
        }
    }

    fn pass(&mut self) {
        self.now += Nanos::from_millis(1_100);
        self.engine.tick(self.now);
        self.work();
    }
}

#[test]
fn what_is_set_before_another_ssd_is_used_stands_on_that() {
    let mut bed = Bed::new();
    bed.engine.take_ssd_out(false);
    while bed.engine.ssd_state() != SsdState::Out {
        bed.pass();
    }
    bed.holds = true;
    bed.engine.submit(Command::new(1, CommandOp::Read, 0, BLOCK_BYTES));
    bed.work();
    bed.ssd = new_ssd(9);
    let (found_on_it, cache) = (found(&bed.ssd), cache(DISK_BLOCKS));
    let new = NewSsd { found: found_on_it, cache, room_slots: 0 };
    bed.engine.put_ssd_in(new).expect("the one before is out");
    assert_eq!(bed.engine.ssd_state(), SsdState::Entering, "a read of before is under way");
    bed.engine.set_settings("set meanwhile".to_owned());
    let read = bed.held.pop().expect("the read");
    bed.carry_out(read);
    (0..3).for_each(|_| bed.pass());
    assert_eq!(bed.engine.ssd_state(), SsdState::In);
    assert_eq!(found(&bed.ssd).journal.superblock().settings, "set meanwhile");
}

#[test]
fn a_disk_does_not_grow_beyond_the_largest_there_is() {
    let mut bed = Bed::new();
    let too_large = BLOCKS_MAX + 1;
    bed.engine.grow_disk(too_large, cache(too_large)).expect_err("no block has such a number");
    bed.engine.grow_disk(BLOCKS_MAX, cache(BLOCKS_MAX)).expect("the largest there is");
    bed.work();
    let command = Command::new(1, CommandOp::Write, (BLOCKS_MAX - 1) * BLOCK_BYTES, BLOCK_BYTES);
    bed.engine.submit(Command { data: vec![7; PAGE_BYTES], ..command });
    (0..3).for_each(|_| bed.pass());
    let held: Vec<Block> = found(&bed.ssd).live().map(|(block, _)| block).collect();
    assert_eq!(held, [Block(BLOCKS_MAX - 1)]);
}
