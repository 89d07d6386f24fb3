//! What is found on disks that are assembled page by page.

use shingle_engine::format::seal;

use super::Step::Read;
use super::*;
use crate::bugs::Seeded;
use crate::error::OpenError;
use crate::saved::page::{self, Kind, Stand};
use crate::saved::{Reading, Recovered, recover, superblocks};

const BOTH: &[usize] = &[0, 1];

/// A record of blocks without old copies.
fn lost(block: u64, count: u64) -> Record {
    Record::Lost { block: Block(block), count, first_copy: None }
}

/// A disk with a map, of which `superblock` names the checkpoint.
struct Map {
    disk: Disk,
    superblock: Superblock,
}

impl Map {
    fn new(superblock: Superblock) -> Map {
        Map { disk: Disk::new(&superblock), superblock }
    }

    fn at(&self, kind: Kind, copy: usize, sequence: u32) -> Block {
        let (areas, generation) = (self.superblock.areas, self.superblock.generation);
        let first = match kind {
            Kind::Checkpoint => areas.checkpoint(copy, generation),
            Kind::Log => areas.log(copy, generation),
        };
        first.after(sequence.into())
    }

    fn put(&self, copies: &[usize], stand: Stand, records: &[Record]) {
        let mut page = [0; 4096];
        page::encode(&mut page, self.superblock.owner(), stand, records);
        for &copy in copies {
            self.disk.put(self.at(stand.kind, copy, stand.sequence), page);
        }
    }

    /// Writes a checkpoint of these pages, in both copies.
    fn checkpoint(&mut self, pages: &[Vec<Record>]) {
        self.superblock.checkpoint_pages = pages.len() as u32;
        for (sequence, records) in (0..).zip(pages) {
            let last = sequence + 1 == self.superblock.checkpoint_pages;
            let stand = Stand { kind: Kind::Checkpoint, sequence, commit: 0, last };
            self.put(BOTH, stand, records);
        }
    }

    /// Writes a page of the log.
    fn log(&self, copies: &[usize], sequence: u32, commit: u64, last: bool, records: &[Record]) {
        self.put(copies, Stand { kind: Kind::Log, sequence, commit, last }, records);
    }

    /// Changes a page.
    fn change(&self, kind: Kind, copy: usize, sequence: u32, change: impl Fn(&mut Page)) {
        let at = self.at(kind, copy, sequence);
        let mut page = self.disk.page(at);
        change(&mut page);
        self.disk.put(at, page);
    }

    fn read(&self, reading: Reading) -> Result<Recovered, String> {
        let found = recover(&self.disk, &self.superblock, reading, Seeded::default());
        found.map_err(|error| match error {
            OpenError::Damaged { disk, what } => {
                assert_eq!(disk, "steps");
                what
            }
            other => panic!("{other}"),
        })
    }

    /// What is found when both copies are compared.
    fn found(&self) -> Recovered {
        self.read(Reading::Compared).unwrap_or_else(|what| panic!("{what}"))
    }

    /// The number of commits, and whether one more was torn.
    fn commits(&self) -> (u64, bool) {
        let found = self.found();
        (found.commits, found.torn)
    }

    fn damage(&self) -> String {
        self.read(Reading::Whole).expect_err("it is damaged")
    }
}

fn no_page(page: &mut Page) {
    page.fill(7);
}

fn blank(page: &mut Page) {
    page.fill(0);
}

/// A map with a checkpoint that has only zones, and a log of eight pages: a commit of one page, and
/// one of two.
fn two_commits() -> Map {
    let mut map = Map::new(example());
    map.checkpoint(&[zones(&example())]);
    map.log(BOTH, 0, 1, true, &[run(10, 1)]);
    map.log(BOTH, 1, 2, false, &[run(20, 1)]);
    map.log(BOTH, 2, 2, true, &[run(30, 1)]);
    map
}

fn runs(found: &Recovered) -> Vec<u64> {
    found.whereabouts.all().map(|(block, _)| block.0).collect()
}

/// The number of bad pages in each copy.
fn bad(found: &Recovered) -> [u64; 2] {
    for (pages, first) in &found.bad {
        assert_eq!(*pages > 0, first.is_some());
    }
    found.bad.each_ref().map(|(pages, _)| *pages)
}

fn with_superblocks(superblocks: [Page; 2]) -> Disk {
    let disk = Disk::new(&example());
    for (at, page) in [0, 255].into_iter().zip(superblocks) {
        disk.put(Block(at), page);
    }
    disk
}

#[test]
fn the_superblock_of_the_higher_age_counts() {
    let of = |epoch, generation| Superblock { epoch, generation, ..example() };
    let chosen = |one: &Superblock, other: &Superblock| {
        let disk = with_superblocks([one.encode(), other.encode()]);
        let chosen = superblocks(&disk).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(chosen.wrong, [None, None]);
        (chosen.superblock, chosen.worse)
    };
    for (older, newer) in [(of(3, 8), of(3, 9)), (of(3, 9), of(4, 8))] {
        assert_eq!(chosen(&older, &newer), (newer.clone(), 0));
        assert_eq!(chosen(&newer, &older), (newer, 1));
    }
    // They differ in the mark only: the first one is written first.
    let (one, other) = (Superblock { mark: None, ..example() }, example());
    assert_eq!(chosen(&one, &other), (one.clone(), 0));
    assert_eq!(chosen(&other, &one), (other, 0));
}

#[test]
fn a_superblock_that_is_bad_is_told_and_the_other_one_counts() {
    let mut flipped = example().encode();
    flipped[40] ^= 1;
    for (bad, what) in [(flipped, "its checksum is wrong"), ([0; 4096], "there is none")] {
        for copy in 0..2 {
            let mut pages = [example().encode(); 2];
            pages[copy] = bad;
            let chosen = superblocks(&with_superblocks(pages)).expect("one is there");
            assert_eq!(chosen.superblock, example());
            assert_eq!(chosen.wrong[copy].as_deref(), Some(what));
            assert_eq!(chosen.wrong[1 - copy], None);
            assert_eq!(chosen.worse, copy);
        }
    }
    let disk = with_superblocks([example().encode(); 2]);
    disk.inside().unreadable.insert(0);
    let chosen = superblocks(&disk).expect("one is there");
    assert!(chosen.wrong[0].as_ref().is_some_and(|what| what.contains("EIO")), "{chosen:?}");
    // One is no superblock, and the other is bad.
    disk.inside().unreadable.insert(255);
    let error = superblocks(&disk).expect_err("nothing is there").to_string();
    assert!(
        error.contains("neither superblock is good: at block 0 (zone 0, byte 0 of the disk): ")
            && error.contains("; at block 255 (zone 3, byte 1044480 of the disk): ")
            && error.contains("`shingle zoned check "),
        "{error}"
    );
    let error = superblocks(&with_superblocks([[0; 4096], flipped])).expect_err("one was there");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    let error = superblocks(&with_superblocks([[0; 4096]; 2])).expect_err("none is there");
    assert!(matches!(error, OpenError::NotFormatted { .. }), "{error}");
}

#[test]
fn a_superblock_of_another_disk_or_program_is_refused() {
    let unusable = |disk: &Disk, part: &str| match superblocks(disk) {
        Err(OpenError::Unusable { what, .. }) => assert!(what.contains(part), "{what}"),
        other => panic!("{other:?}"),
    };
    let another = Superblock { uuid: [1; 16], ..example() };
    unusable(&with_superblocks([example().encode(), another.encode()]), "of different maps");
    let mut newer = example().encode();
    newer[8] = 3;
    seal(&mut newer, 12);
    unusable(&with_superblocks([newer, example().encode()]), "version 3");
    unusable(&with_superblocks([example().encode(), newer]), "version 3");
    let mut disk = with_superblocks([example().encode(); 2]);
    disk.geometry.zones += 1;
    superblocks(&disk).expect("it may have more zones");
    disk.geometry.zones -= 2;
    unusable(&disk, "made for 20 zones");
    // Without conventional zones nothing is read.
    disk.geometry.conventional_zones = 0;
    assert!(matches!(superblocks(&disk), Err(OpenError::NotFormatted { .. })));
}

/// Zones and runs, in order, on pages that are not full; losses are on the first page and on the
/// last.
fn four_pages() -> Map {
    let mut map = Map::new(example());
    let (zones, lost) = (zones(&example()), lost(500, 3));
    let begin = [&[lost], &zones[..7]].concat();
    let (middle, rest) = ([&zones[7..], &[run(10, 5)]].concat(), vec![run(20, 5), run(40, 5)]);
    map.checkpoint(&[begin, middle, rest, vec![run(60, 5), lost]]);
    map
}

/// The description of a block: zones have 64.
fn place(at: u64) -> String {
    format!("block {at} (zone {}, byte {} of the disk)", at / 64, at * 4096)
}

/// What is unknown if these pages are gone in both copies: zones, and ranges of blocks.
fn unknown(map: &Map, gone: &[u32]) -> (Vec<u32>, Vec<(u64, u64)>) {
    for copy in 0..2 {
        gone.iter().for_each(|page| map.change(Kind::Checkpoint, copy, *page, no_page));
    }
    for reading in [Reading::Whole, Reading::Compared] {
        let what = map.read(reading).expect_err("it is damaged");
        let at = map.at(Kind::Checkpoint, 1, gone[0]).0;
        assert!(what.contains(&format!("page {} at block {at} (zone ", gone[0])), "{what}");
    }
    let found = map.read(Reading::WithHoles).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(bad(&found), [gone.len() as u64; 2]);
    let what = found.unknown.what.expect("a page is gone");
    assert!(what.contains(&format!("page {} at block", gone[0])), "{what}");
    let zones = found.unknown.zones.into_iter().collect();
    (zones, found.unknown.blocks.iter().map(|range| (range.start, range.end)).collect())
}

#[test]
fn what_was_on_a_page_that_is_gone_follows_from_those_beside_it() {
    let range = |zones: std::ops::Range<u32>| zones.collect::<Vec<_>>();
    for (gone, zones, blocks) in [
        (&[0][..], 0..7, vec![]),
        (&[1], 7..14, vec![(0, 20)]),
        (&[2], 0..0, vec![(15, 60)]),
        (&[3], 0..0, vec![(45, 800)]),
        (&[0, 2], 0..7, vec![(15, 60)]),
        (&[1, 2], 7..14, vec![(0, 60)]),
        (&[1, 3], 7..14, vec![(0, 20), (45, 800)]),
        (&[2, 3], 0..0, vec![(15, 800)]),
        (&[0, 1, 2, 3], 0..14, vec![(0, 800)]),
    ] {
        assert_eq!(unknown(&four_pages(), gone), (range(zones), blocks), "{gone:?}");
    }
    // Losses are on the first page and on the last.
    let map = four_pages();
    unknown(&map, &[3]);
    let lost = map.read(Reading::WithHoles).expect("with a hole").lost;
    assert_eq!(lost.blocks().starts_and_counts(), [(500, 3)]);
    // A page that one copy has is not gone.
    let map = four_pages();
    map.change(Kind::Checkpoint, 0, 1, no_page);
    map.change(Kind::Checkpoint, 1, 2, no_page);
    let found = map.read(Reading::WithHoles).expect("each is there once");
    assert_eq!((bad(&found), &found), ([1, 1], &map.found()));
    assert_eq!(found.unknown, Default::default());
}

#[test]
fn what_is_lost_may_take_pages_and_nothing_else_is_in_doubt_if_one_is_gone() {
    let lost = |block| lost(block, 1);
    let zones = zones(&example());
    let pages = [
        vec![lost(500), lost(502)],
        [&[lost(504)], &zones[..]].concat(),
        vec![run(10, 5)],
        vec![run(20, 5), lost(500)],
        vec![lost(502), lost(504)],
    ];
    let without = |gone: &[u32]| {
        let mut map = Map::new(example());
        map.checkpoint(&pages);
        unknown(&map, gone)
    };
    assert_eq!(without(&[0]), (vec![], vec![]));
    assert_eq!(without(&[2]), (vec![], vec![(0, 20)]));
    assert_eq!(without(&[3]), (vec![], vec![(15, 800)]));
    assert_eq!(without(&[2, 4]), (vec![], vec![(0, 20), (25, 800)]));
}

#[test]
fn what_the_log_says_of_a_hole_is_known() {
    let map = four_pages();
    let moved = Record::Zone { logical: 9, physical: 18, pointer: 2 };
    map.log(BOTH, 0, 1, true, &[moved, run(12, 4)]);
    let (zones, blocks) = unknown(&map, &[1]);
    assert_eq!(zones, [7, 8, 10, 11, 12, 13]);
    assert_eq!(blocks, [(0, 12), (16, 20)]);
    let found = map.read(Reading::WithHoles).expect("with a hole");
    assert_eq!((found.zones[9], found.commits), ((18, 2), 1));
}

#[test]
fn a_page_that_is_not_where_it_belongs_is_damage() {
    let map = four_pages();
    for (sequence, last) in [(2, true), (3, false)] {
        let map_of = four_pages();
        let stand = Stand { kind: Kind::Checkpoint, sequence, commit: 0, last };
        map_of.put(BOTH, stand, &[]);
        assert_eq!(
            map_of.damage(),
            format!("page {sequence} of the checkpoint is not where it belongs")
        );
    }
    assert_eq!(runs(&map.found()), [10, 20, 40, 60]);
}

#[test]
fn every_logical_zone_is_another_one() {
    let of = |zones: Vec<Record>| {
        let mut map = Map::new(example());
        map.checkpoint(&[zones]);
        map.damage()
    };
    let all = zones(&example());
    assert_eq!(of(all[..13].to_vec()), "nothing says where logical zone 13 is");
    assert_eq!(of(all[1..].to_vec()), "nothing says where logical zone 0 is");
    let twice = Record::Zone { logical: 13, physical: 6, pointer: 0 };
    assert_eq!(of([&all[..13], &[twice]].concat()), "two logical zones are zone 6");
}

/// A page could stand for millions of old copies, each of which takes memory.
#[test]
fn a_map_has_no_more_old_copies_than_are_written() {
    let superblock = Superblock {
        zone_blocks: 1 << 16,
        zone_capacity_blocks: 1 << 16,
        blocks: 14 << 16,
        ..large()
    };
    let first_copy = Some(Block(64 << 16));
    let many = |zone: u64| Record::Lost { block: Block(zone << 16), count: 1 << 16, first_copy };
    let few = |block, count| Record::Lost { block: Block(block), count, first_copy };
    let mut map = Map::new(superblock);
    map.checkpoint(&[zones(&map.superblock)]);
    map.log(BOTH, 0, 1, true, &(0..14).map(many).collect::<Vec<_>>());
    let lost = map.found().lost;
    assert_eq!((lost.blocks().starts_and_counts(), lost.copies()), (vec![(0, 14 << 16)], 0));
    map.log(BOTH, 1, 2, true, &[few(5, 1024), few(9000, 3072), few(20_000, 1)]);
    assert_eq!(map.found().lost.copies(), 4096, "four times as many as a map names");
}

#[test]
fn what_is_outside_of_the_disk_is_damage() {
    let at = |place, block, count| Record::Run(Block(block), Piece { place, count });
    let zone = |logical, physical, pointer| Record::Zone { logical, physical, pointer };
    let (native, buffer) = (Place::Native, Place::Buffer);
    let copies = |block, count, first| Record::Lost {
        block: Block(block),
        count,
        first_copy: Some(Block(first)),
    };
    // 800 blocks, a buffer of 100, 14 zones of 60: the last that fit.
    let fit = [
        at(Place::Nowhere, 799, 1),
        at(buffer(99), 799, 1),
        at(native(839), 799, 1),
        zone(13, 17, 60),
        zone(12, 19, 0),
        lost(799, 1),
        copies(799, 1, 256),
        copies(798, 2, 1278),
    ];
    let mut map = Map::new(example());
    map.checkpoint(&[zones(&example())]);
    map.log(BOTH, 0, 1, true, &fit);
    let found = map.found();
    assert_eq!(
        (found.zones[13], found.lost.blocks().starts_and_counts()),
        ((17, 60), vec![(798, 2)])
    );
    for outside in [
        at(Place::Nowhere, 799, 2),
        at(buffer(99), 798, 2),
        at(native(839), 798, 2),
        at(native((1 << 62) - 1), 0, 1),
        zone(14, 18, 0),
        zone(13, 3, 0),
        zone(13, 20, 0),
        zone(13, 18, 61),
        lost(799, 2),
        copies(799, 2, 256),
        copies(798, 1, 255),
        copies(798, 2, 1279),
        copies(798, 2, (1 << 62) - 1),
    ] {
        map.log(BOTH, 0, 1, true, &[outside]);
        assert_eq!(map.damage(), format!("{outside:?} is outside of the disk"));
    }
}

#[test]
fn lost_blocks_are_those_since_nothing_was() {
    let map = two_commits();
    let lost = |block| lost(block, 2);
    map.log(BOTH, 3, 3, true, &[lost(1), lost(5)]);
    assert_eq!(map.found().lost.blocks().starts_and_counts(), [(1, 2), (5, 2)]);
    map.log(BOTH, 4, 4, true, &[Record::NoneLost, lost(9)]);
    assert_eq!(map.found().lost.blocks().starts_and_counts(), [(9, 2)]);
}

#[test]
fn of_a_commit_that_is_torn_nothing_counts() {
    let map = two_commits();
    assert_eq!((map.commits(), runs(&map.found())), ((2, false), vec![10, 20, 30]));
    // Its end is gone in both copies, or its beginning.
    for gone in [1, 2] {
        let map = two_commits();
        (0..2).for_each(|copy| map.change(Kind::Log, copy, gone, blank));
        assert_eq!((map.commits(), runs(&map.found())), ((1, true), vec![10]), "page {gone}");
    }
    // Two commits at the end of a log; the second was torn at its last page.
    let map = two_commits();
    for sequence in 3..7 {
        map.log(BOTH, sequence, u64::from(sequence), true, &[]);
    }
    assert_eq!(map.commits(), (6, false));
    map.log(BOTH, 7, 7, true, &[run(50, 1)]);
    assert_eq!((map.commits(), runs(&map.found())), ((7, false), vec![10, 20, 30, 50]));
}

#[test]
fn pages_that_a_commit_lacks_in_one_copy_are_bad_and_those_of_a_torn_one_are_not() {
    let map = two_commits();
    map.change(Kind::Log, 1, 1, blank);
    map.change(Kind::Log, 1, 2, blank);
    map.change(Kind::Log, 0, 0, no_page);
    let found = map.found();
    assert_eq!((bad(&found), found.commits, found.torn), ([1, 2], 2, false));
    let first = map.at(Kind::Log, 1, 1).0;
    let told = format!("page 1 at {}: there is none", place(first));
    assert_eq!(found.bad[1].1.as_deref(), Some(told.as_str()));
    // A crash comes between the copies of the last commit, and never leaves such a page of an
    // earlier one.
    assert_eq!(found.damaged, [true, false]);
    let map = two_commits();
    map.change(Kind::Log, 1, 0, blank);
    assert_eq!(map.found().damaged, [false, true]);
    // The power was cut when the first copy had half of a commit: there is nothing to repair.
    let map = two_commits();
    map.change(Kind::Log, 1, 1, blank);
    (0..2).for_each(|copy| map.change(Kind::Log, copy, 2, blank));
    let found = map.found();
    assert_eq!((bad(&found), found.commits, found.torn), ([0, 0], 1, true));
}

#[test]
fn a_commit_behind_one_that_is_gone_is_damage() {
    let map = two_commits();
    map.log(BOTH, 3, 3, true, &[]);
    for copy in 0..2 {
        map.change(Kind::Log, copy, 1, blank);
        map.change(Kind::Log, copy, 2, blank);
    }
    assert!(
        map.damage().ends_with(
            "; page 1 at block 248 (zone 3, byte 1015808 of the disk): there is none, and a later commit follows on page 3"
        )
    );
    // The number is not that of the next commit.
    let map = two_commits();
    map.log(BOTH, 2, 3, true, &[]);
    assert_eq!(map.damage(), "page 2 of the log is of commit 3, and commit 2 is not whole");
    let map = two_commits();
    map.log(BOTH, 3, 2, true, &[]);
    assert_eq!(map.damage(), "page 3 of the log is of commit 2, and commit 3 is not whole");
}

#[test]
fn a_later_commit_is_looked_for_as_far_as_one_can_be() {
    let mut map = Map::new(large());
    map.checkpoint(&[zones(&large())]);
    map.log(BOTH, 0, 1, true, &[]);
    // Commit 2 has at most 256 pages, and so has the next one.
    map.log(BOTH, 513, 3, true, &[]);
    assert_eq!(map.commits(), (1, false));
    map.log(BOTH, 512, 3, true, &[]);
    assert!(map.damage().contains("a later commit follows on page 512"));
}

#[test]
fn a_page_of_the_log_that_is_no_page_in_both_copies_is_damage_where_a_crash_leaves_none() {
    for sequence in [2, 3] {
        let map = two_commits();
        map.change(Kind::Log, 0, sequence, no_page);
        map.change(Kind::Log, 1, sequence, blank);
        assert_eq!(map.commits(), if sequence == 2 { (1, true) } else { (2, false) });
        map.change(Kind::Log, 1, sequence, no_page);
        let what = map.damage();
        let [one, other] = [0, 1].map(|copy| place(map.at(Kind::Log, copy, sequence).0));
        let wanted = format!(
            "the log: page {sequence} at {one}: there is no page of a map; page {sequence} at {other}: there is no page of a \
             map"
        );
        assert_eq!(what, wanted);
    }
    // A disk with blocks of 512 bytes can tear a page.
    let mut map = two_commits();
    map.disk.geometry.physical_block_bytes = 512;
    let torn = |page: &mut Page| page[60..].fill(0);
    map.change(Kind::Log, 0, 2, torn);
    map.change(Kind::Log, 1, 2, no_page);
    assert_eq!(map.commits(), (1, true));
    // But a page that cannot be read is damage.
    for copy in 0..2 {
        let at = map.at(Kind::Log, copy, 2).0;
        map.disk.inside().unreadable.insert(at);
    }
    assert!(map.damage().contains("EIO"));
}

#[test]
fn records_are_those_of_the_copy_that_is_good() {
    // The checksum is right, and the second record is not valid.
    let nonsense = |page: &mut Page| {
        page[56 + 16 + 7] = 0xf0;
        seal(page, 4);
    };
    for copy in 0..2 {
        let mut map = Map::new(example());
        map.checkpoint(&[zones(&example())]);
        map.change(Kind::Checkpoint, copy, 0, nonsense);
        let found = map.found();
        assert_eq!((found.zones[13], bad(&found)[copy]), ((17, 0), 1));
    }
}

/// A checkpoint was durable in both copies before a superblock referred to it, and a commit before
/// the next one was begun. Only of the last commit a crash leaves such pages.
#[test]
fn a_page_that_is_blank_in_one_copy_is_damage_where_both_were_durable() {
    for copy in 0..2 {
        let damaged = |kind, page| {
            let map = two_commits();
            map.change(kind, copy, page, blank);
            map.found().damaged
        };
        let in_this_copy = [copy == 0, copy == 1];
        assert_eq!(damaged(Kind::Checkpoint, 0), in_this_copy);
        assert_eq!(damaged(Kind::Log, 0), in_this_copy);
        assert_eq!(damaged(Kind::Log, 2), [false; 2]);
    }
}

#[test]
fn pages_are_read_ahead_and_no_others() {
    let reads = |map: &Map, reading| {
        map.disk.steps();
        map.read(reading).unwrap_or_else(|what| panic!("{what}"));
        map.disk.steps()
    };
    // The checkpoint is at block 1 of the first copy; at the end of the log the second copy is
    // read, too.
    let map = two_commits();
    assert_eq!(reads(&map, Reading::Whole), [Read(1, 1), Read(6, 8), Read(250, 5)]);
    let all = [Read(1, 1), Read(242, 1), Read(6, 8), Read(247, 8)];
    assert_eq!(reads(&map, Reading::Compared), all);
    // A page that cannot be read is read alone, as are those with it.
    map.disk.inside().unreadable.insert(7);
    let alone = (6..14).map(|at| Read(at, 1));
    let wanted: Vec<Step> =
        [Read(1, 1), Read(6, 8)].into_iter().chain(alone).chain([Read(248, 7)]).collect();
    assert_eq!(reads(&map, Reading::Whole), wanted);
    // I/Os have at most 128 pages.
    let mut map = Map::new(large());
    let mut pages = vec![vec![]; 130];
    pages[129] = zones(&large());
    map.checkpoint(&pages);
    (0..600).for_each(|sequence| map.log(BOTH, sequence, u64::from(sequence) + 1, true, &[]));
    let log = [(0, 128), (128, 128), (256, 128), (384, 128), (512, 88)];
    let log = log.map(|(ahead, count)| Read(401 + ahead, count));
    let wanted = [&[Read(1, 128), Read(129, 2)], &log[..]].concat();
    assert_eq!(reads(&map, Reading::Whole), wanted);
    assert_eq!(map.commits(), (600, false));
}
