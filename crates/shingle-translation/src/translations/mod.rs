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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use shingle_core::params::Params;

    #[test]
    fn a_disk_limits_the_zones_that_are_appended_to_by_turns() {
        let layout = Layout { zone_blocks: 64, buffer_blocks: 4096, zones: 400 };
        let open_zones = |entry: &Entry, max_open, settings: &[(&str, &str)]| {
            let mut params = Params::new(entry.params);
            entry.limit_open(&mut params, max_open);
            settings.iter().for_each(|(name, value)| params.set(name, value).expect("valid"));
            entry.make(&params, layout).expect("room").open_zones()
        };
        let log = get("log").expect("built in");
        assert_eq!(
            [0, 1, 2, 128].map(|max_open| open_zones(log, max_open, &[("group", "moved")])),
            [2, 1, 2, 2]
        );
        let sepbit = ("group", "sepbit");
        assert_eq!([0, 4, 128].map(|max_open| open_zones(log, max_open, &[sepbit])), [6, 4, 6]);
        assert_eq!(open_zones(log, 1, &[sepbit, ("open", "3")]), 3);
        for entry in ALL {
            assert_eq!(open_zones(entry, 1, &[]), 1, "{}", entry.name);
        }
    }
}
