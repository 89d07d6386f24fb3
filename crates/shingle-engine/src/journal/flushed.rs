//! What follows from the writes and flushes of pages: committed records, free frames, second
//! copies.

use super::{FlushCoverage, Journal, PageKind, Write};
use crate::format::{Frame, State};

impl Journal {
    /// Notes that a page is written.
    pub fn written(&mut self, what: PageKind) {
        if let PageKind::Journal(number, _) = what {
            let page = self.sealed.iter_mut().find(|page| page.number == number);
            page.expect("a page that was sealed").written += 1;
        } else {
            // Most are written in the order in which they were begun.
            let (before, after) = self.pairs.split_at(self.written_next.min(self.pairs.len()));
            let place = after.iter().chain(before).position(|page| page.what == what);
            let at = (before.len() + place.expect("a page that was begun")) % self.pairs.len();
            self.pairs[at].written = true;
            self.written_next = at + 1;
        }
    }

    /// What a flush that begins now will cover. One flush at a time.
    pub fn begin_flush(&mut self) -> FlushCoverage {
        let written = self.sealed.iter().take_while(|page| page.written == 2);
        let number = written.last().map_or(self.durable, |page| page.number);
        self.pairs.iter_mut().filter(|page| page.written).for_each(|page| page.covered = true);
        FlushCoverage { number }
    }

    /// Notes that a flush is done. Appends the frames that are free now to `freed`, and the second
    /// copies to write to `next`.
    pub fn flushed(
        &mut self,
        covered: FlushCoverage,
        freed: &mut Vec<Frame>,
        next: &mut Vec<Write>,
    ) {
        while self.sealed.front().is_some_and(|page| page.number <= covered.number) {
            let page = self.sealed.pop_front().expect("there is one");
            page.records.iter().for_each(|record| self.table.prefetch(record.frame));
            for (place, record) in page.records.iter().enumerate() {
                self.table.apply(record, page.number, place);
                if matches!(record.state, State::Free | State::Superseded) {
                    self.given_up.push_back((page.number, record.frame));
                }
            }
            let reusable = self.given_up.partition_point(|&(number, _)| number <= page.durable);
            freed.extend(self.given_up.drain(..reusable).map(|(_, frame)| frame));
            self.durable = page.number;
        }
        for page in std::mem::take(&mut self.pairs) {
            match page.what {
                _ if !page.covered => self.pairs.push(page),
                PageKind::Table(place, copy) if !page.second => {
                    next.push(self.begin(PageKind::Table(place, copy.other()), page.bytes, true));
                }
                PageKind::Superblock(copy) if !page.second => {
                    next.push(self.begin(PageKind::Superblock(copy.other()), page.bytes, true));
                }
                PageKind::Table(place, _) => self.table.end_write(place),
                PageKind::Superblock(_) => {
                    self.superblock = self.next_superblock.take().expect("it was on its way");
                    self.uneven = None;
                }
                PageKind::Journal(..) => unreachable!("pages of the journal are written at once"),
            }
        }
    }
}
