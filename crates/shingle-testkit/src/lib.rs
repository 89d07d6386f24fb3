//! Checks that a policy keeps its contract ([`shingle_core::policy::Policy`]), as the built-in policies do.
//! A policy outside the project runs all checks with one line in its tests:
//!
//! ```no_run
//! # type MyPolicy = shingle_core::policies::most::Most;
//! shingle_testkit::conformance!(MyPolicy);
//! ```
//!
//! The macro makes one test for each of [`checks`]. A test tries every variant of the policy's
//! parameters. [`AtOnce`] is an executor for further tests:
//!
//! ```
//! use shingle_core::policies::most::Most;
//! use shingle_core::{registry::Entry, units::{Block, Op}};
//! use shingle_testkit::{AtOnce, variants};
//!
//! let entry = Entry::of::<Most>();
//! let mut run = AtOnce::new(&entry, &variants(&entry)[0], 4, 1);
//! // Zones of 8 blocks; MOST evicts the zone with the most dirty blocks.
//! for block in [0, 8, 9, 10, 16] {
//!     run.access(Block(block), Op::Write);
//! }
//! assert!(run.has(Block(0)) && !run.has(Block(8)));
//! ```
//!
//! The checks do not measure how good a policy is: `shingle compare` shows that.

// No cast loses a value: caches and disks here are small.

mod at_once;
pub mod checks;
mod in_flight;
mod setup;

pub use at_once::AtOnce;
pub use setup::{DISK_BLOCKS, Rng, make, make_with, variants};

#[doc(hidden)]
pub use shingle_core::registry::Entry;

/// Makes one test for each of [`checks`], for a [`shingle_core::policy::Policy`]. A second policy
/// in the same file needs its own module.
#[macro_export]
macro_rules! conformance {
    ($policy:ty) => {
        $crate::conformance!($policy:
            a_read_returns_the_last_write,
            every_short_sequence_is_current,
            a_hit_ratio_is_no_better_than_the_cache_is_large,
            idle_time_leaves_nothing_dirty,
            the_same_accesses_give_the_same_run,
            every_read_is_current_with_32_requests_in_flight,
            a_restored_cache_goes_on,
            an_executor_may_destage_any_dirty_block,
        );
    };
    ($policy:ty: $($check:ident,)*) => {
        $(#[test]
        fn $check() {
            let _ = $crate::checks::$check(&$crate::Entry::of::<$policy>());
        })*
    };
}
