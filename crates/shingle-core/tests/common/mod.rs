//! What the tests of all policies share. Each test uses a part of it.
#![allow(dead_code)]

use shingle_core::cache::CacheCore;
use shingle_core::params::Params;
use shingle_core::policy::Zoning;
use shingle_core::registry::{CACHE_PARAMS, Entry, Setup};
use shingle_core::slots::Costs;
use shingle_core::units::Nanos;
use shingle_core::zones::ZoneMap;

/// SplitMix64: small, seeded, the same everywhere.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Blocks of the disks these tests use.
pub(crate) const DISK_BLOCKS: u64 = 400;

/// An empty cache: zones of 8 blocks, bands of 8 and 12, a buffer of 20 blocks.
pub(crate) fn make(entry: &Entry, cache_blocks: u32, batch: u64) -> Box<dyn CacheCore> {
    let mut params = Params::new(entry.params);
    if params.has("zone") {
        params.set("zone", "8b").unwrap();
    }
    with_params(entry, &params, cache_blocks, batch)
}

pub(crate) fn with_params(
    entry: &Entry,
    params: &Params,
    cache_blocks: u32,
    batch: u64,
) -> Box<dyn CacheCore> {
    let bands = ZoneMap::runs(&[(8, 20), (12, 20)], DISK_BLOCKS);
    let mut cache = Params::new(CACHE_PARAMS);
    cache.set("batch", &batch.to_string()).unwrap();
    let costs = Costs {
        read: Nanos::from_millis(14),
        rmw_base: Nanos::from_millis(436),
        rmw_per_block: Nanos::from_micros(728),
    };
    // A policy that takes either gets zones that show, unless it is told what zones to take.
    let either = entry.zoning(&Params::new(entry.params)) == Zoning::ExposedOrFixed;
    let fixed = either && params.iter().any(|(name, zone)| name == "zone" && zone != "8b");
    let setup = Setup {
        cache_blocks,
        disk_blocks: DISK_BLOCKS,
        bands: Some(&bands),
        conventional_zones: (!fixed).then_some(2),
        sequential_required: false,
        buffer_blocks: 20,
        costs,
        cache: &cache,
    };
    entry.make(params, &setup).unwrap()
}

/// Every policy with its defaults, and once more with each other value of each switch and choice.
pub(crate) fn variants() -> Vec<(Entry, Params)> {
    use shingle_core::params::Kind;
    let mut all = Vec::new();
    for entry in shingle_core::policies::all() {
        let mut defaults = Params::new(entry.params);
        if defaults.has("zone") {
            defaults.set("zone", "8b").unwrap();
        }
        all.push((*entry, defaults.clone()));
        for param in entry.params {
            let others: &[&str] = match param.kind {
                Kind::Switch => &["on", "off"],
                Kind::Choice(words) => words,
                Kind::Ratio => &["0", "0.5", "3"],
                Kind::Count => &["0", "1", "7"],
                Kind::Blocks => &["1b", "3b", "400b"],
                Kind::Zones => &["1b", "3b", "400b", "bands"],
            };
            for other in others.iter().filter(|&&other| other != param.default) {
                let mut params = defaults.clone();
                params.set(param.name, other).unwrap();
                all.push((*entry, params));
            }
        }
    }
    all
}
