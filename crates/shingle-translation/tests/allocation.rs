//! Works of a translation take no memory once it has touched the zones they are about.

use shingle_core::params::Params;
use shingle_core::units::Block;
use shingle_translation::translations::get;
use shingle_translation::{Layout, NoQueue, Translation, Work};

const LAYOUT: Layout = Layout { zone_blocks: 1024, buffer_blocks: 2048, zones: 40 };

/// So many writes of one to eight blocks, three of four in a tenth of the disk.
fn write(translation: &mut dyn Translation, writes: u64, state: &mut u64) {
    for _ in 0..writes {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = *state >> 33;
        let range = if draw.is_multiple_of(4) { 1 } else { 10 };
        let block = (draw / 32) % ((translation.blocks() - 8) / range);
        let count = 1 + draw / 4 % 8;
        translation.begin(Work::Write { block: Block(block), count });
        while translation.next(&NoQueue).is_some() {}
    }
}

#[test]
fn amphisbaena_writes_without_taking_memory() {
    let entry = get("amphisbaena").unwrap();
    let mut params = Params::new(entry.params);
    params.set("period", "500").unwrap();
    let mut translation = entry.make(&params, LAYOUT).unwrap();
    let mut state = 1;
    for zone in 0..u64::from(LAYOUT.zones) {
        let block = Block(zone * LAYOUT.zone_blocks);
        translation.begin(Work::Write { block, count: 1 });
        while translation.next(&NoQueue).is_some() {}
    }
    let before = *translation.counters();
    let taken = allocation_counter::measure(|| write(translation.as_mut(), 20_000, &mut state));
    let after = *translation.counters();
    assert_eq!(taken.count_total, 0, "{taken:?}");
    assert!(after.victims > before.victims + 100, "zones were written back: {after:?}");
    assert!(after.moved_blocks > 1000 && after.hot_hits > 1000, "{after:?}");
    assert!(after.chunks_to_hot > 0, "the border moved: {after:?}");
}
