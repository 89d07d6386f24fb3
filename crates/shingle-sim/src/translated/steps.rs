//! Steps carried out one by one: what each moves, what it takes, and why.

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Zone};
use shingle_drive::drive::{Drive, Io, Served, Zoned};
use shingle_translation::step::{Place, Step};
use shingle_translation::translation::Layout;

use super::Translated;
use super::joined::{Joined, Way};

/// Why time passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The host's data goes to the buffer.
    Log,
    /// The host's data goes straight to a zone.
    Write,
    Clean,
}

/// What is known of the step that comes next.
#[derive(Clone, Copy)]
pub(super) enum Next {
    /// The translation has not been asked.
    Unknown,
    /// It has, to see whether the step is one with the one before.
    Step(Step),
    /// There is none.
    End,
}

impl Translated {
    /// Carries out the next I/O of the work under way: a step, and those after it that are one with
    /// it. `None` if there is none left. To know what is one the step after an I/O is asked for
    /// before the I/O is timed, so the queue it is told of is that at the start of the I/O.
    pub(super) fn advance(&mut self, now: Nanos, held_up: Option<&Io>) -> Option<(Cause, Served)> {
        let queue = self.coming.by(now, held_up);
        let step = match std::mem::replace(&mut self.next, Next::Unknown) {
            Next::Step(step) => step,
            Next::Unknown => self.translation.next(&queue)?,
            Next::End => return None,
        };
        let hosts = |block, count| self.memory.is_hosts(block, count);
        if !self.joined.begin(step, hosts) {
            return Some(self.by_itself(now, step));
        }
        self.next = loop {
            match self.translation.next(&queue) {
                Some(step) if self.joined.extend(step, hosts) => {}
                Some(step) => break Next::Step(step),
                None => break Next::End,
            }
        };
        Some(self.joined(now))
    }

    /// An I/O that moves blocks between the drive and memory.
    fn joined(&mut self, now: Nanos) -> (Cause, Served) {
        let Joined { way, place, count, ref parts } = self.joined;
        let io = |op| {
            let block = on_drive(place, self.conventional, &self.layout)?;
            Some(Io { op, block, count })
        };
        match way {
            Way::Read => {
                let data = self.memory.room(count);
                let served = match io(Op::Read) {
                    Some(io) => self.drive.serve(now, &io, data),
                    None => Served { done: now, ..Served::default() },
                };
                if let Place::Native(_) = place {
                    self.counters.rmw_read_bytes += count * BLOCK_BYTES;
                }
                self.memory.have_read(place, parts);
                (Cause::Clean, served)
            }
            Way::Buffer { hosts } => {
                let io = io(Op::Write).expect("the buffer has a place");
                let served = self.drive.serve(now, &io, self.memory.for_buffer(parts));
                self.counters.log_bytes_written += count * BLOCK_BYTES;
                if hosts {
                    self.counters.buffer_written_blocks += count;
                }
                (if hosts { Cause::Log } else { Cause::Clean }, served)
            }
        }
    }

    /// A step that is joined with no other.
    fn by_itself(&mut self, now: Nanos, step: Step) -> (Cause, Served) {
        match step {
            Step::Append { zone, block, count } => self.append(now, zone, block, count),
            Step::Reset { zone } => {
                let at = Zone(self.conventional + zone.0);
                let served = zoned(self.drive.as_mut()).reset(now, at);
                self.counters.zone_resets += 1;
                let refused = |why| panic!("a reset that the drive refuses: {why}");
                (Cause::Clean, served.unwrap_or_else(refused))
            }
            Step::Commit => {
                self.memory.commit();
                (Cause::Clean, Served { done: now, ..Served::default() })
            }
            Step::Read { .. } | Step::Buffer { .. } => unreachable!("these may be joined"),
        }
    }

    /// Writes at the write pointer: data of the host that goes straight there, or a zone written back.
    fn append(&mut self, now: Nanos, zone: Zone, block: Block, count: u64) -> (Cause, Served) {
        let at = Zone(self.conventional + zone.0);
        let straight = self.memory.is_hosts(block, count) && !self.memory.gathers();
        if straight {
            self.counters.native_bytes_written += count * BLOCK_BYTES;
        } else {
            self.counters.band_bytes_written += count * BLOCK_BYTES;
            let home = (block.0 / self.layout.zone_blocks) as usize;
            if self.cleaned.is_none_or(|(cleaned, _)| cleaned != home) {
                self.settle();
                self.cleaned = Some((home, self.counters.buffer_evicted_blocks));
            }
        }
        let data = self.memory.for_zone(block, count);
        let served = zoned(self.drive.as_mut()).append(now, at, count, data);
        let refused = |why| panic!("an append of {count} blocks that the drive refuses: {why}");
        let (_, served) = served.unwrap_or_else(refused);
        (if straight { Cause::Write } else { Cause::Clean }, served)
    }
}

/// Where on the drive a place lies; `None` for none.
pub(super) fn on_drive(place: Place, conventional: u32, layout: &Layout) -> Option<Block> {
    match place {
        Place::Buffer(at) => Some(Block(at)),
        Place::Native(at) => Some(Block(u64::from(conventional) * layout.zone_blocks + at)),
        Place::Nowhere => None,
    }
}

pub(super) fn zoned(drive: &mut dyn Drive) -> &mut dyn Zoned {
    drive.zoned().expect("checked when it was made: the drive exposes zones")
}
