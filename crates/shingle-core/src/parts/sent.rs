//! What the disk's buffer holds, as far as a host can tell from what it has sent there.
//!
//! A drive-managed disk cleans the band of the oldest data first, with all that the buffer holds of it. So the zones
//! that own what is in the buffer are a queue: one enters with its first write, and leaves when it is cleaned. A
//! host does not see that; it counts, and takes it that the zone in front goes when there is no more room. Zones are not
//! bands and overwritten data is not told apart, so this is an estimate.

use crate::parts::{ByZone, Links, List, ZoneIndex};

/// What was sent of a zone since it was cleaned last.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Runs of neighbouring blocks: entries of the disk's map.
    runs: u32,
    blocks: u32,
    /// When the first of it was sent.
    since: u32,
    /// Where in the log that went: blocks sent until then.
    from: u32,
}

/// The zones in the buffer, oldest at the tail.
#[derive(Clone, Debug)]
pub struct SentZones {
    sent: ByZone<Sent>,
    links: Links,
    queue: List,
    /// Zones below have memory.
    met: u32,
    runs: u64,
    blocks: u64,
    /// Blocks sent so far, modulo 2^32.
    end: u32,
    runs_max: u64,
    blocks_max: u64,
    /// How long a zone stayed, on average of the last ones; 0 before one was cleaned.
    stay: f32,
}

impl SentZones {
    /// Of a buffer of so many map entries and blocks.
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

    /// The zone that is cleaned next, once so much more comes: `None` while there is room for it.
    #[must_use]
    pub fn cleaned_for(&self, runs: u32, blocks: u32) -> Option<ZoneIndex> {
        let fits = self.runs + u64::from(runs) <= self.runs_max
            && self.log_used() + u64::from(blocks) <= self.blocks_max;
        self.queue.tail().filter(|_| !fits).map(ZoneIndex)
    }

    /// Blocks of log from the oldest data that is still there to the newest. Room between them is not used again.
    fn log_used(&self) -> u64 {
        self.queue
            .tail()
            .map_or(0, |oldest| u64::from(self.end.wrapping_sub(self.sent[ZoneIndex(oldest)].from)))
    }

    /// The zone that is cleaned next.
    #[must_use]
    pub fn oldest(&self) -> Option<ZoneIndex> {
        self.queue.tail().map(ZoneIndex)
    }

    /// Entries of the map and blocks of log that may be sent before something is cleaned.
    #[must_use]
    pub fn free(&self) -> (u64, u64) {
        (self.runs_max.saturating_sub(self.runs), self.blocks_max.saturating_sub(self.log_used()))
    }

    /// Takes memory for `zone`, so that [`SentZones::send`] need not.
    pub fn meet(&mut self, zone: ZoneIndex) {
        if zone.0 >= self.met {
            self.met = zone.0 + 1;
            self.sent[zone] = Sent::default();
            self.queue.push_head(&mut self.links, zone.0);
            self.queue.unlink(&mut self.links, zone.0);
        }
    }

    /// So much of `zone` was sent at `now`. What no longer fits is cleaned before.
    pub fn send(&mut self, zone: ZoneIndex, runs: u32, blocks: u32, now: u32) {
        self.meet(zone);
        while let Some(oldest) = self.cleaned_for(runs, blocks) {
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

    /// The disk has all of `zone` in its place.
    pub fn clean(&mut self, zone: ZoneIndex) {
        let sent = core::mem::take(&mut self.sent[zone]);
        if sent.blocks > 0 {
            self.queue.unlink(&mut self.links, zone.0);
            self.runs -= u64::from(sent.runs);
            self.blocks -= u64::from(sent.blocks);
        }
    }

    /// For how long a zone stays in the buffer, about; before one was cleaned, as long as the buffer takes to fill at the
    /// rate so far.
    #[must_use]
    pub fn stay(&self, now: u32) -> f32 {
        let part = (self.runs as f32 / self.runs_max as f32)
            .max(self.blocks as f32 / self.blocks_max as f32);
        if self.stay > 0.0 { self.stay } else { now as f32 / part }
    }

    /// Whether the buffer holds something of `zone`.
    #[must_use]
    pub fn holds(&self, zone: ZoneIndex) -> bool {
        self.sent[zone].blocks > 0
    }

    /// Bytes of memory taken.
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
        assert_eq!(buffer.stay(20), 50.0, "four of ten entries in 20 accesses");
        buffer.send(zone(1), 4, 40, 20);
        buffer.send(zone(3), 1, 1, 30);
        assert_eq!(buffer.cleaned_for(1, 1), None);
        assert_eq!(buffer.cleaned_for(2, 2), Some(zone(3)), "entries are used up");
        assert_eq!(buffer.cleaned_for(1, 56), Some(zone(3)), "blocks are");
        buffer.send(zone(2), 2, 2, 40);
        assert_eq!(buffer.stay(50), 30.0);
        assert!(!buffer.holds(zone(3)) && buffer.holds(zone(1)));
        buffer.check();
        buffer.send(zone(4), 20, 20, 50);
        assert!(buffer.holds(zone(4)) && !buffer.holds(zone(2)), "more than fits alone");
        buffer.check();
    }
}
