//! An SSD in memory with a new cache on it, and an engine over that.

mod store;

use std::collections::HashMap;

use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::{Pages, recover};
use shingle_engine::settings::Settings;
use shingle_engine::{Config, Engine, Io, Kind};

pub(crate) use store::{Fate, Store};

const SSD_BYTES: u64 = 32 << 20;

/// The contents of a device; pages that were never written are zeros.
pub(crate) type Held = HashMap<u64, Page>;

/// A device as recovery reads it.
pub(crate) struct Memory<'a>(pub(crate) &'a Held);

impl Pages for Memory<'_> {
    type Error = std::convert::Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error> {
        for (page, at) in out.iter_mut().zip(first..) {
            *page = self.0.get(&at).copied().unwrap_or([0; PAGE_BYTES]);
        }
        Ok(())
    }
}

fn layout() -> Layout {
    Layout::for_ssd(SSD_BYTES).expect("large enough")
}

/// The number of blocks that it can cache.
pub(crate) fn slots() -> u64 {
    layout().slots
}

/// The superblock of a new cache.
pub(crate) fn superblock(disk_blocks: u64) -> Superblock {
    Superblock::new(*b"a cache for test", layout(), SSD_BYTES, disk_blocks * BLOCK_BYTES)
}

/// An SSD with just this superblock.
pub(crate) fn ssd_with(superblock: &Superblock) -> Held {
    Copy::BOTH.map(|copy| (copy.superblock_page(), superblock.encode())).into()
}

/// Serves a new cache. Returns its SSD too.
pub(crate) fn serve(
    settings: &Settings,
    disk_blocks: u64,
    change: impl FnOnce(&mut Config),
) -> (Engine, Held) {
    let ssd = ssd_with(&superblock(disk_blocks));
    let found = recover(&mut Memory(&ssd)).expect("a new cache");
    let cache = settings.cache(&Registry::default(), slots() as u32, disk_blocks);
    let mut config = Config::for_slots(slots());
    change(&mut config);
    let engine = Engine::open(found, cache.expect("a policy for stores"), disk_blocks, config);
    (engine.expect("a new cache"), ssd)
}

/// Executes a read or a write.
pub(crate) fn carry_out(device: &mut Held, io: &mut Io) {
    for (buffer, at) in io.buffers.iter_mut().zip(io.page..) {
        match io.kind {
            Kind::Read => buffer.0 = device.get(&at).copied().unwrap_or([0; PAGE_BYTES]),
            _ => drop(device.insert(at, buffer.0)),
        }
    }
}
