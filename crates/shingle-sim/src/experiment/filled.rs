//! A disk that holds data before the run, as the map of a log over it.

use std::collections::BTreeSet;

use shingle_core::units::Block;
use shingle_trace::zones::ZONE_BLOCKS;
use shingle_translation::{Layout, Piece, Place, Saved};

use super::options::Trace;
use crate::requests::{RequestList, all};

/// Returns the map of a disk on which all zones of 5,000 blocks that the trace touches hold data,
/// in the order of their blocks. What is touched is packed together, and begins in the zone with the
/// number that it would have on a disk without a map. So ways on the disk are about as long as
/// there, and no zone is in use in part, except for the last.
///
/// # Errors
/// If it is not known what is touched, or it does not fit, in words that follow the drive's name
/// and come before "or".
pub(super) fn filled<R: RequestList>(layout: Layout, trace: &Trace<R>) -> Result<Saved, String> {
    let touched = touched(trace);
    if touched.is_empty() && trace.summary.blocks() > 0 {
        return Err("cannot be filled, as only the totals of the trace are known".into());
    }
    let Layout { zone_blocks, zones, .. } = layout;
    let mut saved = Saved::empty(layout);
    // The zone that is filled, and how much of it is.
    let mut place = None;
    for first in touched {
        let (mut block, end) = (first * ZONE_BLOCKS, (first + 1) * ZONE_BLOCKS);
        while block < end {
            let (zone, at) = place.unwrap_or((block / zone_blocks, 0));
            if zone >= u64::from(zones) {
                return Err(format!(
                    "cannot be filled: what the trace touches does not fit into {zones} zones; pack it (--remap)"
                ));
            }
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

/// Returns the numbers of the zones of 5,000 blocks that the trace touches.
fn touched<R: RequestList>(trace: &Trace<R>) -> BTreeSet<u64> {
    let requests = all(&trace.requests).filter(|request| request.bytes > 0);
    requests
        .flat_map(|request| {
            let (first, count) = (request.first().0, request.blocks());
            first / ZONE_BLOCKS..=(first + count.max(1) - 1) / ZONE_BLOCKS
        })
        .collect()
}
