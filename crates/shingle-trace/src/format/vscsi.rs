//! VMware vSCSI: fixed binary records, little-endian, as CloudPhysics published them.
//!
//! ```text
//! version 1, 32 bytes                        version 2, 40 bytes
//!  0  sn   u32                                0  cmd  u16   SCSI operation code
//!  4  len  u32   bytes                        2  ver  u16   version in the high byte
//!  8  nSG  u32   scatter-gather elements      4  sn   u32   serial number
//! 12  cmd  u16   SCSI operation code          8  len  u32   bytes
//! 14  ver  u16   version in the high byte    12  nSG  u32
//! 16  lbn  u64   512-byte sector             16  lbn  u64   512-byte sector
//! 24  ts   u64   microseconds                24  ts   u64   microseconds
//!                                            32  rt   u64   response time
//! ```
//!
//! Commands that move no data (INQUIRY, RESERVE, …) are skipped. So are UNMAP and WRITE SAME,
//! because the record does not hold their extents; a warning counts them. Any other command is an
//! error, because to leave out requests silently would falsify the trace.

use shingle_core::units::{Op, SECTOR_BYTES};

use super::binary::part;
use super::decode::{Decode, Pieces};
use super::{Decoded, Evidence, Format, Match, Options};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    about: "VMware vSCSI, binary records of version 1 or 2",
    sniff,
    weigh: None,
    open,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

impl Version {
    fn record_bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    fn is_of(self, record: &[u8]) -> bool {
        match self {
            Version::One => record[15] == 1,
            Version::Two => record[3] == 2,
        }
    }
}

struct Record {
    cmd: u16,
    bytes: u32,
    sector: u64,
    micros: u64,
}

impl Record {
    fn of(version: Version, record: &[u8]) -> Record {
        let (cmd, len) = match version {
            Version::One => (12, 4),
            Version::Two => (0, 8),
        };
        Record {
            cmd: u16::from_le_bytes(part(record, cmd)),
            bytes: u32::from_le_bytes(part(record, len)),
            sector: u64::from_le_bytes(part(record, 16)),
            micros: u64::from_le_bytes(part(record, 24)),
        }
    }
}

/// The meaning of a SCSI operation code.
enum Command {
    Request(Op),
    /// A command without data, which is no request.
    NoData,
    /// A deallocation or fill whose extents are not in the record.
    NoExtents,
    Unknown,
}

fn command(cmd: u16) -> Command {
    match cmd {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Command::Request(Op::Read),
        // WRITE, WRITE AND VERIFY, COMPARE AND WRITE.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x89 => Command::Request(Op::Write),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Command::Request(Op::Flush),
        // UNMAP; WRITE SAME (10), (16).
        0x42 | 0x41 | 0x93 => Command::NoExtents,
        // TEST UNIT READY, REQUEST SENSE, INQUIRY, MODE SELECT and SENSE, RESERVE, RELEASE,
        // START STOP, PREVENT REMOVAL, READ CAPACITY, VERIFY, PRE-FETCH, LOG, PERSISTENT RESERVE,
        // SERVICE ACTION IN, REPORT LUNS, MAINTENANCE.
        0x00 | 0x03 | 0x12 | 0x15 | 0x16 | 0x17 | 0x1a | 0x1b | 0x1e | 0x25 | 0x2f | 0x34
        | 0x4c | 0x4d | 0x55 | 0x56 | 0x57 | 0x5a | 0x5e | 0x5f | 0x8f | 0x90 | 0x9e | 0xa0
        | 0xa3 | 0xa4 | 0xaf => Command::NoData,
        _ => Command::Unknown,
    }
}

/// Returns the version of these records. All must claim it. Only most operations must be known, so
/// that an unknown one is reported by this format, with its place.
fn version_of(head: &[u8]) -> Option<Version> {
    [Version::One, Version::Two].into_iter().find(|&version| {
        let (mut all, mut known) = (0, 0);
        for record in head.chunks_exact(version.record_bytes()) {
            if !version.is_of(record) {
                return false;
            }
            all += 1;
            let cmd = Record::of(version, record).cmd;
            known += usize::from(!matches!(command(cmd), Command::Unknown));
        }
        known * 2 > all
    })
}

fn sniff(head: &[u8]) -> Option<Match> {
    let records = head.len() / version_of(head)?.record_bytes();
    // A single record may match by chance.
    let sureness = if records >= 2 { Match::SURE } else { Match::LIKELY };
    Some(Match { sureness, evidence: Evidence::Records(records) })
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    options.without_volume(FORMAT.name, &input)?;
    // The first record decides, so that a later fault is reported at its own place.
    let head = input.peek(Version::Two.record_bytes())?;
    let version = [Version::One, Version::Two]
        .into_iter()
        .find(|version| head.len() >= version.record_bytes() && version.is_of(head));
    let Some(version) = version else {
        let message = if head.len() < Version::One.record_bytes() {
            format!("{} bytes are less than one vscsi record", head.len())
        } else {
            "the first record says neither version 1 nor 2: this is no vscsi trace; leave out \
             --format to have it recognised"
                .to_owned()
        };
        return Err(TraceError::new(Kind::Format, input.name(), Place::Byte(0), message));
    };
    let decoder = Vscsi { version, without_extents: 0 };
    Decoded::records(Pieces::records(input, version.record_bytes(), decoder, options.reorder))
}

struct Vscsi {
    version: Version,
    without_extents: u64,
}

impl Decode for Vscsi {
    #[inline]
    fn decode(&mut self, bytes: &[u8]) -> Result<Option<Raw>, Problem> {
        let record = Record::of(self.version, bytes);
        if !self.version.is_of(bytes) {
            return Err(Problem::new(
                Kind::Corrupt,
                "the record has another version than the first one: the file is damaged or no \
                 vscsi trace",
            ));
        }
        let op = match command(record.cmd) {
            Command::Request(op) => op,
            Command::NoData => return Ok(None),
            Command::NoExtents => {
                self.without_extents += 1;
                return Ok(None);
            }
            Command::Unknown => return Err(unknown(record.cmd)),
        };
        let ns = record.micros.checked_mul(1_000);
        let offset = record.sector.checked_mul(SECTOR_BYTES);
        let (Some(ns), Some(offset)) = (ns, offset) else {
            return Err(Problem::range(format!(
                "sector {} or time {} µs is beyond any disk: the file is damaged",
                record.sector, record.micros
            )));
        };
        Ok(Some(Raw { ns, offset, bytes: u64::from(record.bytes), op, volume: 0 }))
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: no record reads, writes or flushes")
    }

    fn warning(&self) -> Option<String> {
        (self.without_extents > 0).then(|| {
            format!(
                "{} UNMAP or WRITE SAME commands were passed over: the records do not say what \
                 they cover",
                self.without_extents
            )
        })
    }
}

#[cold]
fn unknown(cmd: u16) -> Problem {
    Problem::syntax(format!(
        "the operation 0x{cmd:02x} is unknown: SCSI reads, writes and flushes are, and commands \
         without data; convert the trace to CSV without it"
    ))
}
