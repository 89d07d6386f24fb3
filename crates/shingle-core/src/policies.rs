//! The tables of policies, one line each. Policies that only order blocks (LRU, ARC, …) are in the
//! first table, and also serve as a base for others (`--set pore.base=NAME`). Everything else that
//! lists policies reads these two tables.

use crate::order::{Order, Plain};
use crate::param;
use crate::params::{Param, Params};
use crate::policy::{Access, Memory};
use crate::registry::{Entry, Registry};
use crate::slots::Slots;
use crate::units::{Block, Slot};

#[cfg(test)]
mod orders_by_hand;

orders! {
    lru => Lru,
    fifo => Fifo,
    clock => Clock,
    sieve => Sieve,
    two_q => TwoQ,
    arc => Arc,
    lirs => Lirs,
    s3_fifo => S3Fifo,
    w_tinylfu => WTinyLfu,
    belady => Belady,
}

/// The parameter that chooses the base of a policy over [`AnyOrder`].
pub const BASE: Param = param!("base": Choice(ORDER_NAMES) = "lru",
    "the order underneath: any policy that only orders");

/// Declares each policy's module and its entry: `file => type`, or `file => type | type` if a file
/// has several policies.
macro_rules! policies {
    ($($file:ident => $($policy:ty)|+,)*) => {
        $(pub mod $file;)*
        /// The built-in policies that are not orders, as lists show them.
        pub const ALL: &[Entry] = &[$($(Entry::of::<$policy>()),+),*];
    };
}

policies! {
    none => none::NoCache,
    lru_band => lru_band::LruBand,
    most => most::Most,
    most_cdc => most_cdc::MostCdc,
    cdc => cdc::LruCdc | cdc::AnyCdc,
    pore => pore::PoreBl | pore::PoreCf | pore::PorePf,
    sac => sac::Sac | sac::SacPd | sac::SacAd,
    sac_plus => sac_plus::SacPlus,
    zfifo => zfifo::Zfifo | zfifo::ReorderZfifo,
    roco => roco::Roco,
    disk_time => disk_time::DiskTime,
}

/// Returns every built-in policy, orders last.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().chain(ORDERS)
}

impl Default for Registry {
    fn default() -> Registry {
        let entries: Vec<Entry> = all().copied().collect();
        Registry::new(&entries)
    }
}
