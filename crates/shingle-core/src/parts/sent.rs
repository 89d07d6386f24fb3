//! An estimate of what the disk's buffer holds, from what the host has sent.
//!
//! A drive-managed disk first cleans the band with the oldest data, with all that the buffer holds
//! of that band. So the zones with data in the buffer form a queue: a zone enters with its first
//! write and leaves when it is cleaned. The host does not see the cleaning. It assumes that the
//! oldest zone is cleaned when there is no more room. Zones are not bands, and overwritten data is
//! not detected, so this is an estimate.

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
        }
    }

    /// Returns the zone that the disk cleans before it takes `runs` and `blocks` more; `None` if
    /// there is room for them.
    #[must_use]
    pub fn cleaned_first(&self, runs: u32, blocks: u32) -> Option<ZoneIndex> {
        let fits = self.runs + u64::from(runs) <= self.runs_max
            && self.log_used() + u64::from(blocks) <= self.blocks_max;
        self.queue.tail().filter(|_| !fits).map(ZoneIndex)
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
        while let Some(oldest) = self.cleaned_first(runs, blocks) {
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
        let part = (self.runs as f32 / self.runs_max as f32)
            .max(self.blocks as f32 / self.blocks_max as f32);
        if self.stay > 0.0 { self.stay } else { now as f32 / part }
    }

    /// Returns whether the buffer holds data of `zone`.
    #[must_use]
    pub fn holds(&self, zone: ZoneIndex) -> bool {
        self.sent[zone].blocks > 0
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.sent.bytes() + self.links.bytes()
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
        assert_eq!(buffer.cleaned_first(1, 1), None);
        assert_eq!(buffer.cleaned_first(2, 2), Some(zone(3)), "entries are used up");
        assert_eq!(buffer.cleaned_first(1, 56), Some(zone(3)), "blocks are");
        buffer.send(zone(2), 2, 2, 40);
        assert_eq!(buffer.expected_stay(50), 30.0);
        assert!(!buffer.holds(zone(3)) && buffer.holds(zone(1)));
        buffer.check();
        buffer.send(zone(4), 20, 20, 50);
        assert!(buffer.holds(zone(4)) && !buffer.holds(zone(2)), "more than fits alone");
        buffer.check();
    }
}
