//! Workloads like a trace: a small description of one, and requests made of it.
//!
//! ```text
//! trace ──▶ Survey ──▶ Fit ──▶ Description ──▶ Like ──▶ requests
//!           (zones)    (moves)  (a file)
//! ```
//!
//! A trace is told as a sequence of moves (`moves.rs`), each relative to what was before (`history.rs`), and
//! how often each move was made in which situation is counted (`statistics.rs`, `buckets.rs`). Zones keep
//! their character (`zones.rs`), and long runs are listed one by one (`long.rs`). No policy or drive has a
//! part in it, so nothing that a policy makes of such a workload was put into it.

mod buckets;
mod description;
mod fit;
mod generate;
mod history;
mod long;
mod moves;
mod statistics;
#[cfg(test)]
mod tests;
mod zones;

pub use description::Description;
pub use fit::Fit;
pub(crate) use generate::Like;
pub use zones::Survey;
