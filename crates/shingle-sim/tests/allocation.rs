//! Once a run has found its pace, serving a request allocates nothing: neither the cache, nor the
//! policy, nor the drive, nor what lies between them. The store in virtual time allocates for commits only, the log
//! where a list of runs gets longer.

use shingle_core::params::Params;
use shingle_core::policy::Zoning;
use shingle_core::registry::{Entry, Registry};
use shingle_result::Pacing;
use shingle_sim::experiment::{Assignment, Options, StoreOptions, Trace, plan};
use shingle_trace::{OpenOptions, Shape, Summary};
use shingle_translation::translations::ALL;

fn trace(spec: &str) -> Trace {
    let mut opened =
        shingle_trace::open(spec, &OpenOptions { seed: 3, ..OpenOptions::default() }).unwrap();
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| ()).unwrap();
    Trace { name: opened.name, format: None, summary: Summary::of(&requests), requests }
}

/// Runs `options`, and fails if the second half of the requests allocates.
fn allocates_nothing(options: &Options, trace: &Trace) {
    // A buffer may still grow for a longer run of blocks than any before.
    allocates_at_most(4, options, trace);
}

/// Runs `options`, and fails if the second half of the requests allocates more often.
fn allocates_at_most(most: u64, options: &Options, trace: &Trace) {
    let (jobs, _) = plan(options, &Registry::default(), trace).unwrap();
    for (number, job) in jobs.iter().enumerate() {
        let mut system = job.system().unwrap();
        let (first, rest) = trace.requests.split_at(trace.requests.len() / 2);
        for request in first {
            system.request(request);
        }
        let made = allocation_counter::measure(|| {
            for request in rest {
                system.request(request);
            }
        });
        let count = made.count_total;
        assert!(count <= most, "job {number}: {count} allocations in {} requests", rest.len());
    }
}

/// Zones of one block on 8 TB: two thousand million, of which a few thousand are touched.
#[test]
fn memory_of_zones_grows_with_those_touched() {
    let trace = trace("synth:uniform?requests=3k&range=4TB");
    let registry = Registry::default();
    let with_zones =
        registry.entries().iter().filter(|entry| Params::new(entry.params).has("zone"));
    let policies: Vec<String> = with_zones.map(|entry| entry.name.to_owned()).collect();
    assert!(policies.len() >= 10, "{policies:?}");
    let set = |name: &String| Assignment::parse(&format!("{name}.zone=1b")).expect("a key");
    let sets = policies.iter().map(set).collect();
    let options = Options {
        policies: [vec!["lru".to_owned()], policies].concat(),
        drives: vec!["st8000as0002".to_owned()],
        caches: vec!["1000b".to_owned()],
        sets,
        ..Options::default()
    };
    let (jobs, _) = plan(&options, &registry, &trace).unwrap();
    let mut without_zones = 0;
    for job in &jobs {
        let name = &job.labels().policy;
        let taken = allocation_counter::measure(|| {
            let mut system = job.system().unwrap();
            for request in &trace.requests {
                system.request(request);
            }
            let bytes = system.cache().memory().by_zones;
            assert!(bytes < 2 << 20, "{name}: {bytes} bytes for zones");
        });
        if name == "lru" {
            without_zones = taken.bytes_max;
        }
        let more = taken.bytes_max.saturating_sub(without_zones);
        assert!(more < 8 << 20, "{name}: {more} bytes more than without zones");
    }
}

#[test]
fn serving_a_request_allocates_nothing() {
    let trace = trace("synth:mixed?requests=30k&range=1GB");
    let registry = Registry::default();
    let exposed = |entry: &&Entry| entry.zoning(&Params::new(entry.params)) == Zoning::Exposed;
    let names = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.name.to_owned()).collect();
    let anywhere = registry.entries().iter().filter(|entry| !exposed(entry)).collect();
    let on_zones = registry.entries().iter().filter(exposed).collect();
    let drives = ["st8000as0002", "sac-emulator", "pore-emulator", "ha-roco"];
    let cases = [(names(anywhere), &drives[..]), (names(on_zones), &drives[3..])];
    for ((policies, drives), pacing) in
        cases.iter().flat_map(|case| [(case, Pacing::Closed), (case, Pacing::Open)])
    {
        let policies: &Vec<String> = policies;
        let options = Options {
            policies: policies.clone(),
            drives: drives.iter().map(|&name| name.to_owned()).collect(),
            pacing,
            ..Options::default()
        };
        allocates_nothing(&options, &trace);
    }
}

/// All zones have been touched when counting begins: memory may grow with these.
#[test]
fn a_translation_allocates_nothing_either() {
    let trace = trace("synth:zipf?requests=60k&range=60MB");
    let all = ALL.iter().map(|entry| entry.name.to_owned());
    let (logs, others) = all.partition::<Vec<_>, _>(|name| name == "log");
    // The memory of the log's tables follows what they hold: a list of runs grows, and a zone that is
    // written anew has others.
    let cases = [(others, 4), (logs, trace.requests.len() as u64 / 12)];
    let both = [Pacing::Closed, Pacing::Open];
    for ((translations, most), pacing) in
        cases.iter().flat_map(|case| both.map(|pacing| (case, pacing)))
    {
        let options = Options {
            policies: vec!["none".into()],
            drives: vec!["hm-tiny".into()],
            translations: translations.clone(),
            // So that the log takes all zones, and not only as many as it needs, before it cleans.
            sets: ["drive.pb=4MiB", "log.garbage=1", "log.idle=1"]
                .map(|text| Assignment::parse(text).expect("a key"))
                .into_iter()
                .collect(),
            pacing,
            ..Options::default()
        };
        allocates_at_most(*most, &options, &trace);
    }
}

/// What a request does takes no new memory; a commit, which serves hundreds, takes some.
#[test]
fn a_store_allocates_for_commits_only() {
    let trace = trace("synth:zipf?requests=80k&range=1GB&size=4KiB");
    let options = Options {
        policies: ["lru", "most", "sac"].map(str::to_owned).to_vec(),
        drives: vec!["st8000as0002".to_owned()],
        caches: vec!["16MiB".to_owned()],
        store: Some(StoreOptions::default()),
        ..Options::default()
    };
    let (jobs, _) = plan(&options, &Registry::default(), &trace).unwrap();
    for job in &jobs {
        let made = |requests| {
            let run = || drop(job.run(&trace.requests[..requests], &|_| ()).unwrap());
            allocation_counter::measure(run).count_total
        };
        let (half, all) = (made(40_000), made(80_000));
        let count = all.saturating_sub(half);
        let name = &job.labels().policy;
        assert!(count < 40_000 / 20, "{name}: {count} allocations in 40,000 requests");
    }
}
