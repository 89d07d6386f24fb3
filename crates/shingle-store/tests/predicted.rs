//! The simulator runs the product: what a store over real files did with a trace, the same engine over
//! models does: hits agree within 0.1 points and destaged blocks within 1 % at depth 1, for every policy that
//! a store takes, and nearly so at depth 32, where a real run depends on the moment.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use shingle_core::observer::Shared;
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_device::Device;
use shingle_drive::{Overrides, Settings as DriveSettings, make_ssd};
use shingle_engine::settings::Settings;
use shingle_engine::{Command, Config, Errno};
use shingle_result::{Labels, Meter, Pacing, RealRun, ResponseTimes, RunResult};
use shingle_sim::run::Course;
use shingle_sim::store::{self, Devices, Serving};
use shingle_store::backend::{Beside, Ready};
use shingle_store::store::create::{Consent, create};
use shingle_trace::{OpenOptions, Shape};

/// So many slots that the room which is kept ahead is more than what is under way at depth 32: how often a
/// read finds no room, and bypasses, depends on how fast devices are.
const SSD_BYTES: u64 = 64 << 20;
const DISK_BLOCKS: u64 = 1 << 16;

fn labels(slots: u64) -> Labels {
    Labels {
        seed: 1,
        policy: String::new(),
        parameters: BTreeMap::new(),
        drive: String::new(),
        drive_parameters: BTreeMap::new(),
        pb_blocks: None,
        ssd: String::new(),
        translation: None,
        translation_parameters: None,
        cache_blocks: slots,
        mode: "rw".into(),
        pacing: Pacing::Closed.name().into(),
        knows_bands: false,
    }
}

/// Reads and writes of different lengths, some of them of parts of blocks, more often where it is hot.
fn trace(requests: u64) -> Vec<Request> {
    let options = OpenOptions::default();
    let mut opened = shingle_trace::open("synth:mixed", &options).expect("built in");
    let shape = Shape { requests: Some(requests), ..Shape::default() };
    let mut read = shape.read(opened.source.as_mut(), &mut |_| {}).expect("requests");
    // Onto the small disk, as a whole number of blocks further down.
    let end = DISK_BLOCKS * BLOCK_BYTES;
    read.retain(|request| matches!(request.op, Op::Read | Op::Write));
    for request in &mut read {
        request.bytes = request.bytes.min(8 << 10);
        request.offset %= end - request.bytes;
    }
    read
}

fn command(request: &Request) -> Command {
    let data = match request.op {
        Op::Write => vec![7; request.bytes as usize],
        _ => Vec::new(),
    };
    Command { data, ..Command::new(0, request.op.into(), request.offset, request.bytes) }
}

/// Both are told the same. A busy machine may stop the client for longer than idle time takes to begin,
/// which no model knows of: it is left out.
fn config(settings: &Settings, slots: u64) -> Config {
    let mut config = Config::in_mode(settings.mode, slots);
    config.rules.idle_after = Nanos::from_millis(3_600_000);
    config
}

/// What a store over files in `folder` does.
fn served(folder: &Path, settings: &Settings, requests: &[Request], depth: usize) -> RunResult {
    let (ssd, disk) = (folder.join("ssd"), folder.join("disk"));
    for (path, bytes) in [(&ssd, SSD_BYTES), (&disk, DISK_BLOCKS * BLOCK_BYTES)] {
        std::fs::File::create(path).expect("a file").set_len(bytes).expect("its size");
    }
    let registry = Registry::default();
    {
        let (ssd, disk) = Device::pair(&ssd, &disk).expect("opened");
        create(&ssd, &disk, settings, &registry, Consent::default()).expect("a new cache");
    }
    let ready = Ready::open(&ssd, &disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let cache = settings.cache(&registry, slots as u32, DISK_BLOCKS).expect("it fits");
    let memory = cache.memory();
    let meter = Arc::new(Mutex::new(Meter::default()));
    let observer = Shared::new(meter.clone());
    let config = config(settings, slots);
    let beside = Beside { observer: Some(observer), ..Beside::default() };
    let store = ready.start_with(cache, config, beside).expect("it starts");
    let mut waiting: VecDeque<Receiver<Result<Vec<u8>, Errno>>> = VecDeque::new();
    for request in requests {
        if waiting.len() == depth {
            let answer = waiting.pop_front().expect("there is one").recv().expect("an answer");
            answer.expect("no error");
        }
        let (sender, receiver) = channel();
        let answer = Box::new(move |result| drop(sender.send(result)));
        store.handle().submit(command(request), answer);
        waiting.push_back(receiver);
    }
    waiting.into_iter().for_each(|answer| drop(answer.recv().expect("an answer")));
    let dirty_blocks = store.handle().status().expect("it is there").dirty_blocks;
    let result = meter.lock().expect("no panic").result(&RealRun {
        labels: &labels(slots),
        memory,
        depth: Some(depth as u64),
        times: &ResponseTimes::default(),
        seconds: 1.0,
        dirty_blocks,
        buffered: (0, 0),
        drained_seconds: None,
    });
    store.shut_down().expect("in order");
    result
}

/// What the same engine does over models of two SSDs, one of them in the place of the disk.
fn predicted(settings: &Settings, slots: u64, requests: &[Request], depth: usize) -> RunResult {
    // As fast as files in memory are, nearly.
    let mut overrides = Overrides::new();
    overrides.set("us_per_block", "1");
    let fast = DriveSettings { overrides, ..DriveSettings::default() };
    let ssd = || make_ssd("pcie-ssd", &fast).expect("a model");
    let cache = settings.cache(&Registry::default(), slots as u32, DISK_BLOCKS).expect("it fits");
    let serving = Serving {
        config: config(settings, slots),
        depth,
        request_time: Nanos::from_micros(20),
        flush_every: None,
        check: true,
    };
    let course = Course {
        pacing: Pacing::Closed,
        speed_thousandths: 1000,
        drain: false,
        points: 0,
        rows: None,
    };
    let devices = Devices { ssd: ssd(), disk: ssd(), log: None };
    let labels = labels(slots);
    store::run(cache, devices, &serving, requests, &labels, &course, &|_| {}).expect("no panic")
}

/// In memory, if there is a place: what counts is what is done, not how fast.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// At depth 32 two real runs of it are as far from each other as from the simulated one, which is like one at depth
/// 1 (38.0 % hits): five real runs hit 33.5, 35.4, 37.2, 37.6 and 38.0 %. Its cycles take whole zones, hot blocks
/// too, and whether one more cycle begins hangs on a few blocks.
const UNPREDICTED: &str = "sac-plus";

/// Blocks that were destaged, or would be at the end.
fn written(result: &RunResult) -> u64 {
    result.all.evictions.dirty_blocks + result.left.dirty_blocks
}

#[test]
fn a_simulated_store_does_what_a_real_one_did_request_by_request() {
    every_policy_at(1);
}

#[test]
fn a_simulated_store_does_what_a_real_one_did_with_32_requests_under_way() {
    every_policy_at(32);
}

fn every_policy_at(depth: usize) {
    let registry = Registry::default();
    let names = registry.entries().iter().map(|entry| Settings::new(entry.name));
    let policies: Vec<Settings> =
        names.filter(|settings| settings.cache(&registry, 1000, DISK_BLOCKS).is_ok()).collect();
    assert!(policies.len() > 15, "the registry has more");
    let requests = trace(30_000);
    let mut apart = Vec::new();
    for settings in &policies {
        let folder = folder();
        let real = served(folder.path(), settings, &requests, depth);
        let simulated = predicted(settings, real.labels.cache_blocks, &requests, depth);
        let points = |result: &RunResult| 100.0 * result.all.hits.ratio.expect("accesses");
        let (off_points, blocks) =
            (points(&simulated) - points(&real), [written(&real), written(&simulated)]);
        let off = blocks[1] as f64 / blocks[0].max(1) as f64 - 1.0;
        let line = format!(
            "{} at depth {depth}: hits {:.2} % and {off_points:+.3} points, destaged {} blocks and {:+.2} %",
            settings.policy,
            points(&real),
            blocks[0],
            100.0 * off
        );
        println!("{line}");
        // What order requests are served in at depth 32, and who finds room, depends on how fast threads
        // and devices are at that moment: two real runs are not alike either.
        let (points_max, share_max) = if depth == 1 { (0.1, 0.01) } else { (1.5, 0.04) };
        let excused = depth > 1 && settings.policy == UNPREDICTED;
        if (off_points.abs() > points_max || off.abs() > share_max) && !excused {
            apart.push(line);
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}
