//! The search for seeded bugs: a test that finds none of them proves nothing.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::quiet::Quiet;

/// The seeds to try for a bug: the known one first, then all from 0 on. A known seed may miss the
/// bug after the I/O pattern of the code under test has changed.
pub fn seeds<B: PartialEq>(
    known: &[(B, u64)],
    bug: &B,
    seeds_max: u64,
) -> impl Iterator<Item = u64> + use<B> {
    let known = known.iter().find(|(known, _)| known == bug).map(|(_, seed)| *seed);
    known.into_iter().chain(0..seeds_max)
}

/// Searches each bug, and prints what found it. `found` runs tests until one of them panics
/// ([`panics`]). `SHINGLE_BUG=Name` searches only that bug, and prints its panic.
///
/// # Panics
/// If a bug is not found, or there is none of that name.
pub fn each_is_found<B: Copy + Debug + Send + Sync>(
    all: &[B],
    found: impl Fn(B) -> Option<String> + Sync,
) {
    let only = std::env::var("SHINGLE_BUG").ok();
    let selected = |bug: &&B| only.as_ref().is_none_or(|only| *only == format!("{bug:?}"));
    let bugs: Vec<&B> = all.iter().filter(selected).collect();
    assert!(!bugs.is_empty(), "SHINGLE_BUG names none of {all:?}");
    // Some bugs take thousands of runs: each core takes the next bug from the list.
    let next = AtomicUsize::new(0);
    let search = || {
        // (A bug shows as a panic.)
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

/// Whether a run panics.
pub fn panics<T>(life: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)).is_err()
}
