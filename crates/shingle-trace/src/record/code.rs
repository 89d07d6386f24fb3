//! Encodes events as bytes: a code, then numbers of seven bits a byte, the lowest first (LEB128).
//! Addresses and times are differences to the last ones in the chunk, with the sign in the lowest
//! bit.

use shingle_core::cache::Outcome;
use shingle_core::observer::{Attempt, Event};
use shingle_core::policy::Cost;
use shingle_core::units::{Block, Nanos, Op, Request, Slot};

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

// Codes. The code of an access is a sum: `ACCESS`, what was called, and the outcome.
const REQUEST: u8 = 0;
/// A request that is not valid in a trace, as it has no bytes or too many: it is encoded in full.
const ODD_REQUEST: u8 = 1;
const ANSWERED: u8 = 2;
const FAILED: u8 = 3;
const TIME: u8 = 4;
const RESTORED_CLEAN: u8 = 5;
const RESTORED_DIRTY: u8 = 6;
const DROPPED: u8 = 7;
const LEAVES: u8 = 8;
const STAYS: u8 = 9;
const ROOM: u8 = 10;
const IDLE: u8 = 11;
const BEGUN: u8 = 12;
const NOT_BEGUN: u8 = 13;
const DESTAGED: u8 = 14;
const DESTAGED_FREE: u8 = 15;
const KEPT: u8 = 16;
const TRIMMED: u8 = 17;
const PINNED: u8 = 18;
const UNPINNED: u8 = 19;
const OBSERVED_READ: u8 = 20;
const OBSERVED_WRITE: u8 = 21;
const ACCESS: u8 = 32; // + 4 if again; + 0 hit, 1 miss, 2 bypass, 3 no room
const IO: u8 = 64; // + 1 if SSD, + 2 if failed, + 4 × operation

/// The last values, to which differences are taken.
#[derive(Clone, Copy, Default)]
pub(super) struct Last {
    number: u64,
    block: u64,
    page: u64,
    at: u64,
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_delta(out: &mut Vec<u8>, last: &mut u64, now: u64) {
    let change = now.wrapping_sub(*last) as i64;
    put(out, ((change << 1) ^ (change >> 63)) as u64);
    *last = now;
}

/// Appends an event to a chunk. `in_trace` says whether a request is in the trace as well.
pub(super) fn encode(out: &mut Vec<u8>, last: &mut Last, event: &Event, in_trace: bool) {
    match *event {
        Event::Request(_) if in_trace => out.push(REQUEST),
        Event::Request(Request { at, offset, bytes, op }) => {
            out.push(ODD_REQUEST);
            put_delta(out, &mut last.at, at.0);
            [op as u64, offset, bytes].into_iter().for_each(|number| put(out, number));
        }
        Event::Answered { number, at, done } => {
            out.push(if done { ANSWERED } else { FAILED });
            put_delta(out, &mut last.number, number);
            put_delta(out, &mut last.at, at.0);
        }
        Event::Io { ssd, op, first, blocks, at, took, done } => {
            out.push(IO + u8::from(ssd) + 2 * u8::from(!done) + 4 * (op as u8));
            put_delta(out, if ssd { &mut last.page } else { &mut last.block }, first.0);
            put(out, blocks);
            put_delta(out, &mut last.at, at.0);
            put(out, took.0);
        }
        Event::Time(at) => {
            out.push(TIME);
            put_delta(out, &mut last.at, at.0);
        }
        Event::Restored { block, dirty } => {
            out.push(if dirty { RESTORED_DIRTY } else { RESTORED_CLEAN });
            put_delta(out, &mut last.block, block.0);
        }
        Event::Access { asked, number, block, outcome } => {
            let again = if asked == Attempt::Retry { 4 } else { 0 };
            let (what, slot) = match outcome {
                Outcome::Hit(slot) => (0, Some(slot)),
                Outcome::Miss(slot) => (1, Some(slot)),
                Outcome::Bypass => (2, None),
                Outcome::NoRoom => (3, None),
            };
            out.push(ACCESS + again + what);
            put_delta(out, &mut last.number, number);
            put_delta(out, &mut last.block, block.0);
            if let Some(slot) = slot {
                put(out, slot.0.into());
            }
        }
        Event::Dropped(block) | Event::Leaves(block) | Event::Stays(block) => {
            out.push(match event {
                Event::Dropped(_) => DROPPED,
                Event::Leaves(_) => LEAVES,
                _ => STAYS,
            });
            put_delta(out, &mut last.block, block.0);
        }
        Event::Room(want) => put_code_and_number(out, ROOM, want.into()),
        Event::Idle(want) => put_code_and_number(out, IDLE, want.into()),
        Event::Begun(slot, may) => {
            put_code_and_number(out, if may { BEGUN } else { NOT_BEGUN }, slot.0.into());
        }
        Event::Destaged(slot, freed) => {
            put_code_and_number(out, if freed { DESTAGED_FREE } else { DESTAGED }, slot.0.into());
        }
        Event::Kept(slot) => put_code_and_number(out, KEPT, slot.0.into()),
        Event::Trimmed { first, count, dropped } => {
            out.push(TRIMMED);
            put_delta(out, &mut last.block, first.0);
            put(out, count);
            put(out, dropped);
        }
        Event::Pinned(slot) => put_code_and_number(out, PINNED, slot.0.into()),
        Event::Unpinned(slot) => put_code_and_number(out, UNPINNED, slot.0.into()),
        Event::Observed(Cost { op, blocks, took }) => {
            put_code_and_number(
                out,
                if op == Op::Read { OBSERVED_READ } else { OBSERVED_WRITE },
                blocks,
            );
            put(out, took.0);
        }
    }
}

fn put_code_and_number(out: &mut Vec<u8>, code: u8, number: u64) {
    out.push(code);
    put(out, number);
}

/// A decoded event, or a reference to the trace.
pub(super) enum Decoded {
    Event(Event),
    /// The next request of the trace.
    Request,
}

/// Reads bytes from the front of a chunk.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn read_delta(&mut self, last: &mut u64) -> Option<u64> {
        let number = self.number()?;
        let change = (number >> 1) ^ 0_u64.wrapping_sub(number & 1);
        *last = last.wrapping_add(change);
        Some(*last)
    }

    fn slot(&mut self) -> Option<Slot> {
        u32::try_from(self.number()?).ok().map(Slot)
    }

    /// Returns the next event; `None` if the bytes are no event.
    pub(super) fn event(&mut self, last: &mut Last) -> Option<Decoded> {
        let code = self.byte()?;
        let event = match code {
            REQUEST => return Some(Decoded::Request),
            ODD_REQUEST => {
                let at = Nanos(self.read_delta(&mut last.at)?);
                let op = *OPS.get(self.number()? as usize)?;
                let (offset, bytes) = (self.number()?, self.number()?);
                Event::Request(Request { at, offset, bytes, op })
            }
            ANSWERED | FAILED => Event::Answered {
                number: self.read_delta(&mut last.number)?,
                at: Nanos(self.read_delta(&mut last.at)?),
                done: code == ANSWERED,
            },
            TIME => Event::Time(Nanos(self.read_delta(&mut last.at)?)),
            RESTORED_CLEAN | RESTORED_DIRTY => Event::Restored {
                block: Block(self.read_delta(&mut last.block)?),
                dirty: code == RESTORED_DIRTY,
            },
            DROPPED => Event::Dropped(Block(self.read_delta(&mut last.block)?)),
            LEAVES => Event::Leaves(Block(self.read_delta(&mut last.block)?)),
            STAYS => Event::Stays(Block(self.read_delta(&mut last.block)?)),
            ROOM => Event::Room(u32::try_from(self.number()?).ok()?),
            IDLE => Event::Idle(u32::try_from(self.number()?).ok()?),
            BEGUN | NOT_BEGUN => Event::Begun(self.slot()?, code == BEGUN),
            DESTAGED | DESTAGED_FREE => Event::Destaged(self.slot()?, code == DESTAGED_FREE),
            KEPT => Event::Kept(self.slot()?),
            TRIMMED => Event::Trimmed {
                first: Block(self.read_delta(&mut last.block)?),
                count: self.number()?,
                dropped: self.number()?,
            },
            PINNED => Event::Pinned(self.slot()?),
            UNPINNED => Event::Unpinned(self.slot()?),
            OBSERVED_READ | OBSERVED_WRITE => Event::Observed(Cost {
                op: if code == OBSERVED_READ { Op::Read } else { Op::Write },
                blocks: self.number()?,
                took: Nanos(self.number()?),
            }),
            ACCESS..40 => {
                let number = self.read_delta(&mut last.number)?;
                let block = Block(self.read_delta(&mut last.block)?);
                let outcome = match code & 3 {
                    0 => Outcome::Hit(self.slot()?),
                    1 => Outcome::Miss(self.slot()?),
                    2 => Outcome::Bypass,
                    _ => Outcome::NoRoom,
                };
                let asked = if code & 4 == 0 { Attempt::Access } else { Attempt::Retry };
                Event::Access { asked, number, block, outcome }
            }
            IO..80 => {
                let ssd = code & 1 != 0;
                let place = if ssd { &mut last.page } else { &mut last.block };
                Event::Io {
                    ssd,
                    op: OPS[usize::from((code - IO) >> 2)],
                    first: Block(self.read_delta(place)?),
                    blocks: self.number()?,
                    at: Nanos(self.read_delta(&mut last.at)?),
                    took: Nanos(self.number()?),
                    done: code & 2 == 0,
                }
            }
            _ => return None,
        };
        Some(Decoded::Event(event))
    }
}
