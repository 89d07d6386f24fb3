//! The registry of translations: one line each.

mod entry;

pub use self::entry::Entry;
use shingle_core::params::nearest;

/// Declares each translation's module and its entry: `file => type`, or `file => type | type` if a
/// file has several.
macro_rules! translations {
    ($($file:ident => $($translation:ty)|+,)*) => {
        $(mod $file;)*
        /// The built-in translations, in the order in which lists show them.
        pub const ALL: &[Entry] = &[$($(Entry::of::<$translation>()),+),*];
    };
}

translations! {
    amphisbaena => amphisbaena::Amphisbaena,
    fluid => fluid::Fluid<false> | fluid::Fluid<true>,
    skylight_sa => skylight_sa::SkylightSa,
    dm_zoned => dm_zoned::DmZoned<false>,
    ucache => dm_zoned::DmZoned<true>,
    log => log::Log,
}

/// Returns the translation called `name`.
///
/// # Errors
/// If there is none: one line that lists the existing ones, the nearest first.
pub fn get(name: &str) -> Result<&'static Entry, String> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known = nearest(name, ALL.iter().map(|entry| entry.name));
        format!("there is no translation `{name}`; there are {}", known.join(", "))
    })
}
