//! A live store and the simulator make the same decisions: stores over real files are recorded, and
//! the simulator follows the recordings event by event.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use shingle_core::observer::{Event, Shared};
use shingle_core::registry::Registry;
use shingle_core::service::Rules;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::Device;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Config, Errno};
use shingle_sim::recorded::{RecordingError, RecordingReplay, ReplayTotals};
use shingle_store::backend::{Ready, StartOptions};
use shingle_store::store::create::{Consent, create};
use shingle_testbed::folder;
use shingle_trace::record::{About, Events, Recording};

const SSD_BYTES: u64 = 16 << 20;
const DISK_BLOCKS: u64 = 16_384;

fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    rng.next_u64() % bound
}

/// Requests of all kinds, four fifths of them to a fifth of the disk.
fn command(rng: &mut Xoshiro256PlusPlus) -> Command {
    let op = match below(rng, 100) {
        0..45 => CommandOp::Read,
        45..95 => CommandOp::Write,
        95..97 => CommandOp::WriteZeroes,
        97..99 => CommandOp::Trim,
        _ => CommandOp::Flush,
    };
    let hot = below(rng, 5) > 0;
    let first = below(rng, if hot { DISK_BLOCKS / 5 } else { DISK_BLOCKS - 16 });
    let (mut offset, mut bytes) = (first * BLOCK_BYTES, (1 + below(rng, 12)) * BLOCK_BYTES);
    if below(rng, 10) == 0 {
        (offset, bytes) = (offset + 512, bytes - 1024);
    }
    let data = if op == CommandOp::Write { vec![7; bytes as usize] } else { Vec::new() };
    Command { fua: below(rng, 50) == 0, data, ..Command::new(0, op, offset, bytes) }
}

/// Serves `commands` at `depth`, in a folder that may have a cache already, and records it.
fn record(folder: &Path, settings: &Settings, depth: usize, commands: u64, seed: u64) -> String {
    let (ssd, disk) = (folder.join("ssd"), folder.join("disk"));
    if !ssd.exists() {
        for (path, bytes) in [(&ssd, SSD_BYTES), (&disk, DISK_BLOCKS * BLOCK_BYTES)] {
            std::fs::File::create(path).expect("a file").set_len(bytes).expect("its size");
        }
        let (ssd, disk) = Device::open_pair(&ssd, &disk).expect("opened");
        create(&ssd, &disk, settings, &Registry::default(), Consent::default())
            .expect("a new cache");
    }
    let path = folder.join("live.shingle").display().to_string();
    let ready = Ready::open(&ssd, &disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let text = settings.to_text().expect("short");
    let about = About { slots: slots as u32, disk_blocks: DISK_BLOCKS, settings: text };
    let (recorder, recording) = Recording::begin(&path, &about).expect("a file");
    let cache = settings.cache(&Registry::default(), slots as u32, DISK_BLOCKS).expect("it fits");
    let observer = Shared::new(recorder);
    // Short, so that idle destaging is recorded too.
    let idle_after = shingle_core::units::Nanos::from_millis(2);
    let rules = Rules { idle_after, ..Rules::for_slots(slots) };
    let config = Config { rules, ..Config::for_slots(slots) };
    let options = StartOptions { observer: Some(observer), ..StartOptions::default() };
    let store = ready.start_with(cache, config, options).expect("it starts");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut waiting: VecDeque<Receiver<Result<Vec<u8>, Errno>>> = VecDeque::new();
    for number in 0..commands {
        if waiting.len() == depth {
            let answer = waiting.pop_front().expect("there is one").recv().expect("an answer");
            answer.expect("no error");
        }
        if number % 500 == 499 {
            std::thread::sleep(std::time::Duration::from_millis(60));
        }
        let (sender, receiver) = channel();
        let answer = move |result| drop(sender.send(result));
        store.handle().submit(command(&mut rng), answer);
        waiting.push_back(receiver);
    }
    waiting.into_iter().for_each(|answer| drop(answer.recv().expect("an answer")));
    let bands = store.handle().status().expect("it is there").bands;
    let whole = settings.sets.iter().any(|(name, _)| name == "drive.bands");
    assert_eq!(bands.written > 0, whole, "{}: {bands:?}", settings.policy);
    store.shut_down().expect("in order");
    assert_eq!(recording.finish().expect("written"), Vec::<String>::new());
    path
}

/// Follows a recording with a cache made from its description, changed by `change`.
fn follow(path: &str, change: impl Fn(&mut Event)) -> Result<ReplayTotals, RecordingError> {
    let mut events = Events::open(path).expect("a recording");
    let About { slots, disk_blocks, settings: ref text } = *events.about();
    let settings = Settings::from_text(text).expect("as written");
    let mut cache = settings.cache(&Registry::default(), slots, disk_blocks).expect("it fits");
    let mut follower = RecordingReplay::new(cache.as_mut());
    while let Some(mut event) = events.next().expect("whole") {
        change(&mut event);
        follower.event(&event)?;
    }
    let followed = follower.end()?;
    cache.check();
    Ok(followed)
}

/// All policies that a store accepts.
fn all_policies() -> Vec<Settings> {
    let registry = Registry::default();
    let settings = registry.entries().iter().map(|entry| Settings::new(entry.name));
    settings.filter(|settings| settings.cache(&registry, 1000, DISK_BLOCKS).is_ok()).collect()
}

/// Policies that write whole bands: 40 bands and a shorter one.
fn with_bands() -> Vec<Settings> {
    let told = [
        ("most", "cache.bands=whole"),
        ("sac", "cache.bands=whole"),
        ("disk-time", "disk-time.whole_bands=always"),
    ];
    let settings = |&(policy, whole): &(&str, &str)| {
        let mut settings = Settings::new(policy);
        let zone = format!("{policy}.zone=bands");
        for text in [whole, &zone, "drive.bands=400b", "drive.band_pass_us=150000"] {
            settings.set(text).expect("words");
        }
        settings
    };
    told.iter().map(settings).collect()
}

fn every_policy(depth: usize, commands: u64) {
    let policies = all_policies();
    assert!(policies.len() > 15, "the registry has more");
    // A store sometimes waits for its devices, so two serve in parallel.
    let (some, others) = policies.split_at(policies.len() / 2);
    std::thread::scope(|scope| {
        let some = scope.spawn(|| each_policy(some, depth, commands));
        each_policy(others, depth, commands);
        some.join().expect("the others are recorded, too");
    });
}

fn each_policy(policies: &[Settings], depth: usize, commands: u64) {
    for settings in policies {
        let folder = folder();
        let name = &settings.policy;
        // The second run begins with the cache of the first.
        for seed in [1, 2] {
            let path = record(folder.path(), settings, depth, commands, seed);
            let followed = follow(&path, |_| {}).unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name} at depth {depth}: {followed:?}");
            assert_eq!(followed.requests, commands, "{name}");
            assert!(followed.accesses > commands * 4, "{name}: {followed:?}");
            if seed == 2 && name != "none" {
                assert!(followed.hits > 0 && followed.destaged > 0, "{name}: {followed:?}");
            }
        }
    }
}

#[test]
fn the_simulator_decides_as_a_live_store_request_by_request() {
    every_policy(1, 1_200);
}

#[test]
fn the_simulator_decides_as_a_live_store_that_writes_whole_bands() {
    each_policy(&with_bands(), 1, 1_200);
    each_policy(&with_bands(), 32, 2_000);
}

#[test]
fn the_simulator_decides_as_a_live_store_with_32_requests_under_way() {
    every_policy(32, 2_000);
}

/// The comparison detects differences.
#[test]
fn another_decision_is_noticed() {
    let folder = folder();
    let path = record(folder.path(), &Settings::new("lru"), 4, 1_500, 3);
    for nth in [0, 10, 100] {
        let count = std::cell::Cell::new(0);
        let other = follow(&path, |event| {
            if let Event::Leaves(block) | Event::Dropped(block) = event {
                block.0 += u64::from(count.get() == nth);
                count.set(count.get() + 1);
            }
        });
        assert!(matches!(other, Err(RecordingError::Differs { .. })), "{other:?}");
    }
    // Another policy.
    let mut events = Events::open(&path).expect("a recording");
    let About { slots, disk_blocks, .. } = *events.about();
    let settings = Settings::new("sieve");
    let mut cache = settings.cache(&Registry::default(), slots, disk_blocks).expect("it fits");
    let mut follower = RecordingReplay::new(cache.as_mut());
    let mut differs = None;
    while let Some(event) = events.next().expect("whole") {
        if let Err(error) = follower.event(&event) {
            differs = Some(error);
            break;
        }
    }
    assert!(matches!(differs, Some(RecordingError::Differs { .. })), "{differs:?}");
}
