//! Restores zones: sets their write pointers, then adds their live blocks, and then [`settle`]
//! decides which are free, which full, and which stay open.
//!
//! [`settle`]: Zones::settle

use super::{State, Zones};

impl Zones {
    /// Sets write pointers. Blocks written there count for `group`.
    pub(in super::super) fn set_pointers(&mut self, pointers: &[u64], group: u8) {
        let written = pointers.iter().rposition(|&pointer| pointer > 0).map_or(0, |last| last + 1);
        for &pointer in &pointers[..written] {
            let zone = self.zone(group, pointer as u32, 0);
            self.all.push(zone);
        }
    }

    /// Adds blocks at `place`, below the write pointer of one zone. If there are others, returns the
    /// first one, and how many blocks behind `place` it is, as an error.
    pub(in super::super) fn put(
        &mut self,
        place: u64,
        block: u64,
        count: u64,
    ) -> Result<(), (u64, u64)> {
        let (zone, offset) = self.split(place);
        if let Some((at, other, _)) = self.live_runs(zone as u32, offset, offset + count).next() {
            return Err((other, at - offset));
        }
        let of = &mut self.all[zone];
        of.owners.set(offset, count, block);
        of.live += count as u32;
        Ok(())
    }

    /// Completes the zones when all live blocks were added. Zones without a live block are free. Of
    /// those with room, the `most` with the most room stay open, and are returned, largest room
    /// first; in the others places without an owner are garbage.
    pub(in super::super) fn settle(&mut self, most: usize) -> Vec<u32> {
        let zones = 0..self.all.len() as u32;
        let mut open: Vec<u32> =
            zones.filter(|&zone| self.live(zone) > 0 && self.room(zone) > 0).collect();
        open.sort_by_key(|&zone| self.pointer(zone));
        open.truncate(most);
        for (at, zone) in (0..).zip(&mut self.all) {
            if zone.live == 0 {
                zone.state = State::Free;
                self.ready.push(at);
            } else if open.contains(&at) {
                self.used += u64::from(zone.pointer);
            } else {
                zone.state = State::Full;
                self.used += self.zone_blocks;
                self.full += self.zone_blocks;
                self.reclaimable += self.zone_blocks - u64::from(zone.live);
            }
        }
        // The first of them is reused first.
        self.ready.reverse();
        open
    }

    pub(in super::super) fn go_on(&mut self, zone: u32, group: u8) {
        self.all[zone as usize].group = group;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Keeps;
    use super::*;

    /// Of five zones of four blocks: one that is full, with one live block; two with room for one and two; one that nothing
    /// lives in, and one that was never written. Blocks count for group 3.
    fn zones(times: bool) -> Zones {
        let mut zones = Zones::new(4, 5, Keeps { times, deaths: false });
        zones.set_pointers(&[4, 3, 2, 1, 0], 3);
        for (place, block) in [(1, 70), (4, 71), (5, 72), (9, 73)] {
            assert_eq!(zones.put(place, block, 1), Ok(()));
        }
        assert_eq!(zones.put(5, 74, 1), Err((72, 0)));
        assert_eq!(zones.put(8, 74, 2), Err((73, 1)));
        zones
    }

    #[test]
    fn zones_with_room_and_a_live_block_stay_open() {
        for (most, open) in [(4, &[2, 1][..]), (1, &[2]), (0, &[])] {
            let mut zones = zones(false);
            assert_eq!(zones.settle(most), open);
            // What was never written is fresh: it is no zone that has been opened.
            assert_eq!((zones.all.len(), zones.free()), (4, 2));
            let state = |zone: usize| zones.all[zone].state;
            assert!(state(0) == State::Full && state(3) == State::Free);
            for zone in [1, 2] {
                let wanted = if open.contains(&zone) { State::Open } else { State::Full };
                assert!(state(zone as usize) == wanted, "{zone} of {open:?}");
            }
            let block = |place| match place {
                70 => Some(1),
                71 => Some(4),
                72 => Some(5),
                73 => Some(9),
                _ => None,
            };
            zones.check(block);
        }
    }

    #[test]
    fn times_are_kept_only_where_they_are_asked_for() {
        for (times, kept) in [(true, Some(17)), (false, None)] {
            let mut zones = zones(times);
            assert_eq!(zones.settle(4), [2, 1]);
            assert_eq!(zones.append(2, 80, 2, Some(16)), 10);
            // It is not known when the others were written.
            assert_eq!((zones.times(9, 1).0, zones.times(11, 1).0), (None, kept));
        }
    }

    #[test]
    fn a_zone_that_is_gone_on_with_is_of_another_group() {
        let mut zones = zones(false);
        zones.go_on(1, 5);
        assert_eq!([0, 1, 2, 3].map(|zone| zones.group(zone)), [3, 5, 3, 3]);
    }
}
