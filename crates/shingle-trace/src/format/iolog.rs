//! fio's I/O log, versions 2 and 3: written by `--write_iolog` and replayed by `--read_iolog`.
//!
//! ```text
//! fio version 2 iolog                  fio version 3 iolog
//! /dev/sdb add                         0 /dev/sdb add
//! /dev/sdb open                        0 /dev/sdb open
//! /dev/sdb write 4096 8192             151 /dev/sdb write 4096 8192
//! /dev/sdb wait 100 0                  163 /dev/sdb trim 0 1048576
//! /dev/sdb sync 0 0                    163 /dev/sdb datasync 0 0
//! ```
//!
//! Times of version 3 are microseconds. Version 2 has only `wait`: microseconds since the previous
//! wait; requests between two waits arrive at once. Files are volumes.

use shingle_core::units::Op;

use super::decode::{Decode, Pieces};
use super::{Decoded, Format, Match, Options};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format =
    Format { name: "iolog", about: "fio's I/O log, version 2 or 3", sniff, weigh: None, open };

const FIRST_LINES: [&[u8]; 2] = [b"fio version 2 iolog", b"fio version 3 iolog"];

const MICRO_NS: u64 = 1_000;

fn sniff(head: &[u8]) -> Option<Match> {
    let line = head.split(|&byte| byte == b'\n').next();
    Match::magic(line.and_then(timed).is_some())
}

/// Returns whether lines begin with a time, given the first line of the file.
fn timed(line: &[u8]) -> Option<bool> {
    let line = line.trim_ascii_end();
    FIRST_LINES.iter().position(|first| *first == line).map(|version| version == 1)
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    let timed = input.next_line()?.and_then(timed);
    let Some(timed) = timed else {
        let message = "the first line is not 'fio version 2 iolog' nor 'fio version 3 iolog'; is \
                       it another format? leave out --format to have it recognised";
        return Err(TraceError::new(Kind::Format, input.name(), Place::Line(1), message));
    };
    let decoder = Iolog { timed, now_ns: 0, volumes: Volumes::new(options.volume) };
    Decoded::records(Pieces::lines(input, decoder, options.reorder))
}

struct Iolog {
    timed: bool,
    /// Version 2: the sum of the waits.
    now_ns: u64,
    volumes: Volumes,
}

/// Returns the words of a line: time, file, action, offset and length; missing ones are empty.
fn words(line: &[u8], timed: bool) -> [&[u8]; 5] {
    let mut words: [&[u8]; 5] = [b""; 5];
    let there = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    for (word, place) in there.zip(&mut words[usize::from(!timed)..]) {
        *place = word;
    }
    words
}

impl Iolog {
    fn micros(field: &[u8], what: &str) -> Result<u64, Problem> {
        let micros = number(field, what)?;
        micros.checked_mul(MICRO_NS).ok_or_else(|| {
            Problem::range(format!("the {what} {micros} µs is longer than any trace"))
        })
    }
}

/// Parses a whole number. The error of `text::whole` would suggest other columns, which are fixed
/// here.
fn number(field: &[u8], what: &str) -> Result<u64, Problem> {
    super::number::whole(field).ok_or_else(|| {
        Problem::syntax(format!("the {what} is {}, not a whole number", shown(field)))
    })
}

impl Decode for Iolog {
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let [time, file, action, offset, length] = words(line, self.timed);
        let op = match action {
            b"add" | b"open" | b"close" | b"unlink" => return Ok(None),
            b"wait" if !self.timed => {
                let wait = Self::micros(offset, "wait")?;
                self.now_ns = self.now_ns.checked_add(wait).ok_or_else(|| {
                    Problem::range("the waits add up to more time than any trace takes")
                })?;
                return Ok(None);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"sync_file_range" => Op::Flush,
            b"" => {
                let form = if self.timed { "microseconds " } else { "" };
                return Err(Problem::syntax(format!(
                    "there are too few words in {}; a line is {form}file action offset length",
                    shown(line)
                )));
            }
            _ => {
                let known = "add, open, close, read, write, trim, sync and datasync are known, and \
                             wait in version 2";
                return Err(Problem::syntax(format!(
                    "the action {} is unknown: {known}",
                    shown(action)
                )));
            }
        };
        let ns = if self.timed { Self::micros(time, "time")? } else { self.now_ns };
        let Some(volume) = self.volumes.select(file)? else { return Ok(None) };
        if op == Op::Flush {
            return Ok(Some(Raw { ns, offset: 0, bytes: 0, op, volume }));
        }
        let (offset, bytes) = (number(offset, "offset")?, number(length, "length")?);
        Ok(Some(Raw { ns, offset, bytes, op, volume }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: no line reads, writes, trims or syncs")
    }

    fn warning(&self) -> Option<String> {
        (!self.timed && self.now_ns == 0)
            .then(|| "version 2 without wait has no times: every request arrives at 0".to_owned())
    }
}
