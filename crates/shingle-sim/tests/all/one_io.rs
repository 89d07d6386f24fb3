//! What becomes one disk I/O, by hand: neighbouring blocks of a request that miss; destages of an
//! eviction, sorted by address and joined where they adjoin, at most 512 KiB an I/O. And what the
//! prototypes do instead: every block by itself, in the policy's order.

use std::sync::{Arc, Mutex};

use shingle_core::params::Params;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_drive::{Counters, Description, Drive, Io, Served, Stamp};
use shingle_drive::{Settings, make, make_ssd};
use shingle_result::Pacing;
use shingle_sim::system::{Rules, System};

/// I/O as it reached the disk: operation, first block, blocks.
type Seen = Vec<(Op, u64, u64)>;

/// Notes every I/O on its way to a drive.
struct Recorded {
    drive: Box<dyn Drive>,
    seen: Arc<Mutex<Seen>>,
}

impl Drive for Recorded {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.seen.lock().expect("one thread").push((io.op, io.block.0, io.count));
        self.drive.serve(now, io, data)
    }

    fn counters(&self) -> &Counters {
        self.drive.counters()
    }

    fn description(&self) -> &Description {
        self.drive.description()
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(Recorded { drive: self.drive.copy(), seen: self.seen.clone() })
    }
}

/// A system under test, and a way to say what its disk sees.
struct Bench {
    system: System,
    seen: Arc<Mutex<Seen>>,
}

impl Bench {
    fn new(policy: &str, cache_blocks: u32, batch: &str, split: bool, pacing: Pacing) -> Bench {
        let disk = make("sac-emulator", &Settings::default()).expect("a drive");
        let registry = Registry::default();
        let entry = registry.get(policy).expect("a policy");
        let mut cache = Params::new(CACHE_PARAMS);
        cache.set("batch", batch).expect("a count");
        let description = disk.description().clone();
        let setup = Setup {
            bands: description.bands.as_ref(),
            buffer_blocks: description.buffer_blocks,
            is_log: false,
            costs: description.costs,
            ..Setup::new(cache_blocks, description.disk_blocks, &cache)
        };
        let cache = entry.make(&Params::new(entry.params), &setup).expect("a cache");
        let ssd = make_ssd("pcie-ssd", &Settings::default()).expect("an SSD");
        let seen = Arc::new(Mutex::new(Seen::new()));
        let disk: Box<dyn Drive> = Box::new(Recorded { drive: disk, seen: seen.clone() });
        let rules = Rules { pacing, split, fill_partial: true };
        Bench { system: System::new(cache, ssd, disk, rules, true), seen }
    }

    /// A request in bytes, and the disk I/O it causes.
    fn bytes(&mut self, op: Op, offset: u64, bytes: u64) -> Seen {
        self.seen.lock().expect("one thread").clear();
        self.system.request(&Request { at: self.system.finished(), offset, bytes, op });
        self.seen.lock().expect("one thread").clone()
    }

    fn blocks(&mut self, op: Op, first: u64, count: u64) -> Seen {
        self.bytes(op, Block(first).bytes(), count * BLOCK_BYTES)
    }
}

const R: Op = Op::Read;
const W: Op = Op::Write;

#[test]
fn neighbours_that_miss_are_one_read() {
    for pacing in [Pacing::Closed, Pacing::Open] {
        let mut joined = Bench::new("lru", 100, "1", false, pacing);
        assert_eq!(joined.blocks(W, 12, 1), []);
        assert_eq!(joined.blocks(R, 10, 5), [(R, 10, 2), (R, 13, 2)], "12 is cached");
        assert_eq!(joined.blocks(R, 10, 5), []);
        assert_eq!(joined.blocks(R, 15, 1), [(R, 15, 1)], "requests are never joined");
        let mut split = Bench::new("lru", 100, "1", true, pacing);
        assert_eq!(split.blocks(R, 10, 3), [(R, 10, 1), (R, 11, 1), (R, 12, 1)]);
    }
}

#[test]
fn the_rest_of_a_partly_written_block_is_read_by_itself() {
    let mut bench = Bench::new("lru", 100, "1", false, Pacing::Closed);
    assert_eq!(bench.bytes(W, 512, 2 * BLOCK_BYTES), [(R, 0, 1), (R, 2, 1)]);
    assert_eq!(bench.bytes(W, 512, 2 * BLOCK_BYTES), [], "it is all there now");
    let mut none = Bench::new("none", 0, "1", false, Pacing::Closed);
    assert_eq!(none.bytes(W, 512, 2 * BLOCK_BYTES), [(R, 0, 1), (W, 0, 2), (R, 2, 1), (W, 2, 1)]);
}

#[test]
fn destages_are_sorted_and_joined_up_to_512_kib() {
    let mut joined = Bench::new("lru", 300, "300", false, Pacing::Closed);
    // The last ones first, with a gap between 99 and 101.
    for block in (0..300).rev() {
        assert_eq!(joined.blocks(W, if block < 100 { block } else { block + 1 }, 1), []);
    }
    let all = [(W, 0, 100), (W, 101, 128), (W, 229, 72)];
    assert_eq!(joined.blocks(W, 1000, 1), all);

    let mut split = Bench::new("lru", 3, "3", true, Pacing::Closed);
    for block in [7, 5, 6] {
        assert_eq!(split.blocks(W, block, 1), []);
    }
    assert_eq!(split.blocks(R, 9, 1), [(W, 7, 1), (W, 5, 1), (W, 6, 1), (R, 9, 1)]);
}

#[test]
fn trims_reach_the_disk_in_whole_blocks_and_drop_what_is_cached() {
    let mut bench = Bench::new("lru", 10, "1", false, Pacing::Closed);
    bench.blocks(W, 4, 4);
    assert_eq!(bench.bytes(Op::Trim, 4 * BLOCK_BYTES + 1, 3 * BLOCK_BYTES), [(Op::Trim, 5, 2)]);
    assert_eq!(bench.system.cache().slots().dirty_blocks(), 2);
    assert_eq!(bench.bytes(Op::Trim, 100, 200), [], "not one whole block");
    assert_eq!(bench.bytes(Op::Flush, 0, 0), [(Op::Flush, 0, 0)], "no destage: the SSD is safe");
}
