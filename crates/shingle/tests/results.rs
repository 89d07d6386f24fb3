//! What results come out as: the JSON against its schema, Parquet, pictures, the page, and the
//! commands that the disk got.

mod common;

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use common::Folder;
use parquet::basic::LogicalType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;

/// Small enough to be quick, with cleanings, evictions, and partly written blocks.
const TRACE: &str = "synth:mixed?requests=4000&range=400MB";

fn json(folder: &Folder, words: &str) -> Value {
    folder.json(&format!("{words} --json - --quiet"))
}

/// `SHINGLE_SCHEMA=write cargo test -p shingle --test results` writes them.
#[test]
fn the_schemas_in_the_repository_are_those_of_the_structs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
    for (name, schema) in [
        ("shingle.result-1.schema.json", shingle_result::schema()),
        ("shingle.curve-1.schema.json", shingle_result::curves_schema()),
    ] {
        let path = format!("{folder}/{name}");
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if std::env::var_os("SHINGLE_SCHEMA").is_some_and(|value| value == "write") {
            std::fs::write(&path, &text).expect("the schema can be written");
        }
        let held = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(held == text, "{path} is not what the structs say; SHINGLE_SCHEMA=write writes it");
    }
}

#[test]
fn results_are_valid_by_the_schema() {
    let schema = serde_json::to_value(shingle_result::schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let folder = Folder::new();
    let commands = [
        format!("compare {TRACE} -p none,lru,sac -c 1%,4%"),
        format!("compare {TRACE} -p lru --pacing trace --html page.html"),
        format!("run {TRACE} -p lru --check --html page.html"),
        format!("run {TRACE} -p none -d exos-x18z -t fluid"),
        format!("run {TRACE} -p lru -d st5000as0011+fc"),
        format!("run {TRACE} -p lru -d cmr7200 -s ssd-slc"),
    ];
    for words in commands {
        let result = json(&folder, &words);
        let errors: Vec<String> =
            validator.iter_errors(&result).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{words}: {errors:?}");
    }
    // The schema is not one that takes anything.
    let mut wrong = json(&folder, &format!("run {TRACE} -p lru"));
    wrong["runs"][0]["all"]["drive_io"]["rmw"] = "many".into();
    assert!(!validator.is_valid(&wrong));
    wrong["runs"][0]["all"]["drive_io"] = serde_json::json!({});
    assert!(!validator.is_valid(&wrong), "figures may not be missing");
}

#[test]
fn curves_are_valid_by_their_schema() {
    let schema = serde_json::to_value(shingle_result::curves_schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let folder = Folder::new();
    for sample in ["100", "50"] {
        let words = format!("curve {TRACE} -p lru,sac -c 5%,20% --sample {sample}");
        let result = json(&folder, &words);
        let errors: Vec<String> =
            validator.iter_errors(&result).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{words}: {errors:?}");
        let mut wrong = result.clone();
        wrong["curves"][0]["points"][0]["rmws"]["value"] = "many".into();
        assert!(!validator.is_valid(&wrong));
        wrong["curves"][0]["points"][0] = serde_json::json!({});
        assert!(!validator.is_valid(&wrong), "figures may not be missing");
    }
}

#[test]
fn the_hash_is_of_the_requests_and_not_of_the_file() {
    let folder = Folder::new();
    let hash = |words: &str| {
        let result = json(&folder, words);
        result["trace"]["hash"].as_str().expect("there is a hash").to_owned()
    };
    std::fs::write(folder.path("a.csv"), "time_us,op,offset_bytes,size_bytes\n0,W,0,4096\n")
        .expect("it can be written");
    std::fs::write(folder.path("b.csv"), "size_bytes,offset_bytes,op,time_ms\n4096,0,w,0\n")
        .expect("it can be written");
    assert_eq!(hash("run a.csv -p lru -c 100b"), hash("run b.csv -p lru -c 200b"));
    assert_ne!(hash("run a.csv -p lru -c 100b"), hash("run a.csv -p lru -c 100b --offset 4096"));
}

#[test]
fn the_course_adds_up_to_the_run() {
    let folder = Folder::new();
    let result = json(&folder, &format!("run {TRACE} -p lru -c 1% --html page.html"));
    let run = &result["runs"][0];
    let points = run["series"].as_array().expect("there is a series");
    assert_eq!(points.len(), 100);
    let sum = |name: &str| points.iter().map(|point| point[name].as_u64().unwrap()).sum::<u64>();
    assert!(run["histogram"].as_array().is_some_and(|bars| !bars.is_empty()));
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
    let folder = Folder::new();
    for (setup, causes) in [
        ("-p lru -c 1%", &["miss", "destage"][..]),
        ("-p none", &["bypass"]),
        ("-p lru -c 1% --pacing trace --drain", &["destage"]),
        ("-p roco -d ha-roco -c 4% --set roco.host-rmw=0.001", &["bypass", "rmw", "reset"]),
    ] {
        let words = format!("run {TRACE} {setup} --trace-out disk.csv");
        let result = json(&folder, &words);
        let disk = &result["runs"][0]["all"]["drive_io"];
        let info = folder.json("trace info disk.csv --json -");
        assert_eq!(info["read_blocks"], disk["read_blocks"], "{setup}: {info}");
        assert_eq!(info["write_blocks"], disk["written_blocks"], "{setup}");
        let text = std::fs::read_to_string(folder.path("disk.csv")).expect("it is there");
        for cause in causes {
            assert!(text.contains(&format!(",{cause},")), "{setup}: nothing is for {cause}");
        }
    }
}

#[test]
fn each_command_has_its_cause() {
    let folder = Folder::new();
    // A write of half a block, its rest filled; a write that evicts it; a trim; a flush.
    let trace =
        "time_us,op,offset_bytes,size_bytes\n0,W,0,2048\n1,W,40960,4096\n2,D,40960,4096\n3,F,0,0\n";
    std::fs::write(folder.path("a.csv"), trace).expect("it can be written");
    folder.done("run a.csv -p lru -c 1b --trace-out disk.csv");
    let text = std::fs::read_to_string(folder.path("disk.csv")).expect("it is there");
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
    let folder = Folder::new();
    let words = format!(
        "compare {TRACE} -p none,lru,most,sac -c 1%,2%,4% --html page.html --svg svg --png png"
    );
    let result = json(&folder, &words);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("there is a page");
    for word in ["--png png", result["trace"]["hash"].as_str().unwrap(), "cleaning", "heat-host"] {
        assert!(page.contains(word), "the page does not say {word}");
    }
    assert_eq!(page.matches("--png png").count(), 1, "the command stands once, below");
    assert!(page.contains("Maps share one scale"), "it has maps");
    let foreign = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!foreign.contains(address), "the page asks for {address}");
    }
    let names = |kind: &str| {
        let files = std::fs::read_dir(folder.path(kind)).expect("there is a folder");
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
    let again = std::fs::read(folder.path("png/io-time.png")).expect("there is a picture");
    json(&folder, &words);
    assert!(std::fs::read(folder.path("png/io-time.png")).expect("still") == again);
}

#[test]
fn parquet_has_the_lines_of_the_csv() {
    let folder = Folder::new();
    let words = format!("compare {TRACE} -p none,lru -c 1% --csv out.csv --parquet out.parquet");
    folder.done(&words);
    let csv = csv(&folder, "out.csv");
    let file = File::open(folder.path("out.parquet")).expect("there is a file");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, csv[0]);
    assert!(names.len() > 80, "{names:?}");
    let rows: Vec<Row> = reader.into_iter().map(|row| row.expect("it reads")).collect();
    assert_eq!(rows.len(), csv.len() - 1);
    for (row, line) in rows.iter().zip(&csv[1..]) {
        for ((name, value), text) in row.get_column_iter().zip(line) {
            let same = match value {
                Field::Null => text.is_empty(),
                Field::Str(value) => value == text,
                Field::Bool(value) => value.to_string() == *text,
                Field::ULong(value) => value.to_string() == *text,
                Field::Double(value) => text.parse() == Ok(*value),
                other => panic!("{name}: {other} is of no type that a result has"),
            };
            assert!(same, "{name}: {value} is not {text:?}");
        }
    }
}

/// The lines of a CSV file, its header first.
fn csv(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).from_path(folder.path(name)).expect("there is a file");
    let lines = reader.into_records().map(|line| line.expect("it is CSV"));
    lines.map(|line| line.iter().map(str::to_owned).collect()).collect()
}

#[test]
fn columns_and_their_types_do_not_depend_on_values() {
    let folder = Folder::new();
    // A disk with flash inside and one without a buffer, with a queue and without: much of what one
    // has is null of the other.
    let columns = |setup: &str| -> Vec<String> {
        folder.done(&format!("compare {TRACE} -p lru {setup} --parquet out.parquet"));
        let file = File::open(folder.path("out.parquet")).expect("there is a file");
        let reader = SerializedFileReader::new(file).expect("it is Parquet");
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = schema.columns().iter().map(|column| {
            let logical = column.logical_type_ref();
            assert_ne!(logical, Some(&LogicalType::Unknown), "{} is of no type", column.name());
            format!("{}: {} {logical:?}", column.name(), column.physical_type())
        });
        // What was set on a drive is named after that drive.
        columns.filter(|column| !column.starts_with("drive_parameters.")).collect()
    };
    let of_flash = columns("-d st5000as0011+fc --pacing trace --check");
    let of_none = columns("-d cmr7200");
    assert_eq!(of_flash, of_none);
    for column in ["flash.erases: INT64", "queue.overloaded: BOOLEAN", "all.wa_flash: DOUBLE"] {
        assert!(of_none.iter().any(|other| other.starts_with(column)), "no {column}: {of_none:?}");
    }
    assert!(of_none.contains(&"translation: BYTE_ARRAY Some(String)".to_owned()), "{of_none:?}");
}

#[test]
fn every_figure_of_a_run_has_its_column() {
    let folder = Folder::new();
    for setup in ["-d st5000as0011+fc --pacing trace", "-d exos-x18z -t fluid -s ssd-slc --check"] {
        let words = format!("compare {TRACE} -p lru -c 1% {setup} --csv out.csv");
        let result = json(&folder, &words);
        let csv = csv(&folder, "out.csv");
        let mut found = 0;
        let mut figures = vec![(String::new(), &result["runs"][0])];
        while let Some((path, value)) = figures.pop() {
            let below =
                |name: &str| format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
            match value {
                Value::Object(fields) => {
                    figures.extend(fields.iter().map(|(name, value)| (below(name), value)));
                }
                Value::Array(_) | Value::Null => {}
                _ if path.starts_with("wall.") => {}
                value => {
                    let at = csv[0].iter().position(|column| *column == path);
                    let at = at.unwrap_or_else(|| panic!("{setup}: no column {path}"));
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    assert_eq!(csv[1][at], text, "{setup}: {path}");
                    found += 1;
                }
            }
        }
        assert!(found > 100, "{setup}: {found} figures");
    }
}

/// Sizes that results have in blocks, as `2048b`.
#[test]
fn sizes_have_units_on_a_page() {
    let folder = Folder::new();
    let words = format!("compare {TRACE} -p lru,most --set drive.pb=1000b --html one.html");
    folder.done(&words);
    folder.done(&format!("sweep {TRACE} -p lru --vary drive.pb=1M,8M,5000b --html out.html"));
    let [one, page] = ["one.html", "out.html"]
        .map(|name| std::fs::read_to_string(folder.path(name)).expect("there is a page"));
    for cell in ["<td>3.9 MiB (1,000 blocks)</td>", "<td>19.5 MiB (5,000 blocks)</td>"] {
        assert!(one.contains(cell), "buffer or zones: no {cell}");
    }
    for cell in [
        "<td data-v=\"256\">1 MiB</td>",
        "<td data-v=\"2048\">8 MiB</td>",
        "<td data-v=\"5000\">19.5 MiB (5,000 blocks)</td>",
        "lru drive.pb=8 MiB</th>",
    ] {
        assert!(page.contains(cell), "no {cell}");
    }
}

#[test]
fn every_file_names_program_command_and_trace() {
    let folder = Folder::new();
    let words = format!(
        "compare {TRACE} -p lru -c 1% --json out.json --csv out.csv --parquet out.parquet \
         --html out.html"
    );
    folder.done(&words);
    let text = std::fs::read_to_string(folder.path("out.json")).expect("there is a file");
    let result: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(result["shingle"]["version"], env!("CARGO_PKG_VERSION"));
    let command = result["shingle"]["command"].as_str().expect("there is a command");
    assert!(command.starts_with("shingle compare ") && command.contains(" --csv out.csv "));
    assert!(command.contains(&format!("'{TRACE}'")), "{command} can be typed again");
    let csv = csv(&folder, "out.csv");
    let cell = |name: &str| {
        let at = csv[0].iter().position(|column| column == name);
        &csv[1][at.unwrap_or_else(|| panic!("no column {name}"))]
    };
    assert_eq!(cell("shingle.command"), command);
    assert_eq!(cell("shingle.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(cell("trace.name"), TRACE);
    assert_eq!(*cell("trace.hash"), result["trace"]["hash"]);
    // (The Parquet file has the columns of the CSV: another test.)
    let page = std::fs::read_to_string(folder.path("out.html")).expect("there is a page");
    let footer = &page[page.find("<p class=\"made\">").expect("it has a foot")..];
    let version = format!("shingle {}", env!("CARGO_PKG_VERSION"));
    for word in [&version, "--csv out.csv", cell("trace.hash")] {
        assert!(footer.contains(word), "the foot does not say {word}: {footer}");
    }
}

#[test]
fn every_file_has_the_verdicts_and_warnings() {
    let folder = Folder::new();
    let files = "--csv out.csv --parquet out.parquet --html out.html";
    let result = json(&folder, &format!("compare {TRACE} -p none,lru,sac -c 1%,2G {files}"));
    let said: Vec<(&str, &str, Vec<usize>)> = result["said"]
        .as_array()
        .expect("there is something to say")
        .iter()
        .map(|said| {
            let runs = said["runs"].as_array().expect("a list").iter();
            let runs = runs.map(|run| run.as_u64().expect("a number") as usize).collect();
            (said["kind"].as_str().expect("a word"), said["text"].as_str().expect("text"), runs)
        })
        .collect();
    let page = std::fs::read_to_string(folder.path("out.html")).expect("there is a page");
    let csv = csv(&folder, "out.csv");
    let table = page.find("<table id=\"runs\">").expect("there is a table");
    for kind in ["verdict", "warning", "note"] {
        assert!(said.iter().any(|said| said.0 == kind), "there is a {kind}: {said:?}");
    }
    for (kind, text, _) in &said {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let at = page.find(&escaped).unwrap_or_else(|| panic!("the page does not say {text}"));
        assert!(at < table, "{text}: before the figures");
        let name = if *kind == "verdict" { "verdict".to_owned() } else { format!("{kind}s") };
        let column = csv[0].iter().position(|column| *column == name).expect("a column");
        for run in 0..csv.len() - 1 {
            // The same may be said of several groups.
            let about = |said: &(&str, &str, Vec<usize>)| said.1 == *text && said.2.contains(&run);
            let found = csv[run + 1][column].contains(text);
            assert_eq!(found, said.iter().any(about), "{run}: {text}");
        }
    }
}

#[test]
fn sizes_that_are_written_in_blocks_are_numbers_too() {
    let folder = Folder::new();
    let words = format!("compare {TRACE} -p most -c 1% --set most.zone=40M --csv out.csv");
    let result = json(&folder, &words);
    let csv = csv(&folder, "out.csv");
    let cell = |name: &str| {
        let at = csv[0].iter().position(|column| column == name);
        csv[1][at.unwrap_or_else(|| panic!("no column {name}"))].clone()
    };
    let run = &result["runs"][0];
    assert_eq!([cell("parameters.zone"), cell("parameters.zone_blocks")], ["10240b", "10240"]);
    let buffer = run["pb_blocks"].as_u64().expect("it has a buffer");
    assert_eq!(run["drive_parameters"]["pb"], format!("{buffer}b"));
    let real = json(&folder, &format!("run {TRACE} -p lru --set drive.pb=real"));
    assert!(real["runs"][0]["pb_blocks"].as_u64().expect("it has a buffer") > buffer);
    let none = json(&folder, &format!("run {TRACE} -p lru -d cmr7200"));
    assert!(none["runs"][0]["pb_blocks"].is_null());
}

#[test]
fn a_file_that_cannot_be_written_takes_nothing_else_with_it() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return println!("SKIPPED: there is no /dev/full");
    }
    let folder = Folder::new();
    let words =
        format!("compare {TRACE} -p lru -c 1% --json /dev/full --html /dev/full --csv out.csv");
    let output = folder.output(&format!("{words} -q"));
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("shingle: /dev/full: ")));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("│ lru"), "the result is printed: {table}");
    assert_eq!(csv(&folder, "out.csv").len(), 2, "the other file is there");
    // The commands of the disk are an output, too.
    let words = format!("run {TRACE} -p lru --trace-out /dev/full --quiet");
    let output = folder.output(&words);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("response times"));
    let kind = std::fs::metadata(full).expect("it is still there").file_type();
    assert!(kind.is_char_device(), "a device is not replaced by a file");
}

#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name);
    std::fs::write(path("there.csv"), "old").expect("it can be written");
    std::os::unix::fs::symlink("there.csv", path("link.csv")).expect("it can be made");
    folder.done(&format!("compare {TRACE} -p lru -c 1% --csv link.csv"));
    assert!(std::fs::symlink_metadata(path("link.csv")).expect("there").file_type().is_symlink());
    assert_eq!(csv(&folder, "there.csv").len(), 2);
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = Folder::new();
    for (option, code) in [("--html -", 2), ("--parquet -", 2), ("--html no/such/page.html", 1)] {
        folder.refused(code, &format!("compare {TRACE} {option}"), "");
    }
}
