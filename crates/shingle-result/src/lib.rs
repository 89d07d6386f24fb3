//! The results of a run: counters, the figures computed from them, and the format `shingle.result/1`.
//!
//! Simulated and real runs have the same results. The code that runs something takes [`Snapshot`]s
//! of its counters; [`Counts::between`] computes figures from two of them, and [`RunResult`] has
//! all figures of a run. A [`Report`] is what commands print: several runs, and sentences about
//! them ([`verdict`]). No other crate defines a part of this format.
//!
//! ```
//! use shingle_result::{Counts, HostCounters, Snapshot};
//!
//! let before = Snapshot::default();
//! let host = HostCounters { read_blocks: 4, read_hits: 3, ..HostCounters::default() };
//! let counts = Counts::between(&before, &Snapshot { host, ..before });
//! assert_eq!(counts.hits.ratio, Some(0.75));
//! ```

mod between;
mod counters;
mod counts;
mod curves;
mod flash;
mod labels;
mod latency;
mod left;
mod meter;
mod report;
mod run;
mod said;
mod series;
mod swept;
mod target;
mod trace;
mod translating;
pub mod verdict;

pub use counters::{HostCounters, Snapshot};
pub use counts::{
    Buffer, ByCall, ByCause, Counts, DriveIo, Evictions, Hits, HostRmw, PerOp, Requests, Seconds,
    Ssd,
};
pub use curves::{
    CURVES_SCHEMA, CurvePoint, CurveSample, Curves, CurvesOfDrive, Estimate, curves_schema,
};
pub use flash::{Erases, Flash, Lifetime, Region};
pub use labels::{Labels, Pacing};
pub use latency::{Bar, DriveLatency, Latency, ResponseTimes, Responses};
pub use left::Left;
pub use meter::{HostMeter, Meter, ModelCounters, RealRun};
pub use report::{Program, Report, SCHEMA, schema};
pub use run::{Measured, Memory, Queue, RunResult, Wall};
pub use said::{Note, Notes, Said, SaidKind};
pub use series::{Heat, Parts, Point};
pub use swept::{Axis, Place, Swept, SweptTrace};
pub use target::{Smallest, Target, Tried};
pub use trace::{TraceFormat, TraceInfo};
pub use translating::Translating;
