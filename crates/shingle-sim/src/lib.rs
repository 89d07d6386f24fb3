//! The simulator: it runs a trace through a cache over a drive model. A run is a pure function of trace,
//! configuration and seed; only [`shingle_result::Wall`] is real time.
//!
//! Two policies over a model of a drive-managed disk:
//!
//! ```
//! use shingle_core::registry::Registry;
//! use shingle_sim::experiment::{Options, Trace, plan, run_all};
//! use shingle_trace::{OpenOptions, Summary, read_all};
//!
//! let mut opened = shingle_trace::open("synth:mixed?requests=5k", &OpenOptions::default())?;
//! let requests = read_all(opened.source.as_mut(), &mut |_| {})?;
//! let summary = Summary::of(&requests);
//! let trace = Trace { name: opened.name, format: None, requests, summary };
//!
//! let options = Options {
//!     policies: vec!["lru".into(), "sac".into()],
//!     drives: vec!["st8000as0002".into()],
//!     caches: vec!["16MiB".into()],
//!     ..Options::default()
//! };
//! let (jobs, _notes) = plan(&options, &Registry::default(), &trace)?;
//! let runs = run_all(&jobs, &trace, &|_| {})?;
//! assert_eq!(runs.len(), 2);
//! for run in &runs {
//!     let (accesses, hits) = (&run.all.accesses, &run.all.hits);
//!     assert_eq!(accesses.read_blocks + accesses.write_blocks, trace.summary.blocks());
//!     assert!(hits.read_blocks <= accesses.read_blocks, "{}", run.labels.policy);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Casts are lossless: slots and places in a request are u32 by construction.

mod backlog;
pub mod bound;
mod check;
mod device;
mod disk;
pub mod experiment;
pub mod future;
mod guard;
mod passed;
pub mod recorded;
pub mod requests;
pub mod run;
pub mod sample;
pub mod store;
pub mod system;
pub mod translated;
pub mod watch;

pub use check::StaleRead;
pub use disk::Disk;
pub use guard::cancel;
