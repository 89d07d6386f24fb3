//! Workloads like a trace: a small description of one, and requests made of it.
//!
//! ```text
//! trace ──▶ Survey ──▶ Fit ──▶ Description ──▶ Like ──▶ requests
//!         (slices)  (cells)     (a file)
//! ```
//!
//! A trace is cut into slices of time, and a slice into cells: what reads, or writes, do to one
//! zone. A cell says how many runs and blocks it has, and of the blocks how many are new and how
//! many were last read or written in which slice before (`description.rs`). So a description tells
//! how blocks flow from slice to slice, and what follows from it is kept: which zones are in use
//! together, how much of each is dirty, how long ago it was used. Which blocks of a zone they are,
//! and in which order within a slice, is drawn (`generate.rs`). No policy or drive has a part in
//! it, so nothing that a policy makes of such a workload was put into it.

mod buckets;
mod description;
mod fit;
mod generate;
mod ground;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod text;

pub use description::Description;
pub use fit::Fit;
pub(crate) use generate::Like;
pub use survey::Survey;
