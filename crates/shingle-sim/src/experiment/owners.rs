//! The owners of settings.

use shingle_core::params::{Params, nearest};
use shingle_core::registry::{Entry, Registry};

use super::options::{ExperimentError, Options, usage};
use super::{policies, translations};

/// Checks that every `--set` has an owner that knows it: ignoring one silently would mislead.
pub(super) fn check_owners(options: &Options, registry: &Registry) -> Result<(), ExperimentError> {
    let policies = policies::entries(options, registry)?;
    for set in options.sets.iter() {
        let (name, value) = (set.name.as_str(), set.value.as_str());
        match set.owner.as_str() {
            "cache" | "drive" | "ssd" => {}
            "translation" => translations::check_parameter(name, options)?,
            owner if translations::is_one(owner) => translations::check_value(owner, name, value)?,
            "policy" => {
                let has = |entry: &Entry| entry.params.iter().any(|param| param.name == name);
                if !policies.iter().any(|(entry, _)| has(entry)) {
                    let all = policies.iter().flat_map(|(e, _)| e.params.iter().map(|p| p.name));
                    let mut names = nearest(name, all);
                    names.dedup();
                    let known = match names.is_empty() {
                        true => "there are none to set".to_owned(),
                        false => format!("there are {}", names.join(", ")),
                    };
                    return Err(usage(format!(
                        "none of the policies has a parameter `{name}`; {known}"
                    )));
                }
            }
            policy => {
                let Ok(entry) = registry.get(policy) else {
                    let owners = ["policy", "translation", "cache", "drive", "ssd"].into_iter();
                    let known = registry.entries().iter().map(|entry| entry.name);
                    let known = known.chain(translations::names());
                    return Err(usage(format!(
                        "--set {}: there is no owner `{policy}`; there are {}",
                        set.key(),
                        nearest(policy, owners.chain(known)).join(", ")
                    )));
                };
                let mut params = Params::new(entry.params);
                params.set(name, value).map_err(|error| usage(format!("{policy}: {error}")))?;
            }
        }
    }
    Ok(())
}
