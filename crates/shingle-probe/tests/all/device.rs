//! Files and devices under probe: every I/O is executed once, at its place, and errors name the I/O
//! that failed.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{content, io, run};
use proptest::prelude::*;
use shingle_probe::device::Disk;
use shingle_probe::guard::allow;
use shingle_probe::target::{Io, Nanos, Op, Target, TargetError};
use shingle_testbed::{Loop, root_or_skip};
use tempfile::TempDir;

const BLOCKS: u64 = (256 << 20) / 4096;

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    File::create(&path).and_then(|file| file.set_len(BLOCKS * 4096)).expect("made");
    (folder, path)
}

fn disk(path: &Path, interrupted: &Arc<AtomicBool>) -> Disk {
    Disk::new(allow(path, None).expect("nothing to lose"), 1, Arc::clone(interrupted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn what_is_written_is_there_and_nothing_else(
        writes in prop::collection::vec((0..400_u64, 1..40_u64, any::<bool>()), 1..40),
        depth in 1..9_usize,
    ) {
        let (_folder, path) = file();
        let mut disk = disk(&path, &Arc::default());
        let mut ios: Vec<Io> = writes.iter().map(|&(block, count, write)| {
            io(if write { Op::Write } else { Op::Read }, block, count)
        }).collect();
        ios.push(io(Op::Flush, 0, 0));
        let before = disk.now();
        let seen = run(&mut disk, depth, &ios).expect("done");
        let mut numbers: Vec<u64> = seen.iter().map(|done| done.number).collect();
        if depth == 1 {
            prop_assert!(numbers.is_sorted());
        }
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..ios.len() as u64).collect::<Vec<_>>());
        for done in &seen {
            prop_assert!(before <= done.begun && done.begun <= done.done && done.done <= disk.now());
        }
        drop(disk);
        let written = |block: u64| {
            writes.iter().any(|&(first, count, write)| write && (first..first + count).contains(&block))
        };
        let mut found = BTreeMap::new();
        for (place, bytes) in content(&path) {
            for (block, bytes) in (place / 4096..).zip(bytes.chunks(4096)) {
                if bytes != [0; 4096] {
                    prop_assert!(written(block), "block {}", block);
                    prop_assert_eq!(found.insert(bytes.to_vec(), block), None, "two alike");
                }
            }
        }
        let count = (0..BLOCKS).filter(|&block| written(block)).count();
        prop_assert_eq!(found.len(), count);
        // It may be probed again: a probe's own data is not protected.
        allow(&path, None).expect("nothing to lose");
    }
}

#[test]
fn a_run_ends_when_it_is_broken_or_interrupted() {
    let (_folder, path) = file();
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut disk = disk(&path, &interrupted);
    for depth in [1, 4] {
        let (mut asked, mut seen) = (0, 0);
        let mut next = || {
            asked += 1;
            Some(io(Op::Write, asked % BLOCKS, 1))
        };
        let ended = disk.run(depth, &mut next, &mut |_| {
            seen += 1;
            if seen < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        ended.expect("no failure");
        assert_eq!(asked, seen, "I/O that was under way is seen too");
        assert!((10..10 + depth as u64).contains(&seen), "{seen} at depth {depth}");

        let (mut asked, mut seen) = (0, 0);
        let mut next = || {
            asked += 1;
            interrupted.store(asked == 10, Ordering::Relaxed);
            Some(io(Op::Read, asked, 1))
        };
        let ended = disk.run(depth, &mut next, &mut |_| {
            seen += 1;
            ControlFlow::Continue(())
        });
        assert!(matches!(ended, Err(TargetError::Interrupted)), "{ended:?}");
        assert_eq!((asked, seen), (10, 10));
        interrupted.store(false, Ordering::Relaxed);
    }
}

#[test]
fn idle_time_passes_and_is_interrupted() {
    let (_folder, path) = file();
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut disk = disk(&path, &interrupted);
    let before = disk.now();
    disk.idle(Nanos::from_millis(20)).expect("not interrupted");
    assert!(disk.now().since(before) >= Nanos::from_millis(20));
    let begun = Instant::now();
    let flag = Arc::clone(&interrupted);
    let user = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        flag.store(true, Ordering::Relaxed);
    });
    let ended = disk.idle(Nanos::from_millis(3_600_000));
    assert!(matches!(ended, Err(TargetError::Interrupted)), "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    user.join().expect("no panic");
}

#[test]
fn a_disk_that_vanishes_is_named_with_the_place() {
    for depth in [1, 3] {
        let (_folder, path) = file();
        let mut disk = disk(&path, &Arc::default());
        run(&mut disk, depth, &[io(Op::Read, 90, 8)]).expect("done");
        // Cut off the rest of the disk.
        File::options().write(true).open(&path).and_then(|f| f.set_len(100 * 4096)).expect("cut");
        let ios = [io(Op::Read, 90, 8), io(Op::Read, 96, 8), io(Op::Read, 0, 1)];
        let error = run(&mut disk, depth, &ios).expect_err("it is not there").to_string();
        let name = path.display();
        assert!(
            error.starts_with(&format!("{name}: read of 8 blocks at block 96 failed: ")),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }
    let (_folder, path) = file();
    let mut disk = disk(&path, &Arc::default());
    let error = run(&mut disk, 1, &[io(Op::Trim, 0, 8)]).expect_err("not offered").to_string();
    assert!(error.contains("trim of 8 blocks at block 0 failed"), "{error}");
}

#[test]
fn blocks_that_random_bytes_are_written_to_look_like_nothing_else() {
    let (_folder, path) = file();
    let mut disk = disk(&path, &Arc::default());
    run(&mut disk, 1, &[io(Op::Write, 0, 32)]).expect("done");
    drop(disk);
    // Even if random bytes look like a signature.
    let file = File::options().write(true).open(&path).expect("opened");
    file.write_all_at(&[0x55, 0xaa], 0x1fe).expect("written");
    allow(&path, None).expect("nothing to lose");
}

/// The medium of a device disappears between runs.
#[test]
fn a_device_that_fails_is_named_with_the_place() {
    if !root_or_skip("a device that fails") {
        return;
    }
    let (_folder, path) = file();
    let device = Loop::new(&path, &[]).expect("made");
    let mut disk = disk(device.path(), &Arc::default());
    let facts = (disk.facts().serial.clone(), disk.facts().blocks);
    assert_eq!(facts, (device.name().to_owned(), BLOCKS));
    let ios: Vec<Io> = (0..50).map(|n| io(Op::Write, 1000 * n, 256)).collect();
    let written = run(&mut disk, 4, &ios);
    File::options().write(true).open(&path).and_then(|f| f.set_len(100 * 4096)).expect("cut");
    let read = run(&mut disk, 4, &[io(Op::Read, 0, 8), io(Op::Read, 20_000, 8)]);
    drop(disk);
    assert_eq!(written.expect("written").len(), 50);
    let error = read.expect_err("it is not there").to_string();
    let name = device.path().display();
    assert!(
        error.starts_with(&format!("{name}: read of 8 blocks at block 20000 failed: ")),
        "{error}"
    );
}
