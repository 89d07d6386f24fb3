//! The write pointers in the head: written twice, so that a torn or damaged page has a good copy.

use std::collections::BTreeSet;
use std::io;

use shingle_core::units::Zone;
use shingle_device::Direct;
use shingle_engine::Buffer;
use shingle_engine::buffer::Aligned;

use super::On;
use super::format::{ENTRIES, Header, Layout, Page, TablePage, Unusable};
use crate::zones::ZoneState;

/// The table of an open file.
#[derive(Debug)]
pub(crate) struct Table {
    owner: u64,
    layout: Layout,
    zones: Vec<ZoneState>,
    /// The edition of each page.
    editions: Vec<u64>,
    /// The copy of each page that is written first: the other one is undamaged and durable.
    first: Vec<u64>,
    /// Pages that are not, or perhaps not, on the device as they are here.
    unwritten: BTreeSet<u64>,
    /// A flush has failed, and [`Table::flush_failed`] has not told yet.
    flush_failed: bool,
}

/// What a table is written to.
pub(crate) trait Medium {
    fn write(&self, at: u64, page: &Buffer) -> io::Result<()>;
    fn flush(&self) -> io::Result<()>;
}

impl Medium for Direct {
    fn write(&self, at: u64, page: &Buffer) -> io::Result<()> {
        Direct::write(self, at, std::slice::from_ref(page))
    }

    fn flush(&self) -> io::Result<()> {
        Direct::flush(self)
    }
}

pub(crate) struct Found {
    /// It has to be [written](Table::write): of some pages one copy may be older than the other, or damaged.
    pub(crate) table: Table,
    /// Damaged copies: page of the table, page of the file or device, and what is wrong with it.
    pub(crate) damaged: Vec<(u64, u64, Unusable)>,
}

impl Table {
    /// The table of a new disk.
    pub(crate) fn new(header: &Header, zones: Vec<ZoneState>) -> Table {
        let layout = header.layout();
        let pages = layout.table_pages as usize;
        Table {
            owner: header.owner(),
            layout,
            zones,
            editions: vec![0; pages],
            first: vec![0; pages],
            unwritten: (0..layout.table_pages).collect(),
            flush_failed: false,
        }
    }

    /// Reads the table: `read` returns pages of the file.
    pub(crate) fn read<E>(
        header: &Header,
        on: On,
        mut read: impl FnMut(u64) -> Result<Page, E>,
    ) -> Result<Result<Found, String>, E> {
        let mut table = Table::new(header, Vec::new());
        let mut damaged = Vec::new();
        for place in 0..table.layout.table_pages {
            let mut decode = |copy| -> Result<Result<TablePage, Unusable>, E> {
                let page = read(table.layout.table_page(place, copy))?;
                Ok(TablePage::decode(&page, table.owner, place as u32, &header.geometry))
            };
            let (page, worse) = match (decode(0)?, decode(1)?) {
                (Ok(one), Ok(other)) => {
                    if one.edition == other.edition {
                        table.unwritten.remove(&place);
                    }
                    if one.edition >= other.edition { (one, 1) } else { (other, 0) }
                }
                (Ok(page), Err(why)) => {
                    damaged.push((place, table.layout.table_page(place, 1), why));
                    (page, 1)
                }
                (Err(why), Ok(page)) => {
                    damaged.push((place, table.layout.table_page(place, 0), why));
                    (page, 0)
                }
                (Err(one), Err(other)) => return Ok(Err(lost(place, header, on, [&one, &other]))),
            };
            table.zones.extend(page.zones);
            table.editions[place as usize] = page.edition;
            table.first[place as usize] = worse;
        }
        Ok(Ok(Found { table, damaged }))
    }

    pub(crate) fn zones(&self) -> &[ZoneState] {
        &self.zones
    }

    pub(crate) fn zone(&self, zone: Zone) -> ZoneState {
        self.zones[zone.index()]
    }

    /// Updates zones durably. The data below their pointers has to be durable before.
    ///
    /// One copy is made durable before the other is written, so one of them is undamaged at any
    /// time. The second need not be durable, as the first one is; it is written first the next
    /// time. After an error the head may contain either state; the next call writes the page again.
    pub(crate) fn settle(
        &mut self,
        medium: &impl Medium,
        zones: impl IntoIterator<Item = (Zone, ZoneState)>,
    ) -> io::Result<()> {
        for (zone, state) in zones {
            let known = &mut self.zones[zone.index()];
            if *known != state {
                *known = state;
                self.unwritten.insert(zone.index() as u64 / ENTRIES as u64);
            }
        }
        self.write(medium)
    }

    /// Writes both copies of all pages that are not as they are here.
    pub(crate) fn write(&mut self, medium: &impl Medium) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let places = self.unwritten.clone();
        let pages: Vec<Buffer> = places.iter().map(|&place| self.encode(place)).collect();
        self.write_first(medium, &places, &pages)?;
        self.flush(medium)?;
        // Only now: if that failed, the other copies are still the only ones known to be good.
        for &place in &places {
            self.first[place as usize] = 1 - self.first[place as usize];
        }
        self.write_first(medium, &places, &pages)?;
        self.unwritten.clear();
        Ok(())
    }

    /// Writes the copy of each page that is to be written first.
    fn write_first(
        &self,
        medium: &impl Medium,
        places: &BTreeSet<u64>,
        pages: &[Buffer],
    ) -> io::Result<()> {
        places.iter().zip(pages).try_for_each(|(&place, page)| {
            medium.write(self.layout.table_page(place, self.first[place as usize]), page)
        })
    }

    /// Makes durable what was written to the medium.
    pub(crate) fn flush(&mut self, medium: &impl Medium) -> io::Result<()> {
        medium.flush().inspect_err(|_| self.flush_failed = true)
    }

    /// Whether a flush has failed since the last call: then the device may have lost what it had
    /// acknowledged.
    pub(crate) fn flush_failed(&mut self) -> bool {
        std::mem::take(&mut self.flush_failed)
    }

    /// Encodes the next edition of a page.
    fn encode(&mut self, place: u64) -> Buffer {
        let edition = &mut self.editions[place as usize];
        *edition += 1;
        let zones = self.zones.chunks(ENTRIES).nth(place as usize).unwrap_or_default().to_vec();
        let page = TablePage { place: place as u32, edition: *edition, zones };
        Box::new(Aligned(page.encode(self.owner)))
    }
}

fn lost(place: u64, header: &Header, on: On, why: [&Unusable; 2]) -> String {
    let first = place * ENTRIES as u64;
    let last = (first + ENTRIES as u64).min(u64::from(header.geometry.zones)) - 1;
    let [one, other] = [0, 1].map(|copy| header.layout().table_page(place, copy));
    format!(
        "it is damaged: both copies of page {place} of its table are lost, which says where the write pointers of zones {first} \
         to {last} are (page {one} of the {}: {}; page {other}: {}); {}",
        on.name(),
        why[0].of_copy(),
        why[1].of_copy(),
        on.remedy()
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::format::HEADERS;
    use super::*;
    use crate::geometry::Geometry;

    const COPIES: [u64; 2] = [HEADERS, HEADERS + 1];

    fn header() -> Header {
        Header { uuid: [7; 16], geometry: Geometry::new(16, 256) }
    }

    /// Zone 3 written for so many blocks.
    fn written(blocks: u32) -> (Zone, ZoneState) {
        (Zone(3), ZoneState::written(blocks, 0, &header().geometry))
    }

    /// Both copies of the only page of a table, as they are and as they are durable. So many calls go
    /// well before one fails.
    #[derive(Default)]
    struct Fake(RefCell<State>);

    #[derive(Clone, Default)]
    struct State {
        now: [Option<Page>; 2],
        durable: [Option<Page>; 2],
        calls_before_error: Option<u32>,
        /// A flush that fails loses what it should have made durable.
        loses: bool,
        written: Vec<u64>,
    }

    impl Fake {
        fn fails(state: &mut State) -> io::Result<()> {
            match &mut state.calls_before_error {
                Some(0) => {
                    state.calls_before_error = None;
                    Err(io::ErrorKind::Other.into())
                }
                Some(calls) => {
                    *calls -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }

        /// What may be there after a power cut: of each copy the durable page, the new one, or half
        /// of it.
        fn cuts(&self) -> Vec<[Page; 2]> {
            let state = self.0.borrow();
            let states = |copy: usize| {
                let durable = state.durable[copy].unwrap_or([0; 4096]);
                let now = state.now[copy].unwrap_or(durable);
                let mut torn = durable;
                torn[..512].copy_from_slice(&now[..512]);
                [durable, now, torn]
            };
            let others = |one| states(1).map(|other| [one, other]);
            states(0).into_iter().flat_map(others).collect()
        }
    }

    impl Medium for Fake {
        fn write(&self, at: u64, page: &Buffer) -> io::Result<()> {
            let mut state = self.0.borrow_mut();
            let copy = COPIES.iter().position(|&copy| copy == at).expect("a copy");
            state.written.push(at);
            if let Err(error) = Fake::fails(&mut state) {
                // It may have been done in part.
                let mut torn = state.now[copy].unwrap_or([0; 4096]);
                torn[..512].copy_from_slice(&page.0[..512]);
                state.now[copy] = Some(torn);
                return Err(error);
            }
            state.now[copy] = Some(page.0);
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            let mut state = self.0.borrow_mut();
            let done = Fake::fails(&mut state);
            match &done {
                Ok(()) => state.durable = state.now,
                Err(_) if state.loses => state.now = state.durable,
                Err(_) => {}
            }
            done
        }
    }

    fn read(copies: &[Page; 2]) -> Found {
        let page = |at| Ok::<_, ()>(copies[usize::from(at != COPIES[0])]);
        Table::read(&header(), On::File, page).expect("read").expect("one copy is good")
    }

    fn new(medium: &Fake) -> Table {
        let mut table = Table::new(&header(), vec![ZoneState::EMPTY; 16]);
        table.write(medium).expect("written");
        medium.flush().expect("durable");
        table
    }

    /// That copy was not flushed since: a power cut may tear it, and the other one must be
    /// undamaged then.
    #[test]
    fn the_copy_that_was_written_last_is_the_next_to_be_written() {
        let medium = Fake::default();
        let mut table = new(&medium);
        table.settle(&medium, [written(1)]).expect("written");
        table.settle(&medium, [written(2)]).expect("written");
        let [one, other] = COPIES;
        assert_eq!(medium.0.borrow().written, [one, other, other, one, one, other]);
    }

    /// The power may be cut again while the copy is repaired.
    #[test]
    fn the_copy_that_is_bad_or_older_is_written_first() {
        let mut table = Table::new(&header(), vec![ZoneState::EMPTY; 16]);
        let (older, newer, bad) = (table.encode(0).0, table.encode(0).0, [9; 4096]);
        for (found, worse) in
            [([newer, older], 1), ([older, newer], 0), ([newer, bad], 1), ([bad, newer], 0)]
        {
            let medium = Fake::default();
            read(&found).table.write(&medium).expect("written");
            assert_eq!(medium.0.borrow().written, [COPIES[worse], COPIES[1 - worse]]);
        }
        let medium = Fake::default();
        read(&[newer, newer]).table.write(&medium).expect("nothing to write");
        assert!(medium.0.borrow().written.is_empty());
    }

    /// After an error of any call the next one puts it right, and a power cut at any time leaves what
    /// was settled last, or what was asked for since.
    #[test]
    fn what_fails_is_written_again_and_one_copy_is_good_at_all_times() {
        for (call, loses) in (0..9).flat_map(|call| [(call, false), (call, true)]) {
            let medium = Fake::default();
            let mut table = new(&medium);
            let mut state = medium.0.borrow().clone();
            (state.calls_before_error, state.loses) = (Some(call), loses);
            medium.0.replace(state);
            let (mut settled, mut failures) = (0, 0);
            for blocks in 1..6 {
                let done = table.settle(&medium, [written(blocks)]);
                failures += u32::from(done.is_err());
                settled = if done.is_ok() { blocks } else { settled };
                for cut in medium.cuts() {
                    let found = read(&cut).table.zone(Zone(3)).pointer;
                    let what = format!("call {call}: {found} of {settled}..={blocks}");
                    assert!((settled..=blocks).contains(&found), "{what}");
                }
            }
            assert_eq!((settled, failures), (5, 1), "call {call}");
        }
    }

    /// Of two copies the one with the higher edition counts, also after it was read again.
    #[test]
    fn a_table_that_was_read_goes_on_with_its_editions() {
        let medium = Fake::default();
        let mut table = new(&medium);
        (1..4).for_each(|blocks| table.settle(&medium, [written(blocks)]).expect("written"));
        medium.flush().expect("durable");
        let pages = medium.0.borrow().now.map(|page| page.expect("written"));
        let mut table = read(&pages).table;
        // One copy is durable, and the other one is older.
        medium.0.borrow_mut().calls_before_error = Some(2);
        table.settle(&medium, [written(4)]).expect_err("the second copy fails");
        let durable = medium.0.borrow().durable.map(|page| page.expect("written"));
        assert_eq!(read(&durable).table.zone(Zone(3)).pointer, 4);
    }

    /// Nothing but the page is wanting, so the same state is no reason not to write it.
    #[test]
    fn what_failed_is_written_again_also_if_nothing_has_changed_since() {
        let medium = Fake::default();
        let mut table = new(&medium);
        medium.0.borrow_mut().calls_before_error = Some(0);
        table.settle(&medium, [written(1)]).expect_err("the write fails");
        table.settle(&medium, [written(1)]).expect("written");
        medium.flush().expect("durable");
        let state = medium.0.borrow().clone();
        let found = read(&state.durable.map(|page| page.expect("written")));
        assert_eq!((found.table.zone(Zone(3)).pointer, found.damaged), (1, vec![]));
    }

    #[test]
    fn a_flush_that_failed_is_told_once() {
        let medium = Fake::default();
        let mut table = new(&medium);
        for (call, told) in [(0, false), (1, true), (2, false)] {
            medium.0.borrow_mut().calls_before_error = Some(call);
            table.settle(&medium, [written(call + 1)]).expect_err("a call fails");
            assert_eq!((table.flush_failed(), table.flush_failed()), (told, false), "call {call}");
        }
    }
}
