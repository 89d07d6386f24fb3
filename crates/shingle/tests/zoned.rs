//! `shingle zoned` as its user meets it.

mod common;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use common::Folder;
use serde_json::Value;
use shingle_core::units::Block;
use shingle_engine::buffer::zeroed;
use shingle_zoned::open;

#[test]
fn a_disk_is_made_and_tells_of_its_zones() {
    let folder = Folder::new();
    let made = "zoned create d --zones 200 --zone-size 1M --max-open 3 --read-only 7 --offline 8,9";
    assert_eq!(folder.done(made), "");
    let disk = open(&folder.path("d")).expect("opened");
    disk.write(Block(4 * 256), &[zeroed(), zeroed()]).expect("written");
    disk.flush().expect("flushed");

    // Also while another process has it open.
    let table = folder.done("zoned report d --color never");
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

    let json = folder.json("zoned report d --json");
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
    let folder = Folder::new();
    folder.done("zoned create d --zones 8 --zone-size 1M --quiet");
    let file = OpenOptions::new().write(true).open(folder.path("d")).expect("a file");
    file.write_all_at(&[1], 4096 + 100).expect("written");
    let told =
        "one copy of the file's header is damaged (page 1 of the file: its checksum is wrong)";
    let report = folder.done("zoned report d");
    assert!(report.contains(told) && report.contains("conventional"), "{report}");
    let json = folder.json("zoned report d --json");
    assert_eq!(json["damaged_head"], Value::from(vec![told]));
    // It is mended though there is no map.
    folder.refused(1, "zoned repair d", "format it first");
    assert!(!folder.done("zoned report d").contains("damaged"));
    file.write_all_at(&[1, 1], 4096 + 100).expect("written");
    file.write_all_at(&[1], 100).expect("written");
    folder.refused(1, "zoned report d", "d: it is damaged: both copies of its header are lost");
}

#[test]
fn what_cannot_be_is_told() {
    let folder = Folder::new();
    folder.refused(2, "zoned create d --zones 0", "0 zones");
    folder.refused(
        2,
        "zoned create d --zones 4 --zone-size 5000",
        "--zone-size 5000: not a multiple",
    );
    folder.refused(2, "zoned create d --zones 4 --offline 4", "--offline 4: there are 4 zones");
    folder.refused(2, "zoned create d --zones 4 --conventional 5", "5 conventional zones");
    folder.refused(2, "zoned create d --zones 4 --physical-block 8192", "8192");
    let both = "zoned create d --zones 4 --read-only 1,2 --offline 3,2";
    folder.refused(2, both, "--read-only and --offline both name zone 2");
    assert!(!folder.path("d").exists());
    folder.done("zoned create d --zones 4 --zone-size 1M --quiet");
    folder.refused(1, "zoned create d --zones 4", "there is such a file");
    folder.refused(2, "zoned create d", "d: it is no block device; for a new file say --zones");
    let over = "zoned create d --zones 4 --overwrite";
    folder.refused(2, over, "--overwrite and --destroy are for block devices, and this is none");
    folder.refused(2, "zoned create e --zones 4 --zone-size 0", "--zone-size 0: not a multiple");
    std::fs::write(folder.path("e"), "nothing").expect("a file");
    folder.refused(1, "zoned report e", "e: there is no zoned disk");
    folder.refused(1, "zoned report f", "f: cannot open it");
    folder.refused(1, "zoned report /dev/null", "neither a file nor a block device");
}
