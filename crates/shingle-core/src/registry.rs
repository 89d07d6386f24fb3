//! The registry of policies: creates a cache from the name of its policy, for the command line, the
//! simulator and the store.

use crate::cache::{Cache, CacheCore};
use crate::drive_view::{Costs, DriveView, InOrder, NO_POINTER};
use crate::param;
use crate::params::{Param, Params, nearest};
use crate::policy::{Idle, LOG_ZONE, Policy, ZONE, Zoning};
use crate::slots::Slots;
use crate::whole_bands::Taken;
use crate::zones::ZoneMap;

/// Parameters of the cache itself: `cache.NAME`.
pub const CACHE_PARAMS: &[Param] = &[
    param!("batch": Count = "1",
        "victims an eviction asks for; the papers' prototypes use 64. lirs names no more than its HIR blocks \
         at a time: raise lirs.hirs with it"),
    param!("reads": Choice(&["policy", "bypass"]) = "policy",
        "reads that miss: as the policy decides, or never into the cache, as in the write caches of ROCO"),
    param!("bands": Choice(&["policy", "whole"]) = "policy",
        "dirty blocks that leave are written as the policy decides, or with all dirty blocks of their band, in \
         one pass over the whole band: on disks that take bands written in order past their buffer or are \
         host-aware, and with POLICY.zone=bands"),
];

/// What a cache is created for.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// Slots in the cache. At least one, unless the policy admits nothing.
    pub cache_blocks: u32,
    /// Size of the disk in blocks.
    pub disk_blocks: u64,
    /// The disk's true bands, where they are known.
    pub bands: Option<&'a ZoneMap>,
    /// Number of conventional zones, the first ones of the disk, if the disk exposes its bands as
    /// zones with write pointers.
    pub conventional_zones: Option<u32>,
    /// Whether its other zones must be written in sequence.
    pub sequential_required: bool,
    /// Blocks that fit into the disk's buffer.
    pub buffer_blocks: u64,
    /// Whether what is written to the disk is appended to a log, wherever it belongs: no band is
    /// rewritten for it.
    pub is_log: bool,
    /// Costs to plan with.
    pub costs: Costs,
    /// How the disk takes writes in order.
    pub in_order: InOrder,
    /// Values for [`CACHE_PARAMS`].
    pub cache: &'a Params,
}

impl<'a> Setup<'a> {
    /// A cache over a disk of which only the size is known, with the costs of the papers.
    #[must_use]
    pub fn new(cache_blocks: u32, disk_blocks: u64, cache: &'a Params) -> Setup<'a> {
        Setup {
            cache_blocks,
            disk_blocks,
            bands: None,
            conventional_zones: None,
            sequential_required: false,
            buffer_blocks: 0,
            is_log: false,
            costs: Costs::PAPER,
            in_order: InOrder::default(),
            cache,
        }
    }
}

/// A policy as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name on the command line.
    pub name: &'static str,
    /// One line, with the source.
    pub about: &'static str,
    /// How it divides the disk, unless its parameters say otherwise.
    zoning: Zoning,
    /// Whether it works over zones that must be written in sequence ([`Policy::IN_SEQUENCE`]).
    pub in_sequence: bool,
    /// What it does with idle time.
    pub idle: Idle,
    /// Its parameters.
    pub params: &'static [Param],
    make: Make,
}

/// Creates an empty cache under a policy.
pub type MakeFn =
    dyn Fn(&Params, &Setup) -> Result<Box<dyn CacheCore>, MakeError> + Send + Sync + 'static;

#[derive(Clone, Copy)]
struct Make(&'static MakeFn);

impl core::fmt::Debug for Make {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Make")
    }
}

fn made<P: Policy>(params: &Params, setup: &Setup) -> Result<Box<dyn CacheCore>, MakeError> {
    Ok(Box::new(build::<P>(params, setup)?))
}

impl Entry {
    /// Returns the entry of policy `P`.
    #[must_use]
    pub const fn of<P: Policy>() -> Entry {
        Entry {
            name: P::NAME,
            about: P::ABOUT,
            zoning: P::ZONING,
            in_sequence: P::IN_SEQUENCE,
            idle: P::IDLE,
            params: P::PARAMS,
            make: Make(
                &(made::<P> as fn(&Params, &Setup) -> Result<Box<dyn CacheCore>, MakeError>),
            ),
        }
    }

    /// Returns the entry of a policy of type `P` whose name, description and parameters are known
    /// only at run time, such as one written in another language. `make` creates caches by
    /// [`build_with`].
    #[must_use]
    pub fn described<P: Policy>(
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        make: &'static MakeFn,
    ) -> Entry {
        Entry { name, about, params, make: Make(make), ..Entry::of::<P>() }
    }

    /// Returns how the policy divides the disk under `params`, over a drive that exposes no zones.
    #[must_use]
    pub fn zoning(&self, params: &Params) -> Zoning {
        resolve(self.zoning, params)
    }

    /// Creates an empty cache under this policy.
    ///
    /// # Errors
    /// If the policy needs to know the bands of a disk that has none, or its zones are so small
    /// that they cannot be numbered.
    pub fn make(&self, params: &Params, setup: &Setup) -> Result<Box<dyn CacheCore>, MakeError> {
        (self.make.0)(params, setup)
    }
}

/// Applies the parameter `zone=bands`.
fn resolve(zoning: Zoning, params: &Params) -> Zoning {
    match zoning {
        Zoning::Fixed | Zoning::ExposedOrFixed if params.zones(ZONE.name).is_none() => {
            Zoning::Bands
        }
        zoning => zoning,
    }
}

/// Creates an empty cache under policy `P`.
///
/// # Errors
/// As [`Entry::make`].
pub fn build<P: Policy>(params: &Params, setup: &Setup) -> Result<Cache<P>, MakeError> {
    build_with(P::NAME, P::new, params, setup)
}

/// Creates an empty cache under the policy that `new` makes, called `name`.
///
/// # Errors
/// As [`Entry::make`].
pub fn build_with<P: Policy>(
    name: &'static str,
    new: impl FnOnce(&Params, &Slots) -> P,
    params: &Params,
    setup: &Setup,
) -> Result<Cache<P>, MakeError> {
    if setup.sequential_required && !P::IN_SEQUENCE {
        return Err(MakeError::SequentialRequired { policy: name });
    }
    let zoning = match P::ZONING {
        Zoning::ExposedOrFixed if setup.conventional_zones.is_some() => Zoning::Exposed,
        zoning => resolve(zoning, params),
    };
    let zones = match zoning {
        Zoning::None => None,
        Zoning::Fixed | Zoning::ExposedOrFixed => {
            let zone_blocks = match setup.is_log && params.has(LOG_ZONE.name) {
                true => params.blocks(LOG_ZONE.name),
                false => params.zones(ZONE.name).expect("a size, not `bands`"),
            };
            if setup.disk_blocks / zone_blocks >= u64::from(u32::MAX) - 1 {
                return Err(MakeError::TooManyZones { policy: name });
            }
            Some(ZoneMap::fixed(zone_blocks, setup.disk_blocks))
        }
        Zoning::Bands => match setup.bands {
            Some(bands) => Some(bands.clone()),
            None => return Err(MakeError::NoBands { policy: name }),
        },
        Zoning::Exposed => match setup.bands.filter(|_| setup.conventional_zones.is_some()) {
            Some(zones) => Some(zones.clone()),
            None => return Err(MakeError::NotExposed { policy: name }),
        },
    };
    let mut write_pointers = Vec::new();
    if let (Zoning::Exposed, Some(zones)) = (zoning, &zones) {
        write_pointers.resize(zones.count(), 0);
        let conventional = setup.conventional_zones.unwrap_or(0) as usize;
        write_pointers[..conventional.min(zones.count())].fill(NO_POINTER);
    }
    let (buffer_blocks, costs, in_order) = (setup.buffer_blocks, setup.costs, setup.in_order);
    let view = DriveView { zones, write_pointers, buffer_blocks, costs, in_order };
    let slots = Slots::new(setup.cache_blocks, view);
    let batch = u32::try_from(setup.cache.count("batch")).unwrap_or(u32::MAX);
    let batch = batch.clamp(1, setup.cache_blocks.max(1));
    let writes_only = setup.cache.choice("reads") == "bypass";
    let cache = Cache::new(name, new(params, &slots), slots, batch, writes_only);
    match setup.cache.choice("bands") {
        "whole" if zoning != Zoning::Bands || setup.in_order.band_pass.is_none() => {
            Err(MakeError::NoWholeBands { policy: name })
        }
        "whole" => Ok(cache.with_whole_bands(match setup.conventional_zones {
            Some(conventional_zones) => Taken::Reset { conventional_zones },
            None => Taken::InOrder,
        })),
        _ => Ok(cache),
    }
}

/// Why a cache could not be made. Displays as one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MakeError {
    /// The policy works with bands and the disk has none.
    NoBands {
        /// The policy.
        policy: &'static str,
    },
    /// The policy works with write pointers and the disk exposes none.
    NotExposed {
        /// The policy.
        policy: &'static str,
    },
    /// The disk takes writes at write pointers only, and the policy writes anywhere.
    SequentialRequired {
        /// The policy.
        policy: &'static str,
    },
    /// Bands are to be written whole, but the disk does not take them this way, or the policy does
    /// not know them.
    NoWholeBands {
        /// The policy.
        policy: &'static str,
    },
    /// Zones this small cannot be numbered on a disk this large.
    TooManyZones {
        /// The policy.
        policy: &'static str,
    },
}

impl core::fmt::Display for MakeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            MakeError::NoBands { policy } => write!(
                f,
                "policy `{policy}` works with the bands of a shingled disk and this disk has none; \
                 choose a shingled disk with -d, another policy, or zones of a fixed size"
            ),
            MakeError::NotExposed { policy } => write!(
                f,
                "policy `{policy}` works with the write pointers of zones, and this disk shows its host \
                 none; choose a host-aware one with -d, such as ha-roco, or another policy"
            ),
            MakeError::SequentialRequired { policy } => write!(
                f,
                "policy `{policy}` writes anywhere, and this disk takes writes at the write pointers \
                 of its zones only; choose another disk with -d, a policy such as sac-plus, or a \
                 translation between them (-t of `run` and `compare`)"
            ),
            MakeError::NoWholeBands { policy } => write!(
                f,
                "cache.bands=whole: policy `{policy}` needs a disk that takes bands written in order past its \
                 buffer, such as st8000as0002 or ha-roco, and has to work with its bands, as lru-band does and \
                 those with a parameter `zone` (--set policy.zone=bands)"
            ),
            MakeError::TooManyZones { policy } => write!(
                f,
                "the zones of `{policy}` are too small for this disk; raise --set {policy}.zone"
            ),
        }
    }
}

impl core::error::Error for MakeError {}

/// Policies by name: the built-in ones and those that a program adds.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// Creates a registry of `entries`. [`Registry::default`] has the built-in policies.
    #[must_use]
    pub fn new(entries: &[Entry]) -> Registry {
        Registry { entries: entries.to_vec() }
    }

    /// Adds policy `P`, replacing one of the same name.
    pub fn add<P: Policy>(&mut self) {
        self.insert(Entry::of::<P>());
    }

    /// Adds a policy, replacing one of the same name.
    pub fn insert(&mut self, entry: Entry) {
        self.entries.retain(|known| known.name != entry.name);
        self.entries.push(entry);
    }

    /// Returns all policies.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the policy called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists the known ones, nearest first.
    pub fn get(&self, name: &str) -> Result<&Entry, UnknownPolicy> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| UnknownPolicy {
            name: name.into(),
            known: nearest(name, self.entries.iter().map(|entry| entry.name)),
        })
    }
}

/// There is no policy of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    name: String,
    known: Vec<&'static str>,
}

impl core::fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "there is no policy `{}`; there are {}", self.name, self.known.join(", "))
    }
}

impl core::error::Error for UnknownPolicy {}
