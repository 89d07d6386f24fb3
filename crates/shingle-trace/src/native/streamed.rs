//! Reads a trace from its file on demand, for traces that do not fit into memory.

use shingle_core::units::{Nanos, Request};

use super::file::{Indexed, Reading};
use crate::error::{Kind, Place, TraceError};
use crate::hash::Hasher;
use crate::shape::Shape;
use crate::summary::{Counted, Summary};

/// The requests of a native trace that a [`Shape`] keeps, block by block. All blocks were read and
/// verified once.
#[derive(Debug)]
pub struct Streamed {
    file: Indexed,
    shape: Shape,
    /// Arrival of the first request that is kept.
    first: Nanos,
    /// For each block the number of its first kept request, and at the end the number of all.
    numbers: Vec<u64>,
    hash: String,
}

impl Streamed {
    /// Reads the whole file once, and returns a summary of what `shape` keeps of it. The shape must
    /// be [of single requests](Shape::is_of_single_requests). `progress` gets the blocks read and
    /// their total.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged, nothing is left, or the result does not fit a disk.
    pub fn new(
        file: Indexed,
        shape: &Shape,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Streamed, Summary), TraceError> {
        debug_assert!(shape.is_of_single_requests(), "a shape of single requests");
        let (blocks, most) = (file.blocks(), shape.requests.unwrap_or(u64::MAX));
        let (mut counted, mut hasher) = (Counted::default(), Hasher::default());
        let (mut reading, mut batch) = (Reading::default(), Vec::new());
        let mut this = Streamed {
            file,
            shape: shape.clone(),
            first: Nanos::ZERO,
            numbers: vec![0],
            hash: String::new(),
        };
        let (mut left, mut before) = (0, Nanos::ZERO);
        for block in 0..blocks {
            this.file.read(block, &mut reading, &mut batch)?;
            if batch.first().is_some_and(|first| first.at < before) {
                let message =
                    format!("block {block} begins before the end of the one in front of it");
                return Err(this.damaged(message));
            }
            before = batch.last().map_or(before, |last| last.at);
            if left == 0
                && let Some(first) = batch.iter().find(|request| shape.mode.keeps(request.op))
            {
                this.first = first.at;
            }
            shape.apply_each(this.first, &mut batch);
            batch.truncate(usize::try_from(most - left).unwrap_or(usize::MAX));
            shape.check_fits(&batch)?;
            batch.iter().for_each(|request| counted.add(request));
            hasher.add(&batch);
            left += batch.len() as u64;
            this.numbers.push(left);
            batch.clear();
            progress(block as u64 + 1, blocks as u64);
            if left == most {
                break;
            }
        }
        if left == 0 {
            return Err(shape.empty_error());
        }
        let summary = counted.summary();
        let unshaped = Shape::default();
        if *shape == unshaped && !this.file.recorded().agrees(&summary) {
            return Err(this.damaged("the blocks hold other requests than the header says".into()));
        }
        this.hash = hasher.text();
        Ok((this, summary))
    }

    fn damaged(&self, message: String) -> TraceError {
        let message = format!("{message}: the file is damaged; copy it again");
        TraceError::new(Kind::Corrupt, self.file.name(), Place::Whole, message)
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        *self.numbers.last().expect("at least the first number")
    }

    /// Returns the [`hash`](crate::hash::hash) of the requests.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Replaces `out` by the requests of the block that has request `number`, and returns the
    /// number of the first of them.
    ///
    /// # Errors
    /// If the file can no longer be read, or was changed meanwhile.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn read(
        &self,
        number: u64,
        reading: &mut Reading,
        out: &mut Vec<Request>,
    ) -> Result<u64, TraceError> {
        assert!(number < self.requests(), "request {number} of {}", self.requests());
        let block = self.numbers.partition_point(|&first| first <= number) - 1;
        let (first, end) = (self.numbers[block], self.numbers[block + 1]);
        out.clear();
        self.file.read(block, reading, out)?;
        self.shape.apply_each(self.first, out);
        let wanted = (end - first) as usize;
        // The last block may hold more requests than the shape keeps.
        if out.len() < wanted || (out.len() > wanted && block + 2 < self.numbers.len()) {
            return Err(self.damaged(format!("block {block} was changed while it was in use")));
        }
        out.truncate(wanted);
        Ok(first)
    }
}
