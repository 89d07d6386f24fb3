//! `shingle probe` as a user meets it.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use common::{Folder, text};
use shingle_probe::options::Options;
use shingle_probe::session::Subject;

/// A disk with a small buffer, and a probe that is content with little.
const SMALL: &str = "--model st8000as0002 --set drive.packets_max=2000 --set drive.packets_trigger=2000 \
     --set drive.log_bytes=400000000 --buffer-max 2GiB --sites 6 --idle-max 2 \
     --writes 4KiB:1,8KiB:1,256KiB:1";

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn sized(path: &Path, mib: u64) {
    File::create(path).and_then(|file| file.set_len(mib << 20)).expect("made");
}

/// SAC decides as well with what was probed as with what is so.
#[test]
fn a_profile_is_as_good_as_the_truth() {
    let bed = Folder::new();
    let told = bed.done(&format!("probe {SMALL} --profile disk.toml --html page.html"));
    for words in ["drive-managed", "writes or 400 MB", "at 6 of 6 places", "R(x)", "idle"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let page = fs::read_to_string(bed.path("page.html")).expect("a page");
    assert_eq!(page.matches("<svg").count(), 3 + 6 + 1);
    let shown = page
        .split_once("<pre>")
        .expect("what was found")
        .1
        .split_once("</pre>")
        .expect("its end")
        .0;
    for line in shown.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(shown.contains("\nso        random writes of 4 KiB run at "), "{shown}");
    assert!(shown.contains("\n          "), "a long line goes on below its text: {shown}");

    let profile: toml::Table =
        fs::read_to_string(bed.path("disk.toml")).expect("there").parse().expect("TOML");
    let number = |table: &str, name: &str| {
        let value = &profile[table][name];
        value.as_float().or(value.as_integer().map(|value| value as f64)).expect("a number")
    };
    let drive = "-d st8000as0002 --set drive.pb=65536000 --set drive.extents=16000 -c 4%";
    let costs = format!(
        "--set drive.measured_read_us={:.0} --set drive.measured_rmw_base_us={:.0} \
         --set drive.measured_rmw_us_per_block={:.0} --set sac.cycle={:.6}",
        number("read", "random_us"),
        number("rmw", "base_us").max(0.0),
        number("rmw", "us_per_block"),
        number("buffer", "extents") / 16_000.0
    );
    for workload in ["synth:mixed", "synth:zipf", "synth:uniform"] {
        let rmws = |more: &str| {
            let line = format!("run {workload} -p sac {drive} {more} --quiet --json -");
            let report = bed.json(&line);
            report["runs"][0]["all"]["drive_io"]["rmw"].as_f64().expect("RMWs")
        };
        let (truth, probed) = (rmws(""), rmws(&costs));
        assert!(truth > 100.0, "{workload}: {truth}");
        assert!((probed / truth - 1.0).abs() <= 0.05, "{workload}: {probed} for {truth}");
    }
    // The model of the profile does what the probed one does, whatever the policy and the pacing.
    let same = "probe agree --model st8000as0002 --set drive.packets_max=2000 \
         --set drive.packets_trigger=2000 --set drive.log_bytes=400000000 --profile disk.toml \
         --traces synth:mixed,synth:zipf --requests 60k";
    let told = bed.done(same);
    assert!(told.contains("I/O time within 25 % in 16 of 16 runs"), "{told}");
    assert!(told.contains("The same policy wins everywhere"), "{told}");
    // Without reads by distance it does not, and says so where it is used.
    let text = fs::read_to_string(bed.path("disk.toml")).expect("there");
    let (before, rest) = text.split_once("[mechanics]").expect("measured");
    let after = rest.split_once("[buffer]").expect("measured").1;
    fs::write(bed.path("old.toml"), format!("{before}[buffer]{after}")).expect("written");
    let old = bed.output(&same.replace("disk.toml", "old.toml"));
    assert_eq!(old.status.code(), Some(1), "{}", text_of(&old));
    let old = bed.output("run synth:mixed --requests 1k -p none -d profile:old.toml");
    assert!(text_of(&old).contains("reads by distance were not measured"), "{}", text_of(&old));
    // The calibrated model runs, too.
    let line = "run synth:mixed --requests 60k -p sac -d profile:disk.toml --quiet --json -";
    let report = bed.json(line);
    assert_eq!(report["runs"][0]["drive"], "profile:disk.toml");
}

/// The figures of `docs/profile.md`, as printed there: each model probed, and all policies on both. It
/// takes minutes, so it is run by name: `cargo test -p shingle --test probe -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn profiles_are_the_disks_that_were_probed() {
    let bed = Folder::new();
    for model in ["st8000as0002", "st5000as0011", "cmr5900", "cmr7200"] {
        println!("{model}\n{}", bed.done(&format!("probe agree --model {model}")));
    }
}

#[test]
fn a_plan_writes_nothing_and_a_plain_file_is_told_as_what_it_is() {
    let bed = Folder::new();
    sized(&bed.path("plain.img"), 256);
    let plan = bed.done("probe plain.img --dry-run");
    assert!(plan.contains("plain.img") && plan.contains("all "), "{plan}");
    assert_eq!(fs::read(bed.path("plain.img")).expect("there"), vec![0; 256 << 20]);
    // No mechanics of this machine are as slow as a disk's; on one that is, it is told so.
    let told = bed.done("probe plain.img --quiet --profile plain.toml");
    let kind = told.lines().find(|line| line.starts_with("is ")).expect("a kind");
    assert!(
        ["solid-state", "conventional", "not found out"].iter().any(|words| kind.contains(words)),
        "{told}"
    );
    assert!(!told.contains("R(x)") && !told.contains("buffer "), "{told}");
    assert!(bed.path("plain.img.probe").exists());
    // It may be probed again: what is on it is the probe's own.
    fs::remove_file(bed.path("plain.img.probe")).expect("there");
    let told = text_of(&bed.output("probe plain.img"));
    let before = "if the disk has a buffer, some ";
    assert!(told.contains(before) && told.contains(" are written, in about "), "{told}");
}

#[test]
fn a_disk_that_holds_data_is_refused() {
    let bed = Folder::new();
    sized(&bed.path("small.img"), 8);
    sized(&bed.path("data.img"), 256);
    let data = bed.path("data.img");
    let mut bytes = vec![0; 256 << 20];
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    fs::write(&data, &bytes).expect("written");
    sized(&bed.path("locked.img"), 256);
    let locked = bed.path("locked.img");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).expect("set");
    for (line, told) in [
        ("probe small.img", "256 MiB"),
        ("probe data.img", "partition table"),
        ("probe data.img --destroy other.img", "data.img"),
        ("probe force-clean data.img", "partition table"),
        ("probe locked.img", "read-only"),
        ("probe missing.img", "missing.img"),
        ("probe nbd+unix:///?socket=missing.sock", "missing.sock"),
    ] {
        let refused = bed.refused(1, line, "");
        assert!(refused.contains(told), "{line}: {refused}");
    }
    assert_eq!(fs::read(&data).expect("there"), bytes);
    for (line, told) in [
        ("probe --model st9000", "st8000as0002"),
        ("probe", "name a disk"),
        ("probe --model st8000as0002 --writes 8KiB:1", "4KiB:1"),
        ("probe --model st8000as0002 --coverages 6000", "--coverages: give from 1 to 5000 blocks"),
        ("probe --model st8000as0002 --coverages 500,2500", "--coverages: 2 of them are different"),
        ("probe --model st8000as0002 --buffer-max 4K", "--buffer-max"),
        ("probe force-clean --model st8000as0002 --buffer-max 0", "--buffer-max"),
    ] {
        let refused = bed.refused(2, line, "");
        assert!(refused.contains(told), "{line}: {refused}");
    }
    for of_a_model in ["--noise 3", "--set drive.rpm=7200"] {
        let output = bed.output(&format!("probe data.img {of_a_model}"));
        assert_eq!(output.status.code(), Some(2), "{of_a_model} with a disk");
    }
    fs::write(bed.path("no.probe"), "{}\n").expect("written");
    let refused = bed.refused(1, "probe --fit-only no.probe", "");
    assert!(refused.contains("no.probe, line 1"), "{refused}");
    let options = Options { coverages: vec![0], ..Options::default() };
    let options = serde_json::to_string(&options).expect("JSON");
    let subject = Subject::new("disk", "S1", 1 << 30, &options);
    let line = serde_json::to_string(&subject).expect("JSON");
    fs::write(bed.path("no.probe"), line + "\n").expect("written");
    let refused = bed.refused(1, "probe --fit-only no.probe", "");
    assert!(refused.contains("no.probe: --coverages"), "{refused}");
}
