//! lcs, libCacheSim's own binary format: a header of 8192 bytes, then little-endian records.
//!
//! ```text
//! header                                   record
//!    0  magic    u64  0x123456789abcdef0    0  time   u32   seconds
//!    8  version  u64  1 to 8                4  id     u64   of the object; of disks the address
//!   16  statistics                         12  size   u32   bytes; from version 3 on i64
//! 8184  magic    u64  again                    op     u8    from version 2 on
//!                                              tenant u24   from version 2 on
//!                                              ttl    u32   from version 3 on
//!                                              next   i64   as in oracleGeneral
//!                                              features     version 4: 1, 5: 2, 6: 4, 7: 8, 8: 16 u32
//! ```
//!
//! Operations are those of a key-value store (1 get, 3 set, 9 delete, …) and read (12) and write
//! (13). Version 1 has none and needs `--assume-op`, as does a request whose operation is unknown
//! (0 or 255). Tenants are volumes. For units of the id see `oracle_general.rs`.

use shingle_core::units::Op;

use super::binary::part;
use super::decode::{Decode, Pieces};
use super::oracle_general::{assumed_op, request, unit};
use super::{Decoded, Format, Match, Options};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "lcs",
    about: "libCacheSim's lcs, binary, versions 1 to 8",
    sniff: |head| Match::magic(head.starts_with(&MAGIC)),
    weigh: None,
    open,
};

const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();

const HEADER_BYTES: usize = 8192;

/// Bytes of a record, by version, from 1.
const RECORD_BYTES: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    let opened = version(input.next_record(HEADER_BYTES)?).and_then(|version| {
        let assumed = options.assume_op;
        if version == 1 {
            assumed_op(options)?;
        }
        let unit = unit(FORMAT.name, options)?;
        let volumes = (version > 1).then(|| Volumes::new(options.volume));
        Ok(Lcs { version, assumed, unit, volumes })
    });
    let decoder = opened.map_err(|problem| problem.at(input.name(), Place::Byte(0)))?;
    if decoder.version == 1 {
        options.without_volume(FORMAT.name, &input)?;
    }
    let bytes = RECORD_BYTES[decoder.version - 1];
    Decoded::records(Pieces::records(input, bytes, decoder, options.reorder))
}

fn version(header: &[u8]) -> Result<usize, Problem> {
    if !header.starts_with(&MAGIC) {
        return Err(Problem::new(Kind::Format, "does not begin as an lcs trace does"));
    }
    if header.len() < HEADER_BYTES {
        let message = format!(
            "the header has {} of {HEADER_BYTES} bytes: the file is cut short; copy it again",
            header.len()
        );
        return Err(Problem::new(Kind::Truncated, message));
    }
    if header[HEADER_BYTES - 8..] != MAGIC {
        return Err(Problem::new(
            Kind::Corrupt,
            "the header of 8192 bytes does not end with the magic number: the file is damaged, or \
             of an lcs older than version 1",
        ));
    }
    let version = u64::from_le_bytes(part(header, 8));
    usize::try_from(version).ok().filter(|v| (1..=RECORD_BYTES.len()).contains(v)).ok_or_else(
        || {
            Problem::new(
                Kind::Format,
                format!(
                    "is lcs of version {version}, and versions 1 to 8 are known; convert it to CSV"
                ),
            )
        },
    )
}

struct Lcs {
    version: usize,
    assumed: Option<Op>,
    unit: u64,
    volumes: Option<Volumes>,
}

impl Lcs {
    fn op(&self, code: u8) -> Result<Op, Problem> {
        Ok(match code {
            // Get, gets, read.
            1 | 2 | 12 => Op::Read,
            // Set, add, compare and swap, replace, append, prepend, increment, decrement; write,
            // update.
            3..=8 | 10 | 11 | 13 | 14 => Op::Write,
            // Delete.
            9 => Op::Trim,
            0 | 255 => self.assumed.ok_or_else(|| {
                Problem::syntax(
                    "the record does not say whether it reads or writes; take such requests for one \
                     with --assume-op read or --assume-op write",
                )
            })?,
            _ => return Err(Problem::syntax(format!("the operation {code} is unknown"))),
        })
    }
}

impl Decode for Lcs {
    #[inline]
    fn decode(&mut self, record: &[u8]) -> Result<Option<Raw>, Problem> {
        let seconds = u32::from_le_bytes(part(record, 0));
        let id = u64::from_le_bytes(part(record, 4));
        // A negative size is read as a huge one, which is refused later.
        let (bytes, tags) = if self.version < 3 {
            (u64::from(u32::from_le_bytes(part(record, 12))), 16)
        } else {
            (u64::from_le_bytes(part(record, 12)), 20)
        };
        if self.version == 1 {
            let op = self.assumed.expect("refused when opened");
            return request(seconds, id, bytes, op, self.unit).map(Some);
        }
        let tags = u32::from_le_bytes(part(record, tags));
        let mut volume = 0;
        if let Some(volumes) = &mut self.volumes {
            let mut digits = itoa::Buffer::new();
            match volumes.select(digits.format(tags >> 8).as_bytes())? {
                Some(number) => volume = number,
                None => return Ok(None),
            }
        }
        let op = self.op(tags as u8)?;
        request(seconds, id, bytes, op, self.unit).map(|raw| Some(Raw { volume, ..raw }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        self.volumes.as_ref()
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request")
    }

    fn warning(&self) -> Option<String> {
        Some(format!(
            "times are whole seconds, and ids are taken for addresses in units of {} bytes",
            self.unit
        ))
    }
}
