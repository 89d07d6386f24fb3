//! `shingle curve`: its output in each form, and what it refuses.

mod common;

use common::Folder;
use serde_json::Value;

const SMALL: &str = "synth:mixed?requests=5k";

#[test]
fn all_bands_are_what_compare_says() {
    let folder = Folder::new();
    let rest = "-p lru,sac -c 5%,20% --json -";
    let curve = folder.json(&format!("curve {SMALL} --sample 100 {rest}"));
    let compared = folder.json(&format!("compare {SMALL} --baseline none {rest}"));
    let of = &curve["curves"][0];
    assert_eq!(curve["schema"], "shingle.curve/1");
    assert_eq!(curve["trace"], compared["trace"]);
    assert_eq!(of["sample"]["in_full"], true);
    let points = of["points"].as_array().expect("points");
    let runs = compared["runs"].as_array().expect("runs");
    assert_eq!((points.len(), runs.len()), (4, 4));
    for point in points {
        let same = |run: &&Value| {
            run["policy"] == point["policy"] && run["cache_blocks"] == point["cache_blocks"]
        };
        let run = runs.iter().find(same).expect("the same run");
        // (Counts are figures here, as estimates are.)
        let exact = |value: f64| serde_json::json!({ "value": value, "error": 0.0 });
        let all = &run["all"];
        let number = |value: &Value| value.as_f64().expect("a number");
        assert_eq!(point["rmws"], exact(number(&all["drive_io"]["rmw"])));
        assert_eq!(point["hits_percent"], exact(100.0 * number(&all["hits"]["ratio"])));
        assert_eq!(point["done_seconds"]["value"], all["seconds"]["total"]);
        assert_eq!(point["left_seconds"]["value"], run["left"]["seconds"]);
        assert_eq!(point["was_full"], !run["warm_from"].is_null());
    }
    let order: Vec<&Value> = points.iter().map(|point| &point["policy"]).collect();
    assert_eq!(order, ["lru", "lru", "sac", "sac"], "curve by curve");
}

#[test]
fn figures_of_few_cleanings_are_marked() {
    let folder = Folder::new();
    let curve = |rest: &str| format!("curve {SMALL} -p lru -c 10% {rest}");
    // The buffer of a small disk fills; the whole of a disk's never does with so few writes.
    for (buffer, few) in [("", false), ("--set drive.pb=real", true)] {
        let table = folder.done(&curve(buffer));
        assert_eq!(table.contains("│ lru ~ "), few, "{table}");
        assert_eq!(table.contains("~ fewer than 30 bands were cleaned"), few, "{table}");
        let point = &folder.json(&curve(&format!("{buffer} --json -")))["curves"][0]["points"][0];
        assert_eq!(point["few_cleanings"], few);
    }
    // Other disks clean no bands.
    let table = folder.done(&curve("-d cmr5900"));
    assert!(!table.contains('~'), "{table}");
}

#[test]
fn what_was_sampled_is_told() {
    let folder = Folder::new();
    let table = folder.done(&format!("curve {SMALL} -p lru -c 10%"));
    assert!(table.contains("run in full, 5,000 requests; a sample needs"), "{table}");
    let table = folder.done(&format!("curve {SMALL} -p lru -c 10%..40% --sample 50"));
    let told = table.replace('\n', " ");
    assert!(
        told.contains("bands sampled, ") && told.contains("of 5,000 requests; a sample"),
        "{table}"
    );
    assert!(told.contains(" ± ") && told.contains("docs/curve.md"), "{table}");
    let sizes = table.lines().filter(|line| line.contains("│ lru"));
    assert_eq!(sizes.count(), 3, "10 %, 20 %, 40 %: {table}");
    // The same seed is the same sample, another one is another.
    folder.done(&format!("trace convert {SMALL} --out trace.csv"));
    let of = |seed: u64| {
        folder.done(&format!("curve trace.csv -p lru -c 10% --sample 50 --seed {seed} --csv -"))
    };
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}

#[test]
fn curves_are_written_as_files() {
    let folder = Folder::new();
    let rest =
        "-p none,lru -c 10%,20% --sample 50 --csv curve.csv --json curve.json --svg pictures";
    folder.done(&format!("curve {SMALL} {rest}"));
    let csv = std::fs::read_to_string(folder.path("curve.csv")).expect("written");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    assert_eq!(&header[..5], ["trace", "seed", "drive", "policy", "cache_blocks"]);
    assert!(header.contains(&"rmws_error") && header.contains(&"done_and_left_seconds"));
    let lines: Vec<Vec<&str>> = lines.collect();
    assert_eq!(lines.len(), 3, "none has one size");
    assert!(lines.iter().all(|line| line.len() == header.len()));
    let json = std::fs::read_to_string(folder.path("curve.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["curves"][0]["sample"]["percent"], 50.0);
    for name in ["hits", "rmws", "io-time"] {
        let picture = folder.path("pictures").join(format!("{name}.svg"));
        let svg = std::fs::read_to_string(picture).expect("drawn");
        assert!(svg.starts_with("<svg") || svg.starts_with("<?xml"), "{name}");
    }
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let folder = Folder::new();
    for (line, told) in [
        ("--sample 0.01", "--sample: a quarter of the sample"),
        ("-d ha-roco --sample 20", "--sample: ha-roco: "),
        ("-d st5000as0011+mcm --sample 20", "the flash in it is shared by all bands"),
        ("-c 1%..x", "-c `1%..x`"),
        ("-p nope", "there is no policy `nope`"),
        ("-d nope", "nope"),
        ("--json - --csv -", "stdout takes one of them"),
        ("--threads 0", "--threads 0"),
    ] {
        folder.refused(2, &format!("curve {SMALL} --quiet {line}"), told);
    }
    for wrong in ["0", "101", "-5", "x"] {
        let output = folder.output(&format!("curve {SMALL} --sample={wrong}"));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    // Such a disk is run in full where nothing is asked for.
    let table = folder.done(&format!("curve {SMALL} -d st5000as0011+mcm -p none"));
    assert!(
        table.replace('\n', " ").contains("as no part of such a disk is like all of it"),
        "{table}"
    );
}
