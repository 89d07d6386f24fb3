//! The sampled part of a trace that is in memory.

use std::sync::Arc;

use shingle_core::units::Request;

use super::Sampling;
use super::held::QUARTERS;
use crate::passed::LeftOut;

/// The sampled part of a trace.
#[derive(Clone, Debug)]
pub struct Thinned {
    /// Its requests, cut at borders of bands, at their own times.
    pub requests: Vec<Request>,
    pub(crate) left_out: Arc<LeftOut>,
}

/// One of them while it is made.
#[derive(Default)]
struct Making {
    requests: Vec<Request>,
    left_out: LeftOut,
}

impl Thinned {
    /// The sampled part, and then each quarter of it: the groups with the same rest by four.
    #[must_use]
    pub fn parts(requests: &[Request], sampling: &Sampling) -> [Thinned; 1 + QUARTERS] {
        let mut parts: [Making; 1 + QUARTERS] = Default::default();
        let mut pieces = Vec::new();
        for request in requests {
            pieces.clear();
            sampling.pieces(request, |piece, group| pieces.push((piece, group % QUARTERS)));
            for (nth, part) in parts.iter_mut().enumerate() {
                let mut left_out = true;
                for (piece, quarter) in &pieces {
                    if nth == 0 || nth == 1 + quarter {
                        part.requests.push(*piece);
                        part.left_out.end_gap();
                        left_out = false;
                    }
                }
                if left_out {
                    part.left_out.add(request);
                }
            }
        }
        parts.map(|Making { requests, left_out }| Thinned { requests, left_out: left_out.into() })
    }
}
