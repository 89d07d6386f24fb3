//! Restores zones: sets their write pointers, then adds their live blocks, and then [`settle`]
//! decides which are free, which full, and which stay open.
//!
//! [`settle`]: Zones::settle

use super::{NONE, Packed, State, Zone, Zones};

impl Zones {
    /// Sets write pointers. Blocks written there count for `group`.
    pub(in super::super) fn set_pointers(&mut self, pointers: &[u64], group: u8) {
        let written = pointers.iter().rposition(|&pointer| pointer > 0).map_or(0, |last| last + 1);
        self.all.extend(pointers[..written].iter().map(|&pointer| Zone {
            state: State::Open,
            group,
            live: 0,
            pointer: pointer as u32,
            opened: 0,
            youngest: 0,
            deaths: 0.0,
            died: 0,
            owners: Packed::default(),
            times: Packed::default(),
        }));
    }

    /// Adds `block` at `place`, below a write pointer. Returns the other block as an error if there
    /// is one.
    pub(in super::super) fn put(&mut self, place: u64, block: u64) -> Result<(), u64> {
        let (zone, offset) = self.split(place);
        let of = &mut self.all[zone];
        if of.owners.len() == 0 {
            of.owners = Packed::none(of.pointer as usize);
            of.times = Packed::zeros(if self.keeps.times { of.pointer as usize } else { 0 });
        }
        match of.owners.get(offset) {
            NONE => {
                of.owners.set(offset, block);
                of.live += 1;
                self.live += 1;
                Ok(())
            }
            other => Err(other),
        }
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
            assert_eq!(zones.put(place, block), Ok(()));
        }
        assert_eq!(zones.put(5, 74), Err(72));
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
        let kept = |zones: Zones| zones.all.iter().map(|of| of.times.len()).collect::<Vec<_>>();
        assert_eq!(kept(zones(true)), [4, 3, 2, 0]);
        assert_eq!(kept(zones(false)), [0; 4]);
    }

    #[test]
    fn a_zone_that_is_gone_on_with_is_of_another_group() {
        let mut zones = zones(false);
        zones.go_on(1, 5);
        assert_eq!([0, 1, 2, 3].map(|zone| zones.group(zone)), [3, 5, 3, 3]);
    }
}
