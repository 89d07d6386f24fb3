//! MSR Cambridge: the CSV of the volumes traced at Microsoft Research (SNIA IOTTA 388).
//!
//! ```text
//! 128166372003061629,hm,1,Read,8110592,4096,1331
//! time (FILETIME),host,disk,Read|Write,offset,size,response (FILETIME)
//! ```
//!
//! No header; offsets and sizes in bytes; one FILETIME tick is 100 ns since 1601. Disk numbers
//! repeat across hosts, so a volume is `HOST.DISK`. Some copies put a header line in front.

use shingle_core::units::Op;

use super::text::{self, Decode, TextSource};
use super::{Decoded, Format, Match, Options, number};
use crate::error::{Problem, TraceError};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge CSV: FILETIME,host,disk,Read|Write,offset,size,response",
    sniff,
    open,
};

/// Ticks of a FILETIME in this century have 18 digits; that tells them from other columns.
const TICK_DIGITS: usize = 18;
const TICK_NS: u64 = 100;

fn sniff(head: &[u8]) -> Match {
    let lines = text::lines(head).filter(|line| !is_header(line));
    let good = text::most(lines, |line| {
        fields(line).is_some_and(|[time, _, _, op, offset, size]| {
            time.len() == TICK_DIGITS
                && [time, offset, size].iter().all(|field| number::whole(field).is_some())
                && op_of(op).is_some()
        })
    });
    if good { Match::SURE } else { Match::NO }
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    let head = input.peek(PEEK_BYTES_MAX)?;
    if text::lines(head).next().is_some_and(is_header) {
        text::consume_first(&mut input)?;
    }
    let decoder = Msr {
        volumes: Volumes::new(options.volume),
        taken: Vec::new(),
        number: 0,
        name: Vec::new(),
    };
    Decoded::records(TextSource::new(input, decoder, options.reorder))
}

fn is_header(line: &[u8]) -> bool {
    let line = line.to_ascii_lowercase();
    line.starts_with(b"timestamp,host")
}

struct Msr {
    volumes: Volumes,
    /// `host,disk` of the volume that is read, as the file writes it: the quick test.
    taken: Vec<u8>,
    /// Its number.
    number: u32,
    /// Scratch for `host.disk`.
    name: Vec<u8>,
}

impl Msr {
    fn takes(&mut self, host: &[u8], disk: &[u8], both: &[u8]) -> Result<Option<u32>, Problem> {
        if !self.taken.is_empty() && self.taken == both {
            return Ok(Some(self.number));
        }
        self.name.clear();
        self.name.extend_from_slice(text::bare(host));
        self.name.push(b'.');
        self.name.extend_from_slice(text::bare(disk));
        let takes = self.volumes.takes(&self.name)?;
        if let Some(number) = takes {
            self.number = number;
            self.taken.clear();
            self.taken.extend_from_slice(both);
        }
        Ok(takes)
    }
}

impl Decode for Msr {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some([time, host, disk, op, offset, size]) = fields(line) else {
            return Err(Problem::syntax(
                "there are fewer than 6 columns; a line is time,host,disk,Read|Write,offset,size,\
                 response; for others use --format csv:time=1/us,op=2,…",
            ));
        };
        let from = time.len() + 1;
        let both = &line[from..from + host.len() + 1 + disk.len()];
        let Some(volume) = self.takes(host, disk, both)? else { return Ok(None) };
        let ticks = text::whole(time, "time (column 1)")?;
        let op = op_of(op).ok_or_else(|| text::unknown_op(op, "here it is Read or Write"))?;
        let offset = text::whole(offset, "offset (column 5)")?;
        let bytes = text::whole(size, "size (column 6)")?;
        let ns = ticks.checked_mul(TICK_NS).ok_or_else(|| {
            Problem::range("the time is no FILETIME (100 ns); use --format csv:time=1/us,…")
        })?;
        Ok(Some(Raw { ns, offset, bytes, op, volume }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }
}

/// The first six columns; the response time is not needed.
#[inline]
fn fields(line: &[u8]) -> Option<[&[u8]; 6]> {
    let mut fields: [&[u8]; 6] = [b""; 6];
    let mut from = 0;
    let mut commas = memchr::memchr_iter(b',', line);
    for (index, field) in fields.iter_mut().enumerate() {
        let end = match commas.next() {
            Some(end) => end,
            // The response may be missing, with its comma.
            None if index == 5 => line.len(),
            None => return None,
        };
        *field = &line[from..end];
        from = end + 1;
    }
    Some(fields)
}

#[inline]
fn op_of(field: &[u8]) -> Option<Op> {
    match field {
        b"Write" => Some(Op::Write),
        b"Read" => Some(Op::Read),
        _ => {
            let field = text::bare(field);
            let is = |word: &[u8]| field.eq_ignore_ascii_case(word);
            if is(b"write") || is(b"w") {
                Some(Op::Write)
            } else if is(b"read") || is(b"r") {
                Some(Op::Read)
            } else {
                None
            }
        }
    }
}
