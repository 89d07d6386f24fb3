//! I/O of SSD and disk: in flight, and done.

use std::time::{Duration, Instant};

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Device, Io, IoId, Kind};

use super::Histogram;

/// What one device has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceTotals {
    /// The times of reads, including failed ones.
    pub reads: Histogram,
    /// The times of writes, including failed ones.
    pub writes: Histogram,
    /// The times of flushes, including failed ones.
    pub flushes: Histogram,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written; on the SSD including journal and tables.
    pub written_bytes: u64,
}

impl DeviceTotals {
    pub(super) fn plus(self, other: &DeviceTotals) -> DeviceTotals {
        DeviceTotals {
            reads: self.reads.plus(&other.reads),
            writes: self.writes.plus(&other.writes),
            flushes: self.flushes.plus(&other.flushes),
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }
}

/// The I/O in flight of one device. The device is busy if the oldest is young, and stuck if it is
/// old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IosNow {
    /// The number of I/Os in flight.
    pub under_way: u64,
    /// The age of the oldest; zero if there is none.
    pub oldest_ns: u64,
}

impl IosNow {
    /// A device that works answers sooner.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// How long it has not answered, if that is long.
    #[must_use]
    pub fn unresponsive_for(&self) -> Option<Duration> {
        let oldest = Duration::from_nanos(self.oldest_ns);
        (oldest > IosNow::PATIENCE).then_some(oldest)
    }
}

/// What both devices are doing.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DevicesNow {
    /// The number of this answer of the store: a later one may arrive first.
    pub nth: u64,
    /// What SSD and disk have done since the start.
    pub totals: [DeviceTotals; 2],
    /// Their I/O in flight.
    pub now: [IosNow; 2],
    /// Blocks a second that the disk takes while it writes, over the last minute of writing; `None`
    /// if it has not written long enough.
    pub destage_rate: Option<f64>,
}

fn place(device: Device) -> usize {
    usize::from(device == Device::Disk)
}

struct UnderWay {
    device: Device,
    kind: Kind,
    since: Instant,
}

/// Measures the devices, on the store's thread.
#[derive(Default)]
pub(crate) struct Devices {
    under_way: HashMap<IoId, UnderWay>,
    totals: [DeviceTotals; 2],
    writing: Writing,
    /// How often it was asked.
    answers: u64,
}

impl Devices {
    pub(crate) fn begin(&mut self, io: &Io, now: Instant) {
        let Io { device, kind, .. } = *io;
        self.under_way.insert(io.id, UnderWay { device, kind, since: now });
        if (device, kind) == (Device::Disk, Kind::Write) {
            self.writing.begin(now);
        }
    }

    pub(crate) fn done(&mut self, id: IoId, pages: usize, went_well: bool, now: Instant) {
        let Some(UnderWay { device, kind, since }) = self.under_way.remove(&id) else { return };
        let totals = &mut self.totals[place(device)];
        let took = now.duration_since(since);
        let bytes = if went_well { (pages * PAGE_BYTES) as u64 } else { 0 };
        match kind {
            Kind::Read => {
                totals.reads.add(took);
                totals.read_bytes += bytes;
            }
            Kind::Write => {
                totals.writes.add(took);
                totals.written_bytes += bytes;
            }
            Kind::Flush => totals.flushes.add(took),
            // A trim is advice: nothing waits for it.
            Kind::Trim(_) => {}
        }
        if (device, kind) == (Device::Disk, Kind::Write) {
            let blocks = if went_well { pages } else { 0 };
            self.writing.end(blocks as u64, now);
        }
    }

    pub(crate) fn now(&mut self, now: Instant) -> DevicesNow {
        self.answers += 1;
        let mut ios = [IosNow::default(); 2];
        // Sums and maxima: the order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for UnderWay { device, since, .. } in self.under_way.values() {
            let ios = &mut ios[place(*device)];
            ios.under_way += 1;
            let age = u64::try_from(now.duration_since(*since).as_nanos()).unwrap_or(u64::MAX);
            ios.oldest_ns = ios.oldest_ns.max(age);
        }
        let (nth, destage_rate) = (self.answers, self.writing.rate());
        DevicesNow { nth, totals: self.totals, now: ios, destage_rate }
    }
}

/// The write rate of the disk, over the time in which it has blocks to write. Only about the last
/// minute of such time counts: a disk that first takes writes into a buffer becomes slower later.
#[derive(Default)]
struct Writing {
    under_way: u64,
    /// Time is counted up to here.
    counted: Option<Instant>,
    busy_s: f64,
    blocks: f64,
}

impl Writing {
    /// The time in which older values fade.
    const MEMORY_S: f64 = 60.0;
    /// With less time than this there is no rate.
    const ENOUGH_S: f64 = 0.1;

    fn begin(&mut self, now: Instant) {
        if self.under_way == 0 {
            self.counted = Some(now);
        }
        self.under_way += 1;
    }

    fn end(&mut self, blocks: u64, now: Instant) {
        self.under_way -= 1;
        let passed = self.counted.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.counted = Some(now);
        let passed = passed.as_secs_f64();
        let fades = libm::exp(-passed / Self::MEMORY_S);
        self.busy_s = self.busy_s * fades + passed;
        self.blocks = self.blocks * fades + blocks as f64;
    }

    fn rate(&self) -> Option<f64> {
        (self.busy_s >= Self::ENOUGH_S).then(|| self.blocks / self.busy_s)
    }
}

#[cfg(test)]
mod tests {
    use shingle_engine::buffer::zeroed;

    use super::*;

    fn io(id: u64, device: Device, kind: Kind, pages: usize) -> Io {
        Io { id: IoId(id), device, kind, page: 0, buffers: (0..pages).map(|_| zeroed()).collect() }
    }

    #[test]
    fn what_is_under_way_has_an_age_and_what_is_done_is_counted() {
        let (mut devices, begun) = (Devices::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        devices.begin(&io(1, Device::Disk, Kind::Write, 8), at(0));
        devices.begin(&io(2, Device::Ssd, Kind::Read, 1), at(5));
        devices.begin(&io(3, Device::Disk, Kind::Flush, 0), at(10));
        let now = devices.now(at(30)).now;
        let ios = |under_way, millis: u64| IosNow { under_way, oldest_ns: millis * 1_000_000 };
        assert_eq!(now, [ios(1, 25), ios(2, 30)]);
        devices.done(IoId(1), 8, true, at(40));
        devices.done(IoId(2), 1, false, at(41));
        devices.done(IoId(3), 0, true, at(42));
        let DevicesNow { totals: [ssd, disk], now, .. } = devices.now(at(50));
        assert_eq!(now, [IosNow::default(); 2]);
        assert_eq!((ssd.reads.count(), ssd.read_bytes), (1, 0), "it failed");
        assert_eq!((disk.writes.count(), disk.written_bytes), (1, 32_768));
        assert_eq!((disk.flushes.count(), disk.writes.sum_ns), (1, 40_000_000));
        // The completion of an unknown I/O must not panic.
        devices.done(IoId(9), 1, true, at(60));
    }

    #[test]
    fn a_rate_is_of_the_time_in_which_the_disk_writes() {
        let (mut devices, begun) = (Devices::default(), Instant::now());
        let write = |devices: &mut Devices, id, from, to| {
            let at = |millis| begun + Duration::from_millis(millis);
            devices.begin(&io(id, Device::Disk, Kind::Write, 100), at(from));
            devices.done(IoId(id), 100, true, at(to));
        };
        write(&mut devices, 1, 0, 50);
        assert_eq!(devices.now(begun).destage_rate, None, "too little to tell");
        // An idle hour does not count.
        write(&mut devices, 2, 3_600_000, 3_600_050);
        write(&mut devices, 3, 7_200_000, 7_200_050);
        let rate = devices.now(begun).destage_rate.expect("enough");
        assert!((rate - 2_000.0).abs() < 5.0, "{rate}");
        // From here on the disk is ten times slower.
        for id in 0..600 {
            let from = 8_000_000 + id * 1_000;
            write(&mut devices, 10 + id, from, from + 500);
        }
        let rate = devices.now(begun).destage_rate.expect("enough");
        assert!((rate - 200.0).abs() < 20.0, "{rate}");
    }
}
