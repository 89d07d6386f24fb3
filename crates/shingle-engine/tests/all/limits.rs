//! The limits of an operator in virtual time: the destage rate and hours, and the daily budget for
//! SSD writes.

use shingle_core::service::{Hours, Limits, Mode};
use shingle_core::units::Nanos;
use shingle_engine::CommandOp;

use crate::memory::{Store, slots};

fn limited(limits: Limits) -> Store {
    Store::new(slots() * 10, |config| config.rules.limits = limits)
}

fn write(store: &mut Store, block: u64) {
    store.ask(CommandOp::Write, block, 1);
    store.settle();
}

fn read(store: &mut Store, block: u64) {
    store.ask(CommandOp::Read, block, 1);
    store.settle();
}

fn destaged(store: &Store) -> u64 {
    store.engine.status().destaged_blocks
}

#[test]
fn no_more_is_destaged_in_a_second_than_is_allowed() {
    let limits = Limits { destage_blocks_per_s: Some(100), ..Limits::default() };
    let mut store = limited(limits);
    (0..3000).for_each(|n| write(&mut store, n * 3));
    let before = destaged(&store);
    store.wait(10_000);
    let in_ten_seconds = destaged(&store) - before;
    assert!((900..=1_010).contains(&in_ten_seconds), "{in_ten_seconds}");
    // The limit changes while destaging goes on.
    store.engine.set_limits(Limits { destage_blocks_per_s: Some(20), ..Limits::default() });
    let before = destaged(&store);
    store.wait(10_000);
    let in_ten_seconds = destaged(&store) - before;
    assert!((150..=210).contains(&in_ten_seconds), "{in_ten_seconds}");
    // A drain ignores the limit.
    store.engine.drain();
    store.settle();
    assert_eq!(store.engine.dirty_blocks(), 0);
}

/// As with a slow disk: the dirty data is safe on the SSD, and the end does not wait for its
/// destage.
#[test]
fn what_is_held_back_stays_dirty_at_the_end() {
    let mut store = limited(Limits { destage_blocks_per_s: Some(20), ..Limits::default() });
    let slots = slots();
    // Room is made in advance.
    (0..slots - 10).for_each(|n| write(&mut store, n * 3));
    store.wait(1_000);
    let on_disk = store.disk.len();
    store.engine.shut_down();
    store.settle();
    assert!(store.engine.is_stopped());
    assert_eq!(store.disk.len(), on_disk);
    assert_eq!(store.engine.dirty_blocks(), slots - 10 - on_disk as u64);
}

#[test]
fn who_waits_for_room_waits_for_what_is_allowed() {
    let limits = Limits { destage_blocks_per_s: Some(100), ..Limits::default() };
    let mut store = limited(limits);
    let slots = slots();
    // Without pauses, so that there is no idle time.
    (0..slots + 200).for_each(|n| write(&mut store, n * 2));
    let asked = store.commands;
    let mut answered = 0;
    for _ in 0..200 {
        store.wait(50);
        answered = asked - store.engine.status().counts.write_misses;
    }
    assert_eq!(answered, 0, "all found room within ten seconds");
}

#[test]
fn what_goes_past_the_cache_is_missed_there() {
    let mut store = limited(Limits::default());
    write(&mut store, 0);
    for (mode, hits) in [(Mode::NoReadFill, 1), (Mode::PassThrough, 2)] {
        store.engine.set_mode(mode);
        (0..10).for_each(|n| read(&mut store, n * 3));
        let counts = store.engine.status().counts;
        assert_eq!((counts.read_hits, counts.read_misses), (hits, 9 * hits), "{mode:?}");
    }
    (0..10).for_each(|n| write(&mut store, n * 3));
    let counts = store.engine.status().counts;
    assert_eq!((counts.write_hits, counts.write_misses, counts.bypassed_blocks), (1, 10, 9));
}

#[test]
fn idle_time_is_used_at_its_hours_only() {
    let hours = Hours::parse("22-6").expect("hours");
    let mut store = limited(Limits { hours, ..Limits::default() });
    store.engine.set_time_of_day(store.now, Nanos::from_millis(12 * 3_600_000));
    (0..500).for_each(|n| write(&mut store, n * 3));
    store.wait(10_000);
    assert_eq!(destaged(&store), 0);
    store.engine.set_time_of_day(store.now, Nanos::from_millis(22 * 3_600_000));
    store.wait(10_000);
    assert_eq!(store.engine.dirty_blocks(), 0);
}

#[test]
fn the_ssd_is_written_no_more_than_its_budget_of_a_day() {
    // A thousand pages an hour.
    let limits = Limits { ssd_blocks_per_day: Some(24_000), ..Limits::default() };
    let mut store = limited(limits);
    let blocks = slots() * 10;
    for n in 0..5_000 {
        write(&mut store, n * 7919 % blocks);
        if n.is_multiple_of(100) {
            store.wait(50);
        }
    }
    let status = store.engine.status();
    let written = status.ssd_written_pages;
    // (The tolerance is for a command with the commit after it.)
    assert!((900..1_100).contains(&written), "{written} pages");
    assert!(status.counts.bypassed_blocks > 3_900, "{:?}", status.counts);
    // Half a day later half of the budget is there again, an hour's worth of it at once.
    store.tick(Nanos::from_millis(12 * 3_600_000));
    store.settle();
    for n in 5_000..10_000 {
        write(&mut store, n * 7919 % blocks);
    }
    let more = store.engine.status().ssd_written_pages - written;
    assert!((900..1_400).contains(&more), "{more} pages");
}
