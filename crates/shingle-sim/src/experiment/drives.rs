//! Choice of drives, and their settings.

use std::collections::BTreeMap;

use shingle_core::params::nearest;
use shingle_core::policy::Zoning;
use shingle_core::units::{BLOCK_BYTES, Request, Zone};
use shingle_drive::{self as drives, Description, Known, Settings, Timing, costs_in_zones};
use shingle_result::Pacing;
use shingle_trace::shape::packed_bytes;
use shingle_trace::zones::ZONE_BYTES;

use super::buffer::{buffer, check_buffer};
use super::options::{ExperimentError, Options, Trace, usage};
use super::policies::Chosen;
use super::ssd::SsdChoice;
use super::translations::{Beneath, Over, Translator, has_own_zones};
use crate::disk::Disk;
use crate::requests::{RequestList, all};

/// A drive to create, with the translation over it.
#[derive(Clone)]
pub(super) struct DriveChoice {
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) description: Description,
    pub(super) shown: BTreeMap<String, String>,
    pub(super) translator: Option<Translator>,
}

impl DriveChoice {
    /// Returns its name and that of the translation.
    pub(super) fn title(&self) -> String {
        match &self.translator {
            None => self.name.clone(),
            Some(translator) => format!("{} over {}", translator.name(), self.name),
        }
    }
}

pub(super) fn make_drive(choice: &DriveChoice) -> Result<Disk, ExperimentError> {
    let drive = drives::make(&choice.name, &choice.settings).map_err(usage)?;
    match &choice.translator {
        None => Ok(drive.into()),
        Some(translator) => translator.over(&choice.name, drive),
    }
}

/// Settings of a drive that are not on its sheet.
pub(super) const DRIVE_EXTRAS: [&str; 2] = ["pb", "extents"];

/// The parameter of drives that can clean in idle time.
pub(super) const IDLE_CLEANING: &str = "idle_cleaning";

/// Collects the settings of the drive `name`, except for its buffer, and how results show them.
fn settings(
    name: &str,
    entry: &Known,
    options: &Options,
) -> Result<(Settings, BTreeMap<String, String>), ExperimentError> {
    let mut settings = Settings { timing: options.timing, ..Settings::default() };
    let mut shown = BTreeMap::new();
    let known: Vec<String> = entry.parameters().into_iter().map(|param| param.name).collect();
    for (key, value) in options.sets.of("drive") {
        if DRIVE_EXTRAS.contains(&key) {
            continue;
        }
        if !known.iter().any(|name| name == key) && options.drives.len() > 1 {
            let mut others = options.drives.iter().filter_map(|name| drives::entry(name).ok());
            if others.any(|other| other.has(key)) {
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
    // By default, disks do not clean in idle time. In open loop they do, unless the user decides,
    // or a probe found that this one does not. Emulators never do, and have no such parameter.
    let decided = options.sets.last("drive", IDLE_CLEANING).is_some();
    if !decided && known.iter().any(|name| name == IDLE_CLEANING) {
        let may = entry.idle_cleaning != Some(false);
        settings.idle_cleaning = Some(may && options.pacing == Pacing::Open);
    }
    if let Some(timing) = options.timing {
        shown.insert("timing".into(), timing_name(timing).into());
    }
    Ok((settings, shown))
}

/// Returns a note on a setting that has no effect without another one.
fn unused(
    name: &str,
    entry: &Known,
    settings: &Settings,
    set: &BTreeMap<String, String>,
) -> Vec<String> {
    let value = |of: &str| {
        let of_sheet = || entry.parameters().into_iter().find(|param| param.name == of);
        set.get(of).cloned().or_else(|| Some(of_sheet()?.value.to_string()))
    };
    let cleans = settings.idle_cleaning.or_else(|| Some(value(IDLE_CLEANING)? == "on"));
    let equal_bands = value("tracks_per_band_min").is_some_and(|least| least == "0");
    let without = [
        (
            "idle_delay_ms",
            cleans == Some(false),
            "idle cleaning, as of --pacing trace or drive.idle_cleaning=on",
        ),
        ("band_seed", equal_bands, "drive.tracks_per_band_min, as all bands have as many tracks"),
    ];
    let unused = without.iter().filter(|(key, unused, _)| *unused && set.contains_key(*key));
    unused
        .map(|(key, _, without)| format!("{name}: drive.{key} changes nothing without {without}"))
        .collect()
}

/// Checks that each drive accepts its settings. Needs no trace: sizes that depend on one are shares
/// of it.
pub(super) fn check_values(options: &Options) -> Result<(), ExperimentError> {
    for name in &options.drives {
        let (settings, _) = settings(name, &drives::entry(name).map_err(usage)?, options)?;
        drives::make(name, &settings).map_err(usage)?;
    }
    check_buffer(options)
}

pub(super) fn drive_choice<R: RequestList>(
    name: &str,
    translation: Option<&Over>,
    ssd: &SsdChoice,
    options: &Options,
    trace: &Trace<R>,
    notes: &mut Vec<String>,
) -> Result<DriveChoice, ExperimentError> {
    let entry = drives::entry(name).map_err(usage)?;
    notes.extend(entry.unknown.iter().map(|unknown| format!("{name}: {unknown}")));
    let (mut settings, mut shown) = settings(name, &entry, options)?;
    notes.extend(unused(name, &entry, &settings, &shown));
    let mut description = drives::make(name, &settings).map_err(usage)?.description().clone();
    let mut translator = None;
    if let Some(over) = translation {
        let own_zones = has_own_zones(&description);
        if !own_zones && description.buffer_blocks > 0 {
            let summary = &trace.summary;
            settings.buffer = buffer(name, options, summary, &description, &mut shown, notes)?;
        }
        let make = || drives::make(name, &settings).map_err(usage);
        let (mut drive, to_measure) = (make()?, make()?);
        let holds_data = drive.zoned().is_none_or(|zones| zones.zone(Zone(0)).data_end > 0);
        let costs = |zone_blocks| costs_in_zones(to_measure, zone_blocks);
        description = over.on_zones(name, drive, costs)?.description().clone();
        let beneath = Beneath { name, description: &description, own_zones, holds_data };
        let made = Translator::new(over, &beneath, ssd, options, trace, notes)?;
        shown.extend(made.buffer().map(|blocks| ("pb".into(), blocks)));
        description = made.description(&description)?;
        translator = Some(made);
    } else if description.buffer_blocks > 0 {
        settings.buffer = buffer(name, options, &trace.summary, &description, &mut shown, notes)?;
        description = drives::make(name, &settings).map_err(usage)?.description().clone();
    } else if options.drives.len() == 1
        && options.sets.last("drive", "pb").is_some_and(|size| !entry.shingled || size != "real")
    {
        return Err(usage(format!("{name} has no buffer of its own: drop drive.pb")));
    }
    Ok(DriveChoice { name: name.into(), settings, description, shown, translator })
}

/// Returns the name of a timing on the command line.
#[must_use]
fn timing_name(timing: Timing) -> &'static str {
    match timing {
        Timing::Mechanics => "mechanics",
        Timing::Cost => "cost",
    }
}

/// Returns a note on policies with zones of their own over a drive that exposes its zones.
pub(super) fn unused_zones(drive: &DriveChoice, policies: &[Chosen]) -> Option<String> {
    drive.description.exposed?;
    let fixed = policies.iter().filter(|c| c.entry.zoning(&c.params) == Zoning::Fixed);
    let (name, names) = (&drive.name, fixed.map(|c| c.entry.name).collect::<Vec<_>>().join(", "));
    (!names.is_empty()).then(|| {
        format!(
            "{name} shows its zones to the host; {names} take zones of a fixed size all the same \
             (--set policy.zone=bands for the drive's own)"
        )
    })
}

pub(super) fn check_capacity<R: RequestList>(
    drive: &DriveChoice,
    trace: &Trace<R>,
) -> Result<(), ExperimentError> {
    let capacity = drive.description.disk_blocks * BLOCK_BYTES;
    if trace.summary.end_bytes <= capacity {
        return Ok(());
    }
    let end = |request: &Request| request.offset + request.bytes;
    let beyond = (1..).zip(all(&trace.requests)).find(|(_, request)| end(request) > capacity);
    // Only the summary of the trace may be known.
    let (which, end) = match beyond {
        Some((number, request)) => (format!("request {number}"), end(&request)),
        None => ("its last request by address".into(), trace.summary.end_bytes),
    };
    // The summary does not count zones that are only trimmed.
    let packed = packed_bytes(all(&trace.requests), ZONE_BYTES);
    let packed = packed.max(trace.summary.accessed_zone_bytes());
    let todo = if packed <= capacity {
        "--remap packs the touched zones together, or choose a larger drive with -d".to_owned()
    } else {
        format!("the zones that it touches take {packed} bytes: choose a larger drive with -d")
    };
    Err(ExperimentError::Data(format!(
        "{}: {which} ends at byte {end}, beyond {} with its {capacity} bytes; {todo}",
        trace.name,
        drive.title(),
    )))
}
