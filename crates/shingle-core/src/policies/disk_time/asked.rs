//! What blocks are like, by the requests that use them.

use crate::policy::Access;
use crate::units::Op;

/// Kinds of blocks: used once, twice, more often; four sizes of requests; last read or written.
pub(super) const KINDS: usize = 3 * 4 * 2;
/// Streams of requests that are remembered by their end.
const STREAMS: usize = 8;
/// A read that goes on where one ended before saves so small a part of a random read.
const IN_ORDER: f32 = 32.0;

/// The request under way, and where the last ones ended.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    number: u64,
    /// 0 for a single block, up to 3 for long requests and those in order.
    size: u8,
    /// What a read of it saves for each of its blocks if all of them are cached.
    saved_ns: f32,
    read_ns: f32,
    streams: [u64; STREAMS],
    next_stream: usize,
}

impl Asked {
    /// None yet. A random read takes `read_ns`.
    pub(super) fn new(read_ns: f32) -> Asked {
        let (streams, next_stream) = ([u64::MAX; STREAMS], 0);
        Asked { number: u64::MAX, size: 0, saved_ns: read_ns, read_ns, streams, next_stream }
    }

    /// Looks at the request that `access` belongs to, if it is another one.
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

    /// The kind that a block becomes by `access`; `before` it was of another, or is not known.
    pub(super) fn kind(&self, before: Option<u8>, access: &Access) -> u8 {
        let times = before.map_or(0, |kind| (kind / 8 + 1).min(2));
        times * 8 + self.size * 2 + u8::from(access.op == Op::Write)
    }

    /// What `access` would have read without the cache, in time. Of a block that is written in part the rest is read.
    pub(super) fn saved_ns(&self, access: &Access) -> f32 {
        match access.op {
            Op::Read => self.saved_ns,
            _ if access.partial => self.read_ns,
            _ => 0.0,
        }
    }
}
