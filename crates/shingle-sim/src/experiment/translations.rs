//! Choice of translations over drives, their parameters, and the size of their buffer.

mod beneath;

use std::collections::BTreeMap;
use std::sync::Arc;

use shingle_core::drive_view::Costs;
use shingle_core::param;
use shingle_core::params::{Param, Params, nearest};
use shingle_core::size;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};
use shingle_drive::{Description, Drive};
use shingle_result::Pacing;
use shingle_translation::translations::{self, ALL};
use shingle_translation::{Entry, Layout, Saved, Translation};

pub(super) use beneath::{Beneath, has_own_zones};

use super::buffer::{TOUCHED_PART, holds_all, pb_bytes, shown_pb};
use super::filled::{filled, touched};
use super::options::{self, ExperimentError, Options, Trace, usage};
use super::ssd::SsdChoice;
use crate::disk::Disk;
use crate::requests::{RequestList, all};
use crate::translated::{Translated, layout};

/// Parameters that all translations share: `translation.NAME`.
pub const PARAMS: &[Param] = &[
    param!("idle_delay_ms": Count = "1000",
        "open loop: how long the drive is idle, in milliseconds, before a translation that can work in idle \
         time does (design choice, as the host-aware drives have it)"),
    param!(CACHE_ZONES: Count = "0",
        "zones of a cache device, an SSD of its own as --ssd has it, that are the buffer in place of \
         conventional ones (dm-zoned with two devices, dmzadm --format SSD DISK); 0: none"),
    param!(ZONE_SIZE: Blocks = "256MiB",
        "a disk without zones: size of the zones that it is written in (shingle zoned create)"),
    param!(FILLED: Choice(&["auto", "on", "off"]) = "auto",
        "whether each zone of 5,000 blocks that the trace touches holds data before, written in order (only \
         log); auto: if the disk has no zones of its own, and is not a host-aware one with empty zones \
         (drive.filled), as other policies are compared with on it then"),
    param!(MAP: Choice(&["auto", "on", "off"]) = "auto",
        "whether the map is saved on the disk at each flush and commit, and takes time (design choice: papers \
         do not count it); auto: if the disk has no zones of its own"),
];

const CACHE_ZONES: &str = "cache_zones";
const ZONE_SIZE: &str = "zone_size";
const FILLED: &str = "filled";
const MAP: &str = "map";

#[derive(Clone)]
pub(super) struct Over {
    entry: &'static Entry,
    params: Params,
    shared: Params,
}

/// A translation to create over a drive.
#[derive(Clone)]
pub(super) struct Translator {
    over: Over,
    layout: Layout,
    /// `None`: all conventional zones.
    buffer_bytes: Option<u64>,
    idle_after: Option<Nanos>,
    /// The device of the buffer, if it is not the drive.
    cache: Option<SsdChoice>,
    /// The data that the disk holds before the run, if any.
    filled: Option<Arc<Saved>>,
    saves_map: bool,
    own_zones: bool,
    /// What hosts plan with, of the drive or of the zones that it is written in.
    costs: Costs,
}

/// The buffer is this part of the zones written (Amphisbaena §6.1: 1 %)…
const SCALED_BUFFER_PART: u64 = 100;

/// Returns the requested translations; `None` for the drive by itself.
pub(super) fn entries(options: &Options) -> Result<Vec<Option<&'static Entry>>, ExperimentError> {
    let mut chosen = Vec::new();
    for name in &options.translations {
        match name.as_str() {
            "none" => chosen.push(None),
            options::ALL => chosen.extend(ALL.iter().map(Some)),
            name => chosen.push(Some(translations::get(name).map_err(usage)?)),
        }
    }
    Ok(chosen)
}

/// Returns the requested translations with their parameters.
pub(super) fn chosen(options: &Options) -> Result<Vec<Option<Over>>, ExperimentError> {
    let over = |entry: Option<&'static Entry>| entry.map(|entry| Over::new(entry, 0, options));
    entries(options)?.into_iter().map(|entry| over(entry).transpose()).collect()
}

impl Over {
    /// Chooses a translation over a disk that can have `max_open` zones open; 0 means any number.
    fn new(
        entry: &'static Entry,
        max_open: u32,
        options: &Options,
    ) -> Result<Over, ExperimentError> {
        let (mut params, mut shared) = (Params::new(entry.params), Params::new(PARAMS));
        entry.limit_open(&mut params, max_open);
        for (name, value) in options.sets.of("translation") {
            for params in [&mut params, &mut shared].into_iter().filter(|params| params.has(name)) {
                let set = params.set(name, value);
                set.map_err(|error| usage(format!("translation: {error}")))?;
            }
        }
        for (name, value) in options.sets.of(entry.name) {
            let set = params.set(name, value);
            set.map_err(|error| usage(format!("{}: {error}", entry.name)))?;
        }
        Ok(Over { entry, params, shared })
    }

    fn make(&self, layout: Layout) -> Result<Box<dyn Translation>, String> {
        self.entry.make(&self.params, layout)
    }

    /// Decides a switch that may be `auto`, which is then `otherwise`. Returns whether it is on.
    fn decide(&mut self, name: &str, otherwise: bool) -> bool {
        let on = match self.shared.choice(name) {
            "auto" => otherwise,
            word => word == "on",
        };
        self.shared.set(name, if on { "on" } else { "off" }).expect("both are choices");
        on
    }

    /// Returns notes of what is set for a buffer that it does not have.
    fn settings_without_buffer(
        &self,
        own_zones: bool,
        options: &Options,
    ) -> impl Iterator<Item = String> {
        let settings = [
            (own_zones && options.sets.last("drive", "pb").is_some(), "drive.pb"),
            (self.shared.count(CACHE_ZONES) > 0, "translation.cache_zones"),
        ];
        let name = self.entry.name;
        settings.into_iter().filter(|(is_set, _)| *is_set).map(move |(_, setting)| {
            format!("{name} has no buffer: {setting} changes nothing there")
        })
    }

    /// Returns the blocks of a cache device that are its buffer; 0 if conventional zones are, or it
    /// has none.
    fn cache_blocks(
        &self,
        zone_blocks: u64,
        ssd: &SsdChoice,
        options: &Options,
    ) -> Result<u64, ExperimentError> {
        let zones = self.shared.count(CACHE_ZONES);
        if zones == 0 || !self.entry.has_buffer {
            return Ok(0);
        }
        if options.sets.last("drive", "pb").is_some() {
            return Err(usage(
                "drive.pb: with translation.cache_zones these are the buffer; drop one of the two",
            ));
        }
        let blocks = zones.saturating_mul(zone_blocks);
        if blocks > ssd.description.disk_blocks {
            return Err(usage(format!(
                "translation.cache_zones: {} has {}, and {zones} zones of {} do not fit",
                ssd.name,
                size::show_blocks(ssd.description.disk_blocks),
                size::show_blocks(zone_blocks),
            )));
        }
        Ok(blocks)
    }
}

/// Checks that nothing is set for the drive that a translation leaves no room for.
fn check_drive_settings(own_zones: bool, options: &Options) -> Result<(), ExperimentError> {
    if own_zones && options.sets.last("drive", "filled").is_some_and(|value| value != "off") {
        return Err(usage("drive.filled: a translation begins with empty zones"));
    }
    if own_zones && options.sets.last("drive", "extents").is_some() {
        return Err(usage("drive.extents: the buffer of a translation has no such limit"));
    }
    Ok(())
}

/// Returns the bytes of conventional zones that are a buffer, as requested or scaled with the data;
/// `None` for all of them.
fn conventional_bytes<R: RequestList>(
    (drive, beneath): (&str, &Description),
    zone_blocks: u64,
    options: &Options,
    trace: &Trace<R>,
    notes: &mut Vec<String>,
) -> Result<Option<u64>, ExperimentError> {
    let written = written_zone_bytes(trace, zone_blocks);
    if let Some(text) = options.sets.last("drive", "pb") {
        return pb_bytes(text, written);
    }
    let disk_bytes = beneath.disk_blocks * BLOCK_BYTES;
    if trace.summary.accessed_zone_bytes() >= disk_bytes / TOUCHED_PART {
        return Ok(None);
    }
    let bytes = (written / SCALED_BUFFER_PART).max(BLOCK_BYTES);
    notes.push(format!(
        "{drive}: the trace writes to zones of {} in all, so the buffer of translations is scaled to 1% of \
         that, {} (--set drive.pb=real for all conventional zones)",
        size::show_bytes(written),
        size::show_bytes(bytes),
    ));
    notes.extend(holds_all(drive, bytes, &trace.summary));
    Ok(Some(bytes))
}

pub(super) fn is_one(name: &str) -> bool {
    names().any(|other| other == name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name)
}

/// Checks that one of the chosen translations has a parameter `name`.
pub(super) fn check_parameter(name: &str, options: &Options) -> Result<(), ExperimentError> {
    let own = entries(options)?.into_iter().flatten().flat_map(|entry| entry.params);
    let all: Vec<&str> = own.chain(PARAMS).map(|param| param.name).collect();
    if all.contains(&name) {
        return Ok(());
    }
    let mut names = nearest(name, all);
    names.dedup();
    Err(usage(format!(
        "none of the translations chosen with -t has a parameter `{name}`; there are {}",
        names.join(", ")
    )))
}

/// Checks that `value` is valid for the parameter `name` of translation `owner`.
pub(super) fn check_value(owner: &str, name: &str, value: &str) -> Result<(), ExperimentError> {
    let entry = translations::get(owner).map_err(usage)?;
    let set = Params::new(entry.params).set(name, value);
    set.map_err(|error| usage(format!("{owner}: {error}")))
}

impl Translator {
    pub(super) fn new<R: RequestList>(
        over: &Over,
        &Beneath { name: drive, description: beneath, own_zones, holds_data }: &Beneath<'_>,
        ssd: &SsdChoice,
        options: &Options,
        trace: &Trace<R>,
        notes: &mut Vec<String>,
    ) -> Result<Translator, ExperimentError> {
        let name = over.entry.name;
        let wrong = |why: String| {
            usage(format!("-t {name}: {drive} {why}; `shingle list drives` has others"))
        };
        check_drive_settings(own_zones, options)?;
        let whole = layout(beneath, None).map_err(wrong)?;
        if !over.entry.has_buffer {
            notes.extend(over.settings_without_buffer(own_zones, options));
        }
        let cache_blocks = over.cache_blocks(whole.zone_blocks, ssd, options)?;
        let (buffer_bytes, layout) = if cache_blocks > 0 {
            let layout = Layout { buffer_blocks: cache_blocks, ..whole };
            (Some(cache_blocks * BLOCK_BYTES), layout)
        } else {
            let bytes = if over.entry.has_buffer {
                conventional_bytes((drive, beneath), whole.zone_blocks, options, trace, notes)?
            } else {
                None
            };
            let blocks = bytes.map(|bytes| bytes / BLOCK_BYTES);
            (bytes, layout(beneath, blocks).map_err(wrong)?)
        };
        let cache = (cache_blocks > 0).then(|| ssd.clone());
        let idle_after = Nanos::from_millis(over.shared.count("idle_delay_ms").min(1 << 40));
        let idle_after = (options.pacing == Pacing::Open).then_some(idle_after);
        let max_open = match beneath.exposed {
            Some(zones) if !own_zones => zones.open_zones,
            _ => 0,
        };
        let mut over = Over::new(over.entry, max_open, options)?;
        let is_filled = over.decide(FILLED, !own_zones && holds_data);
        let saves_map = over.decide(MAP, !own_zones);
        if is_filled && over.entry.has_buffer {
            return Err(usage(format!("translation.{FILLED}: {name} begins with empty zones")));
        }
        if is_filled && !own_zones && !holds_data {
            return Err(usage(format!(
                "translation.{FILLED}: {drive} begins with empty zones, which are read in no time; say --set \
                 drive.filled=on, too"
            )));
        }
        let fill = || {
            let blocks =
                over.make(layout).map_err(|why| usage(format!("-t {name}: {why}")))?.blocks();
            filled(layout, blocks, trace).map_err(|why| {
                usage(format!("{drive} {why}, or say --set translation.{FILLED}=off"))
            })
        };
        let filled = is_filled.then(fill).transpose()?.map(Arc::new);
        if !own_zones {
            notes.push(over.how_written(drive, beneath));
        }
        Ok(Translator {
            over,
            layout,
            buffer_bytes,
            idle_after,
            cache,
            filled,
            saves_map,
            own_zones,
            costs: beneath.costs,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        self.over.entry.name
    }

    /// Returns whether everything is appended to a log.
    pub(super) fn is_log(&self) -> bool {
        !self.over.entry.has_buffer
    }

    /// Returns the size of the buffer, as a user would write it, if the translation has one.
    pub(super) fn buffer(&self) -> Option<String> {
        self.over.entry.has_buffer.then(|| shown_pb(self.buffer_bytes))
    }

    /// Returns its parameters, as shown in results.
    pub(super) fn parameters(&self) -> BTreeMap<String, String> {
        let own = self.over.params.iter();
        let shared = self.over.shared.iter().filter(|(name, _)| match *name {
            CACHE_ZONES => self.cache.is_some(),
            ZONE_SIZE => !self.own_zones,
            FILLED => self.filled.is_some() || !self.own_zones,
            MAP => self.saves_map || !self.own_zones,
            _ => self.idle_after.is_some(),
        });
        own.chain(shared).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn over(&self, name: &str, drive: Box<dyn Drive>) -> Result<Disk, ExperimentError> {
        let drive = self.over.on_zones(name, drive, |_| self.costs)?;
        let (entry, params) = (self.over.entry, &self.over.params);
        let made = match &self.filled {
            Some(saved) => entry.open(params, self.layout, saved.as_ref()),
            None => self.over.make(self.layout),
        };
        let made = made.map_err(|error| usage(format!("-t {}: {error}", entry.name)))?;
        let mut translated = Translated::new(made, drive, self.layout, self.idle_after);
        if let Some(saved) = &self.filled {
            translated = translated.filled(saved);
        }
        if self.saves_map {
            translated = translated.with_map();
        }
        Ok(match &self.cache {
            None => translated.into(),
            Some(ssd) => translated.with_buffer_on(ssd.make()?).into(),
        })
    }

    /// Returns what a host may know of the translation over a drive with this description.
    pub(super) fn description(
        &self,
        beneath: &Description,
    ) -> Result<Description, ExperimentError> {
        let made = self.over.make(self.layout);
        let made = made.map_err(|error| usage(format!("-t {}: {error}", self.over.entry.name)))?;
        Ok(Translated::describe(beneath, &self.layout, &*made))
    }
}

/// Returns the bytes of the drive's zones that writes touch: what Amphisbaena §6.1 calls the
/// maximum access range, as its Table 3 counts zones. If only the summary of the trace is known,
/// zones of 5,000 blocks are counted.
fn written_zone_bytes<R: RequestList>(trace: &Trace<R>, zone_blocks: u64) -> u64 {
    if trace.requests.is_empty() {
        return trace.summary.written_zone_bytes();
    }
    let writes = all(&trace.requests).filter(|request| request.op == Op::Write);
    let zones = touched(writes, zone_blocks);
    zones.len() as u64 * zone_blocks * BLOCK_BYTES
}
