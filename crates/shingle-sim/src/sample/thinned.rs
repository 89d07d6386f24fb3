//! The sampled part of a trace that is in memory.

use std::sync::Arc;

use shingle_core::units::Request;

use super::Sampling;
use super::held::QUARTERS;
use crate::passed::LeftOut;

/// The sampled part of a trace.
#[derive(Clone, Debug)]
pub struct Thinned {
    /// Its requests, cut at the borders of bands, with their own times.
    pub requests: Vec<Request>,
    pub(crate) left_out: Arc<LeftOut>,
}

/// A sampled part under construction.
#[derive(Default)]
struct Builder {
    requests: Vec<Request>,
    left_out: LeftOut,
}

impl Thinned {
    /// Returns the sampled part, then each of its quarters: the groups with the same remainder
    /// modulo four.
    #[must_use]
    pub fn parts(requests: &[Request], sampling: &Sampling) -> [Thinned; 1 + QUARTERS] {
        let mut parts: [Builder; 1 + QUARTERS] = Default::default();
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
        parts.map(|Builder { requests, left_out }| Thinned { requests, left_out: left_out.into() })
    }
}
