//! Makes requests of a description.

mod long_runs;
mod runs;
mod zones;

use std::collections::BTreeSet;
use std::sync::Arc;

use shingle_core::units::{BLOCK_BYTES, Op};

use self::zones::lay_out;
use super::Description;
use super::buckets::{signed_within, within};
use super::fit::{expected, new_size, same_situation, size_situation};
use super::history::{ALL, CLASSES_MAX, History, Place, Which, in_sector, sector};
use super::moves::{Kind, Move, Size, Sort, side};
use super::statistics::{EXACT_SECTORS, Of, Phase, SAME, Whole, beginning, by_class, far, pause};
use crate::source::DISK_BYTES_MAX;
use crate::synth::rng::{Rng, Seed};
use crate::synth::{Access, Pattern};
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

pub(crate) struct Like {
    description: Arc<Description>,
    rng: Rng,
    times: Rng,
    history: History,
    requests: u64,
    phase: usize,
    /// Requests left of this phase.
    left: u64,
    /// All phases were there once: what was touched first then is the coldest now.
    again: bool,
    /// Zones of each class by address, and which of them are untouched.
    members: Vec<Vec<u64>>,
    untouched: Vec<BTreeSet<u64>>,
    /// The zone touched first last.
    fresh: u64,
    wait_ns: u64,
    /// Of this time through the phases.
    made: u64,
    /// The next long run, and where they are.
    long: usize,
    long_places: Vec<u64>,
    /// Those that go on, and how many bytes are done.
    going: Vec<(usize, u64)>,
}

impl Like {
    pub(crate) fn new(description: Arc<Description>, requests: u64, seed: Seed) -> Like {
        let zones = lay_out(&description.layout, &mut seed.stream("layout"));
        let mut rng = seed.stream("like");
        let mut members = vec![Vec::new(); CLASSES_MAX];
        for &(zone, class) in &zones {
            members[usize::from(class)].push(zone);
        }
        Like {
            left: description.phases[0].requests,
            description,
            times: seed.stream("arrivals"),
            history: History::new(zones.iter().copied().collect()),
            requests,
            phase: 0,
            again: false,
            untouched: members.iter().map(|zones| zones.iter().copied().collect()).collect(),
            members,
            fresh: zones[rng.below(zones.len() as u64) as usize].0,
            wait_ns: 0,
            made: 0,
            long: 0,
            long_places: Vec::new(),
            going: Vec::new(),
            rng,
        }
    }

    fn advance(&mut self) {
        while self.left == 0 {
            self.phase += 1;
            if self.phase == self.description.phases.len() {
                (self.phase, self.again) = (0, true);
                (self.made, self.long) = (0, 0);
            }
            self.left = self.description.phases[self.phase].requests;
        }
        self.left -= 1;
        self.made += 1;
    }

    /// The byte a move goes to, if there is one.
    fn target(&mut self, phase: &Phase, done: Move) -> Option<(u64, u64, u64)> {
        let (number, op) = (done.number(), side(done.op));
        let (rng, history) = (&mut self.rng, &self.history);
        if self.again && matches!(done.kind, Kind::Near | Kind::New) {
            let place = self.coldest()?;
            return Some((place.offset, place.bytes, place.run));
        }
        let offset = match done.kind {
            Kind::Continue => history.last_stream().filter(|s| s.op == done.op).map(|s| s.end),
            Kind::Resume => {
                let rank = phase.table(Of::Ranks).draw(number, rng)?;
                history.stream(done.op, u64::from(rank)).map(|stream| stream.end)
            }
            // The length is drawn for where that jump went, and the request put before it.
            Kind::Precede => {
                let rank = phase.table(Of::Ranks).draw(number, rng)?;
                let end = history.jump(u64::from(rank))?;
                let bytes = self.bytes(phase, done, end);
                let offset = end.checked_sub(bytes)?;
                let run = self.run(phase, done, offset, bytes);
                return Some((offset, bytes, run));
            }
            Kind::Follow => Some(history.candidate()?.offset),
            Kind::Back(sort) | Kind::Inside(sort) => return self.run_from(phase, done, sort),
            // A run that begins in untouched blocks goes where there is room for it.
            Kind::Near => {
                let (which, of) = self.which(phase, number, ALL)?;
                let situation = new_size(done.op, false);
                let bytes = size(phase, situation, &mut self.rng).unwrap_or(BLOCK_BYTES);
                let situation = 2 * beginning(done.op, bytes, Size::of(bytes), false);
                let run = self.new_run(phase, situation, bytes);
                let gaps = self.description.layout.table(Whole::Gaps);
                let gap = gaps.draw(by_class(number, of), &mut self.rng)?;
                let gap = signed_within(gap, &mut self.rng);
                let room = run.div_ceil(BLOCK_BYTES);
                let block = self.history.untouched(which, gap, room)?;
                let sector = phase.table(Of::Sectors).draw(op, &mut self.rng)?;
                return Some((in_sector(block, sector), bytes, run));
            }
            Kind::New => {
                let wanted = phase.table(Of::Classes).draw(number, &mut self.rng)? as usize;
                let classes = (wanted..CLASSES_MAX).chain(0..wanted.min(CLASSES_MAX));
                let class = classes.into_iter().find(|&class| !self.untouched[class].is_empty())?;
                let zone = self.new_zone(class)?;
                let layout = &self.description.layout;
                let sixteenth = layout.table(Whole::Sixteenths).draw(class, &mut self.rng)?;
                let part = ZONE_BLOCKS.div_ceil(16);
                let within = u64::from(sixteenth) * part + self.rng.below(part);
                let block = zone * ZONE_BLOCKS + within.min(ZONE_BLOCKS - 1);
                Some(in_sector(block, phase.table(Of::Sectors).draw(op, &mut self.rng)?))
            }
        }?;
        let bytes = self.bytes(phase, done, offset);
        let run = if done.kind.continues() { 0 } else { self.run(phase, done, offset, bytes) };
        Some((offset, bytes, run))
    }

    fn which(&mut self, phase: &Phase, number: usize, stack: usize) -> Option<(Which, usize)> {
        // The zone of the last jump may have no place of this sort, nor any of a class yet.
        for _ in 0..8 {
            let of = phase.table(Of::Classes).draw(number, &mut self.rng)?;
            let which = if of == SAME {
                Which::Same
            } else {
                let class = of as usize;
                let table = self.description.layout.table(Whole::Zones);
                let rank = table.draw(by_class(number, class), &mut self.rng)?;
                Which::Of { class, rank: within(rank, &mut self.rng) }
            };
            if let Some(class) = self.history.class_of(stack, which) {
                return Some((which, class));
            }
        }
        None
    }

    fn back(&mut self, phase: &Phase, number: usize, sort: Sort) -> Option<Place> {
        let (which, of) = self.which(phase, number, sort.number())?;
        let table = self.description.layout.table(Whole::Places);
        let place = table.draw(far(number, of, which), &mut self.rng)?;
        self.history.place_at(sort, which, within(place, &mut self.rng))
    }

    /// Whether a request may lie there: zones of the layout only.
    fn fits(&self, offset: u64, bytes: u64) -> bool {
        let (first, last) = (offset / ZONE_BYTES, (offset + bytes - 1) / ZONE_BYTES);
        last < DISK_BYTES_MAX / ZONE_BYTES && first <= last
    }

    fn bytes(&mut self, phase: &Phase, done: Move, offset: u64) -> u64 {
        let going = self.history.stream_at(offset, done.op).filter(|_| done.kind.continues());
        let left = going.map_or(u64::MAX, |stream| stream.left);
        self.some_bytes(phase, done, offset).min(left)
    }

    fn some_bytes(&mut self, phase: &Phase, done: Move, offset: u64) -> u64 {
        let known = expected(&self.history, done, offset);
        let same =
            phase.table(Of::Same).draw(same_situation(&self.history, done, offset), &mut self.rng)
                == Some(1);
        if let Some(bytes) = known.filter(|_| same) {
            return bytes;
        }
        let situation = size_situation(&self.history, done, offset);
        // Nothing is counted if all requests are as long as those before them.
        size(phase, situation, &mut self.rng).or(known).unwrap_or(BLOCK_BYTES)
    }

    /// The place used longest ago, in the zone used longest ago of some class.
    fn coldest(&mut self) -> Option<Place> {
        let first = self.rng.below(CLASSES_MAX as u64) as usize;
        let classes = (first..CLASSES_MAX).chain(0..first);
        let mut zones = classes.map(|class| Which::Of { class, rank: u64::MAX });
        zones.find_map(|which| self.history.coldest_in(which))
    }

    /// Zones that are touched now are no longer new.
    fn touch(&mut self, offset: u64, bytes: u64) {
        for zone in offset / ZONE_BYTES..=(offset + bytes - 1) / ZONE_BYTES {
            if !self.history.knows_zone(zone) {
                self.untouched[self.history.class(zone)].remove(&zone);
                self.fresh = zone;
            }
        }
    }

    fn draw(&mut self, phase: &Phase) -> (u64, u64, u64, Move) {
        let mut op = None;
        for attempt in 0..=ATTEMPTS {
            let situation = self.history.situation().number();
            // Where all requests were of long runs there are no moves.
            let Some(number) = phase.table(Of::Moves).draw(situation, &mut self.rng) else { break };
            let mut done = Move::of(number as usize);
            // Whatever cannot be done, reads stay reads: or else there were more of what is easy to do.
            if done.op != *op.get_or_insert(done.op) {
                continue;
            }
            if attempt == ATTEMPTS {
                done.kind = Kind::New;
            }
            let Some((offset, bytes, run)) = self.target(phase, done) else { continue };
            if self.fits(offset, bytes) {
                return (offset, bytes, run, done);
            }
            if done.kind.continues() {
                self.history.close(offset, done.op);
            }
        }
        // Nothing of what this phase does can be done, and all zones are touched.
        let place = self.coldest();
        let offset = place.map_or(self.fresh * ZONE_BYTES, |place| place.offset);
        let bytes = BLOCK_BYTES - u64::from(sector(offset)) * 512;
        (offset, bytes, bytes, Move { kind: Kind::New, op: Op::Write })
    }
}

/// So many places are tried for a run to fit in.
const PLACES: u32 = 8;

/// So often a move is drawn again that cannot be made, such as one back when there is nothing yet.
const ATTEMPTS: u32 = 16;

impl Pattern for Like {
    fn next(&mut self) -> Access {
        self.advance();
        let description = Arc::clone(&self.description);
        if let Some(access) = self.next_long() {
            return access;
        }
        let (offset, bytes, run, done) = self.draw(&description.phases[self.phase]);
        self.touch(offset, bytes);
        let going =
            done.kind.continues().then(|| self.history.stream_at(offset, done.op)).flatten();
        let left = going.map_or(run, |stream| stream.left).saturating_sub(bytes);
        self.history.record(offset, bytes, done, left);
        Access { offset, bytes, op: done.op }
    }

    fn length(&self) -> u64 {
        self.requests
    }

    fn wait_ns(&mut self) -> u64 {
        let phase = &self.description.phases[self.phase];
        let class = phase.table(Of::Waits).draw(pause(self.wait_ns), &mut self.times);
        self.wait_ns = class.map_or(0, |class| within(class, &mut self.times));
        self.wait_ns
    }
}

fn size(phase: &Phase, situation: usize, rng: &mut Rng) -> Option<u64> {
    Some(match phase.table(Of::Sizes).draw(situation, rng)? {
        exact if exact < EXACT_SECTORS => 512 * u64::from(exact.max(1)),
        class => 512 * within(class - EXACT_SECTORS, rng).clamp(1, 1 << 21),
    })
}
