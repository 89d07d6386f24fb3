//! Checks of names and values that need no trace, as reading one may take long: whether a name
//! exists, and whether a configuration uses a setting.

use shingle_core::params::nearest;
use shingle_core::registry::Registry;
use shingle_drive::{self as drives, Known};

use super::assignments::Assignment;
use super::drives::{DRIVE_EXTRAS, check_values};
use super::options::{ExperimentError, Options, usage};
use super::owners::check_owners;
use super::policies::{cache_params, chosen, entries};
use super::sizes::check_size;
use super::ssd::SsdChoice;
use super::{served, translations};

/// Checks names and values for [`super::plan`], as far as that needs no trace.
///
/// # Errors
/// The first error, in one line that says how to fix it.
pub fn check_options(options: &Options, registry: &Registry) -> Result<(), ExperimentError> {
    served::check(options)?;
    check_chosen(options, registry)?;
    SsdChoice::new(options)?;
    check_values(options)?;
    options.caches.iter().try_for_each(|text| check_size(text))
}

/// Checks that everything that `options` name exists: policies, drives, translations, the SSD, and
/// for each setting one of those chosen that knows it.
///
/// # Errors
/// The first wrong name in one line, with the known ones, nearest first.
pub fn check_names(options: &Options, registry: &Registry) -> Result<(), ExperimentError> {
    check_chosen(options, registry)?;
    let named: Result<Vec<Known>, _> =
        options.drives.iter().map(|name| drives::entry(name).map_err(usage)).collect();
    check_parameters(options, "drive", &named?, &DRIVE_EXTRAS)?;
    let ssd = drives::entry(&options.ssd).map_err(usage)?;
    check_parameters(options, "ssd", &[ssd], &[])
}

/// Checks policies, translations and the cache, with their settings.
fn check_chosen(options: &Options, registry: &Registry) -> Result<(), ExperimentError> {
    check_owners(options, registry)?;
    chosen(options, registry)?;
    translations::chosen(options)?;
    cache_params(options)?;
    Ok(())
}

/// Checks that one of `entries` has each parameter that is set for `owner`.
fn check_parameters(
    options: &Options,
    owner: &str,
    entries: &[Known],
    extras: &[&str],
) -> Result<(), ExperimentError> {
    let known: Vec<String> =
        entries.iter().flat_map(|entry| entry.parameters()).map(|param| param.name).collect();
    let known = || known.iter().map(String::as_str).chain(extras.iter().copied());
    for (name, _) in options.sets.of(owner) {
        if !known().any(|other| other == name) {
            let mut names = nearest(name, known());
            names.dedup();
            return Err(usage(format!(
                "none of those chosen has a parameter `{owner}.{name}`; there are {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// Returns whether anything that `options` choose has the parameter. Otherwise the setting has no
/// effect.
#[must_use]
pub fn takes(set: &Assignment, options: &Options, registry: &Registry) -> bool {
    let (owner, name) = (set.owner.as_str(), set.name.as_str());
    let declares = |params: &[shingle_core::params::Param]| params.iter().any(|p| p.name == name);
    let cached = options.policies.iter().any(|policy| policy != "none");
    let translations = translations::entries(options).unwrap_or_default();
    match owner {
        "cache" | "ssd" => cached,
        "policy" => {
            let chosen = entries(options, registry).unwrap_or_default();
            chosen.iter().any(|(entry, _)| declares(entry.params))
        }
        "translation" => {
            let mut chosen = translations.into_iter().flatten();
            chosen.any(|entry| declares(entry.params) || declares(translations::PARAMS))
        }
        "drive" if DRIVE_EXTRAS.contains(&name) => {
            let buffered = |drive: &String| {
                let made = drives::make(drive, &drives::Settings::default());
                made.is_ok_and(|drive| drive.description().buffer_blocks > 0)
            };
            translations.iter().any(Option::is_some) || options.drives.iter().any(buffered)
        }
        "drive" => options
            .drives
            .iter()
            .filter_map(|drive| drives::entry(drive).ok())
            .any(|entry| entry.has(name)),
        owner => {
            let translated = translations.iter().flatten().any(|entry| entry.name == owner);
            translated || options.policies.iter().any(|policy| policy == owner)
        }
    }
}
