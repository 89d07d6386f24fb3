//! How large a world is, and what may happen in it.

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

/// What a client, or an operator, may want.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    Write(u64),
    /// So many blocks from this one on.
    WriteMany(u64, u64),
    /// With FUA.
    WriteFua(u64),
    /// The first half of a block.
    WriteHalf(u64),
    Zeroes(u64),
    ZeroesFua(u64),
    Trim(u64),
    Read(u64),
    Flush,
    /// The mode is another one.
    Mode(Mode),
    /// All that is dirty is to be destaged.
    Drain,
    /// Another policy.
    Swap,
    /// Another SSD.
    Replace,
    /// The disk grows by a block.
    Grow,
    /// The end.
    Stop,
    /// One more client comes.
    Connect,
    /// The newest client leaves.
    Leave,
}

/// What may go wrong, but for crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Errors of single reads and writes, and I/O that is not done.
    Io,
    /// Flushes that fail, and forget what they should have kept.
    Flush,
    /// From some moment on the SSD does nothing any more, or takes no write, or does not flush.
    SsdGone,
    /// A bit of a frame flips.
    Flip,
}

/// How large a world is, and what may happen in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) name: &'static str,
    pub(crate) slots: u64,
    pub(crate) frames: u64,
    pub(crate) blocks: u64,
    pub(crate) journal_pages: u64,
    pub(crate) mode: Mode,
    /// Commands carried out at a time.
    pub(crate) depth: usize,
    pub(crate) room_slots: u32,
    /// The disk is told of trims.
    pub(crate) tells_trims: bool,
    /// All of the disk is one band, which is written whole, a block at a time; blocks with odd numbers are never cached.
    pub(crate) band: bool,
    /// Whose highest block leaves first; otherwise the lowest.
    pub(crate) highest: bool,
    pub(crate) connections: u64,
    /// What is wanted, and how often in all.
    pub(crate) wants: &'static [Want],
    pub(crate) commands: u8,
    /// Crashes in all: the power goes, or the process is killed.
    pub(crate) crashes: u8,
    pub(crate) kills: bool,
    /// A power cut tears what was being written, or was not flushed: of the SSD, of the disk.
    pub(crate) tears: (bool, bool),
    pub(crate) faults: (u8, &'static [Fault]),
    /// Time passes though I/O is under way.
    pub(crate) ticks: bool,
    /// Pages of metadata end one by one, not all of a commit together.
    pub(crate) one_by_one: bool,
    /// Of unflushed data a power cut takes all or nothing: where there are hundreds of pages.
    pub(crate) together: bool,
    /// What is done before all begins, and goes well.
    pub(crate) prelude: &'static [Want],
}

impl Scope {
    /// Two slots over two blocks, and nothing that happens.
    pub(crate) const PLAIN: Scope = Scope {
        name: "plain",
        slots: 2,
        frames: 4,
        blocks: 2,
        journal_pages: 4,
        mode: Mode::WriteBack,
        depth: 8,
        room_slots: 0,
        tells_trims: false,
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

    /// An empty cache of a disk of so many blocks.
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

/// Time that passes at once: more than any the engine waits for, but for the pauses of a disk that fails.
pub(crate) const TICK: Nanos = Nanos::from_millis(1_500);

/// Names whose address is the lowest, or the highest: a policy that remembers nothing. What an engine promises may
/// not depend on whom a policy names.
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
