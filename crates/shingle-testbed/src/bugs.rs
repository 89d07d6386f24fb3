//! The search for mistakes that are made on purpose: tests that find none of them are worth nothing.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::quiet::Quiet;

/// Which seeds to try for a bug: what has found it before, then all from the first on. Where the code under test does other
/// I/O than it did, a known seed may find nothing.
pub fn seeds<B: PartialEq>(
    known: &[(B, u64)],
    bug: &B,
    seeds_max: u64,
) -> impl Iterator<Item = u64> + use<B> {
    let known = known.iter().find(|(known, _)| known == bug).map(|(_, seed)| *seed);
    known.into_iter().chain(0..seeds_max)
}

/// Looks for each bug and says what found it. `found` lives lives until one of them panics: [`panics`].
/// `SHINGLE_BUG=Name` looks for one of them only, and prints how it panics.
///
/// # Panics
/// If one is not found, or there is none of this name.
pub fn each_is_found<B: Copy + Debug + Send + Sync>(
    all: &[B],
    found: impl Fn(B) -> Option<String> + Sync,
) {
    let only = std::env::var("SHINGLE_BUG").ok();
    let asked = |bug: &&B| only.as_ref().is_none_or(|only| *only == format!("{bug:?}"));
    let bugs: Vec<&B> = all.iter().filter(asked).collect();
    assert!(!bugs.is_empty(), "SHINGLE_BUG names none of {all:?}");
    // Some bugs take thousands of runs: each core takes the next one that is left.
    let next = AtomicUsize::new(0);
    let search = || {
        // (What finds a bug is a panic.)
        let _quiet = only.is_none().then(Quiet::begin);
        let mut missed = Vec::new();
        while let Some(&&bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match found(bug) {
                Some(what) => println!("{bug:?}: {what}"),
                None => missed.push(bug),
            }
        }
        missed
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let missed: Vec<B> = std::thread::scope(|scope| {
        let searches: Vec<_> = (0..cores).map(|_| scope.spawn(search)).collect();
        searches.into_iter().flat_map(|search| search.join().expect("a search")).collect()
    });
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// Whether a life ends in a panic.
pub fn panics<T>(life: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)).is_err()
}
