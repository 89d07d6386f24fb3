//! What a trace is like: everything [`Summary`](crate::Summary) does not count, in one pass.
//!
//! Memory goes with the different blocks that are accessed (about 30 bytes each, 90 where they lie alone)
//! and with nothing else: not with the disk, nor with the requests.

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

/// Dots in a picture at most.
pub const POINTS: usize = 2_000;

/// The figures.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Lengths and alignment.
    pub sizes: sizes::Sizes,
    /// Distances, curves of LRU and update periods.
    pub reuse: reuse::Reuse,
    /// Sequential runs.
    pub sequential: sequential::Sequential,
    /// Gaps between arrivals.
    pub idle: idle::Idle,
    /// Load by the hour.
    pub load: load::Load,
    /// Where writes go.
    pub range: range::WriteRange,
    /// How requests come again, by where they start.
    pub starts: starts::Starts,
}

impl Analysis {
    /// Counts `requests`, and calls `on_progress` with the number of those counted since the last call.
    ///
    /// # Panics
    /// If there are 2³¹ different blocks or more.
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
