//! Policies: which, with which parameters, and whose settings there are.

use shingle_core::params::{Params, nearest};
use shingle_core::registry::{CACHE_PARAMS, Entry, Registry};

use super::{ALL, ExperimentError, Options, translations, usage};

pub(super) fn chosen(
    options: &Options,
    registry: &Registry,
) -> Result<Vec<(Entry, bool)>, ExperimentError> {
    let mut chosen: Vec<(Entry, bool)> = Vec::new();
    let named = options.policies.iter().filter(|name| *name != ALL);
    let mut entries: Vec<&Entry> = Vec::new();
    if options.policies.iter().any(|name| name == ALL) {
        entries.extend(registry.entries());
    }
    for name in named {
        entries.push(registry.get(name).map_err(usage)?);
    }
    for entry in entries {
        if !chosen.iter().any(|(other, _)| other.name == entry.name) {
            chosen.push((*entry, false));
        }
    }
    if let Some(name) = &options.baseline {
        let entry = registry.get(name).map_err(usage)?;
        if !chosen.iter().any(|(other, _)| other.name == entry.name) {
            chosen.push((*entry, true));
        }
    }
    Ok(chosen)
}

/// Settings of `owner`, by name.
pub(super) fn settings<'a>(
    options: &'a Options,
    owner: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
    options.sets.iter().filter_map(move |(key, value)| {
        let (whose, name) = key.split_once('.')?;
        (whose == owner).then_some((name, value.as_str()))
    })
}

pub(super) fn policy_params(entry: &Entry, options: &Options) -> Result<Params, ExperimentError> {
    let mut params = Params::new(entry.params);
    for (name, value) in
        settings(options, "policy").filter(|(name, _)| params.has(name)).collect::<Vec<_>>()
    {
        params.set(name, value).map_err(usage)?;
    }
    for (name, value) in settings(options, entry.name) {
        params.set(name, value).map_err(|error| usage(format!("{}: {error}", entry.name)))?;
    }
    Ok(params)
}

pub(super) fn cache_params(options: &Options) -> Result<Params, ExperimentError> {
    let mut params = Params::new(CACHE_PARAMS);
    for (name, value) in settings(options, "cache") {
        params.set(name, value).map_err(|error| usage(format!("cache: {error}")))?;
    }
    if params.count("batch") == 0 {
        return Err(usage("cache.batch is at least 1"));
    }
    Ok(params)
}

/// Every `--set` must have an owner that knows it: what is ignored silently misleads.
pub(super) fn check_owners(
    options: &Options,
    policies: &[(Entry, bool)],
    registry: &Registry,
) -> Result<(), ExperimentError> {
    for (key, value) in &options.sets {
        let Some((owner, name)) = key.split_once('.') else {
            return Err(usage(format!(
                "--set {key}={value}: whose parameter is that? write OWNER.{key}, where OWNER is \
                 policy, translation, cache, drive, ssd or the name of a policy or translation"
            )));
        };
        match owner {
            "cache" | "drive" | "ssd" => {}
            "translation" => translations::check_parameter(name, options)?,
            owner if translations::is_one(owner) => translations::check_value(owner, name, value)?,
            "policy" => {
                let has = |entry: &Entry| entry.params.iter().any(|param| param.name == name);
                if !policies.iter().any(|(entry, _)| has(entry)) {
                    let all = policies.iter().flat_map(|(e, _)| e.params.iter().map(|p| p.name));
                    let mut names = nearest(name, all);
                    names.dedup();
                    return Err(usage(format!(
                        "none of the policies has a parameter `{name}`; there are {}",
                        names.join(", ")
                    )));
                }
            }
            policy => {
                let Ok(entry) = registry.get(policy) else {
                    let owners = ["policy", "translation", "cache", "drive", "ssd"].into_iter();
                    let known = registry.entries().iter().map(|entry| entry.name);
                    let known = known.chain(translations::names());
                    return Err(usage(format!(
                        "--set {key}: there is no owner `{owner}`; there are {}",
                        nearest(owner, owners.chain(known)).join(", ")
                    )));
                };
                let mut params = Params::new(entry.params);
                params.set(name, value).map_err(|error| usage(format!("{policy}: {error}")))?;
            }
        }
    }
    Ok(())
}
