//! The real process under a client that verifies, killed with SIGKILL at any moment, also while it
//! recovers; and on a file system that is shut down under it, so that what was not flushed is lost.
//! After each restart each block must hold what was durable, or what was written since.
//!
//! `SHINGLE_KILLS=500 cargo test -p shingle --release --test kill -- --nocapture` kills so often;
//! `SHINGLE_CUTS` is the number of power cuts. With `SHINGLE_ROOT_TESTS=1`, as root, half of the kills
//! and half of the cuts are over loop devices; without it there are no cuts.

mod bed;
mod load;
mod oracle;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bed::{Bed, DISK_BYTES, Kind};
use load::Load;
use oracle::{BLOCK, Oracle, Rng};
use shingle_core::service::Mode;
use shingle_testbed::{number, root, root_or_skip, skip_if};
use shingle_translation::translations::ALL;

const POLICIES: [&str; 8] =
    ["sac", "lru", "most", "sac-plus", "s3-fifo", "arc", "most+cdc", "pore"];
/// Connections: a flush of one covers what the others were answered.
const CONNECTIONS: u64 = 3;

fn wait(rng: &mut Rng, most_ms: u64) {
    std::thread::sleep(Duration::from_millis(rng.below(most_ms)));
}

/// Reads all there is, in order or not, and has the oracle look at it.
fn verify(bed: &mut Bed, oracle: &mut Oracle, rng: &mut Rng) {
    let mut client = bed.client();
    let step = [1, 3, 64][rng.below(3) as usize];
    let mut places: Vec<u64> = (0..oracle.blocks()).step_by(step as usize).collect();
    if rng.one_in(2) {
        for i in 1..places.len() as u64 {
            places.swap(i as usize, rng.below(i + 1) as usize);
        }
    }
    for first in places {
        let blocks = step.min(oracle.blocks() - first);
        let data = client.read(first * BLOCK as u64, (blocks * BLOCK as u64) as u32);
        let data = data.expect("connected").unwrap_or_else(|e| panic!("{e:?}\n{}", bed.said()));
        for (block, data) in (first..).zip(data.chunks_exact(BLOCK)) {
            oracle.found(block, data).unwrap_or_else(|wrong| panic!("{wrong}\n{}", bed.said()));
        }
    }
    // From now on this is what has to be there.
    client.flush().expect("connected").expect("flushed");
    client.disconnect().expect("in order");
}

/// Load until the cut, which comes at any moment.
fn load_and_cut(bed: &mut Bed, oracle: &Mutex<Oracle>, rng: &mut Rng) {
    let share = DISK_BYTES / BLOCK as u64 / CONNECTIONS;
    let is_cut = AtomicBool::new(false);
    let of_system = bed.is_on_a_system();
    let clients: Vec<_> = (0..CONNECTIONS).map(|_| bed.client()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(clients)
            .map(|(i, client)| {
                let own = i * share..(i + 1) * share;
                let load = Load::new(client, oracle, own, rng.next());
                let is_cut = &is_cut;
                let is_cut = move || is_cut.load(Ordering::SeqCst);
                scope.spawn(move || load.run(&is_cut, &|| of_system && is_cut()))
            })
            .collect();
        wait(rng, 150);
        if rng.one_in(3) {
            let mode = Mode::ALL[rng.below(5) as usize];
            bed.set(format!("mode={}", mode.name()));
            wait(rng, 100);
        }
        if rng.one_in(6) {
            bed.set(format!("policy={}", POLICIES[rng.below(8) as usize]));
        }
        is_cut.store(true, Ordering::SeqCst);
        bed.cut();
        for thread in threads {
            let outcome = thread.join().expect("no panic");
            outcome.unwrap_or_else(|wrong| panic!("{wrong}\n{}", bed.said()));
        }
    });
}

/// Returns the bytes that were made durable, of which none was lost.
fn survives(
    cuts: u64,
    policy: &str,
    kind: Kind,
    system: Option<&str>,
    seed: u64,
) -> Result<u64, String> {
    let mut bed = Bed::new(policy, kind, system)?;
    let mut rng = Rng(seed);
    let oracle = Mutex::new(Oracle::new(DISK_BYTES / BLOCK as u64));
    let mut left = cuts;
    loop {
        bed.start();
        // (Before the first cut there is nothing to recover.)
        if left > 0 && left < cuts && rng.one_in(4) {
            // In the midst of the recovery, or shortly before or behind it.
            std::thread::sleep(Duration::from_micros(rng.below(20_000)));
            bed.cut();
            left -= 1;
            continue;
        }
        verify(&mut bed, &mut oracle.lock().expect("no panic"), &mut rng);
        if left == 0 {
            break;
        }
        load_and_cut(&mut bed, &oracle, &mut rng);
        left -= 1;
    }
    let mut oracle = oracle.into_inner().expect("no panic");
    bed.finish(|read| {
        for block in 0..oracle.blocks() {
            let found = oracle.found(block, &read(block));
            found.unwrap_or_else(|wrong| panic!("after the export, {wrong}"));
        }
    });
    Ok(oracle.durable_blocks * BLOCK as u64)
}

/// The same in sets of ten, each with another policy.
fn all_survive(cuts: u64, kind: Kind, system: Option<&str>, mut seed: u64) -> Result<u64, String> {
    let (mut left, mut bytes) = (cuts, 0);
    while left > 0 {
        let now = left.min(10);
        let policy = POLICIES[seed as usize % POLICIES.len()];
        bytes += survives(now, policy, kind, system, seed)?;
        (left, seed) = (left - now, seed + 1);
    }
    Ok(bytes)
}

#[test]
fn no_kill_loses_what_was_durable() {
    let kills = number("SHINGLE_KILLS").unwrap_or(4);
    let devices = if skip_if("kills over loop devices", root()) { kills / 2 } else { 0 };
    for (kills, kind, seed) in
        [(kills - devices, Kind::Files, 1), (devices, Kind::LoopDevices, 1000)]
    {
        if kills > 0 {
            let bytes = all_survive(kills, kind, None, seed).expect("made");
            println!("{kills} kills, {kind:?}: {bytes} bytes acknowledged and flushed, none lost");
            assert!(bytes > 0, "nothing was made durable");
        }
    }
}

/// One that rewrites zones where they are, one that commits before it gives up, and one that appends: the others too where
/// there are many kills.
const FEW: [&str; 3] = ["fluid", "dm-zoned", "log"];

/// A kill of the process is a power cut of a zoned file: write pointers are as at the last flush.
#[test]
fn no_kill_loses_what_was_durable_on_a_zoned_disk() {
    let kills = number("SHINGLE_KILLS").unwrap_or(4).div_ceil(8);
    let some = ALL.iter().filter(|entry| kills > 1 || FEW.contains(&entry.name));
    let on_devices = skip_if("kills over zoned disks on loop devices", root());
    let mut durable = 0;
    for (seed, entry) in (2000..).zip(some) {
        // Each by itself and behind an SSD; few kills are shared.
        for ssd in [false, true].into_iter().filter(|&ssd| kills > 1 || ssd == (seed % 2 == 0)) {
            let places = if on_devices { &[false, true][..] } else { &[false] };
            for &devices in places {
                let kind = Kind::Zoned { translation: entry.name, ssd, devices };
                let bytes = all_survive(kills, kind, None, seed).expect("made");
                println!(
                    "{kills} kills, {kind:?}: {bytes} bytes acknowledged and flushed, none lost"
                );
                durable += bytes;
            }
        }
    }
    assert!(durable > 0, "nothing was made durable");
}

fn survives_power_cuts(cuts: u64, kind: Kind, system: &str, seed: u64) {
    let survived = all_survive(cuts, kind, Some(system), seed);
    if let Ok(bytes) = survived {
        println!("{cuts} power cuts, {kind:?} on {system}: {bytes} bytes flushed, none lost");
    } else {
        skip_if(&format!("power cuts on {system}"), survived);
    }
}

#[test]
fn no_power_cut_loses_what_was_durable() {
    if !root_or_skip("power cuts") {
        return;
    }
    let cuts = number("SHINGLE_CUTS").unwrap_or(2);
    for (system, seed) in [("ext4", 100), ("xfs", 200)] {
        let devices = cuts.div_ceil(2);
        survives_power_cuts(cuts - devices, Kind::Files, system, seed);
        survives_power_cuts(devices, Kind::LoopDevices, system, seed + 1000);
    }
}

/// The zones of a disk without zones are where its last flush says, whatever else of its cache it
/// has written.
#[test]
fn no_power_cut_loses_what_was_durable_on_a_disk_written_in_zones() {
    if !root_or_skip("power cuts of disks that are written in zones") {
        return;
    }
    let cuts = number("SHINGLE_CUTS").unwrap_or(2);
    for (seed, (system, translation)) in
        (3000..).zip([("ext4", "log"), ("xfs", "log"), ("xfs", "fluid")])
    {
        for ssd in [false, true] {
            let kind = Kind::Zoned { translation, ssd, devices: true };
            survives_power_cuts(cuts, kind, system, seed);
        }
    }
}
