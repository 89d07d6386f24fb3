//! Devices that change while a client reads and writes.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Writes and reads back until `stop` is set; returns the contents of its blocks.
fn busy(bed: &Bed, stop: &AtomicBool) -> Vec<(u64, u8)> {
    let mut client = bed.client();
    let mut held = vec![0_u8; 400];
    let mut n = 0_u64;
    while !stop.load(Ordering::Relaxed) || n < 2_000 {
        let at = (n * 7919 % 400) as usize;
        let value = (n % 251) as u8;
        write(&mut client, at as u64 * 40_960, &[value; 4096]);
        held[at] = value;
        let other = (n * 31 % 400) as usize;
        assert_eq!(
            read(&mut client, other as u64 * 40_960, 4096),
            [held[other]; 4096],
            "block {other}"
        );
        n += 1;
    }
    client.flush().expect("connected").expect("flushed");
    client.disconnect().expect("connected");
    held.into_iter().enumerate().map(|(at, value)| (at as u64 * 40_960, value)).collect()
}

fn resize(bed: &Bed, name: &str, bytes: u64) {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(bed.path(name));
    file.and_then(|file| file.set_len(bytes)).expect("resized");
}

fn replace(bed: &Bed, with: &str) -> Answer {
    let with = bed.path(with);
    bed.ask(&Request::Replace { with, destroy: vec![], overwrite: false, accept_lost: false })
}

#[test]
fn an_ssd_is_replaced_and_devices_grow_under_a_client_that_verifies() {
    let bed = Bed::new();
    let serving = bed.serve();
    let before = bed.status();
    let stop = AtomicBool::new(false);
    let held = std::thread::scope(|scope| {
        let client = scope.spawn(|| busy(&bed, &stop));
        while bed.status().dirty_blocks == 0 {}
        resize(&bed, "other", 40 * MIB);
        assert!(
            matches!(replace(&bed, "other"), Answer::Said(of) if of.contains("from now on name"))
        );
        let status = bed.status();
        assert!(status.ssd.ends_with("other") && status.slots > before.slots, "{status:?}");
        assert_eq!(status.ssd_state, "in");
        // Both grow.
        assert!(matches!(bed.ask(&Request::Grow), Answer::Failed(why) if why.contains("larger")));
        resize(&bed, "other", 64 * MIB);
        resize(&bed, "disk", 96 * MIB);
        assert!(matches!(bed.ask(&Request::Grow), Answer::Said(_)));
        let grown = bed.status();
        assert!(grown.slots > status.slots && grown.disk_bytes == 96 * MIB, "{grown:?}");
        stop.store(true, Ordering::Relaxed);
        client.join().expect("what is read is what was written")
    });
    // A new client sees the whole disk, and blocks beyond its old end are cached.
    let mut client = bed.client();
    assert_eq!(client.size_bytes(), 96 * MIB);
    write(&mut client, 95 * MIB, b"beyond");
    client.flush().expect("connected").expect("flushed");
    client.disconnect().expect("connected");
    bed.stop(serving);
    // The old SSD is no longer a cache, and the new one works after a restart.
    let gone = unserved::superblock(&bed.path("ssd")).expect_err("moved").to_string();
    assert!(gone.contains("moved to") && gone.contains("/other by"), "{gone}");
    std::fs::rename(bed.path("other"), bed.path("ssd")).expect("renamed");
    let serving = bed.serve();
    let mut client = bed.client();
    assert_eq!(read(&mut client, 95 * MIB, 6), b"beyond");
    for (offset, value) in held {
        assert_eq!(read(&mut client, offset, 4096), [value; 4096], "at {offset}");
    }
    client.disconnect().expect("connected");
    bed.stop(serving);
    bed.detach(false).expect("to the disk");
    assert_eq!(bed.disk(95 * MIB, 6), b"beyond");
}

/// A crash leaves the old SSD or the new one, and the next start may read either.
#[test]
fn what_is_set_while_an_ssd_is_exchanged_is_on_the_one_that_a_crash_leaves() {
    if !root_or_skip("a disk that takes no writes") {
        return;
    }
    let bed = Bed::new();
    let disk = Loop::new(&bed.path("disk"), &[]).expect("made");
    let writes = |how: &str| run("blockdev", &[how, text(disk.path())]).expect("it is a device");
    let mut options = bed.options(false);
    options.caches[0].disk = disk.path().to_owned();
    let serving = Serving::start(options, &Registry::default(), |_| {}).expect("it is served");
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    let mut client = bed.client();
    write(&mut client, 0, b"dirty");
    client.disconnect().expect("connected");
    resize(&bed, "other", 24 * MIB);
    writes("--setro");
    let is_on = |ssd: &str, what: &str| {
        let found = unserved::superblock(&bed.path(ssd)).ok().flatten();
        found.map(|found| found.settings.lines().any(|line| line == what))
    };
    std::thread::scope(|scope| {
        let exchange = scope.spawn(|| replace(&bed, "other"));
        while bed.status().ssd_state != "leaving" {}
        for batch in 2..20 {
            let what = format!("cache.batch={batch}");
            assert_eq!(bed.ask(&Request::Set { what: vec![what.clone()] }), Answer::Done(()));
            assert_eq!(is_on("ssd", &what), Some(true), "{what}");
        }
        writes("--setrw");
        while !exchange.is_finished() {
            assert_ne!(is_on("other", "cache.batch=19"), Some(false), "it may be used by now");
        }
        assert!(matches!(exchange.join().expect("no panic"), Answer::Said(_)));
    });
    bed.stop(serving);
}

/// The old SSD is invalidated at the same moment at which the grown one becomes valid.
#[test]
fn an_ssd_that_grows_knows_its_zoned_disk_at_any_moment() {
    let bed = Bed::over_zoned();
    let serving = bed.serve();
    let name = || {
        let found = unserved::superblock(&bed.path("ssd")).ok().flatten();
        found.map(|found| (found.edition, found.fingerprint[..16].to_vec()))
    };
    let (first, known) = name().expect("it is served");
    assert_ne!(known, [0; 16]);
    resize(&bed, "ssd", 256 * MIB);
    std::thread::scope(|scope| {
        let grown = scope.spawn(|| bed.ask(&Request::Grow));
        while !grown.is_finished() {
            // (A page may be read while it is written.)
            let now = name().unwrap_or_else(|| (first, known.clone()));
            assert_eq!(now.1, known, "edition {}, {first} was before", now.0);
        }
        assert!(matches!(grown.join().expect("no panic"), Answer::Said(_)));
    });
    bed.stop(serving);
}

/// A size that the file system has in memory only is lost in a power cut.
#[test]
fn a_disk_that_has_grown_is_as_large_after_a_power_cut() {
    if !root_or_skip("a file system that loses what was not flushed") {
        return;
    }
    let bed = Bed::new();
    resize(&bed, "image", 256 * MIB);
    run("mkfs.ext4", &["-qF", text(&bed.path("image"))]).expect("made");
    let mounted = |image: &str| {
        std::fs::create_dir_all(bed.path("mounted")).expect("made");
        Mount::new(&bed.path(image), &bed.path("mounted"), Some("loop")).expect("mounted")
    };
    let before = mounted("image");
    resize(&bed, "mounted/disk", 64 * MIB);
    run("sync", &["-f", text(&bed.path("mounted/disk"))]).expect("flushed");
    let mut options = bed.options(false);
    options.caches[0].disk = bed.path("mounted/disk");
    let serving = Serving::start(options, &Registry::default(), |_| {}).expect("it is served");
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    resize(&bed, "mounted/disk", 96 * MIB);
    assert!(matches!(bed.ask(&Request::Grow), Answer::Said(_)));
    std::fs::copy(bed.path("image"), bed.path("cut")).expect("copied");
    bed.stop(serving);
    before.unmount().expect("not in use");
    let after = mounted("cut");
    let disk = std::fs::metadata(bed.path("mounted/disk")).expect("there");
    assert_eq!(disk.len(), 96 * MIB);
    after.unmount().expect("not in use");
}

#[test]
fn what_cannot_take_the_place_of_an_ssd_is_refused_and_nothing_changes() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    write(&mut client, 0, b"kept");
    let failed = |with: &str| match replace(&bed, with) {
        Answer::Failed(why) => why,
        other => panic!("{with}: {other:?}"),
    };
    assert!(failed("disk").contains("this very store"));
    assert!(failed("ssd").contains("this very store"));
    resize(&bed, "small", MIB);
    assert!(failed("small").contains("too small"));
    // A cache of others, with dirty data.
    let another = Bed::new();
    let others = another.serve();
    let mut theirs = another.client();
    write(&mut theirs, 0, b"theirs");
    theirs.flush().expect("connected").expect("flushed");
    theirs.disconnect().expect("connected");
    another.stop(others);
    std::fs::copy(another.path("ssd"), bed.path("occupied")).expect("copied");
    assert!(failed("occupied").contains("--destroy"));
    let theirs = another.path("disk");
    if Mark::of(&another.devices().1).expect("told").is_some() {
        assert!(failed(theirs.to_str().expect("text")).contains("is the disk of cache"));
    }
    let status = bed.status();
    assert!(
        status.ssd_state == "in" && status.dirty_blocks + status.clean_blocks == 1,
        "{status:?}"
    );
    assert_eq!(read(&mut client, 0, 4), b"kept");
    client.disconnect().expect("connected");
    bed.stop(serving);
}

#[test]
fn a_disk_that_was_made_larger_is_served_as_it_was() {
    let bed = Bed::new();
    bed.stop(bed.serve());
    resize(&bed, "disk", 80 * MIB);
    {
        let (ssd, disk) = bed.devices();
        let found = check(&ssd, Some(&disk), &mut |_, _| {}).expect("read");
        assert!(found.is_sound() && found.disk_changed() == Some(false), "{found:?}");
    }
    let (to, told) = std::sync::mpsc::channel();
    let tell = move |notice: Notice| drop(to.send(notice.to_string()));
    let serving = Serving::start(bed.options(false), &Registry::default(), tell).expect("served");
    let line = told.recv().expect("a line");
    assert!(line.contains("of 80 MiB only 64 MiB are used"), "{line}");
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    let client = bed.client();
    assert_eq!(client.size_bytes(), 64 * MIB);
    client.disconnect().expect("connected");
    bed.stop(serving);
    // A smaller one is refused.
    resize(&bed, "disk", 32 * MIB);
    let error = bed.try_serve(false).map(drop).expect_err("smaller").to_string();
    assert!(error.contains("is it the right one?"), "{error}");
}

#[test]
fn a_device_that_shrank_is_named_by_who_wants_to_grow() {
    let bed = Bed::new();
    let serving = bed.serve();
    let ssd_bytes = std::fs::metadata(bed.path("ssd")).expect("there").len();
    for (name, bytes, told) in [
        ("disk", 64 * MIB, "/disk: it has shrunk: it has 63 MiB, and 64 MiB of it are used"),
        ("ssd", ssd_bytes, "/ssd: it has shrunk: it has "),
    ] {
        resize(&bed, name, bytes - MIB);
        let failed = bed.ask(&Request::Grow);
        assert!(matches!(&failed, Answer::Failed(why) if why.contains(told)), "{failed:?}");
        resize(&bed, name, bytes);
    }
    assert!(matches!(bed.ask(&Request::Grow), Answer::Failed(why) if why.contains("larger")));
    bed.stop(serving);
}

/// Each observer takes as long as it needs, and none ends another.
#[test]
fn several_look_on_at_requests_at_a_time() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    let look_on = |begun: std::sync::mpsc::Sender<()>| {
        let each = &mut |requests: &[shingle_core::units::Request], _| {
            let _ = begun.send(());
            requests.is_empty()
        };
        watch::watch(&bed.path("control"), each).map_err(|error| error.to_string())
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3)
            .map(|_| {
                let (begun, begins) = std::sync::mpsc::channel();
                let looks_on = scope.spawn(|| look_on(begun));
                begins.recv().expect("it looks on");
                looks_on
            })
            .collect();
        while !all.iter().all(|looks_on| looks_on.is_finished()) {
            write(&mut client, 0, b"seen");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        all.into_iter().for_each(|looks_on| assert_eq!(looks_on.join().expect("no panic"), Ok(())));
    });
    client.disconnect().expect("connected");
    bed.stop(serving);
}

#[test]
fn limits_are_set_and_kept() {
    let bed = Bed::new();
    let serving = bed.serve();
    let what = |text: &str| vec![text.to_owned()];
    let night = Request::Set { what: what("limit.hours=22-6") };
    assert_eq!(bed.ask(&night), Answer::Done(()));
    let slow = Request::Set { what: what("limit.destage=8KiB") };
    assert!(matches!(bed.ask(&slow), Answer::Failed(why) if why.contains("64KiB")));
    bed.stop(serving);
    let serving = bed.serve();
    assert_eq!(bed.status().settings["limit.hours"], "22-6");
    bed.stop(serving);
}

/// Its file opens normally, but all writes fail.
#[test]
fn an_ssd_that_takes_no_writes_is_found_before_the_old_one_leaves() {
    use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
    use rustix::fs::{fallocate, fcntl_add_seals, memfd_create};
    use std::os::fd::AsRawFd;

    let sealed = memfd_create("sealed", MemfdFlags::ALLOW_SEALING).expect("a file in memory");
    fallocate(&sealed, FallocateFlags::empty(), 0, 24 * MIB).expect("with room");
    fcntl_add_seals(&sealed, SealFlags::WRITE).expect("sealed");
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), MIB, b"kept");
    let answer = replace(&bed, &format!("/proc/self/fd/{}", sealed.as_raw_fd()));
    let Answer::Failed(why) = answer else { panic!("{answer:?}") };
    assert!(why.contains("cannot write to") && !why.contains("out"), "{why}");
    let status = bed.status();
    let cached = status.dirty_blocks + status.clean_blocks;
    assert_eq!((status.ssd_state.as_str(), cached), ("in", 1), "the old one stays as it was");
    bed.stop(serving);
}

/// Lost data on the SSD keeps it in use; the disk had grown before.
#[test]
fn a_disk_that_has_grown_is_told_though_the_ssd_has_not() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    write(&mut client, MIB, &[0xA5; 4096]);
    client.flush().expect("connected").expect("flushed");
    let ssd = std::fs::read(bed.path("ssd")).expect("read");
    let at = ssd.chunks(4096).position(|page| page == [0xA5; 4096]).expect("it is dirty");
    let file = OpenOptions::new().write(true).open(bed.path("ssd")).expect("there");
    file.write_all_at(&[0; 4096], at as u64 * 4096).expect("damaged");
    resize(&bed, "ssd", 40 * MIB);
    resize(&bed, "disk", 96 * MIB);
    let answer = bed.ask(&Request::Grow);
    let Answer::Failed(why) = answer else { panic!("{answer:?}") };
    assert!(why.contains("1 dirty blocks is lost"), "{why}");
    assert!(why.contains("the disk has 96 MiB now"), "{why}");
    write(&mut client, MIB, &[7; 4096]);
    client.disconnect().expect("connected");
    bed.stop(serving);
}

/// The SSD that is used instead has the same edition: nothing else would distinguish them.
#[test]
fn an_ssd_that_was_made_and_not_used_is_no_cache() {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr};

    let bed = Bed::new();
    let serving = bed.serve();
    let disk = File::open(bed.path("disk")).expect("there");
    // Other attributes use all the space for attributes, if it is limited.
    if fremovexattr(&disk, "user.shingle").is_err() {
        return println!("SKIPPED: this file system keeps no attributes of users");
    }
    let set = |name: &str, bytes| fsetxattr(&disk, name, &vec![1; bytes], XattrFlags::empty());
    let name = |bytes, number| format!("user.f{bytes}.{number}");
    let full = [1000, 100, 10, 0]
        .map(|bytes| (0..100).any(|number| set(&name(bytes, number), bytes).is_err()));
    if full != [true; 4] {
        return println!("SKIPPED: attributes have no limit here");
    }
    resize(&bed, "first", 24 * MIB);
    resize(&bed, "second", 24 * MIB);
    let Answer::Failed(why) = replace(&bed, "first") else { panic!("the disk takes no mark") };
    assert!(why.contains("cannot mark") && !why.contains("--trust-disk"), "{why}");
    assert_eq!(unserved::superblock(&bed.path("first")).expect("read"), None);
    let _ = fremovexattr(&disk, name(100, 0).as_str());
    assert!(matches!(replace(&bed, "second"), Answer::Said(_)));
    bed.stop(serving);
}
