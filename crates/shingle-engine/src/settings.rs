//! The settings of a cache: policy, parameters and mode. They are stored in the superblock, one a
//! line, so that a cache needs no other file.
//!
//! ```text
//! policy=sac
//! mode=write-back
//! sac.zone=20MiB
//! cache.batch=64
//! drive.buffer_blocks=184000
//! limit.hours=22-6
//! ```
//!
//! `limit.NAME` is a limit of the operator ([`Limits`]). `drive.NAME` is a property of the disk
//! (`shingle probe` measures it), which policies plan with.

mod bands;
mod params;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use shingle_core::cache::CacheCore;
use shingle_core::drive_view::{Costs, InOrder};
use shingle_core::params::{Kind, Params};
use shingle_core::policies::none::NoCache;
use shingle_core::policy::Policy;
use shingle_core::registry::{CACHE_PARAMS, Entry, MakeError, Registry, Setup};
use shingle_core::service::{Limits, Mode};
use shingle_core::units::Nanos;
use thiserror::Error;

use crate::format::superblock::SETTINGS_BYTES_MAX;
use bands::{BANDS, Bands};
use params::{BAND_PASS_US, LOG, LOG_BLOCKS, TRIM};

pub(crate) use params::{DRIVE_PARAMS, LIMIT_PARAMS};

/// With fewer blocks a second a write would wait for room longer than its timeout.
const DESTAGE_BLOCKS_MIN: u64 = 16;

/// The parameter of policies that need a size of zones.
const ZONE: &str = "zone";

/// The settings of a cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The name of the policy.
    pub policy: String,
    /// What reads and writes do.
    pub mode: Mode,
    /// Parameters: `OWNER.NAME` and value. The owner is a policy, `cache`, `drive` or `limit`.
    pub sets: Vec<(String, String)>,
}

/// A setting with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// `policy`, `mode`, or `OWNER.NAME`.
    pub name: String,
    /// The value as a user would write it.
    pub value: String,
    /// The value is the default of a parameter.
    pub is_default: bool,
}

/// Why settings cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct SettingsError(String);

fn error(text: impl ToString) -> SettingsError {
    SettingsError(text.to_string())
}

impl SettingsError {
    /// The error of changing the policy of a cache that is being recorded: a recording has one
    /// policy.
    #[must_use]
    pub fn recorded() -> SettingsError {
        error(
            "it is being recorded, and a recording has one policy: stop it, and serve it without --record",
        )
    }
}

/// Time for each block that is appended to a log, and for what cleaning moves for it: in the simulator
/// a drive-managed disk takes 23 us for a block in order, and a log twelve such passes.
const LOG_US_PER_BLOCK: u64 = 275;

impl Settings {
    /// A policy with its defaults, in mode write-back.
    #[must_use]
    pub fn new(policy: &str) -> Settings {
        Settings { policy: policy.to_owned(), mode: Mode::WriteBack, sets: Vec::new() }
    }

    /// Sets `policy=NAME`, `mode=NAME` or `OWNER.NAME=VALUE`.
    ///
    /// # Errors
    /// If there is no such setting.
    pub fn set(&mut self, text: &str) -> Result<(), SettingsError> {
        // They are stored in the superblock, one a line.
        if text.contains(char::is_control) {
            let shown = text.escape_debug();
            return Err(error(format!(
                "`{shown}` has a control character; settings are plain text"
            )));
        }
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

    /// Whether a cache decides differently with these settings than with `others`. Limits, and
    /// whether the disk is trimmed, do not affect its decisions.
    #[must_use]
    pub fn decides_otherwise_than(&self, others: &Settings) -> bool {
        let of_cache = |settings: &Settings| {
            let of_others = |name: &str| {
                name.starts_with("limit.") || name.strip_prefix("drive.") == Some(TRIM)
            };
            let sets = settings.sets.iter().filter(|(name, _)| !of_others(name));
            (settings.policy.clone(), sets.cloned().collect::<Vec<_>>())
        };
        of_cache(self) != of_cache(others)
    }

    /// Adds what holds for a disk that is written as a log, unless it is set: a zone that is written
    /// takes the way to the log and a time for each block, as no band is rewritten for it.
    #[must_use]
    pub fn of_log(&self) -> Settings {
        let mut settings = self.clone();
        let read_us = self.sets.iter().find(|(name, _)| name == "drive.read_us");
        let way_us = read_us.map_or("14000", |(_, value)| value);
        let blocks_us = LOG_US_PER_BLOCK.to_string();
        let of_log = [("log", "on"), ("rmw_base_us", way_us), ("rmw_us_per_block", &blocks_us)];
        for (name, value) in of_log {
            let name = format!("drive.{name}");
            if self.sets.iter().all(|(other, _)| *other != name) {
                settings.sets.push((name, value.to_owned()));
            }
        }
        settings
    }

    /// The text for the superblock.
    ///
    /// # Errors
    /// If it is too long.
    pub fn to_text(&self) -> Result<String, SettingsError> {
        let mut text = format!("policy={}\nmode={}\n", self.policy, self.mode.name());
        for (name, value) in &self.sets {
            // (Writing to a String cannot fail.)
            let _ = writeln!(text, "{name}={value}");
        }
        if text.len() > SETTINGS_BYTES_MAX {
            let text =
                format!("the settings are longer than {SETTINGS_BYTES_MAX} bytes; set fewer");
            return Err(error(text));
        }
        Ok(text)
    }

    /// Parses the text of a superblock.
    ///
    /// # Errors
    /// If a line is not a setting of this version.
    pub fn from_text(text: &str) -> Result<Settings, SettingsError> {
        let mut settings = Settings::new("");
        text.lines().try_for_each(|line| settings.set(line))?;
        if settings.policy.is_empty() {
            return Err(error("the superblock names no policy"));
        }
        Ok(settings)
    }

    /// The parameters of the policy, and those of all caches.
    ///
    /// # Errors
    /// If policy or parameters are unknown.
    pub fn params(&self, registry: &Registry) -> Result<(Params, Params), SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        let Checked { own, cache, .. } = self.checked(entry, registry)?;
        Ok((own, cache))
    }

    /// All settings with their values: policy, mode, and the parameters of the policy, the cache,
    /// the disk and the limits.
    ///
    /// # Errors
    /// If policy or parameters are unknown.
    pub fn all(&self, registry: &Registry) -> Result<Vec<Setting>, SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        let Checked { own, cache, drive, limit, .. } = self.checked(entry, registry)?;
        let plain = |name: &str, value: &str| Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            is_default: false,
        };
        let mut all = vec![plain("policy", entry.name), plain("mode", self.mode.name())];
        for (owner, params, declared) in [
            (entry.name, own, entry.params),
            ("cache", cache, CACHE_PARAMS),
            ("drive", drive, DRIVE_PARAMS),
            ("limit", limit, LIMIT_PARAMS),
        ] {
            let defaults = Params::new(declared);
            for ((param, value), (_, default)) in params.iter().zip(defaults.iter()) {
                let is_default = value == default;
                all.push(Setting { name: format!("{owner}.{param}"), value, is_default });
            }
            if owner == "drive" {
                let (value, name) = (self.bands().to_owned(), format!("{owner}.{BANDS}"));
                all.push(Setting { is_default: value == bands::NONE, name, value });
            }
        }
        Ok(all)
    }

    /// The limits of the operator.
    ///
    /// # Errors
    /// If policy or parameters are unknown, or a limit is too low.
    pub fn limits(&self, registry: &Registry) -> Result<Limits, SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        let limit = self.checked(entry, registry)?.limit;
        Ok(Limits {
            destage_blocks_per_s: limit.limit("destage"),
            hours: limit.hours("hours"),
            ssd_blocks_per_day: limit.limit("ssd"),
        })
    }

    /// Whether trims are passed on to the disk; `by_itself` is the default for this disk.
    ///
    /// # Errors
    /// If policy or parameters are unknown.
    pub fn trim_passdown(
        &self,
        registry: &Registry,
        by_itself: bool,
    ) -> Result<bool, SettingsError> {
        let entry = registry.get(&self.policy).map_err(error)?;
        Ok(match self.checked(entry, registry)?.drive.choice(TRIM) {
            "on" => true,
            "off" => false,
            _ => by_itself,
        })
    }

    /// The bands of the disk, as set.
    fn bands(&self) -> &str {
        let set = self.sets.iter().find(|(name, _)| name.strip_prefix("drive.") == Some(BANDS));
        set.map_or(bands::NONE, |(_, value)| value)
    }

    /// Checks the settings for a disk made of a zoned one, or of several: no host knows where it
    /// puts a block.
    ///
    /// # Errors
    /// If bands are set.
    pub fn check_without_bands(&self) -> Result<(), SettingsError> {
        match self.bands() {
            bands::NONE => Ok(()),
            text => Err(error(format!(
                "drive.{BANDS}={text}: this disk is a zoned one, and the translation before it puts blocks where it \
                 likes: there are no bands that could be written whole; set drive.{BANDS}={}",
                bands::NONE
            ))),
        }
    }

    /// Makes an empty cache with these settings.
    ///
    /// # Errors
    /// If policy or parameters are unknown, or do not fit the bands of the disk.
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
        let checked = self.checked(entry, registry)?;
        let bands = checked.bands.as_ref().map(|bands| bands.over(disk_blocks)).transpose();
        let bands = bands.map_err(|why| error(format!("drive.{BANDS}={}: {why}", self.bands())))?;
        let setup = Setup {
            bands: bands.as_ref(),
            buffer_blocks: checked.drive.count("buffer_blocks"),
            is_log: checked.drive.switch(LOG),
            in_order: checked.in_order(),
            costs: checked.costs(),
            ..Setup::new(slots, disk_blocks, &checked.cache)
        };
        let own = &checked.own;
        let cache = entry.make(own, &setup).map_err(|why| make_error(entry, own, why))?;
        if cache.wants_future() {
            let text = format!(
                "policy `{}` has to know the future: it runs in the simulator only",
                self.policy
            );
            return Err(error(text));
        }
        if cache.wants_horizon() {
            let text = format!(
                "policy `{0}` as it is set asks the drive what it has cleaned, which only a simulated \
                 one tells; set {0}.rule4=destaged",
                self.policy
            );
            return Err(error(text));
        }
        // An order below the policy, such as that of pore.base.
        for (name, value) in own.iter() {
            let one = Setup { cache_blocks: 1, ..setup.clone() };
            let beneath = registry.get(&value).ok();
            let beneath = beneath.and_then(|beneath| {
                beneath.make(&Params::new(beneath.params), &one).ok().filter(|c| c.wants_future())
            });
            if beneath.is_some() {
                let text = format!(
                    "{}.{name}={value}: `{value}` has to know the future, which only a simulator can; \
                     set {0}.{name}=lru or another order",
                    self.policy
                );
                return Err(error(text));
            }
        }
        Ok(cache)
    }
}

/// The error of a policy that cannot be made, with advice for a user who has a disk and no model of
/// it.
fn make_error(entry: &Entry, own: &Params, why: MakeError) -> SettingsError {
    let name = entry.name;
    match why {
        MakeError::NoBands { .. } if own.has(ZONE) => error(format!(
            "policy `{name}` is to work with the true bands of the disk ({name}.{ZONE}=bands), and a store knows only \
             what it is told: set drive.{BANDS} if you know them, or {name}.{ZONE}=20MiB, or the size that shingle probe \
             found"
        )),
        MakeError::NoBands { .. } => error(format!(
            "policy `{name}` works with the true bands of the disk, and a store knows only what it is told: set \
             drive.{BANDS} if you know them, or another policy"
        )),
        MakeError::NoWholeBands { .. } if own.has(ZONE) => error(format!(
            "cache.bands=whole: the policy has to work with the bands of the disk ({name}.{ZONE}=bands), and the disk has \
             to take them in order past its buffer: set drive.{BANDS} and drive.{BAND_PASS_US} if you know that of it; \
             or cache.bands=policy"
        )),
        MakeError::NoWholeBands { .. } => error(format!(
            "cache.bands=whole: policy `{name}` does not work with bands; set cache.bands=policy, or another policy"
        )),
        MakeError::NotExposed { .. } => error(format!(
            "policy `{name}` works with the write pointers of zones, and a store knows a disk by its \
             addresses only; set another policy"
        )),
        why => error(why),
    }
}

/// The checked settings, by owner.
struct Checked {
    /// The policy.
    own: Params,
    cache: Params,
    drive: Params,
    /// The bands of the disk.
    bands: Option<Bands>,
    limit: Params,
}

impl Checked {
    fn in_order(&self) -> InOrder {
        let band_pass = Some(self.drive.time(BAND_PASS_US)).filter(|&time| time > Nanos(0));
        InOrder { log_blocks: self.drive.count(LOG_BLOCKS), band_pass }
    }

    fn costs(&self) -> Costs {
        Costs {
            read: self.drive.time("read_us"),
            rmw_base: self.drive.time("rmw_base_us"),
            rmw_per_block: self.drive.time("rmw_us_per_block"),
        }
    }
}

impl Settings {
    fn checked(&self, entry: &Entry, registry: &Registry) -> Result<Checked, SettingsError> {
        let mut checked = Checked {
            own: Params::new(entry.params),
            cache: Params::new(CACHE_PARAMS),
            drive: Params::new(DRIVE_PARAMS),
            bands: None,
            limit: Params::new(LIMIT_PARAMS),
        };
        // The zone size of the policy's own parameter has priority over that of the disk, in any
        // order.
        let (of_drive, others): (Vec<_>, Vec<_>) =
            self.sets.iter().partition(|(name, _)| name.starts_with("drive."));
        for (name, value) in of_drive {
            let wrong = |why: &dyn std::fmt::Display| error(format!("{name}={value}: {why}"));
            let param = name.split_once('.').map_or("", |(_, param)| param);
            if param == BANDS {
                checked.bands = Bands::parse(value).map_err(|why| wrong(&why))?;
                continue;
            }
            checked.drive.set(param, value).map_err(|e| wrong(&e))?;
        }
        let (map, log) = (checked.drive.count("buffer_blocks"), checked.drive.count(LOG_BLOCKS));
        if log > 0 && (map == 0 || log < map) {
            return Err(error(format!(
                "drive.{LOG_BLOCKS}={log}: the map of the disk's buffer, drive.buffer_blocks={map}, does not fill before \
                 its log; set both as in the disk's profile, or drive.{LOG_BLOCKS}=0"
            )));
        }
        if checked.in_order().band_pass.is_some() && checked.bands.is_none() {
            return Err(error(format!(
                "drive.{BAND_PASS_US}: which bands is not known; set drive.{BANDS}, too, or drive.{BAND_PASS_US}=0"
            )));
        }
        let zone_blocks = checked.drive.count("zone_blocks");
        if zone_blocks > 0 && entry.params.iter().any(|p| p.name == ZONE && p.kind == Kind::Zones) {
            let set = checked.own.set(ZONE, &format!("{zone_blocks}b"));
            set.map_err(|e| error(format!("drive.zone_blocks={zone_blocks}: {e}")))?;
        }
        for (name, value) in others {
            let (owner, param) = name.split_once('.').unwrap_or((name, ""));
            let params = match owner {
                "cache" => &mut checked.cache,
                "limit" => &mut checked.limit,
                "policy" => &mut checked.own,
                _ if owner == entry.name => &mut checked.own,
                // A parameter of another policy, kept for when that one is chosen.
                _ if registry.get(owner).is_ok() => continue,
                _ => return Err(error(registry.get(owner).expect_err("it is unknown"))),
            };
            params.set(param, value).map_err(|e| error(format!("{name}={value}: {e}")))?;
        }
        if checked.limit.limit("destage").is_some_and(|blocks| blocks < DESTAGE_BLOCKS_MIN) {
            let text = "limit.destage: give at least 64KiB a second, or writes that wait for room are given up";
            return Err(error(text));
        }
        Ok(checked)
    }
}
