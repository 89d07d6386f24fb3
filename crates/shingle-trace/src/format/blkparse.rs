//! The default text output of blkparse for a Linux block trace.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  Q  FWS 223490 + 8 [kjournald]
//! major,minor CPU sequence time (s) PID action RWBS sector + sectors (of 512 bytes) [process]
//! ```
//!
//! From blkparse(1). A request has several lines, one for each step, so one step has to be chosen:
//! `--format blkparse:Q` reads requests as they are queued, before the kernel merges and sorts
//! them, `:D` as they are issued to the driver, `:C` as they complete. The default is the first of
//! these that occurs near the beginning of the text.
//!
//! An `F` at the start of RWBS is a flush before the request. It becomes a request of its own and
//! may have no data with it (`FN`). Then `R` reads, `W` writes, `D` discards, `N` does neither. The
//! letters after that (`F` for forced unit access, `A` read-ahead, `S` synchronous, `M` metadata,
//! `E` secure) are ignored. Lines of other steps, messages, the summary and commands without data
//! are skipped. A volume is `MAJOR:MINOR`.

use shingle_core::units::{NS_PER_S, Op};

use super::decode::{Decode, Pieces};
use super::{Decoded, Format, Match, Options, fields, number, text};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::Raw;
use crate::volume::{Pairs, Volumes};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    about: "blkparse's default text; blkparse:Q, :D or :C chooses queued, issued or completed",
    sniff,
    weigh: None,
    open,
};

/// The steps at which requests can be read; the first that occurs is the default.
const ACTIONS: [&str; 3] = ["Q", "D", "C"];

fn sniff(head: &[u8]) -> Option<Match> {
    Match::lines(Match::SURE, text::mostly(text::lines(head), |line| event(line).is_some()))
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    let action = match options.map {
        Some(told) => ACTIONS.into_iter().find(|action| *action == told).ok_or_else(|| {
            let told = shown(told.as_bytes());
            Problem::usage(format!("--format blkparse: has no step {told}; it takes Q, D or C"))
                .at(input.name(), Place::Whole)
        })?,
        None => {
            let head = input.peek(PEEK_BYTES_MAX)?;
            let occurs = |action: &&str| {
                text::lines(head).filter_map(event).any(|e| e.action == action.as_bytes())
            };
            ACTIONS.into_iter().find(occurs).unwrap_or(ACTIONS[0])
        }
    };
    let chosen = options.map.is_some();
    let volumes = Pairs::new(options.volume, b':');
    let decoder = Blkparse { action, chosen, volumes, pending: None };
    Decoded::records(Pieces::lines(input, decoder, options.reorder))
}

struct Event<'a> {
    major: &'a [u8],
    minor: &'a [u8],
    time: &'a [u8],
    action: &'a [u8],
    rwbs: &'a [u8],
    rest: &'a [u8],
}

#[inline]
fn event(line: &[u8]) -> Option<Event<'_>> {
    let ([device, cpu, sequence, time, pid, action, rwbs], rest) = fields::words_and_rest(line)?;
    let comma = memchr::memchr(b',', device)?;
    let (major, minor) = (&device[..comma], &device[comma + 1..]);
    let is_event = [major, minor, cpu, sequence, pid].iter().all(|f| number::whole(f).is_some())
        && time.contains(&b'.')
        && action.len() <= 2;
    is_event.then_some(Event { major, minor, time, action, rwbs, rest })
}

/// Handles a line that is no event: messages and the summary are skipped, an event cut short is an
/// error.
fn no_event(line: &[u8]) -> Result<Option<Raw>, Problem> {
    let cut_off = fields::words(line).is_some_and(|[first]| {
        let mut numbers = first.split(|&byte| byte == b',');
        numbers.all(|part| number::whole(part).is_some()) && first.contains(&b',')
    });
    if !cut_off {
        return Ok(None);
    }
    Err(Problem::syntax(format!(
        "an event is 'major,minor CPU sequence time PID action RWBS …', and this is {}; if it was \
         cut off, delete the line",
        shown(line)
    )))
}

struct Blkparse {
    action: &'static str,
    chosen: bool,
    volumes: Pairs,
    /// The data that follows the flush returned last.
    pending: Option<Raw>,
}

impl Decode for Blkparse {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some(event) = event(line) else { return no_event(line) };
        if event.action != self.action.as_bytes() {
            return Ok(None);
        }
        let Some(volume) = self.volumes.select(event.major, event.minor)? else { return Ok(None) };
        let ns = text::time(event.time, NS_PER_S, "time (column 4)")?;
        let data = data(&event)?.map(|(op, offset, bytes)| Raw { ns, offset, bytes, op, volume });
        if event.rwbs.starts_with(b"F") {
            self.pending = data;
            return Ok(Some(Raw { ns, offset: 0, bytes: 0, op: Op::Flush, volume }));
        }
        Ok(data)
    }

    #[inline]
    fn pending(&mut self) -> Option<Raw> {
        self.pending.take()
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(self.volumes.as_ref())
    }

    fn empty_error(&self) -> Problem {
        let others: Vec<String> = ACTIONS
            .into_iter()
            .filter(|&action| action != self.action)
            .map(|action| format!("blkparse:{action}"))
            .collect();
        Problem::new(
            Kind::Empty,
            format!(
                "holds no request with the action {}; read another step with --format {}",
                self.action,
                others.join(" or ")
            ),
        )
    }

    fn warning(&self) -> Option<String> {
        (!self.chosen && self.action != ACTIONS[0]).then(|| {
            format!(
                "no line near the beginning has the action Q (queued); requests are read at {} \
                 (--format blkparse:{})",
                self.action, self.action
            )
        })
    }
}

/// Returns operation, offset and bytes of an event; `None` if it has no data.
#[inline]
fn data(event: &Event<'_>) -> Result<Option<(Op, u64, u64)>, Problem> {
    let op = match event.rwbs.iter().find(|&&byte| byte != b'F') {
        Some(b'R') => Op::Read,
        Some(b'W') => Op::Write,
        Some(b'D') => Op::Trim,
        _ => return Ok(None),
    };
    let Some([sector, b"+", sectors]) = fields::words(event.rest) else { return Ok(None) };
    let bytes = text::sectors(sectors, "length (behind the +)")?;
    if bytes == 0 {
        return Ok(None);
    }
    Ok(Some((op, text::sectors(sector, "sector (column 8)")?, bytes)))
}
