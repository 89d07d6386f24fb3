//! Sources of the requests of a run: memory, plain or packed, or a file.

mod streamed;

use std::borrow::Cow;

use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_trace::TraceError;

pub use streamed::{Streamed, Window};

/// A list of requests, read in order, by several runs at once.
pub trait RequestList: Sync {
    /// Buffer of a reader.
    type Scratch: Default;

    /// Returns the number of requests.
    fn len(&self) -> usize;

    /// Returns whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `count` requests from number `from` on, or as many as there are, using `scratch` if
    /// needed. Empty at the end, and after a [`failure`](RequestList::failure).
    fn part<'a>(
        &'a self,
        from: usize,
        count: usize,
        scratch: &'a mut Self::Scratch,
    ) -> &'a [Request];

    /// Returns the error that made reading impossible, if any.
    fn failure(&self) -> Option<&TraceError> {
        None
    }
}

/// Returns all requests, up to a failure.
pub fn all<R: RequestList + ?Sized>(requests: &R) -> impl Iterator<Item = Request> + '_ {
    let mut scratch = R::Scratch::default();
    (0..requests.len())
        .map_while(move |number| requests.part(number, 1, &mut scratch).first().copied())
}

/// Returns `count` requests from number `from` on, or as many as there are.
#[inline]
#[must_use]
pub fn part_of(requests: &[Request], from: usize, count: usize) -> &[Request] {
    let end = requests.len().min(from.saturating_add(count));
    &requests[from.min(end)..end]
}

impl RequestList for [Request] {
    type Scratch = ();

    fn len(&self) -> usize {
        <[Request]>::len(self)
    }

    #[inline]
    fn part<'a>(&'a self, from: usize, count: usize, (): &'a mut ()) -> &'a [Request] {
        part_of(self, from, count)
    }
}

impl RequestList for Vec<Request> {
    type Scratch = ();

    fn len(&self) -> usize {
        RequestList::len(self.as_slice())
    }

    #[inline]
    fn part<'a>(&'a self, from: usize, count: usize, scratch: &'a mut ()) -> &'a [Request] {
        self.as_slice().part(from, count, scratch)
    }
}

/// The requests of a trace, wherever they are.
#[derive(Debug)]
pub enum Requests<'a> {
    /// In memory.
    Held(Cow<'a, [Request]>),
    /// In a file.
    Streamed(Box<Streamed>),
}

impl Requests<'_> {
    /// Converts it to an owned value.
    #[must_use]
    pub fn into_owned(self) -> Requests<'static> {
        match self {
            Requests::Held(requests) => Requests::Held(Cow::Owned(requests.into_owned())),
            Requests::Streamed(requests) => Requests::Streamed(requests),
        }
    }

    /// Returns the hash of their contents ([`shingle_trace::hash`]).
    #[must_use]
    pub fn hash(&self) -> String {
        match self {
            Requests::Held(requests) => shingle_trace::hash::hash(requests),
            Requests::Streamed(requests) => requests.source().hash().to_owned(),
        }
    }
}

impl From<Vec<Request>> for Requests<'_> {
    fn from(requests: Vec<Request>) -> Self {
        Requests::Held(Cow::Owned(requests))
    }
}

impl RequestList for Requests<'_> {
    type Scratch = Window;

    fn len(&self) -> usize {
        match self {
            Requests::Held(requests) => requests.len(),
            Requests::Streamed(requests) => RequestList::len(&**requests),
        }
    }

    #[inline]
    fn part<'a>(&'a self, from: usize, count: usize, scratch: &'a mut Window) -> &'a [Request] {
        match self {
            Requests::Held(requests) => part_of(requests, from, count),
            Requests::Streamed(requests) => requests.part(from, count, scratch),
        }
    }

    fn failure(&self) -> Option<&TraceError> {
        match self {
            Requests::Held(_) => None,
            Requests::Streamed(requests) => requests.failure(),
        }
    }
}

/// Accesses to whole blocks without times, packed by [`shingle_trace::papers::packed`]: a quarter
/// of the memory, for traces of hundreds of millions of requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed<'a>(pub &'a [u64]);

impl RequestList for Packed<'_> {
    type Scratch = Vec<Request>;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn part<'a>(
        &'a self,
        from: usize,
        count: usize,
        scratch: &'a mut Vec<Request>,
    ) -> &'a [Request] {
        let end = self.0.len().min(from + count);
        scratch.clear();
        scratch.extend(self.0[from.min(end)..end].iter().map(|&packed| Request {
            at: Nanos::ZERO,
            offset: (packed >> 1) * BLOCK_BYTES,
            bytes: BLOCK_BYTES,
            op: if packed & 1 == 1 { Op::Write } else { Op::Read },
        }));
        scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_trace::papers::packed;

    #[test]
    fn packed_accesses_are_whole_blocks() {
        let accesses = [packed(7, true), packed(9, false)];
        let packed = Packed(&accesses);
        let mut scratch = Vec::new();
        let requests = packed.part(0, 16, &mut scratch).to_vec();
        let access = |block: u64, op| Request {
            at: Nanos::ZERO,
            offset: block * BLOCK_BYTES,
            bytes: BLOCK_BYTES,
            op,
        };
        assert_eq!(requests, [access(7, Op::Write), access(9, Op::Read)]);
        assert_eq!(packed.part(1, 16, &mut scratch), &requests[1..]);
        assert_eq!(requests[..].part(1, 16, &mut ()), &requests[1..]);
        assert!(packed.part(2, 16, &mut scratch).is_empty());
    }
}
