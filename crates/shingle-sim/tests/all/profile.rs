//! A disk made of its profile, in place of the disk: policies that plan with it cause the same RMWs.

use std::path::PathBuf;

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_drive::profile::{BandFacts, parse};
use shingle_drive::{Settings, make};
use shingle_sim::experiment::{plan, run_all};

use crate::common::{prototypes, read};

const DISK: &str = "st8000as0002";

/// A profile of what is true of the disk, twenty bands of it, and how to name it as a drive.
fn profile() -> String {
    let page = include_str!("../../../../docs/profile.md");
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut profile = parse(text.expect("an example")).expect("a profile");
    let disk = make(DISK, &Settings::default()).expect("a drive");
    let known = disk.description();
    let map = known.bands.clone().expect("bands");
    profile.bytes = known.disk_blocks * BLOCK_BYTES;
    let bands = (0..20).map(|nth| map.zone(Block(known.disk_blocks / 20 * nth)));
    profile.bands = bands
        .map(|zone| {
            let (first_block, blocks) = (map.first_block(zone).0, map.blocks(zone));
            BandFacts { first_block, blocks, error_blocks: 0 }
        })
        .collect();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("truth.toml");
    std::fs::write(&path, profile.to_text()).expect("written");
    format!("profile:{}", path.display())
}

#[test]
fn sac_causes_the_rmws_of_the_disk_on_its_profile() {
    let drives = [DISK.to_owned(), profile()];
    for workload in [
        "synth:zipf?requests=600k&range=8GB&size=8KiB&theta=0.9",
        "synth:uniform?requests=400k&range=4GB&size=4KiB",
    ] {
        let trace = read(workload);
        let [disk, model] = drives.each_ref().map(|drive| {
            let mut options = prototypes(&["sac"], &["5%zones"], &[]);
            options.drives = vec![drive.clone()];
            let (jobs, _) = plan(&options, &Registry::default(), &trace).expect("valid options");
            let runs = run_all(&jobs, &trace, &|_| {}).expect("no stale read");
            runs[0].all.drive_io.rmw
        });
        assert!(disk > 500, "{workload} keeps the cleaner busy: {disk}");
        assert!(model.abs_diff(disk) * 20 <= disk, "{workload}: {model} of {disk}");
    }
}
