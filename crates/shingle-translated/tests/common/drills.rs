//! Drills by hand that seeded bugs are tried against, too.

use shingle_core::units::Block;
use shingle_translated::{Bug, LiveDisk, OpenError, inspect};
use shingle_zoned::{Faults, Geometry, ZonedDisk as _};

use super::{Held, data, geometry, read, wanted, write};

/// Where the pages of a copy of the map are on the disk of [`super::geometry`]: superblock, and per slot two pages of
/// checkpoint and eight of log.
pub fn log_page(copy: u64, generation: u64, page: u64) -> u64 {
    let slot = generation % 2 * 10;
    if copy == 0 { 1 + slot + 2 + page } else { 96 - 1 - 10 - slot + 2 + page }
}

/// A page that is none.
pub fn damage(disk: &Held, block: u64) {
    disk.write(Block(block), &[data(7, 7)]).expect("no faults");
}

/// A disk with three flushed commits, the last of two pages, and the generation that it is in. In test builds a page of the
/// log has three records: the first commit has one page, so has the second.
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

/// The end of a log is told from a hole in it.
pub fn of_a_log(bug: Option<Bug>) {
    // The second page of the last commit is torn: nothing of the commit counts.
    let (disk, generation) = three_commits();
    (0..2).for_each(|copy| damage(&disk, log_page(copy, generation, 3)));
    let found = inspect(&disk).expect("there is a map");
    assert_eq!((found.commits, found.torn_commit, found.damage), (2, true, None));
    let live = LiveDisk::open_with(disk.boxed(), bug).expect("a torn commit is none");
    let versions = [10, 20, 30, 32, 34].map(|block| read(&live, block).expect("there"));
    // (Block 10 was written where it was.)
    assert_eq!(versions, [3, 2, 0, 0, 0], "blocks of a torn commit");
    drop(live);

    // A page in the middle is bad in both copies: what follows was acknowledged later.
    let (disk, generation) = three_commits();
    (0..2).for_each(|copy| damage(&disk, log_page(copy, generation, 1)));
    let (one, other) = (log_page(0, generation, 1), log_page(1, generation, 1));
    damaged(&disk, bug, &format!("page 1 at block {one}"));
    damaged(&disk, bug, &format!("page 1 at block {other}"));

    // The last page cannot be read in either copy: nobody knows what it said.
    let (disk, generation) = three_commits();
    disk.1
        .lock()
        .expect("no panic")
        .extend([log_page(0, generation, 3), log_page(1, generation, 3)]);
    damaged(&disk, bug, "page 3 at block");
}

/// A disk of zones of another size.
pub fn disk_of(geometry: Geometry, translation: &str) -> Held {
    let disk = Held::new(geometry, Faults::none());
    shingle_translated::format(&disk, &wanted(translation))
        .unwrap_or_else(|error| panic!("{error}"));
    disk
}

/// The same with zones that fail.
pub fn failing(translation: &str, faults: Faults) -> Held {
    let disk = Held::new(geometry(), faults);
    shingle_translated::format(&disk, &wanted(translation))
        .unwrap_or_else(|error| panic!("{error}"));
    disk
}
