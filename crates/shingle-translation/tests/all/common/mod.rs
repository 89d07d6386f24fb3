//! Short words for steps.

#![allow(dead_code, unreachable_pub)] // no test uses them all

use shingle_core::params::Params;
use shingle_core::units::{Block, Zone};
use shingle_translation::testing::Bench;
use shingle_translation::translations::get;
use shingle_translation::{Layout, NoQueue, Piece, Place, Saved, Step, Work};

/// Translation `name` over eight zones of four blocks.
pub fn bench(name: &str, buffer_blocks: u64, settings: &[(&str, &str)]) -> Bench {
    bench_over(name, Layout { zone_blocks: 4, buffer_blocks, zones: 8 }, settings)
}

pub fn bench_over(name: &str, layout: Layout, settings: &[(&str, &str)]) -> Bench {
    let entry = get(name).expect("it is registered");
    let mut params = Params::new(entry.params);
    settings.iter().for_each(|(name, value)| params.set(name, value).expect("valid"));
    Bench::new(entry.make(&params, layout).expect("room"), layout, entry.survives_power_cuts)
}

/// A disk that is as a map says: blocks, where they lie, and how many; and write pointers.
pub fn opened(
    name: &str,
    layout: Layout,
    settings: &[(&str, &str)],
    runs: &[(u64, Place, u64)],
    pointers: &[u64],
) -> Result<Bench, String> {
    let entry = get(name).expect("it is registered");
    let mut params = Params::new(entry.params);
    settings.iter().for_each(|(name, value)| params.set(name, value).expect("valid"));
    let run = |&(block, place, count): &(u64, Place, u64)| (Block(block), Piece { place, count });
    let saved = Saved { runs: runs.iter().map(run).collect(), pointers: pointers.to_vec() };
    let opened = entry.open(&params, layout, &saved)?;
    Ok(Bench::over(&saved, opened, layout, entry.survives_power_cuts))
}

/// Writes `count` blocks from `block` on.
pub fn write(bench: &mut Bench, block: u64, count: u64) -> Vec<Step> {
    bench.run(Work::Write { block: Block(block), count }, &NoQueue)
}

pub fn buffer(block: u64, count: u64, at: u64) -> Step {
    Step::Buffer { block: Block(block), count, at }
}

/// Reads from the buffer.
pub fn read(from: u64, block: u64, count: u64) -> Step {
    Step::Read { from: Place::Buffer(from), block: Block(block), count }
}

/// Reads native blocks that have kept their addresses.
pub fn native(block: u64, count: u64) -> Step {
    Step::Read { from: Place::Native(block), block: Block(block), count }
}

pub fn append(zone: u32, block: u64, count: u64) -> Step {
    Step::Append { zone: Zone(zone), block: Block(block), count }
}
