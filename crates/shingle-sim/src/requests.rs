//! Where a run takes its requests from: memory, whole or packed.

use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};

/// Requests at hand, read in order and by several runs at once.
pub trait RequestList: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Up to `count` of them from number `from` on, in `scratch` if need be. Empty only at the end.
    fn part<'a>(
        &'a self,
        from: usize,
        count: usize,
        scratch: &'a mut Vec<Request>,
    ) -> &'a [Request];
}

/// All of them, one by one.
pub fn all<R: RequestList + ?Sized>(requests: &R) -> impl Iterator<Item = Request> + '_ {
    let mut scratch = Vec::with_capacity(1);
    (0..requests.len()).map(move |number| requests.part(number, 1, &mut scratch)[0])
}

impl RequestList for [Request] {
    fn len(&self) -> usize {
        <[Request]>::len(self)
    }

    #[inline]
    fn part<'a>(&'a self, from: usize, count: usize, _: &'a mut Vec<Request>) -> &'a [Request] {
        let end = <[Request]>::len(self).min(from + count);
        &self[from.min(end)..end]
    }
}

/// Accesses to whole blocks without times, as [`shingle_trace::papers::packed`] packs them. A quarter
/// of the memory of requests, for traces of hundreds of millions of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed<'a>(pub &'a [u64]);

impl RequestList for Packed<'_> {
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
        assert_eq!(requests[..].part(1, 16, &mut Vec::new()), &requests[1..]);
        assert!(packed.part(2, 16, &mut scratch).is_empty());
    }
}
