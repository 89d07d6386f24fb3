//! Drills that are also run with seeded bugs.

use std::ops::Range;
use std::sync::atomic::Ordering;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Bug, Format, LiveDisk, LiveErrorKind, OpenError, format, inspect};
use shingle_zoned::{Fault, Faults, Geometry, Operation, ZonedDisk as _};

use super::{Held, Spoils, data, geometry, read, wanted, write};

/// The block of a page in a copy of the map on the disk of [`super::geometry`]: superblock, and per
/// slot two pages of checkpoint and eight of log.
pub fn log_page(copy: u64, generation: u64, page: u64) -> u64 {
    let slot = generation % 2 * 10;
    if copy == 0 { 1 + slot + 2 + page } else { 96 - 1 - 10 - slot + 2 + page }
}

/// Replaces a page by zeros, as if a crash had prevented its write.
pub fn tear(disk: &Held, block: u64) {
    disk.write(Block(block), &[Buffer::default()]).expect("no faults");
}

/// Replaces a page by an invalid one.
pub fn damage(disk: &Held, block: u64) {
    disk.write(Block(block), &[data(7, 7)]).expect("no faults");
}

/// A disk with three flushed commits, the last of two pages, and its current generation. In test
/// builds a page of the log has three records: the first commit has one page, and so has the
/// second.
pub fn three_commits() -> (Held, u64) {
    let disk = super::formatted("fluid");
    let live = disk.open();
    write(&live, 10, 1, 1).expect("room");
    live.flush().expect("no faults");
    write(&live, 20, 1, 2).expect("room");
    live.flush().expect("no faults");
    // Single blocks with gaps: a record each.
    for block in [10, 30, 32, 34, 36] {
        write(&live, block, 1, 3).expect("room");
    }
    live.flush().expect("no faults");
    let status = live.status();
    assert_eq!((status.map.log_pages, status.map.commits), (4, 4), "{status:?}");
    (disk, status.map.generation)
}

fn damaged(disk: &Held, bug: Option<Bug>, part: &str) {
    let before = inspect(disk).expect("there is a map");
    match LiveDisk::open_with(disk.boxed(), bug) {
        Err(OpenError::Damaged { what, .. }) => assert!(what.contains(part), "{what}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is taken for whole"),
    }
    assert_eq!(inspect(disk).expect("there is a map"), before, "something was written");
}

/// The end of a log is distinguished from a hole in it.
pub fn of_a_log(bug: Option<Bug>) {
    // The second page of the last commit is torn: the commit is not valid.
    let (disk, generation) = three_commits();
    tear(&disk, log_page(0, generation, 3));
    // (A commit that is not in both copies was not acknowledged, so the contents of this copy do
    // not matter.)
    damage(&disk, log_page(1, generation, 3));
    let found = inspect(&disk).expect("there is a map");
    assert_eq!((found.commits, found.torn_commit, found.damage), (2, true, None));
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("a torn commit is none");
    let versions = [10, 20, 30, 32, 34].map(|block| read(&live, block).expect("there"));
    // (Block 10 was written in place.)
    assert_eq!(versions, [3, 2, 0, 0, 0], "blocks of a torn commit");
    drop(live);

    // A page in the middle is bad in both copies: acknowledged commits follow it.
    let (disk, generation) = three_commits();
    (0..2).for_each(|copy| damage(&disk, log_page(copy, generation, 1)));
    let (one, other) = (log_page(0, generation, 1), log_page(1, generation, 1));
    damaged(&disk, bug, &format!("page 1 at block {one}"));
    damaged(&disk, bug, &format!("page 1 at block {other}"));

    // The last page, or the one after it, is bad in both copies or unreadable: its contents are
    // unknown.
    for page in [3, 4] {
        let (disk, generation) = three_commits();
        (0..2).for_each(|copy| damage(&disk, log_page(copy, generation, page)));
        damaged(&disk, bug, &format!("page {page} at block {}", log_page(1, generation, page)));
    }
    let (disk, generation) = three_commits();
    disk.1
        .lock()
        .expect("no panic")
        .extend([log_page(0, generation, 3), log_page(1, generation, 3)]);
    damaged(&disk, bug, "page 3 at block");
}

/// A commit fails twice halfway, and then the power is cut: the remains of the two must not form a
/// third one. And the remains of an abandoned checkpoint, with its log, must not be taken for those
/// of the next one.
pub fn of_a_commit_that_fails(bug: Option<Bug>) {
    for seed in 0..12 {
        let disk = failing("log", Faults { seed, ..Faults::none() });
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        // Four of five zones have no valid blocks any more: a rolled-back commit records this, and
        // needs another page.
        write(&live, 0, 80, 1).expect("room");
        live.close().expect("no faults");
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was closed");
        live.trim(Block(0), 64).expect("no faults");
        live.flush().expect("no faults");
        for block in [90, 92, 94, 96] {
            write(&live, block, 1, 1).expect("room");
        }
        disk.fail(Operation::Write, 0, 2);
        live.flush().expect_err("both fail");
        disk.go_on();
        disk.0.cut_power();
        drop(live);
        disk.0.restart();
        let live = LiveDisk::open_with(disk.boxed(), bug)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for block in 64..80 {
            assert_eq!(read(&live, block).ok(), Some(1), "seed {seed}: block {block}");
        }
    }
    for after in 0..150 {
        let disk = failing("log", Faults::none());
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        let mut versions = vec![0; live.blocks() as usize];
        let mut wrote = |block: u64, version| {
            write(&live, block, 1, version).expect("it is tried again");
            versions[block as usize] = version;
        };
        disk.fail(Operation::Write, after, 1);
        for version in 1..40 {
            // (A record each.)
            (0..5).for_each(|block| wrote((version * 5 + block) * 2 % 120, version));
            let _ = live.flush();
            if live.status().failures > 0 {
                break;
            }
        }
        disk.go_on();
        wrote(1, 99);
        live.flush().expect("no more faults");
        drop(live);
        let live = LiveDisk::open_with(disk.boxed(), bug)
            .unwrap_or_else(|error| panic!("a write fails after {after}: {error}"));
        for (block, version) in (0..).zip(&versions) {
            assert_eq!(read(&live, block).ok(), Some(*version), "{after}: block {block}");
        }
    }
}

/// A zone is repaired, then a flush loses data, and the disk is unreadable for a moment: readers
/// that are sent to the repaired zone get the right data or an error.
pub fn of_a_repair(bug: Option<Bug>) {
    for seed in 0..6 {
        const CALLS: u64 = 20_000;
        let faults = vec![Fault::FlushForgets { call: CALLS }];
        let disk = Held::new(geometry(), Faults { seed, faults, ..Faults::none() });
        // (With few spare zones it would be durable at once.)
        let wanted = Format { spare_zones: Some(4), ..wanted("log") };
        format(&disk, &wanted).expect("room");
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        write(&live, 0, 6, 1).expect("no faults");
        live.flush().expect("no faults");
        disk.fail(Operation::Write, 0, 1);
        write(&live, 8, 1, 1).expect("another zone takes it");
        for _ in 0..CALLS {
            drop(disk.report(Zone(0), 1));
        }
        disk.fail(Operation::Read, 0, u64::MAX);
        live.flush().expect_err("it forgets");
        disk.go_on();
        for block in 0..6 {
            assert!(matches!(read(&live, block), Ok(1) | Err(_)), "{seed}: block {block}");
        }
    }
}

/// A disk loses its power for a moment, and with it what was not flushed; the kernel repeats what it has not answered, and says
/// nothing. Only write pointers show it.
pub fn of_a_moment_without_power(bug: Option<Bug>) {
    let mut told = [0; 3];
    for (seed, how) in (0..60).flat_map(|seed| [(seed, 0), (seed, 1), (seed, 2)]) {
        let disk = failing("log", Faults { seed, lost_resets: seed % 2 == 1, ..Faults::none() });
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        let blocks = live.blocks();
        (0..blocks).for_each(|block| write(&live, block, 1, 1).expect("room"));
        live.flush().expect("no faults");
        let written = [3, 4, 30, 50];
        written.into_iter().for_each(|block| write(&live, block, 1, 2).expect("room"));
        disk.0.cut_power();
        disk.0.restart();
        let flushed = match how {
            // The host notices nothing before its flush,
            0 => live.flush(),
            // or the disk refuses a write.
            1 => write(&live, 60, 1, 1).and_then(|()| live.flush()),
            // Meanwhile the disk does not answer.
            _ => {
                disk.2.all.store(true, Ordering::Relaxed);
                write(&live, 60, 1, 1).expect_err("it is away");
                disk.2.all.store(false, Ordering::Relaxed);
                write(&live, 60, 1, 1).and_then(|()| live.flush())
            }
        };
        told[how] += u64::from(flushed.is_err());
        let what = format!("seed {seed}, {how}");
        let wanted = |block: u64| if written.contains(&block) { 2 } else { 1 };
        for block in 0..blocks {
            match read(&live, block) {
                Ok(found) => assert_eq!(found, wanted(block), "{what}: block {block}"),
                Err(error) => assert!(flushed.is_err(), "{what}: {error}"),
            }
        }
        // (The error of a write does not answer the flush that is to come.)
        let _ = live.flush();
        live.flush().expect("it was told");
        // As a host does that was told.
        for block in written.into_iter().chain([60]) {
            write(&live, block, 1, wanted(block)).expect("the disk is well");
        }
        live.flush().expect("the disk is well");
        drop(live);
        disk.0.cut_power();
        disk.0.restart();
        let live = LiveDisk::open_with(disk.boxed(), bug)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        for block in 0..blocks {
            assert_eq!(read(&live, block).ok(), Some(wanted(block)), "{what}: block {block}");
        }
    }
    assert!(told.iter().all(|told| *told > 20), "{told:?}");
}

/// The power fails for a moment before any one call of a disk that is opened, written and flushed: after a flush that succeeds
/// all is as it was written, also after a restart, unless an error was told before.
pub fn of_moments_without_power(bug: Option<Bug>, seeds: Range<u64>) {
    for seed in seeds {
        // (Until there are no more calls.)
        (0..).take_while(|after| of_a_moment_before(bug, seed, *after)).for_each(drop);
    }
}

/// Returns whether there were that many calls.
fn of_a_moment_before(bug: Option<Bug>, seed: u64, after: u64) -> bool {
    let what = format!("seed {seed}, after {after} calls");
    // (With few active zones, data that was not flushed is copied to spare ones.)
    let limited = Geometry { max_open: 2, max_active: 3, ..geometry() };
    let geometry = if seed.is_multiple_of(2) { geometry() } else { limited };
    let disk = Held::new(geometry, Faults { seed: seed + 100 * after, ..Faults::none() });
    format(&disk, &wanted("log")).unwrap_or_else(|error| panic!("{error}"));
    let open = || {
        let opened = LiveDisk::open_with(disk.boxed(), bug);
        opened.unwrap_or_else(|error| panic!("{what}: {error}"))
    };
    let live = open();
    let blocks = live.blocks();
    for block in (0..blocks).step_by(8) {
        write(&live, block, 8.min(blocks - block), 1).expect("room");
    }
    live.close().expect("no faults");
    drop(live);
    disk.lose_power_for_a_moment(after);
    let mut draw = SplitMix64::seed_from_u64(seed);
    let mut below = |bound: u64| draw.next_u64() % bound;
    let live = open();
    let mut may_be = vec![vec![1]; blocks as usize];
    let mut told = false;
    for version in 2..30 {
        // (Large ones fill whole zones: then the pointer of a zone is the same before it is reset and later.)
        let count = if below(3) == 0 { 24 } else { 1 + below(3) };
        let at = below(blocks - count);
        told |= write(&live, at, count, version).is_err();
        for known in &mut may_be[at as usize..(at + count) as usize] {
            known.push(version);
        }
        if below(3) > 0 {
            continue;
        }
        if live.flush().is_err() {
            told = true;
            continue;
        }
        for (block, known) in (0..).zip(&mut may_be) {
            match read(&live, block) {
                Ok(found) => {
                    let wanted = if told { &known[..] } else { &known[known.len() - 1..] };
                    assert!(wanted.contains(&found), "{what}: block {block}: {found}, {wanted:?}");
                    *known = vec![found];
                }
                Err(error) => assert!(told && known.len() > 1, "{what}: {error}"),
            }
        }
        if !disk.is_to_lose_power() {
            break;
        }
    }
    drop(live);
    disk.0.cut_power();
    disk.0.restart();
    let live = open();
    for (block, known) in (0..).zip(&may_be) {
        let found = read(&live, block).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(known.contains(&found), "{what}, then: block {block} is {found}, not {known:?}");
    }
    !disk.is_to_lose_power()
}

/// A zone takes no more blocks, and is copied to another one. Just before, the power fails for a moment, and what was to be copied
/// is lost: the copy is whole, and of zeros.
pub fn of_a_zone_that_is_left(bug: Option<Bug>) {
    let mut told = 0;
    for (seed, after) in (0..20).flat_map(|seed| [(seed, 2), (seed, 3)]) {
        let disk = failing("log", Faults { seed, ..Faults::none() });
        told += u64::from(is_told_of_a_zone_that_is_left(bug, &disk, seed, after));
    }
    assert!(told > 5, "{told}");
}

/// The same where only one zone may be active: the zone that is left is finished before the copy is written, and its write pointer
/// no longer shows what was lost.
pub fn of_a_zone_that_is_finished(bug: Option<Bug>) {
    let mut told = 0;
    for (seed, after) in (0..20).flat_map(|seed| (2..8).map(move |after| (seed, after))) {
        let limited = Geometry { max_open: 1, max_active: 1, ..geometry() };
        let disk = Held::new(limited, Faults { seed, ..Faults::none() });
        let params = vec![("group".to_owned(), "none".to_owned())];
        format(&disk, &Format { params, ..wanted("log") }).expect("one zone at a time");
        told += u64::from(is_told_of_a_zone_that_is_left(bug, &disk, seed, after));
    }
    assert!(told > 5, "{told}");
}

fn is_told_of_a_zone_that_is_left(bug: Option<Bug>, disk: &Held, seed: u64, after: u64) -> bool {
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
    write(&live, 0, 2, 1).expect("room");
    live.flush().expect("no faults");
    write(&live, 2, 4, 1).expect("room");
    // The write, the report of the zone; then a spare zone is reset, and flushed.
    disk.fail(Operation::Write, 0, 1);
    disk.lose_power_for_a_moment(after);
    let done = write(&live, 6, 1, 1).and_then(|()| live.flush());
    for block in 0..7 {
        let found = read(&live, block);
        let right = matches!(found, Ok(1)) || done.is_err() && found.is_err();
        assert!(right, "seed {seed}, {after}: block {block}: {found:?}, {done:?}");
    }
    done.is_err()
}

/// Writes and flushes fail every few calls, with power cuts now and then: flushed data is there,
/// and later data may be.
pub fn of_many_failures(bug: Option<Bug>, translation: &str, seeds: Range<u64>) {
    for seed in seeds {
        let disk = failing(translation, Faults { seed, ..Faults::none() });
        let mut draw = SplitMix64::seed_from_u64(seed);
        let mut below = |bound: u64| draw.next_u64() % bound;
        let mut live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        let mut may_be = vec![vec![0]; live.blocks() as usize];
        for version in 1..400 {
            if below(6) == 0 {
                let operation = if below(4) == 0 { Operation::Flush } else { Operation::Write };
                disk.fail(operation, below(12), 1 + below(6));
            }
            let (at, count) = (below(live.blocks() - 8), 1 + below(4));
            let done = write(&live, at, count, version).is_ok();
            for known in &mut may_be[at as usize..(at + count) as usize] {
                known.push(version);
            }
            let done = done && below(3) > 0 && live.flush().is_ok();
            if done && live.status().doubtful_ranges.is_empty() {
                for (block, known) in (0..).zip(&mut may_be) {
                    *known = vec![read(&live, block).expect("nothing is lost")];
                }
            }
            if below(40) == 0 {
                disk.0.cut_power();
                drop(live);
                disk.0.restart();
                disk.go_on();
                live = LiveDisk::open_with(disk.boxed(), bug)
                    .unwrap_or_else(|error| panic!("{translation}, seed {seed}: {error}"));
                for (block, known) in (0..).zip(&mut may_be) {
                    let found = read(&live, block).expect("nothing is lost");
                    assert!(
                        known.contains(&found),
                        "{translation}, seed {seed}: block {block} is {found}, not {known:?}"
                    );
                    *known = vec![found];
                }
            }
        }
    }
}

/// Checks that each readable block has an allowed version.
fn is_what_it_may_be(live: &LiveDisk, may_be: &[Vec<u64>], what: &str) {
    for (block, known) in (0..).zip(may_be) {
        if let Ok(found) = read(live, block) {
            assert!(known.contains(&found), "{what}: block {block} is {found}, not {known:?}");
        }
    }
}

/// Blocks become unreadable as soon as they are written, before readers are sent to them:
/// acknowledged data is there, or an error. It is never zeros.
pub fn of_spoilt_blocks(bug: Option<Bug>, translation: &str) {
    // An append of 300 blocks is three I/Os. The second fails, and the data of the first becomes
    // unreadable.
    let large = Geometry { conventional_zones: 6, ..Geometry::new(20, 512) };
    let disk = disk_of(large, translation);
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
    // (All of one age, so that a log appends them together again.)
    write(&live, 0, 300, 1).expect("room");
    disk.spoil(Spoils::BeforeFailed { blocks: 100 });
    disk.fail(Operation::Write, 1, 1);
    write(&live, 0, 300, 2).expect("it is put right");
    disk.go_on();
    live.flush().expect("no more faults");
    for block in 0..300 {
        assert_eq!(read(&live, block).ok(), Some(2), "{translation}: block {block}");
    }
    for seed in 0..12 {
        let disk = disk_of(geometry(), translation);
        let mut draw = SplitMix64::seed_from_u64(seed);
        let mut below = |bound: u64| draw.next_u64() % bound;
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        let mut may_be = vec![vec![0]; live.blocks() as usize];
        for version in 1..100 + seed {
            if version > 20 && below(8) == 0 {
                let blocks = 1 + below(4);
                disk.spoil(match below(2) {
                    0 => Spoils::Written { after: below(6), blocks },
                    _ => Spoils::BeforeFailed { blocks },
                });
                if below(2) == 0 {
                    disk.fail(Operation::Write, below(6), 1);
                }
            }
            let count = 1 + if below(4) == 0 { below(40) } else { below(4) };
            let at = below(live.blocks() - count + 1);
            let done = write(&live, at, count, version).is_ok();
            for known in &mut may_be[at as usize..(at + count) as usize] {
                if done {
                    known.clear();
                }
                known.push(version);
            }
        }
        is_what_it_may_be(&live, &may_be, &format!("{translation}, seed {seed}"));
    }
}

/// Blocks become unreadable as soon as they are written, one is discovered when it is moved, and
/// soon after the power is cut: a block is what was flushed, or what was written since, or an
/// error. It is never zeros.
pub fn of_spoilt_blocks_and_a_cut(bug: Option<Bug>, translation: &str, seeds: Range<u64>) {
    for seed in seeds {
        let mut draw = SplitMix64::seed_from_u64(seed);
        let mut below = |bound: u64| draw.next_u64() % bound;
        let disk = failing(translation, Faults { seed, ..Faults::none() });
        disk.cut_power_after_a_bad_read(below(6));
        let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
        let mut may_be = vec![vec![0]; live.blocks() as usize];
        for version in 1..200 {
            if below(4) == 0 {
                disk.spoil(Spoils::Written { after: 0, blocks: 1 });
            }
            let count = 1 + if below(4) == 0 { below(12) } else { below(2) };
            let at = if below(4) > 0 { below(40) } else { below(100) };
            let done = write(&live, at, count, version);
            for known in &mut may_be[at as usize..(at + count) as usize] {
                known.push(version);
            }
            if done.is_err() {
                break;
            }
            if below(6) == 0 && live.flush().is_ok() {
                // (It was not read: it may be lost, and nothing older is allowed.)
                may_be.iter_mut().for_each(|known| *known = vec![known[known.len() - 1]]);
            }
        }
        drop(live);
        disk.0.cut_power();
        disk.0.restart();
        disk.go_on();
        let live = LiveDisk::open_with(disk.boxed(), bug)
            .unwrap_or_else(|error| panic!("{translation}, seed {seed}: {error}"));
        is_what_it_may_be(&live, &may_be, &format!("{translation}, seed {seed}"));
    }
}

/// Makes a block in a sequential zone unreadable. Returns the block of the host and the block of the disk. All blocks have been
/// written and flushed before.
pub fn spoil_one_in_a_zone(disk: &Held, live: &LiveDisk) -> (u64, u64) {
    let geometry = disk.geometry();
    let first = u64::from(geometry.conventional_zones) * geometry.zone_blocks;
    spoil_one(disk, live, first..geometry.blocks()).expect("not all of it is in the buffer")
}

/// The same in the conventional zones. `None` if no block of the host is there.
pub fn spoil_one_in_the_buffer(disk: &Held, live: &LiveDisk) -> Option<(u64, u64)> {
    let geometry = disk.geometry();
    spoil_one(disk, live, 0..u64::from(geometry.conventional_zones) * geometry.zone_blocks)
}

fn spoil_one(disk: &Held, live: &LiveDisk, mut places: Range<u64>) -> Option<(u64, u64)> {
    places.find_map(|at| {
        let mut buffers = [Buffer::default()];
        disk.0.read(Block(at), &mut buffers).ok()?;
        let block = u64::from_le_bytes(buffers[0].0[..8].try_into().expect("eight bytes"));
        disk.1.lock().expect("no panic").insert(at);
        if (1..live.blocks()).contains(&block) && read(live, block).is_err() {
            return Some((block, at));
        }
        disk.1.lock().expect("no panic").remove(&at);
        None
    })
}

/// A block cannot be read when its zone is cleaned, and can be read later: it has its old data or is an error, whatever is
/// written meanwhile, also after a crash, and in the end it is lost no more. Returns whether its old copy was kept.
pub fn of_a_block_that_can_be_read_again(
    bug: Option<Bug>,
    translation: &str,
    spares: u32,
    rounds: u64,
) -> bool {
    let disk = Held::new(geometry(), Faults::none());
    let wanted = Format { spare_zones: Some(spares), ..wanted(translation) };
    format(&disk, &wanted).expect("room");
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("it was formatted");
    for block in 0..live.blocks() {
        write(&live, block, 1, 1).expect("room");
    }
    live.flush().expect("no faults");
    let (bad, at) = spoil_one_in_a_zone(&disk, &live);
    let mut version = 1;
    let mut write_all_others = |live: &LiveDisk| {
        version += 1;
        for block in (0..live.blocks()).filter(|block| *block != bad).step_by(2) {
            write(live, block, 1, version).expect("cleaning goes on");
        }
        while live.idle().expect("cleaning goes on") {}
    };
    for _ in 0..60 {
        write_all_others(&live);
        if !live.status().lost_ranges.is_empty() {
            break;
        }
    }
    assert_eq!(live.status().lost_ranges, [(bad, 1)], "{translation}: its zone was never cleaned");
    read(&live, bad).expect_err("it cannot be read");
    (0..rounds).for_each(|_| write_all_others(&live));
    live.flush().expect("no more faults");
    let kept = live.status().zones.kept;
    assert!(kept <= 1 && kept <= live.status().zones.spare, "{translation}");

    disk.1.lock().expect("no panic").remove(&at);
    let is_had = |live: &LiveDisk| match read(live, bad) {
        Ok(found) => {
            assert_eq!(found, 1, "{translation}: block {bad}");
            true
        }
        Err(error) => {
            assert_eq!(error.kind, LiveErrorKind::Lost, "{translation}: {error}");
            false
        }
    };
    let had = is_had(&live);
    assert_eq!(had, kept == 1, "{translation}");
    drop(live);
    disk.0.cut_power();
    disk.0.restart();
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("there is a map");
    assert_eq!(is_had(&live), had, "{translation}: after a crash");
    while live.idle().expect("no more faults") {}
    live.flush().expect("no more faults");
    let lost = if had { vec![] } else { vec![(bad, 1)] };
    assert_eq!((live.status().lost_ranges, live.status().zones.kept), (lost, 0), "{translation}");
    (0..3).for_each(|_| write_all_others(&live));
    live.close().expect("no more faults");
    drop(live);
    assert_eq!(is_had(&LiveDisk::open_with(disk.boxed(), bug).expect("there is a map")), had);
    had
}

/// A disk with zones of another size.
pub fn disk_of(geometry: Geometry, translation: &str) -> Held {
    let disk = Held::new(geometry, Faults::none());
    shingle_translated::format(&disk, &wanted(translation))
        .unwrap_or_else(|error| panic!("{error}"));
    disk
}

/// The usual disk, with zones that fail.
pub fn failing(translation: &str, faults: Faults) -> Held {
    let disk = Held::new(geometry(), faults);
    let made = format(&disk, &wanted(translation)).unwrap_or_else(|error| panic!("{error}"));
    disk.2.spared.store(made.map_blocks / 2, Ordering::Relaxed);
    disk
}
