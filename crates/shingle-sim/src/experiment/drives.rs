//! Drives and SSDs: which, with which settings, and how large a buffer they get.

use std::collections::BTreeMap;

use shingle_core::params::nearest;
use shingle_core::policy::Zoning;
use shingle_core::registry::Entry;
use shingle_core::size;
use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_drive::drive::{Description, Drive};
use shingle_drive::registry::{self as drives, Buffer, Overrides, Settings, Timing};
use shingle_result::Pacing;

use super::policies::{policy_params, settings};
use super::translations::{self, Translator};
use super::{ExperimentError, Options, Trace, percent_of, usage};

/// Buffers are scaled to this many thousandths of the touched zones (PORE §V-A.3: 20 GB of 5 TB)…
const SCALED_BUFFER_THOUSANDTHS: u64 = 4;
/// …for traces that touch less than one such part of the drive.
pub(super) const TOUCHED_PART: u64 = 10;

/// A drive, as it is to be made, with the translation over it.
#[derive(Clone)]
pub(super) struct DriveChoice {
    pub(super) name: String,
    pub(super) settings: Settings,
    /// Of the drive with its translation.
    pub(super) description: Description,
    pub(super) shown: BTreeMap<String, String>,
    pub(super) translator: Option<Translator>,
}

impl DriveChoice {
    /// Its name, and that of the translation.
    pub(super) fn title(&self) -> String {
        match &self.translator {
            None => self.name.clone(),
            Some(translator) => format!("{} over {}", translator.name(), self.name),
        }
    }
}

pub(super) fn make_drive(choice: &DriveChoice) -> Result<Box<dyn Drive>, ExperimentError> {
    let drive = drives::make(&choice.name, &choice.settings).map_err(usage)?;
    match &choice.translator {
        None => Ok(drive),
        Some(translator) => translator.over(drive).map_err(usage),
    }
}

/// Settings of a drive that are not on its sheet.
pub(super) const DRIVE_EXTRAS: [&str; 2] = ["pb", "extents"];

/// The parameter of drives that can clean in idle time.
pub(super) const IDLE_CLEANING: &str = "idle_cleaning";

pub(super) fn drive_choice(
    name: &str,
    translation: translations::Named,
    options: &Options,
    trace: &Trace,
    notes: &mut Vec<String>,
) -> Result<DriveChoice, ExperimentError> {
    let entry = drives::entry(name).map_err(usage)?;
    notes.extend(entry.unknown.iter().map(|unknown| format!("{name}: {unknown}")));
    let mut settings = Settings { timing: options.timing, ..Settings::default() };
    let mut shown = BTreeMap::new();
    let known: Vec<String> = entry.parameters().into_iter().map(|param| param.name).collect();
    for (key, value) in self::settings(options, "drive") {
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
    // By the sheet's own word, disks do not clean in idle time: in open loop they do, unless the
    // user decides, or a probe found that this one does not. Emulators never do, and have no such
    // parameter.
    let decided = last(options, IDLE_CLEANING).is_some();
    if !decided && known.iter().any(|name| name == IDLE_CLEANING) {
        let may = entry.idle_cleaning != Some(false);
        settings.idle_cleaning = Some(may && options.pacing == Pacing::Open);
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
pub(super) fn last<'a>(options: &'a Options, name: &str) -> Option<&'a str> {
    options
        .sets
        .iter()
        .rev()
        .find(|(key, _)| key.strip_prefix("drive.") == Some(name))
        .map(|(_, v)| v.as_str())
}

/// The size of the buffer: as asked for, or scaled with the data.
pub(super) fn buffer(
    name: &str,
    options: &Options,
    trace: &Trace,
    real: &Description,
    shown: &mut BTreeMap<String, String>,
    notes: &mut Vec<String>,
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
            notes.extend(holds_all(name, bytes, trace));
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

/// A word on a scaled buffer that has room for all that is written. The data of a sparse trace is
/// much less than the zones it touches.
pub(super) fn holds_all(name: &str, buffer_bytes: u64, trace: &Trace) -> Option<String> {
    let written = trace.summary.distinct_written_blocks * BLOCK_BYTES;
    (0 < written && written <= buffer_bytes).then(|| {
        format!(
            "{name}: the trace is sparse: that buffer has room for all {} it writes, so that little or \
             nothing need be cleaned; a smaller one (--set drive.pb=SIZE) shows more",
            size::show_bytes(written),
        )
    })
}

/// The value of `drive.pb` in bytes: a share of `whole`, a size, or `None` for `real`.
pub(super) fn pb_bytes(text: &str, whole: u64) -> Result<Option<u64>, ExperimentError> {
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
pub(super) fn shown_pb(bytes: Option<u64>) -> String {
    bytes.map_or("real".into(), |bytes| format!("{}b", bytes / BLOCK_BYTES))
}

pub(super) fn ssd_choice(options: &Options) -> Result<DriveChoice, ExperimentError> {
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
pub(super) fn unused_zones(
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

pub(super) fn check_capacity(drive: &DriveChoice, trace: &Trace) -> Result<(), ExperimentError> {
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
