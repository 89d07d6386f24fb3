//! `shingle zoned` as its user meets it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use shingle_core::units::Zone;
use shingle_engine::buffer::zeroed;
use shingle_zoned::open;

fn shingle(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
    command.current_dir(folder).args(line.split_whitespace()).output().expect("started")
}

fn done(folder: &Path, line: &str) -> String {
    let output = shingle(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(folder: &Path, line: &str, code: i32, part: &str) {
    let output = shingle(folder, line);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{line}: {told}");
    assert!(told.contains(part) && told.lines().count() == 1, "{line}: {told}");
}

#[test]
fn a_disk_is_made_and_tells_of_its_zones() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let made = "zoned create d --zones 200 --zone-size 1M --max-open 3 --read-only 7 --offline 8,9";
    assert_eq!(done(folder, made), "");
    let disk = open(&folder.join("d")).expect("opened");
    disk.append(Zone(4), &[zeroed(), zeroed()]).expect("written");
    disk.flush().expect("flushed");

    // Also while somebody has it open.
    let table = done(folder, "zoned report d --color never");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "d: 200 zones of 1 MiB, 200 MiB in all; 2 conventional; 3 open at a time");
    assert_eq!(lines[1], "2 conventional, 194 empty, 1 closed, 1 read-only, 2 offline");
    let row = |first: &str| -> Vec<String> {
        let cells =
            lines.iter().map(|line| line.split(|c: char| !c.is_ascii() || c.is_whitespace()));
        let mut rows =
            cells.map(|cells| cells.filter(|cell| !cell.is_empty()).map(str::to_owned).collect());
        rows.find(|row: &Vec<String>| row.first().is_some_and(|cell| cell == first))
            .unwrap_or_default()
    };
    assert_eq!(row("0-1"), ["0-1", "conventional", "0", "-"]);
    assert_eq!(row("4"), ["4", "closed", "1024", "8", "KiB"]);
    assert_eq!(row("8-9"), ["8-9", "offline", "2048", "-"]);

    let json: Value = serde_json::from_str(&done(folder, "zoned report d --json")).expect("JSON");
    assert_eq!((&json["schema"], &json["zone_blocks"]), (&"shingle.zones/1".into(), &256.into()));
    let zones = json["zones"].as_array().expect("zones");
    assert_eq!((zones.len(), &zones[0]["write_pointer_blocks"]), (200, &Value::Null));
    assert_eq!(
        (&zones[4]["condition"], &zones[4]["write_pointer_blocks"]),
        (&"closed".into(), &2.into())
    );
    assert_eq!(json["damaged_head"], Value::from(Vec::<String>::new()));
}

#[test]
fn a_report_tells_of_damage_in_the_head_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    done(folder, "zoned create d --zones 8 --zone-size 1M --quiet");
    let file = OpenOptions::new().write(true).open(folder.join("d")).expect("a file");
    file.write_all_at(&[1], 4096 + 100).expect("written");
    let told =
        "one copy of the file's header is damaged (page 1 of the file: its checksum is wrong)";
    let report = done(folder, "zoned report d");
    assert!(report.contains(told) && report.contains("conventional"), "{report}");
    let json: Value = serde_json::from_str(&done(folder, "zoned report d --json")).expect("JSON");
    assert_eq!(json["damaged_head"], Value::from(vec![told]));
    // It is mended though there is no map.
    refused(folder, "zoned repair d", 1, "format it first");
    assert!(!done(folder, "zoned report d").contains("damaged"));
    file.write_all_at(&[1, 1], 4096 + 100).expect("written");
    file.write_all_at(&[1], 100).expect("written");
    refused(folder, "zoned report d", 1, "d: it is damaged: both copies of its header are lost");
}

#[test]
fn what_cannot_be_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    refused(folder, "zoned create d --zones 0", 2, "0 zones");
    refused(
        folder,
        "zoned create d --zones 4 --zone-size 5000",
        2,
        "--zone-size 5000: not a multiple",
    );
    refused(folder, "zoned create d --zones 4 --offline 4", 2, "--offline 4: there are 4 zones");
    refused(folder, "zoned create d --zones 4 --conventional 5", 2, "5 conventional zones");
    refused(folder, "zoned create d --zones 4 --physical-block 8192", 2, "8192");
    let both = "zoned create d --zones 4 --read-only 1,2 --offline 3,2";
    refused(folder, both, 2, "--read-only and --offline both name zone 2");
    assert!(!folder.join("d").exists());
    done(folder, "zoned create d --zones 4 --zone-size 1M --quiet");
    refused(folder, "zoned create d --zones 4", 1, "there is such a file");
    std::fs::write(folder.join("e"), "nothing").expect("a file");
    refused(folder, "zoned report e", 1, "e: there is no zoned disk");
    refused(folder, "zoned report f", 1, "f: cannot open it");
    refused(folder, "zoned report /dev/null", 1, "neither a file nor a block device");
}
