//! The command as a user meets it: results on stdout, talk on stderr, exit codes, and errors of one
//! line that say where and what to do.

mod common;

use std::io::{PipeReader, Write};
use std::process::{Output, Stdio};

use common::{Folder, text, without_wall};
use serde_json::Value;
use shingle_core::registry::Registry;

/// A trace that is there without a file, small enough for a test.
const SMALL: &str = "synth:mixed?requests=2k";

impl Folder {
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("written");
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("text")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Is refused with `code` and one line, and leaves nothing behind.
    fn refuses(&self, code: i32, args: &[&str], told: &[&str]) {
        let before = self.names();
        self.is_one_line(code, args, told, &self.command("").args(args).output().expect("started"));
        assert_eq!(self.names(), before, "{args:?}: a file was left");
    }

    fn is_one_line(&self, code: i32, args: &[&str], told: &[&str], output: &Output) {
        // How a trace was read is told before what is wrong with the rest.
        let err = text(&output.stderr);
        let err: String =
            err.split_inclusive('\n').filter(|line| !line.contains(": read as ")).collect();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
        assert!(err.starts_with("shingle: ") && err.ends_with('\n'), "{args:?}: {err}");
        for told in told {
            assert!(err.contains(told), "{args:?}: {told:?} is not in {err}");
        }
    }

    /// The JSON of a run or comparison, as bytes, without the parts that tell real time and the command.
    fn timeless(&self, args: &[&str]) -> String {
        let (out, _) = self.said(&[args, &["--json", "-"]].concat());
        let mut in_wall = false;
        let timeless = out.lines().filter(|line| {
            let begins = ["\"wall\": {", "\"shingle\": {"];
            let wall = in_wall || begins.iter().any(|begin| line.contains(begin));
            in_wall = wall && !line.trim_start().starts_with('}');
            !wall
        });
        timeless.map(|line| format!("{line}\n")).collect()
    }
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Five writes and reads in the MSR format.
fn msr() -> String {
    let line = |i: u64| {
        let op = if i.is_multiple_of(2) { "Write" } else { "Read" };
        format!("{},hm,1,{op},{},8192,100\n", 128_166_372_003_061_629 + i * 1_000_000, i * 8192)
    };
    (0..5).map(line).collect()
}

/// A record of the vSCSI format, version 1.
fn vscsi_record(number: u32) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [number, 4096, 1] {
        record.extend(word.to_le_bytes());
    }
    for half in [0x2a_u16, 0x100] {
        record.extend(half.to_le_bytes());
    }
    record.extend((u64::from(number) * 8).to_le_bytes());
    record.extend((u64::from(number) * 1000).to_le_bytes());
    record
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

// ── Bad data ─────────────────────────────────────────────────────────────────────────────────

#[test]
fn bad_data_is_told_with_its_place_and_a_way_out() {
    let folder = Folder::new();
    let records: Vec<u8> = (0..9).flat_map(vscsi_record).collect();
    let good = msr();
    let noise: String =
        (0..5000_u64).map(|i| format!("{} {} {}\n", i % 2, i, i * i % 7919)).collect();
    let packed = gzip(noise.as_bytes());
    let long = "128166372003061629,hm,1,Read,18446744073709551000,4096,1\n";
    for (name, content, told) in [
        ("cut.vscsi", &records[..9 * 32 - 5], &["byte 256", "27 of 32 bytes"][..]),
        ("cut.gz", &packed[..packed.len() / 2], &["of the stored file", "gzip"]),
        (
            "letter.csv",
            format!("{good}128166372003061629,hm,1,Read,81x2,4096,1\n").as_bytes(),
            &["line 6", "'81x2'"],
        ),
        (
            "op.csv",
            format!("{good}128166372003061629,hm,1,Erase,0,4096,1\n").as_bytes(),
            &["line 6", "'Erase'"],
        ),
        (
            "zero.csv",
            format!("{good}128166372003061629,hm,1,Read,0,0,1\n").as_bytes(),
            &["line 6", "size is 0", "--format"],
        ),
        ("far.csv", format!("{good}{long}").as_bytes(), &["line 6", "64 PiB", "--format"]),
        ("empty.csv", b"", &["empty"]),
        ("nothing.txt", b"hello\nworld\n", &["'hello'", "--format"]),
        ("noise.bin", &[0, 1, 2, 3, 0xff, 0xfe], &["binary", "CSV"]),
    ] {
        folder.write(name, content);
        let told = [told, &[name]].concat();
        folder.refuses(1, &["compare", name, "--json", "out.json"], &told);
        folder.refuses(1, &["run", name, "--json", "out.json"], &told);
        folder.refuses(1, &["trace", "info", name], &told);
    }
    folder.write("binary.csv", &records);
    let told = ["binary.csv", "line 1", "binary"];
    folder.refuses(1, &["compare", "binary.csv", "--format", "msr"], &told);
    folder.refuses(1, &["compare", "missing.csv"], &["missing.csv", "No such file", "synth:NAME"]);
    std::fs::create_dir(folder.path("traces")).expect("made");
    folder.refuses(1, &["compare", "traces"], &["traces", "directory", "name a trace file"]);
}

#[test]
fn a_request_beyond_the_drive_is_told_and_can_be_packed() {
    let folder = Folder::new();
    let far = format!("{}128166372013061629,hm,1,Write,9000000000000000,4096,1\n", msr());
    folder.write("far.csv", far);
    let args = ["compare", "far.csv", "-p", "lru", "-c", "10b", "--json", "out.json"];
    folder.refuses(1, &args, &["far.csv", "request 6", "st8000as0002", "--remap"]);
    let (out, _) = folder.said(&["compare", "far.csv", "-p", "lru", "-c", "10b", "--remap"]);
    assert!(out.contains("6 requests"), "{out}");
    let (out, _) =
        folder.said(&["compare", "far.csv", "-p", "lru", "-c", "10b", "--requests", "1"]);
    assert!(out.contains("1 request, "), "{out}");
}

#[test]
fn a_share_of_a_trace_that_reads_and_writes_nothing_is_no_cache() {
    let folder = Folder::new();
    folder
        .write("quiet.csv", "time_us,op,offset_bytes,size_bytes\n1,flush,0,0\n2,trim,4096,4096\n");
    let told = ["-c 15%: the trace reads and writes no block", "give a size such as 1G"];
    folder.refuses(2, &["compare", "quiet.csv"], &told);
    folder.said(&["compare", "quiet.csv", "-c", "1G"]);
}

// ── Wrong options and names ──────────────────────────────────────────────────────────────────

#[test]
fn a_terminal_does_not_obey_the_name_of_a_file() {
    let folder = Folder::new();
    let name = "red\x1b[31m\nand\x07.csv";
    folder.write(name, msr());
    let page = ["trace", "info", name, "--html", "page.html"];
    for args in [&["compare", name, "-p", "none"][..], &["run", name, "-p", "lru"], &page] {
        let (out, err) = folder.said(args);
        for text in [&out, &err] {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {text}");
        }
        assert!(out.contains("red\\u{1b}[31m\\nand\\u{7}.csv"), "{out}");
    }
    let html = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(!html.contains(|c: char| c.is_control() && c != '\n'));
    folder.refuses(1, &["compare", "not\x1bhere.csv"], &["not\\u{1b}here.csv"]);
    let wrong = ["compare", SMALL, "-p", "none", "--json", "not\x1bhere/out.json"];
    folder.refuses(1, &wrong, &["not\u{fffd}here/out.json"]);
}

#[test]
fn an_option_says_what_is_wrong_with_a_negative_value() {
    let folder = Folder::new();
    for (option, value, told) in [
        ("--seed", "-1", "for '--seed <N>': give a whole number"),
        ("--offset", "-1M", "for '--offset <SIZE>': `-1M` is not a size"),
        ("--speed", "-0.5", "for '--speed <FACTOR>': a factor lies between"),
    ] {
        let output =
            folder.command("compare").args([SMALL, option, value]).output().expect("started");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(told) && !said.contains("unexpected argument"), "{said}");
    }
}

#[test]
fn a_wrong_name_lists_the_right_ones_nearest_first() {
    let folder = Folder::new();
    folder.write("good.csv", msr());
    for (args, told) in [
        (&["-p", "lru,sacc"][..], "`sacc`; there are sac, "),
        (&["--baseline", "mots"], "`mots`; there are most, "),
        (&["-d", "st8000as002"], "`st8000as002`; there are st8000as0002, "),
        (&["-s", "pcie-sdd"], "`pcie-sdd`; there are pcie-ssd"),
        (&["--set", "saq.rule2=on"], "`saq`; there are sac, "),
        (&["--set", "sac.rule5=on"], "`rule5`; there are rule1, rule2, rule4, "),
        (&["--set", "policy.zoned=5b"], "`zoned`; there are zone, "),
        (&["--set", "cache.btach=1"], "`btach`; there are batch"),
        (&["--set", "drive.rmp=1"], "`drive.rmp`; there are rpm, "),
        (&["--set", "ssd.chanels=1"], "`ssd.chanels`; there are channels, "),
        (&["--set", "sac.rule2=1"], "`rule2`: give on or off"),
        (&["--set", "sac.rule4=exactly"], "`rule4`: give one of destaged, exact, skip"),
        (&["--set", "cache.batch=0"], "at least 1"),
        (&["--set", "cache.batch=x"], "give a whole number"),
        (&["--set", "policy.zone=0"], "less than a block"),
        (&["--set", "sac.zone=40"], "that is less than a block of 4096 bytes"),
        (&["--set", "drive.rpm=fast"], "for example drive.rpm="),
        (&["--set", "drive.pb=150%"], "a share such as 0.4%"),
        (&["--set", "zone=5b"], "write OWNER.zone"),
        (&["-c", "0"], "-c 0: the cache is empty"),
        (&["-c", "5"], "-c 5: that is less than a block of 4096 bytes"),
        (&["-c", "0%"], "-c 0%: give a share above 0%"),
        (&["-c", "101%"], "give a share above 0%"),
        (&["-c", "x%"], "give a share above 0%"),
        (&["-c", "5%writen"], "there are written, "),
        (&["-c", "5parsecs"], "256MiB"),
        (&["-c", "9T"], "larger than st8000as0002"),
        (&["-c", "99999999T"], "is too large: give less than 16777216T (2^64 bytes), or a share"),
        (&["--threads", "0"], "at least 1"),
        (&["--copies", "0"], "at least 1"),
        (&["--set", "cache.batch=-1"], "give a whole number from 0 to"),
        (&["-c", "-5%"], "-c -5%: give a share above 0%"),
    ] {
        let args = [&["compare", SMALL, "--quiet", "--json", "out.json"], args].concat();
        folder.refuses(2, &args, &[told]);
    }
    for (args, told) in [
        (&["compare", "good.csv", "--format", "mrs"][..], "'mrs'; --format takes msr, "),
        (&["compare", "synth:zipff"], "'zipff'; built in are zipf, "),
        (&["compare", "synth:zipf?thetta=1"], "theta"),
        (&["run", "good.csv", "-p", "lur"], "`lur`; there are lru, "),
        (&["run", "good.csv", "-c", "1%,2%"], "compare takes several"),
        (&["run", "good.csv", "-p", "lru,sac"], "-p lru,sac: run takes one policy"),
        (&["run", "good.csv", "--volume", "nosuch"], "volume 'nosuch'; there are: hm.1"),
        (&["list", "policies", "sak"], "`sak`; there are sac, "),
        (&["list", "drives", "cmr590"], "`cmr590`; there are cmr5900, "),
    ] {
        folder.refuses(2, args, &[told]);
    }
    for args in [&["compare", "--pace", "closed"][..], &["compare", "--pacing", "fast"], &["lits"]]
    {
        let output = folder.command("").args(args).output().expect("started");
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
        assert!(text(&output.stderr).contains("tip:") || text(&output.stderr).contains("possible"));
    }
}

/// A large trace takes minutes to read.
#[test]
fn a_wrong_name_is_told_before_the_trace_is_read() {
    let folder = Folder::new();
    let both = &["compare", "run"][..];
    let all = &["compare", "run", "bound", "curve"][..];
    for (commands, args, told) in [
        (all, &["-p", "lur"][..], "`lur`; there are lru, "),
        (all, &["-d", "st8000as002"], "`st8000as002`; there are st8000as0002, "),
        (all, &["-c", "5%writen"], "there are written, "),
        (all, &["--set", "drive.rpm=fast"], "for example drive.rpm="),
        (all, &["--set", "drive.pb=some"], "a share such as 0.4%"),
        (all, &["--set", "drive.extents=0"], "a number of map entries"),
        (all, &["--set", "lru.zone=5b"], "lru"),
        (both, &["-t", "lgo"], "`lgo`; there are log, "),
        (both, &["-s", "pcie-sdd"], "`pcie-sdd`; there are pcie-ssd"),
        (both, &["--set", "ssd.channels=none"], "channels"),
        (both, &["--as", "store", "--depth", "0"], "--depth 0: give at least 1"),
    ] {
        for command in commands {
            folder.refuses(2, &[&[command, "there-is-none.csv"][..], args].concat(), &[told]);
        }
    }
    let replay = ["replay", "there-is-none.csv", "--cache", "a", "--disk", "b"];
    for (args, told) in [
        (&["-p", "lur"][..], "`lur`; there are lru, "),
        (&["-p", "lru,sac", "--set", "sac.zne=1"], "no parameter `zne`"),
        (&["-c", "5%writen"], "there are written, "),
        (&["--emulate", "st8000as002"], "`st8000as002`; there are st8000as0002, "),
        (&["--emulate", "st8000as0002", "--set", "drive.rpm=fast"], "for example drive.rpm="),
        (&["--predict", "st8000as0002", "--ssd", "pcie-sdd"], "`pcie-sdd`; there are pcie-ssd"),
    ] {
        folder.refuses(2, &[&replay[..], args].concat(), &[told]);
    }
}

#[test]
fn a_closed_stderr_does_not_change_the_exit_code() {
    let folder = Folder::new();
    for (args, code) in [
        (&["run", SMALL, "--set", "most.zone=10M"][..], 0),
        (&["compare", "there-is-none.csv"], 1),
        (&["compare", SMALL, "--config", "there-is-none.toml"], 1),
        (&["compare", SMALL, "-p", "lur"], 2),
        (&["comparee"], 2),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = folder.command("").args(args).stderr(writer).output();
        assert_eq!(output.expect("started").status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn what_changes_nothing_is_told() {
    let folder = Folder::new();
    let set = ["--set", "most.zone=10M", "--set", "sac.zone=10M", "--set", "drive.pb=1M"];
    let args = [&["run", SMALL, "-p", "sac"][..], &set].concat();
    let (_, err) = folder.said(&args);
    assert!(err.contains("--set most.zone changes nothing: most is not run"), "{err}");
    assert_eq!(err.matches("changes nothing").count(), 1, "{err}");
    let args = ["compare", SMALL, "-p", "most", "--pacing", "trace", "--speed", "2"];
    let (_, err) = folder.said(&args);
    assert!(!err.contains("changes nothing"), "{err}");
    let seldom = ["run", SMALL, "--set", "drive.idle_delay_ms=5", "--set", "drive.band_seed=2"];
    let (_, err) = folder.said(&seldom);
    assert!(err.contains("drive.idle_delay_ms changes nothing without idle cleaning"), "{err}");
    assert!(
        err.contains("drive.band_seed changes nothing without drive.tracks_per_band_min"),
        "{err}"
    );
    let bands = ["--set", "drive.tracks_per_band_min=10", "--pacing", "trace"];
    let (_, err) = folder.said(&[&seldom[..], &bands].concat());
    assert!(!err.contains("changes nothing"), "{err}");
    for command in ["bound", "curve"] {
        let (out, err) =
            folder.said(&[command, SMALL, "-p", "lru", "-c", "5%", "--set", "most.zone=10M"]);
        assert_eq!(err.matches("--set most.zone changes nothing").count(), 1, "{command}: {err}");
        assert!(out.lines().all(|line| line.chars().count() <= 100), "{command}: {out}");
    }
    let vary = "sac.window=0.5,0.8,most.zone=10M,20M";
    let (_, err) =
        folder.said(&["sweep", SMALL, "-p", "sac", "--vary", vary, "--set", "pore.zone=1M"]);
    assert!(err.contains("--vary most.zone changes nothing: most is not run"), "{err}");
    assert!(err.contains("--set pore.zone changes nothing: pore is not run"), "{err}");
    assert_eq!(err.matches("changes nothing").count(), 2, "{err}");
}

#[test]
fn packing_is_offered_where_it_helps() {
    let folder = Folder::new();
    let run = |trace| ["run", trace, "-p", "none", "-d", "hm-tiny", "-t", "log"];
    let far = "synth:zipf?requests=1&range=40GB";
    folder.refuses(1, &run(far), &["; --remap packs the touched zones together, or choose"]);
    folder.said(&[&run(far)[..], &["--remap"]].concat());
    let wide = "synth:uniform?requests=500&range=40GB";
    for more in [&[][..], &["--remap"]] {
        let told = &["; the zones that it touches take ", " bytes: choose a larger drive with -d"];
        folder.refuses(1, &[&run(wide)[..], more].concat(), told);
    }
    // Zones that are only trimmed are packed as well.
    let header = "time_us,op,offset_bytes,size_bytes";
    folder.write("trim.csv", format!("{header}\n0,T,0,10000000000000\n1,W,0,4096\n"));
    for more in [&[][..], &["--remap"]] {
        let told =
            &["request 1 ends", "; the zones that it touches take 100000", "choose a larger"];
        folder.refuses(1, &[&run("trim.csv")[..], more].concat(), told);
    }
}

/// What reads of a trace would end in, at the first block that was never written.
#[test]
fn a_disk_that_refuses_reads_beyond_its_pointers_needs_a_translation() {
    let folder = Folder::new();
    let run = ["run", "synth:zipf?requests=200&range=100MB", "-d", "hm-tiny", "-c", "5%"];
    let refuses = ["--set", "drive.reads_beyond_pointer=off"];
    let told = &["hm-tiny refuses reads beyond its write pointers", "with -t"];
    folder.refuses(2, &[&run[..], &refuses, &["-p", "sac-plus"]].concat(), told);
    folder.said(&[&run[..], &refuses, &["-p", "lru", "-t", "log"]].concat());
}

/// A disk that takes bands in order past its buffer spares itself rewrites, which the bound counts all the same.
#[test]
fn no_policy_is_below_the_bound_where_bands_are_written_in_order() {
    let folder = Folder::new();
    let mut trace = "time_us,op,offset,size\n".to_owned();
    for nth in 0..4_096_u64 {
        trace += &format!("0,W,{},524288\n", nth * 524_288);
        if nth % 100 == 0 {
            trace += &format!("0,W,{},4096\n", nth * 40_503 % 524_288 * 4_096);
        }
    }
    folder.write("t.csv", &trace);
    let format = "csv:time=1/us,op=2,offset=3/bytes,size=4/bytes";
    let command =
        ["bound", "t.csv", "--format", format, "-p", "none,most,lru", "-c", "5%", "--json", "-"];
    let (out, _) = folder.said(&command);
    let bound: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    for found in bound["bounds"].as_array().expect("bounds") {
        for held in found["policies"].as_array().expect("policies") {
            for times in ["times_the_bound", "times_the_least_time"] {
                assert!(held[times].as_f64().expect("a bound") >= 1.0, "{found}");
            }
        }
    }
}

/// That the host writes a band whole, and the disk cleans none, does not make rewrites free.
#[test]
fn the_bound_has_the_time_of_bands_that_are_written_whole() {
    let folder = Folder::new();
    let whole = ["--set", "cache.bands=whole", "--set", "policy.zone=bands", "--json", "-"];
    let command = ["bound", "synth:mixed?requests=10k", "-p", "most", "-c", "1%"];
    let (out, _) = folder.said(&[&command[..], &whole].concat());
    let bound: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let took = bound["bounds"][0]["time"]["rewrite_ms"].as_f64().expect("rewrites");
    assert!(took > 100.0, "a pass over a band takes 0.2 s: {bound}");
}

#[test]
fn a_bound_shows_times_as_other_tables_do() {
    let folder = Folder::new();
    let (out, _) = folder.said(&["bound", "synth:mixed?requests=5k", "-p", "none"]);
    let header = out.lines().find(|line| line.contains("│ policy")).expect("a table");
    assert!(header.contains(" done + left ") && out.contains(" min "), "{out}");
}

#[test]
fn a_number_out_of_range_is_told_the_range() {
    let folder = Folder::new();
    for (args, told) in [
        (["--requests", "0"], "give a whole number from 1 to 2^64 - 1, such as 5000 or 2M"),
        (["--requests", "1.5"], "give a whole number from 1 to 2^64 - 1, such as 5000 or 2M"),
        (["--seed", "x"], "give a whole number, such as 10"),
        (["--depth", "1.5"], "give a whole number, such as 10"),
        (["--copies", "99999999999"], "give a whole number from 1 to 4294967295"),
        (["--offset", "99999999T"], "is too large: give less than 16777216T"),
    ] {
        let output = folder.command("").args([&["compare", SMALL], &args[..]].concat()).output();
        let output = output.expect("started");
        let err = text(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(told), "{err}");
    }
}

#[test]
fn an_unknown_drive_is_wrong_usage_of_every_command() {
    let folder = Folder::new();
    for args in [
        &["compare", SMALL, "-d", "st8000dm999"][..],
        &["run", SMALL, "-d", "st8000dm999"],
        &["list", "drives", "st8000dm999"],
        &["probe", "--model", "st8000dm999", "--dry-run"],
        &["reproduce", "sac", "--figure", "10", "-d", "st8000dm999"],
    ] {
        folder.refuses(2, args, &["there is no ", "`st8000dm999`; there are st"]);
    }
}

#[test]
fn a_makers_number_is_answered_with_what_is_known_of_the_disk() {
    let folder = Folder::new();
    let known = ["Seagate BarraCuda, 4 TB, drive-managed SMR", "-d st8000", "shingle probe"];
    for args in [
        &["compare", SMALL, "-d", "ST4000DM004"][..],
        &["run", SMALL, "-d", "ST4000DM004-2CV104"],
        &["list", "drives", "ST4000DM004"],
        &["probe", "--model", "st4000dm004", "--dry-run"],
        &["reproduce", "sac", "--figure", "10", "-d", "ST4000DM004"],
    ] {
        folder.refuses(2, args, &known);
    }
    folder.refuses(2, &["list", "disks", "ST4000XX"], &["`ST4000XX`", "shingle list disks"]);
}

#[test]
fn disks_are_listed_by_what_their_numbers_begin_with() {
    let folder = Folder::new();
    let (out, _) = folder.said(&["list", "disks", "ST4000DM004"]);
    assert!(out.contains("DM") && out.contains("smartmontools drivedb.h"), "{out}");
    assert!(!out.contains("WD40EFAX"), "{out}");
    let all = value(&folder.said(&["list", "disks", "--json"]).0);
    let all = all.as_array().expect("a list");
    let (out, _) = folder.said(&["list", "disks"]);
    for disk in all {
        let text = |key: &str| disk[key].as_str().unwrap_or_else(|| panic!("{key}: {disk}"));
        assert!(out.contains(text("number")) && !text("source").is_empty(), "{disk}");
        assert_eq!(disk["shingled"] == true, text("kind") != "CMR", "{disk}");
        let begun = value(&folder.said(&["list", "disks", text("number"), "--json"]).0);
        assert!(begun.as_array().expect("a list").contains(disk), "{disk}");
    }
}

#[test]
fn no_name_is_offered_twice() {
    let folder = Folder::new();
    let output = folder.command("").args(["compare", SMALL, "--set", "drive.x=1"]).output();
    let err = text(&output.expect("started").stderr);
    let (_, names) = err.trim_end().split_once("there are ").expect("a list");
    let mut names: Vec<&str> = names.split(", ").collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "{err}");
}

#[test]
fn a_wrong_configuration_is_told_with_its_line() {
    let folder = Folder::new();
    folder.write("key.toml", "seed = 3\npolices = [\"lru\"]\n");
    folder.write("syntax.toml", "seed = 3\ncache = [\"5%\"\n[set]\n");
    folder.write("type.toml", "seed = \"three\"\n");
    folder.write("value.toml", "[set]\n\"sac.rule2\" = \"maybe\"\n");
    for (name, told) in [
        ("key.toml", &["line 2", "`polices`", "`policies`"][..]),
        ("syntax.toml", &["line "]),
        ("type.toml", &["line 1"]),
    ] {
        let told = [told, &[name]].concat();
        folder.refuses(2, &["compare", SMALL, "--config", name, "--json", "out.json"], &told);
    }
    folder.refuses(2, &["compare", SMALL, "--config", "value.toml"], &["give on or off"]);
    folder.refuses(1, &["compare", SMALL, "--config", "none.toml"], &["none.toml", "No such file"]);
}

#[test]
fn results_that_cannot_be_written_are_told() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "lru", "--quiet", "--json"];
    for path in ["no/such/folder/out.json", "."] {
        folder.refuses(1, &[&args[..], &[path]].concat(), &[path, "cannot write"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    for args in [
        &["list", "drives"][..],
        &["list", "policies", "--json"],
        &["compare", SMALL, "-p", "lru", "--quiet"],
        &["run", SMALL, "-p", "lru", "--json", "-", "--quiet"],
        &["trace", "info", SMALL],
        &["trace", "convert", SMALL, "-o", "-", "--to", "csv"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = folder
            .command("")
            .args(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .expect("started");
        assert_eq!(
            (output.status.code(), text(&output.stderr).as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[test]
fn targets_stand_beside_published_figures() {
    let folder = Folder::new();
    let (out, _) = folder.said(&["trace", "targets", "wdev_0", "-q"]);
    assert!(out.contains("2,654,824") && out.contains("PORE Table I"), "{out}");
    assert!(out.contains("80 % of reuses within") && out.contains("reuse_stats"), "{out}");
    assert!(out.ends_with("Within tolerance: 13 of 13 figures that are aimed at.\n"), "{out}");
    let rows = value(&folder.said(&["trace", "targets", "msr-wdev_0", "--json"]).0);
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), 14);
    assert_eq!((&rows[0]["published"], &rows[0]["holds"]), (&2_654_824.0.into(), &true.into()));
    folder.refuses(2, &["trace", "targets", "wdev"], &["'wdev'", "wdev_0"]);
}

// ── Papers ───────────────────────────────────────────────────────────────────────────────────

/// Little work.
const LITTLE: [&str; 6] = ["--scale", "0.002", "--seeds", "2", "--threads", "2"];

#[test]
fn a_paper_is_reproduced_as_table_page_pictures_and_json() {
    let folder = Folder::new();
    let base = ["reproduce", "pore", "--figure", "16"];
    let of = |more: &[&'static str]| [&base[..], &LITTLE, more].concat();
    let (out, err) = folder.said(&of(&["--json", "pore.json"]));
    assert!(
        out.contains("Figure 16: SSD cache sizes")
            && out.contains("statements agree")
            && out.contains("of runs at the default scale"),
        "{out}"
    );
    assert!(err.contains("reproduce-pore/index.html"), "{err}");
    let page = std::fs::read_to_string(folder.path("reproduce-pore/index.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    // Offline: nothing is loaded from anywhere.
    assert!(
        !page.contains("src=") && !page.contains("@import") && !page.contains("url("),
        "{page}"
    );
    assert!(page.contains("shingle reproduce pore --figure 16"));
    assert!(folder.path("reproduce-pore/16a.svg").exists());
    let json = value(&std::fs::read_to_string(folder.path("pore.json")).expect("results"));
    let figure = &json["result"]["figures"][0];
    let rows = figure["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 9);
    assert_eq!(
        (&rows[0]["published"], rows[0]["ours"].as_array().map(Vec::len)),
        (&4.79.into(), Some(2))
    );
    assert_eq!(figure["scale"][0], "the first 0.002 of each trace");
    // What is done is not done again; and done again, the same seeds give the same.
    let kept = std::fs::read(folder.path("reproduce-pore/runs.jsonl")).expect("a journal");
    let torn = &kept[..kept.len() - 9];
    std::fs::write(folder.path("reproduce-pore/runs.jsonl"), torn).expect("as a kill leaves it");
    let (out, err) = folder.said(&of(&["--json", "-"]));
    assert!(err.contains(" runs are done already"), "{err}");
    assert_eq!(value(&out)["result"], json["result"]);
    let again = ["--json", "-", "-q", "--fresh"];
    let once = value(&folder.said(&of(&again)).0);
    assert_eq!(once["result"], json["result"]);

    // Beside an earlier one: itself, and one in which a verdict was another.
    let beside = ["-q", "--before", "pore.json"];
    let (out, _) = folder.said(&of(&beside));
    assert!(
        out.contains("of 9 statements that are in both") && out.contains("0 more, 0 fewer"),
        "{out}"
    );
    let mut other = json.clone();
    let verdict = &mut other["result"]["figures"][0]["rows"][0]["verdict"];
    let agreed = *verdict != "disagrees";
    *verdict = if agreed { "disagrees" } else { "agrees-in-size" }.into();
    folder.write("pore.json", other.to_string());
    let (out, _) = folder.said(&of(&beside));
    let told = if agreed { "1 more, 0 fewer" } else { "0 more, 1 fewer" };
    assert!(out.contains(told) && out.contains("before, and "), "{out}");
    folder.write("roco.json", other.to_string().replace("\"pore\"", "\"roco\""));
    folder.refuses(
        1,
        &[&base[..], &["--before", "roco.json"]].concat(),
        &["roco.json", "of `roco`"],
    );
    folder.refuses(1, &[&base[..], &["--before", "none.json"]].concat(), &["none.json"]);
}

/// As it is, and each free parameter halved and doubled.
#[test]
#[ignore = "makes a volume two dozen times; .ci/run full runs it"]
fn a_paper_is_reproduced_with_other_free_parameters() {
    let folder = Folder::new();
    let one = ["reproduce", "pore", "--figure", "16", "--scale", "0.002", "--seeds", "1"];
    let varied = value(&folder.said(&[&one[..], &["--sensitivity", "--json", "-"]].concat()).0);
    let page = std::fs::read_to_string(folder.path("reproduce-pore/index.html")).expect("a page");
    assert!(page.contains("zone-skew 64"), "{page}");
    let variants = varied["sensitivity"]["variants"].as_array().expect("variants");
    assert_eq!((variants.len() % 2, &variants[0]["label"]), (1, &"as it is".into()));
    assert_eq!(variants[1]["findings"].as_array().map(Vec::len), Some(9));
}

#[test]
fn a_paper_is_reproduced_over_the_traces_themselves() {
    let folder = Folder::new();
    folder.msr(&["wdev_0"], 20_000, 4096, |_, i| i * 7919 % 5000 * 4096);
    let args = ["reproduce", "pore", "--figure", "16", "--seeds", "1", "--traces", "msr"];
    let (out, _) = folder.said(&args);
    assert!(out.contains("scale: the paper's scale"), "{out}");
    let all = ["reproduce", "pore", "--figure", "13", "--fresh", "--traces", "msr"];
    folder.refuses(1, &all, &["msr", "mds_0"]);
}

/// The volumes that ROCO replays, as short traces in the folder `msr`: workloads are made whole, however little is run of
/// them. Those of src2_2 reach beyond the drive.
fn roco_traces(folder: &Folder) {
    let volumes = ["proj_0", "prn_0", "src2_2", "stg_0", "src1_2"];
    folder.msr(&volumes, 2_000, 16_384, |volume, i| {
        let beyond = if volume == "src2_2" && i % 2 == 1 { 200 << 30 } else { 0 };
        i * 7919 % 5000 * 16_384 + beyond
    });
}

/// Every statement of every figure, so that each refers to runs there are.
#[test]
fn a_paper_is_reproduced_at_the_times_of_its_requests() {
    let folder = Folder::new();
    roco_traces(&folder);
    let base = ["reproduce", "roco", "--seeds", "1", "--threads", "2", "--traces", "msr"];
    let (out, _) = folder.said(&[&base[..], &["--json", "a.json"]].concat());
    assert!(out.contains("Figure 11: Response times"), "{out}");
    assert!(out.contains("scale: the paper's scale"), "{out}");
    assert!(out.contains("16.0"), "the mean write: {out}");
    let result =
        &value(&std::fs::read_to_string(folder.path("a.json")).expect("results"))["result"];
    let figures = result["figures"].as_array().expect("figures");
    let nine = figures.iter().find(|figure| figure["id"] == "9").expect("Figure 9");
    let notes = nine["scale"].as_array().expect("notes");
    // The only volume that ends beyond the drive.
    let packed =
        notes.iter().filter_map(|note| note.as_str()).filter(|note| note.contains("packed"));
    assert_eq!(packed.count(), 1, "{notes:?}");
    // Without a cache all that is written reaches the drive, one way or the other.
    let ha = |line: &&Value| line["system"] == "HA";
    let lines = nine["numbers"].as_array().expect("numbers").iter().filter(ha);
    let mut traces = 0;
    for line in lines {
        let shares = [0, 1].map(|nth| line["values"][nth][1][0].as_f64().expect("a share"));
        assert!((shares[0] + shares[1] - 100.0).abs() < 1e-9, "{line}");
        traces += 1;
    }
    assert_eq!(traces, 5);
    let again = [&base[..], &["--fresh", "--json", "-", "-q", "--figure", "9"]].concat();
    let once = value(&folder.said(&again).0);
    assert_eq!(&once["result"]["figures"][0], nine);
}

/// Statements of MCM's figures, so that each refers to runs there are; over short traces, as the workloads
/// are made whole however little is run of them.
#[test]
fn flash_inside_disks_is_compared_over_the_traces_themselves() {
    let folder = Folder::new();
    // Two writes that overlap to each of 1,500 places, in one band after another, and again.
    folder.msr(&["rsrch_0", "mds_0", "src2_0", "hm_0", "usr_0"], 7_500, 32_768, |_, i| {
        (i / 2 * 7919 % 1500 * 200 + i % 2) * 4096
    });
    // All but `unscaled`: to fill 16 GB of flash takes its time.
    let figures = "table-1,3-left,3-right,8,9,10,11,foreground,size,disk,wear";
    let base = ["reproduce", "mcm", "--seeds", "1", "--traces", "msr", "--json", "a.json"];
    let (out, _) = folder.said(&[&base[..], &["--figure", figures]].concat());
    assert!(out.contains("Figure 8: Response times"), "{out}");
    let result =
        &value(&std::fs::read_to_string(folder.path("a.json")).expect("results"))["result"];
    let figures = result["figures"].as_array().expect("figures");
    let numbers = |id: &str| {
        let figure = figures.iter().find(|figure| figure["id"] == id).expect(id);
        figure["numbers"].as_array().expect("numbers").clone()
    };
    // All but the first to each place are updates: 6,000. None is in a run of three.
    let table = &numbers("table-1")[0]["values"];
    let of = |name: &str| {
        let value = table.as_array().expect("values").iter().find(|value| value[0] == name);
        value.expect(name)[1][0].as_f64().expect("a number")
    };
    assert_eq!(of("hm_0: requests"), 7_500.0);
    assert_eq!(of("hm_0: sequential (% of writes)"), 0.0);
    assert_eq!(of("hm_0: updates (% of writes)"), 80.0);
    // 234 MiB through 64 MiB of flash: it is erased. FC that writes back copies nothing.
    for (id, system, some) in [("10", "FC, writing back", true), ("11", "FC, writing back", false)]
    {
        let lines = numbers(id);
        let of_system = lines.iter().filter(|line| line["system"] == system);
        let values: Vec<Option<f64>> =
            of_system.map(|line| line["values"][0][1][0].as_f64()).collect();
        assert_eq!(values.len(), 5, "{id}");
        assert!(values.iter().all(|value| value.is_some_and(|n| (n > 0.0) == some)), "{values:?}");
    }
}

#[test]
fn a_papers_orders_are_looked_for_on_any_trace() {
    let folder = Folder::new();
    let line = |i: u64| {
        let (at, block) = (128_166_372_003_061_629 + i * 10_000, i * 7919 % 3000 * 100);
        format!("{at},own,0,Write,{},4096,100\n", block * 4096)
    };
    folder.write("own.csv", (0..4000).map(line).collect::<String>());
    let on = ["reproduce", "pore", "--on", "own.csv,synth:zipf?requests=3k", "--json", "on.json"];
    let (out, err) = folder.said(&on);
    assert!(out.contains("PORE < LRU-band") && out.contains("of 2 traces"), "{out}");
    assert!(err.contains("reproduce-pore/index.html"), "{err}");
    let page = std::fs::read_to_string(folder.path("reproduce-pore/index.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("own.csv"), "{page}");
    let json = value(&std::fs::read_to_string(folder.path("on.json")).expect("results"));
    assert_eq!(json["schema"], "shingle.on-traces/1");
    let trace = &json["traces"][0];
    // Each of 3,000 blocks is written, a thousand of them twice: a quarter is the cache, an eighth the buffer.
    assert_eq!(
        (&trace["requests"], &trace["distinct_written_blocks"]),
        (&4000.into(), &3000.into())
    );
    assert_eq!((&trace["cache_blocks"], &trace["buffer_blocks"]), (&750.into(), &375.into()));
    // Nothing is written again while it is cached: no order of hits, and the bare disk writes each block.
    let hits = &json["claims"][2]["found"][0];
    assert_eq!(hits["outcome"], "nothing-to-compare", "{hits}");
    let figures = json["claims"][1]["found"][0]["figures"].as_array().expect("figures");
    assert_eq!(
        (figures.len(), figures[1].is_null()),
        (5, true),
        "a conventional disk amplifies nothing"
    );

    // One that cannot be read does not take the others along, and is an error.
    let two = ["reproduce", "pore", "--on", "none.csv,own.csv", "-q"];
    let output = folder.command("").args(two).output().expect("started");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        out.contains("nothing to compare on any trace") && !out.contains("of 0 traces"),
        "{out}"
    );
    assert!(out.contains("of 1 traces") && output.status.code() == Some(1), "{out}{err}");
    assert!(err.contains("1 of 2 traces were not run") && err.contains("none.csv"), "{err}");
    let both = folder
        .command("")
        .args(["reproduce", "pore", "--on", "own.csv", "--scale", "0.5"])
        .output();
    let both = both.expect("started");
    assert!(text(&both.stderr).contains("cannot be used with"), "{both:?}");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn the_policy_of_this_project_is_held_against_the_published_ones_over_any_traces() {
    let folder = Folder::new();
    let line = |i: u64| {
        let (at, block) = (128_166_372_003_061_629 + i * 10_000, i * 7919 % 3000 * 100);
        let op = if i.is_multiple_of(4) { "Read" } else { "Write" };
        format!("{at},rsrch,{},{op},{},4096,100\n", i % 2, block * 4096)
    };
    folder.write("rsrch_1.csv", (0..2500).map(line).collect::<String>());
    let own = ["reproduce", "own", "--figure", "emulator", "--volume", "*", "--scale", "0.002"];
    let of = |args: &[&str]| {
        let (out, _) = folder.said(&[&own[..], args, &["--json", "own.json"]].concat());
        (out, value(&std::fs::read_to_string(folder.path("own.json")).expect("results")))
    };
    let (out, json) = of(&["--on", "rsrch_1.csv,synth:mixed", "--seeds", "2"]);
    assert!(out.contains("half-life x 2") && !out.contains("1,250 blocks"), "{out}");
    let cells = json["cells"].as_array().expect("cells");
    let of_cell = |cell: &Value| {
        let seeds = cell["systems"][0]["seconds"].as_array().expect("seconds").len();
        (cell["workload"].clone(), cell["role"].clone(), seeds)
    };
    // A recorded trace has one seed; what it is known to be is told by its name.
    assert_eq!(of_cell(&cells[0]), ("rsrch_1.csv".into(), "named".into(), 1));
    assert_eq!(of_cell(&cells[4]), ("synth:mixed".into(), "tuned".into(), 2));
    assert_eq!(json["requests"], 1000);
    let bounded = |json: &Value| {
        let mut cells = json["cells"].as_array().expect("cells").iter();
        cells.any(|cell| cell["least_seconds"][0].as_f64() > Some(0.0))
    };
    assert!(bounded(&json));
    let (_, unbounded) = of(&["--on", "synth:mixed", "--no-bound"]);
    assert!(!bounded(&unbounded));
    folder.refuses(2, &["reproduce", "sac", "--no-bound"], &["only `reproduce own`"]);
    let (out, json) = of(&["--on", "rsrch_1.csv", "--sensitivity"]);
    assert!(out.contains("zones of 1,250 blocks"), "{out}");
    let varied = json["sensitivity"].as_array().expect("conditions");
    assert_eq!((varied.len(), &varied[0]["of"]), (20, &"as it is".into()));
    folder.refuses(2, &["reproduce", "own", "--free", "cold=0.1"], &["reproduce own takes"]);
}

#[test]
fn a_paper_that_cannot_be_reproduced_so_says_why() {
    let folder = Folder::new();
    let refused = |args: &[&str], told: &[&str]| {
        folder.refuses(2, &[&["reproduce"][..], args].concat(), told);
    };
    refused(&["sca"], &["no paper `sca`", "sac"]);
    refused(&["sac", "--figure", "99"], &["no figure `99`", "table-5"]);
    refused(&["sac", "--scale", "0"], &["--scale 0", "above 0"]);
    refused(&["sac", "--seeds", "0"], &["--seeds 0"]);
    refused(&["pore", "--figure", "16", "--threads", "0"], &["--threads 0: give at least 1"]);
    refused(&["pore", "--write"], &["--figure 10"]);
    refused(&["sac", "--figure", "10", "-d", "st800"], &["st8000as0002"]);
    refused(&["pore", "--figure", "16", "--free", "heat=2"], &["heat", "zone-skew"]);
    refused(&["roco", "--figure", "9", "--every-zone", "2"], &["--every-zone 2", "--scale"]);
    // Half the zones of a buffer of 30.
    let halved = ["reproduce", "sac", "--figure", "15", "--scale", "0.01", "--every-zone", "2"];
    folder.refuses(2, &halved, &["15 zones", "at least 30"]);
}

// ── Drives of one's own ──────────────────────────────────────────────────────────────────────

#[test]
fn a_copy_of_a_sheet_is_that_drive_but_for_its_name() {
    let folder = Folder::new();
    for (drive, policy) in [("st8000as0002", "sac"), ("exos-x18z", "none")] {
        let (sheet, _) = folder.said(&["list", "drives", drive, "--toml"]);
        folder.write("own.toml", sheet);
        let result = |drive: &str| {
            let translation = if policy == "none" { "fluid" } else { "none" };
            let args = [
                "run",
                SMALL,
                "--remap",
                "-p",
                policy,
                "-d",
                drive,
                "-t",
                translation,
                "--quiet",
                "--json",
                "-",
            ];
            let mut json = value(&folder.said(&args).0);
            for run in json["runs"].as_array_mut().expect("runs") {
                run["wall"] = Value::Null;
                assert_eq!(run["drive"].take(), drive);
            }
            json["runs"].to_string()
        };
        assert_eq!(result("sheet:own.toml"), result(drive), "{drive}");
    }
}

#[test]
fn a_sheet_is_listed_like_any_drive_and_refused_in_a_line() {
    let folder = Folder::new();
    let (sheet, _) = folder.said(&["list", "drives", "cmr7200", "--toml"]);
    assert!(sheet.starts_with("model = \"conventional\"\n"), "{sheet}");
    folder.write("own.toml", sheet.replacen('\n', "\nabout = \"mine\"\n", 1));
    let listed = |name: &str| folder.said(&["list", "drives", name]).0;
    let (own, built_in) = (listed("sheet:own.toml"), listed("cmr7200"));
    assert_eq!(own.lines().next(), Some("sheet:own.toml: mine"));
    assert!(own.lines().skip(1).eq(built_in.lines().skip(1)), "{own}");
    let json = value(&folder.said(&["list", "drives", "sheet:own.toml", "--json"]).0);
    assert_eq!(json["parameters"].as_array().map(Vec::len), Some(27));
    folder.write("bad.toml", sheet.replacen("value = 7200", "value = 72", 1));
    let told = ["bad.toml: line 13: rpm: ", "from 100 to 100000"];
    folder.refuses(2, &["list", "drives", "sheet:bad.toml"], &told);
    folder.refuses(2, &["run", SMALL, "-d", "sheet:bad.toml"], &told);
    folder.refuses(2, &["compare", SMALL, "-d", "sheet:none.toml"], &["none.toml", "no such file"]);
    folder.refuses(2, &["run", SMALL, "--ssd", "sheet:own.toml"], &["it is the sheet of a disk"]);
    folder.refuses(2, &["probe", "--model", "sheet:bad.toml"], &told);
    folder.refuses(2, &["sweep", SMALL, "-d", "sheet:bad.toml", "--out", "out"], &told);
    folder.refuses(2, &["list", "policies", "--toml"], &["only drives and ssds"]);
    folder.refuses(2, &["list", "drives", "cmr72", "--toml"], &["cmr7200"]);
}

// ── Lists and help ───────────────────────────────────────────────────────────────────────────

#[test]
fn lists_show_all_there_is() {
    let folder = Folder::new();
    let (out, _) = folder.said(&["list"]);
    for what in
        ["policies", "drives", "disks", "translations", "ssds", "formats", "workloads", "anchors"]
    {
        assert!(out.lines().any(|line| line.trim_start().starts_with(what)), "{what}: {out}");
    }
    let policies = Registry::default().entries().iter().map(|entry| entry.name).collect();
    let drives = shingle_drive::drives().iter().map(|entry| entry.name).collect();
    let ssds = shingle_drive::ssds().iter().map(|entry| entry.name).collect();
    let formats = shingle_trace::format::FORMATS.iter().map(|format| format.name).collect();
    let workloads = shingle_trace::synth::WORKLOADS.iter().map(|workload| workload.name).collect();
    let translations = shingle_translation::translations::ALL.iter().map(|t| t.name).collect();
    let all: [(&str, Vec<&str>); 6] = [
        ("policies", policies),
        ("drives", drives),
        ("translations", translations),
        ("ssds", ssds),
        ("formats", formats),
        ("workloads", workloads),
    ];
    for (what, names) in all {
        let (out, err) = folder.said(&["list", what]);
        let listed: Vec<&str> =
            out.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(names.iter().all(|name| listed.contains(name)) && err.is_empty(), "{out}{err}");
        let json = value(&folder.said(&["list", what, "--json"]).0);
        let items = json.as_array().expect("a list");
        let named: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
        assert_eq!(named, names, "in the order of the registry");
        for item in items {
            let name = item["name"].as_str().expect("a name");
            assert!(item["about"].as_str().is_some_and(|about| !about.is_empty()), "{name}");
            let (out, _) = folder.said(&["list", what, name]);
            assert!(out.starts_with(&format!("{name}: ")), "{out}");
            let idle = item["idle"].as_str();
            assert_eq!(idle.is_some(), what == "policies", "{name} does something with idle time");
            let told = idle.map_or(String::new(), |idle| format!("\nin idle time: {idle}\n"));
            assert!(out.contains(&told), "{out}");
            for parameter in item["parameters"].as_array().expect("a list") {
                assert!(out.contains(parameter["name"].as_str().expect("a name")), "{out}");
                assert!(parameter["default"].is_string() && parameter["about"].is_string());
            }
            assert_eq!(value(&folder.said(&["list", what, name, "--json"]).0), *item);
        }
    }
}

/// Response times of real disks, as measured by the authors of the set, and how near the mechanics come.
#[test]
fn measured_disks_are_replayed() {
    let Some(set) = shingle_testbed::trace("disksim") else { return };
    let folder = Folder::new();
    let set = set.to_str().expect("text");
    let (out, _) = folder.said(&["list", "anchors", "--disksim", set, "--json", "--quiet"]);
    let rows = value(&out);
    let rows = rows.as_array().expect("a list").iter();
    let rows: Vec<&Value> = rows.filter(|row| row["drive"].as_str().is_some_and(known)).collect();
    assert_eq!(rows.len(), 4 * 3, "all, reads and writes of four disks");
    let number =
        |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
    for row in rows {
        let (measured, model) = (number(row, "measured"), number(row, "model"));
        assert!((number(row, "deviation") - (model / measured - 1.0)).abs() < 1e-9, "{row}");
        assert!(number(row, "deviation").abs() < 0.15, "{row}");
        // Two distributions are at least as far from each other as their means.
        assert!(number(row, "demerit_ms") + 1e-9 >= (model - measured).abs(), "{row}");
        let all = row["quantity"] == "mean response time";
        assert_eq!(row["demerit_of_disksim_ms"].is_number(), all, "{row}");
    }
}

fn known(disk: &str) -> bool {
    ["atlas10k", "atlas_III", "barracuda", "cheetah4LP"].contains(&disk)
}

#[test]
fn a_folder_without_measured_disks_is_told() {
    let folder = Folder::new();
    folder.refuses(1, &["list", "anchors", "--disksim", "none"], &["none", "No such file"]);
    folder.refuses(1, &["list", "anchors", "--disksim", "."], &["NAME.diskspecs"]);
    folder.write("a.diskspecs", "disk A {");
    let quiet = ["list", "anchors", "--quiet", "--disksim", "."];
    folder.refuses(1, &quiet, &["a.model", "No such file"]);
    folder.refuses(2, &["list", "drives", "--disksim", "."], &["--disksim", "anchors"]);
}

#[test]
fn the_version_is_told() {
    assert!(Folder::new().said(&["--version"]).0.starts_with("shingle "));
}

// ── Results ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_comparison_and_a_run_are_printed() {
    let folder = Folder::new();
    let (out, _) = folder.said(&["compare", SMALL, "-p", "most,sac"]);
    for told in ["2,000 requests", "seed 1", "most", "sac", "lru", "RMWs", "needs the least I/O"] {
        assert!(out.contains(told), "{told}: {out}");
    }
    let (out, _) = folder.said(&["run", SMALL, "-p", "sac", "--check"]);
    for told in ["RMWs", "left undone", "response times", "requests so far", "were checked"] {
        assert!(out.contains(told), "{told}: {out}");
    }
    let (out, _) = folder.said(&["trace", "info", SMALL]);
    assert!(out.contains("2,000"), "{out}");
    let info = value(&folder.said(&["trace", "info", SMALL, "--json", "-"]).0);
    let run = folder.results(&["run", SMALL, "-p", "lru"]);
    for name in ["blocks", "read_blocks", "write_blocks", "distinct_blocks", "written_zone_bytes"] {
        assert_eq!(info[name], run["trace"][name], "{name}");
    }
}

/// The longest line of `text`, in characters.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn tables_and_sentences_fit_the_line() {
    let folder = Folder::new();
    let compare = ["compare", SMALL, "-p", "none,lru,sac", "-c", "1%,2%"];
    let sweep = ["sweep", SMALL, "-p", "lru,sac", "--vary", "cache=1%,2%", "--fresh"];
    let commands = [
        &compare[..],
        &[&compare[..], &["--pacing", "trace"]].concat(),
        &[&compare[..2], &["-p", "lru,sac", "--seeds", "2"]].concat(),
        &["run", SMALL, "-p", "sac"],
        &sweep,
        &["list", "policies"],
        &["list", "drives", "st8000as0002"],
    ];
    for command in commands {
        for (columns, most) in [(Some("80"), 80), (Some("200"), 200), (None, 100)] {
            let mut program = folder.command("");
            program.args(command);
            columns.map(|columns| program.env("COLUMNS", columns));
            let out = text(&program.output().expect("started").stdout);
            assert!((40..=most).contains(&widest(&out)), "{command:?}, {columns:?}:\n{out}");
        }
    }
    // What is left out is named, with room it is there, and figures are never cut in two.
    let at = |columns: &str| {
        let output =
            folder.command("").args(compare).env("COLUMNS", columns).output().expect("started");
        text(&output.stdout)
    };
    let (narrow, wide) = (at("60"), at("200"));
    for column in ["┆ wa_host ", "┆ blocks read "] {
        assert!(!narrow.contains(column) && wide.contains(column), "{column}: {narrow}{wide}");
    }
    let told = narrow.replace('\n', " ");
    assert!(told.contains("Not shown for want of room: blocks read, written, wa_host"), "{narrow}");
    assert!(!wide.contains("Not shown"), "{wide}");
    let rows = |out: &str| out.lines().filter(|line| line.starts_with("│ sac")).count();
    assert_eq!((rows(&narrow), rows(&wide)), (2, 2), "{narrow}");
}

#[test]
fn warnings_are_in_the_result_as_json() {
    let folder = Folder::new();
    // A cache as large as all data never fills.
    let args = ["compare", SMALL, "-p", "lru,sac", "-c", "2G", "--json", "-"];
    let (out, err) = folder.said(&args);
    let said = value(&out)["said"].as_array().expect("there is something to say").clone();
    let warnings: Vec<&str> = said
        .iter()
        .filter(|said| said["kind"] == "warning")
        .filter_map(|said| said["text"].as_str())
        .collect();
    assert!(!warnings.is_empty(), "{out}");
    for warning in warnings {
        assert!(err.contains(warning), "{warning}: {err}");
    }
    let (_, err) = folder.said(&[&args[..], &["--quiet"]].concat());
    assert_eq!(err, "");
}

#[test]
fn nothing_divided_by_nothing_is_null() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "none", "--baseline", "none", "-d", "cmr5900"];
    let found = folder.results(&[&args[..], &["--mode", "r"]].concat());
    let run = &found["runs"][0];
    assert_eq!(run["mode"], "r");
    for name in ["wa_band", "wa_drive", "wa_host"] {
        assert!(run["all"][name].is_null(), "{name}");
    }
    assert_eq!(run["all"]["hits"]["ratio"], 0.0, "accesses without a hit are no 0/0");
    assert!(run["warm_from"].is_null(), "no cache, no buffer");
    assert_eq!(run["warm"]["requests"]["write"], 0, "nothing counts");
    assert!(run["warm"]["hits"]["ratio"].is_null());
    let written = &folder.results(&args)["runs"][0]["all"];
    assert_eq!((&written["wa_drive"], written["wa_band"].is_null()), (&Value::from(1.0), true));
}

#[test]
fn equal_runs_give_equal_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    for pacing in ["closed", "trace"] {
        let args = ["compare", SMALL, "--pacing", pacing, "-d", "st8000as0002,cmr7200", "-c"];
        let args = [&args[..], &["1%,300b", "-p", "none,lru,lru-band,most,sac"]].concat();
        // What needs bands does not go with a disk that has none.
        folder.refuses(2, &args, &["lru-band", "bands"]);
        let args: Vec<&str> = args
            .iter()
            .map(|&arg| if arg.contains("band") { "none,lru,most,sac" } else { arg })
            .collect();
        let first = folder.timeless(&args);
        assert!(first.contains("\"runs\"") && !first.contains("blocks_per_second"));
        assert_eq!(first, folder.timeless(&args), "{pacing}");
        for threads in ["1", "2", "7"] {
            let again = folder.timeless(&[&args[..], &["--threads", threads]].concat());
            assert_eq!(first, again, "{pacing}, {threads} threads");
        }
    }
}

#[test]
fn a_run_is_the_same_alone_and_beside_others_in_any_order() {
    let folder = Folder::new();
    for pacing in ["closed", "trace"] {
        let runs = |policies: &str, caches: &str| {
            let args = ["compare", SMALL, "--pacing", pacing, "--baseline", "none"];
            let args = [&args[..], &["-p", policies, "-c", caches]].concat();
            let found = without_wall(folder.results(&args));
            let mut runs: Vec<String> =
                found["runs"].as_array().expect("runs").iter().map(Value::to_string).collect();
            runs.sort();
            runs
        };
        let together = runs("lru,sac,disk-time,w-tinylfu", "1%,300b");
        assert_eq!(together.len(), 8);
        assert_eq!(together, runs("w-tinylfu,disk-time,sac,lru", "300b,1%"), "{pacing}");
        for policy in ["lru", "sac", "disk-time", "w-tinylfu"] {
            let alone = runs(policy, "300b");
            assert!(alone.len() == 1 && together.contains(&alone[0]), "{pacing}: {policy}");
        }
    }
}

#[test]
fn emulators_run_at_the_traces_pace_too() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "lru", "-d", "sac-emulator,pore-emulator"];
    let found = folder.results(&[&args[..], &["--pacing", "trace"]].concat());
    assert_eq!(found["runs"][1]["all"]["seconds"]["by_cause"]["idle_clean"], 0.0);
    let args = [&args[..], &["--set", "drive.idle_cleaning=on"]].concat();
    folder.refuses(2, &args, &["sac-emulator has no parameter"]);
}

#[test]
fn the_seed_counts_and_is_shown() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "lru"];
    let seeded = |seed: &str| folder.results(&[&args[..], &["--seed", seed]].concat());
    let (one, two, plain) = (seeded("1"), seeded("2"), folder.results(&args));
    assert_eq!((&one["seed"], &two["seed"]), (&Value::from(1), &Value::from(2)));
    assert_ne!(one["runs"][0]["all"], two["runs"][0]["all"]);
    assert_eq!(one["runs"][0]["all"], plain["runs"][0]["all"], "1 is the default");
    for command in ["compare", "run"] {
        let (out, _) = folder.said(&[command, SMALL, "--seed", "77"]);
        assert!(out.contains("seed 77"), "{out}");
    }
}

/// What another program has written and no more.
fn piped(bytes: &[u8]) -> PipeReader {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(bytes).expect("it fits into the pipe");
    reader
}

#[test]
fn stdin_is_a_trace() {
    let folder = Folder::new();
    let packed = gzip(msr().as_bytes());
    folder.write("stdin", &packed);
    let args = ["-p", "lru,sac", "-c", "3b", "--json", "-", "--quiet"];
    let mut command = folder.command("compare -");
    let output = command.args(args).stdin(piped(&packed)).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = folder.results(&["compare", "stdin", "-p", "lru,sac", "-c", "3b"]);
    let piped_in = value(&text(&output.stdout));
    assert_eq!(
        without_wall(piped_in),
        without_wall(read),
        "the name is stdin, the rest the file's"
    );
    let output = folder.command("compare -").stdin(piped(b"")).output().expect("started");
    folder.is_one_line(1, &["compare", "-"], &["empty"], &output);
}

#[test]
fn a_configuration_stands_for_options() {
    let folder = Folder::new();
    let toml = format!(
        "trace = \"{SMALL}\"\npolicies = [\"most\", \"sac\"]\nbaseline = \"none\"\n\
         drives = [\"sac-emulator\"]\ncache = [\"2%\", \"300b\"]\nseed = 5\nmode = \"w\"\n\
         requests = 900\nsplit = \"4k\"\npartial = \"ignore\"\ndrain = true\ncheck = true\n\
         copies = 2\nremap = true\nthreads = 2\n\
         [set]\n\"sac.rule2\" = false\n\"cache.batch\" = 8\n\"drive.pb\" = \"200b\"\n"
    );
    folder.write("options.toml", toml);
    let given = [
        "compare",
        SMALL,
        "-p",
        "most,sac",
        "--baseline",
        "none",
        "-d",
        "sac-emulator",
        "-c",
        "2%,300b",
        "--seed",
        "5",
        "--mode",
        "w",
        "--requests",
        "900",
        "--split",
        "4k",
        "--partial",
        "ignore",
        "--drain",
        "--check",
        "--copies",
        "2",
        "--remap",
        "--threads",
        "2",
        "--set",
        "sac.rule2=off",
        "--set",
        "cache.batch=8",
        "--set",
        "drive.pb=200b",
    ];
    let configured = ["compare", "--config", "options.toml"];
    assert_eq!(folder.timeless(&given), folder.timeless(&configured));
    // The command line comes first: of settings the last counts, so it can be given at the end.
    let batch = ["--set", "cache.batch=1"];
    let of_both = folder.timeless(&[&configured[..], &batch].concat());
    assert_eq!(folder.timeless(&[&given[..], &batch].concat()), of_both);
    assert_eq!(folder.results(&[&configured[..], &["--seed", "6"]].concat())["seed"], 6);
}

#[test]
fn a_configuration_paces_and_shifts() {
    let folder = Folder::new();
    folder.write("paced.toml", "pacing = \"trace\"\nspeed = 2.5\noffset = \"1GiB\"\n");
    let args = ["compare", SMALL, "-p", "lru"];
    let given = [&args[..], &["--pacing", "trace", "--speed", "2.5", "--offset", "1GiB"]].concat();
    let configured = [&args[..], &["--config", "paced.toml"]].concat();
    assert_eq!(folder.timeless(&given), folder.timeless(&configured));
    assert_ne!(folder.timeless(&given), folder.timeless(&args));
    for wrong in ["speed = 0", "offset = \"far\""] {
        folder.write("wrong.toml", wrong);
        folder.refuses(2, &["compare", SMALL, "--config", "wrong.toml"], &["wrong.toml: line 1: "]);
    }
}

#[test]
fn quiet_silences_the_talk() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "lru", "--json", "out.json"];
    let (loud, talk) = folder.said(&args);
    assert!(talk.contains("the drive's buffer is scaled"), "{talk}");
    let (quiet, silence) = folder.said(&[&args[..], &["--quiet"]].concat());
    assert_eq!((quiet, silence.as_str()), (loud, ""));
    assert_eq!(folder.names(), ["out.json"], "written whole, nothing beside it");
    let written = std::fs::read_to_string(folder.path("out.json")).expect("written");
    assert_eq!(value(&written)["schema"], "shingle.result/1");
}

#[test]
fn a_csv_has_a_line_for_each_run() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "none,lru"];
    let (written, _) = folder.said(&[&args[..], &["--csv", "-"]].concat());
    let lines: Vec<Vec<&str>> = written.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3, "a header and a line a run");
    assert_eq!(lines[0][..4], ["trace.name", "trace.hash", "seed", "policy"]);
    assert_eq!([lines[1][3], lines[2][3]], ["none", "lru"]);
    folder.refuses(2, &[&args[..], &["--csv", "-", "--json", "-"]].concat(), &["stdout takes one"]);
}

#[test]
fn several_seeds_show_least_and_most() {
    let folder = Folder::new();
    let args = ["compare", SMALL, "-p", "lru", "--seed", "5"];
    let together = folder.results(&[&args[..], &["--seeds", "3"]].concat());
    let runs = together["runs"].as_array().expect("a list");
    assert_eq!(together["seed"], 5);
    for (number, run) in runs.iter().enumerate() {
        let seed = (5 + number).to_string();
        let alone = folder.results(&[&args[..4], &["--seed", &seed]].concat());
        assert_eq!(run["seed"], 5 + number as u64);
        assert_eq!(run["all"], alone["runs"][0]["all"], "as that seed alone");
    }
    assert_eq!(runs.len(), 3);
    assert_ne!(runs[0]["all"], runs[1]["all"], "seeds differ");
    let (table, _) = folder.said(&[&args[..], &["--seeds", "3"]].concat());
    assert!(table.contains(" – "), "{table}");
    folder.write("trace.csv", msr());
    folder.refuses(2, &["compare", "trace.csv", "--seeds", "3"], &["no synthetic trace"]);
    folder.refuses(2, &["compare", SMALL, "--seeds", "0"], &["--seeds 0"]);
    // With one of the seeds both sizes are the same.
    let first = folder.results(&["compare", SMALL, "-p", "lru"]);
    let sizes = format!("15%,{}b", first["runs"][0]["cache_blocks"]);
    folder.refuses(
        2,
        &["compare", SMALL, "-c", &sizes, "--seeds", "2", "-q"],
        &["two sizes of -c"],
    );
    // A share is one size over all seeds, in words and in pictures.
    let (table, _) =
        folder.said(&["compare", SMALL, "--seeds", "2", "-c", "2%", "--svg", "pictures"]);
    assert!(table.contains("Best of 2 seeds: "), "{table}");
    assert!(!folder.path("pictures/hits-by-cache.svg").exists(), "there is one size");
}

#[test]
fn checking_changes_no_figure() {
    let folder = Folder::new();
    for pacing in ["closed", "trace"] {
        let args = ["compare", SMALL, "--pacing", pacing];
        let plain = folder.results(&args);
        let checked = folder.results(&[&args[..], &["--check"]].concat());
        for (plain, checked) in plain["runs"]
            .as_array()
            .expect("runs")
            .iter()
            .zip(checked["runs"].as_array().expect("runs"))
        {
            assert!(checked["checked_reads"].as_u64() > Some(0));
            assert_eq!((&plain["all"], &plain["latency"]), (&checked["all"], &checked["latency"]));
        }
    }
}
