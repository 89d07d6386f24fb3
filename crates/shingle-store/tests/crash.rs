//! The shipping engine over devices that lose what was not flushed, tear, reorder and fail: no crash
//! loses what was durable, nothing is ever mixed up, every command is answered.
//!
//! `SHINGLE_SEEDS=N` says how many runs of each theme; `SHINGLE_SEED=n` replays one.

mod simulated;

use simulated::world::{Theme, World};

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    match number("SHINGLE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SHINGLE_SEEDS").unwrap_or(default),
    }
}

fn run(theme: Theme, default: u64) {
    let mut reads = 0;
    for seed in seeds(default) {
        let told = std::panic::catch_unwind(|| World::new(seed, theme, None).live());
        match told {
            Ok(world) => {
                reads += world.reads_checked();
                if std::env::var("SHINGLE_SEED").is_ok() {
                    println!("{}", world.says());
                }
            }
            Err(panic) => {
                eprintln!("theme {theme:?}: replay with SHINGLE_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(reads > 0, "reads were checked");
}

#[test]
fn no_crash_loses_what_was_durable() {
    run(Theme::Crashes, 1_000);
}

#[test]
fn errors_stay_with_the_blocks_they_concern() {
    run(Theme::Faults, 600);
}

#[test]
fn flipped_bits_are_never_served_and_never_destaged() {
    run(Theme::Flips, 400);
}
