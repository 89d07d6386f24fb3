//! The sampled part of a trace that is in memory.

use std::sync::Arc;

use shingle_core::units::Request;

use super::Sampling;
use crate::passed::LeftOut;

/// The sampled part of a trace.
#[derive(Clone, Debug)]
pub struct Thinned {
    /// Its requests, cut at borders of bands, at their own times.
    pub requests: Vec<Request>,
    pub(crate) left_out: Arc<LeftOut>,
}

impl Thinned {
    /// Those parts of requests that are in groups that `wanted` has.
    #[must_use]
    pub fn of(
        requests: &[Request],
        sampling: &Sampling,
        wanted: impl Fn(usize) -> bool,
    ) -> Thinned {
        let (mut kept, mut left_out) = (Vec::new(), LeftOut::default());
        for request in requests {
            let before = kept.len();
            sampling.pieces(request, |piece, group| {
                if wanted(group) {
                    kept.push(piece);
                    left_out.end_gap();
                }
            });
            if kept.len() == before {
                left_out.add(request);
            }
        }
        Thinned { requests: kept, left_out: left_out.into() }
    }
}
