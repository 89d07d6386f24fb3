//! Runs of the store: its limits and its configuration.

use shingle_core::drive_view::InOrder;
use shingle_core::registry::Setup;
use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_engine::Config;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::format::layout::{Layout, SLOTS_MIN};

use super::drives::DriveChoice;
use super::options::{ExperimentError, Options, StoreOptions, usage};
use super::ssd::SsdChoice;
use crate::store::ServingOptions;

/// CPU time of a request in store and client, beside its I/O (a choice). It keeps queue depths
/// apart where a model takes no time. `.ci/speed` measures the store of a machine.
const REQUEST_TIME: Nanos = Nanos::from_micros(20);

/// Checks that no option is set that a store does not have.
pub(super) fn check(options: &Options) -> Result<(), ExperimentError> {
    let Some(store) = &options.store else { return Ok(()) };
    let refused = [
        (options.split, "--split 4k: a store joins neighbouring blocks"),
        (
            !options.fill_partial,
            "--partial ignore: a store reads the rest of a partly written block",
        ),
        (store.depth == 0, "--depth 0: give at least 1"),
        (store.flush_every == Some(Nanos::ZERO), "--flush-every 0: give at least 1"),
    ];
    match refused.into_iter().find(|(refused, _)| *refused) {
        Some((_, why)) => Err(usage(format!("{why} (--as store)"))),
        None => Ok(()),
    }
}

/// Checks that a store supports this disk, and a cache of this size on this SSD.
pub(super) fn check_devices(
    drive: &DriveChoice,
    ssd: &SsdChoice,
    cache_blocks: u32,
) -> Result<(), ExperimentError> {
    if drive.description.exposed.is_some_and(|zones| zones.sequential_required) {
        return Err(usage(format!(
            "{}: a store writes anywhere, and the zones of this drive have to be written in sequence: \
             name a translation with -t (--as store)",
            drive.name
        )));
    }
    let slots = u64::from(cache_blocks);
    if slots < SLOTS_MIN {
        return Err(usage(format!(
            "a cache of {slots} blocks: a store has {SLOTS_MIN} at least, so say -c {}MiB or more (--as store)",
            (SLOTS_MIN * BLOCK_BYTES).div_ceil(1 << 20)
        )));
    }
    let pages = Layout::for_slots(slots).pages();
    if pages > ssd.description.disk_blocks {
        return Err(usage(format!(
            "a store of {slots} blocks takes {} of an SSD with what it writes down beside them, and {} has \
             {} (--as store)",
            show_bytes(pages * PAGE_BYTES as u64),
            ssd.name,
            show_blocks(ssd.description.disk_blocks)
        )));
    }
    Ok(())
}

pub(super) fn serving(store: &StoreOptions, cache_blocks: u32, check: bool) -> ServingOptions {
    ServingOptions {
        config: Config::for_slots(u64::from(cache_blocks)),
        depth: store.depth,
        request_time: REQUEST_TIME,
        flush_every: store.flush_every,
        check,
    }
}

/// Reduces `setup` to what a store knows of its disk: what a probe finds out, and what an operator
/// may declare of its bands (`drive.bands`, `drive.band_pass_us`). It knows nothing of zones, nor
/// of a disk behind a translation.
pub(super) fn as_a_store_knows(setup: Setup<'_>, translated: bool) -> Setup<'_> {
    let hidden = translated || setup.conventional_zones.is_some();
    let bands = setup.bands.filter(|_| !hidden);
    let band_pass = setup.in_order.band_pass.filter(|_| !hidden);
    let log_blocks = if hidden { 0 } else { setup.in_order.log_blocks };
    let in_order = InOrder { log_blocks, band_pass };
    Setup { bands, conventional_zones: None, sequential_required: false, in_order, ..setup }
}
