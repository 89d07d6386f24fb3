//! Concurrent reads, from many threads: a read never returns data older than what was acknowledged
//! when it began.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::common::{formatted, read, write};
use shingle_core::units::Block;
use shingle_translation::translations::ALL;

#[test]
fn a_read_is_never_older_than_what_was_acknowledged() {
    for entry in ALL {
        let disk = formatted(entry.name);
        let live = disk.open();
        let blocks = live.blocks();
        let acknowledged: Vec<AtomicU64> = (0..blocks).map(|_| AtomicU64::new(0)).collect();
        let (over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (live, acknowledged, over, reads) = (&live, &acknowledged, &over, &reads);
                scope.spawn(move || {
                    let mut at = thread * 7;
                    while !over.load(Ordering::Acquire) {
                        at = (at * 5 + 3) % blocks;
                        let least = acknowledged[at as usize].load(Ordering::Acquire);
                        let found = read(live, at).expect("no faults");
                        assert!(
                            found >= least,
                            "{}: block {at} is {found}, not {least}",
                            entry.name
                        );
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // The zones are written, cleaned and moved all the time.
            let mut version = 0;
            let mut at = 1;
            while version < 400 || reads.load(Ordering::Relaxed) < 300 {
                version += 1;
                at = (at * 13 + 7) % blocks;
                let count = (1 + version % 9).min(blocks - at);
                write(&live, at, count, version).expect("no faults");
                for block in at..at + count {
                    acknowledged[block as usize].store(version, Ordering::Release);
                }
                match version % 7 {
                    0 => live.flush().expect("no faults"),
                    1 => drop(live.idle().expect("no faults")),
                    _ => {}
                }
            }
            over.store(true, Ordering::Release);
        });
        assert!(live.status().cleanings > 0 || entry.name == "log", "{}", entry.name);
    }
}

#[test]
fn writes_of_many_threads_follow_each_other() {
    let disk = formatted("fluid");
    let live = disk.open();
    let part = live.blocks() / 4;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let live = &live;
            scope.spawn(move || {
                for version in 1..40 {
                    for at in (thread * part..(thread + 1) * part).step_by(3) {
                        write(live, at, 1, version).expect("no faults");
                    }
                    live.flush().expect("no faults");
                }
            });
        }
        // Concurrently, all blocks that no thread writes are trimmed.
        let live = &live;
        scope.spawn(move || {
            for at in (1..4 * part).step_by(3) {
                live.trim(Block(at), 1).expect("no faults");
            }
        });
    });
    drop(live);
    let live = disk.open();
    for at in (0..part).step_by(3) {
        (0..4).for_each(|thread| assert_eq!(read(&live, thread * part + at).ok(), Some(39)));
    }
}
