//! A drive made of a profile: a model of the registry with what was measured in place of the sheet's
//! values.
//!
//! - A drive-managed disk is the model of `st8000as0002`. Measured are its size, buffer, bands, reads by
//!   distance, reading ahead, log writes, `R(x)` and cleaning in idle time. Taken over from the sheet are
//!   what cannot be seen from outside: two bands cleaned at a time, the oldest first, what a cleaning
//!   collects and merges at most, eight extents in a packet of the log, extents of 512 KiB at most, the
//!   log before the first block, and bands written in order going straight to their place.
//! - A conventional disk is `cmr5900` with the measured size and reads. Its write cache is the sheet's.
//!
//! Both run under timing by mechanics, with arm and platter as reads showed them (`calibrate.rs`). If
//! reads by distance were not measured, or no rotation shows in them, they run under timing by cost, where
//! each read takes `L_read`.
//!
//! `R(x)` of a profile is the drive time of a *zone* written, log writes included, and hosts plan with it
//! as it is. Cleaning a *band* costs less. Under mechanics two factors make the model's `R(x)` the measured
//! one: on going over bands, and on collecting from the log (`work.rs`). Under cost a zone of `x` blocks
//! takes `a + b x` cleanings (`cleanings.rs`), so each takes `R(0) / a`, and a block collected what the
//! slope leaves above its write to the log and its part of a cleaning.

mod calibrate;

use self::calibrate::Arm;
use super::cleanings::cleanings;
use super::layout::laid_out;
use super::{BufferFacts, Kind, Profile, RmwFacts, read};
use crate::drive::Drive;
use crate::sheet::{DriveError, Parameter, Recipe, Settings, Sheet, Timing, Value};
use shingle_core::units::BLOCK_BYTES;
use std::path::Path;

/// Most bands of a profile: 512 KiB each on 8 TB.
const BANDS_MAX: u64 = 1 << 24;
/// Most packets of a sheet; with more extents, each packet has several.
const PACKETS_MAX: u64 = 10_000_000;

/// Parameters of bands in the sheet, which are replaced by those of the profile.
const REPLACED: [&str; 3] = ["tracks_per_band", "tracks_per_band_min", "band_seed"];
/// Measured parameters that cannot be overridden.
const FACTS: [&str; 3] =
    ["measured_rmw_r_squared", "measured_zone_blocks", "measured_buffer_blocks"];

pub(crate) struct Model {
    /// `profile:FILE`.
    name: String,
    /// The drive whose model it is.
    pub(crate) like: &'static str,
    /// Its sheet, with the measured values.
    sheet: Sheet,
    /// The bands, as pairs of blocks and count; a conventional disk has none.
    bands: Option<Vec<(u64, u64)>>,
    /// Whether it cleans in idle time, if known.
    pub(crate) idle_cleaning: Option<bool>,
    /// Arm and platter, if they were measured.
    arm: Option<Arm>,
    /// Sentences on what was not determined, and what is used instead.
    pub(crate) unknown: Vec<String>,
}

impl Model {
    /// Reads the profile in `file` and creates its model, called `name`. `sheet` returns the sheets
    /// of the built-in drives.
    pub(crate) fn read(
        name: &str,
        file: &str,
        sheet: impl Fn(&str) -> Sheet,
    ) -> Result<Model, DriveError> {
        Model::of(name, &read(Path::new(file))?, sheet)
    }

    /// Creates the model of a profile.
    fn of(
        name: &str,
        profile: &Profile,
        sheet: impl Fn(&str) -> Sheet,
    ) -> Result<Model, DriveError> {
        let refuse = |what: &str| DriveError::Refused(format!("{name}: {what}"));
        let like = match profile.kind {
            Kind::DriveManaged => "st8000as0002",
            Kind::Conventional => "cmr5900",
            Kind::HostAware => {
                return Err(refuse(
                    "a host-aware disk shows its zones, but its disk cache was not measured; take \
                     -d ha-256m, or ha-roco, with --set drive.zone_bytes",
                ));
            }
            Kind::HostManaged => {
                return Err(refuse(
                    "a host-managed disk has no hidden parts to calibrate; take -d exos-x18z with \
                     --set drive.zone_bytes",
                ));
            }
            Kind::SolidState => {
                return Err(refuse("an SSD is nothing to put a cache before; take -d with a disk"));
            }
            Kind::Hidden => {
                return Err(refuse(
                    "what lies behind the disk's cache was not found out, so there is nothing to make \
                     a model of; take -d with a drive by name",
                ));
            }
        };
        let mut made = Model {
            name: name.to_owned(),
            like,
            sheet: sheet(like),
            bands: None,
            idle_cleaning: profile.idle.map(|idle| idle.cleaning),
            arm: None,
            unknown: unknown(profile),
        };
        made.put("capacity_bytes", Value::Count(profile.bytes))?;
        let reads = &profile.read;
        let further =
            (reads.sequential_us_per_block_first + reads.sequential_us_per_block_last) / 2.0;
        made.put("cost_read_us", Value::Decimal(reads.random_us))?;
        made.put("cost_read_us_per_further_block", Value::Decimal(further))?;
        made.put("measured_read_us", Value::Decimal(reads.random_us))?;
        if let Some(mechanics) = profile.mechanics.as_ref().filter(|seen| seen.rotation_us > 0.0) {
            made.mechanics(mechanics, profile)?;
        }
        if profile.kind == Kind::DriveManaged {
            made.shingled(profile)?;
        }
        Ok(made)
    }

    /// Sets the parameters of a drive-managed disk.
    fn shingled(&mut self, profile: &Profile) -> Result<(), DriveError> {
        let missing =
            |what| self.refuse(&format!("the profile has no {what}; probe the disk again"));
        let buffer = profile.buffer.as_ref().ok_or_else(|| missing("[buffer]"))?;
        let rmw = profile.rmw.ok_or_else(|| {
            self.refuse(
                "the profile has no [rmw]: what cleaning costs, R(x), was not found out; probe the disk again, with three \
                 different --coverages at least",
            )
        })?;
        let least = profile.bands.iter().map(|band| band.blocks).min();
        let least = least.ok_or_else(|| missing("[[bands]]"))?;
        let disk_blocks = profile.bytes / BLOCK_BYTES;
        if disk_blocks / least > BANDS_MAX {
            return Err(self.refuse("more than 2^24 bands: too small to be bands of a disk"));
        }
        let bands = laid_out(&profile.bands, disk_blocks);
        let count: u64 = bands.iter().map(|pair| pair.1).sum();
        self.bands = Some(bands);
        let buffer_blocks = self.buffer(buffer)?;
        self.cleaning(&rmw, buffer.write_us, disk_blocks as f64 / count as f64)?;
        let facts = [
            Value::Decimal(rmw.r_squared),
            Value::Count(rmw.zone_blocks),
            Value::Count(buffer_blocks),
        ];
        for (name, value) in FACTS.into_iter().zip(facts) {
            self.sheet.fix(name, value, &self.name);
        }
        if let Some(idle) = profile.idle {
            self.put("idle_cleaning", Value::Switch(idle.cleaning))?;
            self.put("idle_delay_ms", Value::Count(idle.delay_ms.round() as u64))?;
        }
        Ok(())
    }

    /// Sets the buffer and the time of writes to it. Returns how many single blocks it holds.
    fn buffer(&mut self, buffer: &BufferFacts) -> Result<u64, DriveError> {
        let room = buffer.extents_and_log_blocks().ok_or_else(|| {
            self.refuse(
                "the profile's buffer has neither extents nor log_bytes: its end was not reached, or by \
                 writes that do not tell the two apart; probe the disk again, with a larger --buffer-max or \
                 more --writes",
            )
        });
        let (extents, log_blocks) = room?;
        // A packet of the log holds as many extents as on the sheet, or more if needed.
        let per_packet = match self.arm {
            Some(_) => (self.decimal("extents_per_packet").round() as u64)
                .max(extents.div_ceil(PACKETS_MAX)),
            None => extents.div_ceil(PACKETS_MAX),
        };
        let packets = extents.div_ceil(per_packet);
        self.put("extents_per_packet", Value::Count(per_packet))?;
        self.put("packets_max", Value::Count(packets))?;
        self.put("packets_trigger", Value::Count(packets))?;
        self.put("log_bytes", Value::Count(log_blocks * BLOCK_BYTES))?;
        if let Some(arm) = self.arm.clone() {
            self.log_writes(&arm, buffer)?;
        }
        self.put("cost_log_us_per_block", Value::Decimal(buffer.write_us))?;
        let first = self.sheet.get("cost_log_us_per_block");
        let further = Parameter {
            name: "cost_log_us_per_further_block".into(),
            value: Value::Decimal(buffer.write_us_per_further_block),
            about: "Cost timing: each block after the first of a write to the buffer".into(),
            ..first.clone()
        };
        self.sheet.add(further);
        self.put(
            "cost_log_us_per_further_block",
            Value::Decimal(buffer.write_us_per_further_block),
        )?;
        Ok(extents.min(log_blocks))
    }

    /// Sets the cost of cleaning a band, and the costs that hosts plan with; bands have
    /// `band_blocks` on average.
    fn cleaning(
        &mut self,
        rmw: &RmwFacts,
        write_us: f64,
        band_blocks: f64,
    ) -> Result<(), DriveError> {
        let reads_max = match self.sheet.get("collect_reads_max").value {
            Value::Count(count) => count as f64,
            _ => 0.0,
        };
        if let Some(arm) = self.arm.clone() {
            self.as_measured(&arm, rmw, write_us, (band_blocks, reads_max))?;
        }
        let line = cleanings(rmw.zone_blocks as f64, band_blocks, reads_max);
        let base_us = rmw.base_us / line.intercept.max(1.0);
        let per_block = (rmw.us_per_block - write_us - line.slope * base_us).max(0.0);
        self.put("cost_rmw_base_us", Value::Decimal(base_us))?;
        self.put("cost_rmw_us_per_block", Value::Decimal(per_block))?;
        self.put("measured_rmw_base_us", Value::Decimal(rmw.base_us))?;
        self.put("measured_rmw_us_per_block", Value::Decimal(rmw.us_per_block))
    }

    fn decimal(&self, name: &str) -> f64 {
        match self.sheet.get(name).value {
            Value::Count(count) => count as f64,
            Value::Decimal(number) => number,
            _ => 0.0,
        }
    }

    fn put(&mut self, name: &str, value: Value) -> Result<(), DriveError> {
        let shown = value.to_string();
        if self.sheet.put(name, value, &self.name) {
            return Ok(());
        }
        let allowed = self.sheet.get(name).allowed();
        Err(self.refuse(&format!("{name} would be {shown}, and a model takes a number{allowed}")))
    }

    fn refuse(&self, what: &str) -> DriveError {
        DriveError::Refused(format!("{}: {what}", self.name))
    }

    /// Returns the parameters; their source is the profile where it has them.
    pub(crate) fn parameters(self) -> Vec<Parameter> {
        let replaced = self.bands.is_some();
        let mut parameters = self.sheet.parameters();
        parameters.retain(|p| !(replaced && REPLACED.contains(&p.name.as_str())));
        parameters
    }

    /// Creates the drive.
    pub(crate) fn make(
        mut self,
        settings: &Settings,
        make: impl Fn(&Recipe) -> Result<Box<dyn Drive>, DriveError>,
        underneath: fn(&str) -> Result<Box<dyn Drive>, DriveError>,
    ) -> Result<Box<dyn Drive>, DriveError> {
        let own = if self.arm.is_some() { Timing::Mechanics } else { Timing::Cost };
        let timing = settings.timing.unwrap_or(own);
        if timing == Timing::Mechanics && self.arm.is_none() {
            return Err(
                self.refuse("the profile does not say how the arm moves; leave its timing at cost")
            );
        }
        let replaced = |name: &&str| self.bands.is_some() && REPLACED.contains(name);
        if let Some(name) = settings.overrides.names().find(replaced) {
            let like = self.like;
            return Err(self.refuse(&format!(
                "the bands are those of the profile; take -d {like} to set drive.{name}"
            )));
        }
        self.sheet.apply("drive", &settings.overrides)?;
        let settings = Settings { timing: Some(timing), ..settings.clone() };
        let bands = self.bands.as_deref();
        let name = &self.name;
        make(&Recipe { name, sheet: &self.sheet, settings: &settings, bands, underneath })
    }
}

/// Returns sentences on what was not determined of a disk, and what is used instead.
fn unknown(profile: &Profile) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut say = |what: String| unknown.push(what);
    if profile.mechanics.is_none() {
        say(format!(
            "reads by distance were not measured, so each read takes {:.1} ms, however near it is; \
             probe the disk again",
            profile.read.random_us / 1e3
        ));
    }
    if profile.kind == Kind::DriveManaged && profile.idle.is_none() {
        say("cleaning in idle time was not measured; it is taken to begin after 1 s".into());
    }
    if profile.kind == Kind::Conventional {
        say("its write cache was not measured; it is taken to hold 32 writes. Random writes were watched \
             only until each took a seek: of flash inside, which fills later, nothing is known"
            .into());
    }
    unknown
}
