//! What models are made of.
//!
//! | file | what |
//! |---|---|
//! | `mech.rs`, `seek.rs` | arm, platter and read-ahead of every disk with mechanics |
//! | `cost.rs` | the papers' costs, beside the mechanics |
//! | `medium.rs` | what carries an emulated disk: costs, or a conventional disk |
//! | `runs.rs` | where bands and tracks lie |
//! | `map.rs`, `ring.rs` | what the slots of a log hold; the log of a buffer |
//! | `zone_states.rs`, `queue.rs` | write pointers, and which zones are open |
//! | `flash/`, `schedule.rs` | NAND flash; when each of its units works |
//! | `contents.rs` | stamps of checking runs: what lies where |
//! | `turnover.rs` | cleanings that came too soon |
//! | `fit.rs`, `rng.rs` | lines through points; random numbers |

pub(crate) mod contents;
pub(crate) mod cost;
pub(crate) mod fit;
pub(crate) mod flash;
pub(crate) mod map;
pub(crate) mod mech;
pub(crate) mod medium;
pub(crate) mod queue;
pub(crate) mod ring;
pub(crate) mod rng;
pub(crate) mod runs;
pub(crate) mod schedule;
pub(crate) mod seek;
pub(crate) mod turnover;
pub(crate) mod zone_states;
