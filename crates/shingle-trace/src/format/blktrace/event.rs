//! One event of a blktrace file, in either byte order.
//!
//! ```text
//!  0  magic     u32  0x65617400 + version (7)      32  pid      u32
//!  4  sequence  u32                                36  device   u32  major << 20 | minor
//!  8  time      u64  ns                            40  cpu      u32
//! 16  sector    u64  of 512 bytes                  44  error    u16
//! 24  bytes     u32                                46  pdu_len  u16  bytes that follow
//! 28  action    u32  what happened; its categories in the high 16 bits
//! ```

use super::super::binary::{cut_short, part};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;

pub(super) const RECORD_BYTES: usize = 48;

const MAGIC: u32 = 0x6561_7400;

const VERSION: u32 = 7;

/// Categories, in the high half of an action.
pub(super) const WRITE: u32 = 1 << 17;
pub(super) const FLUSH: u32 = 1 << 18;
const PASS_THROUGH: u32 = 1 << 24;
const NOTIFY: u32 = 1 << 26;
pub(super) const DISCARD: u32 = 1 << 29;
pub(super) const FUA: u32 = 1 << 31;

/// In the low half of an action: the event is of a control group.
const CGROUP: u32 = 1 << 8;

/// The events that are read as requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Queued: as the file system or program asked.
    Queue,
    /// Issued to the driver: after merging and scheduling.
    Issue,
    Complete,
}

impl Action {
    /// Parses the letter that blkparse prints.
    pub(super) fn parse(letter: &str) -> Option<Action> {
        Some(match letter {
            "Q" => Action::Queue,
            "D" => Action::Issue,
            "C" => Action::Complete,
            _ => return None,
        })
    }

    pub(super) fn letter(self) -> char {
        match self {
            Action::Queue => 'Q',
            Action::Issue => 'D',
            Action::Complete => 'C',
        }
    }

    fn code(self) -> u32 {
        match self {
            Action::Queue => 1,
            Action::Issue => 7,
            Action::Complete => 8,
        }
    }
}

/// The fields of an event that a request needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) categories: u32,
    pub(super) device: u32,
    /// Offset of its record in the file.
    pub(super) byte: u64,
}

/// Returns whether a file that begins like this is big-endian; `None` if it is no blktrace file.
pub(super) fn is_big_endian(head: &[u8]) -> Option<bool> {
    let word: [u8; 4] = head.get(..4)?.try_into().ok()?;
    let small = |word: u32| word & 0xff < 0x20 && word & 0xffff_ff00 == MAGIC;
    if small(u32::from_le_bytes(word)) {
        Some(false)
    } else if small(u32::from_be_bytes(word)) {
        Some(true)
    } else {
        None
    }
}

pub(super) struct Events {
    pub(super) input: Input,
    big_endian: bool,
    action: Action,
    /// Number of records, of the chosen action and of others.
    pub(super) records: u64,
}

impl Events {
    pub(super) fn new(mut input: Input, action: Action) -> Result<Events, TraceError> {
        let Some(big_endian) = is_big_endian(input.peek(RECORD_BYTES)?) else {
            let message = "the first record does not begin with the magic number of blktrace; \
                           leave out --format to have the format recognised";
            return Err(TraceError::new(Kind::Format, input.name(), Place::Byte(0), message));
        };
        Ok(Events { input, big_endian, action, records: 0 })
    }

    /// Returns the next event of the chosen action; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            let byte = self.input.byte();
            let record = self.input.next_record(RECORD_BYTES)?;
            if record.is_empty() {
                return Ok(None);
            }
            let decoded = decoded(record, self.big_endian, byte);
            let (event, code, pdu_bytes) =
                decoded.map_err(|problem| problem.at(self.input.name(), Place::Byte(byte)))?;
            let there = self.input.next_record(pdu_bytes)?.len();
            if there < pdu_bytes {
                let problem = cut_short(RECORD_BYTES + there, RECORD_BYTES + pdu_bytes);
                return Err(problem.at(self.input.name(), Place::Byte(byte)));
            }
            self.records += 1;
            let request = event.categories & (NOTIFY | PASS_THROUGH) == 0;
            if request && code == self.action.code() {
                return Ok(Some(event));
            }
        }
    }
}

/// Returns the event, its action without categories, and the number of bytes after the record.
fn decoded(record: &[u8], big_endian: bool, byte: u64) -> Result<(Event, u32, usize), Problem> {
    if record.len() < RECORD_BYTES {
        return Err(cut_short(record.len(), RECORD_BYTES));
    }
    let number = |from: usize| {
        let bytes = part(record, from);
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let long = |from: usize| {
        let bytes = part(record, from);
        if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    };
    let magic = number(0);
    if magic & 0xffff_ff00 != MAGIC {
        return Err(Problem::new(
            Kind::Corrupt,
            format!(
                "the record begins with 0x{magic:08x} and not with the magic number of blktrace: \
                 the file is damaged; copy it again"
            ),
        ));
    }
    if magic & 0xff != VERSION {
        return Err(Problem::new(
            Kind::Format,
            format!(
                "the record is of blktrace version {}, and version {VERSION} is known; convert it \
                 to text with blkparse",
                magic & 0xff
            ),
        ));
    }
    let action = number(28);
    let event = Event {
        ns: long(8),
        sector: long(16),
        bytes: number(24),
        categories: action & 0xffff_0000,
        device: number(36),
        byte,
    };
    let pdu = part(record, 46);
    let pdu = if big_endian { u16::from_be_bytes(pdu) } else { u16::from_le_bytes(pdu) };
    Ok((event, action & 0xffff & !CGROUP, usize::from(pdu)))
}
