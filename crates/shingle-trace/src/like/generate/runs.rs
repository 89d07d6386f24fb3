//! How far a run goes, and where one of that length may begin.

use shingle_core::units::BLOCK_BYTES;

use super::super::buckets::within;
use super::super::history::in_sector;
use super::super::moves::{Kind, Move, Size, Sort, side};
use super::super::statistics::{EXACT_SECTORS, Of, Phase, beginning};
use super::{Like, PLACES};

impl Like {
    /// Bytes of a run that begins here.
    pub(super) fn run(&mut self, phase: &Phase, done: Move, offset: u64, bytes: u64) -> u64 {
        let touched = self.history.touched(offset / BLOCK_BYTES);
        let place = self.history.at(offset);
        let size = place.map_or(Size::of(bytes), |place| place.size());
        let situation = beginning(done.op, bytes, size, touched);
        let before = place.map_or(0, |place| place.run);
        if before > 0 && phase.table(Of::Again).draw(situation, &mut self.rng) == Some(1) {
            return before;
        }
        let (run, fresh) = self.new_run_in(phase, situation, bytes, touched);
        if !touched {
            return run.max(bytes);
        }
        self.history.reach(offset, run.max(bytes), fresh).max(bytes)
    }

    /// Bytes of a run and how many untouched blocks it may have.
    fn new_run_in(
        &mut self,
        phase: &Phase,
        situation: usize,
        bytes: u64,
        touched: bool,
    ) -> (u64, u64) {
        if !touched {
            return (self.new_run(phase, 2 * situation, bytes), u64::MAX);
        }
        let class = phase.table(Of::Grows).draw(situation, &mut self.rng);
        let fresh = class.map_or(0, |class| within(class, &mut self.rng));
        (self.new_run(phase, 2 * situation + usize::from(fresh > 0), bytes), fresh)
    }

    /// A place of this sort, and how far a run goes from there: of some places the first from which it
    /// goes as far as it should.
    pub(super) fn run_from(
        &mut self,
        phase: &Phase,
        done: Move,
        sort: Sort,
    ) -> Option<(u64, u64, u64)> {
        let mut best: Option<(u64, u64, u64)> = None;
        let mut wanted = None;
        let inside = matches!(done.kind, Kind::Inside(_));
        for _ in 0..PLACES {
            let Some(place) = self.back(phase, done.number(), sort) else { break };
            let offset = match done.kind {
                Kind::Inside(_) => {
                    let op = side(done.op);
                    let blocks = phase.table(Of::Inside).draw(op, &mut self.rng)?;
                    let blocks = within(blocks, &mut self.rng);
                    let sector = phase.table(Of::Sectors).draw(op, &mut self.rng)?;
                    let block = place.offset / BLOCK_BYTES + blocks;
                    in_sector(self.history.without_place(block), sector)
                }
                _ => place.offset,
            };
            let bytes = self.bytes(phase, done, offset);
            let size = if inside { Size::of(bytes) } else { sort.size };
            let situation = beginning(done.op, bytes, size, true);
            let (run, fresh) = *wanted.get_or_insert_with(|| {
                let again = phase.table(Of::Again).draw(situation, &mut self.rng) == Some(1);
                if again { (0, 0) } else { self.new_run_in(phase, situation, bytes, true) }
            });
            if run == 0 {
                return Some((offset, bytes, place.run.max(bytes)));
            }
            let reach = self.history.reach(offset, run.max(bytes), fresh).max(bytes);
            if reach >= run {
                return Some((offset, bytes, reach));
            }
            if best.is_none_or(|(_, _, most)| reach > most) {
                best = Some((offset, bytes, reach));
            }
        }
        best
    }

    pub(super) fn new_run(&mut self, phase: &Phase, situation: usize, bytes: u64) -> u64 {
        match phase.table(Of::Runs).draw(situation, &mut self.rng) {
            None | Some(0) => bytes,
            Some(exact) if exact < EXACT_SECTORS => 512 * u64::from(exact),
            Some(class) => {
                let run = 512 * within(class - EXACT_SECTORS, &mut self.rng).min(1 << 23);
                (run / bytes).max(1) * bytes
            }
        }
    }
}
