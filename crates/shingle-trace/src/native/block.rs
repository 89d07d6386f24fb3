//! A block: up to 4096 requests, with a checksum.
//!
//! ```text
//!  0  checksum  u32   CRC-32 of all that follows
//!  4  bytes     u32   of the whole block, a multiple of 8
//!  8  requests  u32
//! 12  zero      u32
//! 16  first     u64   arrival of the first request, ns
//! 24  four columns: time since the request before (0 for the first), operation (0 read, 1 write,
//!     2 trim, 3 flush), offset, size. Offset and size of a flush have no meaning.
//! ```

use shingle_core::units::{Nanos, Op, Request};

use super::{BLOCK_REQUESTS, column, u32_at, u64_at};
use crate::error::{Kind, Problem};
use crate::source::{DISK_BYTES_MAX, REQUEST_BYTES_MAX, TRACE_NANOS_MAX, TRIM_BYTES_MAX};

pub(crate) const HEAD_BYTES: usize = 24;

/// The largest size of a block.
pub(crate) const BYTES_MAX: usize = HEAD_BYTES + 4 * column::BYTES_MAX;

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

#[derive(Default)]
pub(crate) struct Encoder {
    values: Vec<u64>,
    numbers: Vec<u64>,
}

impl Encoder {
    /// Appends `requests` as one block to `out`.
    pub(crate) fn encode(&mut self, requests: &[Request], out: &mut Vec<u8>) {
        assert!((1..=BLOCK_REQUESTS).contains(&requests.len()), "a block holds 1 to 4096");
        let from = out.len();
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(requests.len() as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&requests[0].at.0.to_le_bytes());
        let mut last = requests[0].at;
        self.column(out, requests, |request| {
            let gap = request.at.0 - last.0;
            last = request.at;
            gap
        });
        self.column(out, requests, |request| request.op as u64);
        // A flush must not widen the columns, so it takes the offset and size of another request.
        let stand_in = requests.iter().find(|request| request.op != Op::Flush);
        let or_stand_in = |request: &Request| match stand_in {
            Some(other) if request.op == Op::Flush => *other,
            _ => *request,
        };
        self.column(out, requests, |request| or_stand_in(request).offset);
        self.column(out, requests, |request| or_stand_in(request).bytes);
        let bytes = (out.len() - from) as u32;
        out[from + 4..from + 8].copy_from_slice(&bytes.to_le_bytes());
        let checksum = crc32fast::hash(&out[from + 4..]);
        out[from..from + 4].copy_from_slice(&checksum.to_le_bytes());
    }

    fn column(
        &mut self,
        out: &mut Vec<u8>,
        requests: &[Request],
        value: impl FnMut(&Request) -> u64,
    ) {
        self.values.clear();
        self.values.extend(requests.iter().map(value));
        column::encode(&self.values, &mut self.numbers, out);
    }
}

/// Returns the size of the block that begins with `head`.
pub(crate) fn bytes_of(head: &[u8]) -> Result<usize, Problem> {
    let bytes = u32_at(head, 4) as usize;
    if !(HEAD_BYTES..=BYTES_MAX).contains(&bytes) {
        return Err(damaged(&format!("says that it has {bytes} bytes, which none has")));
    }
    Ok(bytes)
}

pub(crate) struct Decoder {
    gaps: Box<[u64]>,
    ops: Box<[u64]>,
    offsets: Box<[u64]>,
    sizes: Box<[u64]>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        let zeros = || vec![0; BLOCK_REQUESTS].into_boxed_slice();
        Decoder { gaps: zeros(), ops: zeros(), offsets: zeros(), sizes: zeros() }
    }
}

impl Decoder {
    /// Appends the requests of a block to `out`, with `base_ns` subtracted from their times. The
    /// first must not come before `after`. Returns the time of the last.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        base_ns: u64,
        after: Nanos,
        out: &mut Vec<Request>,
    ) -> Result<Nanos, Problem> {
        if crc32fast::hash(&block[4..]) != u32_at(block, 0) {
            return Err(damaged("does not have the checksum it says"));
        }
        let count = u32_at(block, 8) as usize;
        if count == 0 || count > BLOCK_REQUESTS || u32_at(block, 12) != 0 {
            return Err(damaged("says an impossible number of requests"));
        }
        let first = u64_at(block, 16).checked_sub(base_ns).filter(|&first| first >= after.0);
        let Some(first) = first else {
            return Err(damaged("begins before the end of the block in front of it"));
        };
        let columns = [&mut self.gaps, &mut self.ops, &mut self.offsets, &mut self.sizes];
        let mut rest = &block[HEAD_BYTES..];
        for values in columns {
            let after = column::decode(rest, &mut values[..count]);
            rest = after.ok_or_else(|| damaged("has a column that cannot be unpacked"))?;
        }
        if !rest.is_empty() {
            return Err(damaged("has bytes behind its columns"));
        }
        let from = out.len();
        let (last, valid) = self.combine(count, first, out);
        if valid {
            return Ok(Nanos(last));
        }
        out.truncate(from);
        Err(damaged("holds a request that no disk serves"))
    }

    /// Combines the columns to requests, and returns whether all are valid. It has no branches, so
    /// that the compiler can vectorise it.
    fn combine(&self, count: usize, first: u64, out: &mut Vec<Request>) -> (u64, bool) {
        const BYTES_LEAST: [u64; 4] = [1, 1, 1, 0];
        const BYTES_MOST: [u64; 4] = [REQUEST_BYTES_MAX, REQUEST_BYTES_MAX, TRIM_BYTES_MAX, 0];
        let columns = (self.gaps[..count].iter().zip(&self.ops[..count]))
            .zip(self.offsets[..count].iter().zip(&self.sizes[..count]));
        let (mut at, mut times, mut wrong) = (first, first, self.gaps[0] != 0);
        out.extend(columns.map(|((&gap, &op), (&offset, &bytes))| {
            at = at.wrapping_add(gap);
            times |= at | gap;
            let code = (op & 3) as usize;
            let mask = u64::from(code == Op::Flush as usize).wrapping_sub(1);
            let (offset, bytes) = (offset & mask, bytes & mask);
            wrong |= op > 3;
            wrong |= bytes.wrapping_sub(BYTES_LEAST[code]) > BYTES_MOST[code] - BYTES_LEAST[code];
            wrong |= offset > DISK_BYTES_MAX || offset.wrapping_add(bytes) > DISK_BYTES_MAX;
            Request { at: Nanos(at), offset, bytes, op: OPS[code] }
        }));
        // The limit is a power of two, so an OR of smaller numbers stays below it.
        (at, !wrong && times < TRACE_NANOS_MAX)
    }
}

#[cold]
fn damaged(how: &str) -> Problem {
    Problem::new(Kind::Corrupt, format!("the block {how}: the file is damaged; copy it again"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(block: &[u8]) -> Result<Vec<Request>, Problem> {
        let mut out = Vec::new();
        Decoder::default().decode(block, 0, Nanos::ZERO, &mut out)?;
        Ok(out)
    }

    fn packed(requests: &[Request]) -> Vec<u8> {
        let mut out = Vec::new();
        Encoder::default().encode(requests, &mut out);
        assert!(out.len() <= BYTES_MAX);
        out
    }

    fn request(at: u64, op: Op, offset: u64, bytes: u64) -> Request {
        Request { at: Nanos(at), offset, bytes, op }
    }

    /// The checksum is right, as in a hostile file.
    #[test]
    fn what_no_disk_serves_is_refused() {
        let good = request(5, Op::Write, 0, 1);
        for bad in [
            request(TRACE_NANOS_MAX, Op::Write, 0, 1),
            request(5, Op::Write, 0, 0),
            request(5, Op::Read, 0, REQUEST_BYTES_MAX + 1),
            request(5, Op::Trim, 0, TRIM_BYTES_MAX + 1),
            request(5, Op::Write, DISK_BYTES_MAX, 1),
            request(5, Op::Write, u64::MAX, 1),
        ] {
            assert!(unpacked(&packed(&[good, bad])).is_err(), "{bad:?}");
        }
        let limits = [
            request(5, Op::Read, DISK_BYTES_MAX - 1, 1),
            request(5, Op::Trim, 0, TRIM_BYTES_MAX),
            request(TRACE_NANOS_MAX - 1, Op::Flush, 0, 0),
        ];
        assert_eq!(unpacked(&packed(&limits)).expect("valid"), limits);
    }

    proptest! {
        #[test]
        fn any_requests_come_back(
            list in prop::collection::vec((0_u64..1 << 40, 0..4_usize, 0_u64..1 << 50, 1_u64..1 << 30), 1..200)
        ) {
            let mut at = 7;
            let requests: Vec<Request> = list.into_iter().map(|(gap, op, offset, bytes)| {
                at += gap;
                let flush = OPS[op] == Op::Flush;
                let (offset, bytes) = if flush { (0, 0) } else { (offset, bytes) };
                request(at, OPS[op], offset, bytes)
            }).collect();
            prop_assert_eq!(unpacked(&packed(&requests)).expect("valid"), requests);
        }
    }
}
