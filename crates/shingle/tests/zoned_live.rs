//! A zoned disk that is written anywhere, as its user meets it: formatted, served by itself and behind an SSD, killed,
//! and served again.

mod common;

use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, MIB, Served, text, write};
use shingle_nbd::client::Client;
use shingle_nbd::wire::{command, command_flag};
use shingle_testbed::{Loop, root, skip_if};

/// Longer than anything here takes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a formatted disk, and where operators ask.
struct Bed(Folder);

impl Bed {
    fn new(translation: &str) -> Bed {
        let bed = Bed(Folder::new());
        bed.zoned("disk.zoned", translation);
        bed
    }

    /// 64 zones of 1 MiB, of which 8 are conventional. Returns the name of its map.
    fn zoned(&self, name: &str, translation: &str) -> String {
        self.done(&format!("zoned create {name} --zones 64 --zone-size 1M --conventional 8 -q"));
        self.done(&format!("zoned format {name} -t {translation}")).trim().to_owned()
    }

    /// A disk whose map has less room than single blocks need that lie [`APART`].
    fn with_a_small_map() -> Bed {
        let bed = Bed(Folder::new());
        bed.done("zoned create disk.zoned --zones 800 --zone-size 1M --conventional 1 -q");
        bed.done("zoned format disk.zoned -t log");
        bed
    }

    /// What a command says on stdout that ends with 1, as something is wrong.
    fn said_wrong(&self, line: &str) -> String {
        let output = self.output(line);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        said
    }

    /// The same as JSON.
    fn wrong(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.said_wrong(line)).expect("JSON")
    }

    /// Changes the bytes of a file.
    fn change(&self, name: &str, change: impl FnOnce(&mut [u8])) {
        let mut bytes = fs::read(self.path(name)).expect("there");
        change(&mut bytes);
        fs::write(self.path(name), bytes).expect("written");
    }

    /// Without an SSD.
    fn serve_disk(&self) -> Served {
        self.serve("zoned serve disk.zoned", "zoned status disk.zoned")
    }

    /// Without the SSD that belongs to it.
    fn serve_disk_alone(&self) -> Served {
        self.serve("zoned serve disk.zoned --without-ssd", "zoned status disk.zoned")
    }

    fn serve_store(&self) -> Served {
        self.serve("store serve --cache ssd --disk disk.zoned", "store status --cache ssd")
    }

    /// An SSD of 24 MiB with a cache before the disk. Returns its name.
    fn cache(&self) -> String {
        File::create(self.path("ssd")).and_then(|file| file.set_len(24 * MIB)).expect("made");
        self.done("store create --cache ssd --disk disk.zoned --policy lru").trim().to_owned()
    }
}

impl Deref for Bed {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

fn flush(client: &mut Client<UnixStream>) {
    client.flush().expect("connected").expect("flushed");
}

fn read(client: &mut Client<UnixStream>, offset: u64, bytes: usize) -> Vec<u8> {
    client.read(offset, bytes as u32).expect("connected").expect("read")
}

/// Writes here and there, each place twice, so that something is cleaned; `turn` tells one time from another.
fn scatter(client: &mut Client<UnixStream>, turn: u8) {
    for n in 0..600_u64 {
        write(client, place(n), &content(n, turn.wrapping_add(100)));
        write(client, place(n), &content(n, turn));
    }
}

/// So that no 512 KiB have more than three, which are too few to be gathered.
const APART: u64 = 43 * 4096;

/// Writes single blocks until one is refused.
fn fill_the_map(client: &mut Client<UnixStream>) {
    let written = |n: &u64| client.write(n * APART, &[7; 4096], 0).expect("connected").is_ok();
    let room = (0..4000).take_while(written).count();
    assert!((1000..4000).contains(&room), "{room}");
}

fn place(n: u64) -> u64 {
    n * 7919 % 9000 * 4096
}

fn content(n: u64, turn: u8) -> Vec<u8> {
    let mut data = vec![turn; 4096];
    data[..8].copy_from_slice(&n.to_le_bytes());
    data
}

fn is_scattered(client: &mut Client<UnixStream>, turn: u8) {
    for n in 0..600 {
        assert!(read(client, place(n), 4096) == content(n, turn), "write {n} of turn {turn}");
    }
}

#[test]
fn what_was_flushed_survives_a_kill_without_an_ssd() {
    for translation in ["log", "fluid", "dm-zoned", "amphisbaena"] {
        let bed = Bed::new(translation);
        let served = bed.serve_disk();
        let mut client = bed.client();
        assert!(client.size_bytes() >= 40 * MIB && client.size_bytes() < 64 * MIB);
        scatter(&mut client, 1);
        // Part of a block, and a long run.
        write(&mut client, 5, b"within a block");
        write(&mut client, 37 * MIB, &vec![9; 2 * MIB as usize]);
        flush(&mut client);
        served.kill();
        let checked = bed.json("zoned check disk.zoned --json");
        assert_eq!(checked["schema"], "shingle.zoned-check/1");
        assert_eq!(
            (&checked["sound"], &checked["translation"]),
            (&true.into(), &translation.into())
        );

        let served = bed.serve_disk();
        let mut client = bed.client();
        assert_eq!(read(&mut client, 5, 14), b"within a block");
        assert!(read(&mut client, 37 * MIB, 2 * MIB as usize).iter().all(|&byte| byte == 9));
        for n in (0..600).filter(|&n| place(n) > 0) {
            assert!(read(&mut client, place(n), 4096) == content(n, 1), "write {n}");
        }
        // Written with FUA, it needs no flush.
        client.write(8 * MIB, &[3; 4096], command_flag::FUA).expect("connected").expect("written");
        served.kill();
        let served = bed.serve_disk();
        let mut client = bed.client();
        assert_eq!(read(&mut client, 8 * MIB, 4096), [3; 4096]);
        client.disconnect().expect("connected");
        served.terminate();
        assert_eq!(bed.json("zoned check disk.zoned --json")["sound"], true);
    }
}

/// A cache plans with what its disk takes: nothing is rewritten for what a log appends.
#[test]
fn a_cache_over_a_log_plans_as_over_a_log() {
    for (translation, log, base_us) in [("log", "on", "9000"), ("fluid", "off", "436000")] {
        let bed = Bed::new(translation);
        File::create(bed.path("ssd")).and_then(|file| file.set_len(24 * MIB)).expect("made");
        bed.done("store create --cache ssd --disk disk.zoned --set drive.read_us=9000");
        let get = |name: &str| bed.done(&format!("store get --cache ssd {name}")).trim().to_owned();
        let told = [get("drive.log"), get("drive.rmw_base_us")];
        assert!(told[0].contains(log) && told[1].contains(base_us), "{translation}: {told:?}");
    }
}

#[test]
fn a_buffer_is_told_of_a_translation_that_has_one_only() {
    for (translation, buffered) in [("log", false), ("fluid", true)] {
        let bed = Bed(Folder::new());
        bed.done("zoned create disk.zoned --zones 64 --zone-size 1M --conventional 8 -q");
        let made = bed.output(&format!("zoned format disk.zoned -t {translation}"));
        assert!(made.status.success());
        let mut told = vec![text(&made.stderr)];
        let of_map = bed.json("zoned check disk.zoned --json")["buffer_blocks"].as_u64();
        told.extend(["check", "status"].map(|what| bed.done(&format!("zoned {what} disk.zoned"))));
        let served = bed.serve_disk();
        let blocks = bed.json("zoned status disk.zoned --json")["buffer"]["blocks"].as_u64();
        told.push(bed.done("zoned status disk.zoned"));
        served.terminate();
        for told in told {
            assert_eq!(told.contains("buffer"), buffered, "{translation}: {told}");
        }
        assert_eq!((of_map > Some(0), blocks > Some(0)), (buffered, buffered), "{translation}");
    }
}

#[test]
fn status_tells_of_zones_and_of_what_was_written() {
    let bed = Bed::new("log");
    let unserved = bed.json("zoned status disk.zoned --json");
    assert_eq!(
        (&unserved["schema"], &unserved["served"]),
        (&"shingle.zoned-status/1".into(), &false.into())
    );
    let served = bed.serve_disk();
    let mut client = bed.client();
    write(&mut client, 0, &vec![1; MIB as usize]);
    flush(&mut client);
    let status = bed.json("zoned status disk.zoned --json");
    assert_eq!((&status["served"], &status["uuid"]), (&true.into(), &unserved["uuid"]));
    assert_eq!(status["written"]["host_blocks"], 256);
    assert!(status["map"]["commits"].as_u64() > Some(0), "{status}");
    let told = bed.done("zoned status disk.zoned");
    for part in ["translation", "log", "1 MiB by the host", "spare", "bytes a byte", "works"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    for line in ["zoned check disk.zoned", "zoned repair disk.zoned"] {
        bed.refused(1, line, "is served: `shingle zoned status disk.zoned` tells how it is");
    }
    bed.refused(1, "zoned serve disk.zoned --nbd unix:other.sock", "in use by another process");
    bed.done("zoned stop disk.zoned");
    drop(served);
    bed.refused(1, "zoned stop disk.zoned", "not served");
}

/// Everything is given up, and written anew.
#[test]
fn a_trim_of_everything_leaves_a_disk_that_is_written() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    let mut client = bed.client();
    for turn in 1..4 {
        scatter(&mut client, turn);
        let bytes = client.size_bytes() as u32;
        let trimmed = client.call(command::TRIM, 0, 0, bytes, &[]).expect("connected");
        trimmed.expect("trimmed");
        scatter(&mut client, turn + 10);
        is_scattered(&mut client, turn + 10);
    }
    flush(&mut client);
    served.terminate();
    assert_eq!(bed.json("zoned check disk.zoned --json")["sound"], true);
}

#[test]
fn behind_a_store_what_was_flushed_survives_a_kill_and_detach_leaves_a_whole_disk() {
    for translation in ["log", "dm-zoned"] {
        let bed = Bed::new(translation);
        let cache = bed.cache();
        let served = bed.serve_store();
        let mut client = bed.client();
        scatter(&mut client, 1);
        flush(&mut client);
        bed.done("store flush --cache ssd");
        scatter(&mut client, 2);
        flush(&mut client);
        // It is nobody's to ask but the store's.
        let how = format!("belongs to cache {cache}: `shingle store status --cache {cache}` tells");
        for command in ["status", "stop", "check"] {
            bed.refused(1, &format!("zoned {command} disk.zoned"), &how);
        }
        bed.done(&format!("store status --cache {cache}"));
        let status = bed.json("store status --cache ssd --json");
        assert_eq!(status["zoned"]["translation"], translation);
        assert!(status["zoned"]["written"]["host_blocks"].as_u64() >= Some(600), "{status}");
        assert!(bed.done("store status --cache ssd").contains("bytes a byte"));
        served.kill();
        let checked = bed.json("store check --cache ssd --disk disk.zoned --json");
        assert_eq!((&checked["sound"], &checked["clean_shutdown"]), (&true.into(), &false.into()));

        let served = bed.serve_store();
        let mut client = bed.client();
        is_scattered(&mut client, 2);
        client.disconnect().expect("connected");
        bed.done("store stop --cache ssd");
        drop(served);
        bed.done("store export --cache ssd --disk disk.zoned");

        let served = bed.serve_store();
        scatter(&mut bed.client(), 3);
        bed.done("store detach --cache ssd");
        drop(served);
        let served = bed.serve_disk();
        is_scattered(&mut bed.client(), 3);
        served.terminate();
        // Another SSD, and nothing is formatted for it.
        bed.cache();
        let served = bed.serve_store();
        is_scattered(&mut bed.client(), 3);
        drop(served);
    }
}

/// What clients of a store trim leaves the cache and then the disk's map: its zones are free, and what is written anew in sequence is
/// written once, without any cleaning.
#[test]
fn a_trim_through_a_store_frees_zones() {
    for translation in ["log", "dm-zoned"] {
        let bed = Bed::new(translation);
        bed.cache();
        let served = bed.serve_store();
        let mut client = bed.client();
        let fill = |client: &mut Client<UnixStream>, byte| {
            (0..36).for_each(|at| write(client, at * MIB, &vec![byte; MIB as usize]));
            flush(client);
            bed.done("store flush --cache ssd");
        };
        let zoned = || bed.json("store status --cache ssd --json")["zoned"].clone();
        fill(&mut client, 1);
        assert!(zoned()["map"]["runs"].as_u64() > Some(0), "{}", zoned());
        let bytes = client.size_bytes() as u32;
        client.call(command::TRIM, 0, 0, bytes, &[]).expect("connected").expect("trimmed");
        // It was answered at once, and is carried out beside everything else.
        let begun = Instant::now();
        while zoned()["map"]["runs"] != 0 {
            assert!(begun.elapsed() < PATIENCE, "not told: {}", zoned());
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = bed.json("store status --cache ssd --json");
        assert_eq!((&status["clean_blocks"], &status["dirty_blocks"]), (&0.into(), &0.into()));
        assert_eq!(status["trimming_blocks"], 0);
        let before = zoned();
        fill(&mut client, 2);
        let after = zoned();
        if translation == "log" {
            assert_eq!(
                before["cleaned_blocks"], after["cleaned_blocks"],
                "nothing had to be moved"
            );
        }
        for at in 0..36 {
            assert!(read(&mut client, at * MIB, MIB as usize).iter().all(|&byte| byte == 2));
        }
        // Nobody tells it otherwise than by a setting.
        bed.done("store set --cache ssd drive.trim=off");
        client.call(command::TRIM, 0, 0, bytes, &[]).expect("connected").expect("trimmed");
        bed.done("store stop --cache ssd");
        drop(served);
        assert!(bed.json("zoned check disk.zoned --json")["runs"].as_u64() > Some(0));
        // What waits at the end is told before.
        let served = bed.serve_store();
        let mut client = bed.client();
        bed.done("store set --cache ssd drive.trim=auto");
        client.call(command::TRIM, 0, 0, bytes, &[]).expect("connected").expect("trimmed");
        client.disconnect().expect("connected");
        bed.done("store stop --cache ssd");
        drop(served);
        assert_eq!(bed.json("zoned check disk.zoned --json")["runs"], 0, "{translation}");
    }
}

/// The SSD is gone, with what was dirty. The map was not on it.
#[test]
fn a_lost_ssd_loses_what_was_dirty_and_no_more() {
    for translation in ["log", "dm-zoned"] {
        let bed = Bed::new(translation);
        let lost = bed.cache();
        let served = bed.serve_store();
        let mut client = bed.client();
        scatter(&mut client, 1);
        flush(&mut client);
        bed.done("store flush --cache ssd");
        // Half of it is dirty.
        for n in 0..300 {
            write(&mut client, place(n), &content(n, 2));
        }
        flush(&mut client);
        served.kill();
        fs::rename(bed.path("ssd"), bed.path("lost")).expect("there");

        let checked = bed.json("zoned check disk.zoned --json");
        assert_eq!(
            (&checked["sound"], &checked["lost_ranges"]),
            (&true.into(), &serde_json::json!([]))
        );
        // The disk knows that it may lack something, and whose it is.
        let alone = "zoned serve disk.zoned --nbd unix:nbd.sock";
        bed.refused(1, alone, &format!("disk.zoned belongs to cache {lost}"));
        // It is not given up by a server that never was.
        let nowhere = "zoned serve disk.zoned --without-ssd --nbd unix:no/folder";
        bed.refused(1, nowhere, "no/folder: cannot listen");
        bed.refused(1, alone, "if the SSD is lost, --without-ssd serves what the disk has");
        let served = bed.serve_disk_alone();
        let mut client = bed.client();
        for n in 0..600 {
            let found = read(&mut client, place(n), 4096);
            let is = |turn| found == content(n, turn);
            assert!(is(1) || n < 300 && is(2), "{translation}: write {n}");
        }
        scatter(&mut client, 3);
        flush(&mut client);
        served.terminate();
        // It was said once. The SSD that was lost is found, and too late.
        bed.serve_disk().terminate();
        let late = "store serve --cache lost --disk disk.zoned --nbd unix:nbd.sock";
        bed.refused(1, late, "belongs to no cache any more");
        // Another one takes its place, and nothing is formatted.
        bed.cache();
        let served = bed.serve_store();
        is_scattered(&mut bed.client(), 3);
        served.terminate();
    }
}

#[test]
fn the_ssd_of_last_week_is_refused() {
    let bed = Bed::new("log");
    bed.cache();
    let served = bed.serve_store();
    scatter(&mut bed.client(), 1);
    bed.done("store stop --cache ssd");
    drop(served);
    fs::copy(bed.path("ssd"), bed.path("last.week")).expect("copied");
    let served = bed.serve_store();
    scatter(&mut bed.client(), 2);
    bed.done("store flush --cache ssd");
    bed.done("store stop --cache ssd");
    drop(served);
    let served = |ssd: &str| {
        let line = format!("store serve --cache {ssd} --disk disk.zoned --nbd unix:nbd.sock");
        bed.refused(1, &line, "was used with a newer copy of this cache");
    };
    served("last.week");
    let served = bed.serve_store();
    is_scattered(&mut bed.client(), 2);
    served.terminate();
}

/// What it has that is dirty, the disk has had since, and newer.
#[test]
fn a_copy_of_a_detached_ssd_is_refused() {
    for crash in [true, false] {
        let bed = Bed::new("log");
        bed.cache();
        let served = bed.serve_store();
        let mut client = bed.client();
        scatter(&mut client, 1);
        flush(&mut client);
        if crash {
            served.kill();
        } else {
            client.disconnect().expect("connected");
            served.terminate();
        }
        fs::copy(bed.path("ssd"), bed.path("before")).expect("copied");
        let served = bed.serve_store();
        scatter(&mut bed.client(), 2);
        bed.done("store detach --cache ssd");
        drop(served);
        let late = "store serve --cache before --disk disk.zoned --nbd unix:nbd.sock";
        bed.refused(1, late, "one was detached from it since");
        let served = bed.serve_disk();
        scatter(&mut bed.client(), 3);
        served.terminate();
        bed.refused(1, late, "one was detached from it since");
        // Another one may come.
        bed.cache();
        let served = bed.serve_store();
        is_scattered(&mut bed.client(), 3);
        served.terminate();
    }
}

#[test]
fn an_ssd_comes_and_goes_and_nothing_is_formatted() {
    for translation in ["log", "fluid"] {
        let bed = Bed(Folder::new());
        let map = bed.zoned("disk.zoned", translation);
        let served = bed.serve_disk();
        scatter(&mut bed.client(), 1);
        served.terminate();
        // One is attached,
        bed.cache();
        let served = bed.serve_store();
        let mut client = bed.client();
        is_scattered(&mut client, 1);
        scatter(&mut client, 2);
        // exchanged while a client writes and reads,
        File::create(bed.path("next")).and_then(|file| file.set_len(32 * MIB)).expect("made");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = bed.client();
                scatter(&mut client, 3);
                is_scattered(&mut client, 3);
            });
            bed.done("store replace --cache ssd --with next");
        });
        is_scattered(&mut client, 3);
        scatter(&mut client, 4);
        // and detached.
        bed.done("store detach --cache next");
        drop(served);
        let served = bed.serve_disk();
        is_scattered(&mut bed.client(), 4);
        let status = bed.json("zoned status disk.zoned --json");
        assert!(map.contains(status["uuid"].as_str().expect("it has one")), "{map}");
        served.terminate();
    }
}

#[test]
fn a_map_with_holes_is_repaired_if_that_is_asked_for() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    scatter(&mut bed.client(), 1);
    served.terminate();
    let told = bed.done("zoned repair disk.zoned");
    assert!(told.contains("both copies of the map are whole"), "{told}");
    // The pages of the map that count are bad in the first copy.
    let sound = fs::read(bed.path("disk.zoned")).expect("there");
    let pages: Vec<usize> =
        (0..sound.len()).step_by(4096).filter(|at| sound[*at..].starts_with(b"SHTP")).collect();
    let generation = |at: usize| sound[at + 32];
    let newest = pages.iter().map(|at| generation(*at)).max().expect("there is a map");
    let is_page = |at: &&usize| sound[**at + 44] == 1 && generation(**at) == newest;
    let checkpoint: Vec<usize> = pages.iter().filter(is_page).copied().collect();
    let damaged = |places: &[usize]| {
        let mut bytes = sound.clone();
        places.iter().for_each(|at| bytes[at + 100] ^= 1);
        fs::write(bed.path("disk.zoned"), bytes).expect("written");
    };
    let half = checkpoint.len() / 2;
    damaged(&checkpoint[..half]);
    // Nothing is lost, and whoever asks each night is told.
    for line in ["zoned check disk.zoned", "zoned status disk.zoned"] {
        bed.refused(1, line, "nothing is lost; `shingle zoned repair disk.zoned` makes it whole");
        let found = bed.wrong(&format!("{line} --json"));
        assert_eq!(found["copies"][0]["bad_pages"], half);
        assert_eq!((&found["sound"], &found["whole"]), (&true.into(), &false.into()));
    }
    bed.done("zoned repair disk.zoned");
    assert_eq!(bed.json("zoned check disk.zoned --json")["copies"][0]["bad_pages"], 0);
    // The last one is bad in both.
    damaged(&[checkpoint[half - 1], checkpoint[checkpoint.len() - 1]]);
    let serve = "zoned serve disk.zoned --nbd unix:nbd.sock";
    for line in ["zoned check disk.zoned --json", "zoned status disk.zoned --json"] {
        assert_eq!(bed.wrong(line)["sound"], false);
    }
    bed.refused(1, serve, "the map is damaged: the checkpoint: page ");
    bed.refused(1, serve, "`shingle zoned check disk.zoned` says what can be saved");
    bed.refused(1, "zoned repair disk.zoned", "say --give-up");
    let told = bed.done("zoned repair disk.zoned --give-up");
    assert!(told.contains("`zoned repair --give-up` gives up"), "{told}");
    let served = bed.serve_disk();
    let mut client = bed.client();
    let is_there = |n: &u64| client.read(place(*n), 4096).expect("connected").is_ok();
    let there = (0..600).filter(is_there).count();
    assert!((1..600).contains(&there), "{there}");
    scatter(&mut client, 2);
    is_scattered(&mut client, 2);
    served.terminate();
}

#[test]
fn the_wrong_disk_is_refused() {
    let bed = Bed::new("log");
    let cache = bed.cache();
    bed.zoned("other.zoned", "log");
    let serve = "store serve --cache ssd --nbd unix:nbd.sock --disk";
    bed.refused(1, &format!("{serve} other.zoned"), "is not the disk of this cache");
    // After a crash, too.
    bed.serve_store().kill();
    bed.refused(1, &format!("{serve} other.zoned"), "is not the disk of this cache");
    let said = bed.said_wrong("store check --cache ssd --disk other.zoned");
    assert!(said.contains("is not the disk of this cache"));
    // The same disk after a format is another one.
    let format = "zoned format disk.zoned -t log -q";
    bed.refused(1, &format!("{format} --force"), &format!("say --destroy {cache}"));
    let another = "00000000-0000-4000-8000-000000000000";
    bed.refused(1, &format!("{format} --destroy {another}"), "is not a cache that this disk");
    bed.done(&format!("{format} --destroy {cache}"));
    bed.refused(1, &format!("{serve} disk.zoned"), "was formatted since");
    // Written without its cache, as somebody wanted it.
    let bed = Bed::new("log");
    bed.cache();
    let served = bed.serve_disk_alone();
    let mut client = bed.client();
    write(&mut client, 0, b"mounted elsewhere");
    flush(&mut client);
    served.terminate();
    bed.refused(1, &format!("{serve} disk.zoned"), "belongs to no cache any more");
}

#[test]
fn what_cannot_be_is_told() {
    let bed = Bed::new("log");
    bed.refused(1, "zoned format disk.zoned -t log", "say --force");
    bed.refused(2, "zoned format disk.zoned -t nonsense --force", "nonsense");
    bed.refused(2, "zoned format disk.zoned -t log --force --set none=1", "none");
    for buffer in ["0", "4095", "5000"] {
        let line = format!("zoned format disk.zoned -t fluid --force --buffer {buffer}");
        bed.refused(2, &line, &format!("--buffer {buffer}: it is a multiple of 4096 bytes"));
    }
    bed.refused(2, "zoned format disk.zoned -t log --force --buffer 1M", "log has no buffer");
    assert_eq!(
        bed.output("zoned format disk.zoned -t log --force --spare-zones 0").status.code(),
        Some(2)
    );
    bed.done("zoned create new.zoned --zones 16 --zone-size 1M --conventional 4 -q");
    bed.refused(1, "zoned serve new.zoned --nbd unix:nbd.sock", "format");
    bed.refused(1, "zoned check new.zoned", "format");
    bed.refused(1, "zoned status new.zoned", "format");
    fs::write(bed.path("plain"), vec![0; 64 << 20]).expect("written");
    bed.refused(1, "zoned serve plain --nbd unix:nbd.sock", "there is no zoned disk");
    bed.refused(1, "store create --cache plain --disk new.zoned", "format");
    bed.refused(1, "store create --cache disk.zoned --disk plain", "there is a zoned disk");
    bed.done("zoned create few.zoned --zones 4 --zone-size 1M --conventional 0 -q");
    bed.refused(1, "zoned format few.zoned -t log", "few.zoned");
    let bad = "zoned create bad.zoned --zones 64 --zone-size 1M --conventional 8 -q";
    bed.done(&format!("{bad} --offline 0,1,2,3,4,5,6 --read-only 7"));
    bed.refused(1, "zoned format bad.zoned -t log", "all its 8 conventional zones have failed");
    fs::remove_file(bed.path("bad.zoned")).expect("it is there");
    bed.done(&format!("{bad} --offline 1"));
    let made = bed.output("zoned format bad.zoned -t log");
    let told = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(told.contains("2 of its 8 conventional zones are not used"), "{told}");
    bed.done("zoned check bad.zoned");
}

/// A disk without zones is made a zoned one, which gives nothing up unless told to.
#[test]
fn a_disk_without_zones_is_written_in_zones() {
    let bed = Bed(Folder::new());
    fs::write(bed.path("device"), vec![0xee; 80 << 20]).expect("written");
    let made = root().and_then(|()| Loop::new(&bed.path("device"), &[]));
    if !skip_if("a disk without zones", made.as_ref().map(drop).map_err(Clone::clone)) {
        return;
    }
    let device = made.expect("a loop device");
    std::os::unix::fs::symlink(device.path(), bed.path("disk.zoned")).expect("linked");
    let ext4 = |device: &Path| {
        let device = File::options().write(true).open(device).expect("opened");
        device.write_all_at(&[0x53, 0xef], 0x438).expect("written");
    };
    ext4(device.path());
    let create = "zoned create disk.zoned --zone-size 1M --conventional 8 -q";
    bed.refused(
        1,
        create,
        "there is an ext2, ext3 or ext4 file system; to destroy it say --overwr",
    );
    bed.refused(1, "zoned format disk.zoned -t log", "there is no zoned disk");
    let large = "zoned create disk.zoned --zones 80 --zone-size 1M --overwrite";
    bed.refused(1, large, "83886080 bytes, and its head and the zones need 84934656: 79 zones fit");
    bed.refused(1, create, "there is an ext2, ext3 or ext4 file system");
    // What would be no use to a translation is refused before anything is given up.
    let few = "zoned create disk.zoned --zone-size 16M --overwrite";
    bed.refused(2, few, "4 zones of 16 MiB fit on it, and a translation needs 7 at least");
    bed.refused(1, create, "there is an ext2, ext3 or ext4 file system");
    bed.done(&format!("{create} --overwrite"));
    bed.refused(1, create, "there is a zoned disk; to destroy it say --overwrite");
    let report = bed.json("zoned report disk.zoned --json");
    assert_eq!((&report["head"], &report["file"]), (&true.into(), &false.into()));
    assert_eq!(
        (&report["max_open"], report["zones"].as_array().map(Vec::len)),
        (&1.into(), Some(79))
    );
    bed.refused(1, "zoned check disk.zoned", "format it first");
    bed.done("zoned format disk.zoned -t log");
    assert_eq!(of_log(&bed, "open"), "1", "the disk has one zone open at a time");

    let served = bed.serve_disk();
    bed.refused(1, create, "in use by another process");
    let mut client = bed.client();
    scatter(&mut client, 1);
    flush(&mut client);
    served.kill();
    let served = bed.serve_disk();
    let mut client = bed.client();
    is_scattered(&mut client, 1);
    served.terminate();
    bed.done("zoned check disk.zoned");

    let cache = bed.cache();
    let served = bed.serve_store();
    let mut client = bed.client();
    scatter(&mut client, 2);
    flush(&mut client);
    served.kill();
    let served = bed.serve_store();
    is_scattered(&mut bed.client(), 2);
    served.terminate();
    bed.done("store check --cache ssd --disk disk.zoned");
    let over = format!("{create} --overwrite");
    bed.refused(1, &over, &format!("is the disk of cache {cache}"));
    bed.refused(1, &format!("{create} --destroy {cache}"), "there is a zoned disk");
    bed.done("zoned check disk.zoned");
    bed.done(&format!("{over} --destroy {cache}"));
    bed.refused(1, "zoned check disk.zoned", "format it first");
    bed.done("zoned format disk.zoned -t log --set group=sepbit --set open=3");
    assert_eq!(of_log(&bed, "open"), "3", "as told");

    fs::write(bed.path("plain"), vec![0; 64 << 20]).expect("written");
    let create_cache = "store create --cache disk.zoned --disk plain";
    bed.refused(1, create_cache, "there is a zoned disk; to destroy it say --overwrite");
    let cache = bed.done(&format!("{create_cache} --overwrite"));
    let cache = cache.trim();
    bed.refused(1, &over, &format!("there is a cache {cache} without dirty data"));
    bed.done(&format!("{create} --destroy {cache}"));
}

/// A parameter of the translation on the disk.
fn of_log(bed: &Bed, name: &str) -> String {
    let params = &bed.json("zoned check disk.zoned --json")["params"];
    let params = params.as_array().expect("pairs").iter();
    let mut values = params.filter(|pair| pair[0] == name).map(|pair| &pair[1]);
    values.next().and_then(|value| value.as_str()).expect("set").to_owned()
}

/// Whoever opens one to read it waits until somebody writes to it.
#[test]
fn a_named_pipe_is_no_disk() {
    let bed = Bed::new("log");
    bed.cache();
    File::create(bed.path("other")).and_then(|file| file.set_len(24 * MIB)).expect("made");
    let made = Command::new("mkfifo").arg(bed.path("pipe")).status().expect("started");
    assert!(made.success());
    for line in [
        "zoned report pipe",
        "zoned status pipe",
        "zoned check pipe",
        "zoned repair pipe",
        "zoned format pipe -t log",
        "zoned serve pipe --nbd unix:nbd.sock",
        "zoned stop pipe",
        "store create --cache pipe --disk disk.zoned",
        "store create --cache other --disk pipe",
        "store serve --cache ssd --disk pipe --nbd unix:nbd.sock",
        "store status --cache pipe",
        "store stop --cache pipe",
        "store check --cache ssd --disk pipe",
        "store check --cache pipe --disk disk.zoned",
    ] {
        let mut child = bed.command(line).stderr(Stdio::piped()).spawn().expect("started");
        let begun = Instant::now();
        while child.try_wait().expect("asked").is_none() {
            if begun.elapsed() > PATIENCE {
                child.kill().expect("killed");
                panic!("{line}: it waits for ever");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("ended");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("neither a file nor a block device"), "{line}: {said}");
    }
}

/// What is served ends in order: who opens it next has no log to read.
#[test]
fn the_end_leaves_a_checkpoint() {
    let bed = Bed::new("log");
    for turn in 1..4 {
        let served = bed.serve_disk();
        let mut client = bed.client();
        scatter(&mut client, turn);
        flush(&mut client);
        match turn {
            1 => served.terminate(),
            // A client is still there, and asks no more.
            2 => {
                bed.done("zoned stop disk.zoned");
                drop(served);
            }
            _ => {
                client.disconnect().expect("connected");
                bed.done("zoned stop disk.zoned");
                drop(served);
            }
        }
        let checked = bed.json("zoned check disk.zoned --json");
        assert_eq!((&checked["sound"], &checked["commits"]), (&true.into(), &0.into()), "{turn}");
    }
}

/// Where both superblocks of the map are in the file of a disk.
fn superblocks(bytes: &[u8]) -> Vec<usize> {
    let is_superblock = |at: &usize| bytes[*at..].starts_with(b"SHTRANS\0");
    let places: Vec<usize> = (0..bytes.len()).step_by(4096).filter(is_superblock).collect();
    assert_eq!(places.len(), 2);
    places
}

/// Nobody gives up what is on a disk by the advice to format it.
#[test]
fn a_disk_whose_superblocks_are_lost_is_not_formatted_for_the_asking() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    let mut client = bed.client();
    write(&mut client, 0, &vec![1; 2 * MIB as usize]);
    flush(&mut client);
    served.terminate();
    bed.change("disk.zoned", |bytes| superblocks(bytes).into_iter().for_each(|at| bytes[at] ^= 1));
    bed.refused(1, "zoned format disk.zoned -t log", "of its sequential zones hold data");
    bed.done("zoned format disk.zoned -t log --force");
}

/// What is wrong, where, and what to do.
#[test]
fn superblocks_that_are_both_bad_are_told() {
    let bed = Bed::new("log");
    bed.change("disk.zoned", |bytes| {
        superblocks(bytes).into_iter().for_each(|at| bytes[at + 200] ^= 1);
    });
    let second = 8 * MIB - 4096;
    let told = format!(
        "neither superblock is good: at block 0 (zone 0, byte 0 of the disk): its checksum is wrong; at block {} (zone 7, \
         byte {second} of the disk): its checksum is wrong",
        second / 4096
    );
    for line in ["serve disk.zoned --nbd unix:nbd.sock", "repair disk.zoned", "stop disk.zoned"] {
        bed.refused(1, &format!("zoned {line}"), &told);
    }
    let said = bed.said_wrong("zoned check disk.zoned");
    assert!(said.starts_with(&format!("the map is damaged: {told}\n")), "{said}");
    assert!(said.contains("cannot be repaired: `zoned format --force`"), "{said}");
    bed.done("zoned format disk.zoned -t log --force");
    bed.serve_disk().terminate();
}

/// The superblocks are good then.
#[test]
fn pages_of_the_log_that_are_gone_are_named() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    let mut client = bed.client();
    write(&mut client, 0, &[1; 4096]);
    flush(&mut client);
    served.kill();
    bed.change("disk.zoned", |bytes| {
        let is_log = |page: &&mut [u8]| page.starts_with(b"SHTP") && page[44] == 2;
        let log = bytes.chunks_mut(4096).filter(is_log).map(|page| page[100] ^= 1);
        assert!(log.count() > 0);
    });
    let said = bed.said_wrong("zoned check disk.zoned");
    assert!(said.contains("the map is damaged: the log: page 0 at block "), "{said}");
    assert!(!said.contains("superblock is bad"), "{said}");
    assert!(said.contains("cannot be repaired: `zoned format --force` makes"), "{said}");
}

/// One of two copies is enough, and is one too few to be silent about.
#[test]
fn a_damaged_copy_of_the_head_is_told_and_mended() {
    let bed = Bed::new("log");
    bed.cache();
    bed.done("store check --cache ssd --disk disk.zoned");
    for (page, name) in [(0, "header"), (1, "header"), (2, "page 0 of the file's table")] {
        bed.change("disk.zoned", |bytes| bytes[page * 4096 + 100] ^= 1);
        let said = bed.said_wrong("zoned check disk.zoned");
        assert!(said.contains("one copy of ") && said.contains(name), "{said}");
        assert!(
            said.contains(&format!("(page {page} of the file: its checksum is wrong)")),
            "{said}"
        );
        bed.refused(1, "store check --cache ssd --disk disk.zoned", "one of two copies is damaged");
        let told = bed.done("zoned repair disk.zoned");
        assert!(told.contains(name), "{told}");
        bed.done("zoned check disk.zoned");
    }
    // Where half a page can be there, it may be that.
    bed.done("zoned create torn --zones 9 --zone-size 1M --physical-block 512 -q");
    bed.done("zoned format torn -t log");
    for (page, is) in [(1, "damaged"), (2, "torn, as a power cut leaves it, or damaged")] {
        bed.change("torn", |bytes| bytes[page * 4096 + 100] ^= 1);
        let said = bed.said_wrong("zoned check torn");
        let what = format!(" is {is} (page {page} of the file: its checksum is wrong)");
        assert!(said.contains(&what) && said.contains("by the next start"), "{said}");
        bed.done("zoned repair torn");
    }
    // Likewise the SSD.
    bed.change("ssd", |bytes| bytes[100] ^= 1);
    bed.refused(1, "store check --cache ssd", "nothing is lost; serving it mends that");
    bed.serve_store().terminate();
    bed.done("store check --cache ssd");
}

/// It would be served as a disk on which nothing is where it was.
#[test]
fn a_zoned_file_without_headers_is_no_ordinary_disk() {
    let bed = Bed::new("log");
    let cache = bed.cache();
    bed.change("disk.zoned", |bytes| bytes[..2 * 4096].fill(0));
    for line in [
        "store serve --cache ssd --disk disk.zoned --nbd unix:nbd.sock --trust-disk",
        "store check --cache ssd --disk disk.zoned",
        &format!("store create --cache ssd --disk disk.zoned --destroy {cache}"),
        "zoned check disk.zoned",
        "zoned format disk.zoned -t log --force",
    ] {
        bed.refused(1, line, "it is damaged: both copies of its header are lost");
    }
}

/// Map and buffer need them all.
#[test]
fn a_disk_whose_conventional_zones_fail_says_so() {
    let bed = Bed::new("log");
    let fail = |zone, condition| {
        let disk = shingle_zoned::open_with_head(&bed.path("disk.zoned")).expect("a zoned file");
        disk.fail(shingle_core::units::Zone(zone), condition).expect("it can be written");
    };
    fail(20, shingle_zoned::Condition::ReadOnly);
    let said = bed.done("zoned check disk.zoned");
    assert!(said.contains("sequential zones that have failed: 1; spare ones that are left: "));
    fail(0, shingle_zoned::Condition::ReadOnly);
    let told = "can no longer be written, whose place no others take: 0; ";
    for line in ["zoned check disk.zoned", "zoned status disk.zoned"] {
        let said = bed.said_wrong(line);
        assert!(said.contains(told), "{line}: {said}");
    }
    // What one copy lacks is not written anew there, nor can the disk be formatted.
    fail(7, shingle_zoned::Condition::Offline);
    let said = bed.said_wrong("zoned check disk.zoned");
    assert!(said.contains("copy 2 of the map: ") && !said.contains("written anew"), "{said}");
    fail(0, shingle_zoned::Condition::Offline);
    let said = bed.said_wrong("zoned check disk.zoned");
    assert!(said.contains("cannot be repaired") && !said.contains("zoned format"), "{said}");
}

/// More zones have failed than there were spare ones.
#[test]
fn a_disk_without_spare_zones_says_so() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    scatter(&mut bed.client(), 1);
    served.terminate();
    bed.cache();
    let disk = shingle_zoned::open_with_head(&bed.path("disk.zoned")).expect("a zoned file");
    for zone in 8..64 {
        let zone = shingle_core::units::Zone(zone);
        disk.fail(zone, shingle_zoned::Condition::ReadOnly).expect("it can be written");
    }
    drop(disk);
    for line in ["zoned check disk.zoned", "store check --cache ssd --disk disk.zoned"] {
        let said = bed.said_wrong(line);
        assert!(
            said.contains("no spare zone is left, as 56 zones have failed: "),
            "{line}: {said}"
        );
        assert!(said.contains("NOT SOUND"), "{line}: {said}");
    }
    assert_eq!(bed.wrong("zoned check disk.zoned --json")["spares_left"], 0);
    let served = bed.serve_disk_alone();
    let mut client = bed.client();
    let refused = client.write(0, &[7; 4096], command_flag::FUA).expect("connected");
    refused.expect_err("there is no zone for it");
    let said = bed.said_wrong("zoned status disk.zoned");
    assert!(said.contains("NO SPARE ZONE") && !said.contains("all put right"), "{said}");
    assert!(said.contains("writes, trims or flushes were refused; the last: "), "{said}");
    assert!(bed.wrong("zoned status disk.zoned --json")["refused"].as_u64() > Some(0));
    drop(client);
    drop(served);
}

/// The disk may hang, or have gone.
#[test]
fn by_its_uuid_a_served_disk_is_reached_without_the_disk() {
    let bed = Bed(Folder::new());
    let uuid = bed.zoned("disk.zoned", "log");
    bed.refused(1, &format!("zoned status {uuid}"), "no server");
    let served = bed.serve_disk();
    fs::rename(bed.path("disk.zoned"), bed.path("elsewhere")).expect("renamed");
    assert_eq!(bed.json(&format!("zoned status {uuid} --json"))["uuid"], *uuid);
    bed.done(&format!("zoned stop {uuid}"));
    drop(served);
    bed.refused(1, &format!("zoned stop {uuid}"), "no server");
}

/// Who watches it has to know, although nothing has failed.
#[test]
fn a_map_without_room_is_told() {
    let bed = Bed::with_a_small_map();
    let served = bed.serve_disk();
    let mut client = bed.client();
    fill_the_map(&mut client);
    let said = bed.said_wrong("zoned status disk.zoned");
    assert!(said.contains("WRITES REFUSED") && said.contains("trim some"), "{said}");
    client.call(command::TRIM, 0, 0, 200 * APART as u32, &[]).expect("connected").expect("trimmed");
    let said = bed.done("zoned status disk.zoned");
    assert!(!said.contains("WRITES REFUSED") && said.contains("1 writes, trims"), "{said}");
    drop(client);
    drop(served);
}

/// The same of one behind an SSD: there clients' writes wait as soon as the SSD is full.
#[test]
fn a_map_without_room_is_told_of_the_disk_of_a_store() {
    let bed = Bed::with_a_small_map();
    bed.cache();
    let served = bed.serve_store();
    let mut client = bed.client();
    bed.done("store set --cache ssd mode=pass-through");
    fill_the_map(&mut client);
    let said = bed.said_wrong("store status --cache ssd");
    assert!(said.contains("WRITES REFUSED") && said.contains("trim some"), "{said}");
    bed.refused(1, "store status --cache ssd", "disk.zoned: something is wrong, see above");
    let why = &bed.wrong("store status --cache ssd --json")["zoned"]["writes_refused"];
    assert!(said.contains(why.as_str().expect("a reason")), "{why}");
    let top = bed.done("store top --cache ssd -n 1 --every 0.1");
    assert!(top.contains(": writes to the disk are refused: the map has "), "{top}");
    client.call(command::TRIM, 0, 0, 200 * APART as u32, &[]).expect("connected").expect("trimmed");
    // It was answered at once, and is carried out beside everything else.
    let begun = Instant::now();
    while bed.output("store status --cache ssd").status.code() != Some(0) {
        assert!(begun.elapsed() < PATIENCE, "not told");
        std::thread::sleep(Duration::from_millis(20));
    }
    let top = bed.done("store top --cache ssd -n 1 --every 0.1");
    assert!(!top.contains("refused"), "{top}");
    drop(client);
    drop(served);
}

/// No lock on one device shows on the other.
#[test]
fn a_disk_that_is_served_is_reached_through_another_loop_device_of_its_file() {
    if !skip_if("a file with two loop devices", root()) {
        return;
    }
    let bed = Bed::new("log");
    let file = bed.path("disk.zoned");
    let one = Loop::new(&file, &[]).expect("made");
    let first = one.path().display();
    let served = bed.serve(&format!("zoned serve {first}"), &format!("zoned status {first}"));
    // (With both there, neither is opened for writing.)
    let two = Loop::new(&file, &[]).expect("made");
    let second = two.path().display();
    for name in [&first.to_string(), &second.to_string(), "disk.zoned"] {
        assert_eq!(bed.json(&format!("zoned status {name} --json"))["served"], true, "{name}");
        bed.refused(1, &format!("zoned check {name}"), "is served");
    }
    bed.done(&format!("zoned stop {second}"));
    drop(served);
}

/// It has the name of the disk that is served.
#[test]
fn a_copy_of_a_disk_is_another_disk() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    fs::copy(bed.path("disk.zoned"), bed.path("copy.zoned")).expect("copied");
    assert_eq!(bed.json("zoned status copy.zoned --json")["served"], false);
    bed.refused(1, "zoned stop copy.zoned", "copy.zoned: not served");
    let serve = "zoned serve copy.zoned --nbd unix:other.sock";
    bed.refused(1, serve, "copy.zoned: a disk of the same UUID");
    assert_eq!(bed.json("zoned status disk.zoned --json")["served"], true);
    served.terminate();
    assert_eq!(bed.json("zoned check copy.zoned --json")["sound"], true);
}

#[test]
fn a_disk_that_was_deleted_meanwhile_is_said_to_be_lost() {
    let bed = Bed::new("log");
    let served = bed.serve_disk();
    fs::remove_file(bed.path("disk.zoned")).expect("removed");
    let said = served.terminated();
    let lost = "disk.zoned: it was deleted while it was served, and all that it held is lost";
    assert!(said.contains(lost), "{said}");
}
