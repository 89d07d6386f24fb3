//! What a cache was told: policy, parameters and mode. They stand in the superblock, a line each,
//! so that a cache needs no file beside it.
//!
//! ```text
//! policy=sac
//! mode=write-back
//! sac.zone=20MiB
//! cache.batch=64
//! ```

use std::fmt::Write as _;

use shingle_core::cache::CacheCore;
use shingle_core::params::Params;
use shingle_core::policies::none::NoCache;
use shingle_core::policy::Policy;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::slots::Costs;
use thiserror::Error;

use crate::engine::Mode;
use crate::format::superblock::WORDS_BYTES_MAX;

/// What a cache was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Name of the policy.
    pub policy: String,
    /// What reads and writes do.
    pub mode: Mode,
    /// Parameters: `OWNER.NAME` and value. The owner is `cache` or a policy.
    pub sets: Vec<(String, String)>,
}

/// Why settings cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct SettingsError(String);

fn error(text: impl ToString) -> SettingsError {
    SettingsError(text.to_string())
}

impl SettingsError {
    pub(super) fn recorded() -> SettingsError {
        error(
            "it is being recorded, and a recording has one policy: stop it, and serve it without --record",
        )
    }
}

impl Settings {
    /// A policy with its defaults, as a write-back cache.
    #[must_use]
    pub fn new(policy: &str) -> Settings {
        Settings { policy: policy.to_owned(), mode: Mode::WriteBack, sets: Vec::new() }
    }

    /// Sets one thing: `policy=NAME`, `mode=NAME` or `OWNER.NAME=VALUE`.
    ///
    /// # Errors
    /// If there is no such thing.
    pub fn set(&mut self, text: &str) -> Result<(), SettingsError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| error(format!("`{text}` sets nothing; write NAME=VALUE")))?;
        match name {
            "policy" => value.clone_into(&mut self.policy),
            "mode" => self.mode = value.parse().map_err(error)?,
            _ if name.contains('.') => {
                self.sets.retain(|(other, _)| other != name);
                self.sets.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                let text = format!(
                    "there is no `{name}` to set; there are policy, mode, and OWNER.NAME such as \
                     sac.zone or cache.batch"
                );
                return Err(error(text));
            }
        }
        Ok(())
    }

    /// As it stands in the superblock.
    ///
    /// # Errors
    /// If it is too long.
    pub fn to_words(&self) -> Result<String, SettingsError> {
        let mut words = format!("policy={}\nmode={}\n", self.policy, self.mode.name());
        for (name, value) in &self.sets {
            let _ = writeln!(words, "{name}={value}");
        }
        if words.len() > WORDS_BYTES_MAX {
            let text = format!("the settings are longer than {WORDS_BYTES_MAX} bytes; set fewer");
            return Err(error(text));
        }
        Ok(words)
    }

    /// What stands in a superblock.
    ///
    /// # Errors
    /// If a line is none that this version writes.
    pub fn of_words(words: &str) -> Result<Settings, SettingsError> {
        let mut settings = Settings::new("");
        words.lines().try_for_each(|line| settings.set(line))?;
        if settings.policy.is_empty() {
            return Err(error("the superblock names no policy"));
        }
        Ok(settings)
    }

    /// The parameters of the policy, and those of any cache.
    ///
    /// # Errors
    /// If policy or parameters are unknown.
    pub fn params(&self, registry: &Registry) -> Result<(Params, Params), SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        let (mut own, mut cache) = (Params::new(entry.params), Params::new(CACHE_PARAMS));
        for (name, value) in &self.sets {
            let (owner, param) = name.split_once('.').unwrap_or((name, ""));
            let params = match owner {
                "cache" => &mut cache,
                "policy" => &mut own,
                _ if owner == entry.name => &mut own,
                // Of another policy, for the day on which that one is chosen.
                _ if registry.get(owner).is_ok() => continue,
                _ => return Err(error(registry.get(owner).expect_err("it is unknown"))),
            };
            params.set(param, value).map_err(|e| error(format!("{name}={value}: {e}")))?;
        }
        Ok((own, cache))
    }

    /// An empty cache as these settings want it.
    ///
    /// # Errors
    /// If policy or parameters are unknown, or cannot do with a disk whose bands are not known.
    pub fn cache(
        &self,
        registry: &Registry,
        slots: u32,
        disk_blocks: u64,
    ) -> Result<Box<dyn CacheCore>, SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        if entry.name == NoCache::NAME {
            return Err(error(
                "policy `none` caches nothing, and what is cached would never leave; set mode=pass-through instead",
            ));
        }
        let (own, cache) = self.params(registry)?;
        let setup = Setup {
            cache_blocks: slots,
            disk_blocks,
            bands: None,
            conventional_zones: None,
            sequential_required: false,
            // Nobody tells how large a disk's buffer is; policies that plan with it measure.
            buffer_blocks: 0,
            costs: Costs::PAPER,
            cache: &cache,
        };
        let cache = entry.make(&own, &setup).map_err(error)?;
        if cache.wants_future() {
            let text = format!(
                "policy `{}` has to know the future: it runs in the simulator only",
                self.policy
            );
            return Err(error(text));
        }
        Ok(cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_from_their_words() {
        let mut settings = Settings::new("lru");
        for text in ["policy=sac", "mode=write-around", "sac.zone=40M", "cache.batch=7"] {
            settings.set(text).expect("valid");
        }
        settings.set("sac.zone=20M").expect("valid");
        let words = settings.to_words().expect("short");
        assert_eq!(words, "policy=sac\nmode=write-around\ncache.batch=7\nsac.zone=20M\n");
        assert_eq!(Settings::of_words(&words), Ok(settings));
        assert!(Settings::of_words("mode=write-back\n").is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let registry = Registry::default();
        let made = |texts: &[&str]| {
            let mut settings = Settings::new("sac");
            texts.iter().try_for_each(|text| settings.set(text))?;
            settings.cache(&registry, 4096, 1 << 20).map(drop)
        };
        assert_eq!(made(&[]), Ok(()));
        assert_eq!(made(&["sac.zone=40M", "roco.dwell=3"]), Ok(()));
        for (texts, told) in [
            (["policy=sacc", "cache.batch=1"], "there is no policy `sacc`"),
            (["policy=belady", "cache.batch=1"], "the future"),
            (["policy=none", "cache.batch=1"], "mode=pass-through"),
            (["sac.zoom=1", "cache.batch=1"], "sac.zoom=1: no parameter `zoom`"),
            (["nobody.zone=1", "cache.batch=1"], "no policy `nobody`"),
            (["mode=fast", "cache.batch=1"], "no mode `fast`"),
            (["fast=1", "cache.batch=1"], "no `fast` to set"),
            (["sac", "cache.batch=1"], "sets nothing"),
        ] {
            let error = made(&texts).expect_err(told).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
