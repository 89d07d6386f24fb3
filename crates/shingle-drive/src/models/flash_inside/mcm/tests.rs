//! Migration and garbage collection step by step.

use super::*;
use crate::models::flash_inside::step::Recorder;
use crate::parts::flash::Page;
use shingle_core::units::Zone;

fn values() -> Values {
    let sheet = crate::sheet::Sheet::parse(include_str!("../../../../data/mcm.toml"));
    Values { mcm_look_ahead: 0, mcm_reserve_blocks: 1, ..sheet.values() }
}

/// One unit of erase blocks; bands of ten blocks. Nothing is done in the background.
fn mcm(blocks_per_unit: u32, pages_per_block: u32, shares: [u32; 3], values: Values) -> Mcm {
    let [mcm_shr_share, mcm_rdr_share, mcm_rbr_share] = shares;
    let values = Values { mcm_shr_share, mcm_rdr_share, mcm_rbr_share, ..values };
    let geometry = Geometry { units: 1, blocks_per_unit, pages_per_block };
    let marks = Marks { low: 1, high: 2, background: false };
    Mcm::with(&values, geometry, &Runs::new(&[(10, 1000)], 10_000), marks).expect("large enough")
}

/// The erase block that holds a block of the disk.
fn block_of(mcm: &Mcm, block: u64) -> EraseBlock {
    mcm.space.geometry().block_of(mcm.space.find(block).expect("on the flash"))
}

/// Figure 7. The paper names the erase blocks #1001 and #102, says that 1011 and 1012 are hot and go
/// to SHR, and that the others go to the disk. **What else the two blocks hold is made up here**: all
/// else that is valid is cold, and #102 has more invalid pages.
#[test]
fn the_papers_garbage_collection() {
    // 0 to 3 SHR, 4 to 7 RDR, 8 to 11 RBR, of four pages.
    let mut mcm = mcm(12, 4, [1, 1, 1], values());
    for block in [2001, 1011, 1012, 3005, 4001, 4002, 3004, 5001] {
        let to = mcm.space.next(&mut mcm.fronts[RBR], RBR, &[(RBR, 0)]).expect("room");
        mcm.space.program(to, block);
    }
    let (number_1001, number_102) = (block_of(&mcm, 1011), block_of(&mcm, 3004));
    assert_eq!((number_1001, number_102), (EraseBlock(8), EraseBlock(9)));
    [2001, 4001, 4002].into_iter().for_each(|block| mcm.space.forget(block));
    // Blocks 1010 to 1019 are band 101.
    (0..3).for_each(|_| mcm.filter.insert(Zone(101)));
    mcm.returns = mcm.returns_max();
    let mut steps = Recorder::default();
    // #102 has most invalid pages.
    mcm.collect_garbage(&mut steps);
    let load = |block, page| Step::Load { block, page: Page(page) };
    let erase = Step::Erase;
    assert_eq!(
        steps.take(),
        [load(3004, 9 * 4 + 2), load(5001, 9 * 4 + 3), Step::WriteBack, erase(number_102)]
    );
    // Then #1001: its hot pages go to SHR, whose first free block is 0.
    mcm.collect_garbage(&mut steps);
    let copy = |from, to| Step::Copy { from: Page(from), to: Page(to) };
    assert_eq!(
        steps.take(),
        [
            copy(8 * 4 + 1, 0),
            copy(8 * 4 + 2, 1),
            load(3005, 8 * 4 + 3),
            Step::WriteBack,
            erase(number_1001)
        ]
    );
    // The map has been updated.
    assert_eq!(mcm.space.find(1011), Some(Page(0)));
    assert_eq!(mcm.space.find(1012), Some(Page(1)));
    assert!([3004, 3005, 5001].into_iter().all(|block| mcm.space.find(block).is_none()));
    mcm.check();
}

#[test]
fn hot_pages_go_to_the_disk_when_the_reserve_is_full() {
    let mut mcm = mcm(12, 2, [1, 1, 1], values());
    // SHR: two full blocks, of which neither is free; the reserve is the last.
    for (region, pool, blocks) in [(SHR, SHR, 0..6), (RBR, RBR, 100..104)] {
        for block in blocks {
            let to = mcm.space.next(&mut mcm.fronts[region], region, &[(pool, 0)]).expect("room");
            mcm.space.program(to, block);
        }
    }
    (0..3).for_each(|_| mcm.filter.insert(Zone(10)));
    mcm.returns = mcm.returns_max();
    assert_eq!((mcm.returns, mcm.space.free(SHR)), (2, 1));
    let mut steps = Recorder::default();
    mcm.collect_garbage(&mut steps);
    mcm.collect_garbage(&mut steps);
    let (copies, loads): (Vec<_>, Vec<_>) = (
        steps.0.iter().filter(|step| matches!(step, Step::Copy { .. })).collect(),
        steps.0.iter().filter(|step| matches!(step, Step::Load { .. })).collect(),
    );
    assert_eq!((copies.len(), loads.len(), mcm.space.free(SHR)), (2, 2, 0));
    mcm.check();
}

/// Figure 7 without returns: what is hot goes to the disk with the rest.
#[test]
fn without_returns_all_that_leaves_goes_to_the_disk() {
    let mut mcm = mcm(12, 2, [1, 1, 1], Values { mcm_returns: false, ..values() });
    for block in 100..104 {
        let to = mcm.space.next(&mut mcm.fronts[RBR], RBR, &[(RBR, 0)]).expect("room");
        mcm.space.program(to, block);
    }
    (0..3).for_each(|_| mcm.filter.insert(Zone(10)));
    mcm.returns = mcm.returns_max();
    let mut steps = Recorder::default();
    mcm.collect_garbage(&mut steps);
    let load = |block, page| Step::Load { block, page: Page(page) };
    let wanted = [load(100, 16), load(101, 17), Step::WriteBack, Step::Erase(EraseBlock(8))];
    assert_eq!(steps.take(), wanted);
}

/// Runs of four writes in band 1, each broken off by two writes elsewhere. Counting each write, three
/// make the band hot: the fourth goes to the flash, and all of the next runs. Counting once a run, the
/// first write of the third run is the third count: the other three are hot, and all of the fourth run.
/// Never counting, none is.
#[test]
fn what_a_run_counts_decides_what_passes_the_flash() {
    for (counts, hot) in [(1_000_000, [1, 4, 4, 4]), (1, [0, 0, 3, 4]), (0, [0; 4])] {
        let mut mcm = mcm(12, 8, [1, 1, 1], Values { mcm_run_counts: counts, ..values() });
        // Without look-ahead the first two writes of a run are random, so runs are six long.
        let runs = hot.map(|_| {
            let mut steps = Recorder::default();
            for _ in 0..6 {
                mcm.write(10, 1, &mut steps);
            }
            let programs =
                steps.take().iter().filter(|s| matches!(s, Step::Program { .. })).count();
            [500, 700].into_iter().for_each(|block| mcm.write(block, 1, &mut steps));
            mcm.check();
            programs - 2
        });
        assert_eq!(runs, hot, "counting {counts} times a run");
    }
}

/// Random writes until all regions are full. Four erase blocks of two pages in each region: 0 to 3
/// SHR, 4 to 7 RDR, 8 to 11 RBR.
#[test]
fn borrowing_migration_and_collection_by_hand() {
    let mut mcm = mcm(12, 2, [1, 1, 1], values());
    let mut steps = Recorder::default();
    let mut next = 0;
    let mut write = |mcm: &mut Mcm, steps: &mut Recorder| {
        // Each in a band of its own.
        next += 10;
        mcm.write(next, 1, steps);
        mcm.check();
        let step = steps.0.pop().expect("a program");
        let Step::Program { block, page } = step else { panic!("{step:?}") };
        assert_eq!(block, next);
        (steps.take(), page.0)
    };
    // RDR's own blocks, then those of SHR but one.
    for page in (8..16).chain(0..6) {
        assert_eq!(write(&mut mcm, &mut steps), (vec![], page));
    }
    let copy = |from, to| Step::Copy { from: Page(from), to: Page(to) };
    let erase = |block| Step::Erase(EraseBlock(block));
    // No block has invalid pages or was erased: 4, filled first, is coldest. Its pages go to 8; 4 is
    // RBR's now, and 9 RDR's.
    assert_eq!(write(&mut mcm, &mut steps), (vec![copy(8, 16), copy(9, 17), erase(4)], 18));
    assert_eq!(write(&mut mcm, &mut steps), (vec![], 19));
    // 5 goes to 10, and 11 comes.
    assert_eq!(write(&mut mcm, &mut steps), (vec![copy(10, 20), copy(11, 21), erase(5)], 22));
    assert_eq!(write(&mut mcm, &mut steps), (vec![], 23));
    // 6 goes to 4, which was freed first, and 5 comes.
    assert_eq!(write(&mut mcm, &mut steps), (vec![copy(12, 8), copy(13, 9), erase(6)], 10));
    assert_eq!(write(&mut mcm, &mut steps), (vec![], 11));
    // RBR has one free block, 6. Of its full ones, 8, 10 and 4, none has invalid pages: 8, which was
    // filled first, goes to the disk. Then 7 goes to 6, and 8 comes.
    let load = |block, page| Step::Load { block, page: Page(page) };
    let collected = vec![load(10, 16), load(20, 17), Step::WriteBack, erase(8)];
    let migrated = vec![copy(14, 12), copy(15, 13), erase(7)];
    assert_eq!(write(&mut mcm, &mut steps), ([collected, migrated].concat(), 16));
    assert_eq!((mcm.space.tally.migrated_blocks, mcm.space.tally.migrated_pages), (4, 8));
    assert_eq!([SHR, RDR, RBR].map(|region| mcm.space.free(region)), [1, 0, 1]);
}

/// Equation 3 with 0.6 and 0.4, and which block leaves by it.
#[test]
fn temperature_by_hand() {
    let leaves = |values: Values| {
        let mut mcm = mcm(12, 4, [1, 1, 1], values);
        let mut steps = Recorder::default();
        let fill = |mcm: &mut Mcm, blocks: std::ops::Range<u64>| {
            for block in blocks {
                let to = mcm.space.next(&mut mcm.fronts[RDR], RDR, &[(RDR, 0)]).expect("room");
                mcm.space.program(to, block);
            }
        };
        // Block 4 is erased once, and filled again after the others.
        fill(&mut mcm, 0..4);
        (0..4).for_each(|block| mcm.space.forget(block));
        mcm.space.erase(EraseBlock(4), &mut steps);
        fill(&mut mcm, 10..26);
        // 5: 10 to 13, one invalid. 6: 14 to 17, two invalid. 7: none. 4: none.
        [10, 14, 15].into_iter().for_each(|block| mcm.space.forget(block));
        mcm.space.coldest(RDR).expect("full blocks")
    };
    // 5: 0.6, 6: 1.2, 7: 0, 4: 0.4.
    assert_eq!(leaves(values()), EraseBlock(7));
    assert_eq!(leaves(Values { mcm_smaller_is_colder: false, ..values() }), EraseBlock(6));
    // Erases alone: 5, 6 and 7 were never erased, and 5 was filled first; 4 was.
    let erases = Values { mcm_alpha: 0.0, ..values() };
    assert_eq!(leaves(erases.clone()), EraseBlock(5));
    assert_eq!(leaves(Values { mcm_smaller_is_colder: false, ..erases }), EraseBlock(4));
}
