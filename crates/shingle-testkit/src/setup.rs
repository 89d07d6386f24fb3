//! The caches in which policies are tested: small, so that every case happens often.

use shingle_core::cache::CacheCore;
use shingle_core::drive_view::{Costs, InOrder};
use shingle_core::params::{Kind, Params};
use shingle_core::parts::split_mix;
use shingle_core::policy::Zoning;
use shingle_core::registry::{CACHE_PARAMS, Entry, Setup};
use shingle_core::units::Nanos;
use shingle_core::zones::ZoneMap;

/// The SplitMix64 generator: small, seeded, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        split_mix::next(&mut self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// True `percent` times out of 100.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Blocks of the disk: 50 zones of 8 blocks.
pub const DISK_BLOCKS: u64 = 400;

/// Makes an empty cache with the policy's defaults, and zones of 8 blocks if it has a parameter
/// `zone`.
///
/// # Panics
/// If the policy refuses its defaults.
#[must_use]
pub fn make(entry: &Entry, cache_blocks: u32, batch: u64) -> Box<dyn CacheCore> {
    make_with(entry, &variants(entry)[0], cache_blocks, batch)
}

/// Makes an empty cache of `cache_blocks` blocks that evicts `batch` blocks at a time, over a disk
/// with bands of 8 and of 12 blocks and a persistent buffer of 20.
///
/// # Panics
/// If the policy refuses the parameters.
#[must_use]
pub fn make_with(
    entry: &Entry,
    params: &Params,
    cache_blocks: u32,
    batch: u64,
) -> Box<dyn CacheCore> {
    try_make(entry, params, cache_blocks, batch)
        .unwrap_or_else(|error| panic!("{}: {error}", entry.name))
}

fn try_make(
    entry: &Entry,
    params: &Params,
    cache_blocks: u32,
    batch: u64,
) -> Result<Box<dyn CacheCore>, String> {
    let bands = ZoneMap::runs(&[(8, 20), (12, 20)], DISK_BLOCKS);
    let mut cache = Params::new(CACHE_PARAMS);
    set(&mut cache, "batch", &batch.to_string());
    // A policy that takes either kind of zones gets exposed ones, unless its parameters name
    // others.
    let either = entry.zoning(&Params::new(entry.params)) == Zoning::ExposedOrFixed;
    let fixed = either && params.iter().any(|(name, zone)| name == "zone" && zone != "8b");
    let setup = Setup {
        cache_blocks,
        disk_blocks: DISK_BLOCKS,
        bands: Some(&bands),
        conventional_zones: (!fixed).then_some(2),
        sequential_required: false,
        buffer_blocks: 20,
        is_log: false,
        in_order: InOrder { log_blocks: 40, band_pass: Some(Nanos::from_millis(150)) },
        costs: Costs::PAPER,
        cache: &cache,
    };
    entry.make(params, &setup).map_err(|error| error.to_string())
}

/// The defaults of a policy; a variant for each other value of each switch and choice; and some for
/// other values of the other parameters.
#[must_use]
pub fn variants(entry: &Entry) -> Vec<Params> {
    let mut defaults = Params::new(entry.params);
    if defaults.has("zone") {
        set(&mut defaults, "zone", "8b");
    }
    let mut all = vec![defaults.clone()];
    for param in entry.params {
        let others: &[&str] = match param.kind {
            Kind::Switch => &["on", "off"],
            Kind::Choice(words) => words,
            // (The largest value that can be given.)
            Kind::Ratio => &["0", "0.5", "3", "18446744073709551"],
            Kind::Count => &["0", "1", "7", "18446744073709551615"],
            Kind::Blocks => &["1b", "3b", "400b"],
            Kind::Zones => &["1b", "3b", "400b", "bands"],
            Kind::Limit => &["1b", "400b", "none"],
            Kind::Micros => &["0", "14000"],
            Kind::Hours => &["22-6"],
        };
        for other in others.iter().filter(|&&other| other != param.default) {
            let mut params = defaults.clone();
            // A value that the policy refuses is no variant.
            let taken = params.set(param.name, other).is_ok();
            if taken && try_make(entry, &params, 3, 1).is_ok() {
                all.push(params);
            }
        }
    }
    all
}

fn set(params: &mut Params, name: &str, value: &str) {
    params.set(name, value).unwrap_or_else(|error| panic!("{name}={value}: {error}"));
}

/// Prints the policy and its parameters if a check fails before this is dropped.
pub(crate) struct FailureContext<'a>(pub(crate) &'a Entry, pub(crate) &'a Params);

impl Drop for FailureContext<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let params: Vec<_> =
                self.1.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            eprintln!("policy {}, with{}", self.0.name, params.concat());
        }
    }
}
