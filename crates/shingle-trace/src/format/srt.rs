//! SRT, the format in which Hewlett-Packard Laboratories recorded the disks of HP-UX systems
//! (Ruemmler and Wilkes, USENIX Winter 1993): a text header that ends with a form feed, then binary
//! records, big-endian.
//!
//! ```text
//!  0  size    u32   bytes of this record
//!  4  version u16   1 to 4
//!  6  kind    u16   1: a request, 4: a request of which the tracer doubts something
//!  8  sec     u32   when it was queued, since the date in the header
//! 12  usec    u32
//! 16  start   u32   µs until the disk began with it, not used
//! 20  stop    u32   µs until it was done, not used
//! 24  bytes   u32
//! 28  sector  u32   on the disk, of the size that the header has for the disk
//! 32  device  u32   from the third byte on: disk, section of it
//! 36  driver, cylinder   u32 each
//! 44  flags   u32   bit 0: a read
//! 48  info    u32
//! 52  queue   u32   from version 4 on; doubted requests have four bytes more
//! ```
//!
//! The layout comes from public programs that read it, and from the trace `ajw`: sector and
//! cylinder of its records fit the geometry in its header only with the header's sectors of 256
//! bytes.

use std::collections::BTreeMap;

use shingle_core::units::{NS_PER_S, Op};

use super::binary::{cut_short, part};
use super::{Decoded, Format, Match, Options};
use crate::arrange::{Records, fill_from};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::{Gate, Raw};
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "srt",
    about: "HP-UX disk traces of Hewlett-Packard Laboratories, binary; disks are volumes",
    sniff: |head| Match::magic(head.starts_with(MAGIC)),
    weigh: None,
    open,
};

const MAGIC: &[u8] = b"$$TR_IOREC-";
const HEADER_ENDS: u8 = 0x0c;
/// Fields that every record has.
const FIELDS: usize = 13;
const REQUEST: u16 = 1;
const DOUBTED: u16 = 4;

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    let wrong =
        |name: &str, place, message: &str| TraceError::new(Kind::Format, name, place, message);
    let default_sector_bytes = options.map.map(sector_size).transpose();
    let default_sector_bytes =
        default_sector_bytes.map_err(|problem| problem.at(input.name(), Place::Whole))?;
    let head = input.peek(PEEK_BYTES_MAX)?;
    if !head.starts_with(MAGIC) {
        let message = "does not begin as an srt trace does ($$TR_IOREC-); leave out --format to have it recognised";
        return Err(wrong(input.name(), Place::Byte(0), message));
    }
    let Some(end) = memchr::memchr(HEADER_ENDS, head) else {
        let message =
            "the header does not end (no form feed in its first 64 KiB): the file is damaged";
        return Err(wrong(input.name(), Place::Byte(0), message));
    };
    let sector_bytes_by_disk = sector_bytes(&head[..end]);
    input.next_record(end + 1)?;
    Decoded::records(Srt {
        input,
        sector_bytes_by_disk,
        default_sector_bytes,
        gate: Gate::new(options.reorder),
        volumes: Volumes::new(options.volume),
        doubted: 0,
    })
}

/// Valid sizes of a sector, in bytes.
const SECTOR_BYTES_RANGE: core::ops::RangeInclusive<u64> = 1..=65_536;

/// Parses the text after the colon behind the name of the format: the sector size of disks for
/// which the header has none.
fn sector_size(unit: &str) -> Result<u64, Problem> {
    number(unit.as_bytes()).filter(|bytes| SECTOR_BYTES_RANGE.contains(bytes)).ok_or_else(|| {
        Problem::usage(format!(
            "--format srt:{} is no size of a sector; for disks of which the header tells none it is given as in \
             --format srt:512",
            shown(unit.as_bytes())
        ))
    })
}

/// Returns the sector size in bytes by disk: `disks = { 0 -> { …, sectorsize = 256, … }, … }`.
fn sector_bytes(header: &[u8]) -> BTreeMap<u8, u64> {
    let mut sizes = BTreeMap::new();
    let (mut depth, mut in_disks) = (0_usize, false);
    // The word before `=`, the number before `->`, and the disk of that number.
    let (mut key, mut entry, mut disk): (&[u8], &[u8], _) = (b"", b"", None);
    let mut last: &[u8] = b"";
    for token in tokens(header) {
        match token {
            b"{" => {
                match depth {
                    0 => in_disks = key == b"disks",
                    1 if in_disks => disk = number(entry),
                    _ => {}
                }
                depth += 1;
            }
            b"}" => depth = depth.saturating_sub(1),
            b"=" => key = last,
            b"->" => entry = last,
            value => {
                if let (2, true, b"sectorsize", Some(disk)) = (depth, in_disks, key, disk)
                    && let (Ok(disk), Some(bytes)) = (u8::try_from(disk), number(value))
                    && SECTOR_BYTES_RANGE.contains(&bytes)
                {
                    sizes.entry(disk).or_insert(bytes);
                }
                last = value;
            }
        }
    }
    sizes
}

fn number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Returns the words of a header and the signs that matter. A text in quotes is one word.
fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
        rest = &rest[rest.iter().position(|byte| !blank(byte))?..];
        let sign = |byte: &u8| blank(byte) || matches!(byte, b'{' | b'}' | b'=' | b'"' | b'-');
        let length = match rest {
            [b'"', text @ ..] => {
                text.iter().position(|byte| *byte == b'"').map_or(rest.len(), |at| at + 2)
            }
            [b'-', b'>', ..] => 2,
            [b'{' | b'}' | b'=' | b'-', ..] => 1,
            _ => rest.iter().position(sign).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        Some(token)
    })
}

struct Srt {
    input: Input,
    sector_bytes_by_disk: BTreeMap<u8, u64>,
    /// Sector size in bytes of disks for which the header has none.
    default_sector_bytes: Option<u64>,
    gate: Gate,
    volumes: Volumes,
    doubted: u64,
}

impl Srt {
    /// Returns the next request, `None` at the end.
    fn next(&mut self) -> Result<Option<Raw>, TraceError> {
        loop {
            let byte = self.input.byte();
            let size = match self.input.peek(4)? {
                [] => return Ok(None),
                head => head.first_chunk().map(|size| u32::from_be_bytes(*size) as usize),
            };
            let record_bytes = size.filter(|size| SIZES.contains(size));
            let record = self.input.next_record(record_bytes.unwrap_or(4))?;
            let request = match (record_bytes, size) {
                (Some(record_bytes), _) if record.len() < record_bytes => {
                    Err(cut_short(record.len(), record_bytes))
                }
                (Some(_), _) => record_of(record),
                (None, Some(size)) => Err(Problem::new(
                    Kind::Corrupt,
                    format!(
                        "a record of {size} bytes, where those of requests have 52 to 60: the file is damaged"
                    ),
                )),
                (None, None) => Err(cut_short(record.len(), 4 * FIELDS)),
            };
            match request.and_then(|record| self.request(&record)) {
                Ok(Some(raw)) => return Ok(Some(raw)),
                Ok(None) => {}
                Err(problem) => return Err(problem.at(self.input.name(), Place::Byte(byte))),
            }
        }
    }

    fn request(&mut self, record: &Record) -> Result<Option<Raw>, Problem> {
        if record.doubted {
            self.doubted += 1;
            return Ok(None);
        }
        let Some(volume) = self.volumes.select(record.disk.to_string().as_bytes())? else {
            return Ok(None);
        };
        let size =
            self.sector_bytes_by_disk.get(&record.disk).copied().or(self.default_sector_bytes);
        let size = size.ok_or_else(|| {
            let disk = record.disk;
            Problem::new(
                Kind::Format,
                format!(
                    "the header has no sectorsize of disk {disk}; give it, as in --format srt:512"
                ),
            )
        })?;
        let raw = Raw {
            ns: record.ns,
            offset: record.sector * size,
            bytes: record.bytes,
            op: record.op,
            volume,
        };
        self.gate.admit(raw).map(Some)
    }
}

/// Possible sizes of a record.
const SIZES: [usize; 3] = [4 * FIELDS, 4 * FIELDS + 4, 4 * FIELDS + 8];

struct Record {
    ns: u64,
    disk: u8,
    sector: u64,
    bytes: u64,
    op: Op,
    doubted: bool,
}

fn record_of(record: &[u8]) -> Result<Record, Problem> {
    let field = |from| u64::from(u32::from_be_bytes(part(record, from)));
    let half = |from| u16::from_be_bytes(part(record, from));
    let corrupt = |what: String| Problem::new(Kind::Corrupt, what);
    let (version, kind) = (half(4), half(6));
    if !(1..=4).contains(&version) {
        return Err(corrupt(format!("a record of version {version}; 1 to 4 can be read")));
    }
    if kind != REQUEST && kind != DOUBTED {
        return Err(corrupt(format!(
            "a record of kind {kind}; only requests of disks, 1 and 4, can be read"
        )));
    }
    let fields = FIELDS + usize::from(version == 4) + usize::from(kind == DOUBTED);
    if record.len() != 4 * fields {
        let (there, kind) = (record.len(), (version, kind));
        return Err(corrupt(format!(
            "a record of {there} bytes, where one of version {} and kind {} has {}: the file is damaged",
            kind.0,
            kind.1,
            4 * fields
        )));
    }
    let usec = field(12);
    if usec >= 1_000_000 {
        return Err(corrupt(format!("{usec} µs within a second: the file is damaged")));
    }
    Ok(Record {
        ns: field(8) * NS_PER_S + usec * 1_000,
        disk: record[34],
        sector: field(28),
        bytes: field(24),
        op: if field(44) & 1 == 1 { Op::Read } else { Op::Write },
        doubted: kind == DOUBTED,
    })
}

impl Records for Srt {
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
        fill_from(out, || self.next())
    }

    fn name(&self) -> &str {
        self.input.name()
    }

    fn length_hint(&self) -> Option<u64> {
        self.input.content_bytes().map(|bytes| bytes / (4 * FIELDS as u64 + 4))
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn warnings(&self) -> Vec<String> {
        let message = format!("{} requests that the tracer doubts were passed over", self.doubted);
        (self.doubted > 0).then_some(message).into_iter().collect()
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: no record behind the header is one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "$$TR_IOREC-1.3 (a comment)\nversion = 1.3;\nother = { 7 -> { sectorsize = 1 } };\n\
        disks = {\n 0 -> {\n  disktype = hp1, description = \"a } of { none\",\n  adaptor = 1 -> { hp_ib , 1.2 , 250 },\n  \
        sectorsize  = 256,\n  sections = { 8 -> { \"/\", sectorsize = 9 } }\n },\n 1 -> { seeks = {6, 3}, sectorsize=512 },\n \
        2 -> { rpm = 4002 }\n};\n";

    #[test]
    fn a_header_tells_the_sectors_of_each_disk() {
        let sizes = sector_bytes(HEADER.as_bytes());
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [(0, 256), (1, 512)]);
        assert!(sector_bytes(b"disks = { 0 -> { sectorsize = ").is_empty());
        assert!(
            sector_bytes(b"}}} } disks = { 300 -> { sectorsize = 256 } 1 -> { sectorsize = 0 }")
                .is_empty()
        );
    }
}
