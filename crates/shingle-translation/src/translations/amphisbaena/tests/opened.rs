//! What a saved map is made into, count by count.

use super::super::Amphisbaena;
use super::super::settings::PARAMS;
use super::Role;
use crate::translation::{Layout, Make, Piece, Place, Saved, Translation as _};
use shingle_core::params::Params;
use shingle_core::units::Block;

const LAYOUT: Layout = Layout { zone_blocks: 16, buffer_blocks: 32, zones: 4 };

/// Over eight frames of four blocks, of which the HFB has two at first and six at most. Zones 0 and 1 are full, zone 2 has
/// four blocks.
fn open(layout: Layout, runs: &[(u64, Place, u64)]) -> Result<Amphisbaena, String> {
    let mut params = Params::new(PARAMS);
    params.set("chunk", "4b").expect("valid");
    let mut runs: Vec<_> =
        runs.iter().map(|&(block, place, count)| (Block(block), Piece { place, count })).collect();
    runs.sort_unstable_by_key(|run| run.0);
    Amphisbaena::open(&params, layout, &Saved { runs, pointers: vec![16, 16, 4, 0] })
}

#[test]
fn frames_and_zones_are_counted_anew() {
    let in_zones =
        [(8, Place::Native(8), 3), (14, Place::Native(14), 6), (32, Place::Native(32), 4)];
    let in_buffer = [
        // The two frames of the HFB are full.
        (48, 0, 8),
        // In its place, in the first frame that is not the HFB's.
        (5, 9, 1),
        // Not in its place.
        (45, 14, 1),
        // Two frames of one chunk, all in their places: the one with more blocks is the LFB's.
        (36, 16, 1),
        (37, 21, 2),
        // Two frames of one chunk, the first not in its place.
        (21, 24, 1),
        (22, 30, 1),
    ];
    let in_buffer = in_buffer.map(|(block, at, count)| (block, Place::Buffer(at), count));
    let opened = open(LAYOUT, &[&in_zones[..], &in_buffer].concat()).expect("a map");
    opened.check();
    // Blocks of the HFB, in slots of the frames that it has by number: the fourth, the fifth and the seventh are obtained.
    let slot = |block| opened.roles.slot(Block(block));
    assert_eq!([48, 55, 45, 36, 21].map(slot), [Some(0), Some(7), Some(10), Some(12), Some(16)]);
    assert_eq!([5, 37, 38, 22].map(slot), [None; 4]);
    assert_eq!((opened.hot.blocks(), opened.cold.blocks()), (20, 4));
    // They may return, the first of them first.
    let params = Params::new(PARAMS);
    assert_eq!(params.choice("returns"), "any");
    let returning = opened.hot.clone().returning(opened.settings.returns, |_| false);
    assert_eq!(returning, Some(8..12));
    // Of twenty slots 18 may be SUP: all are.
    let roles = (0..24).filter_map(|slot| opened.roles.resident(slot)).map(|(_, role)| role);
    assert_eq!(roles.collect::<Vec<_>>(), [Role::Sup; 11]);
    // By zone: write pointer, blocks below it that count, blocks in the LFB and in the HFB.
    let mut zones: Vec<_> = opened.zones.iter().collect();
    zones.sort_unstable_by_key(|zone| zone.zone);
    let counts = zones.iter().map(|zone| (zone.write_pointer, zone.native, zone.cold, zone.hot));
    let wanted = [(16, 5 + 1, 1, 0), (16, 4 + 2, 1, 1), (4, 4, 2, 2), (0, 0, 0, 8)];
    assert_eq!(counts.collect::<Vec<_>>(), wanted);
}

#[test]
fn the_rest_of_the_buffer_that_is_less_than_a_frame_has_no_blocks() {
    let layout = Layout { buffer_blocks: 34, ..LAYOUT };
    assert!(open(layout, &[(7, Place::Buffer(31), 1)]).is_ok());
    let refused = open(layout, &[(4, Place::Buffer(32), 1)]).expect_err("there are eight frames");
    assert!(
        refused.ends_with("block 32 of the buffer, but that is of no chunk of the buffer"),
        "{refused}"
    );
}
