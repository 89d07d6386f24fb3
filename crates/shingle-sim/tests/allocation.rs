//! Once a run has found its pace, serving a request allocates nothing: neither the cache, nor the
//! policy, nor the drive, nor what lies between them.

use shingle_core::registry::Registry;
use shingle_sim::experiment::{Options, Trace, plan};
use shingle_sim::system::Pacing;
use shingle_trace::{OpenOptions, Shape, Summary};

#[test]
fn serving_a_request_allocates_nothing() {
    let spec = "synth:mixed?requests=60k&range=1GB";
    let mut opened =
        shingle_trace::open(spec, &OpenOptions { seed: 3, ..OpenOptions::default() }).unwrap();
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| ()).unwrap();
    let trace = Trace { name: opened.name, summary: Summary::of(&requests), requests };
    let registry = Registry::default();
    for pacing in [Pacing::Closed, Pacing::Open] {
        let options = Options {
            policies: registry.entries().iter().map(|entry| entry.name.to_owned()).collect(),
            drives: ["st8000as0002", "sac-emulator", "pore-emulator"].map(str::to_owned).to_vec(),
            pacing,
            ..Options::default()
        };
        let (jobs, _) = plan(&options, &registry, &trace).unwrap();
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
            // A buffer may still grow for a longer run of blocks than any before.
            let count = made.count_total;
            assert!(count <= 4, "job {number}: {count} allocations in {} requests", rest.len());
        }
    }
}
