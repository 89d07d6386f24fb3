//! The SSD made of flash: by hand page by page, against a plain map, and against the analysis of
//! greedy garbage collection.

use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::{Drive, Io, Overrides, Rng, Served, Settings, Stamp, Timing, make_ssd};

/// Of a page over the pins of its unit.
const BUS: Nanos = Nanos(102_400);
const PROGRAM: Nanos = Nanos::from_micros(200);
const READ: Nanos = Nanos::from_micros(25);
const ERASE: Nanos = Nanos::from_micros(1500);

/// An SSD of so many units, erase blocks in each, pages in each of these; and the share that the
/// host does not get.
fn ssd(units: u64, blocks: u64, pages: u64, spare_percent: u64) -> Box<dyn Drive> {
    let overrides = Overrides::new()
        .with("units", &units.to_string())
        .with("blocks_per_unit", &blocks.to_string())
        .with("pages_per_block", &pages.to_string())
        .with("over_provisioning_percent", &spare_percent.to_string());
    make_ssd("ssd-slc", &Settings { overrides, ..Settings::default() }).expect("an SSD")
}

fn io(drive: &mut dyn Drive, now: Nanos, op: Op, block: u64, count: u64) -> Served {
    let served = drive.serve(now, &Io { op, block: Block(block), count }, &mut []);
    drive.check();
    served
}

/// Pages programmed, pages copied, erases.
fn flash(drive: &dyn Drive) -> [u64; 3] {
    let counters = drive.counters();
    [counters.pages_programmed, counters.pages_copied, counters.flash_blocks_erased]
}

/// One unit of four erase blocks A to D with four pages each; one block is kept erased. The host
/// has eight pages, 0 to 7.
fn three_blocks_written() -> Box<dyn Drive> {
    let mut drive = ssd(1, 4, 4, 50);
    assert_eq!(drive.description().disk_blocks, 8);
    // A: 0 1 2 3, B: 4 5 6 7, C: 0 1 4 5.
    for block in [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 4, 5] {
        let served = io(drive.as_mut(), Nanos::ZERO, Op::Write, block, 1);
        assert_eq!(served.clean, Nanos::ZERO, "there are erased blocks");
    }
    assert_eq!(flash(drive.as_ref()), [12, 0, 0]);
    drive
}

#[test]
fn garbage_collection_by_hand() {
    let mut drive = three_blocks_written();
    let drive = drive.as_mut();
    // D is opened, and nothing is erased. A and B have two invalid pages each, and A had them first:
    // 2 and 3 are copied, A is erased. D: 2 3 2.
    let served = io(drive, Nanos::ZERO, Op::Write, 2, 1);
    assert_eq!(flash(drive), [15, 2, 1]);
    let copy = READ + PROGRAM;
    assert_eq!(served.clean, copy + copy + ERASE);
    // D: 2 3 2 6, of which the first is invalid.
    assert_eq!(io(drive, Nanos::ZERO, Op::Write, 6, 1).clean, Nanos::ZERO);
    // A is opened. B has three invalid pages, D has one, C none: 7 is copied. A: 7 3.
    assert_eq!(io(drive, Nanos::ZERO, Op::Write, 3, 1).clean, copy + ERASE);
    assert_eq!(flash(drive), [18, 3, 2]);
    let counters = drive.counters();
    assert_eq!(counters.clean_time, copy + copy + copy + ERASE + ERASE);
    assert_eq!(counters.write_time, Nanos(15 * (BUS + PROGRAM).0));
}

#[test]
fn what_is_trimmed_is_not_copied() {
    let mut drive = three_blocks_written();
    let drive = drive.as_mut();
    assert_eq!(io(drive, Nanos::ZERO, Op::Trim, 6, 2).done, Nanos::ZERO);
    // B has no valid page left.
    assert_eq!(io(drive, Nanos::ZERO, Op::Write, 2, 1).clean, ERASE);
    assert_eq!(flash(drive), [13, 0, 1]);
}

#[test]
fn units_work_side_by_side() {
    let mut drive = ssd(2, 8, 4, 50);
    let drive = drive.as_mut();
    let write = BUS + PROGRAM;
    for (block, wait) in [(0, Nanos::ZERO), (1, Nanos::ZERO), (2, write), (4, write + write)] {
        let served = io(drive, Nanos::ZERO, Op::Write, block, 1);
        assert_eq!((served.wait, served.done), (wait, wait + write), "block {block}");
        assert_eq!((served.command, served.transfer), (BUS, PROGRAM));
    }
    // Of five blocks from 1 on, 1, 3 and 5 are on the second unit.
    let served = io(drive, Nanos::from_millis(9), Op::Write, 1, 5);
    assert_eq!(served.done, Nanos::from_millis(9) + write + write + write);
    assert_eq!((served.command, served.transfer), (Nanos(3 * BUS.0), Nanos(3 * PROGRAM.0)));
    // Block 20 was never written: only zeros go over the pins.
    for (block, time) in [(3, BUS + READ), (20, BUS)] {
        let served = io(drive, Nanos::from_millis(20), Op::Read, block, 1);
        assert_eq!(served.done, Nanos::from_millis(20) + time);
    }
}

#[test]
fn what_comes_earlier_does_not_wait_for_what_comes_later() {
    let mut drive = ssd(2, 8, 4, 50);
    let drive = drive.as_mut();
    // The first write waits for a disk; the read of the same unit does not.
    io(drive, Nanos::from_millis(10), Op::Write, 0, 1);
    let served = io(drive, Nanos::from_millis(1), Op::Read, 0, 1);
    assert_eq!((served.wait, served.done), (Nanos::ZERO, Nanos::from_millis(1) + BUS + READ));
}

#[test]
fn settings_that_leave_no_spare_pages_are_refused() {
    let refused = |settings| make_ssd("ssd-slc", &settings).err().expect("refused").to_string();
    let overrides = Overrides::new().with("over_provisioning_percent", "5");
    let error = refused(Settings { overrides, ..Settings::default() });
    assert!(error.starts_with("ssd-slc: no spare pages"), "{error}");
    let error = refused(Settings { timing: Some(Timing::Mechanics), ..Settings::default() });
    assert!(error.contains("no mechanics"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nearly full, with I/O of all sizes that comes in any order of time.
    #[test]
    fn each_read_returns_the_last_write(
        steps in prop::collection::vec((0u8..8, 0u64..54, 1u64..14, 0u64..40), 1..300),
    ) {
        let mut drive = ssd(3, 6, 4, 25);
        let mut model = [0 as Stamp; 54];
        prop_assert_eq!(drive.description().disk_blocks, 54);
        for (turn, (kind, block, count, now)) in steps.into_iter().enumerate() {
            let count = count.min(54 - block);
            let now = Nanos::from_micros(10 * turn as u64 + 100 * now);
            let place = block as usize..(block + count) as usize;
            let (op, mut data) = match kind {
                0 => (Op::Trim, vec![]),
                1..3 => (Op::Read, vec![Stamp::MAX; count as usize]),
                _ => (Op::Write, (0..count).map(|at| 100 * (turn as u64 + 1) + at).collect()),
            };
            let served = drive.serve(now, &Io { op, block: Block(block), count }, &mut data);
            drive.check();
            let spans = [served.wait, served.command, served.transfer, served.clean];
            prop_assert_eq!(now + spans.into_iter().sum(), served.done);
            match op {
                Op::Read => prop_assert_eq!(&data[..], &model[place]),
                Op::Write => model[place].copy_from_slice(&data),
                _ => model[place].fill(0),
            }
        }
        let mut data = [0; 54];
        drive.copy().serve(Nanos::ZERO, &Io { op: Op::Read, block: Block(0), count: 54 }, &mut data);
        prop_assert_eq!(data, model);
    }
}

/// Pages programmed for each page written, after what was before.
fn write_amplification(
    drive: &mut dyn Drive,
    writes: u64,
    mut block: impl FnMut(u64) -> u64,
) -> f64 {
    let before = drive.counters().pages_programmed;
    for turn in 0..writes {
        let io = Io { op: Op::Write, block: Block(block(turn)), count: 1 };
        drive.serve(Nanos::ZERO, &io, &mut []);
    }
    (drive.counters().pages_programmed - before) as f64 / writes as f64
}

#[test]
fn overwriting_in_order_copies_nothing() {
    let mut drive = ssd(4, 64, 16, 15);
    let blocks = drive.description().disk_blocks;
    let found = write_amplification(drive.as_mut(), 5 * blocks, |turn| turn % blocks);
    assert!((found - 1.0).abs() < 1e-9, "{found}");
    assert!(drive.counters().flash_blocks_erased > 4 * 64);
    drive.check();
}

/// Desnoyers (SYSTOR 2012, "Analytic modeling of SSD write performance") analyses collection of the
/// block written longest ago, under uniform random writes: with `a` physical pages for each logical
/// one, a share `u = exp(-a (1 - u))` of its pages is still valid, and each page written takes
/// `1 / (1 - u)` programs. Greedy collection does better, and for large erase blocks hardly so.
#[test]
fn uniform_writes_amplify_as_analysed() {
    for spare_percent in [15, 30] {
        let mut drive = ssd(2, 256, 64, spare_percent);
        let blocks = drive.description().disk_blocks;
        let mut rng = Rng::new(1);
        write_amplification(drive.as_mut(), blocks, |turn| turn);
        write_amplification(drive.as_mut(), 4 * blocks, |_| rng.below(blocks));
        let found = write_amplification(drive.as_mut(), 4 * blocks, |_| rng.below(blocks));
        // Blocks that are kept erased are no spare pages: 5 % of 256, rounded up, are 13.
        let a = (2 * (256 - 13) * 64) as f64 / blocks as f64;
        let valid = (0..10_000).fold(0.0, |valid: f64, _| libm::exp(-a * (1.0 - valid)));
        let analysed = 1.0 / (1.0 - valid);
        println!("{spare_percent} % spare: {found:.3} found, {analysed:.3} analysed");
        assert!(found < analysed && found > 0.9 * analysed, "{found}, analysed {analysed}");
        drive.check();
    }
}
