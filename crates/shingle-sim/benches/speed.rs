//! Speed of the simulator as a ratio to a reference loop timed in the same run, pair by pair: the
//! plainest LRU there is, a chained hash map of doubly linked nodes without a drive, over the same
//! decoded trace. Both in processor time of the thread, which what else runs takes little from. Absolute
//! figures stand beside; on a shared machine only the ratios mean much.
//!
//! `cargo bench -p shingle-sim --bench speed [TRACE CACHE]…` prints the table; by default it takes
//! 2 million zipf requests over 40 GB with a cache of 2 GiB. Each row ends with a hash of what was
//! computed: it changes only when the results do. `SPEED_ONLY=core` runs only rows with that word, and
//! `SPEED_UNTIMED=1` without times, for valgrind. As a test it runs small.

use rustix::time::{ClockId, clock_gettime};
use shingle_core::ahead::{Ahead, LOOKAHEAD, PREFETCH_REQUESTS};
use shingle_core::cache::{Cache, CacheCore, Outcome};
use shingle_core::drive_view::Costs;
use shingle_core::order::Plain;
use shingle_core::params::Params;
use shingle_core::plan::Plan;
use shingle_core::policies::lru::Lru;
use shingle_core::policy::Access;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup, build};
use shingle_core::size;
use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_drive::Timing;
use shingle_sim::experiment::{Assignment, Options, StoreOptions, Trace, plan};
use shingle_sim::future::next_uses;
use shingle_sim::requests::part_of;
use shingle_trace::{OpenOptions, Shape, Summary};

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let bench = std::env::args().any(|argument| argument == "--bench");
    let pairs: Vec<(String, String)> = match arguments.as_slice() {
        [] if bench => vec![("synth:zipf?requests=2M&range=40GB&size=4KiB".into(), "2GiB".into())],
        [] => vec![("synth:zipf?requests=5000&range=1GB".into(), "4MiB".into())],
        given => given.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
    };
    let repeats = if bench { 5 } else { 1 };
    for (trace, cache) in pairs {
        if let Err(error) = measure(&trace, &cache, repeats) {
            eprintln!("{trace}: {error}");
            std::process::exit(1);
        }
    }
}

/// What is timed against the reference.
type Row = (&'static str, &'static str, Option<&'static str>, Option<Timing>, f64);

/// Name, policy or translation, drive, timing, and the ratio aimed at. A translation is alone over its
/// drive, without a cache.
const ROWS: &[Row] = &[
    ("core alone", "lru", None, None, 1.0),
    ("sac-emulator, cost", "lru", Some("sac-emulator"), Some(Timing::Cost), 0.5),
    ("sac-emulator, cost", "lru-band", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "most", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "sac", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "fifo", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "clock", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "sieve", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "2q", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "arc", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "lirs", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "s3-fifo", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "w-tinylfu", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "belady", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "sac-pd", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "sac-ad", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "most+cdc", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "cdc", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "disk-time", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("sac-emulator, cost", "pore", Some("sac-emulator"), Some(Timing::Cost), 0.25),
    ("ha-roco, cost", "lru", Some("ha-roco"), Some(Timing::Cost), 0.25),
    ("ha-roco, cost", "zfifo", Some("ha-roco"), Some(Timing::Cost), 0.25),
    ("ha-roco, cost", "reorder-zfifo", Some("ha-roco"), Some(Timing::Cost), 0.25),
    ("ha-roco, cost", "roco", Some("ha-roco"), Some(Timing::Cost), 0.25),
    ("exos-x18z, cost", "fluid", Some("exos-x18z"), Some(Timing::Cost), 0.125),
    ("exos-x18z, cost", "fluid-loop", Some("exos-x18z"), Some(Timing::Cost), 0.125),
    ("exos-x18z, cost", "skylight-sa", Some("exos-x18z"), Some(Timing::Cost), 0.125),
    ("exos-x18z, cost", "amphisbaena", Some("exos-x18z"), Some(Timing::Cost), 0.125),
    ("st8000as0002, mechanics", "lru", Some("st8000as0002"), Some(Timing::Mechanics), 0.25),
    ("st8000as0002, mechanics", "most", Some("st8000as0002"), Some(Timing::Mechanics), 0.125),
    ("st8000as0002, mechanics", "sac", Some("st8000as0002"), Some(Timing::Mechanics), 0.125),
    (STORE, "lru", Some("st8000as0002"), Some(Timing::Mechanics), 0.1),
    (STORE, "most", Some("st8000as0002"), Some(Timing::Mechanics), 0.1),
    (STORE, "sac", Some("st8000as0002"), Some(Timing::Mechanics), 0.1),
];

/// Rows of the store itself in virtual time, journal and all.
const STORE: &str = "store, st8000as0002";

fn measure(spec: &str, cache: &str, repeats: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut opened = shingle_trace::open(spec, &OpenOptions { seed: 1, ..OpenOptions::default() })?;
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| ())?;
    let summary = Summary::of(&requests);
    let trace = Trace { name: opened.name, format: None, requests, summary };
    let slots = u32::try_from(size::parse_blocks(cache)?)?;
    println!(
        "{}: {} requests, {} accesses, cache {cache}",
        trace.name,
        trace.requests.len(),
        trace.summary.blocks()
    );
    println!(
        "{:24} {:13} {:>12} {:>7} {:>7} {:>10}",
        "drive", "policy", "accesses/s", "ratio", "aim", "hash"
    );
    let only = std::env::var("SPEED_ONLY").unwrap_or_default();
    for &(what, policy, drive, timing, aim) in
        ROWS.iter().filter(|row| format!("{} {};", row.0, row.1).contains(&only))
    {
        let (mut ratios, mut fastest, mut hash) = (Vec::new(), f64::MAX, 0);
        let mut reference_fastest = f64::MAX;
        for _ in 0..repeats {
            let begun = processor_seconds();
            let reference_hits = std::hint::black_box(reference(&trace.requests, slots));
            let reference_time = processor_seconds() - begun;
            let (time, result) = match drive {
                None => core_alone(&trace.requests, slots),
                Some(drive) if what == STORE => served(&trace, policy, drive, timing, cache)?,
                Some(drive) => simulated(&trace, policy, drive, timing, cache)?,
            };
            if drive.is_none() && policy == "lru" {
                assert_eq!(result, reference_hits, "the reference and the core must agree");
            }
            ratios.push(reference_time / time);
            fastest = fastest.min(time);
            reference_fastest = reference_fastest.min(reference_time);
            hash = result;
        }
        ratios.sort_by(f64::total_cmp);
        let speed = |seconds: f64| trace.summary.blocks() as f64 / seconds / 1e6;
        println!(
            "{what:24} {policy:13} {:>10.2} M {:>7.3} {aim:>7.2} {hash:>10x}  (reference {:.1} M)",
            speed(fastest),
            ratios[ratios.len() / 2],
            speed(reference_fastest),
        );
    }
    Ok(())
}

/// Processor time of this thread. With `SPEED_UNTIMED` none, as under valgrind, which hides what rustix asks for it.
fn processor_seconds() -> f64 {
    if std::env::var_os("SPEED_UNTIMED").is_some() {
        return 0.0;
    }
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn lru(slots: u32) -> Cache<Plain<Lru>> {
    let cache = Params::new(CACHE_PARAMS);
    let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
    let setup = Setup { buffer_blocks: 150_000, costs, ..Setup::new(slots, 1 << 31, &cache) };
    build(&Params::new(&[]), &setup).expect("LRU needs no bands")
}

/// Whether an access is a hit; what has to leave is taken as written.
#[inline]
fn hit(cache: &mut impl CacheCore, access: &mut Access, plan: &mut Plan) -> bool {
    let mut outcome = cache.access(access, plan);
    let hit = matches!(outcome, Outcome::Hit(_));
    if outcome == Outcome::NoRoom {
        for destage in plan.destages() {
            cache.destaged(destage.slot);
        }
        plan.clear();
        outcome = cache.retry(access, plan);
        assert!(matches!(outcome, Outcome::Miss(_)), "there is room now");
    }
    if !plan.is_empty() {
        plan.clear();
    }
    hit
}

/// The cache without devices. Returns its hits.
#[inline(never)]
fn core_alone(requests: &[Request], slots: u32) -> (f64, u64) {
    let mut cache = lru(slots);
    let (mut plan, mut ahead, mut hits) = (Plan::default(), Ahead::default(), 0);
    let begun = processor_seconds();
    for first in (0..requests.len()).step_by(LOOKAHEAD) {
        cache.prefetch(&mut ahead, part_of(requests, first, PREFETCH_REQUESTS), &mut |_| {});
        for (request, number) in part_of(requests, first, LOOKAHEAD).iter().zip(first as u64..) {
            let mut access = Access::whole(number, request.first(), request.op);
            access.request = *request;
            for place in 0..request.blocks() {
                access.block = request.first().after(place);
                access.place = place as u32;
                hits += u64::from(hit(&mut cache, &mut access, &mut plan));
            }
        }
    }
    (processor_seconds() - begun, hits)
}

#[inline(never)]
fn simulated(
    trace: &Trace,
    policy: &str,
    drive: &str,
    timing: Option<Timing>,
    cache: &str,
) -> Result<(f64, u64), Box<dyn std::error::Error>> {
    let (policy, translation, buffer) = match shingle_translation::translations::get(policy) {
        Ok(translation) => ("none", translation.name, cache),
        Err(_) => (policy, "none", "0.4%"),
    };
    let options = Options {
        policies: vec![policy.into()],
        drives: vec![drive.into()],
        translations: vec![translation.into()],
        caches: vec![cache.into()],
        sets: [Assignment::new("drive.pb", buffer)?].into_iter().collect(),
        fill_partial: false,
        timing,
        ..Options::default()
    };
    let (jobs, _) = plan(&options, &Registry::default(), trace)?;
    let mut system = jobs[0].system()?;
    if system.wants_future() {
        system.set_future(next_uses(trace.requests.iter().copied()));
    }
    let begun = processor_seconds();
    for first in (0..trace.requests.len()).step_by(LOOKAHEAD) {
        system.prefetch(part_of(&trace.requests, first, PREFETCH_REQUESTS));
        for request in part_of(&trace.requests, first, LOOKAHEAD) {
            system.request(request);
        }
    }
    let time = processor_seconds() - begun;
    let end = system.snapshot();
    let hits = end.host.read_hits + end.host.write_hits;
    Ok((time, hits ^ end.disk.rmw << 40 ^ end.disk.clean_time.0))
}

/// The same as the store would serve it.
#[inline(never)]
fn served(
    trace: &Trace,
    policy: &str,
    drive: &str,
    timing: Option<Timing>,
    cache: &str,
) -> Result<(f64, u64), Box<dyn std::error::Error>> {
    let options = Options {
        policies: vec![policy.into()],
        drives: vec![drive.into()],
        caches: vec![cache.into()],
        sets: [Assignment::new("drive.pb", "0.4%")?].into_iter().collect(),
        store: Some(StoreOptions::default()),
        timing,
        ..Options::default()
    };
    let (jobs, _) = plan(&options, &Registry::default(), trace)?;
    let begun = processor_seconds();
    let run = jobs[0].run(&trace.requests[..], &|_| ())?;
    let time = processor_seconds() - begun;
    let hits = run.all.hits.read_blocks + run.all.hits.write_blocks;
    Ok((time, hits ^ run.all.drive_io.rmw << 40 ^ run.all.drive_io.written_blocks << 20))
}

/// The plainest LRU: nodes in a chained hash table and on a doubly linked list. Returns its hits.
#[inline(never)]
fn reference(requests: &[Request], slots: u32) -> u64 {
    let mut lru = Reference::new(slots);
    let mut hits = 0;
    for request in requests {
        let first = request.first();
        for place in 0..request.blocks() {
            hits += u64::from(lru.access(first.after(place), request.op));
        }
    }
    hits
}

const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Node {
    block: Block,
    chain: u32,
    towards_head: u32,
    towards_tail: u32,
    dirty: bool,
}

struct Reference {
    heads: Vec<u32>,
    nodes: Vec<Node>,
    head: u32,
    tail: u32,
    used: u32,
}

impl Reference {
    fn new(slots: u32) -> Reference {
        let node = Node {
            block: Block(0),
            chain: NONE,
            towards_head: NONE,
            towards_tail: NONE,
            dirty: false,
        };
        let buckets = slots.next_power_of_two() as usize;
        let nodes = vec![node; slots as usize];
        Reference { heads: vec![NONE; buckets], nodes, head: NONE, tail: NONE, used: 0 }
    }

    fn bucket(&self, block: Block) -> usize {
        let hash = block.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.heads.len() - 1)
    }

    fn access(&mut self, block: Block, op: Op) -> bool {
        let bucket = self.bucket(block);
        let mut at = self.heads[bucket];
        while at != NONE && self.nodes[at as usize].block != block {
            at = self.nodes[at as usize].chain;
        }
        let hit = at != NONE;
        if hit {
            self.unlink(at);
        } else {
            at = self.free();
            let chain = self.heads[bucket];
            self.heads[bucket] = at;
            let node = &mut self.nodes[at as usize];
            (node.block, node.chain, node.dirty) = (block, chain, false);
        }
        self.nodes[at as usize].dirty |= op == Op::Write;
        self.push(at);
        hit
    }

    /// A node that was never used, or that of the block unused for longest.
    fn free(&mut self) -> u32 {
        if (self.used as usize) < self.nodes.len() {
            self.used += 1;
            return self.used - 1;
        }
        let victim = self.tail;
        self.unlink(victim);
        let bucket = self.bucket(self.nodes[victim as usize].block);
        let after = self.nodes[victim as usize].chain;
        let mut at = self.heads[bucket];
        if at == victim {
            self.heads[bucket] = after;
            return victim;
        }
        while self.nodes[at as usize].chain != victim {
            at = self.nodes[at as usize].chain;
        }
        self.nodes[at as usize].chain = after;
        victim
    }

    fn unlink(&mut self, at: u32) {
        let (h, t) = (self.nodes[at as usize].towards_head, self.nodes[at as usize].towards_tail);
        if h == NONE {
            self.head = t
        } else {
            self.nodes[h as usize].towards_tail = t
        }
        if t == NONE { self.tail = h } else { self.nodes[t as usize].towards_head = h }
    }

    fn push(&mut self, at: u32) {
        let head = self.head;
        let node = &mut self.nodes[at as usize];
        (node.towards_head, node.towards_tail) = (NONE, head);
        if head == NONE {
            self.tail = at
        } else {
            self.nodes[head as usize].towards_head = at
        }
        self.head = at;
    }
}
