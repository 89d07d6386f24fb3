//! The requests that access a volume's blocks for the first time: one extent each.
//!
//! They come zone by zone, and within a zone cluster by cluster, not in address order: without a
//! cache hardly a write of ROCO's volumes continues its zone (ROCO Fig. 9, HA), even of src2_2,
//! whose zones are written in one go (§4.2). Within a cluster they go from its first block to its
//! last.

use super::counts::Side;
use super::layout::{Layout, Zone};
use super::power::Lengths;
use crate::synth::rng::Rng;

/// A prime larger than the number of clusters of a zone: its multiples reach every cluster, not in
/// order.
const STRIDE: u64 = 7_919;

/// The blocks that a request accesses, and that its reuses access again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Block of the volume.
    pub(super) first: u32,
    pub(super) blocks: u16,
    /// Whether the next extent is in another cluster.
    pub(super) last: bool,
    /// Its zone, as an index of the layout.
    pub(super) zone: u32,
}

/// Cuts a layout into about as many extents as a side has first accesses. They overlap if there are
/// too few blocks. Half of them are short ones, which are reused more often.
pub(super) fn cut(
    layout: &Layout,
    zones_in_order: &[u32],
    side: &Side,
    lengths: &Lengths,
    rng: &mut Rng,
) -> Vec<Extent> {
    const CATCH_UP: i64 = 64;
    let (starts, length) = (side.starts, side.first_length);
    let step = (layout.blocks() << 16) / starts.max(1);
    let again = side.reuse_length;
    let mut extents = Vec::with_capacity(starts as usize);
    // How far the steps and lengths are behind their means, in 2^-16.
    let (mut behind, mut short) = (0_i64, 0_i64);
    let mut draw = |mean: u64, behind: i64| {
        let short = u64::midpoint(1 << 16, again.min(mean));
        let mean = if rng.below(2) == 0 { short } else { 2 * mean - short };
        lengths.draw((mean as i64 + behind / CATCH_UP).max(1 << 16) as u64, rng)
    };
    for &number in zones_in_order {
        let zone = layout.zones[number as usize];
        for turn in 0..zone.clusters {
            let (first, blocks) = cluster_of_turn(zone, turn);
            let mut at = 0;
            while at < blocks {
                let next = blocks.min(at + draw(step, behind));
                behind += step as i64 - ((next - at) << 16) as i64;
                let most = (blocks - at).min(u64::from(u16::MAX));
                let taken = if length <= step + step / 16 {
                    next - at
                } else {
                    draw(length, short).clamp(next - at, most)
                };
                short += length as i64 - (taken << 16) as i64;
                extents.push(Extent {
                    first: (first + at) as u32,
                    blocks: taken as u16,
                    last: next == blocks,
                    zone: number,
                });
                at = next;
            }
        }
    }
    extents
}

/// Returns a cluster of a zone by its turn, which is not the order of addresses.
fn cluster_of_turn(zone: Zone, turn: u32) -> (u64, u64) {
    zone.cluster((u64::from(turn) * STRIDE % u64::from(zone.clusters)) as u32)
}
