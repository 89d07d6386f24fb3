//! oracleGeneral, the binary format in which libCacheSim publishes traces: little-endian records of
//! 24 bytes.
//!
//! ```text
//!  0  time  u32   seconds
//!  4  id    u64   of the object
//! 12  size  u32   bytes of the object
//! 16  next  i64   number of the next request for it, from 1; -1 or 2⁶³-1 if there is none
//! ```
//!
//! The format does not say whether a request reads or writes, so `--assume-op` is required. The id
//! is an address only in traces of disks. In the CloudPhysics sample it is the number of the
//! 512-byte sector at which the request begins, equal in each record to that of the same trace as
//! vscsi. So sectors are the default; `--format oracleGeneral:bytes` and `:blocks` (4 KiB) choose
//! another unit. Hashes of keys are no addresses, and mostly lead to an error past the largest
//! disk.
//!
//! An object has one size, so all requests for an address have the length of the first: in that
//! sample 12 % of the requests have a wrong length.

use shingle_core::units::{NS_PER_S, Op, SECTOR_BYTES};

use super::binary::part;
use super::decode::{Decode, Pieces};
use super::text::is_binary;
use super::{Decoded, Evidence, Format, Match, Options, csv};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::Input;
use crate::source::Raw;

pub(super) const FORMAT: Format = Format {
    name: "oracleGeneral",
    about: "libCacheSim's oracleGeneral, binary; needs --assume-op, as it does not tell reads from \
            writes",
    sniff,
    weigh: None,
    open,
};

pub(super) const RECORD_BYTES: usize = 24;

/// Checks what every record satisfies, because there is no magic number: the next request for an
/// object comes later than this one, and times do not go back. Text is excluded first, since lines
/// can satisfy that by chance.
fn sniff(head: &[u8]) -> Option<Match> {
    const RECORDS_MIN: usize = 4;
    if !is_binary(head) {
        return None;
    }
    let (mut count, mut last) = (0_usize, 0);
    for record in head.chunks_exact(RECORD_BYTES) {
        let (time, next) =
            (u32::from_le_bytes(part(record, 0)), i64::from_le_bytes(part(record, 16)));
        let size = u32::from_le_bytes(part(record, 12));
        let later = next == -1 || usize::try_from(next).is_ok_and(|next| next > count);
        if time < last || !later || size == 0 {
            return None;
        }
        (count, last) = (count + 1, time);
    }
    // Less sure than matching lines or a magic number.
    (count >= RECORDS_MIN).then_some(Match { sureness: 80, evidence: Evidence::Records(count) })
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_volume(FORMAT.name, &input)?;
    let decoder = assumed_op(options)
        .and_then(|op| Ok(OracleGeneral { op, unit: unit(FORMAT.name, options)? }))
        .map_err(|problem| problem.at(input.name(), Place::Whole))?;
    Decoded::records(Pieces::records(input, RECORD_BYTES, decoder, options.reorder))
}

/// Returns the operation that the user chose for all requests.
pub(super) fn assumed_op(options: &Options<'_>) -> Result<Op, Problem> {
    options.assume_op.ok_or_else(|| {
        Problem::usage(
            "does not say which requests are writes, and results for writes would mean nothing; \
             take all for one with --assume-op read or --assume-op write, or find the trace in the \
             format it was recorded in",
        )
    })
}

/// Returns the unit of ids as addresses, from the text after the colon behind the name of the
/// format.
pub(super) fn unit(format: &str, options: &Options<'_>) -> Result<u64, Problem> {
    let Some(name) = options.map else { return Ok(SECTOR_BYTES) };
    csv::size_unit(name).ok_or_else(|| {
        Problem::usage(format!(
            "--format {format}:{} names no unit; ids are addresses in bytes, sectors (512 B) or \
             blocks (4 KiB): --format {format}:sectors",
            shown(name.as_bytes())
        ))
    })
}

/// Creates a request from the fields that both formats of libCacheSim have.
#[inline]
pub(super) fn request(
    seconds: u32,
    id: u64,
    bytes: u64,
    op: Op,
    unit: u64,
) -> Result<Raw, Problem> {
    let offset = id.checked_mul(unit).ok_or_else(|| {
        Problem::range(format!(
            "id {id} × {unit} bytes is past the largest disk: the ids are no addresses, or of \
             another unit (--format NAME:bytes|sectors|blocks)"
        ))
    })?;
    Ok(Raw { ns: u64::from(seconds) * NS_PER_S, offset, bytes, op, volume: 0 })
}

struct OracleGeneral {
    op: Op,
    unit: u64,
}

impl Decode for OracleGeneral {
    #[inline]
    fn decode(&mut self, record: &[u8]) -> Result<Option<Raw>, Problem> {
        let seconds = u32::from_le_bytes(part(record, 0));
        let (id, bytes) =
            (u64::from_le_bytes(part(record, 4)), u32::from_le_bytes(part(record, 12)));
        request(seconds, id, u64::from(bytes), self.op, self.unit).map(Some)
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request")
    }

    fn warning(&self) -> Option<String> {
        let op = if self.op == Op::Write { "writes" } else { "reads" };
        Some(format!(
            "the format does not tell reads from writes: all are taken for {op}; times are whole \
             seconds, sizes those of the first request for an address, and ids addresses in units \
             of {} bytes",
            self.unit
        ))
    }
}
