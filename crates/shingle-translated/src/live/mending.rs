//! Repair of zones that cannot be appended to as they are: flawed and finished ones ([`crate::zones`]).

use shingle_core::ranges::Ranges;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Place, Queue};
use shingle_zoned::{Operation, ZonedDisk as _};

use super::Shared;
use super::worker::{Stop, Worker, is_limit};
use crate::bugs::Bug;
use crate::zones::Table;

/// Zones that are reset in one call in idle time, at most. On a disk that takes 10 ms for a reset, a write that comes then waits
/// no longer than for a zone that is copied.
const RESETS_AT_A_TIME: usize = 32;

impl Worker {
    /// Makes sure that there are more spare zones than flawed ones that a work may append to, as no zone becomes spare within a
    /// work.
    pub(super) fn prepare(&mut self, shared: &Shared) -> Result<(), Stop> {
        loop {
            let Table { flawed_in_part, spares, .. } = &self.table;
            match flawed_in_part.first() {
                Some(&logical) if !spares.is_empty() && spares.len() <= flawed_in_part.len() => {
                    self.repair(shared, logical)?
                }
                _ => return Ok(()),
            }
            self.commit(shared)?;
        }
    }

    /// Repairs flawed zones in idle time: one with data, or several that only have to be reset, until a write waits. There has
    /// to be a spare zone.
    pub(super) fn mend(&mut self, shared: &Shared, queue: &dyn Queue) -> Result<(), Stop> {
        let Table { flawed, pointers, .. } = &self.table;
        let is_empty = |logical: &u32| pointers[*logical as usize] == 0;
        let mut zones: Vec<u32> =
            flawed.keys().copied().take_while(is_empty).take(RESETS_AT_A_TIME).collect();
        if zones.is_empty() {
            zones.extend(flawed.keys().next());
        }
        for logical in zones {
            self.repair(shared, logical)?;
            // (A zone that could not be reset has taken a spare zone.)
            if queue.waits() || !self.table.leaving.is_empty() {
                break;
            }
        }
        self.commit(shared)
    }

    /// Makes a flawed or finished zone, if it is one, appendable: copies to a spare zone what can be read of it. The rest was lost,
    /// and is zeros there.
    pub(super) fn repair(&mut self, shared: &Shared, logical: u32) -> Result<(), Stop> {
        let old = self.table.physical[logical as usize];
        let pointer = self.table.pointers[logical as usize];
        let readable = match self.table.flawed.get(&logical) {
            Some(&readable) => readable,
            None if self.table.finished.contains(&logical) => pointer,
            None => return Ok(()),
        };
        if pointer == 0 && !self.has_old_copies(shared, old) && self.reset_zone(shared, old).is_ok()
        {
            // Neither readers nor the durable map use anything in it.
            self.table.is_whole(logical);
            return Ok(());
        }
        let mut failed = None;
        while let Some(spare) = self.take_spare(shared)? {
            match self.copy(shared, logical, readable, spare) {
                Ok(()) => {
                    // Readers will read there, and blocks that were durable have to stay durable.
                    if !self.bugs.has(Bug::RepairUnflushed) {
                        self.flush(shared)?;
                    }
                    self.table.move_to(logical, spare, pointer);
                    return Ok(());
                }
                Err(Stop::Disk(error))
                    if error.operation == Operation::Write && !is_limit(&error) =>
                {
                    self.table.bad += 1;
                    failed = Some(Stop::SparesFailed(error));
                }
                Err(stop) => return Err(stop),
            }
        }
        Err(failed.unwrap_or(Stop::NoSpare(logical)))
    }

    /// Copies what can be read of a logical zone, the first `readable` blocks at most, to an empty physical one.
    fn copy(
        &mut self,
        shared: &Shared,
        logical: u32,
        readable: u32,
        spare: u32,
    ) -> Result<(), Stop> {
        let old = self.table.physical[logical as usize];
        let pointer = self.table.pointers[logical as usize];
        let mut buffers = vec![Buffer::default(); IO_PAGES_MAX.min(pointer as usize)];
        let first = u64::from(logical) * shared.plan.capacity;
        let (mut at, mut gone) = (0, Ranges::default());
        while at < pointer {
            let end = if at < readable { readable } else { pointer };
            let count = (end - at).min(IO_PAGES_MAX as u32);
            let buffers = &mut buffers[..count as usize];
            if at < readable {
                let from = shared.plan.on_disk(old, at.into());
                let first = first + u64::from(at);
                for part in self.read_or_zero(shared, from, buffers)? {
                    gone.insert(first + part.start..first + part.end);
                }
            } else {
                buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
            }
            self.begin_zone(shared, spare)?;
            shared.disk.write(shared.plan.on_disk(spare, at.into()), buffers)?;
            // (Readers still read the old zone.)
            self.is_in_zone(shared, spare, at, count);
            at += count;
        }
        self.lose_at(shared, old, &gone);
        Ok(())
    }

    /// Marks the host's blocks as lost whose newest copies lie at these places of the logical zone in `physical`. (There is no
    /// index by places: this goes through the whole map once.)
    fn lose_at(&mut self, shared: &Shared, physical: u32, places: &Ranges) {
        if places.is_empty() {
            return;
        }
        let (plan, map) = (&shared.plan, shared.map());
        for (block, piece) in map.whereabouts.all() {
            let Place::Native(at) = piece.place else { continue };
            let mut next = at;
            while let Some(gone) = places.first_in(next..at + piece.count) {
                next = gone.end;
                for place in gone {
                    let block = block.0 + (place - at);
                    self.lose_block(block, Some(plan.on_disk(physical, plan.split(place).1)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::MutexGuard;

    use shingle_core::units::Block;
    use shingle_translation::NoQueue;
    use shingle_zoned::{Faults, Geometry, MemoryDisk};

    use super::super::LiveDisk;
    use super::*;
    use crate::{Format, format};

    /// A log in zones of 16 blocks, of which the first ones are written, and the last one in part.
    fn log(written: u64, spare_zones: u32) -> LiveDisk {
        let geometry = Geometry { conventional_zones: 8, ..Geometry::new(80, 16) };
        let disk = MemoryDisk::new(geometry, Faults::none());
        // (What is written goes to one zone after the other.)
        let params = vec![("group".to_owned(), "none".to_owned())];
        let spare_zones = Some(spare_zones);
        let wanted =
            Format { translation: "log".to_owned(), params, spare_zones, ..Format::default() };
        format(&disk, &wanted).expect("room");
        let live = LiveDisk::open(Box::new(disk)).expect("it was formatted");
        for block in 0..written {
            live.write(Block(block), &[Buffer::default()]).expect("room");
        }
        live.flush().expect("no faults");
        live
    }

    /// With these zones flawed, all of whose blocks can be read.
    fn flawed(live: &LiveDisk, zones: impl IntoIterator<Item = u32>) -> MutexGuard<'_, Worker> {
        let mut worker = live.lock_worker().expect("no panic");
        for logical in zones {
            let pointer = worker.table.pointers[logical as usize];
            worker.table.is_flawed(logical, pointer, live.shared.plan.capacity);
        }
        worker
    }

    fn are_flawed(worker: &Worker) -> Vec<u32> {
        worker.table.flawed.keys().copied().collect()
    }

    struct Waits;

    impl Queue for Waits {
        fn writes(&self, _: &dyn Fn(Block, u64) -> bool) -> bool {
            true
        }

        fn waits(&self) -> bool {
            true
        }
    }

    /// An append to each flawed zone that is written in part takes a spare one, and a reset takes another.
    #[test]
    fn before_a_work_more_zones_are_spare_than_flawed_in_part() {
        for (in_part, spares, left) in [(0, 3, 0), (2, 3, 2), (3, 3, 2), (5, 3, 2), (2, 0, 2)] {
            let live = log(8, 6);
            let mut worker = flawed(&live, []);
            // (One zone at a time is written in part: the others are said to be.)
            worker.table.flawed_in_part = (1..=in_part).collect();
            for logical in 1..=in_part {
                worker.table.pointers[logical as usize] = 8;
                worker.table.flawed.insert(logical, 0);
            }
            while worker.table.spares.len() > spares {
                worker.table.spares.pop_last();
            }
            worker.prepare(&live.shared).expect("no faults");
            let what = format!("{in_part} flawed in part, {spares} spare");
            assert_eq!(worker.table.flawed_in_part.len(), left, "{what}");
            assert_eq!(worker.table.spares.len(), spares, "{what}");
        }
    }

    #[test]
    fn idle_time_mends_one_zone_with_data_or_several_that_are_empty() {
        let live = log(40, 4);
        let mut worker = flawed(&live, [0, 1, 5, 6]);
        let mut mend = || {
            worker.mend(&live.shared, &NoQueue).expect("no faults");
            are_flawed(&worker)
        };
        assert_eq!(mend(), [1, 5, 6]);
        assert_eq!(mend(), [5, 6]);
        assert_eq!(mend(), []);
        // Those before one with data, and no more than a write can wait for.
        drop(worker);
        let mut worker = flawed(&live, 3..50);
        worker.mend(&live.shared, &NoQueue).expect("no faults");
        assert_eq!(are_flawed(&worker), (35..50).collect::<Vec<_>>());
        worker.table.pointers[40] = 8;
        worker.mend(&live.shared, &NoQueue).expect("no faults");
        assert_eq!(are_flawed(&worker), (40..50).collect::<Vec<_>>());
    }

    #[test]
    fn it_ends_when_a_write_waits_or_a_zone_has_taken_a_spare_one() {
        let live = log(8, 4);
        let mut worker = flawed(&live, 3..9);
        worker.mend(&live.shared, &Waits).expect("no faults");
        assert_eq!(are_flawed(&worker), [4, 5, 6, 7, 8]);
        // This zone cannot be reset.
        let kept = worker.table.physical[5];
        worker.table.holding.insert(kept);
        worker.mend(&live.shared, &NoQueue).expect("no faults");
        assert_eq!(are_flawed(&worker), [6, 7, 8]);
    }
}
