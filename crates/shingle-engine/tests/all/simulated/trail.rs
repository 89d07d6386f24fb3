//! A hash of all I/O and replies of an engine, in order: engines with the same behaviour have the
//! same hash.

use shingle_engine::{Device, Io, Kind, Reply};

/// Counts and a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Trail {
    pub(crate) ios: u64,
    pub(crate) replies: u64,
    pub(crate) hash: u64,
}

impl Default for Trail {
    fn default() -> Trail {
        Trail { ios: 0, replies: 0, hash: 0xCBF2_9CE4_8422_2325 }
    }
}

impl Trail {
    /// FNV-1a, a word at a time.
    fn add(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
    }

    pub(crate) fn asked(&mut self, io: &Io) {
        self.ios += 1;
        let (kind, pages) = match io.kind {
            Kind::Read => (0, io.buffers.len() as u64),
            Kind::Write => (1, io.buffers.len() as u64),
            Kind::Flush => (2, 0),
            Kind::Trim(pages) => (3, pages),
        };
        self.add(u64::from(io.device == Device::Disk) << 8 | kind);
        self.add(io.id.0);
        self.add(io.page);
        self.add(pages);
        // A buffer to be read into has no contents yet.
        if io.kind == Kind::Write {
            io.buffers.iter().for_each(|buffer| self.add(crc32c::crc32c(&buffer.0).into()));
        }
    }

    pub(crate) fn answered(&mut self, reply: &Reply) {
        self.replies += 1;
        self.add(reply.id);
        match &reply.result {
            Ok(data) => self.add(crc32c::crc32c(data).into()),
            Err(errno) => self.add(1 << 32 | errno.0 as u64),
        }
    }

    /// Appends the trail of another run.
    pub(crate) fn then(&mut self, other: Trail) {
        (self.ios, self.replies) = (self.ios + other.ios, self.replies + other.replies);
        self.add(other.hash);
    }
}
