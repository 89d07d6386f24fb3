//! The sampled part of a trace that is in memory.

use std::sync::Arc;

use rayon::prelude::*;
use shingle_core::units::Request;

use super::Sampling;
use super::held::QUARTERS;
use crate::passed::{LeftOut, mark_of};

/// The sampled part of a trace.
#[derive(Clone, Debug)]
pub struct SampledTrace {
    /// Its requests, cut at the borders of bands, with their own times.
    pub requests: Vec<Request>,
    pub(crate) left_out: Arc<LeftOut>,
}

impl SampledTrace {
    /// Returns the sampled part, then each of its quarters: the groups with the same remainder
    /// modulo four.
    #[must_use]
    pub fn parts(requests: &[Request], sampling: &Sampling) -> [SampledTrace; 1 + QUARTERS] {
        let mark = |request: &Request| {
            let mut mark = mark_of(request);
            sampling.pieces(request, |_, group| mark |= quarter(group));
            mark
        };
        let marks: Vec<u8> = requests.par_iter().map(mark).collect();
        let all = (0..QUARTERS).map(quarter).sum();
        let parts: [u8; 1 + QUARTERS] =
            std::array::from_fn(|nth| if nth == 0 { all } else { quarter(nth - 1) });
        let part = |part| SampledTrace::part(requests, sampling, &marks, part);
        let parts: Vec<SampledTrace> = parts.into_par_iter().map(part).collect();
        parts.try_into().expect("as many parts")
    }

    /// Returns the requests of the quarters in `part`, a bit for each. `marks` has, for each request, the quarters that it
    /// is in, and what it does if it is left out: each part goes through all requests, and reads no more of most.
    fn part(requests: &[Request], sampling: &Sampling, marks: &[u8], part: u8) -> SampledTrace {
        let (mut sampled, mut left_out) = (Vec::new(), LeftOut::default());
        let mut from = 0;
        for (at, _) in marks.iter().enumerate().filter(|(_, mark)| *mark & part != 0) {
            sampling.pieces(&requests[at], |piece, group| {
                if part & quarter(group) != 0 {
                    sampled.push(piece);
                    // Nothing lies between the pieces of one request.
                    let gap = from.min(at)..at;
                    left_out.end_gap(&requests[gap.clone()], &marks[gap]);
                    from = at + 1;
                }
            });
        }
        SampledTrace { requests: sampled, left_out: left_out.into() }
    }
}

/// Returns the bit of the quarter that a group belongs to; [`mark_of`] uses others.
fn quarter(group: usize) -> u8 {
    1 << (group % QUARTERS)
}
