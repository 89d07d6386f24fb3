//! A cache that knows the zones of a host-aware drive, over one: Figure 3 of ROCO block by block, and
//! what must not be lost when the host resets a zone.

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request, Zone};
use shingle_drive::{Condition, ZoneInfo};
use shingle_result::Pacing;
use shingle_sim::experiment::{Assignment, Options, Trace, plan};
use shingle_sim::system::System;
use shingle_trace::Summary;

/// The blocks of Figure 3, as far into zone 0 as they are into the alphabet; the zone ends with M.
const ZONE: u64 = 13;
const A: u64 = 0;
const D: u64 = 3;
const K: u64 = 10;
const M: u64 = 12;

struct Bench(System);

impl Bench {
    /// All data is checked, by stamps.
    fn new(policy: &str, cache_blocks: u64, sets: &[(&str, &str)], pacing: Pacing) -> Bench {
        let zone_bytes = (ZONE * BLOCK_BYTES).to_string();
        let sizes = [("drive.zone_bytes", zone_bytes.as_str()), ("drive.log_zones", "4")];
        let capacity = [("drive.capacity_bytes", "1000000"), ("drive.pb", "real")];
        let sets = sizes.iter().chain(&capacity).chain(sets);
        let options = Options {
            policies: vec![policy.into()],
            drives: vec!["ha-roco".into()],
            caches: vec![format!("{cache_blocks}b")],
            sets: sets.map(|(key, value)| Assignment::new(key, value).expect("a key")).collect(),
            check: true,
            pacing,
            ..Options::default()
        };
        let requests = vec![request(0, 1, Op::Write)];
        let trace = Trace {
            name: "by hand".into(),
            format: None,
            summary: Summary::of(&requests),
            requests,
        };
        let (jobs, _) = plan(&options, &Registry::default(), &trace).expect("valid options");
        Bench(jobs[0].system().expect("it can be made"))
    }

    fn serve(&mut self, first: u64, count: u64, op: Op) {
        let at = self.0.finished();
        self.0.request(&Request { at, ..request(first, count, op) });
        assert_eq!(self.0.checked().expect("checked").1, None, "a stale read");
    }

    fn writes(&mut self, blocks: &[u64]) {
        blocks.iter().for_each(|&block| self.serve(block, 1, Op::Write));
    }

    fn zone(&self, zone: u32) -> ZoneInfo {
        let mut disk = self.0.disk().copy();
        disk.zoned().expect("host-aware").zone(Zone(zone))
    }
}

fn request(first: u64, count: u64, op: Op) -> Request {
    let (offset, bytes) = (Block(first).bytes(), count * BLOCK_BYTES);
    Request { at: Nanos::ZERO, offset, bytes, op }
}

/// Zone 0 holds A to D. Cached are A' to C', E to H, K and M. D is read from the zone, I, J and L
/// are beyond its pointer and made up; everything is written in sequence.
#[test]
fn figure_3() {
    for pacing in [Pacing::Closed, Pacing::Open] {
        // 9 of 13 blocks are cached.
        let mut bench = Bench::new("roco", 9, &[("roco.host-rmw", "0.69")], pacing);
        bench.writes(&[A, 1, 2, D]);
        // They leave in sequence for others, which leave for the disk cache.
        bench.writes(&[20, 21, 22, 23, 24, 30]);
        assert_eq!(bench.zone(0).write_pointer, 4);
        assert_eq!(bench.0.snapshot().disk.native_bytes_written, 4 * BLOCK_BYTES);
        bench.writes(&[A, 1, 2, 4, 5, 6, 7, K, M]);
        let before = bench.0.snapshot();
        assert_eq!(before.disk.native_bytes_written, 4 * BLOCK_BYTES);

        bench.writes(&[40]);
        let (after, info) = (bench.0.snapshot(), bench.zone(0));
        let (host, disk) = (after.host, after.disk);
        assert_eq!((host.host_rmw, host.host_rmw_read_blocks), (1, 4), "D, I, J and L");
        assert_eq!(disk.native_read_blocks - before.disk.native_read_blocks, 1, "D");
        assert_eq!(disk.beyond_pointer_blocks - before.disk.beyond_pointer_blocks, 3);
        assert_eq!(host.host_rmw_written_blocks, ZONE);
        assert_eq!(disk.native_bytes_written - before.disk.native_bytes_written, 13 * BLOCK_BYTES);
        assert_eq!(disk.zone_resets, 1);
        assert_eq!((info.write_pointer, info.condition), (ZONE, Condition::Full));
        assert_eq!((disk.rmw, disk.rmw_free, disk.synthesized_blocks), (0, 0, 0));
        bench.serve(A, ZONE, Op::Read);
        bench.serve(0, 50, Op::Read);
    }
}

/// The drive's disk cache may hold blocks beyond all that the SSD has: a reset would take them away,
/// so they are read and written back too.
#[test]
fn what_waits_in_the_disk_cache_survives_a_host_rmw() {
    let mut bench = Bench::new("roco", 5, &[("roco.host-rmw", "0.3")], Pacing::Closed);
    // M goes to the disk cache: its zone has been cached longest.
    bench.writes(&[M, 20, 21, 30, 31, 22]);
    let info = bench.zone(0);
    assert_eq!((info.write_pointer, info.data_end, info.non_sequential), (0, ZONE, true));
    // Four blocks of zone 0, not at its pointer, push the others out and leave by host RMW.
    bench.writes(&[1, 2, 3, 4, 40, 41]);
    let host = bench.0.snapshot().host;
    assert_eq!((host.host_rmw, host.host_rmw_read_blocks), (1, 9), "A, F to L, and M");
    assert_eq!(bench.zone(0).write_pointer, ZONE);
    bench.serve(0, 40, Op::Read);
}

/// A zone that is cached whole is reset and written, and nothing is read.
#[test]
fn a_zone_cached_whole_is_written_without_reading() {
    let mut bench = Bench::new("roco", 13, &[], Pacing::Closed);
    for _ in 0..2 {
        bench.writes(&[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        bench.writes(&[40]);
        assert_eq!(bench.zone(0).write_pointer, ZONE);
        bench.0.drain_all();
    }
    let snapshot = bench.0.snapshot();
    assert_eq!((snapshot.disk.zone_resets, snapshot.host.host_rmw), (1, 0));
    assert_eq!(snapshot.disk.read_blocks, 0);
    bench.serve(0, ZONE, Op::Read);
}

/// Cleaning in idle time moves write pointers, and the policy hears of it before it decides.
#[test]
fn the_policy_knows_what_the_drive_did_in_idle_time() {
    let sets = [("drive.idle_cleaning", "on"), ("drive.idle_delay_ms", "1000")];
    let mut bench = Bench::new("roco", 3, &sets, Pacing::Open);
    bench.writes(&[5, 20, 21]);
    bench.writes(&[20, 21, 6]); // 5 goes to the disk cache
    assert_eq!(bench.zone(0).data_end, 6);
    // A minute later the disk cache is empty and the pointer behind 5: 6 is in sequence.
    let later = Nanos(bench.0.finished().0 + 60_000_000_000);
    bench.0.request(&Request { at: later, ..request(30, 1, Op::Write) });
    assert!(bench.0.snapshot().disk.idle_clean_time > Nanos::ZERO);
    assert_eq!(bench.zone(0).write_pointer, 7);
    assert_eq!(bench.0.snapshot().disk.native_bytes_written, BLOCK_BYTES, "6, hot as any");
}
