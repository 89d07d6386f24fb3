//! The decisions of shingle: what a cache in front of a shingled disk keeps, and who leaves it.
//!
//! Nothing here does I/O, reads a clock, draws a random number or fails at run time. A
//! [`policy::Policy`] orders blocks and names victims; [`cache::Cache`] owns everything that could
//! lose data and turns names into a [`plan::Plan`]; an executor (the simulator, the store, a test)
//! carries the plan out and reports back. The same policy object serves all of them.
//!
//! To write a policy, read [`policy`] and one of [`policies`]; that is all there is to know.

#![allow(clippy::cast_possible_truncation)] // slots, zones and scores are u32 by construction

pub mod buckets;
pub mod cache;
pub mod cdc;
pub mod gated;
pub mod ghosts;
pub mod heap;
pub mod list;
pub mod order;
pub mod orders;
pub mod params;
pub mod plan;
pub mod policies;
pub mod policy;
pub mod recency;
pub mod registry;
pub mod size;
pub mod sketch;
pub mod slots;
pub mod tournament;
pub mod units;
pub mod witness;
pub mod zones;
