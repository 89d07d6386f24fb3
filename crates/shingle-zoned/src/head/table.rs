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
}

pub(crate) struct Found {
    pub(crate) table: Table,
    /// Pages of which one copy is older than the other, or damaged.
    pub(crate) single: BTreeSet<u64>,
    /// Damaged copies: page of the table, page of the file or device, and what is wrong with it.
    pub(crate) damaged: Vec<(u64, u64, Unusable)>,
}

impl Table {
    /// The table of a new disk.
    pub(crate) fn new(header: &Header, zones: Vec<ZoneState>) -> Table {
        let layout = header.layout();
        let pages = layout.table_pages as usize;
        let (editions, first) = (vec![0; pages], vec![0; pages]);
        Table { owner: header.owner(), layout, zones, editions, first }
    }

    /// Reads the table: `read` returns pages of the file.
    pub(crate) fn read<E>(
        header: &Header,
        on: On,
        mut read: impl FnMut(u64) -> Result<Page, E>,
    ) -> Result<Result<Found, String>, E> {
        let mut table = Table::new(header, Vec::new());
        let (mut single, mut damaged) = (BTreeSet::new(), Vec::new());
        for place in 0..table.layout.table_pages {
            let mut decode = |copy| -> Result<Result<TablePage, Unusable>, E> {
                let page = read(table.layout.table_page(place, copy))?;
                Ok(TablePage::decode(&page, table.owner, place as u32, &header.geometry))
            };
            let (page, worse) = match (decode(0)?, decode(1)?) {
                (Ok(one), Ok(other)) => {
                    if one.edition != other.edition {
                        single.insert(place);
                    }
                    if one.edition >= other.edition { (one, 1) } else { (other, 0) }
                }
                (Ok(page), Err(why)) => {
                    single.insert(place);
                    damaged.push((place, table.layout.table_page(place, 1), why));
                    (page, 1)
                }
                (Err(why), Ok(page)) => {
                    single.insert(place);
                    damaged.push((place, table.layout.table_page(place, 0), why));
                    (page, 0)
                }
                (Err(one), Err(other)) => return Ok(Err(lost(place, header, on, [&one, &other]))),
            };
            table.zones.extend(page.zones);
            table.editions[place as usize] = page.edition;
            table.first[place as usize] = worse;
        }
        Ok(Ok(Found { table, single, damaged }))
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
    /// time. After an error the head may contain either state, and the table cannot be used any
    /// more.
    pub(crate) fn settle(
        &mut self,
        direct: &Direct,
        zones: impl IntoIterator<Item = (Zone, ZoneState)>,
    ) -> io::Result<()> {
        let mut places = BTreeSet::new();
        for (zone, state) in zones {
            let known = &mut self.zones[zone.index()];
            if *known != state {
                *known = state;
                places.insert(zone.index() as u64 / ENTRIES as u64);
            }
        }
        self.write(direct, &places)
    }

    /// Writes both copies of these pages.
    pub(crate) fn write(&mut self, direct: &Direct, places: &BTreeSet<u64>) -> io::Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let [first, second] = self.halves(places);
        let write = |half: &[(u64, Buffer)]| {
            half.iter().try_for_each(|(at, page)| direct.write(*at, std::slice::from_ref(page)))
        };
        write(&first)?;
        direct.flush()?;
        write(&second)
    }

    /// The next editions of these pages, in two parts: one copy of each, and when that is durable
    /// the other one.
    fn halves(&mut self, places: &BTreeSet<u64>) -> [Vec<(u64, Buffer)>; 2] {
        let mut halves = [Vec::new(), Vec::new()];
        for &place in places {
            let page = self.encode(place);
            let first = self.first[place as usize];
            let copies = [first, 1 - first];
            self.first[place as usize] = copies[1];
            for (half, copy) in halves.iter_mut().zip(copies) {
                half.push((self.layout.table_page(place, copy), page.clone()));
            }
        }
        halves
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
    use super::*;
    use crate::geometry::Geometry;

    /// A table of one page, and the pages of its copies.
    fn of_one_page() -> (Header, Table, [u64; 2]) {
        let header = Header { uuid: [7; 16], geometry: Geometry::new(16, 256) };
        let table = Table::new(&header, vec![ZoneState::EMPTY; 16]);
        let copies = [0, 1].map(|copy| table.layout.table_page(0, copy));
        (header, table, copies)
    }

    fn places(halves: [Vec<(u64, Buffer)>; 2]) -> [u64; 2] {
        halves.map(|half| half[0].0)
    }

    /// That copy was not flushed since: a power cut may tear it, and the other one must be
    /// undamaged then.
    #[test]
    fn the_copy_that_was_written_last_is_the_next_to_be_written() {
        let (_, mut table, copies) = of_one_page();
        let page = BTreeSet::from([0]);
        assert_eq!(places(table.halves(&page)), copies);
        assert_eq!(places(table.halves(&page)), [copies[1], copies[0]]);
        assert_eq!(places(table.halves(&page)), copies);
    }

    /// The power may be cut again while the copy is repaired.
    #[test]
    fn the_copy_that_is_bad_or_older_is_written_first() {
        let (header, mut table, copies) = of_one_page();
        let page = BTreeSet::from([0]);
        let mut edition = || table.halves(&page)[0][0].1.0;
        let (older, newer, bad) = (edition(), edition(), [9; 4096]);
        for (found, worse) in
            [([newer, older], 1), ([older, newer], 0), ([newer, bad], 1), ([bad, newer], 0)]
        {
            let read = |at| Ok::<_, ()>(found[usize::from(at != copies[0])]);
            let found = Table::read(&header, On::File, read).expect("read").expect("one is good");
            let mut table = found.table;
            assert_eq!(places(table.halves(&page)), [copies[worse], copies[1 - worse]]);
        }
    }
}
