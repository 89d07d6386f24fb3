//! What a trace is known by: a hash of its requests.

use shingle_core::units::{Op, Request};
use twox_hash::XxHash3_128;

/// XXH3 with 128 bits of `requests`, 25 bytes each: time, offset, length in little endian, and the kind
/// of operation. In hexadecimal.
#[must_use]
pub fn trace_hash(requests: &[Request]) -> String {
    let mut hasher = XxHash3_128::new();
    let mut bytes = Vec::with_capacity(25 * 4096);
    for part in requests.chunks(4096) {
        bytes.clear();
        for request in part {
            bytes.extend(request.at.0.to_le_bytes());
            bytes.extend(request.offset.to_le_bytes());
            bytes.extend(request.bytes.to_le_bytes());
            bytes.push(match request.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Trim => 2,
                Op::Flush => 3,
            });
        }
        hasher.write(&bytes);
    }
    format!("{:032x}", hasher.finish_128())
}

#[cfg(test)]
mod tests {
    use shingle_core::units::Nanos;

    use super::*;

    #[test]
    fn every_field_counts() {
        let request = Request { at: Nanos(1), offset: 4096, bytes: 512, op: Op::Read };
        let others = [
            Request { at: Nanos(2), ..request },
            Request { offset: 8192, ..request },
            Request { bytes: 1024, ..request },
            Request { op: Op::Write, ..request },
        ];
        let mut hashes: Vec<String> = others.iter().map(|other| trace_hash(&[*other])).collect();
        hashes.push(trace_hash(&[request]));
        hashes.push(trace_hash(&[request, request]));
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 6);
        // XXH3-128 of nothing with seed 0, as the reference implementation prints it.
        assert_eq!(trace_hash(&[]), "99aa06d3014798d86001c324468d497f");
    }
}
