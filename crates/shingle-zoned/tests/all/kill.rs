//! A process that writes to a zoned disk, in a file or on a block device, is killed at any time: data
//! whose flush was acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{block, folder, plain_device, read};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use shingle_core::units::{Block, Zone};
use shingle_device::Device;
use shingle_testbed::skip_if;
use shingle_zoned::{Geometry, create, create_on, open, open_read_only};

const ZONES: u32 = 6;
const BLOCKS: u64 = 64;
const WRITER: &str = "SHINGLE_ZONED_WRITER";

/// A number for the block, the zone, and how often the zone was reset before.
fn version(life: u64, zone: u32, at: u64) -> u64 {
    (life + 1) << 32 | u64::from(zone) << 16 | at
}

/// Not a test: the process that is killed. It prints what it is about to do, and what is done.
#[test]
#[ignore = "a part of another test"]
fn writer() {
    let Ok(path) = std::env::var(WRITER) else { return };
    let (path, seed) = path.rsplit_once('#').expect("a seed");
    let mut draw = SplitMix64::seed_from_u64(seed.parse().expect("a number"));
    let disk = open(Path::new(path)).expect("opened");
    let mut zones: Vec<(u64, u64)> = (0..ZONES)
        .map(|zone| {
            let pointer =
                disk.report(Zone(zone), 1).expect("a report")[0].write_pointer.expect("one");
            let life = if pointer == 0 {
                1000
            } else {
                (read(&*disk, u64::from(zone) * BLOCKS, 1).expect("read")[0] >> 32) - 1
            };
            (life, pointer)
        })
        .collect();
    let mut out = std::io::stdout().lock();
    loop {
        let zone = (draw.next_u64() % u64::from(ZONES)) as u32;
        let (life, pointer) = &mut zones[zone as usize];
        match draw.next_u64() % 10 {
            0 if *pointer > 0 => {
                writeln!(out, "resets {zone}").expect("said");
                disk.reset(Zone(zone)).expect("reset");
                (*life, *pointer) = (*life + 1, 0);
            }
            1 => {
                disk.flush().expect("flushed");
                let all: Vec<_> =
                    zones.iter().map(|(life, pointer)| format!("{life}:{pointer}")).collect();
                writeln!(out, "flushed {}", all.join(" ")).expect("said");
            }
            _ => {
                let count = (1 + draw.next_u64() % 8).min(BLOCKS - *pointer);
                let data: Vec<_> = (*pointer..*pointer + count)
                    .map(|at| block(version(*life, zone, at)))
                    .collect();
                if count > 0 {
                    let at = Block(u64::from(zone) * BLOCKS + *pointer);
                    disk.write(at, &data).expect("written");
                    *pointer += count;
                }
            }
        }
    }
}

#[test]
fn what_a_killed_process_has_flushed_is_there() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &Geometry { max_open: 3, ..Geometry::new(ZONES, BLOCKS) }).expect("made");
    survives_kills(&path);
}

#[test]
fn what_a_killed_process_has_flushed_is_on_the_device() {
    let folder = folder();
    let geometry = Geometry { max_open: 3, ..Geometry::new(ZONES, BLOCKS) };
    let plain = plain_device(folder.path(), (1 << 20) + geometry.blocks() * 4096);
    if !skip_if("kills over a block device", plain.as_ref().map(drop).map_err(Clone::clone)) {
        return;
    }
    let plain = plain.expect("a device");
    create_on(&Device::open(plain.path()).expect("opened"), &geometry, &[]).expect("made");
    survives_kills(plain.path());
}

fn survives_kills(path: &Path) {
    for seed in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().expect("this"))
            .args(["--exact", "kill::writer", "--ignored", "--nocapture", "--quiet"])
            .env(WRITER, format!("{}#{seed}", path.display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        // The flushed length of each zone, unless a reset has begun since.
        let mut floors = vec![None; ZONES as usize];
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut said = 0;
        let mut take = |line: &str| {
            if let Some((_, zone)) = line.split_once("resets ") {
                floors[zone.trim().parse::<usize>().expect("a zone")] = None;
            } else if let Some((_, all)) = line.split_once("flushed ") {
                for (floor, text) in floors.iter_mut().zip(all.split_whitespace()) {
                    let (life, pointer) = text.split_once(':').expect("both");
                    *floor = Some((
                        life.parse::<u64>().expect("a number"),
                        pointer.parse::<u64>().expect("a number"),
                    ));
                }
            }
        };
        while said < 20 + seed * 7 {
            let line = lines.next().expect("it goes on").expect("text");
            take(&line);
            said += 1;
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
        // Its last output counts too, except for an incomplete line.
        for line in lines.map_while(Result::ok) {
            let whole = !line.starts_with("flushed")
                || line.split_whitespace().count() == 1 + ZONES as usize;
            if whole {
                take(&line);
            }
        }
        let disk = open(path).expect("the lock goes with the process");
        let mut bytes = 0;
        for zone in 0..ZONES {
            let found = disk.report(Zone(zone), 1).expect("a report")[0];
            let pointer = found.write_pointer.expect("a pointer");
            let data = read(&*disk, found.first.0, pointer).expect("below the pointer");
            let life = data.first().map_or(0, |version| (version >> 32) - 1);
            let expected: Vec<u64> = (0..pointer).map(|at| version(life, zone, at)).collect();
            assert_eq!(data, expected, "kill {seed}, zone {zone}");
            if let Some((flushed_life, flushed)) = floors[zone as usize] {
                assert!(
                    pointer >= flushed,
                    "kill {seed}, zone {zone}: {flushed} were flushed, {pointer} are there"
                );
                assert!(
                    flushed == 0 || life == flushed_life,
                    "kill {seed}, zone {zone}: life {life}"
                );
            }
            bytes += pointer;
        }
        assert!(bytes > 0, "kill {seed}: something is there");
        drop(disk);
        open_read_only(path).expect("it can be read");
    }
}
