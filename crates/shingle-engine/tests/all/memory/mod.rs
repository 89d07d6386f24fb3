//! An SSD in memory, as tests hand it to recovery.

use std::collections::HashMap;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;

/// Its pages; those that were never written are zeros.
pub(crate) struct Memory<'a>(pub(crate) &'a HashMap<u64, Page>);

impl Pages for Memory<'_> {
    type Error = std::convert::Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error> {
        for (page, at) in out.iter_mut().zip(first..) {
            *page = self.0.get(&at).copied().unwrap_or([0; PAGE_BYTES]);
        }
        Ok(())
    }
}
