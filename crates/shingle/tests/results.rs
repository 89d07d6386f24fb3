//! What results come out as: the JSON against its schema, Parquet, pictures, the page, and the
//! commands that the disk got.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

/// Small enough to be quick, with cleanings, evictions, and partly written blocks.
const TRACE: &str = "synth:mixed?requests=4000&range=400MB";

fn shingle(folder: &Path, words: &str) -> Output {
    let mut command = Command::cargo_bin("shingle").expect("the program is built");
    let output = command.args(words.split_whitespace()).current_dir(folder).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn json(folder: &Path, words: &str) -> Value {
    let output = shingle(folder, &format!("{words} --json - --quiet"));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

/// `SHINGLE_SCHEMA=write cargo test -p shingle --test results` writes it.
#[test]
fn the_schema_in_the_repository_is_that_of_the_structs() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/shingle.result-1.schema.json");
    let schema = shingle_sim::result::schema();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    if std::env::var_os("SHINGLE_SCHEMA").is_some_and(|value| value == "write") {
        std::fs::write(path, &text).expect("the schema can be written");
    }
    let held = std::fs::read_to_string(path).unwrap_or_default();
    assert!(held == text, "{path} is not what the structs say; SHINGLE_SCHEMA=write writes it");
}

#[test]
fn results_are_valid_by_the_schema() {
    let schema = serde_json::to_value(shingle_sim::result::schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let folder = folder();
    let commands = [
        format!("compare {TRACE} -p none,lru,sac -c 1%,4%"),
        format!("compare {TRACE} -p lru --pacing trace --html page.html"),
        format!("run {TRACE} -p lru --check --html page.html"),
        format!("run {TRACE} -p none -d exos-x18z -t fluid"),
        format!("run {TRACE} -p lru -d st5000as0011+fc"),
        format!("run {TRACE} -p lru -d cmr7200 -s ssd-slc"),
    ];
    for words in commands {
        let result = json(folder.path(), &words);
        let errors: Vec<String> =
            validator.iter_errors(&result).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{words}: {errors:?}");
    }
    // The schema is not one that takes anything.
    let mut wrong = json(folder.path(), &format!("run {TRACE} -p lru"));
    wrong["runs"][0]["all"]["drive_io"]["rmw"] = "many".into();
    assert!(!validator.is_valid(&wrong));
    wrong["runs"][0]["all"]["drive_io"] = serde_json::json!({});
    assert!(!validator.is_valid(&wrong), "figures may not be missing");
}

#[test]
fn the_hash_is_of_the_requests_and_not_of_the_file() {
    let folder = folder();
    let hash = |words: &str| {
        let result = json(folder.path(), words);
        result["trace"]["hash"].as_str().expect("there is a hash").to_owned()
    };
    std::fs::write(folder.path().join("a.csv"), "time_us,op,offset_bytes,size_bytes\n0,W,0,4096\n")
        .expect("it can be written");
    std::fs::write(folder.path().join("b.csv"), "size_bytes,offset_bytes,op,time_ms\n4096,0,w,0\n")
        .expect("it can be written");
    assert_eq!(hash("run a.csv -p lru -c 100b"), hash("run b.csv -p lru -c 200b"));
    assert_ne!(hash("run a.csv -p lru -c 100b"), hash("run a.csv -p lru -c 100b --offset 4096"));
}

#[test]
fn the_course_adds_up_to_the_run() {
    let folder = folder();
    let result = json(folder.path(), &format!("run {TRACE} -p lru -c 1% --html page.html"));
    let run = &result["runs"][0];
    let points = run["series"].as_array().expect("there is a series");
    assert_eq!(points.len(), 100);
    let sum = |name: &str| points.iter().map(|point| point[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("rmw"), run["all"]["drive_io"]["rmw"]);
    assert_eq!(sum("blocks"), result["trace"]["blocks"]);
    assert_eq!(points[99]["requests"], result["trace"]["requests"]);
    assert_eq!(points[99]["buffer_bands"], run["left"]["buffer_bands"]);
    let cells = |name: &str| {
        let columns = run["heat"][name].as_array().expect("there is a heat map");
        assert_eq!(columns.len(), 100);
        columns.iter().flat_map(|c| c.as_array().unwrap()).map(|v| v.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(cells("written_blocks"), result["trace"]["write_blocks"]);
    assert_eq!(cells("drive_written_blocks"), run["all"]["drive_io"]["written_blocks"]);
    assert!(cells("drive_written_blocks") > 0);
}

#[test]
fn the_commands_of_a_disk_are_a_trace() {
    let folder = folder();
    for (setup, causes) in [
        ("-p lru -c 1%", &["miss", "destage"][..]),
        ("-p none", &["bypass"]),
        ("-p lru -c 1% --pacing trace --drain", &["destage"]),
        ("-p roco -d ha-roco -c 4% --set roco.host-rmw=0.001", &["bypass", "rmw", "reset"]),
    ] {
        let words = format!("run {TRACE} {setup} --trace-out disk.csv");
        let result = json(folder.path(), &words);
        let disk = &result["runs"][0]["all"]["drive_io"];
        let info = shingle(folder.path(), "trace info disk.csv --json");
        let info: Value = serde_json::from_slice(&info.stdout).expect("it is JSON");
        assert_eq!(info["read_blocks"], disk["read_blocks"], "{setup}: {info}");
        assert_eq!(info["write_blocks"], disk["written_blocks"], "{setup}");
        let text = std::fs::read_to_string(folder.path().join("disk.csv")).expect("it is there");
        for cause in causes {
            assert!(text.contains(&format!(",{cause},")), "{setup}: nothing is for {cause}");
        }
    }
}

#[test]
fn each_command_has_its_cause() {
    let folder = folder();
    // A write of half a block, its rest filled; a write that evicts it; a trim; a flush.
    let trace =
        "time_us,op,offset_bytes,size_bytes\n0,W,0,2048\n1,W,40960,4096\n2,D,40960,4096\n3,F,0,0\n";
    std::fs::write(folder.path().join("a.csv"), trace).expect("it can be written");
    shingle(folder.path(), "run a.csv -p lru -c 1b --trace-out disk.csv");
    let text = std::fs::read_to_string(folder.path().join("disk.csv")).expect("it is there");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let told: Vec<String> = lines.iter().skip(1).map(|line| line[1..5].join(" ")).collect();
    assert_eq!(
        told,
        ["read 0 4096 fill", "write 0 4096 destage", "trim 40960 4096 trim", "flush 0 0 flush"]
    );
    assert_eq!(lines[0], ["time_us", "op", "offset_bytes", "size_bytes", "cause", "took_us"]);
}

#[test]
fn a_page_asks_for_nothing_and_names_what_made_it() {
    let folder = folder();
    let words = format!(
        "compare {TRACE} -p none,lru,most,sac -c 1%,2%,4% --html page.html --svg svg --png png"
    );
    let result = json(folder.path(), &words);
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("there is a page");
    for word in ["--png png", result["trace"]["hash"].as_str().unwrap(), "cleaning", "heat-host"] {
        assert!(page.contains(word), "the page does not say {word}");
    }
    let foreign = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!foreign.contains(address), "the page asks for {address}");
    }
    let names = |kind: &str| {
        let files = std::fs::read_dir(folder.path().join(kind)).expect("there is a folder");
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("svg"), names("png"));
    for name in ["io-time", "hits-by-cache", "rmws-by-cache", "response-times", "heat-1"] {
        assert!(names("svg").iter().any(|other| other == name), "no picture {name}");
        assert!(page.contains(&format!("<figure id=\"{name}\"><svg")), "{name} is not on the page");
    }
    // The same again is the same, but for how long it took.
    let again = std::fs::read(folder.path().join("png/io-time.png")).expect("there is a picture");
    json(folder.path(), &words);
    assert!(std::fs::read(folder.path().join("png/io-time.png")).expect("still") == again);
}

#[test]
fn parquet_has_the_lines_of_the_csv() {
    let folder = folder();
    let words = format!("compare {TRACE} -p none,lru -c 1% --csv out.csv --parquet out.parquet");
    shingle(folder.path(), &words);
    let bytes = std::fs::read(folder.path().join("out.parquet")).expect("there is a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let csv = std::fs::read_to_string(folder.path().join("out.csv")).expect("there is a file");
    let columns: Vec<&str> = csv.lines().next().expect("it has a header").split(',').collect();
    let text = String::from_utf8_lossy(&bytes);
    assert!(columns.len() > 80 && columns.iter().all(|column| text.contains(column)));
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = folder();
    for (option, code) in [("--html -", 2), ("--parquet -", 2), ("--html no/such/page.html", 1)] {
        let mut command = Command::cargo_bin("shingle").expect("the program is built");
        let words = format!("compare {TRACE} {option}");
        let output = command.args(words.split(' ')).current_dir(folder.path()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{option}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).trim().lines().count(), 1, "{option}");
    }
}
