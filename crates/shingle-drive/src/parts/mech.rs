//! Arm, platter and read-ahead of a disk, in integers.
//!
//! The platter never stops: its angle is the virtual time modulo the time of a rotation. Tracks are
//! numbered over the whole disk from the outside in, heads folded in, so that a head switch is a
//! seek over one track; each track starts later than the one before it by the time that takes
//! (skew). Seek times are those of `seek.rs`. The taper is a list of rate zones, each with one track
//! size. What is not modelled: seek direction, defects, the distance of heads on one cylinder.
//!
//! Places are blocks of the medium, not of the host: a drive may lay its buffer before them.

use crate::io::Served;
use crate::parts::runs::Runs;
use crate::parts::seek::SeekValues;
use serde::Deserialize;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// The part of a sheet that describes the mechanics.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MechValues {
    pub(crate) capacity_bytes: u64,
    pub(crate) rpm: u64,
    pub(crate) track_od_bytes: u64,
    pub(crate) track_id_bytes: u64,
    pub(crate) rate_zones: u64,
    pub(crate) zone_tracks: u64,
    #[serde(flatten)]
    seek: SeekValues,
    head_switch_us: u64,
    write_settle_us: u64,
    command_us: u64,
    bus_bytes_per_us: u64,
    read_ahead_bytes: u64,
    read_segments: u64,
}

impl MechValues {
    /// Track sizes in blocks and tracks of each rate zone; the first has `reserved` tracks more.
    pub(crate) fn tracks(&self, reserved: u64) -> Vec<(u64, u64)> {
        let (od, id) = (self.track_od_bytes / BLOCK_BYTES, self.track_id_bytes / BLOCK_BYTES);
        let steps = self.rate_zones.saturating_sub(1).max(1);
        let zone = |zone: u64| {
            let blocks =
                (od * (steps - zone.min(steps)) + id * zone.min(steps) + steps / 2) / steps;
            (blocks.max(2), self.zone_tracks + if zone == 0 { reserved } else { 0 })
        };
        (0..self.rate_zones).map(zone).collect()
    }
}

/// Parameters of the mechanics besides tracks and seeks. A place is a block, or the unit in which
/// tracks are counted.
pub(crate) struct Parts {
    pub(crate) rotation: Nanos,
    pub(crate) head_switch_us: u64,
    /// Additional time before a write.
    pub(crate) settle: Nanos,
    pub(crate) command: Nanos,
    /// Time of a place over the bus.
    pub(crate) bus: Nanos,
    /// Places of read-ahead.
    pub(crate) ahead: u64,
    /// Number of read segments kept in memory.
    pub(crate) segments: u64,
}

/// Fraction bits of the time of a block.
const FRACTION: u32 = 16;

/// Seeks below this many tracks have a table entry each; longer ones are interpolated.
const NEAR: u64 = 4096;

/// Parameters of the tracks of a rate zone besides [`Runs`].
#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Time of a block under the head, with [`FRACTION`].
    block: u64,
    /// Skew: blocks by which a track starts later than the one before.
    skew: u64,
    /// Mean time of a block over many tracks, skew included, with [`FRACTION`].
    streamed: u64,
}

/// Data in the drive's memory, read or read ahead.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    from: u64,
    to: u64,
}

/// Read-ahead in progress.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    segment: usize,
    /// Next block under the head at `since`.
    from: u64,
    since: Nanos,
    /// Its end.
    limit: u64,
    rate: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Mech {
    tracks: Runs,
    rates: Vec<Rate>,
    rotation: u64,
    near: Vec<u64>,
    far: Vec<u64>,
    far_shift: u32,
    settle: u64,
    command: u64,
    bus_block: u64,
    head: u64,
    segments: Vec<Segment>,
    next_segment: usize,
    ahead: Option<Ahead>,
    ahead_blocks: u64,
}

impl Mech {
    /// Creates the mechanics of a disk of `blocks` in all, with `reserved` tracks before the rest,
    /// which are not visible to the host.
    pub(crate) fn new(values: &MechValues, reserved: u64, blocks: u64) -> Mech {
        let parts = Parts {
            rotation: Nanos((60_000_000_000 + values.rpm / 2) / values.rpm),
            head_switch_us: values.head_switch_us,
            settle: Nanos::from_micros(values.write_settle_us),
            command: Nanos::from_micros(values.command_us),
            bus: Nanos(BLOCK_BYTES * 1000 / values.bus_bytes_per_us),
            ahead: values.read_ahead_bytes / BLOCK_BYTES,
            segments: values.read_segments,
        };
        Mech::of(Runs::new(&values.tracks(reserved), blocks), &values.seek, &parts)
    }

    /// Creates the mechanics of a disk with these tracks, counted in their places.
    pub(crate) fn of(tracks: Runs, seek: &SeekValues, parts: &Parts) -> Mech {
        let (rotation, switch_us) = (parts.rotation.0, parts.head_switch_us);
        let seeks = tracks.units();
        let time = |distance| seek.time(distance, seeks, switch_us);
        let far_shift = (seeks / NEAR).next_power_of_two().trailing_zeros();
        let far = (0..=(seeks >> far_shift) + 1).map(|at| time(at << far_shift));
        let switch = seek.next_track(seeks, switch_us);
        let rates = tracks.all().iter().map(|run| {
            let skew = (switch * run.unit_blocks).div_ceil(rotation);
            let block = (rotation << FRACTION) / run.unit_blocks;
            Rate { block, skew, streamed: block * (run.unit_blocks + skew) / run.unit_blocks }
        });
        Mech {
            rates: rates.collect(),
            tracks,
            rotation,
            near: (0..NEAR).map(time).collect(),
            far: far.collect(),
            far_shift,
            settle: parts.settle.0,
            command: parts.command.0,
            bus_block: parts.bus.0,
            head: 0,
            segments: vec![Segment::default(); usize::try_from(parts.segments).unwrap_or(1)],
            next_segment: 0,
            ahead: None,
            ahead_blocks: parts.ahead,
        }
    }

    pub(crate) fn rotation(&self) -> Nanos {
        Nanos(self.rotation)
    }

    #[inline]
    pub(crate) fn track(&self, place: u64) -> u64 {
        self.tracks.place(place).unit
    }

    #[inline]
    pub(crate) fn track_blocks(&self, place: u64) -> u64 {
        self.tracks.run(self.tracks.place(place).run).unit_blocks
    }

    /// Returns the track of the head.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// Sets the track of the head, after work whose time was counted elsewhere.
    pub(crate) fn put_head(&mut self, track: u64) {
        self.head = track;
    }

    /// Returns the time of a seek over `distance` tracks.
    #[inline]
    pub(crate) fn seek(&self, distance: u64) -> Nanos {
        if let Some(&time) = self.near.get(distance as usize) {
            return Nanos(time);
        }
        let at = (distance >> self.far_shift) as usize;
        let (low, high) = (self.far[at], self.far[at + 1]);
        let part = distance & ((1 << self.far_shift) - 1);
        // Fitted curves may fall near the end, so the step has a sign.
        let low_part = low * ((1 << self.far_shift) - part);
        Nanos((low_part + high * part) >> self.far_shift)
    }

    /// Adds command processing.
    #[inline]
    pub(crate) fn command(&self, served: &mut Served) {
        served.command += Nanos(self.command);
        served.done += Nanos(self.command);
    }

    /// Adds moving `count` blocks over the bus.
    #[inline]
    pub(crate) fn bus(&self, served: &mut Served, count: u64) {
        let time = Nanos(count * self.bus_block);
        served.command += time;
        served.done += time;
    }

    /// Returns the time of `count` blocks under the head at the rate of `place`, track changes
    /// included.
    #[inline]
    pub(crate) fn streamed(&self, place: u64, count: u64) -> Nanos {
        Nanos((count * self.rates[self.tracks.place(place).run].streamed) >> FRACTION)
    }

    /// Reads from the medium, or from memory if the data is there. The command is counted
    /// separately.
    pub(crate) fn read(&mut self, served: &mut Served, place: u64, count: u64) {
        if self.read_cached(served, place, count) {
            return;
        }
        self.stop_ahead(served.done);
        let before = served.transfer;
        self.access(served, place, count, false);
        // The bus transfers data while more is read, so it takes additional time only where it is
        // slower.
        let behind = Nanos(count * self.bus_block).since(served.transfer.since(before));
        let read = served.done;
        served.command += behind;
        served.done += behind;
        let end = place + count;
        self.next_segment = (self.next_segment + 1) % self.segments.len();
        self.segments[self.next_segment] = Segment { from: place, to: end };
        self.read_on(end, read);
    }

    /// Reads from the medium for the drive's own use: nothing is kept in memory for the host.
    pub(crate) fn collect(&mut self, served: &mut Served, place: u64, count: u64) {
        self.stop_ahead(served.done);
        self.access(served, place, count, false);
    }

    pub(crate) fn write(&mut self, served: &mut Served, place: u64, count: u64) {
        self.stop_ahead(served.done);
        self.forget(place, count);
        self.access(served, place, count, true);
    }

    /// Returns the time from `now` on until the head can write at `place`.
    pub(crate) fn until_under_head(&self, now: Nanos, place: u64) -> Nanos {
        let at = self.tracks.place(place);
        let seek = self.arm(at.unit, true);
        Nanos(seek + self.wait(now.0 + seek, at.run, at.unit, at.offset))
    }

    /// Drops cached data that is about to be overwritten on the medium.
    pub(crate) fn forget(&mut self, place: u64, count: u64) {
        for segment in &mut self.segments {
            if segment.from < place + count && place < segment.to {
                *segment = Segment::default();
            }
        }
    }

    /// Ends read-ahead at `now`: the data read stays in memory, the head where it is.
    #[inline]
    pub(crate) fn stop_ahead(&mut self, now: Nanos) {
        let Some(ahead) = self.ahead.take() else { return };
        let read = (now.since(ahead.since).0 << FRACTION) / ahead.rate;
        let to = (ahead.from + read).min(ahead.limit);
        self.segments[ahead.segment].to = self.segments[ahead.segment].to.max(to);
        self.head = self.track(to.min(self.tracks.end() - 1));
    }

    /// Starts read-ahead from `from`, where the head is at `now`.
    fn read_on(&mut self, from: u64, now: Nanos) {
        let limit = (from + self.ahead_blocks).min(self.tracks.end());
        if from < limit {
            let rate = self.rates[self.tracks.place(from).run].streamed;
            self.ahead = Some(Ahead { segment: self.next_segment, from, since: now, limit, rate });
        }
    }

    /// Serves a read from memory, or waits for the read-ahead that will have it soon.
    fn read_cached(&mut self, served: &mut Served, place: u64, count: u64) -> bool {
        let end = place + count;
        if let Some(ahead) = &mut self.ahead {
            let from = self.segments[ahead.segment].from;
            let reached = ahead.from + (served.done.since(ahead.since).0 << FRACTION) / ahead.rate;
            if from <= place && place <= reached.min(ahead.limit) && end <= ahead.limit {
                let under = Nanos(((end.saturating_sub(ahead.from)) * ahead.rate) >> FRACTION);
                let wait = (ahead.since + under).since(served.done);
                served.transfer += wait;
                served.done += wait;
                ahead.limit = ahead.limit.max((end + self.ahead_blocks).min(self.tracks.end()));
                self.bus(served, count);
                return true;
            }
        }
        if self.segments.iter().any(|segment| segment.from <= place && end <= segment.to) {
            self.bus(served, count);
            return true;
        }
        false
    }

    /// Moves the arm, waits for the rotation, and passes over `count` blocks.
    fn access(&mut self, served: &mut Served, place: u64, count: u64, write: bool) {
        let mut at = self.tracks.place(place);
        let seek = self.arm(at.unit, write);
        let wait = self.wait(served.done.0 + seek, at.run, at.unit, at.offset);
        served.seek += Nanos(seek);
        served.rotation += Nanos(wait);
        let (mut left, mut switched, mut moved) = (count, 0, 0);
        // Terminates: each turn but the last reaches the end of a track.
        loop {
            let rate = self.rates[at.run];
            let here = left.min(self.tracks.run(at.run).unit_blocks - at.offset);
            moved += here * rate.block;
            left -= here;
            if left == 0 {
                break;
            }
            switched += rate.skew * rate.block;
            at = self.tracks.place(place + count - left);
        }
        let (switched, moved) = (Nanos(switched >> FRACTION), Nanos(moved >> FRACTION));
        served.seek += switched;
        served.transfer += moved;
        served.done += Nanos(seek + wait) + switched + moved;
        self.head = at.unit;
    }

    /// Returns the time to move the arm to `track` and settle.
    #[inline]
    fn arm(&self, track: u64, write: bool) -> u64 {
        if track == self.head {
            return 0;
        }
        self.seek(track.abs_diff(self.head)).0 + if write { self.settle } else { 0 }
    }

    /// Returns the time from `now` until a sector is under the head.
    #[inline]
    fn wait(&self, now: u64, run: usize, track: u64, offset: u64) -> u64 {
        let (rate, tracks) = (self.rates[run], self.tracks.run(run));
        let turned = tracks.rest_in(offset + rate.skew * (track - tracks.first_unit));
        let angle = (turned * rate.block) >> FRACTION;
        let here = now % self.rotation;
        if angle >= here { angle - here } else { angle + self.rotation - here }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rate zones of 10 tracks with 8, 6 and 4 blocks; a rotation of 8 ms; seeks of 1 ms.
    fn tiny() -> Mech {
        let values = MechValues {
            capacity_bytes: 180 * BLOCK_BYTES,
            rpm: 7500,
            track_od_bytes: 8 * BLOCK_BYTES,
            track_id_bytes: 4 * BLOCK_BYTES,
            rate_zones: 3,
            zone_tracks: 10,
            seek: SeekValues::Curve {
                seek_base_ms: 1.0,
                seek_sqrt_ms: 0.0,
                seek_linear_ms: 0.0,
                seek_short_base_ms: 0.0,
                seek_short_sqrt_ms: 0.0,
                seek_short_tracks: 0,
            },
            head_switch_us: 1000,
            write_settle_us: 500,
            command_us: 100,
            bus_bytes_per_us: 4096,
            read_ahead_bytes: 8 * BLOCK_BYTES,
            read_segments: 2,
        };
        Mech::new(&values, 0, 180)
    }

    fn begin(us: u64) -> Served {
        Served { done: Nanos::from_micros(us), ..Served::default() }
    }

    #[test]
    fn a_read_waits_for_the_sector_and_a_switch_of_track_for_the_skew() {
        let mut mech = tiny();
        // From 0.1 ms on; block 4 of track 0 comes at 4 ms, is gone at 5 ms.
        let mut served = begin(100);
        mech.read(&mut served, 4, 1);
        assert_eq!(served.rotation, Nanos::from_micros(3900));
        assert_eq!((served.done, served.transfer), (Nanos::from_millis(5), Nanos::from_millis(1)));
        // Blocks 7 and 8 lie on two tracks: a millisecond of skew between them.
        let mut mech = tiny();
        let mut served = begin(100);
        mech.read(&mut served, 7, 2);
        assert_eq!((served.seek, served.transfer), (Nanos::from_millis(1), Nanos::from_millis(2)));
        assert_eq!(served.done, Nanos::from_millis(10));
    }

    #[test]
    fn reading_on_meets_the_read_ahead() {
        let mut mech = tiny();
        let mut served = begin(100);
        mech.read(&mut served, 0, 1);
        assert_eq!(served.done, Nanos::from_millis(9));
        // Half a millisecond later the head is in block 1: the read waits for the rest of it.
        let mut next = begin(9500);
        mech.read(&mut next, 1, 1);
        assert_eq!((next.seek, next.rotation), (Nanos::ZERO, Nanos::ZERO));
        let rate = 1125; // microseconds a block, skew included
        assert_eq!(next.done, Nanos::from_micros(9000 + rate + 1));
        // Much later block 2 is in memory.
        let mut later = begin(50_000);
        mech.read(&mut later, 2, 1);
        assert_eq!(later.done, Nanos::from_micros(50_001));
    }

    #[test]
    fn spans_add_up_wherever_the_head_is() {
        let mut mech = tiny();
        let mut rng = crate::parts::rng::Rng::new(7);
        let mut now = Nanos::ZERO;
        for _ in 0..5000 {
            let start = now + Nanos(rng.below(20_000_000));
            let place = rng.below(170);
            let count = 1 + rng.below(10);
            let mut served = Served { done: start, ..Served::default() };
            if rng.below(2) == 0 {
                mech.read(&mut served, place, count);
            } else {
                let soon = mech.until_under_head(start, place);
                assert!(soon > Nanos::ZERO || mech.head() == mech.track(place));
                mech.write(&mut served, place, count);
            }
            let spans = [served.command, served.seek, served.rotation, served.transfer];
            assert_eq!(start + spans.into_iter().sum(), served.done);
            now = served.done;
        }
    }
}
