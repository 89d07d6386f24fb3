//! The size of a world, and what can happen in it.

use shingle_core::cache::CacheCore;
use shingle_core::drive_view::InOrder;
use shingle_core::params::Params;
use shingle_core::policy::{Access, Admission, Idle, Memory, Policy, Victims, Zoning};
use shingle_core::registry::{CACHE_PARAMS, Setup, build};
use shingle_core::service::Mode;
use shingle_core::slots::Slots;
use shingle_core::units::{Nanos, Slot};
use shingle_core::zones::ZoneMap;
use shingle_engine::format::layout::Layout;
use shingle_engine::format::table::ENTRIES;

/// A request of a client or an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    Write(u64),
    /// This many blocks from this one on.
    WriteMany(u64, u64),
    /// With FUA.
    WriteFua(u64),
    /// The first half of a block.
    WriteHalf(u64),
    ZeroesFua(u64),
    Trim(u64),
    Read(u64),
    Flush,
    /// Changes the mode.
    Mode(Mode),
    /// Drains the cache.
    Drain,
    /// Changes the policy.
    Swap,
    /// Replaces the SSD.
    Replace,
    /// Grows the disk by a block.
    Grow,
    /// Stops the engine.
    Stop,
    /// Adds a connection.
    Connect,
}

/// Possible faults besides crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Errors and short counts of single reads and writes.
    Io,
    /// Flushes that fail and lose data.
    Flush,
    /// The SSD fails for good: completely, or only its writes or flushes.
    SsdGone,
    /// A bit of a frame flips.
    Flip,
}

/// The size of a world, and what can happen in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) name: &'static str,
    pub(crate) slots: u64,
    pub(crate) frames: u64,
    pub(crate) blocks: u64,
    pub(crate) journal_pages: u64,
    pub(crate) mode: Mode,
    /// Number of commands executed at a time.
    pub(crate) depth: usize,
    /// Whether trims are passed to the disk.
    pub(crate) trim_passdown: bool,
    /// The whole disk is one band, which is written whole, a block at a time. Blocks with odd
    /// numbers are never cached.
    pub(crate) band: bool,
    /// Whether the policy evicts the highest block first; otherwise the lowest.
    pub(crate) highest: bool,
    pub(crate) connections: u64,
    /// The possible requests, and the greatest number of requests.
    pub(crate) wants: &'static [Want],
    pub(crate) commands: u8,
    /// The greatest number of crashes: power cuts, and kills if `kills`.
    pub(crate) crashes: u8,
    pub(crate) kills: bool,
    /// Whether a power cut tears writes in flight and unflushed ones: of the SSD, of the disk.
    pub(crate) tears: (bool, bool),
    pub(crate) faults: (u8, &'static [Fault]),
    /// Whether time can pass while I/O is in flight.
    pub(crate) ticks: bool,
    /// Whether metadata writes complete one by one, instead of all of a commit together.
    pub(crate) one_by_one: bool,
    /// A power cut loses all or none of the unflushed data: for hundreds of pages.
    pub(crate) together: bool,
    /// Requests that are executed before the exploration, without faults.
    pub(crate) prelude: &'static [Want],
}

impl Scope {
    /// Two slots over two blocks, without commands.
    pub(crate) const PLAIN: Scope = Scope {
        name: "plain",
        slots: 2,
        frames: 4,
        blocks: 2,
        journal_pages: 4,
        mode: Mode::WriteBack,
        depth: 8,
        trim_passdown: false,
        band: false,
        highest: false,
        connections: 1,
        wants: &[],
        commands: 0,
        crashes: 0,
        kills: true,
        tears: (true, false),
        faults: (0, &[]),
        ticks: false,
        one_by_one: false,
        together: false,
        prelude: &[],
    };

    pub(crate) fn layout(&self) -> Layout {
        let Scope { slots, frames, journal_pages, .. } = *self;
        Layout { journal_pages, table_pages: frames.div_ceil(ENTRIES as u64), frames, slots }
    }

    /// An empty cache of a disk of `disk_blocks`.
    pub(crate) fn cache(&self, disk_blocks: u64) -> Box<dyn CacheCore> {
        let mut cache = Params::new(CACHE_PARAMS);
        let (mut bands, mut in_order) = (None, InOrder::default());
        if self.band {
            cache.set("bands", "whole").expect("a word");
            bands = Some(ZoneMap::fixed(disk_blocks, disk_blocks));
            in_order.band_pass = Some(Nanos::from_millis(150));
        }
        let setup = Setup {
            bands: bands.as_ref(),
            in_order,
            ..Setup::new(self.slots as u32, disk_blocks, &cache)
        };
        let params = Params::new(&[]);
        match (self.highest, self.band) {
            (true, _) => {
                Box::new(build::<ByAddress<true, false>>(&params, &setup).expect("a cache"))
            }
            (_, true) => {
                Box::new(build::<ByAddress<false, true>>(&params, &setup).expect("a cache"))
            }
            _ => Box::new(build::<ByAddress<false, false>>(&params, &setup).expect("a cache")),
        }
    }
}

/// The step of time: longer than any wait of the engine, except for the pauses for a failing disk.
pub(crate) const TICK: Nanos = Nanos::from_millis(1_500);

/// Evicts the lowest address, or the highest: a policy without memory. The promises of the engine
/// must not depend on the victims of a policy.
#[derive(Clone, Debug)]
struct ByAddress<const HIGHEST: bool, const BAND: bool>;

impl<const HIGHEST: bool, const BAND: bool> ByAddress<HIGHEST, BAND> {
    fn name(want: u32, out: &mut Victims, dirty_only: bool) {
        let slots = out.slots();
        let all = (0..slots.capacity()).map(Slot);
        let may = all.filter(|&slot| slots.evictable(slot) && (slots.dirty(slot) || !dirty_only));
        let mut named: Vec<Slot> = may.collect();
        named.sort_unstable_by_key(|&slot| slots.block(slot));
        if HIGHEST {
            named.reverse();
        }
        named.into_iter().take(want as usize).for_each(|slot| out.push(slot));
    }
}

impl<const HIGHEST: bool, const BAND: bool> Policy for ByAddress<HIGHEST, BAND> {
    const NAME: &'static str = if HIGHEST { "highest" } else { "lowest" };
    const ZONING: Zoning = if BAND { Zoning::Bands } else { Zoning::None };
    const ABOUT: &'static str = "by address; for exploring";
    const IDLE: Idle = Idle::Names;

    fn new(_: &Params, _: &Slots) -> Self {
        ByAddress
    }

    fn admit(&mut self, access: &Access, _: &Slots) -> Admission {
        match BAND && access.block.0 % 2 == 1 {
            true => Admission::Bypass,
            false => Admission::Fill,
        }
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_remove(&mut self, _: Slot, _: &Slots) {}

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        Self::name(want, out, false);
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        Self::name(want, out, true);
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }
}
