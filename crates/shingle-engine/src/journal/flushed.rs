//! What writing and flushing make of pages: committed records, frames that are free, second copies.

use super::{Covered, Journal, PageKind, Write};
use crate::format::{Frame, State};

impl Journal {
    /// A page is written.
    pub fn written(&mut self, what: PageKind) {
        if let PageKind::Journal(number, _) = what {
            let page = self.sealed.iter_mut().find(|page| page.number == number);
            page.expect("a page that was sealed").written += 1;
        } else {
            // Most often they are written in the order in which they were begun.
            let (before, after) = self.twice.split_at(self.written_next.min(self.twice.len()));
            let place = after.iter().chain(before).position(|page| page.what == what);
            let at = (before.len() + place.expect("a page that was begun")) % self.twice.len();
            self.twice[at].written = true;
            self.written_next = at + 1;
        }
    }

    /// What a flush that begins now will cover. One flush at a time.
    pub fn covered(&mut self) -> Covered {
        let written = self.sealed.iter().take_while(|page| page.written == 2);
        let number = written.last().map_or(self.durable, |page| page.number);
        self.twice.iter_mut().filter(|page| page.written).for_each(|page| page.covered = true);
        Covered { number }
    }

    /// A flush is done. Appends frames that are free from now on, and second copies to be written.
    pub fn flushed(&mut self, covered: Covered, freed: &mut Vec<Frame>, next: &mut Vec<Write>) {
        while self.sealed.front().is_some_and(|page| page.number <= covered.number) {
            let page = self.sealed.pop_front().expect("there is one");
            page.records.iter().for_each(|record| self.table.expect(record.frame));
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
        for page in std::mem::take(&mut self.twice) {
            match page.what {
                _ if !page.covered => self.twice.push(page),
                PageKind::Table(place, copy) if !page.second => {
                    next.push(self.begin(PageKind::Table(place, copy.other()), page.bytes, true));
                }
                PageKind::Superblock(copy) if !page.second => {
                    next.push(self.begin(PageKind::Superblock(copy.other()), page.bytes, true));
                }
                PageKind::Table(place, _) => self.table.left(place),
                PageKind::Superblock(_) => {
                    self.superblock = self.coming.take().expect("it was on its way");
                    self.uneven = None;
                }
                PageKind::Journal(..) => unreachable!("pages of the journal are written at once"),
            }
        }
    }
}
