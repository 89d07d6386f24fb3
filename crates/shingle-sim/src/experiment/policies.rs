//! Choice of policies, and their parameters.

use shingle_core::params::Params;
use shingle_core::registry::{CACHE_PARAMS, Entry, Registry};

use super::options::{ALL, DEFAULT_POLICIES, ExperimentError, Options, usage};

#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) entry: Entry,
    pub(super) params: Params,
    /// Whether it runs only for comparison.
    pub(super) baseline: bool,
}

/// Returns the requested policies with parameters, each once, the baseline last.
pub(super) fn chosen(
    options: &Options,
    registry: &Registry,
) -> Result<Vec<Chosen>, ExperimentError> {
    let all = entries(options, registry)?;
    all.into_iter()
        .map(|(entry, baseline)| Ok(Chosen { params: params(&entry, options)?, entry, baseline }))
        .collect()
}

/// Returns the requested policies, and whether each is the baseline.
pub(super) fn entries(
    options: &Options,
    registry: &Registry,
) -> Result<Vec<(Entry, bool)>, ExperimentError> {
    let mut chosen: Vec<(Entry, bool)> = Vec::new();
    let named = options.policies.iter().map(String::as_str).filter(|name| *name != ALL);
    let by_default = if options.policies.is_empty() { &DEFAULT_POLICIES[..] } else { &[] };
    let mut entries: Vec<&Entry> = Vec::new();
    if options.policies.iter().any(|name| name == ALL) {
        entries.extend(registry.entries());
    }
    for name in named.chain(by_default.iter().copied()) {
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

fn params(entry: &Entry, options: &Options) -> Result<Params, ExperimentError> {
    let mut params = Params::new(entry.params);
    for (name, value) in options.sets.of("policy") {
        if params.has(name) {
            params.set(name, value).map_err(usage)?;
        }
    }
    for (name, value) in options.sets.of(entry.name) {
        params.set(name, value).map_err(|error| usage(format!("{}: {error}", entry.name)))?;
    }
    Ok(params)
}

pub(super) fn cache_params(options: &Options) -> Result<Params, ExperimentError> {
    let mut params = Params::new(CACHE_PARAMS);
    for (name, value) in options.sets.of("cache") {
        params.set(name, value).map_err(|error| usage(format!("cache: {error}")))?;
    }
    if params.count("batch") == 0 {
        return Err(usage("cache.batch is at least 1"));
    }
    Ok(params)
}
