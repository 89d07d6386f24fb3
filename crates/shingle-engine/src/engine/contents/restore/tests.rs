//! Restored caches, beside those that get one block after the other.

use shingle_core::registry::Registry;
use shingle_core::units::{Nanos, Slot};

use super::*;
use crate::format::layout::Layout;
use crate::settings::Settings;

const DISK_BLOCKS: u64 = 1 << 20;
const SLOTS: u64 = 3 * FEW as u64;

/// A table in which so many frames hold a block, or four of five if they are fewer, in between those
/// that hold none.
fn table(blocks: u64) -> Table {
    let layout = Layout::for_slots(SLOTS);
    let entry = |frame: u64| Entry {
        block: Block(frame * 7919 % DISK_BLOCKS),
        state: match frame {
            _ if frame % 5 == 4 || frame / 5 * 4 + frame % 5 >= blocks => State::Free,
            _ if frame.is_multiple_of(3) => State::Dirty,
            _ => State::Clean,
        },
        // Some have many blocks, and some have none.
        hint: (frame * frame % 31 * 100) as u16,
        sequence: 1,
        crc: frame as u32,
    };
    let entries = (0..layout.frames).map(entry).collect();
    Table::new(&layout, Some((entries, vec![1; layout.table_pages as usize])))
}

fn cache(policy: &str, slots: u64) -> Box<dyn CacheCore> {
    let cache = Settings::new(policy).cache(&Registry::default(), slots as u32, DISK_BLOCKS);
    cache.expect("a policy of stores")
}

/// The frames in the order in which their blocks were used.
fn coldest(table: &Table) -> Vec<Frame> {
    let mut live: Vec<Frame> = table.live().map(|(frame, _)| frame).collect();
    live.sort_by_key(|&frame| table.entry(frame).hint);
    live
}

#[test]
fn slots_are_the_same_whoever_fills_them() {
    for blocks in [0, 1, 700, SLOTS] {
        let table = table(blocks);
        let filled = |threads: Option<usize>| {
            let mut mappings = Mappings::new(SLOTS as usize);
            let mut since = vec![NEVER; SLOTS as usize];
            let slots = Slots { first: 0, mappings: mappings.all_mut(), since: &mut since };
            let mut taken = 0;
            let take = |slots: &Slots<'_>| {
                assert_eq!(slots.first, taken, "one after the other");
                taken += slots.mappings.len();
                Ok(())
            };
            let latest = match threads {
                None => slots.fill_few(&table, take),
                Some(threads) => slots.fill_many(&table, threads, take),
            };
            (latest.expect("there are enough"), taken, mappings.all_mut().to_vec(), since)
        };
        let few = filled(None);
        assert_eq!(few.1, table.live().count());
        for threads in [0, 1, 3, 9] {
            assert!(few == filled(Some(threads)), "{threads}");
        }
    }
}

/// Each policy decides as if it had been given one block after the other.
#[test]
fn a_cache_is_the_same_as_one_restored_block_by_block() {
    for blocks in [FEW as u64 / 2, SLOTS - 100] {
        let table = table(blocks);
        let registry = Registry::default();
        let names = registry.entries().iter().map(|entry| entry.name);
        let stores =
            names.filter(|name| Settings::new(name).cache(&registry, 4096, DISK_BLOCKS).is_ok());
        for policy in stores {
            let mut one_by_one = cache(policy, SLOTS);
            let live = coldest(&table);
            for &frame in &live {
                let entry = table.entry(frame);
                one_by_one.restore(entry.block, entry.state == State::Dirty).expect("room");
            }
            let made =
                Contents::restore(cache(policy, SLOTS), &table, DISK_BLOCKS).expect("they fit");
            let Contents { mut cache, mappings, hints, ages, .. } = made;
            cache.check();
            for (slot, &frame) in (0..).map(Slot).zip(&live) {
                let &Entry { block, state, crc, .. } = table.entry(frame);
                let Mapping { block: mapped, frame: at, crc: sum, version, number } =
                    mappings.get(slot);
                assert_eq!((mapped, at, sum, version, number), (block, Some(frame), crc, 0, FOUND));
                let slots = cache.slots();
                assert_eq!((slots.block(slot), slots.dirty(slot)), (block, state == State::Dirty));
                assert_eq!(cache.lookup(block), Some(slot));
            }
            assert_eq!(hints.now(), table.entry(live[live.len() - 1]).hint + 1);
            let dirty = u64::from(cache.slots().dirty_blocks());
            assert_eq!(ages.at(Nanos(1 << 50)).older[0], dirty);
            let (mut left, mut expected) = (Plan::listing_dropped(), Plan::listing_dropped());
            while cache.slots().free_slots() < SLOTS as u32 / 2 {
                cache.evict(64, &mut left);
                one_by_one.evict(64, &mut expected);
                assert_eq!(left.dropped(), expected.dropped(), "{policy}");
                assert_eq!(left.destages(), expected.destages(), "{policy}");
                for destage in left.destages() {
                    assert_eq!(cache.destaged(destage.slot), one_by_one.destaged(destage.slot));
                }
                left.clear();
                expected.clear();
            }
        }
    }
}

/// The one used longest ago is told of.
#[test]
fn what_does_not_fit_is_refused() {
    for blocks in [700, SLOTS - 1] {
        let good = table(blocks);
        let live = coldest(&good);
        let block = |nth: usize| good.entry(live[nth]).block.0;
        let highest = (0..live.len()).map(block).max().expect("some");
        // With blocks of the disk in the place of others.
        let told = |changes: &[(usize, u64)], slots: u64, disk_blocks: u64| {
            let mut entries = good.entries().to_vec();
            for &(nth, block) in changes {
                entries[live[nth].0 as usize].block = Block(block);
            }
            let layout = Layout::for_slots(SLOTS);
            let editions = vec![1; layout.table_pages as usize];
            let table = Table::new(&layout, Some((entries, editions)));
            let made = Contents::restore(cache("sac", slots), &table, disk_blocks);
            made.err().map(|error| error.to_string())
        };
        let (last, before) = (live.len() - 1, live.len() - 2);
        let beyond = |block: u64, disk_blocks: u64| {
            let text = format!("the SSD holds block {block} of a disk that has {disk_blocks}");
            Some(text)
        };
        let twice = |nth: usize| {
            let block = block(nth);
            Some(format!("two frames hold block {block}: the SSD contradicts itself"))
        };
        assert_eq!(told(&[], SLOTS, highest + 1), None);
        assert_eq!(told(&[], SLOTS, highest), beyond(highest, highest));
        assert_eq!(told(&[(last, block(0))], SLOTS, DISK_BLOCKS), twice(0));
        assert_eq!(told(&[(last, block(before))], SLOTS, DISK_BLOCKS), twice(before));
        let far = DISK_BLOCKS + 5;
        for (changes, expected) in [
            ([(before, block(7)), (last, far)], twice(7)),
            ([(before, far), (last, block(7))], beyond(far, DISK_BLOCKS)),
        ] {
            assert_eq!(told(&changes, SLOTS, DISK_BLOCKS), expected);
        }
        let fewer = live.len() as u64 - 1;
        let expected = format!("the SSD holds {} blocks and has fewer slots", live.len());
        assert_eq!(told(&[], fewer, DISK_BLOCKS), Some(expected));
    }
}
