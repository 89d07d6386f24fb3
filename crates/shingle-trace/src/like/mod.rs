//! Workloads like a trace: a small description of a trace, and requests generated from it.
//!
//! ```text
//! trace ──▶ Survey ──▶ Fit ──▶ Description ──▶ Like ──▶ requests
//!         (slices)  (cells)     (a file)
//! ```
//!
//! A trace is cut into slices of time, and a slice into cells: the reads, or writes, of one zone. A
//! cell has its number of runs and blocks. It also says how many of the blocks are new, and how
//! many were last read or written in each earlier slice (`description.rs`). So a description tells
//! how blocks flow from slice to slice. It keeps which zones are in use together, how much of each
//! is dirty, and the time since its last use. The blocks within a zone and their order within a
//! slice are drawn (`generate.rs`). No policy or drive is involved, so no result of a policy is
//! built into the workload.

mod buckets;
mod description;
mod fit;
mod generate;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod zone_state;

pub use description::Description;
pub use fit::Fit;
pub(crate) use generate::Like;
pub use survey::Survey;
