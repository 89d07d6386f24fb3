//! The header: a description of the file, a summary, and the index of the blocks.
//!
//! `docs/format-native.md` has the layout. The summary comes first, so that a tool can show it
//! without reading on. The index follows, so that it can be used after reading only the header.

use super::{BLOCK_REQUESTS, MAGIC, VERSION, VERSION_WITH_EVENTS, block, pad, u32_at, u64_at};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::source::TRACE_NANOS_MAX;
use crate::summary::{PerOp, Summary, Tally};

/// Bytes in front of the names.
const FIXED_BYTES: usize = 192;

/// Bytes of a block's entry in the index: its first arrival and its offset.
const ENTRY_BYTES: usize = 16;

/// Bytes without checksum: magic, version and the checksum itself.
const UNCHECKED_BYTES: usize = 16;

const NAME_BYTES_MAX: usize = 4096;

/// Number of sums in a header, apart from the counts of requests.
const SUMS: usize = 10;

/// The summary that a file records of itself, and its origin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// Requests.
    pub requests: PerOp,
    /// The other sums over all requests.
    sums: [u64; SUMS],
    /// Arrival of the last request, in nanoseconds.
    pub last_ns: u64,
    /// The name of the trace that was converted, if it was given.
    pub source: String,
    /// The program that wrote the file, and its version.
    pub tool: String,
}

impl Recorded {
    pub(crate) fn of(tally: &Tally, source: String, tool: String) -> Recorded {
        let summary = tally.summary();
        let (requests, last_ns) = (summary.requests, summary.last.0);
        Recorded { requests, sums: sums(&summary), last_ns, source, tool }
    }

    /// Returns whether the counts equal those of `summary`.
    #[must_use]
    pub fn agrees(&self, summary: &Summary) -> bool {
        self.requests == summary.requests && self.sums == sums(summary)
    }
}

/// Returns the sums in the order of the header.
fn sums(summary: &Summary) -> [u64; SUMS] {
    [
        summary.bytes.read,
        summary.bytes.write,
        summary.bytes.trim,
        summary.read_blocks,
        summary.write_blocks,
        summary.distinct_blocks,
        summary.distinct_written_blocks,
        summary.accessed_zones,
        summary.written_zones,
        summary.end_bytes,
    ]
}

/// The sizes of the parts of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Bytes of the header with names and index. The first block begins there.
    pub(crate) header_bytes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) events_bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) names_bytes: usize,
    pub(crate) checksum: u32,
}

/// Reads up to the first block. `entry` is called with first arrival and offset of each block.
pub(crate) fn read(
    input: &mut Input,
    mut entry: impl FnMut(u64, u64),
) -> Result<(Recorded, Layout), TraceError> {
    let name = input.name().to_owned();
    let fail = |problem: Problem| problem.at(&name, Place::Byte(0));
    let short = |there: usize, from: u64| {
        let place = Place::Byte(from + there as u64);
        cut_short("in the header").at(&name, place)
    };
    let fixed = input.next_record(FIXED_BYTES)?.to_vec();
    if fixed.len() < FIXED_BYTES {
        return Err(short(fixed.len(), 0));
    }
    let (mut recorded, layout) = decode(&fixed).map_err(fail)?;
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&fixed[UNCHECKED_BYTES..]);
    let from = input.byte();
    let names = input.next_record(layout.names_bytes)?;
    if names.len() < layout.names_bytes {
        return Err(short(names.len(), from));
    }
    checksum.update(names);
    decode_names(&mut recorded, &fixed, names);
    let (mut first_ns, mut last_ns, mut last_place) = (0, 0, layout.header_bytes);
    for number in 0..layout.blocks {
        let from = input.byte();
        let bytes = input.next_record(ENTRY_BYTES)?;
        if bytes.len() < ENTRY_BYTES {
            return Err(short(bytes.len(), from));
        }
        checksum.update(bytes);
        let (begin_ns, place) = (u64_at(bytes, 0), u64_at(bytes, 8));
        if number == 0 {
            first_ns = begin_ns;
        }
        // A hostile index must not have more entries than blocks fit between its offsets.
        let least = if number == 0 { 0 } else { block::HEAD_BYTES as u64 };
        let far_enough = place.checked_sub(last_place).is_some_and(|gap| gap >= least);
        if begin_ns < last_ns || begin_ns - first_ns >= TRACE_NANOS_MAX || !far_enough {
            let problem = damaged("has an index that is not in order");
            return Err(problem.at(&name, Place::Byte(from)));
        }
        entry(begin_ns, place);
        (last_ns, last_place) = (begin_ns, place);
    }
    if checksum.finalize() != layout.checksum {
        return Err(fail(damaged("does not have the checksum it says")));
    }
    Ok((recorded, layout))
}

#[cold]
pub(crate) fn cut_short(place: &str) -> Problem {
    let message = format!("the file ends {place}: it is cut short; copy it again");
    Problem::new(Kind::Truncated, message)
}

/// Encodes the start of a file, up to its first block. `index` has the first arrival of each block
/// and its offset from the first block. Without events the file has version 1.
pub(crate) fn encode(
    recorded: &Recorded,
    index: &[(u64, u64)],
    blocks_bytes: u64,
    events_bytes: u64,
) -> Vec<u8> {
    let source = truncate_name(&recorded.source);
    let tool = truncate_name(&recorded.tool);
    let names_bytes = (source.len() + tool.len()).next_multiple_of(8);
    let header_bytes = (FIXED_BYTES + names_bytes + index.len() * ENTRY_BYTES) as u64;
    let requests = &recorded.requests;
    let mut out = Vec::with_capacity(header_bytes as usize);
    out.extend_from_slice(&MAGIC);
    let version = if events_bytes == 0 { VERSION } else { VERSION_WITH_EVENTS };
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let begin = [
        header_bytes,
        header_bytes + blocks_bytes + events_bytes,
        BLOCK_REQUESTS as u64,
        index.len() as u64,
        requests.read,
        requests.write,
        requests.trim,
        requests.flush,
    ];
    for number in begin.into_iter().chain(recorded.sums).chain([recorded.last_ns]) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&(source.len() as u32).to_le_bytes());
    out.extend_from_slice(&(tool.len() as u32).to_le_bytes());
    out.extend_from_slice(&events_bytes.to_le_bytes());
    out.resize(FIXED_BYTES, 0);
    out.extend_from_slice(source.as_bytes());
    out.extend_from_slice(tool.as_bytes());
    pad(&mut out);
    for (first_ns, place) in index {
        out.extend_from_slice(&first_ns.to_le_bytes());
        out.extend_from_slice(&(header_bytes + place).to_le_bytes());
    }
    let checksum = crc32fast::hash(&out[UNCHECKED_BYTES..]);
    out[12..16].copy_from_slice(&checksum.to_le_bytes());
    out
}

/// Cuts a name to the longest that fits.
fn truncate_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Decodes the fixed part. The sizes are plausible afterwards, but nothing may be trusted before
/// the checksum is verified.
pub(crate) fn decode(fixed: &[u8]) -> Result<(Recorded, Layout), Problem> {
    if fixed[..8] != MAGIC {
        return Err(damaged("does not begin as a shingle trace does"));
    }
    let version = u32_at(fixed, 8);
    if ![VERSION, VERSION_WITH_EVENTS].contains(&version) {
        return Err(Problem::new(
            Kind::Format,
            format!(
                "is a shingle trace of version {version}, and those up to \
                 {VERSION_WITH_EVENTS} are known: use the shingle that wrote it to convert it"
            ),
        ));
    }
    let number = |index: usize| u64_at(fixed, UNCHECKED_BYTES + 8 * index);
    let recorded = Recorded {
        requests: PerOp { read: number(4), write: number(5), trim: number(6), flush: number(7) },
        sums: std::array::from_fn(|sum| number(8 + sum)),
        last_ns: number(8 + SUMS),
        ..Recorded::default()
    };
    let (source, tool) = (u32_at(fixed, 168) as usize, u32_at(fixed, 172) as usize);
    if source > NAME_BYTES_MAX || tool > NAME_BYTES_MAX {
        return Err(damaged("has names that are too long"));
    }
    let names_bytes = (source + tool).next_multiple_of(8);
    let (header_bytes, file_bytes, blocks) = (number(0), number(1), number(3));
    let requests = [4, 5, 6, 7].into_iter().try_fold(0, |sum: u64, n| sum.checked_add(number(n)));
    let expected = requests.map(|requests| requests.div_ceil(BLOCK_REQUESTS as u64));
    let events_bytes = number(20);
    let index_bytes = blocks.checked_mul(ENTRY_BYTES as u64);
    let header =
        index_bytes.and_then(|bytes| bytes.checked_add((FIXED_BYTES + names_bytes) as u64));
    if requests == Some(0) {
        return Err(Problem::new(Kind::Empty, "holds no request"));
    }
    let consistent = number(2) == BLOCK_REQUESTS as u64
        && blocks > 0
        && expected == Some(blocks)
        && header == Some(header_bytes)
        && header_bytes.checked_add(events_bytes).is_some_and(|end| file_bytes > end)
        && (events_bytes > 0) == (version == VERSION_WITH_EVENTS)
        && fixed[184..].iter().all(|&byte| byte == 0);
    if !consistent {
        return Err(damaged("has sizes that contradict each other"));
    }
    let checksum = u32_at(fixed, 12);
    Ok((recorded, Layout { header_bytes, file_bytes, events_bytes, blocks, names_bytes, checksum }))
}

/// Decodes the names, whose lengths are in the fixed part.
pub(crate) fn decode_names(recorded: &mut Recorded, fixed: &[u8], names: &[u8]) {
    let (source, tool) = (u32_at(fixed, 168) as usize, u32_at(fixed, 172) as usize);
    recorded.source = String::from_utf8_lossy(&names[..source]).into_owned();
    recorded.tool = String::from_utf8_lossy(&names[source..source + tool]).into_owned();
}

#[cold]
pub(crate) fn damaged(how: &str) -> Problem {
    Problem::new(Kind::Corrupt, format!("the header {how}: the file is damaged; copy it again"))
}
