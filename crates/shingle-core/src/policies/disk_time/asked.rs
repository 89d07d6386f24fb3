//! The kind of a block, from the requests that use it.

use crate::policy::Access;
use crate::units::Op;

/// Number of kinds: used once, twice, more often; four request sizes; last read or written.
pub(super) const KINDS: usize = 3 * 4 * 2;
/// Number of sequential streams remembered by their end.
const STREAMS: usize = 8;
/// A sequential read saves this part of a random read, or less.
const IN_ORDER: f32 = 32.0;

/// The current request, and where the last ones ended.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    number: u64,
    /// 0 for a single block, up to 3 for long requests and those in order.
    size: u8,
    /// Disk time that caching saves for each of its blocks if all of them are cached.
    saved_ns: f32,
    read_ns: f32,
    streams: [u64; STREAMS],
    next_stream: usize,
}

impl Asked {
    /// Creates it before the first request. A random read takes `read_ns`.
    pub(super) fn new(read_ns: f32) -> Asked {
        let (streams, next_stream) = ([u64::MAX; STREAMS], 0);
        Asked { number: u64::MAX, size: 0, saved_ns: read_ns, read_ns, streams, next_stream }
    }

    /// Classifies the request of `access`, if it is a new one.
    #[inline]
    pub(super) fn look_at(&mut self, access: &Access) {
        if access.place > 0 && access.number == self.number {
            return;
        }
        let (first, blocks) = (access.request.first().0, access.request.blocks());
        let goes_on = self.streams.iter().position(|&end| end == first);
        let stream = goes_on.unwrap_or(self.next_stream);
        if goes_on.is_none() {
            self.next_stream = (self.next_stream + 1) % STREAMS;
        }
        self.streams[stream] = first + blocks;
        self.size = match blocks {
            _ if goes_on.is_some() => 3,
            0..=1 => 0,
            2..=8 => 1,
            9..=32 => 2,
            _ => 3,
        };
        let part =
            if goes_on.is_some() { IN_ORDER.max(blocks as f32) } else { blocks.max(1) as f32 };
        self.saved_ns = self.read_ns / part;
        self.number = access.number;
    }

    /// Returns the kind of a block after `access`; `before` is its old kind, if known.
    pub(super) fn kind(&self, before: Option<u8>, access: &Access) -> u8 {
        let times = before.map_or(0, |kind| (kind / 8 + 1).min(2));
        times * 8 + self.size * 2 + u8::from(access.op == Op::Write)
    }

    /// Returns the disk time that `access` would have needed without the cache. A partial write
    /// reads the rest of its block.
    pub(super) fn saved_ns(&self, access: &Access) -> f32 {
        match access.op {
            Op::Read => self.saved_ns,
            _ if access.partial => self.read_ns,
            _ => 0.0,
        }
    }
}
