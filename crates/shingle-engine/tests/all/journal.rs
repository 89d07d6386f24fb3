//! The journal on an SSD that loses any subset of unflushed writes, torn at 512 bytes. After a
//! crash each block is what was last committed, or something written since.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::format::journal::{JournalPage, RECORDS_MAX, Record};
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{Frame, PAGE_BYTES, Page, State};
use shingle_engine::journal::{Journal, JournalFull, Write};
use shingle_engine::recover::{LostPage, Pages, RecoverError, Recovered, recover};
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Config, Device, Engine, Kind};
use shingle_testbed::seeds;

use crate::memory::Memory;

/// An SSD with a volatile cache.
#[derive(Clone)]
struct Ssd {
    safe: BTreeMap<u64, Page>,
    /// Written but not flushed, in order.
    volatile: Vec<(u64, Page)>,
}

/// The mappings found, in the order of frames.
fn held(found: &Recovered) -> Vec<(Block, Frame)> {
    found.live().collect()
}

impl Pages for Ssd {
    type Error = Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Infallible> {
        for (page, out) in (first..).zip(out) {
            let newest = self.volatile.iter().rev().find(|(at, _)| *at == page);
            *out = newest
                .map(|(_, bytes)| bytes)
                .or(self.safe.get(&page))
                .copied()
                .unwrap_or([0; PAGE_BYTES]);
        }
        Ok(())
    }
}

impl Ssd {
    fn write(&mut self, page: u64, bytes: Page) {
        self.volatile.push((page, bytes));
    }

    fn flush(&mut self) {
        self.safe.extend(self.volatile.drain(..));
    }

    /// A power cut: of unflushed data any parts of 512 bytes may have arrived.
    fn cut(&mut self, rng: &mut Xoshiro256PlusPlus) {
        for (page, bytes) in std::mem::take(&mut self.volatile) {
            let arrived = match rng.next_u32() % 3 {
                0 => 0,
                1 => 0xff,
                _ => rng.next_u32() as u8,
            };
            let old = self.safe.entry(page).or_insert([0; PAGE_BYTES]);
            for part in (0..8).filter(|part| arrived & 1 << part != 0) {
                old[part * 512..][..512].copy_from_slice(&bytes[part * 512..][..512]);
            }
        }
    }
}

/// The possible contents of a block after a crash: versions from the last committed one on; 0 is
/// unmapped.
#[derive(Clone, Default)]
struct Allowed {
    versions: Vec<u32>,
}

/// A cache without a policy: blocks are written, dropped and committed, and frames are reused.
struct World {
    ssd: Ssd,
    journal: Journal,
    map: BTreeMap<u64, (Frame, u32)>,
    free: Vec<Frame>,
    allowed: BTreeMap<u64, Allowed>,
    version: u32,
}

const BLOCKS: u64 = 40;

fn data(block: u64, version: u32) -> Page {
    let mut page = [version as u8; PAGE_BYTES];
    page[..8].copy_from_slice(&block.to_le_bytes());
    page[8..12].copy_from_slice(&version.to_le_bytes());
    // So that each torn part is different.
    page.chunks_exact_mut(512).zip(0..).for_each(|(part, n)| part[511] = n);
    page
}

fn new_superblock() -> Superblock {
    let ssd_bytes = 16 << 20;
    let layout = Layout::for_ssd(ssd_bytes).expect("large enough");
    Superblock::new(*b"a cache for test", layout, ssd_bytes, 1 << 30)
}

impl World {
    fn new() -> World {
        let mut ssd = Ssd { safe: BTreeMap::new(), volatile: Vec::new() };
        for copy in Copy::BOTH {
            ssd.write(copy.superblock_page(), new_superblock().encode());
        }
        ssd.flush();
        let recovered = recover(&mut ssd).expect("a new cache");
        assert!(recovered.clean && recovered.live().next().is_none());
        World::of(ssd, recovered, BTreeMap::new(), 0)
    }

    fn of(ssd: Ssd, found: Recovered, allowed: BTreeMap<u64, Allowed>, version: u32) -> World {
        let mut ssd = ssd;
        let mut map = BTreeMap::new();
        for (block, frame) in found.live() {
            let mut bytes = [[0; PAGE_BYTES]];
            let page = found.journal.layout().frame_page(frame);
            ssd.read(page, &mut bytes).expect("infallible");
            let crc = found.journal.table.entry(frame).crc;
            assert_eq!(crc32c::crc32c(&bytes[0]), crc, "block {} is damaged", block.0);
            let version = u32::from_le_bytes(bytes[0][8..12].try_into().expect("four"));
            assert_eq!(bytes[0], data(block.0, version), "block {} is another's", block.0);
            assert!(map.insert(block.0, (frame, version)).is_none(), "one frame a block");
        }
        let mut journal = found.journal;
        // Few frames, so that they are reused soon. Frames that a correction gives up become free
        // when it is committed.
        let given_up =
            |frame: &Frame| found.corrections.iter().any(|record| record.frame == *frame);
        let used = |frame: &Frame| map.values().any(|(used, _)| used == frame);
        let free = (0..60).map(Frame).filter(|f| !used(f) && !given_up(f)).collect();
        found.corrections.iter().for_each(|record| journal.add(*record));
        let mut world = World { ssd, journal, map, free, allowed, version };
        // Nothing is reused before the corrections are durable.
        world.commit();
        world
    }

    fn carry_out(&mut self, write: Write) {
        self.ssd.write(write.page, *write.bytes);
        self.journal.written(write.what);
    }

    fn write(&mut self, block: u64) {
        let Some(frame) = self.free.pop() else {
            self.commit();
            self.seal();
            return self.commit();
        };
        self.version += 1;
        let bytes = data(block, self.version);
        self.ssd.write(self.journal.layout().frame_page(frame), bytes);
        let crc = crc32c::crc32c(&bytes);
        self.journal.add(Record { frame, crc, block: Block(block), state: State::Dirty });
        if let Some((old, _)) = self.map.insert(block, (frame, self.version)) {
            let (block, state) = (Block(block), State::Superseded);
            self.journal.add(Record { frame: old, crc: 0, block, state });
        }
        self.allowed
            .entry(block)
            .or_insert(Allowed { versions: vec![0] })
            .versions
            .push(self.version);
    }

    fn drop(&mut self, block: u64) {
        let Some((frame, _)) = self.map.remove(&block) else { return };
        let record = Record { frame, crc: 0, block: Block(block), state: State::Free };
        self.journal.add(record);
        self.allowed.entry(block).or_default().versions.push(0);
    }

    /// Writes pages of the journal without a flush.
    fn seal(&mut self) {
        match self.journal.seal() {
            Ok(Some(writes)) => writes.into_iter().for_each(|write| self.carry_out(write)),
            Ok(None) => {}
            Err(JournalFull) => self.checkpoint(usize::MAX),
        }
    }

    fn flush(&mut self) {
        let covered = self.journal.begin_flush();
        self.ssd.flush();
        let mut next = Vec::new();
        self.journal.flushed(covered, &mut self.free, &mut next);
        next.into_iter().for_each(|write| self.carry_out(write));
    }

    fn commit(&mut self) {
        self.seal();
        while self.journal.open() > 0 {
            self.seal();
        }
        self.flush();
        assert!(self.journal.is_committed());
        for (block, allowed) in &mut self.allowed {
            allowed.versions = vec![self.map.get(block).map_or(0, |(_, version)| *version)];
        }
    }

    fn checkpoint(&mut self, pages: usize) {
        for _ in 0..pages.min(8) {
            let Some(write) = self.journal.write_table() else { break };
            self.carry_out(write);
        }
        if pages > 8 {
            (0..2).for_each(|_| self.flush());
        }
        if let Some(write) = self.journal.write_superblock() {
            self.carry_out(write);
        }
        if pages > 8 {
            (0..2).for_each(|_| self.flush());
        }
    }

    fn crash(mut self, rng: &mut Xoshiro256PlusPlus) -> World {
        self.ssd.cut(rng);
        let found = recover(&mut self.ssd).expect("a crash damages nothing that was flushed");
        // Reading changes nothing: recovery after a second crash finds the same.
        let again = recover(&mut self.ssd).expect("again");
        assert!(found.live().eq(again.live()));
        let mut allowed = self.allowed;
        let live: BTreeMap<u64, Frame> = found.live().map(|(b, f)| (b.0, f)).collect();
        for (block, allowed) in &mut allowed {
            let version = live.get(block).map_or(0, |frame| {
                let mut bytes = [[0; PAGE_BYTES]];
                let page = found.journal.layout().frame_page(*frame);
                self.ssd.read(page, &mut bytes).expect("infallible");
                u32::from_le_bytes(bytes[0][8..12].try_into().expect("four"))
            });
            assert!(
                allowed.versions.contains(&version),
                "block {block} is version {version}, allowed are {:?}",
                allowed.versions
            );
            allowed.versions = vec![version];
        }
        World::of(self.ssd, found, allowed, self.version)
    }
}

/// One run from a seed.
fn live_through(seed: u64) {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut world = World::new();
    let crashes = 1 + rng.next_u32() % 4;
    for _ in 0..crashes {
        for _ in 0..rng.next_u32() % 400 {
            let block = u64::from(rng.next_u32()) % BLOCKS;
            match rng.next_u32() % 32 {
                0..20 => world.write(block),
                20..24 => world.drop(block),
                24..27 => world.seal(),
                27 => world.flush(),
                28..30 => world.commit(),
                30 => world.checkpoint(3),
                _ => world.checkpoint(usize::MAX),
            }
        }
        world = world.crash(rng);
    }
}

#[test]
fn no_crash_loses_what_was_committed() {
    seeds(400).for_each(live_through);
}

#[test]
fn the_journal_goes_round_and_round() {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(1);
    let mut world = World::new();
    for number in 0..20_000 {
        world.write(number % BLOCKS);
        world.seal();
        if number % 7 == 0 {
            world.flush();
        }
    }
    assert!(world.journal.used_pages() <= world.journal.layout().journal_pages);
    world.crash(rng);
}

#[test]
fn an_orderly_end_leaves_nothing_to_replay() {
    let mut world = World::new();
    (0..200).for_each(|n| world.write(n % BLOCKS));
    world.commit();
    while world.journal.table.first_needed_page().is_some() {
        world.checkpoint(usize::MAX);
    }
    let write = world.journal.write_last_superblock().expect("none is on its way");
    world.carry_out(write);
    (0..2).for_each(|_| world.flush());
    let found = recover(&mut world.ssd).expect("good");
    assert!(found.clean && found.corrections.is_empty());
    assert_eq!((found.replayed_pages, found.live().count()), (0, BLOCKS as usize));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Damage to a single place of metadata loses nothing; it is reported or does not matter.
    #[test]
    fn damage_to_one_place_loses_nothing(seed in any::<u64>(), at in any::<prop::sample::Index>()) {
        let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut world = World::new();
        for _ in 0..300 {
            let block = u64::from(rng.next_u32()) % BLOCKS;
            match rng.next_u32() % 16 {
                0..12 => world.write(block),
                12 => world.drop(block),
                13 => world.commit(),
                _ => world.checkpoint(usize::MAX),
            }
        }
        world.commit();
        let frames_from = world.journal.layout().frame_page(Frame(0));
        let before = held(&recover(&mut world.ssd).expect("good"));
        let metadata: Vec<u64> = world.ssd.safe.range(..frames_from).map(|(page, _)| *page).collect();
        let page = metadata[at.index(metadata.len())];
        let bytes = world.ssd.safe.get_mut(&page).expect("there");
        bytes[rng.next_u32() as usize % PAGE_BYTES] ^= 1 << (rng.next_u32() % 8);
        let after = recover(&mut world.ssd).expect("the other copy is good");
        prop_assert_eq!(before, held(&after));
    }

    /// Damage to both copies is reported, and never served.
    #[test]
    fn damage_to_both_copies_is_told(seed in any::<u64>(), place in 0..1_u32) {
        let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut world = World::new();
        (0..100).for_each(|n| world.write(n % BLOCKS));
        world.commit();
        world.checkpoint(usize::MAX);
        world.commit();
        for copy in Copy::BOTH {
            let page = world.journal.layout().table_page(place, copy);
            let bytes = world.ssd.safe.get_mut(&page).expect("written");
            bytes[rng.next_u32() as usize % PAGE_BYTES] ^= 1 << (rng.next_u32() % 8);
        }
        let told = matches!(recover(&mut world.ssd), Err(RecoverError::Table(LostPage { place: 0, .. })));
        prop_assert!(told);
    }
}

/// Both copies of the first page that the journal seals, with one record.
fn sealed(journal: &mut Journal, block: u64) -> [Write; 2] {
    let (frame, crc) = (Frame(0), crc32c::crc32c(&data(block, 1)));
    journal.add(Record { frame, crc, block: Block(block), state: State::Dirty });
    journal.seal().expect("there is room").expect("it has a record")
}

/// The writes of a start.
fn mark_in_use(ssd: &mut Ssd) -> Journal {
    let mut journal = recover(ssd).expect("good").journal;
    for write in journal.mark_in_use() {
        ssd.write(write.page, *write.bytes);
        ssd.flush();
    }
    journal
}

/// A crash leaves only the head of a page of the journal, over the rest of an older page. The next
/// process writes a page with the same number, and the crash lets only the rest of that one arrive,
/// which is zeros as in the first page. Now the page of the first process is complete, but the
/// second process knew nothing of its block.
#[test]
fn a_page_that_a_torn_write_makes_whole_does_not_count() {
    let mut ssd = World::new().ssd;
    let mut journal = mark_in_use(&mut ssd);
    ssd.write(journal.layout().frame_page(Frame(0)), data(7, 1));
    let first = sealed(&mut journal, 7);
    for write in &first {
        let mut torn = [0x55; PAGE_BYTES];
        torn[..512].copy_from_slice(&write.bytes[..512]);
        ssd.write(write.page, torn);
    }
    ssd.flush();
    let mut journal = mark_in_use(&mut ssd);
    let second = sealed(&mut journal, 8);
    assert_eq!(first[0].page, second[0].page, "the second has the number of the first");
    for (first, second) in first.iter().zip(&second) {
        let mut torn = *second.bytes;
        torn[..512].copy_from_slice(&first.bytes[..512]);
        assert_eq!(torn, *first.bytes, "as the first was to be");
        ssd.write(second.page, torn);
    }
    ssd.flush();
    let found = recover(&mut ssd).expect("good");
    assert_eq!(found.live().next(), None, "block 7 is there again");
    // In one copy only, with the page of the second process in the other.
    ssd.write(second[1].page, *second[1].bytes);
    ssd.write(journal.layout().frame_page(Frame(0)), data(8, 1));
    ssd.flush();
    let found = recover(&mut ssd).expect("good");
    assert_eq!(found.replayed_pages, 1);
    // After a third process has started.
    mark_in_use(&mut ssd);
    let found = recover(&mut ssd).expect("good");
    let entry = found.journal.table.entry(Frame(0));
    assert_eq!((found.replayed_pages, entry.block), (1, Block(8)), "it is the page of the second");
}

/// Adds records until the page has room for just one more.
fn fill_but_one(world: &mut World) {
    for frame in 100..100 + RECORDS_MAX as u32 - 1 {
        let record =
            Record { frame: Frame(frame), crc: 0, block: Block(1_000), state: State::Free };
        world.journal.add(record);
    }
}

/// A move at the end of a page that has room for one record only: after a crash only the first page
/// has arrived.
#[test]
fn a_move_is_on_one_page() {
    let mut world = World::new();
    world.write(0);
    world.commit();
    // The new frame of block 0 would be the last record on the page, and the old frame the first of
    // the next.
    let (old, _) = world.map[&0];
    let pages = |world: &World| world.ssd.volatile.len();
    fill_but_one(&mut world);
    world.write(0);
    assert_eq!(world.journal.open(), RECORDS_MAX + 1);
    world.seal();
    assert_eq!(world.journal.open(), 2, "both records of the move wait for the next page");
    assert!(pages(&world) > 0);
    world.ssd.flush();
    let found = recover(&mut world.ssd.clone()).expect("flushed");
    assert_eq!(held(&found), [(Block(0), old)], "nothing of the move is known");
    world.seal();
    world.ssd.flush();
    let found = recover(&mut world.ssd).expect("flushed");
    assert_eq!(found.live().count(), 1);
    assert_ne!(held(&found)[0].1, old, "all of it is");
}

/// Earlier versions could write the two records of a move on two pages, with a crash between them.
#[test]
fn a_move_that_a_crash_has_parted_is_one_frame_all_the_same() {
    let mut world = World::new();
    world.write(0);
    world.commit();
    let (old, _) = world.map[&0];
    fill_but_one(&mut world);
    world.write(0);
    // The page as those versions wrote it.
    let (new, version) = world.map[&0];
    let (last, _) = *world.ssd.volatile.last().expect("the data");
    assert_eq!(last, world.journal.layout().frame_page(new));
    let record = Record {
        frame: new,
        crc: crc32c::crc32c(&data(0, version)),
        block: Block(0),
        state: State::Dirty,
    };
    let owner = world.journal.superblock().owner();
    let Ok(Some(writes)) = world.journal.seal() else { panic!("there is room") };
    for write in writes {
        let whole = JournalPage::decode(&write.bytes, owner).expect("a page");
        assert_eq!(whole.records.len(), RECORDS_MAX - 1);
        let records = whole.records.iter().copied().chain([record]).collect();
        let parted = JournalPage { records, ..whole };
        world.ssd.write(write.page, parted.encode(owner));
    }
    world.ssd.flush();
    let found = recover(&mut world.ssd).expect("flushed");
    assert_eq!(held(&found), [(Block(0), new)], "the newest counts");
    // The journal gets the correction before the old frame is reused.
    let told = Record { frame: old, crc: 0, block: Block(0), state: State::Free };
    let same = |r: &&Record| r.frame == told.frame && r.state == told.state;
    assert_eq!(found.corrections.iter().filter(same).count(), 1, "{:?}", found.corrections);
}

/// Both copies of all sealed pages.
fn sealed_pages(journal: &mut Journal) -> Vec<[Write; 2]> {
    std::iter::from_fn(|| journal.seal().expect("there is room")).collect()
}

/// Hundreds of blocks move back to their previous frames, and none of the data arrives. The
/// corrections need more than one page, and another power cut comes when only some of those pages
/// have arrived.
#[test]
fn corrections_of_many_pages_count_together_or_not_at_all() {
    const MOVED: u32 = 300;
    let record = |frame: u32, block: u32, version: u32| {
        let (block, state) = (u64::from(block), State::Dirty);
        let crc = crc32c::crc32c(&data(block, version));
        Record { frame: Frame(frame), crc, block: Block(block), state }
    };
    let mut ssd = World::new().ssd;
    let mut journal = mark_in_use(&mut ssd);
    for (version, first) in [(1, 0), (2, MOVED), (3, 0)] {
        for n in 0..MOVED {
            journal.add(record(first + n, n, version));
            if version > 1 {
                let old =
                    Record { crc: 0, state: State::Superseded, ..record(MOVED - first + n, n, 0) };
                journal.add(old);
            }
            if version < 3 {
                let page = journal.layout().frame_page(Frame(first + n));
                ssd.write(page, data(n.into(), version));
            }
        }
        for write in sealed_pages(&mut journal).into_iter().flatten() {
            ssd.write(write.page, *write.bytes);
            journal.written(write.what);
        }
        let covered = journal.begin_flush();
        ssd.flush();
        journal.flushed(covered, &mut Vec::new(), &mut Vec::new());
    }
    let as_before: Vec<_> = (0..MOVED).map(|n| (Block(n.into()), Frame(MOVED + n))).collect();
    let found = recover(&mut ssd).expect("good");
    assert_eq!(held(&found), as_before);

    let mut journal = mark_in_use(&mut ssd);
    found.corrections.iter().for_each(|record| journal.add(*record));
    let pages = sealed_pages(&mut journal);
    assert_eq!(pages.len(), 3);
    for arrived in 0..1 << pages.len() {
        let mut ssd = ssd.clone();
        let some = pages.iter().enumerate().filter(|(at, _)| arrived & 1 << at != 0);
        some.flat_map(|(_, writes)| writes).for_each(|write| ssd.write(write.page, *write.bytes));
        ssd.flush();
        let found = recover(&mut ssd).expect("good");
        assert!(held(&found) == as_before, "pages {arrived:03b} have arrived");
        // When all pages have arrived, the corrections are settled.
        assert_eq!(found.corrections.is_empty(), arrived == 0b111, "pages {arrived:03b}");
    }
}

/// A crash with a full journal: the table must be written before the recovered state can be
/// committed, and frames that were given up on a page of which it is unknown whether it was flushed
/// must not be reused until then.
#[test]
fn no_frame_is_used_again_before_what_was_found_is_confirmed() {
    let superblock = Superblock { clean: false, ..new_superblock() };
    let (layout, owner) = (superblock.layout, superblock.owner());
    let mut ssd: HashMap<u64, Page> =
        Copy::BOTH.map(|copy| (copy.superblock_page(), superblock.encode())).into();
    for number in 1..=layout.journal_pages {
        let crc = crc32c::crc32c(&data(number, 1));
        let frame = Frame(number as u32);
        ssd.insert(layout.frame_page(frame), data(number, 1));
        let mut records = vec![Record { frame, crc, block: Block(number), state: State::Dirty }];
        if number == layout.journal_pages {
            // The first block moves.
            let (frame, state) = (Frame(1), State::Superseded);
            records[0].block = Block(1);
            records[0].crc = crc32c::crc32c(&data(1, 2));
            ssd.insert(layout.frame_page(records[0].frame), data(1, 2));
            records.push(Record { frame, crc: 0, block: Block(1), state });
        }
        let (previous, durable, session) = (number - 1, number.saturating_sub(2), 0);
        let page = JournalPage { number, previous, durable, session, records }.encode(owner);
        ssd.extend(Copy::BOTH.map(|copy| (layout.journal_page(number, copy), page)));
    }
    let found = recover(&mut Memory(&ssd)).expect("good");
    let disk_blocks = superblock.disk_bytes / BLOCK_BYTES;
    let cache = Settings::new("lru").cache(&Registry::default(), layout.slots as u32, disk_blocks);
    let (cache, config) = (cache.expect("lru"), Config::for_slots(layout.slots));
    let mut engine: Engine = Engine::open(found, cache, disk_blocks, config).expect("it opens");
    let write = Command::new(1, CommandOp::Write, 0, BLOCK_BYTES);
    engine.submit(Command { data: vec![7; PAGE_BYTES], ..write });
    let (mut written, mut answered) = (false, false);
    while !answered {
        let effects = engine.take_effects();
        assert!(!effects.ios.is_empty() || !effects.replies.is_empty(), "it goes on by itself");
        answered = !effects.replies.is_empty();
        for io in effects.ios {
            if (io.device, io.kind) == (Device::Ssd, Kind::Write) {
                if io.page >= layout.frame_page(Frame(0)) {
                    let place = layout.journal_page(layout.journal_pages + 1, Copy::One);
                    let page = JournalPage::decode(&ssd[&place], owner).expect("a page");
                    assert_eq!(page.durable, layout.journal_pages, "it is not confirmed yet");
                    written = true;
                }
                ssd.extend((io.page..).zip(io.buffers.iter().map(|buffer| buffer.0)));
            }
            engine.io_done(io.id, Ok(io.buffers.len() * PAGE_BYTES), io.buffers);
        }
    }
    assert!(written);
}
