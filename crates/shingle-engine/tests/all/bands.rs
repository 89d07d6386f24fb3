//! Destaging of whole bands, step by step: what the disk gets, in which order, and what waits for
//! it.

use std::collections::HashSet;

use shingle_core::registry::Registry;
use shingle_core::service::{Limits, Mode};
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::recover;
use shingle_engine::settings::Settings;
use shingle_engine::{
    Command, CommandOp, Config, Device, Engine, Failed, Io, Kind, NewSsd, Reply, SsdState,
};

use crate::memory::{Held, Memory, carry_out, serve, slots, ssd_with, superblock};

/// Two pieces of 128 blocks and a shorter one.
const BAND: u64 = 300;
/// A write that continues after one block is sequential, and bypasses the cache.
const LONG: u64 = BLOCK_BYTES;

/// An engine, devices that complete I/O on command, and the I/O of the disk.
struct Bed {
    engine: Engine,
    ssd: Held,
    disk: Held,
    pending: Vec<Io>,
    /// I/O of the disk: kind, first block, number of blocks.
    asked: Vec<(Kind, u64, u64)>,
    replies: Vec<Reply>,
    /// Blocks that the disk cannot read, or cannot write.
    unreadable: HashSet<u64>,
    unwritable: HashSet<u64>,
    now: Nanos,
    commands: u64,
}

fn page(block: u64, version: u8) -> Page {
    let mut page = [version; PAGE_BYTES];
    page[..8].copy_from_slice(&block.to_le_bytes());
    page
}

fn settings() -> Settings {
    let mut settings = Settings::new("most");
    let known = [format!("drive.bands={BAND}b"), "drive.band_pass_us=150000".to_owned()];
    let told = ["most.zone=bands".to_owned(), "cache.bands=whole".to_owned()];
    known.iter().chain(&told).for_each(|text| settings.set(text).expect("words"));
    settings
}

impl Bed {
    fn new(change: impl FnOnce(&mut Config)) -> Bed {
        let (engine, ssd) = serve(&settings(), slots() * 10, |config| {
            config.rules.sequential_bytes = Some(LONG);
            change(config);
        });
        let mut bed = Bed {
            engine,
            ssd,
            disk: (0..2 * BAND).map(|block| (block, page(block, 1))).collect(),
            pending: Vec::new(),
            asked: Vec::new(),
            replies: Vec::new(),
            unreadable: HashSet::new(),
            unwritable: HashSet::new(),
            now: Nanos::ZERO,
            commands: 0,
        };
        // (After the first flush.)
        bed.wait(100);
        bed.asked.clear();
        bed
    }

    fn take(&mut self) {
        let effects = self.engine.take_effects();
        self.replies.extend(effects.replies);
        for io in effects.ios {
            if io.device == Device::Disk {
                self.asked.push((io.kind, io.page, io.buffers.len() as u64));
            }
            self.pending.push(io);
        }
    }

    fn end(&mut self, at: usize) {
        let mut io = self.pending.remove(at);
        let mut pages = io.page..io.page + io.buffers.len() as u64;
        let of_disk = io.device == Device::Disk;
        let bad = match io.kind {
            Kind::Read => &self.unreadable,
            _ => &self.unwritable,
        };
        let fails = of_disk && pages.any(|page| bad.contains(&page));
        let device = if of_disk { &mut self.disk } else { &mut self.ssd };
        if !fails {
            carry_out(device, &mut io);
        }
        let bytes = io.buffers.len() * PAGE_BYTES;
        self.engine.io_done(io.id, if fails { Err(Failed) } else { Ok(bytes) }, io.buffers);
        self.take();
    }

    /// Completes all I/O except that of this kind on the disk.
    fn settle_but(&mut self, stays: Option<Kind>) {
        self.take();
        let ends = |io: &Io| io.device == Device::Ssd || Some(io.kind) != stays;
        while let Some(at) = self.pending.iter().position(ends) {
            self.end(at);
        }
    }

    fn settle(&mut self) {
        self.settle_but(None);
    }

    fn ask(&mut self, op: CommandOp, block: u64, blocks: u64, version: u8) -> u64 {
        self.commands += 1;
        let mut command =
            Command::new(self.commands, op, block * BLOCK_BYTES, blocks * BLOCK_BYTES);
        if op == CommandOp::Write {
            command.data = (block..block + blocks).flat_map(|at| page(at, version)).collect();
        }
        self.engine.submit(command);
        self.take();
        self.commands
    }

    fn write(&mut self, block: u64, version: u8) {
        self.ask(CommandOp::Write, block, 1, version);
        self.settle();
    }

    fn is_answered(&self, id: u64) -> bool {
        self.replies.iter().any(|reply| reply.id == id && reply.result.is_ok())
    }

    /// Lets time pass in ticks, as the thread of a store does.
    fn wait(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.tick(50);
            self.settle();
        }
    }

    fn tick(&mut self, millis: u64) {
        self.now += Nanos::from_millis(millis);
        self.engine.tick(self.now);
        self.take();
    }

    /// Idle time begins: a band is loaded, and its first piece is being written.
    fn begin_band(&mut self) {
        self.tick(1_000);
        self.settle_but(Some(Kind::Write));
    }

    fn writes(&self) -> Vec<(u64, u64)> {
        let writes = self.asked.iter().filter(|(kind, ..)| *kind == Kind::Write);
        writes.map(|&(_, first, blocks)| (first, blocks)).collect()
    }

    /// Writes of the disk in flight.
    fn writing(&self) -> Vec<(u64, u64)> {
        let of = |io: &&Io| io.device == Device::Disk && io.kind == Kind::Write;
        let writes = self.pending.iter().filter(of);
        writes.map(|io| (io.page, io.buffers.len() as u64)).collect()
    }

    fn dirty(&self) -> u64 {
        self.engine.dirty_blocks()
    }
}

#[test]
fn a_band_is_written_in_order_and_clean_when_it_is_flushed() {
    let mut bed = Bed::new(|_| {});
    for block in [5, 7, 150, 299] {
        bed.write(block, 2);
    }
    bed.begin_band();
    let read: u64 =
        bed.asked.iter().filter(|(kind, ..)| *kind == Kind::Read).map(|&(_, _, n)| n).sum();
    // The blocks between are read with it; the last block is dirty and need not be read.
    assert_eq!(read, BAND - 1, "{:?}", bed.asked);
    assert_eq!(bed.writing(), [(0, 128)]);
    for piece in [(0, 128), (128, 128), (256, 44)] {
        assert_eq!((bed.writing(), bed.dirty()), (vec![piece], 4));
        bed.end(0);
        bed.settle_but(Some(if piece.0 < 256 { Kind::Write } else { Kind::Flush }));
    }
    // The band is written, but not flushed.
    assert_eq!((bed.writing(), bed.dirty(), bed.pending.len()), (vec![], 4, 1));
    assert_eq!(bed.pending[0].kind, Kind::Flush);
    bed.settle();
    assert_eq!(bed.dirty(), 0);
    for block in 0..2 * BAND {
        let version = if [5, 7, 150, 299].contains(&block) { 2 } else { 1 };
        assert!(bed.disk[&block] == page(block, version), "block {block}");
    }
    let bands = bed.engine.status().bands;
    assert_eq!((bands.written, bands.given_up, bands.written_blocks), (1, 0, BAND));
}

#[test]
fn who_writes_past_the_cache_waits_for_one_piece_and_reads_for_none() {
    let mut bed = Bed::new(|_| {});
    bed.write(5, 2);
    bed.write(269, 2);
    bed.begin_band();
    assert_eq!(bed.writing(), [(0, 128)]);
    // A write to the piece in flight, and one to the last piece, which is loaded.
    let held = bed.ask(CommandOp::Write, 6, 4, 3);
    let other = bed.ask(CommandOp::Write, 270, 4, 3);
    let cached = bed.ask(CommandOp::Write, 101 + BAND, 1, 3);
    let read = bed.ask(CommandOp::Read, 20, 1, 0);
    bed.settle_but(Some(Kind::Write));
    assert_eq!(bed.writing(), [(0, 128), (270, 4)]);
    assert!(bed.is_answered(read) && bed.is_answered(cached), "neither waits");
    bed.end(1);
    assert!(bed.is_answered(other) && !bed.is_answered(held));
    // The piece is done: the writes that waited for it come before the rest of the band.
    bed.end(0);
    assert!(bed.writing().contains(&(6, 4)), "{:?}", bed.writing());
    assert!(!bed.writes().contains(&(256, 44)));
    bed.settle();
    assert!(bed.is_answered(held));
    bed.wait(100);
    assert!(bed.writes().contains(&(256, 44)), "{:?}", bed.writes());
    for block in (6..10).chain(270..274) {
        assert!(bed.disk[&block] == page(block, 3), "block {block} is not undone");
    }
    assert_eq!(bed.engine.status().bands.written, 1);
}

#[test]
fn a_write_that_is_on_its_way_is_waited_for() {
    let mut bed = Bed::new(|_| {});
    bed.write(5, 2);
    let past = bed.ask(CommandOp::Write, 6, 4, 3);
    bed.settle_but(Some(Kind::Write));
    assert_eq!(bed.writing(), [(6, 4)]);
    bed.begin_band();
    assert_eq!(bed.writing(), [(6, 4)], "the piece would come beside it");
    bed.end(0);
    assert!(bed.is_answered(past));
    bed.settle();
    bed.wait(100);
    assert_eq!(bed.engine.status().bands.written, 1);
    assert!((6..10).all(|block| bed.disk[&block] == page(block, 3)));
}

#[test]
fn a_band_that_cannot_be_read_or_written_is_destaged_as_others_are() {
    for (unreadable, unwritable) in [(Some(77), None), (None, Some(77)), (None, Some(250))] {
        let mut bed = Bed::new(|_| {});
        bed.unreadable.extend(unreadable);
        bed.unwritable.extend(unwritable);
        bed.write(5, 2);
        bed.write(200, 2);
        bed.wait(3_000);
        let bands = bed.engine.status().bands;
        assert_eq!((bands.written, bands.given_up, bed.dirty()), (0, 1, 0), "{bands:?}");
        assert!(bed.disk[&5] == page(5, 2) && bed.disk[&200] == page(200, 2));
        assert!(bed.disk[&77] == page(77, 1) && bed.disk[&250] == page(250, 1));
        // The band is not tried again; another one is.
        bed.write(9, 2);
        bed.write(BAND + 9, 2);
        bed.wait(3_000);
        let bands = bed.engine.status().bands;
        assert_eq!((bands.written, bands.given_up, bed.dirty()), (1, 1, 0));
    }
}

#[test]
fn limits_count_all_that_is_written() {
    // 100 blocks a second: a band takes three seconds.
    let mut bed = Bed::new(|config| {
        config.rules.limits = Limits { destage_blocks_per_s: Some(100), ..Limits::default() };
    });
    bed.write(5, 2);
    bed.wait(1_000);
    assert_eq!(bed.writes(), [(0, 128)], "the next piece waits");
    bed.wait(1_000);
    assert_eq!((bed.writes().len(), bed.dirty()), (2, 1));
    bed.wait(1_000);
    assert_eq!((bed.writes().len(), bed.dirty()), (3, 0));
    // A write that bypasses the cache does not wait for a limit.
    bed.write(BAND + 5, 2);
    bed.wait(4_000);
    bed.write(5, 3);
    bed.tick(400);
    bed.settle();
    let past = bed.ask(CommandOp::Write, 6, 4, 3);
    bed.settle();
    assert!(bed.is_answered(past));
}

#[test]
fn a_band_is_given_up_where_everything_has_to_go() {
    type Act = fn(&mut Bed);
    let acts: [(&str, Act); 5] = [
        ("mode", |bed| bed.engine.set_mode(Mode::PassThrough)),
        ("drain", |bed| bed.engine.drain()),
        ("end", |bed| bed.engine.shut_down()),
        ("SSD out", |bed| bed.engine.take_ssd_out(false)),
        ("write-through", |bed| bed.engine.set_mode(Mode::WriteThrough)),
    ];
    for (what, act) in acts {
        let mut bed = Bed::new(|_| {});
        bed.write(5, 2);
        bed.write(200, 2);
        bed.begin_band();
        assert_eq!(bed.writing(), [(0, 128)]);
        act(&mut bed);
        // (This one always waits for the piece.)
        let past = (what != "end").then(|| bed.ask(CommandOp::Write, 6, 4, 3));
        bed.settle();
        bed.wait(2_000);
        assert!(!bed.writes().contains(&(128, 128)), "{what}: {:?}", bed.writes());
        assert_eq!(bed.engine.status().bands.written, 0, "{what}");
        assert!(past.is_none_or(|past| bed.is_answered(past)), "{what}");
        match what {
            // Dirty blocks remain dirty.
            "end" => assert!(bed.engine.is_stopped() && bed.dirty() == 2),
            "SSD out" => {
                assert_eq!((bed.engine.ssd_state(), bed.dirty()), (SsdState::Out, 0));
                let blocks = bed.engine.disk_blocks();
                bed.ssd = ssd_with(&Superblock { edition: 9, ..superblock(blocks) });
                let found = recover(&mut Memory(&bed.ssd)).expect("a new cache");
                let cache = settings().cache(&Registry::default(), slots() as u32, blocks);
                let cache = cache.expect("all is known");
                bed.engine.put_ssd_in(NewSsd { found, cache, room_slots: 0 }).expect("it is out");
                bed.settle();
                bed.write(5, 4);
                bed.wait(2_000);
                assert_eq!(bed.engine.status().bands.written, 1, "with the new one");
            }
            _ => assert_eq!(bed.dirty(), 0, "{what}"),
        }
        if what != "end" {
            let of_5 = if what == "SSD out" { 4 } else { 2 };
            assert!(bed.disk[&5] == page(5, of_5) && bed.disk[&200] == page(200, 2), "{what}");
            assert!((6..10).all(|block| bed.disk[&block] == page(block, 3)), "{what}");
        }
    }
}
