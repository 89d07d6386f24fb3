//! The registry of policies: one line each. Policies that only order the blocks are in the table of
//! [`crate::orders`]. Everything else that knows policies reads these two.

use crate::registry::{Entry, Registry};

/// Declares each policy's module and its entry: `file => type`, or `file => type | type` if a file
/// has several.
macro_rules! policies {
    ($($file:ident => $($policy:ty)|+,)*) => {
        $(pub mod $file;)*
        /// The built-in policies that are no orders, in the order in which lists show them.
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
}

/// Every built-in policy, orders last.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().chain(crate::orders::ALL)
}

/// The built-in policies.
impl Default for Registry {
    fn default() -> Registry {
        let entries: Vec<Entry> = all().copied().collect();
        Registry::new(&entries)
    }
}
