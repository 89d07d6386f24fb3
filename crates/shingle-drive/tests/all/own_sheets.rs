//! Sheets in files: a copy of a built-in one is that drive, what is wrong with one is told in a line, and no
//! text brings the program down.

use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::measure::{Measured, Shingled, rewrite};
use shingle_drive::{
    Drive, DriveError, Io, Overrides, Rng, Settings, drives, entry, make, make_ssd, ssds,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

type Make = fn(&str, &Settings) -> Result<Box<dyn Drive>, DriveError>;

/// A file of this sheet, by a name that no other test has, and how to name it as a drive.
fn file(name: &str, text: &str) -> String {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let name = format!("sheet-{}-{name}.toml", FILES.fetch_add(1, Ordering::Relaxed));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("written");
    format!("sheet:{}", path.display())
}

/// The sheet of a built-in drive.
fn text(name: &str) -> String {
    drives().iter().chain(ssds()).find(|entry| entry.name == name).expect("built in").text()
}

fn refused(text: &str) -> String {
    let name = file("refused", text);
    let error = make(&name, &Settings::default()).map(drop).expect_err(text).to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("-refused.toml: "), "it names the file: {error}");
    assert_eq!(entry(&name).map(drop).map_err(|error| error.to_string()), Err(error.clone()));
    error
}

/// Work for a drive; all that it says of it.
fn work(drive: &mut dyn Drive, ios: u64) -> String {
    let (mut rng, mut now, mut told) = (Rng::new(7), Nanos::ZERO, String::new());
    let blocks = drive.description().disk_blocks;
    for _ in 0..ios {
        let op = [Op::Write, Op::Write, Op::Read, Op::Flush, Op::Trim][rng.below(5) as usize];
        let count = if op == Op::Flush { 0 } else { 1 + rng.below(64.min(blocks)) };
        let io = Io { op, block: Block(rng.below(blocks - count + 1)), count };
        // What zones forbid is refused, and takes no time.
        now = match drive.zoned() {
            Some(zoned) => zoned.try_serve(now, &io, &mut []).map_or(now, |served| served.done),
            None => drive.serve(now, &io, &mut []).done,
        };
        told += &format!("{now:?} ");
    }
    let end = drive.drain(now);
    drive.check();
    format!("{told} {end:?} {:?} {:?}", drive.counters(), drive.description())
}

#[test]
fn a_copy_of_a_built_in_sheet_is_that_drive() {
    for known in drives().iter().chain(ssds()) {
        let name = file(known.name, &known.text());
        let ssd = ssds().iter().any(|ssd| ssd.name == known.name);
        let (make, other): (Make, Make) = if ssd { (make_ssd, make) } else { (make, make_ssd) };
        let settings = Settings::default();
        let (mut own, mut built_in) = (
            make(&name, &settings).expect("a copy"),
            make(known.name, &settings).expect("built in"),
        );
        assert_eq!(work(own.as_mut(), 300), work(built_in.as_mut(), 300), "{}", known.name);
        let told = entry(&name).expect("a copy");
        assert_eq!(
            (told.name.as_str(), told.shingled, told.ssd),
            (name.as_str(), known.shingled, ssd)
        );
        let error = other(&name, &settings).map(drop).expect_err("the other kind").to_string();
        assert!(error.contains("it is the sheet of a"), "{error}");
    }
}

#[test]
fn values_of_a_sheet_are_overridden_like_those_of_others() {
    let name = file("overridden", &text("cmr7200"));
    let costs = |drive: &str, set: &[(&str, &str)]| {
        let overrides =
            set.iter().fold(Overrides::new(), |all, (name, value)| all.with(name, value));
        let made = make(drive, &Settings { overrides, ..Settings::default() });
        made.map(|drive| drive.description().costs).map_err(|error| error.to_string())
    };
    let set = [("measured_read_us", "9000")];
    assert_eq!(costs(&name, &set), costs("cmr7200", &set));
    assert_ne!(costs(&name, &set), costs(&name, &[]));
    let told = costs(&name, &[("rmp", "7200")]).expect_err("no such parameter");
    assert!(told.contains("`drive.rmp`; there are rpm, "), "{told}");
}

/// Conventional disks are as large as host-managed ones.
#[test]
fn a_conventional_disk_may_have_36_tb() {
    for bytes in [24_000_277_250_048u64, 36_000_000_000_000] {
        let text = replaced(&text("cmr7200"), "capacity_bytes", &bytes.to_string());
        let mut drive = make(&file("large", &text), &Settings::default()).expect("made");
        assert_eq!(drive.description().disk_blocks, bytes / 4096);
        work(drive.as_mut(), 200);
    }
}

#[test]
fn what_was_measured_may_be_missing_and_units_and_words_are_those_of_the_model() {
    // A parameter a line: the value and the source.
    let known = entry("cmr7200").expect("built in").parameters();
    let lines = known.iter().filter(|p| !p.name.starts_with("measured_")).map(|p| {
        format!("{} = {{ value = {}, source = \"mine\" }}\n", p.name, written(&p.value.to_string()))
    });
    let short = format!("model = \"conventional\"\n{}", lines.collect::<String>());
    let name = file("short", &short);
    let told = entry(&name).expect("whole");
    assert_eq!(told.about, "a conventional drive, by a model as of cmr5900, cmr7200");
    let rpm = told.parameters().into_iter().find(|p| p.name == "rpm").expect("it turns");
    assert_eq!((rpm.unit.as_str(), rpm.source.as_str()), ("1/min", "mine"));
    // Without a measurement hosts plan with the costs.
    let costs = make(&name, &Settings::default()).expect("whole").description().costs;
    assert_eq!(costs.read, Nanos::from_micros(11_000));
    // Seeks may be said by points, as ha-roco says them.
    let curve = short.lines().filter(|line| !line.starts_with("seek_")).collect::<Vec<_>>();
    let points = "seek_points = { value = [[1, 0.5], [1000, 4], [40000, 9]], source = \"mine\" }\n\
                  cylinders = { value = 48000, source = \"mine\" }\n";
    let points = format!("{}\n{points}", curve.join("\n"));
    let mut drive = make(&file("points", &points), &Settings::default()).expect("whole");
    work(drive.as_mut(), 50);
    let both = refused(&format!(
        "{short}{}",
        points.split_at(points.find("seek_points").expect("there")).1
    ));
    assert!(
        both.contains("seek_base_ms and seek_points both say what seeks take; drop one"),
        "{both}"
    );
}

#[test]
fn what_is_measured_goes_into_a_sheet_and_is_read_from_there() {
    let shingled = Shingled {
        rmw_base_us: 500_000,
        rmw_us_per_block: 900,
        rmw_r_squared: 0.5,
        zone_blocks: 5000,
        buffer_blocks: 77,
    };
    let measured = Measured { read_us: 14_321, shingled: Some(shingled) };
    // A parameter may stand in a line of its own.
    let sheet = text("st8000as0002");
    let (before, after) = sheet.split_once("[measured_read_us]").expect("measured");
    let line = "measured_read_us = { value = 1, source = \"mine\" }";
    let sheet = format!("{line}\n{before}{}", after.split_at(after.find('[').expect("more")).1);
    let fresh = rewrite(&sheet, "sheet:mine", &measured).expect("a sheet");
    let name = file("measured", &fresh);
    let costs = make(&name, &Settings::default()).expect("whole").description().costs;
    let found = [costs.read, costs.rmw_base, costs.rmw_per_block].map(|cost| cost.0 / 1000);
    assert_eq!(found, [14_321, 500_000, 900]);
    let known = entry(&name).expect("whole").parameters();
    let fact = known.iter().find(|p| p.name == "measured_buffer_blocks").expect("measured");
    assert_eq!(fact.value.to_string(), "77");
}

/// A value as TOML has it.
fn written(shown: &str) -> String {
    match shown {
        "on" => "true".into(),
        "off" => "false".into(),
        number => number.into(),
    }
}

#[test]
fn errors_are_one_line_and_name_their_place() {
    let whole = text("cmr7200");
    let with = |old: &str, new: &str| {
        assert!(whole.contains(old), "{old}");
        refused(&whole.replacen(old, new, 1))
    };
    for (old, new, said) in [
        ("model = \"conventional\"\n", "", "it does not say model = \"NAME\" first; there are "),
        ("\"conventional\"", "\"convential\"", "no model `convential`; there are conventional, "),
        ("\"conventional\"", "7", "line 1: model is text"),
        (
            "[rpm]",
            "[rmp]",
            "line 13: rmp: no parameter of a conventional drive; drop it, or did you mean one of rpm, ",
        ),
        ("[rpm]\nvalue = 7200\n", "[rpm]\n", "line 13: rpm: missing field `value`; correct it"),
        (
            "value = 7200",
            "value = 0",
            "line 13: rpm: its value is a whole number from 100 to 100000",
        ),
        (
            "value = 7200",
            "value = -3",
            "line 13: rpm: its value is a whole number from 100 to 100000",
        ),
        ("value = 7200", "value = 7200.5", "line 13: rpm: its value is a whole number"),
        ("value = 7200", "value = \"fast\"", "line 13: rpm: a number, true, false, or points"),
        (
            "value = 7200\nmin = 100",
            "value = 7200\nmin = 8000",
            "rpm: its value is a whole number from 8000 to",
        ),
        ("value = 7200", "value = = 7200", "line 14: "),
        ("value = true", "value = 1", "write_cache: its value is true or false"),
        ("value = 9.167", "value = nan", "seek_sqrt_ms: its value is a number from -1000 to 1000"),
        ("unit = \"1/min\"", "unit = \"Hz\"", "rpm: it is in 1/min; convert it, or drop its unit"),
        (
            "unit = \"1/min\"",
            "units = \"1/min\"",
            "rpm: unknown field `units`, expected one of `value`, ",
        ),
        (
            "source = \"PORE section II-B: a typical 7200 rpm 500 GB disk\"",
            "",
            "rpm: missing field `source`",
        ),
        (
            "source = \"PORE section II-B: a typical 7200 rpm 500 GB disk\"",
            "source = \" \"",
            "rpm: its source is empty; say where",
        ),
        (
            "source = \"PORE section II-B: a typical 7200 rpm 500 GB disk\"",
            "source = \"a\\nb\"",
            "rpm: its source or its about is more than a line",
        ),
        ("[track_od_bytes]", "[rpm]", "line 21: duplicate key"),
    ] {
        let error = with(old, new);
        assert!(error.contains(said), "{old} -> {new}: {error}");
    }
    let none = make("sheet:/nowhere/disk.toml", &Settings::default()).map(drop);
    let none = none.expect_err("no file").to_string();
    assert!(none.starts_with("/nowhere/disk.toml: there is no such file; "), "{none}");
    let missing = refused("model = \"conventional\"\n");
    assert!(
        missing
            .contains("needs capacity_bytes, rpm, track_od_bytes, track_id_bytes and 22 more; add"),
        "{missing}"
    );
    assert!(refused("model = \"host-aware\"\nrpm = 3\n").contains("line 2: rpm: "));
    let large = with("value = 7200", "value = 99999999999999999999");
    assert!(large.ends_with("line 13: rpm: a number is too large"), "{large}");
    // What each by itself may be.
    let swapped = refused(&replaced(&whole, "track_od_bytes", "8192"));
    assert!(swapped.contains("track_od_bytes is less than track_id_bytes"), "{swapped}");
    let falling = refused(&replaced_points(&text("ha-roco"), "[[1, 2.0], [90, 1.0]]"));
    assert!(falling.contains("seek_points has a longer seek take less time"), "{falling}");
    // What goes together only in its parts is refused by the model, as overrides are.
    let error = refused_by_model(&text("st8000as0002"), "packets_trigger", "10000000");
    assert!(error.contains("packets_trigger is at most packets_max"), "{error}");
}

/// What the model says of a value that its range allows.
fn refused_by_model(text: &str, parameter: &str, value: &str) -> String {
    let name = file("model", &replaced(text, parameter, value));
    make(&name, &Settings::default()).map(drop).expect_err("refused").to_string()
}

/// The sheet with another value of a parameter.
fn replaced(text: &str, parameter: &str, value: &str) -> String {
    let (before, after) = text.split_once(&format!("[{parameter}]\n")).expect("in the sheet");
    let (_, rest) = after.split_once('\n').expect("a value first");
    format!("{before}[{parameter}]\nvalue = {value}\n{rest}")
}

/// The sheet with another curve of seeks.
fn replaced_points(text: &str, points: &str) -> String {
    let (before, after) = text.split_once("[seek_points]\nvalue = [\n").expect("in the sheet");
    let (_, rest) = after.split_once("\n]\n").expect("the end of the points");
    format!("{before}[seek_points]\nvalue = {points}\n{rest}")
}

/// Makes what can be made of a text, and has it do a little.
fn try_it(name: &str, text: &str) {
    let name = file(name, text);
    let settings = Settings::default();
    for make in [make as Make, make_ssd as Make] {
        match make(&name, &settings) {
            Ok(mut drive) => drop(work(drive.as_mut(), 20)),
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
        }
    }
    // (One that fails stays, to be looked at.)
    std::fs::remove_file(&name["sheet:".len()..]).expect("removed");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: shingle_testbed::times(80) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Parts of a sheet cut out, doubled and overwritten.
    #[test]
    fn no_broken_sheet_brings_it_down(
        kind in 0..6_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, "[\\[\\]{}=\",.a-z0-9\n-]{0,12}"), 1..4),
    ) {
        let kinds = ["cmr7200", "hm-tiny", "ssd-slc", "sac-emulator", "ha-roco", "pcie-ssd"];
        let mut text = text(kinds[kind]);
        for (at, gone, new) in edits {
            let floor = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
            let at = floor(at.index(text.len()));
            let end = floor((at + gone).min(text.len())).max(at);
            text.replace_range(at..end, &new);
        }
        try_it("broken", &text);
    }

    /// Values that their ranges allow, whatever they are together.
    #[test]
    fn no_values_together_bring_it_down(
        kind in 0..7_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..5_u8), 1..5),
    ) {
        let kinds = ["cmr7200", "hm-tiny", "ssd-slc", "sac-emulator", "ha-roco", "pcie-ssd", "st8000as0002"];
        let known = entry(kinds[kind]).expect("built in").parameters();
        let mut text = text(kinds[kind]);
        for (which, how) in changes {
            let parameter = which.get(&known);
            let shown = parameter.value.to_string();
            let Ok(value) = shown.parse::<f64>() else { continue };
            let (least, most) = parameter.range;
            let new = match how {
                0 => least,
                1 => value / 2.0,
                2 => value * 2.0,
                3 => value + 1.0,
                _ => value * 7.0 / 5.0,
            };
            let new = new.clamp(least, most);
            let new = if shown.contains('.') { format!("{new:?}") } else { format!("{:.0}", new.floor()) };
            text = replaced(&text, &parameter.name, &new);
        }
        try_it("together", &text);
    }
}
