//! The decisions of a cache in front of a shingled disk: which blocks it keeps, and which leave.
//!
//! Nothing here does I/O, reads a clock, draws a random number or fails at run time. A
//! [`policy::Policy`] orders blocks and names victims, the blocks that leave next. [`cache::Cache`]
//! owns everything that could lose data and turns victims into a [`plan::Plan`]. An executor (the
//! simulator, the store, a test) carries the plan out and reports back. The same policy runs under
//! all of them.
//!
//! To write a policy, read [`policy`] and one of [`policies`]. Nothing else is needed.
//!
//! The calls of an executor, with a cache of two blocks:
//!
//! ```
//! use shingle_core::{cache::Outcome, params::Params, plan::Plan, policy::Access};
//! use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
//! use shingle_core::units::{Block, Op};
//!
//! let registry = Registry::default();
//! let lru = registry.get("lru").expect("a built-in policy");
//! let cache = Params::new(CACHE_PARAMS);
//! let setup = Setup::new(2, 100, &cache);
//! let mut cache = lru.make(&Params::new(lru.params), &setup).expect("it needs nothing else");
//!
//! let mut plan = Plan::default();
//! let mut write = |number, block| Access::whole(number, Block(block), Op::Write);
//! assert!(matches!(cache.access(&mut write(0, 7), &mut plan), Outcome::Miss(_)));
//! assert!(matches!(cache.access(&mut write(1, 8), &mut plan), Outcome::Miss(_)));
//!
//! // No room: the least recently used block has to reach the disk first.
//! let mut third = write(2, 9);
//! assert_eq!(cache.access(&mut third, &mut plan), Outcome::NoRoom);
//! let destage = plan.destages()[0];
//! assert_eq!(destage.block, Block(7));
//! cache.destaged(destage.slot);
//! assert!(matches!(cache.retry(&mut third, &mut plan), Outcome::Miss(_)));
//! ```

// Casts lose nothing: slots, zones and scores are u32 by construction.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("shingle needs a 64-bit system: numbers of blocks are places in memory");

pub mod ahead;
#[macro_use]
mod any_order;
pub mod cache;
pub mod cdc;
mod contract;
pub mod drive_view;
pub mod duration;
pub mod gated;
pub mod idle;
pub mod observer;
pub mod order;
pub mod params;
pub mod parts;
pub mod plan;
pub mod policies;
pub mod policy;
pub mod ranges;
pub mod registry;
pub mod service;
pub mod size;
pub mod slots;
pub mod units;
mod whole_bands;
pub mod zones;
