//! The measured part of each sheet is what measuring the drive gives.
//!
//! `SHINGLE_SHEETS=write cargo test -p shingle-drive --test all measured` writes it, after a change of
//! a model. `cargo test -p shingle-drive --release --test all measured -- --ignored` holds those to their sheets that take
//! long.

use shingle_core::units::Nanos;
use shingle_drive::measure::{
    Line, Placement, Plan, Sequence, measure, rewrite, rewrite_file, rmw,
};
use shingle_drive::{Overrides, Settings, Timing, entry, make};
use std::path::PathBuf;

/// Measures as the command does: every fill of the buffer, nothing left out.
fn check(name: &str) {
    let measured = measure(name).expect("a disk");
    let path = PathBuf::from(format!("{}/data/{name}.toml", env!("CARGO_MANIFEST_DIR")));
    if std::env::var("SHINGLE_SHEETS").is_ok_and(|value| value == "write") {
        rewrite_file(&path, name, &measured).expect("a sheet");
    }
    let text = std::fs::read_to_string(&path).expect("readable");
    let fresh = rewrite(&text, name, &measured).expect("a sheet");
    let differ = text.lines().zip(fresh.lines()).find(|(old, new)| old != new);
    let write = "SHINGLE_SHEETS=write cargo test -p shingle-drive --test all measured";
    assert!(text == fresh, "{name}: {differ:?}; if that is meant: {write}");
}

#[test]
fn st8000as0002_is_as_its_sheet_says() {
    check("st8000as0002");
}

#[test]
#[ignore = "seconds; see the head of this file"]
fn st5000as0011_is_as_its_sheet_says() {
    check("st5000as0011");
}

#[test]
#[ignore = "seconds; see the head of this file"]
fn disks_that_one_can_buy_are_as_their_sheets_say() {
    check("st8000dm004");
    check("wd60ezaz");
    check("hdwd220");
}

#[test]
fn ha_roco_is_as_its_sheet_says() {
    check("ha-roco");
}

#[test]
#[ignore = "seconds; see the head of this file"]
fn ha_256m_is_as_its_sheet_says() {
    check("ha-256m");
}

#[test]
fn conventional_disks_are_as_their_sheets_say() {
    check("cmr5900");
    check("cmr7200");
}

/// `L_read` only: they have no buffer that cleans. What hosts plan with for a zone are the costs.
#[test]
fn host_managed_disks_are_as_their_sheets_say() {
    check("exos-x18z");
    check("hc620");
    check("hc680");
    check("hc690");
    check("hm-tiny");
}

/// Over the first 260 GB of SAC's emulator a band is a zone of 5,000 blocks, and its costs are
/// given: 0.3 ms a block into the buffer, 435.833 ms + 0.728 ms a block out of it.
#[test]
fn measuring_the_emulator_returns_its_costs() {
    let plan = Plan { placement: Placement::Adjacent, ..Plan::default() };
    let found = rmw("sac-emulator", &Settings::default(), &plan).expect("measured");
    for point in &found.points {
        let blocks = point.blocks;
        assert_eq!(point.cleanings, point.zones);
        assert_eq!(point.log_time, Nanos::from_micros(300 * blocks * point.zones));
        assert_eq!(point.clean_time, Nanos::from_micros((435_833 + 728 * blocks) * point.zones));
        assert_eq!(point.time, point.log_time + point.clean_time);
        // A zone's blocks leave at once, so a write waits, and all others of its zone find room.
        let clusters = point.clusters();
        assert_eq!((clusters.count, clusters.gap_writes), (point.zones, (blocks - 1) as f64));
    }
    assert!((found.line.slope - 1.028).abs() < 1e-9, "{:?}", found.line);
    assert!((found.line.intercept - 435.833).abs() < 1e-6, "{:?}", found.line);
    assert!((found.line.r_squared - 1.0).abs() < 1e-9, "{:?}", found.line);
}

#[test]
fn hosts_plan_with_what_was_measured_under_mechanics_only() {
    let costs = |name: &str, timing, set: &[(&str, &str)]| {
        let mut overrides = Overrides::new();
        set.iter().for_each(|(name, value)| overrides.set(name, value));
        let settings = Settings { timing: Some(timing), overrides, ..Settings::default() };
        let costs = make(name, &settings).expect("made").description().costs;
        [costs.read, costs.rmw_base, costs.rmw_per_block].map(|cost| cost.0 / 1000)
    };
    let sheet = |name: &str, parameter: &str| -> u64 {
        let all = entry(name).expect("known").parameters();
        let found = all.iter().find(|one| one.name == parameter).expect("in the sheet");
        found.value.to_string().parse().expect("a count")
    };
    for name in ["st8000as0002", "st5000as0011"] {
        let expected = ["measured_read_us", "measured_rmw_base_us", "measured_rmw_us_per_block"]
            .map(|parameter| sheet(name, parameter));
        assert_eq!(costs(name, Timing::Mechanics, &[]), expected);
        assert_eq!(costs(name, Timing::Cost, &[]), [14_000, 435_833, 728]);
        let set = [("measured_read_us", "1"), ("measured_rmw_base_us", "2")];
        assert_eq!(costs(name, Timing::Mechanics, &set), [1, 2, expected[2]]);
        assert_eq!(costs(name, Timing::Cost, &set), [14_000, 435_833, 728]);
    }
    assert_eq!(costs("sac-emulator", Timing::Cost, &[]), [14_000, 435_833, 728]);
    let [read, base, slope] = costs("cmr5900", Timing::Mechanics, &[]);
    assert_eq!([read, base, slope], [sheet("cmr5900", "measured_read_us"), 0, 7000]);
    assert_eq!(costs("cmr5900", Timing::Cost, &[]), [13_000, 0, 7000]);
}

#[test]
fn what_cannot_be_measured_is_refused_in_a_line() {
    let refused = |error: String, begins: &str| {
        assert!(error.starts_with(begins) && error.lines().count() == 1, "{error}");
    };
    refused(
        measure("sac-emulator").expect_err("no mechanics").to_string(),
        "sac-emulator: no mech",
    );
    refused(measure("pcie-ssd").expect_err("no mechanics").to_string(), "pcie-ssd: no mech");
    refused(measure("st8000").expect_err("unknown").to_string(), "there is no drive `st8000`; ");
    let plan = |name: &str, set: &[(&str, &str)], plan: Plan| {
        let mut overrides = Overrides::new();
        set.iter().for_each(|(name, value)| overrides.set(name, value));
        let settings = Settings { overrides, ..Settings::default() };
        rmw(name, &settings, &plan).expect_err("refused").to_string()
    };
    let (smr, plain) = ("st8000as0002", Plan::default());
    refused(plan("cmr5900", &[], plain.clone()), "cmr5900: R(x) is of drives with a buffer");
    refused(plan(smr, &[], Plan { zone_blocks: 0, ..plain.clone() }), "st8000as0002: from 1 to");
    refused(plan(smr, &[], Plan { zone_blocks: 1, ..plain.clone() }), "st8000as0002: from 1 to");
    refused(plan(smr, &[], Plan { fills: 0, ..plain.clone() }), "st8000as0002: the buffer is");
    let coverages = |blocks: &[u64]| Plan { coverages: blocks.to_vec(), ..Plan::default() };
    refused(plan(smr, &[], coverages(&[0, 500])), "st8000as0002: a coverage is from one block");
    refused(plan(smr, &[], coverages(&[5001])), "st8000as0002: a coverage is from one block");
    refused(plan("sac-emulator", &[], coverages(&[2500])), "sac-emulator: a line needs two");
    let small = [("capacity_bytes", "200000000")];
    refused(plan(smr, &small, plain), "st8000as0002: the drive is too small to fill its buffer");
}

/// What SAC's section 4.4 leaves open is worth more than the coverage: `docs/drives.md` explains.
#[test]
fn the_order_and_the_place_of_zones_decide_the_line() {
    let few = Plan { coverages: vec![500, 2500], fills: 1, ..Plan::default() };
    let random = line(&few, Placement::Scattered, Sequence::Random);
    let sorted = line(&few, Placement::Scattered, Sequence::Ascending);
    let adjacent = line(&few, Placement::Adjacent, Sequence::Ascending);
    // By address a block costs its write to the log, 0.309 ms, and its share of one long read of
    // it, 4 KiB at 189 MB/s: 0.022 ms. A zone begins anywhere in a band, which varies the rest.
    assert!((adjacent.slope - 0.331).abs() < 0.01, "{adjacent:?}");
    assert!((sorted.slope - 0.331).abs() < 0.05, "{sorted:?}");
    // As drawn, a zone over two bands lies in the log in pieces, each a read of its own.
    assert!(random.slope > 4.0 * sorted.slope, "{random:?} {sorted:?}");
    // Neighbours share the rewriting of a band.
    assert!(adjacent.intercept < 0.6 * sorted.intercept, "{adjacent:?} {sorted:?}");
}

/// Prints the table of `docs/drives.md`, with all coverages.
#[test]
#[ignore = "seconds; see the head of this file"]
fn lines_by_order_and_place() {
    for sequence in [Sequence::Random, Sequence::Ascending] {
        for placement in [Placement::Scattered, Placement::Adjacent] {
            let line = line(&Plan::default(), placement, sequence);
            println!(
                "{sequence:?}, {placement:?}: {:.3} ms x + {:.0} ms",
                line.slope, line.intercept
            );
            assert!(line.r_squared > 0.99, "{line:?}");
        }
    }
}

fn line(plan: &Plan, placement: Placement, sequence: Sequence) -> Line {
    let plan = Plan { placement, sequence, ..plan.clone() };
    rmw("st8000as0002", &Settings::default(), &plan).expect("measured").line
}
