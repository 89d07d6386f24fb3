//! The I/O of a saver, step by step. A call that may fail is made to fail at each of its steps.

use shingle_device::Mark;

use super::Step::{Flush, Read, Write};
use super::*;
use crate::bugs::Seeded;
use crate::saved::{Reading, Recovered, Saver, recover, superblocks};

/// The writes of the superblocks of `example`, one after the other. Its slots are at blocks 1 and
/// 14 of the first copy, and 242 and 229 of the second; a slot has 5 pages of a checkpoint and 8 of
/// a log. In test builds a page of such a log has three records.
const NAMED: [Step; 4] = [Write(0, 1), Flush, Write(255, 1), Flush];
/// The same where the second one may be bad.
const SECOND_FIRST: [Step; 4] = [Write(255, 1), Flush, Write(0, 1), Flush];
/// The same for `large`, whose slots are at blocks 1 and 1001, and 3095 and 2095.
const LARGE_NAMED: [Step; 4] = [Write(0, 1), Flush, Write(4095, 1), Flush];

fn fresh(superblock: Superblock) -> (Disk, Saver) {
    (Disk::new(&superblock), Saver::new(superblock, 0, Seeded::default()))
}

/// A saver with a checkpoint, which is the ninth, in the second slot.
fn begun() -> (Disk, Saver) {
    let (disk, mut saver) = fresh(example());
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
    disk.steps();
    (disk, saver)
}

/// Runs of one block each, with gaps between them as far as they fit.
fn runs(count: u64) -> Vec<Record> {
    (0..count).map(|n| run(n * 2 % 800, 1)).collect()
}

/// What a new process reads.
fn found(disk: &Disk) -> Recovered {
    let superblock = superblocks(disk).expect("it was written").superblock;
    let found = recover(disk, &superblock, Reading::Compared, Seeded::default());
    let found = found.expect("it is whole");
    disk.steps();
    assert_eq!(found.bad.each_ref().map(|(pages, _)| *pages), [0, 0], "{:?}", found.bad);
    found
}

fn is_there(found: &Recovered, block: u64) -> bool {
    found.whereabouts.pieces(block..block + 1).all(|(_, piece)| piece.place != Place::Nowhere)
}

#[test]
fn superblocks_are_written_one_after_the_other() {
    let (disk, mut saver) = fresh(example());
    saver.claim(&disk).expect("no faults");
    assert_eq!(disk.changes(), NAMED);
    let claimed = Superblock { epoch: 4, ..example() };
    assert_eq!([0, 1].map(|copy| disk.superblock(copy)), [claimed.clone(), claimed.clone()]);
    let mark = Some(Mark { uuid: [5; 16], edition: 7 });
    saver.set_mark(&disk, mark).expect("no faults");
    assert_eq!(disk.changes(), NAMED);
    let marked = Superblock { mark, ..claimed };
    assert_eq!([0, 1].map(|copy| disk.superblock(copy)), [marked.clone(), marked.clone()]);
    assert_eq!((saver.superblock(), saver.written_blocks), (&marked, 4));
    // After a failure nothing more is written: the second copy is unchanged.
    disk.fail(1);
    saver.set_mark(&disk, None).expect_err("a flush fails");
    assert_eq!(disk.changes(), NAMED[..2]);
    assert_eq!(disk.superblock(1), marked);
    saver.erase(&disk).expect("no faults");
    assert_eq!(disk.changes(), NAMED);
    assert_eq!([0, 255].map(|at| disk.page(Block(at))), [[0; 4096]; 2]);
}

/// A torn write of the good one would leave none.
#[test]
fn the_superblock_that_may_be_bad_is_written_first() {
    let disk = Disk::new(&example());
    let mut saver = Saver::new(example(), 1, Seeded::default());
    saver.claim(&disk).expect("no faults");
    assert_eq!(disk.changes(), SECOND_FIRST);
    // Now both are good.
    saver.claim(&disk).expect("no faults");
    assert_eq!(disk.changes(), NAMED);
    disk.fail(2);
    saver.claim(&disk).expect_err("the second copy is not written");
    assert_eq!(disk.changes(), NAMED[..3]);
    saver.claim(&disk).expect("no faults");
    assert_eq!(disk.changes(), SECOND_FIRST);
    disk.fail(0);
    saver.claim(&disk).expect_err("the first copy is not written");
    disk.steps();
    saver.claim(&disk).expect("no faults");
    assert_eq!(disk.changes(), NAMED);
}

#[test]
fn logs_are_blanked_where_they_are_not_blank() {
    let (disk, mut saver) = fresh(large());
    // In the second I/O of the first log, in the last one of the third, and in one that cannot be
    // read.
    disk.put(Block(401 + 255), [1; 4096]);
    disk.put(Block(3095 + 400 + 512), [1; 4096]);
    disk.inside().unreadable.insert(2095 + 400 + 599);
    saver.blank_logs(&disk).expect("no faults");
    let mut wanted = Vec::new();
    for log in [401, 1401, 3495, 2495] {
        for (ahead, count) in [(0, 128), (128, 128), (256, 128), (384, 128), (512, 88)] {
            wanted.push(Read(log + ahead, count));
            if [(401, 128), (3495, 512), (2495, 512)].contains(&(log, ahead)) {
                wanted.push(Write(log + ahead, count));
            }
        }
    }
    wanted.extend([Flush, Read(529, 128), Read(2095 + 912, 88)]);
    // (It cannot be read even now.)
    wanted.extend((0..88).map(|ahead| Read(2095 + 912 + ahead, 1)));
    wanted.push(Read(3495 + 512, 88));
    assert_eq!(disk.steps(), wanted);
    assert!([656, 4007].iter().all(|at| disk.page(Block(*at)) == [0; 4096]));
    assert_eq!(saver.written_blocks, 128 + 88 + 88);
}

#[test]
fn a_checkpoint_is_durable_before_it_is_named() {
    let (disk, mut saver) = fresh(example());
    saver.claim(&disk).expect("no faults");
    disk.steps();
    // Without a checkpoint there is no log.
    assert!(!saver.has_room(1));
    // 314 records take two pages.
    let records = zones(&example()).into_iter().chain(runs(300));
    saver.checkpoint(&disk, records).expect("no faults");
    let wanted = [[Write(14, 2), Write(229, 2), Flush].as_slice(), &NAMED].concat();
    assert_eq!(disk.changes(), wanted);
    let named = Superblock {
        epoch: 4,
        generation: 9,
        checkpoint_epoch: 4,
        checkpoint_pages: 2,
        ..example()
    };
    assert_eq!([0, 1].map(|copy| disk.superblock(copy)), [named.clone(), named]);
    assert_eq!((saver.log_used(), saver.written_blocks), (0, 8));
    assert_eq!(found(&disk).whereabouts.runs(), 300);
    // The next one is written to the other slot.
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
    let wanted = [[Write(1, 1), Write(242, 1), Flush].as_slice(), &NAMED].concat();
    assert_eq!(disk.changes(), wanted);
    assert_eq!(found(&disk).whereabouts.runs(), 0);
}

#[test]
fn a_large_checkpoint_and_a_large_commit_take_several_ios() {
    let (disk, mut saver) = fresh(large());
    let records = |pages: u64| {
        let all = zones(&large()).into_iter().chain(runs(pages * 252));
        all.take(pages as usize * 252)
    };
    saver.checkpoint(&disk, records(130)).expect("no faults");
    let portions = [Write(1001, 128), Write(2095, 128), Write(1129, 2), Write(2223, 2), Flush];
    assert_eq!(disk.changes(), [portions.as_slice(), &LARGE_NAMED].concat());
    assert_eq!(found(&disk).whereabouts.runs(), 400);
    // A checkpoint of exactly one I/O has no page behind that.
    saver.checkpoint(&disk, records(128)).expect("no faults");
    let portions = [Write(1, 128), Write(3095, 128), Flush];
    assert_eq!(disk.changes(), [portions.as_slice(), &LARGE_NAMED].concat());
    assert_eq!(saver.superblock().checkpoint_pages, 128);
    // A commit has at most 256 pages.
    assert!(saver.has_room(256 * 252) && !saver.has_room(256 * 252 + 1));
    let commit: Vec<Record> = runs(250 * 252 - 1);
    saver.commit(&disk, &commit).expect("no faults");
    let wanted = [Write(401, 128), Write(529, 122), Write(3495, 128), Write(3623, 122), Flush];
    assert_eq!(disk.changes(), wanted);
    saver.commit(&disk, &commit).expect("no faults");
    // And at most the rest of a log.
    assert_eq!(saver.log_used(), 500);
    assert!(saver.has_room(100 * 252) && !saver.has_room(100 * 252 + 1));
    saver.commit(&disk, &commit[..100 * 252]).expect("no faults");
    assert!(!saver.has_room(1));
    assert_eq!(found(&disk).commits, 3);
    assert_eq!(saver.written_blocks, 2 * (130 + 1 + 128 + 1 + 250 + 250 + 100));
}

#[test]
fn a_commit_is_durable_in_both_copies() {
    let (disk, mut saver) = begun();
    assert!(saver.has_room(24) && !saver.has_room(25));
    saver.commit(&disk, &runs(3)).expect("no faults");
    assert_eq!(disk.changes(), [Write(19, 1), Write(234, 1), Flush]);
    saver.commit(&disk, &runs(10)[3..]).expect("no faults");
    assert_eq!(disk.changes(), [Write(20, 3), Write(235, 3), Flush]);
    assert_eq!((saver.log_used(), saver.is_half_full()), (4, false));
    assert_eq!((found(&disk).commits, found(&disk).whereabouts.runs()), (2, 10));
    saver.commit(&disk, &runs(1)).expect("no faults");
    assert!(saver.is_half_full());
    disk.steps();
    assert!(saver.has_room(9) && !saver.has_room(10));
    saver.commit(&disk, &runs(19)[10..]).expect("no faults");
    assert_eq!(disk.changes(), [Write(24, 3), Write(239, 3), Flush]);
    assert!(!saver.has_room(1));
    assert_eq!((found(&disk).commits, found(&disk).torn), (4, false));
}

#[test]
fn nothing_goes_behind_a_commit_that_failed() {
    for step in 0..3 {
        let (disk, mut saver) = begun();
        saver.commit(&disk, &runs(1)).expect("no faults");
        disk.fail(step);
        saver.commit(&disk, &runs(6)).expect_err("a step fails");
        assert!(!saver.has_room(1), "step {step}");
        assert_eq!(saver.log_used(), 8);
        disk.steps();
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
        let wanted = [[Write(1, 1), Write(242, 1), Flush].as_slice(), &NAMED].concat();
        assert_eq!(disk.changes(), wanted);
        assert!(saver.has_room(24));
    }
}

#[test]
fn a_checkpoint_that_failed_before_it_was_named_is_written_where_it_was() {
    for step in 0..3 {
        let (disk, mut saver) = begun();
        saver.commit(&disk, &runs(1)).expect("no faults");
        let before = saver.superblock().clone();
        disk.fail(step);
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect_err("a step fails");
        assert_eq!((saver.superblock(), &disk.superblock(0)), (&before, &before), "step {step}");
        assert!(!saver.has_room(1));
        assert!(is_there(&found(&disk), 0));
        disk.steps();
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
        let wanted = [[Write(1, 1), Write(242, 1), Flush].as_slice(), &NAMED].concat();
        assert_eq!(disk.changes(), wanted);
        assert_eq!(disk.superblock(1).generation, 10);
    }
}

#[test]
fn one_that_some_superblock_may_name_is_named_by_both_before_the_next() {
    for step in 3..7 {
        let (disk, mut saver) = begun();
        disk.fail(step);
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect_err("a step fails");
        assert!(!saver.has_room(1), "step {step}");
        disk.steps();
        // The one that failed comes first. While that fails, nothing else is written.
        let again = if step < 5 { NAMED } else { SECOND_FIRST };
        disk.fail(0);
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect_err("it fails again");
        assert_eq!(disk.changes(), again[..1]);
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
        let wanted = [&again, [Write(14, 1), Write(229, 1), Flush].as_slice(), &NAMED].concat();
        assert_eq!(disk.changes(), wanted);
        assert_eq!(disk.superblock(1).generation, 11);
        // Once is enough.
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
        let wanted = [[Write(1, 1), Write(242, 1), Flush].as_slice(), &NAMED].concat();
        assert_eq!(disk.changes(), wanted);
    }
}

#[test]
fn the_next_checkpoint_is_written_beside_the_log_and_counts_once_both_are_durable() {
    let (disk, mut saver) = begun();
    saver.begin_next();
    let records: Vec<Record> = zones(&example()).into_iter().chain(runs(600)).collect();
    assert!(saver.go_on_with_next(&disk, &records[..504], false).expect("no faults"));
    assert_eq!(disk.changes(), [Write(1, 2), Write(242, 2)]);
    // The log in use continues.
    saver.commit(&disk, &[run(701, 1)]).expect("no faults");
    assert_eq!(disk.changes(), [Write(19, 1), Write(234, 1), Flush]);
    assert!(saver.go_on_with_next(&disk, &records[504..], true).expect("no faults"));
    assert_eq!(disk.changes(), [Write(3, 1), Write(244, 1)]);
    assert!(saver.catch_up(&disk, &[run(701, 1), run(703, 1)]).expect("no faults"));
    assert_eq!(disk.changes(), [Write(6, 1), Write(247, 1)]);
    assert!(saver.catch_up(&disk, &runs(4)).expect("no faults"));
    assert_eq!(disk.changes(), [Write(7, 2), Write(248, 2)]);
    assert_eq!((found(&disk).whereabouts.runs(), saver.log_used()), (1, 1));
    saver.name_next(&disk).expect("no faults");
    assert_eq!(disk.changes(), [[Flush].as_slice(), &NAMED].concat());
    let named =
        Superblock { generation: 10, checkpoint_epoch: 3, checkpoint_pages: 3, ..example() };
    assert_eq!([0, 1].map(|copy| disk.superblock(copy)), [named.clone(), named]);
    // From now on its log is in use.
    assert_eq!(saver.log_used(), 3);
    saver.commit(&disk, &[run(705, 1)]).expect("no faults");
    assert_eq!(disk.changes(), [Write(9, 1), Write(250, 1), Flush]);
    let found = found(&disk);
    assert_eq!((found.commits, found.torn), (3, false));
    assert!([0, 798, 701, 703, 705].iter().all(|block| is_there(&found, *block)));
    assert_eq!(saver.written_blocks, 2 * (2 + 2 + 1 + 1 + 1 + 2 + 1 + 1));
}

#[test]
fn what_was_not_begun_is_not_written() {
    let (disk, mut saver) = begun();
    assert!(!saver.go_on_with_next(&disk, &runs(1), true).expect("nothing is done"));
    assert!(!saver.catch_up(&disk, &runs(1)).expect("nothing is done"));
    saver.name_next(&disk).expect("nothing is done");
    assert_eq!(disk.changes(), []);
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
    assert_eq!(disk.superblock(0).generation, 10);
}

/// The generation of the checkpoint that is written after some were given up.
fn generation_after(give_up: impl Fn(&Disk, &mut Saver)) -> u64 {
    let (disk, mut saver) = begun();
    give_up(&disk, &mut saver);
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
    assert_eq!(found(&disk).commits, 0);
    let generation = disk.superblock(0).generation;
    // Checkpoints given up before a completed one no longer count.
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
    assert_eq!(disk.superblock(0).generation, generation + 1);
    generation
}

#[test]
fn the_pages_of_one_that_was_given_up_are_of_a_generation_of_their_own() {
    assert_eq!(generation_after(|_, _| ()), 10);
    assert_eq!(generation_after(|_, saver| saver.begin_next()), 12);
    assert_eq!(generation_after(|_, saver| (0..2).for_each(|_| saver.begin_next())), 14);
    assert_eq!(generation_after(|_, saver| (0..2).for_each(|_| saver.give_up_next())), 10);
    // There is not enough space: a checkpoint has at most five pages, a log eight.
    let too_many = |disk: &Disk, saver: &mut Saver| {
        saver.begin_next();
        assert!(saver.go_on_with_next(disk, &runs(756), false).expect("no faults"));
        assert!(!saver.go_on_with_next(disk, &runs(505), true).expect("nothing is done"));
        assert!(!saver.catch_up(disk, &runs(1)).expect("it was given up"));
    };
    assert_eq!(generation_after(too_many), 12);
    let log_full = |disk: &Disk, saver: &mut Saver| {
        saver.begin_next();
        assert!(saver.go_on_with_next(disk, &runs(756), false).expect("no faults"));
        assert!(saver.go_on_with_next(disk, &runs(504), true).expect("no faults"));
        assert!(saver.catch_up(disk, &runs(21)).expect("no faults"));
        assert!(!saver.catch_up(disk, &runs(4)).expect("nothing is done"));
        assert!(!saver.catch_up(disk, &runs(1)).expect("it was given up"));
    };
    assert_eq!(generation_after(log_full), 12);
    // It could not be made durable.
    let not_durable = |disk: &Disk, saver: &mut Saver| {
        saver.begin_next();
        saver.go_on_with_next(disk, &zones(&example()), true).expect("no faults");
        disk.steps();
        disk.fail(0);
        saver.name_next(disk).expect_err("a flush fails");
        assert_eq!(disk.changes(), [Flush]);
    };
    assert_eq!(generation_after(not_durable), 12);
}

#[test]
fn a_next_one_that_some_superblock_may_name_is_named_by_both() {
    for step in 1..5 {
        let (disk, mut saver) = begun();
        saver.begin_next();
        saver.go_on_with_next(&disk, &zones(&example()), true).expect("no faults");
        assert!(saver.catch_up(&disk, &runs(1)).expect("no faults"));
        disk.fail(step);
        saver.name_next(&disk).expect_err("a step fails");
        assert_eq!((saver.log_used(), saver.has_room(1)), (8, false), "step {step}");
        disk.steps();
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("no faults");
        let again = if step < 3 { NAMED } else { SECOND_FIRST };
        let wanted = [&again, [Write(14, 1), Write(229, 1), Flush].as_slice(), &NAMED].concat();
        assert_eq!(disk.changes(), wanted);
        assert_eq!(disk.superblock(1).generation, 11);
    }
}
