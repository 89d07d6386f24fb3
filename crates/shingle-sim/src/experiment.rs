//! From names and settings to runs: what `compare` and `run` do behind their options.

mod translations;

use std::collections::BTreeMap;

use rayon::prelude::*;
use shingle_core::params::{Params, nearest};
use shingle_core::policy::Zoning;
use shingle_core::registry::{CACHE_PARAMS, Entry, Registry, Setup};
use shingle_core::size;
use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_drive::drive::{Description, Drive};
use shingle_drive::registry::{self as drives, Buffer, Overrides, Settings, Timing};
use shingle_trace::{Mode, Summary};
use thiserror::Error;

use crate::requests::Requests;
use crate::result::RunResult;
use crate::run::{Course, Labels, RunError, run};
use crate::system::{Pacing, Rules, System};
pub use translations::PARAMS as TRANSLATION_PARAMS;
use translations::Translator;

/// A decoded trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// File name or workload.
    pub name: String,
    /// Its requests, filtered and shaped.
    pub requests: Vec<Request>,
    /// What they amount to.
    pub summary: Summary,
}

/// What the user asked for. Names are checked by [`plan`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of a synthetic trace, for the result.
    pub seed: u64,
    /// Policies.
    pub policies: Vec<String>,
    /// Policy to run along for comparison.
    pub baseline: Option<String>,
    /// Drives.
    pub drives: Vec<String>,
    /// Translations, each over each drive; `none` for the drive by itself.
    pub translations: Vec<String>,
    /// Cache sizes: `5%`, `2%written`, `1%footprint`, or a size.
    pub caches: Vec<String>,
    /// SSD the cache is on.
    pub ssd: String,
    /// Settings, `OWNER.NAME` and value.
    pub sets: Vec<(String, String)>,
    /// The requests that count; the trace has been filtered already.
    pub mode: Mode,
    /// When requests come.
    pub pacing: Pacing,
    /// Open loop: speed of the trace in thousandths.
    pub speed_thousandths: u64,
    /// Every block by itself, as the prototypes do.
    pub split: bool,
    /// Read the rest of partly written blocks.
    pub fill_partial: bool,
    /// Count the work left at the end in.
    pub drain: bool,
    /// Keep data stamps and check every read.
    pub check: bool,
    /// Points of the course of each run to record.
    pub points: u32,
    /// How drives are timed; `None`: as each prefers.
    pub timing: Option<Timing>,
}

/// What is done if nothing is asked for, but for the policies, of which there are none.
impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            policies: Vec::new(),
            baseline: None,
            drives: vec!["st8000as0002".into()],
            translations: vec!["none".into()],
            caches: vec!["5%".into()],
            ssd: "pcie-ssd".into(),
            sets: Vec::new(),
            mode: Mode::ReadWrite,
            pacing: Pacing::Closed,
            speed_thousandths: 1000,
            split: false,
            fill_partial: true,
            drain: false,
            check: false,
            points: 0,
            timing: None,
        }
    }
}

/// Why something cannot be run. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A name, value or combination is wrong.
    #[error("{0}")]
    Usage(String),
    /// The trace does not fit the drive.
    #[error("{0}")]
    Data(String),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn usage(error: impl ToString) -> ExperimentError {
    ExperimentError::Usage(error.to_string())
}

/// One run, ready to start.
pub struct Job {
    entry: Entry,
    params: Params,
    cache_params: Params,
    cache_blocks: u32,
    drive: DriveChoice,
    ssd: DriveChoice,
    rules: Rules,
    course: Course,
    check: bool,
    labels: Labels,
    /// Runs along for comparison only.
    pub baseline: bool,
}

/// A drive, as it is to be made, with the translation over it.
#[derive(Clone)]
struct DriveChoice {
    name: String,
    settings: Settings,
    /// Of the drive with its translation.
    description: Description,
    shown: BTreeMap<String, String>,
    translator: Option<Translator>,
}

impl DriveChoice {
    /// Its name, and that of the translation.
    fn title(&self) -> String {
        match &self.translator {
            None => self.name.clone(),
            Some(translator) => format!("{} over {}", translator.name(), self.name),
        }
    }
}

/// What the user should know before the runs begin: sentences.
pub type Notes = Vec<String>;

/// All policies, or translations, that go with the rest.
const ALL: &str = "all";

/// Buffers are scaled to this many thousandths of the touched zones (PORE §V-A.3: 20 GB of 5 TB)…
const SCALED_BUFFER_THOUSANDTHS: u64 = 4;
/// …for traces that touch less than one such part of the drive.
const TOUCHED_PART: u64 = 10;

/// Checks everything that can be checked without running: names, values, sizes.
///
/// # Errors
/// The first thing that is wrong, in a line, with a way out.
pub fn plan(
    options: &Options,
    registry: &Registry,
    trace: &Trace,
) -> Result<(Vec<Job>, Notes), ExperimentError> {
    let mut notes = Notes::new();
    let policies = policies(options, registry)?;
    let cache_params = cache_params(options)?;
    let ssd = ssd_choice(options)?;
    check_owners(options, &policies, registry)?;
    let mut jobs: Vec<Job> = Vec::new();
    let translations = translations::chosen(options)?;
    let pairs = options.drives.iter().flat_map(|name| translations.iter().map(move |t| (name, *t)));
    for (name, translation) in pairs {
        let all = options.translations.iter().any(|name| name == ALL);
        let drive = match drive_choice(name, translation, options, trace, &mut notes) {
            Err(ExperimentError::Usage(why)) if all => {
                left_out(&mut notes, &why);
                continue;
            }
            drive => drive?,
        };
        check_capacity(&drive, trace)?;
        notes.extend(unused_zones(&drive, &policies, options)?);
        for cache in &options.caches {
            let cache_blocks = cache_blocks(cache, &drive, &ssd, trace)?;
            for &(entry, baseline) in &policies {
                let params = policy_params(&entry, options)?;
                let slots = if entry.name == "none" { 0 } else { cache_blocks };
                let same = |job: &Job| {
                    job.entry.name == entry.name
                        && job.drive.title() == drive.title()
                        && job.cache_blocks == slots
                };
                if jobs.iter().any(same) {
                    continue;
                }
                let job = Job {
                    labels: labels(&entry, &params, &cache_params, &drive, &ssd, options),
                    entry,
                    params,
                    cache_params: cache_params.clone(),
                    cache_blocks: slots,
                    drive: drive.clone(),
                    ssd: ssd.clone(),
                    rules: Rules {
                        pacing: options.pacing,
                        split: options.split,
                        fill_partial: options.fill_partial,
                    },
                    course: Course {
                        pacing: options.pacing,
                        speed_thousandths: options.speed_thousandths,
                        drain: options.drain,
                        points: options.points,
                    },
                    check: options.check,
                    baseline,
                };
                match job.check_makes() {
                    Err(ExperimentError::Usage(why)) if options.policies.contains(&ALL.into()) => {
                        left_out(&mut notes, &why);
                    }
                    made => {
                        made?;
                        jobs.push(job);
                    }
                }
            }
        }
    }
    if jobs.is_empty() {
        return Err(usage("nothing of what was chosen goes together; choose by name to see why"));
    }
    Ok((jobs, notes))
}

/// Says once why one of `all` is not there.
fn left_out(notes: &mut Notes, why: &str) {
    let note = format!("left out: {why}");
    if !notes.contains(&note) {
        notes.push(note);
    }
}

/// Runs `jobs` over `trace` on all threads of the pool in force; results come in the order of jobs.
///
/// # Errors
/// The first run that failed, in the order of jobs.
pub fn run_all(
    jobs: &[Job],
    trace: &Trace,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<RunResult>, ExperimentError> {
    let results: Vec<Result<RunResult, ExperimentError>> =
        jobs.par_iter().map(|job| job.run(&trace.requests[..], progress)).collect();
    results.into_iter().collect()
}

impl Job {
    /// A fresh system.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn system(&self) -> Result<System, ExperimentError> {
        let disk = make_drive(&self.drive)?;
        let ssd = drives::make_ssd(&self.ssd.name, &self.ssd.settings).map_err(usage)?;
        let cache = self.entry.make(&self.params, &self.setup()).map_err(usage)?;
        Ok(System::new(cache, ssd, disk, self.rules, self.check))
    }

    /// Runs over `requests`; `progress` is told how many have been served.
    ///
    /// # Errors
    /// If the system cannot be made, or a checked run reads stale data.
    pub fn run(
        &self,
        requests: &(impl Requests + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        Ok(run(self.system()?, requests, &self.labels, self.course, progress)?)
    }

    fn setup(&self) -> Setup<'_> {
        let Description { disk_blocks, bands, exposed, buffer_blocks, costs, .. } =
            &self.drive.description;
        Setup {
            cache_blocks: self.cache_blocks,
            disk_blocks: *disk_blocks,
            bands: bands.as_ref(),
            conventional_zones: exposed.map(|zones| zones.conventional_zones),
            sequential_required: exposed.is_some_and(|zones| zones.sequential_required),
            buffer_blocks: *buffer_blocks,
            costs: *costs,
            cache: &self.cache_params,
        }
    }

    /// Fails now, not after the other runs, if the policy does not go with the drive.
    fn check_makes(&self) -> Result<(), ExperimentError> {
        let setup = Setup { cache_blocks: self.cache_blocks.min(1), ..self.setup() };
        let cache = self.entry.make(&self.params, &setup).map_err(usage)?;
        if cache.wants_horizon() && self.drive.translator.is_some() {
            return Err(usage(format!(
                "{} asks the drive how old its buffer is, which no translation tells: drop \
                 {0}.rule4=exact",
                self.entry.name
            )));
        }
        Ok(())
    }
}

fn make_drive(choice: &DriveChoice) -> Result<Box<dyn Drive>, ExperimentError> {
    let drive = drives::make(&choice.name, &choice.settings).map_err(usage)?;
    match &choice.translator {
        None => Ok(drive),
        Some(translator) => translator.over(drive).map_err(usage),
    }
}

// ── Policies ─────────────────────────────────────────────────────────────────────────────────

fn policies(options: &Options, registry: &Registry) -> Result<Vec<(Entry, bool)>, ExperimentError> {
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
fn settings<'a>(
    options: &'a Options,
    owner: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
    options.sets.iter().filter_map(move |(key, value)| {
        let (whose, name) = key.split_once('.')?;
        (whose == owner).then_some((name, value.as_str()))
    })
}

fn policy_params(entry: &Entry, options: &Options) -> Result<Params, ExperimentError> {
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

fn cache_params(options: &Options) -> Result<Params, ExperimentError> {
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
fn check_owners(
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

// ── Drives ───────────────────────────────────────────────────────────────────────────────────

/// Settings of a drive that are not on its sheet.
const DRIVE_EXTRAS: [&str; 2] = ["pb", "extents"];

/// The parameter of drives that can clean in idle time.
const IDLE_CLEANING: &str = "idle_cleaning";

fn drive_choice(
    name: &str,
    translation: translations::Named,
    options: &Options,
    trace: &Trace,
    notes: &mut Notes,
) -> Result<DriveChoice, ExperimentError> {
    let entry = drives::entry(name).map_err(usage)?;
    let mut settings = Settings { timing: options.timing, ..Settings::default() };
    let mut shown = BTreeMap::new();
    let known: Vec<String> = entry.parameters().into_iter().map(|param| param.name).collect();
    for (key, value) in self::settings(options, "drive") {
        if DRIVE_EXTRAS.contains(&key) {
            continue;
        }
        if !known.iter().any(|name| name == key) && options.drives.len() > 1 {
            let others = options.drives.iter().filter_map(|name| drives::entry(name).ok());
            if others.flat_map(drives::DriveEntry::parameters).any(|param| param.name == key) {
                continue; // meant for another drive of the list
            }
        }
        if !known.iter().any(|name| name == key) {
            let names = known.iter().map(String::as_str).chain(DRIVE_EXTRAS);
            let mut names = nearest(key, names);
            names.dedup();
            return Err(usage(format!(
                "{name} has no parameter `drive.{key}`; there are {}",
                names.join(", ")
            )));
        }
        settings.overrides.set(key, value);
        shown.insert(key.to_owned(), value.to_owned());
    }
    // By the sheet's own word, disks do not clean in idle time: in open loop they do, unless the
    // user decides. Emulators never do, and have no such parameter.
    let decided = last(options, IDLE_CLEANING).is_some();
    if !decided && known.iter().any(|name| name == IDLE_CLEANING) {
        settings.idle_cleaning = Some(options.pacing == Pacing::Open);
    }
    if let Some(timing) = options.timing {
        shown.insert("timing".into(), timing_name(timing).into());
    }
    let mut description = drives::make(name, &settings).map_err(usage)?.description().clone();
    let mut translator = None;
    if let Some(entry) = translation {
        let made = Translator::new(entry, name, &description, options, trace, notes)?;
        shown.insert("pb".into(), made.buffer());
        description = made.description(&description)?;
        translator = Some(made);
    } else if description.buffer_blocks > 0 {
        settings.buffer = buffer(name, options, trace, &description, &mut shown, notes)?;
        description = drives::make(name, &settings).map_err(usage)?.description().clone();
    } else if options.drives.len() == 1
        && last(options, "pb").is_some_and(|size| !entry.shingled || size != "real")
    {
        return Err(usage(format!("{name} has no buffer of its own: drop drive.pb")));
    }
    Ok(DriveChoice { name: name.into(), settings, description, shown, translator })
}

/// Name of a timing on the command line.
#[must_use]
pub fn timing_name(timing: Timing) -> &'static str {
    match timing {
        Timing::Mechanics => "mechanics",
        Timing::Cost => "cost",
    }
}

/// The last value of `drive.NAME`.
fn last<'a>(options: &'a Options, name: &str) -> Option<&'a str> {
    options
        .sets
        .iter()
        .rev()
        .find(|(key, _)| key.strip_prefix("drive.") == Some(name))
        .map(|(_, v)| v.as_str())
}

/// The size of the buffer: as asked for, or scaled with the data.
fn buffer(
    name: &str,
    options: &Options,
    trace: &Trace,
    real: &Description,
    shown: &mut BTreeMap<String, String>,
    notes: &mut Notes,
) -> Result<Buffer, ExperimentError> {
    let touched = trace.summary.accessed_zone_bytes();
    let scaled = |thousandths: u64| (touched * thousandths / 1000).max(BLOCK_BYTES);
    let extents = match last(options, "extents") {
        None => None,
        Some(text) => match text.parse::<u64>() {
            Ok(extents) if extents > 0 => Some(extents),
            _ => return Err(usage(format!("drive.extents={text}: give a number of map entries"))),
        },
    };
    let log_bytes = match last(options, "pb") {
        Some(text) => pb_bytes(text, touched)?,
        None if touched < real.disk_blocks * BLOCK_BYTES / TOUCHED_PART => {
            let bytes = scaled(SCALED_BUFFER_THOUSANDTHS);
            notes.push(format!(
                "{name}: the trace touches {} of {}, so the drive's buffer is scaled to 0.4% of \
                 that, {} (--set drive.pb=real for the drive's own)",
                size::show_bytes(touched),
                size::show_bytes(real.disk_blocks * BLOCK_BYTES),
                size::show_bytes(bytes),
            ));
            Some(bytes)
        }
        None => None,
    };
    shown.insert("pb".into(), shown_pb(log_bytes));
    Ok(match (log_bytes, extents) {
        (None, None) => Buffer::Real,
        (Some(bytes), None) => Buffer::Bytes(bytes),
        (bytes, Some(extents)) => {
            shown.insert("extents".into(), extents.to_string());
            let log_bytes = bytes.unwrap_or(u64::MAX / 4);
            Buffer::Limits { log_bytes, extents }
        }
    })
}

/// The value of `drive.pb` in bytes: a share of `whole`, a size, or `None` for `real`.
fn pb_bytes(text: &str, whole: u64) -> Result<Option<u64>, ExperimentError> {
    let bytes = match text.strip_suffix('%') {
        _ if text == "real" => return Ok(None),
        Some(percent) => percent_of(percent, whole).ok_or_else(|| {
            usage(format!("drive.pb={text}: give a share such as 0.4%, a size, or real"))
        })?,
        None => size::parse_bytes(text)
            .map_err(|error| usage(format!("drive.pb: {error}, a share such as 0.4%, or real")))?,
    };
    match bytes {
        0..BLOCK_BYTES => Err(usage("drive.pb: a buffer holds at least one block of 4 KiB")),
        bytes => Ok(Some(bytes)),
    }
}

/// A buffer's size as one would write it.
fn shown_pb(bytes: Option<u64>) -> String {
    bytes.map_or("real".into(), |bytes| format!("{}b", bytes / BLOCK_BYTES))
}

fn ssd_choice(options: &Options) -> Result<DriveChoice, ExperimentError> {
    let mut overrides = Overrides::new();
    let mut shown = BTreeMap::new();
    for (name, value) in settings(options, "ssd") {
        overrides.set(name, value);
        shown.insert(name.to_owned(), value.to_owned());
    }
    let settings = Settings { overrides, ..Settings::default() };
    let ssd = drives::make_ssd(&options.ssd, &settings).map_err(usage)?;
    let description = ssd.description().clone();
    let name = options.ssd.clone();
    Ok(DriveChoice { name, settings, description, shown, translator: None })
}

/// A word on policies with zones of their own on a drive that shows what its zones are.
fn unused_zones(
    drive: &DriveChoice,
    policies: &[(Entry, bool)],
    options: &Options,
) -> Result<Option<String>, ExperimentError> {
    if drive.description.exposed.is_none() {
        return Ok(None);
    }
    let mut names = Vec::new();
    for (entry, _) in policies {
        if entry.zoning(&policy_params(entry, options)?) == Zoning::Fixed {
            names.push(entry.name);
        }
    }
    let (name, names) = (&drive.name, names.join(", "));
    Ok((!names.is_empty()).then(|| {
        format!(
            "{name} shows its zones to the host; {names} take zones of a fixed size all the same \
             (--set policy.zone=bands for the drive's own)"
        )
    }))
}

fn check_capacity(drive: &DriveChoice, trace: &Trace) -> Result<(), ExperimentError> {
    let capacity = drive.description.disk_blocks * BLOCK_BYTES;
    if trace.summary.end_bytes <= capacity {
        return Ok(());
    }
    let end = |request: &Request| request.offset + request.bytes;
    let beyond = trace.requests.iter().position(|request| end(request) > capacity);
    // A trace may be known by its summary alone.
    let (which, end) = match beyond {
        Some(at) => (format!("request {}", at + 1), end(&trace.requests[at])),
        None => ("its last request by address".into(), trace.summary.end_bytes),
    };
    Err(ExperimentError::Data(format!(
        "{}: {which} ends at byte {end}, beyond {} with its {capacity} bytes; --remap packs the \
         touched zones together, or choose a larger drive with -d",
        trace.name,
        drive.title(),
    )))
}

// ── Cache ────────────────────────────────────────────────────────────────────────────────────

/// `percent` (a decimal number) of `bytes`.
fn percent_of(percent: &str, bytes: u64) -> Option<u64> {
    let value: f64 = percent.trim().parse().ok()?;
    if !(value > 0.0 && value <= 100.0) {
        return None;
    }
    // Thousandths of a percent, so that no rounding of floats decides a size.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let thousandths = (value * 1000.0).round() as u64;
    Some((u128::from(bytes) * u128::from(thousandths) / 100_000) as u64)
}

fn cache_blocks(
    text: &str,
    drive: &DriveChoice,
    ssd: &DriveChoice,
    trace: &Trace,
) -> Result<u32, ExperimentError> {
    let wrong = |why: String| usage(format!("-c {text}: {why}"));
    let blocks = match text.split_once('%') {
        Some((percent, of)) => {
            let bytes = match of {
                "" | "accessed" => trace.summary.accessed_zone_bytes(),
                "written" => trace.summary.written_zone_bytes(),
                "footprint" => trace.summary.distinct_blocks * BLOCK_BYTES,
                _ => {
                    let known = ["accessed", "written", "footprint"].into_iter();
                    let names = nearest(of, known).join(", ");
                    return Err(wrong(format!("percent of what? there are {names}")));
                }
            };
            let share = percent_of(percent, bytes)
                .ok_or_else(|| wrong("give a share above 0% and up to 100%".into()))?;
            share.div_ceil(BLOCK_BYTES)
        }
        None => size::parse_blocks(text)
            .map_err(|error| wrong(format!("{error}, or a share such as 5%")))?,
    };
    let disk_blocks = drive.description.disk_blocks;
    if blocks == 0 {
        return Err(wrong("the cache is empty; use the policy `none` to run without one".into()));
    }
    if blocks > disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than {} with its {}",
            drive.name,
            size::show_bytes(disk_blocks * BLOCK_BYTES)
        )));
    }
    if blocks > ssd.description.disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than the SSD {} with its {}",
            ssd.name,
            size::show_bytes(ssd.description.disk_blocks * BLOCK_BYTES)
        )));
    }
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks < u32::MAX)
        .ok_or_else(|| wrong("caches hold less than 16 TiB".into()))
}

fn labels(
    entry: &Entry,
    params: &Params,
    cache: &Params,
    drive: &DriveChoice,
    ssd: &DriveChoice,
    options: &Options,
) -> Labels {
    let mut parameters: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    parameters.extend(cache.iter().map(|(name, value)| (format!("cache.{name}"), value)));
    parameters.insert("split".into(), if options.split { "4k" } else { "off" }.into());
    let partial = if options.fill_partial { "fill" } else { "ignore" };
    parameters.insert("partial".into(), partial.into());
    for (name, value) in &ssd.shown {
        parameters.insert(format!("ssd.{name}"), value.clone());
    }
    Labels {
        seed: options.seed,
        policy: entry.name.into(),
        parameters,
        drive: drive.name.clone(),
        drive_parameters: drive.shown.clone(),
        translation: drive.translator.as_ref().map(Translator::label),
        ssd: ssd.name.clone(),
        mode: match options.mode {
            Mode::ReadWrite => "rw",
            Mode::Write => "w",
            Mode::Read => "r",
        },
        // A host that translates knows the zones, as one to which the drive shows them does.
        knows_bands: entry.zoning(params) == Zoning::Bands
            && drive.description.exposed.is_none()
            && drive.translator.is_none(),
    }
}
