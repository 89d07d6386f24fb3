//! A hash of the requests of a trace, which does not depend on the file format or generator.

use shingle_core::units::{Op, Request};
use xxhash_rust::xxh3::Xxh3Default;

/// Returns the XXH3 hash (64 bits) of all requests, as `xxh3:` and 16 hexadecimal digits. Each
/// request is hashed as four words of eight bytes, little-endian: time in nanoseconds, offset and
/// length in bytes, and operation (0 read, 1 write, 2 trim, 3 flush).
#[must_use]
pub fn hash(requests: &[Request]) -> String {
    let mut hasher = Hasher::default();
    hasher.add(requests);
    hasher.text()
}

/// Computes [`hash`] of requests that come in parts.
#[derive(Default)]
pub struct Hasher {
    hash: Xxh3Default,
    bytes: Vec<u8>,
}

impl Hasher {
    /// Adds the next requests.
    pub fn add(&mut self, requests: &[Request]) {
        // In chunks: the hash is fast over long inputs only.
        for some in requests.chunks(AT_A_TIME) {
            self.bytes.clear();
            for request in some {
                let op: u64 = match request.op {
                    Op::Read => 0,
                    Op::Write => 1,
                    Op::Trim => 2,
                    Op::Flush => 3,
                };
                for word in [request.at.0, request.offset, request.bytes, op] {
                    self.bytes.extend_from_slice(&word.to_le_bytes());
                }
            }
            self.hash.update(&self.bytes);
        }
    }

    /// Returns the hash of all added requests.
    #[must_use]
    pub fn text(&self) -> String {
        format!("xxh3:{:016x}", self.hash.digest())
    }
}

const AT_A_TIME: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::Nanos;

    #[test]
    fn every_field_of_every_request_counts() {
        let request = Request { at: Nanos(7), offset: 4096, bytes: 512, op: Op::Write };
        let requests = vec![request; 300];
        let as_it_is = hash(&requests);
        let with = |change: fn(&mut Request)| {
            let mut requests = requests.clone();
            change(&mut requests[200]);
            hash(&requests)
        };
        let changes: [fn(&mut Request); 4] =
            [|r| r.at.0 += 1, |r| r.offset += 1, |r| r.bytes += 1, |r| r.op = Op::Read];
        for change in changes {
            assert_ne!(with(change), as_it_is);
        }
        assert_eq!(with(|_| ()), as_it_is);
        let mut parts = Hasher::default();
        requests.chunks(77).for_each(|part| parts.add(part));
        assert_eq!(parts.text(), as_it_is);
        assert_ne!(hash(&requests[..299]), as_it_is);
        // The hash of no bytes, as the authors of XXH3 publish it.
        assert_eq!(hash(&[]), "xxh3:2d06800538d394c2");
    }
}
