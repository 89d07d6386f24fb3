//! Measures how long a large cache takes to start and to stop. Run it with
//! `cargo test --release -p shingle-store --test all restart -- --ignored --nocapture`; it needs 1
//! GB of memory and of disk space (the cache itself is a sparse file).

use std::path::Path;
use std::time::{Duration, Instant};

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::Device;
use shingle_engine::Config;
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::table::{ENTRIES, Entry, TablePage};
use shingle_engine::format::{Page, State, superblock::Superblock};
use shingle_store::backend::Ready;
use shingle_store::store::create::destroy;
use shingle_store::store::format::{NewCache, format};
use uuid::Uuid;

const UUID: [u8; 16] = *b"a cache for test";

/// 8 million slots.
const SLOTS: u64 = 8 << 20;
const DISK_BYTES: u64 = 1 << 40;

/// A full cache with one of four blocks dirty, scattered over the disk, and used in 64 steps in an
/// order unrelated to their positions, as if the contents had been replaced twice. It was shut down
/// in order.
fn full_cache(ssd: &Path, disk: &Path, policy: &str, dirty: bool) -> Superblock {
    let mut ssd_bytes = SLOTS * BLOCK_BYTES;
    while Layout::for_ssd(ssd_bytes).is_none_or(|layout| layout.slots < SLOTS) {
        ssd_bytes += 64 << 20;
    }
    for (path, bytes) in [(ssd, ssd_bytes), (disk, DISK_BYTES)] {
        std::fs::File::create(path).expect("a file").set_len(bytes).expect("its size");
    }
    let (ssd, disk) = Device::open_pair(ssd, disk).expect("opened");
    let words = format!("policy={policy}\nmode=write-back\n");
    let new = NewCache { uuid: UUID, edition: 1, fingerprint: [0; 32], settings: words };
    let superblock = format(&ssd, &disk, &new).expect("a new cache");
    let layout = superblock.layout;
    let blocks = DISK_BYTES / BLOCK_BYTES;
    let entry = |frame: u64| {
        if frame >= layout.slots {
            return Entry::UNUSED;
        }
        Entry {
            // The factor is odd: no block occurs twice.
            block: Block(frame.wrapping_mul(0x9E37_79B9_7F4A_7C15) % blocks),
            state: if dirty && frame.is_multiple_of(4) { State::Dirty } else { State::Clean },
            hint: (frame.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 58) as u16,
            // Before all pages of the journal.
            sequence: 1,
            crc: 0,
        }
    };
    let page = |place: u32| {
        let first = u64::from(place) * ENTRIES as u64;
        let entries = (first..first + ENTRIES as u64).map(entry).collect();
        TablePage { place, edition: 1, entries }.encode(superblock.owner())
    };
    let places: Vec<u32> = (0..layout.table_pages as u32).collect();
    // In large pieces, one copy after the other: so they are in one piece on the SSD, as in a file
    // with space reserved for it.
    for copy in Copy::BOTH {
        for places in places.chunks(4096) {
            let pages: Vec<Page> = places.iter().map(|&place| page(place)).collect();
            let first = layout.table_page(places[0], copy);
            ssd.write(first, pages.as_flattened()).expect("written");
        }
    }
    ssd.flush().expect("flushed");
    superblock
}

/// Processor time of this thread, where the system reports it.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn timed<T>(what: &str, act: impl FnOnce() -> T) -> (T, Duration) {
    let (start, busy) = (Instant::now(), processor_time());
    let result = act();
    let (took, busy) = (start.elapsed(), processor_time() - busy);
    println!("{what}: {:.2} s, {:.2} s of them at work", took.as_secs_f64(), busy.as_secs_f64());
    (result, took)
}

#[test]
#[ignore = "takes a minute, and 1 GB"]
fn a_restart_of_eight_million_slots_takes_two_seconds() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (ssd, disk) = (folder.path().join("ssd"), folder.path().join("disk"));
    let mut longest = Duration::ZERO;
    for policy in ["lru", "sac"] {
        let slots = full_cache(&ssd, &disk, policy, true).layout.slots;
        // The cache, empty, is made meanwhile.
        let ((ready, made), opened) = timed("recovery", || {
            Ready::open_with_cache(&ssd, &disk, &Registry::default()).expect("opened")
        });
        let (_, cache) = made.expect("a policy for stores");
        let (store, started) = timed(&format!("start of {policy}"), || {
            ready.start(cache, Config::for_slots(slots)).expect("started")
        });
        let status = store.handle().status().expect("it runs");
        // (It makes some room at once.)
        assert!(status.dirty_blocks + status.clean_blocks >= slots - 4096);
        let (stopped, _) = timed("stop", || store.shut_down());
        stopped.expect("stopped");
        println!("{policy}: {:.2} s in all", (opened + started).as_secs_f64());
        longest = longest.max(opened + started);
    }
    full_cache(&ssd, &disk, "sac", false);
    let (ended, took) = timed("end of a clean cache", || {
        let (ssd, disk) = Device::open_pair(&ssd, &disk).expect("opened");
        destroy(&ssd, &disk, Uuid::from_bytes(UUID)).expect("ended");
    });
    let () = ended;
    assert!(took <= Duration::from_secs(1));
    assert!(longest <= Duration::from_secs(2));
}
