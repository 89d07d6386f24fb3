//! A disk that holds data before the run, as the map of a log over it.

use std::collections::BTreeSet;

use shingle_core::units::{Block, Request};
use shingle_trace::zones::ZONE_BLOCKS;
use shingle_translation::{Layout, Piece, Place, Saved};

use super::options::Trace;
use crate::requests::{RequestList, all};

/// Returns the map of a disk of `blocks` on which all zones of 5,000 blocks that the trace touches hold data,
/// in the order of their blocks. What is touched is packed together, and begins in the zone with the
/// number that it would have on a disk without a map. So ways on the disk are about as long as
/// there, and no zone is in use in part, except for the last.
///
/// # Errors
/// If it is not known what is touched, in words that follow the drive's name and come before "or".
pub(super) fn filled<R: RequestList>(
    layout: Layout,
    blocks: u64,
    trace: &Trace<R>,
) -> Result<Saved, String> {
    let requests = all(&trace.requests).filter(|request| request.bytes > 0);
    let touched = touched(requests, ZONE_BLOCKS);
    if touched.is_empty() && trace.summary.blocks() > 0 {
        return Err("cannot be filled, as only the totals of the trace are known".into());
    }
    let zone_blocks = layout.zone_blocks;
    let mut saved = Saved::empty(layout);
    // The zone that is filled, and how much of it is.
    let mut place = None;
    for first in touched {
        let (mut block, end) = (first * ZONE_BLOCKS, blocks.min((first + 1) * ZONE_BLOCKS));
        while block < end {
            let (zone, at) = place.unwrap_or((block / zone_blocks, 0));
            let count = (end - block).min(zone_blocks - at);
            let piece = Piece { place: Place::Native(zone * zone_blocks + at), count };
            saved.runs.push((Block(block), piece));
            saved.pointers[zone as usize] = zone_blocks;
            block += count;
            // (The blocks of a full zone are as many as it has, so the next one begins beyond it.)
            place = Some((zone, at + count)).filter(|(_, at)| *at < zone_blocks);
        }
    }
    Ok(saved)
}

/// Returns the numbers of the zones of `zone_blocks` blocks that requests touch.
pub(super) fn touched(requests: impl Iterator<Item = Request>, zone_blocks: u64) -> BTreeSet<u64> {
    requests
        .flat_map(|request| {
            let (first, count) = (request.first().0, request.blocks());
            first / zone_blocks..=(first + count.max(1) - 1) / zone_blocks
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos, Op};
    use shingle_trace::Summary;

    fn trace(blocks: &[u64]) -> Trace {
        let request = |&block: &u64| Request {
            at: Nanos::ZERO,
            op: Op::Read,
            offset: block * BLOCK_BYTES,
            bytes: BLOCK_BYTES,
        };
        let requests: Vec<Request> = blocks.iter().map(request).collect();
        let summary = Summary::of(&requests);
        Trace { name: "by hand".into(), format: None, requests, summary }
    }

    const LAYOUT: Layout = Layout { zone_blocks: 8_000, buffer_blocks: 1, zones: 12 };

    fn run(block: u64, place: u64, count: u64) -> (Block, Piece) {
        (Block(block), Piece { place: Place::Native(place), count })
    }

    #[test]
    fn touched_zones_are_packed_and_begin_where_they_would_lie() {
        // Zones of 5,000 blocks 0, 3 and 8. The first two fill a zone of 8,000 and begin another: that in which the
        // block lies that begins it, 18,000.
        let saved = filled(LAYOUT, 80_000, &trace(&[44_999, 15_000, 1, 2])).expect("it fits");
        let runs = [
            run(0, 0, 5_000),
            run(15_000, 5_000, 3_000),
            run(18_000, 2 * 8_000, 2_000),
            run(40_000, 2 * 8_000 + 2_000, 5_000),
        ];
        assert_eq!(saved.runs, runs);
        assert_eq!(saved.pointers, [8_000, 0, 8_000, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_last_zone_ends_with_the_disk() {
        let saved = filled(LAYOUT, 72_000, &trace(&[71_999, 90_000])).expect("a map");
        assert_eq!(saved.runs, [run(70_000, 8 * 8_000, 2_000)]);
    }
}
