//! An estimate of what the disk's buffer holds, from what the host has sent.
//!
//! A drive-managed disk first cleans the band with the oldest data, with all that the buffer holds
//! of that band. So the zones with data in the buffer form a queue: a zone enters with its first
//! write and leaves when it is cleaned. The host does not see the cleaning. It assumes that the
//! oldest zone is cleaned when there is no more room. Zones are not bands, and overwritten data is
//! not detected, so this is an estimate.
//!
//! An error to one side is expensive. What is sent of a zone that seems to be in the buffer, but
//! was cleaned, costs a whole cleaning, however little it is. So for a disk that may clean two bands
//! at a time zones leave the queue early ([`SentZones::cleans_two`]).

use crate::parts::{ByZone, Links, List, ZoneIndex};

/// What was sent of a zone since its last cleaning.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Runs of neighbouring blocks: entries of the disk's map.
    runs: u32,
    blocks: u32,
    /// Access at which the first of it was sent.
    since: u32,
    /// Place of the first block in the log: blocks sent before it, modulo 2^32.
    from: u32,
}

/// The zones in the buffer, oldest at the tail.
#[derive(Clone, Debug)]
pub struct SentZones {
    sent: ByZone<Sent>,
    links: Links,
    queue: List,
    /// Zones below this index have been allocated for.
    met: u32,
    runs: u64,
    blocks: u64,
    /// Blocks sent so far, modulo 2^32.
    end: u32,
    runs_max: u64,
    blocks_max: u64,
    /// How long a zone stayed, in accesses, as a moving average; 0 before the first cleaning.
    stay: f32,
    /// Whether the disk may clean two bands at a time.
    cleans_two: bool,
    /// The zones before and behind each zone, as far as they are met: their indices and 1.
    beside: ByZone<[u32; 2]>,
}

impl SentZones {
    /// Creates the estimate for an empty buffer of `runs_max` map entries and `blocks_max` blocks.
    #[must_use]
    pub fn new(runs_max: u64, blocks_max: u64) -> SentZones {
        SentZones {
            sent: ByZone::new(),
            links: Links::new(0),
            queue: List::default(),
            met: 0,
            runs: 0,
            blocks: 0,
            end: 0,
            runs_max,
            blocks_max,
            stay: 0.0,
            cleans_two: false,
            beside: ByZone::new(),
        }
    }

    /// For a disk that may clean two bands when its buffer is full: a zone leaves the queue when
    /// there is no room for as much as the two oldest zones have, or for a quarter of the buffer.
    #[must_use]
    pub fn cleans_two(self) -> SentZones {
        SentZones { cleans_two: true, ..self }
    }

    /// Returns whether the buffer takes `runs` and `blocks` more before the disk cleans a zone.
    #[must_use]
    pub fn fits(&self, runs: u64, blocks: u64) -> bool {
        let (early_runs, early_blocks) = self.early();
        self.runs + runs + early_runs <= self.runs_max
            && self.log_used() + blocks + early_blocks <= self.blocks_max
    }

    /// Returns the runs and blocks that have to be free so that no zone leaves the queue.
    fn early(&self) -> (u64, u64) {
        let mut oldest = self.queue.from_tail(&self.links).map(|zone| self.sent[ZoneIndex(zone)]);
        let three = (oldest.next(), oldest.next(), oldest.next());
        let (true, (Some(first), Some(second), Some(third))) = (self.cleans_two, three) else {
            return (0, 0);
        };
        let runs = u64::from(first.runs) + u64::from(second.runs);
        let blocks = u64::from(third.from.wrapping_sub(first.from));
        (runs.min(self.runs_max / 4), blocks.min(self.blocks_max / 4))
    }

    /// Returns the blocks of log from the oldest data to the newest. Room between them is not
    /// reused.
    fn log_used(&self) -> u64 {
        self.queue
            .tail()
            .map_or(0, |oldest| u64::from(self.end.wrapping_sub(self.sent[ZoneIndex(oldest)].from)))
    }

    /// Returns the zone that is cleaned next.
    #[must_use]
    pub fn oldest(&self) -> Option<ZoneIndex> {
        self.queue.tail().map(ZoneIndex)
    }

    /// Returns the map entries and blocks of log that may be sent before something is cleaned.
    #[must_use]
    pub fn free(&self) -> (u64, u64) {
        (self.runs_max.saturating_sub(self.runs), self.blocks_max.saturating_sub(self.log_used()))
    }

    /// Notes that `zone` lies behind `before` and before `behind`; `None` for one that is not met.
    pub fn meet(&mut self, zone: ZoneIndex, before: Option<ZoneIndex>, behind: Option<ZoneIndex>) {
        for (side, other) in [before, behind].into_iter().enumerate() {
            let Some(other) = other else { continue };
            self.beside[zone][side] = other.0 + 1;
            self.beside[other][1 - side] = zone.0 + 1;
        }
    }

    /// Returns how many of the zones before and behind `zone` have data in the buffer.
    #[must_use]
    pub fn held_beside(&self, zone: ZoneIndex) -> u32 {
        let met = self.beside[zone].into_iter().filter(|&other| other > 0);
        met.map(|other| u32::from(self.holds(ZoneIndex(other - 1)))).sum()
    }

    /// Allocates for `zone`, so that [`SentZones::send`] need not.
    pub fn reserve(&mut self, zone: ZoneIndex) {
        if zone.0 >= self.met {
            self.met = zone.0 + 1;
            self.sent[zone] = Sent::default();
            self.queue.push_head(&mut self.links, zone.0);
            self.queue.unlink(&mut self.links, zone.0);
        }
    }

    /// Notes that `runs` and `blocks` of `zone` were sent at `now`. If they do not fit, zones are
    /// cleaned first.
    pub fn send(&mut self, zone: ZoneIndex, runs: u32, blocks: u32, now: u32) {
        self.reserve(zone);
        while let Some(oldest) = self.oldest().filter(|_| !self.fits(runs.into(), blocks.into())) {
            let stayed = now.wrapping_sub(self.sent[oldest].since) as f32;
            self.stay =
                if self.stay == 0.0 { stayed } else { self.stay + (stayed - self.stay) / 16.0 };
            self.clean(oldest);
        }
        let sent = &mut self.sent[zone];
        if sent.blocks == 0 {
            self.queue.push_head(&mut self.links, zone.0);
            (sent.since, sent.from) = (now, self.end);
        }
        sent.runs += runs;
        sent.blocks += blocks;
        self.runs += u64::from(runs);
        self.blocks += u64::from(blocks);
        self.end = self.end.wrapping_add(blocks);
    }

    /// Notes that `zone` was cleaned: all its data is in place.
    pub fn clean(&mut self, zone: ZoneIndex) {
        let sent = core::mem::take(&mut self.sent[zone]);
        if sent.blocks > 0 {
            self.queue.unlink(&mut self.links, zone.0);
            self.runs -= u64::from(sent.runs);
            self.blocks -= u64::from(sent.blocks);
        }
    }

    /// Returns for about how many accesses a zone stays in the buffer. Before the first cleaning:
    /// the time to fill the buffer at the rate so far.
    #[must_use]
    pub fn expected_stay(&self, now: u32) -> f32 {
        if self.stay > 0.0 { self.stay } else { now as f32 / self.filled() }
    }

    /// Returns the part of the buffer that is in use.
    fn filled(&self) -> f32 {
        let runs = self.runs as f32 / self.runs_max as f32;
        runs.max(self.blocks as f32 / self.blocks_max as f32)
    }

    /// As [`SentZones::expected_stay`], for a zone that would be sent now. If less is sent than
    /// before, it is longer than zones have stayed so far: as long as what is sent at the present
    /// rate takes to fill the buffer.
    #[must_use]
    pub fn would_stay(&self, now: u32) -> f32 {
        let oldest = self.oldest().map(|oldest| now.wrapping_sub(self.sent[oldest].since));
        let fills_in = oldest.map_or(0.0, |age| age as f32 / self.filled().min(1.0));
        self.expected_stay(now).max(fills_in)
    }

    /// Returns whether the buffer holds data of `zone`.
    #[must_use]
    pub fn holds(&self, zone: ZoneIndex) -> bool {
        self.sent[zone].blocks > 0
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.sent.bytes() + self.links.bytes() + self.beside.bytes()
    }

    /// Panics unless counts and queue agree.
    pub fn check(&self) {
        self.queue.check(&self.links);
        let held = self.sent.iter().filter(|(_, sent)| sent.blocks > 0);
        let (count, runs, blocks) = held.fold((0, 0, 0), |(count, runs, blocks), (_, sent)| {
            (count + 1, runs + u64::from(sent.runs), blocks + u64::from(sent.blocks))
        });
        assert_eq!((count, runs, blocks), (self.queue.len(), self.runs, self.blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_sent_first_is_cleaned_first_with_all_of_it() {
        let zone = ZoneIndex;
        let mut buffer = SentZones::new(10, 100);
        buffer.send(zone(3), 4, 4, 10);
        assert_eq!(buffer.expected_stay(20), 50.0, "four of ten entries in 20 accesses");
        buffer.send(zone(1), 4, 40, 20);
        buffer.send(zone(3), 1, 1, 30);
        assert_eq!(buffer.oldest(), Some(zone(3)));
        assert!(buffer.fits(1, 1));
        assert!(!buffer.fits(2, 2), "entries are used up");
        assert!(!buffer.fits(1, 56), "blocks are");
        buffer.send(zone(2), 2, 2, 40);
        assert_eq!(buffer.expected_stay(50), 30.0);
        assert!(!buffer.holds(zone(3)) && buffer.holds(zone(1)));
        buffer.check();
        buffer.send(zone(4), 20, 20, 50);
        assert!(buffer.holds(zone(4)) && !buffer.holds(zone(2)), "more than fits alone");
        buffer.check();
    }

    #[test]
    fn where_two_bands_are_cleaned_at_a_time_zones_leave_before_the_buffer_is_full() {
        let mut buffer = SentZones::new(20, 100).cleans_two();
        for (zone, runs) in [(0, 2), (1, 1), (2, 4), (3, 8)] {
            buffer.send(ZoneIndex(zone), runs, runs, 0);
        }
        assert!(buffer.fits(2, 2), "with the 3 of the two oldest zones the buffer is full");
        assert!(!buffer.fits(3, 3));
        buffer.send(ZoneIndex(4), 3, 3, 0);
        let held = [0, 1, 2, 3, 4].map(|zone| buffer.holds(ZoneIndex(zone)));
        assert_eq!(
            held,
            [false, false, true, true, true],
            "16 and 5 are too many without the first"
        );
        assert!(buffer.fits(0, 0), "a quarter of the buffer is less than the 12 of the oldest");
        assert!(!buffer.fits(1, 1));
        buffer.check();
    }

    #[test]
    fn where_less_is_sent_than_before_a_zone_would_stay_longer() {
        let zone = ZoneIndex;
        let mut buffer = SentZones::new(10, 100);
        buffer.send(zone(0), 5, 5, 0);
        buffer.send(zone(1), 5, 5, 10);
        buffer.send(zone(2), 2, 2, 20);
        assert_eq!(buffer.expected_stay(30), 20.0, "the first one stayed for so long");
        assert_eq!(buffer.would_stay(20), 20.0, "7 of 10 entries in 10 accesses would be 14");
        buffer.clean(zone(1));
        assert_eq!(buffer.would_stay(120), 500.0, "2 of 10 entries in 100 accesses");
        buffer.clean(zone(2));
        assert_eq!(buffer.would_stay(120), 20.0, "nothing is sent");
    }

    #[test]
    fn zones_know_what_the_buffer_holds_beside_them() {
        let zone = ZoneIndex;
        let mut buffer = SentZones::new(100, 100);
        buffer.meet(zone(0), None, None);
        buffer.meet(zone(1), None, Some(zone(0)));
        buffer.meet(zone(2), Some(zone(0)), None);
        buffer.send(zone(1), 1, 1, 0);
        buffer.send(zone(2), 1, 1, 0);
        assert_eq!([0, 1, 2].map(|index| buffer.held_beside(zone(index))), [2, 0, 0]);
        buffer.clean(zone(1));
        assert_eq!(buffer.held_beside(zone(0)), 1);
    }
}
