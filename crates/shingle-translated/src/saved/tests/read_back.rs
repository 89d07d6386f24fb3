//! What was written is read back after the flush.

use super::Step::{Flush, Read, Write};
use super::*;
use crate::bugs::Seeded;
use crate::saved::Saver;

/// A saver with a checkpoint in the second slot (see `writing.rs` for the places).
fn begun(superblock: Superblock) -> (Disk, Saver) {
    let (disk, records) = (Disk::new(&superblock), zones(&superblock));
    let mut saver = Saver::new(superblock, 0, Seeded::default());
    saver.checkpoint(&disk, records.into_iter()).expect("no faults");
    disk.steps();
    (disk, saver)
}

fn runs(count: u64) -> Vec<Record> {
    (0..count).map(|n| run(n * 2 % 800, 1)).collect()
}

#[test]
fn all_that_was_written_is_read_in_few_ios() {
    let (disk, mut saver) = begun(example());
    saver.set_mark(&disk, None).expect("no faults");
    let superblocks = [Write(0, 1), Flush, Read(0, 1), Write(255, 1), Flush, Read(255, 1)];
    assert_eq!(disk.steps(), superblocks);
    saver.commit(&disk, &runs(9)).expect("no faults");
    let pages = [Write(19, 3), Write(234, 3), Flush, Read(19, 3), Read(234, 3)];
    assert_eq!(disk.steps(), pages);
    // Those of the next checkpoint, with the next commit.
    saver.begin_next();
    assert!(saver.go_on_with_next(&disk, &zones(&example()), false).expect("no faults"));
    assert_eq!(disk.steps(), [Write(1, 1), Write(242, 1)]);
    saver.commit(&disk, &runs(1)).expect("no faults");
    let reads = [Read(1, 1), Read(22, 1), Read(237, 1), Read(242, 1)];
    assert_eq!(disk.steps(), [[Write(22, 1), Write(237, 1), Flush].as_slice(), &reads].concat());

    let (disk, mut saver) = begun(large());
    saver.commit(&disk, &runs(200 * 252)).expect("no faults");
    let reads = [Read(1401, 128), Read(1529, 72), Read(2495, 128), Read(2623, 72)];
    assert_eq!(disk.steps()[5..], reads);
}

/// What the saver is told when `block` is lost between a write and the flush that follows.
fn told(block: u64, write: impl Fn(&Disk, &mut Saver) -> Result<(), ZonedError>) {
    let (disk, mut saver) = begun(example());
    disk.inside().forgets = Some(block);
    let error = write(&disk, &mut saver).expect_err("a page is not there");
    assert_eq!((error.operation, error.block), (Operation::Flush, Block(block)), "{error}");
    assert!(matches!(error.reason, Reason::LostWrites), "{error}");
    // Nothing of it is looked for again.
    disk.put(Block(block), [8; 4096]);
    saver.set_mark(&disk, None).expect("no faults");
}

#[test]
fn a_page_that_is_lost_before_the_flush_is_told() {
    let commit = |disk: &Disk, saver: &mut Saver| saver.commit(disk, &runs(9));
    for page in [19, 20, 21, 234, 235, 236] {
        told(page, commit);
    }
    told(0, |disk, saver| saver.claim(disk));
    told(0, |disk, saver| saver.erase(disk));
    for page in [1, 242] {
        told(page, |disk, saver| saver.checkpoint(disk, zones(&example()).into_iter()));
        told(page, |disk, saver| {
            saver.begin_next();
            assert!(saver.go_on_with_next(disk, &zones(&example()), true)?);
            saver.name_next(disk)
        });
    }
    told(24, |disk, saver| {
        disk.put(Block(24), [1; 4096]);
        saver.blank_logs(disk)
    });
}

/// They may be overwritten by the next one.
#[test]
fn pages_of_a_checkpoint_that_was_given_up_are_not_read() {
    let (disk, mut saver) = begun(example());
    saver.begin_next();
    assert!(saver.go_on_with_next(&disk, &zones(&example()), false).expect("no faults"));
    saver.give_up_next();
    disk.put(Block(1), [9; 4096]);
    disk.steps();
    saver.commit(&disk, &runs(1)).expect("no faults");
    assert_eq!(disk.steps(), [Write(19, 1), Write(234, 1), Flush, Read(19, 1), Read(234, 1)]);
}

#[test]
fn one_copy_of_a_page_need_not_be_readable() {
    for unreadable in [vec![20], vec![235], vec![19, 20, 21, 22, 237], vec![20, 234]] {
        let (disk, mut saver) = begun(example());
        disk.inside().unreadable.extend(&unreadable);
        saver.commit(&disk, &runs(9)).expect("the other copy is read");
    }
    for unreadable in [vec![20, 235], vec![19, 20, 21, 236]] {
        let (disk, mut saver) = begun(example());
        disk.inside().unreadable.extend(&unreadable);
        let error = saver.commit(&disk, &runs(9)).expect_err("neither is");
        assert_eq!((error.operation, error.blocks), (Operation::Read, 1), "{error}");
    }
}

/// They are flushed one after the other; without either of them no map would be found.
#[test]
fn one_superblock_need_not_be_readable() {
    for unreadable in [0, 255] {
        let (disk, mut saver) = begun(example());
        disk.inside().unreadable.insert(unreadable);
        saver.claim(&disk).expect("the other copy is read");
        saver.checkpoint(&disk, zones(&example()).into_iter()).expect("the other copy is read");
    }
    let (disk, mut saver) = begun(example());
    disk.inside().unreadable.extend([0, 255]);
    let error = saver.claim(&disk).expect_err("neither is");
    assert_eq!((error.operation, error.blocks), (Operation::Read, 1), "{error}");
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect_err("neither is");
    disk.inside().unreadable.clear();
    saver.checkpoint(&disk, zones(&example()).into_iter()).expect("both are");
}
