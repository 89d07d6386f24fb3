//! Properties of a trace that [`Summary`](crate::Summary) does not count, found in one pass.
//!
//! Memory grows only with the number of distinct accessed blocks (about 30 bytes each, 90 for
//! isolated ones), not with the size of the disk or the number of requests.

pub mod curve;
pub mod histogram;
pub mod idle;
pub mod load;
pub mod periods;
pub mod range;
pub mod reuse;
pub mod sequential;
pub mod sizes;
pub mod starts;

use shingle_core::units::{Nanos, Op, Request};

use crate::source::BATCH_REQUESTS;

/// The most dots in a picture.
pub const POINTS: usize = 2_000;

/// The figures of a trace.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Lengths and alignment.
    pub sizes: sizes::Sizes,
    /// Distances, curves of LRU and update periods.
    pub reuse: reuse::Reuse,
    /// Sequential runs of requests.
    pub sequential: sequential::Sequential,
    /// Gaps between arrivals.
    pub idle: idle::Idle,
    /// Load by the hour.
    pub load: load::Load,
    /// The addresses of writes over the trace.
    pub range: range::WriteRange,
    /// Reuses of start pages.
    pub starts: starts::Starts,
}

impl Analysis {
    /// Analyses `requests`. `on_progress` gets the number of requests since its last call.
    ///
    /// # Panics
    /// If there are 2³¹ distinct blocks or more.
    #[must_use]
    pub fn of(requests: &[Request], on_progress: &mut dyn FnMut(u64)) -> Analysis {
        let last = requests.last().map_or(Nanos::ZERO, |request| request.at);
        let writes = requests.iter().filter(|request| request.op == Op::Write).count();
        let mut analysis = Analysis {
            sizes: sizes::Sizes::default(),
            reuse: reuse::Reuse::default(),
            sequential: sequential::Sequential::default(),
            idle: idle::Idle::default(),
            load: load::Load::new(last),
            range: range::WriteRange::new(writes, POINTS),
            starts: starts::Starts::default(),
        };
        for batch in requests.chunks(BATCH_REQUESTS) {
            for request in batch {
                analysis.add(request);
            }
            on_progress(batch.len() as u64);
        }
        analysis.sequential.end();
        analysis
    }

    fn add(&mut self, request: &Request) {
        self.sizes.add(request);
        self.reuse.add(request);
        self.sequential.add(request);
        self.idle.add(request.at);
        self.load.add(request);
        self.starts.add(request);
        if request.op == Op::Write {
            self.range.add(request.first().0);
        }
    }
}
