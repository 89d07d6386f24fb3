//! The registry of policies: one line each. Everything else that knows policies reads this table.

use crate::order::Plain;
use crate::registry::{Entry, Registry};

/// Declares each policy's module and its entry: `file => type`.
macro_rules! policies {
    ($($file:ident => $policy:ty,)*) => {
        $(pub mod $file;)*
        /// The built-in policies, in the order in which lists show them.
        pub const ALL: &[Entry] = &[$(Entry::of::<$policy>()),*];
    };
}

policies! {
    none => none::NoCache,
    lru => Plain<lru::Lru>,
    lru_band => lru_band::LruBand,
    most => most::Most,
    sac => sac::Sac,
}

/// The built-in policies.
impl Default for Registry {
    fn default() -> Registry {
        Registry::new(ALL)
    }
}
