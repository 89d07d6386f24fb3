//! The simulator: it runs a trace through a cache over a drive model. A run is a pure function of trace,
//! configuration and seed; only [`shingle_result::Wall`] is real time.

// Casts lose nothing: slots are u32 by construction, places in a request too.

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

pub use check::Stale;
pub use disk::Disk;
pub use guard::cancel;
