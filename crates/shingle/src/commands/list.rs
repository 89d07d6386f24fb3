//! `shingle list`: the contents of the registries.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use shingle_core::params::{Kind, Param, Params, nearest};
use shingle_core::policy::Zoning;
use shingle_core::registry::Registry;
use shingle_drive::{DriveEntry, DriveError, Known, PROFILE, SHEET, drives, entry, ssds};
use shingle_sim::experiment::TRANSLATION_PARAMS;
use shingle_trace::format::FORMATS;
use shingle_trace::synth::WORKLOADS;
use shingle_translation::translations::ALL;

use crate::cli::Global;
use crate::output::print;
use crate::{Usage, table};

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list; without it, what can be listed.
    #[arg(value_enum)]
    pub(crate) what: Option<Listed>,
    /// Show one of them, with its parameters. A drive may be `sheet:FILE`; for disks, a prefix of
    /// their numbers.
    pub(crate) name: Option<String>,
    /// Print JSON to stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the sheet of a drive to stdout, as a start for your own (`-d sheet:FILE`).
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,
    /// For `anchors`: a folder with the validation set of `DiskSim`, measured disks whose traces are replayed.
    #[arg(long, value_name = "DIR")]
    pub(crate) disksim: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// What a cache keeps, and which blocks leave it.
    Policies,
    /// Models of disks.
    Drives,
    /// Real disks by their maker's number: shingled or not, of which kind, and the nearest model.
    Disks,
    /// Layers that make host-managed disks writable anywhere.
    Translations,
    /// Models of the SSD that a cache is on.
    Ssds,
    /// Trace formats.
    Formats,
    /// Synthetic traces.
    Workloads,
    /// Drive models against published measurements.
    Anchors,
}

/// An item of a list.
struct Item {
    name: String,
    about: String,
    /// What a policy does with idle time.
    idle: Option<String>,
    /// Name, default and description of each.
    parameters: Vec<[String; 3]>,
}

pub(crate) fn execute(args: &List, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let Some(what) = args.what else {
        if args.json || args.toml {
            let option = if args.json { "--json" } else { "--toml" };
            return Err(Usage(format!("{option}: say what to list: {}", kinds().join(", "))).into());
        }
        return print(&table::pairs(&all_kinds(), global.color));
    };
    if args.disksim.is_some() && what != Listed::Anchors {
        return Err(Usage("--disksim: only anchors are held against measured disks".into()).into());
    }
    if args.toml {
        return print(sheet(what, args.name.as_deref())?.trim_end());
    }
    let items = match what {
        // Drives described by a file are in no list.
        Listed::Drives | Listed::Ssds if args.name.as_deref().is_some_and(is_file) => {
            let name = args.name.as_deref().unwrap_or_default();
            vec![drive(&entry(name).map_err(|error| Usage(error.to_string()))?)]
        }
        Listed::Disks => {
            return super::disks::execute(args.name.as_deref(), args.json, global);
        }
        Listed::Anchors => {
            return super::anchors::execute(args.json, args.disksim.as_deref(), global);
        }
        _ => items(what, registry)?.unwrap_or_default(),
    };
    let Some(name) = &args.name else {
        if args.json {
            let all: Vec<Value> = items.iter().map(as_json).collect();
            return print(&serde_json::to_string_pretty(&all)?);
        }
        let rows: Vec<_> =
            items.iter().map(|item| (item.name.clone(), item.about.clone())).collect();
        return print(&table::pairs(&rows, global.color));
    };
    let Some(item) = items.iter().find(|item| item.name == *name) else {
        if let (Listed::Drives, Err(error @ DriveError::RealDisk { .. })) = (what, entry(name)) {
            return Err(error.into());
        }
        let names = nearest(name, items.iter().map(|item| item.name.as_str())).join(", ");
        return Err(Usage(format!("there is no `{name}`; there are {names}")).into());
    };
    if args.json {
        return print(&serde_json::to_string_pretty(&as_json(item))?);
    }
    let parameters = match item.parameters.as_slice() {
        [] => "no parameters".into(),
        rows => {
            table::rows(["parameter", "default", "what it is, and its source"], rows, global.color)
        }
    };
    let idle = item.idle.as_ref().map_or(String::new(), |idle| format!("in idle time: {idle}\n"));
    print(&format!("{}: {}\n{idle}{parameters}", item.name, item.about))
}

/// Returns all items of the list `what`, as in JSON.
pub(crate) fn all(what: Listed, registry: &Registry) -> anyhow::Result<Vec<Value>> {
    let items = items(what, registry)?;
    Ok(items.iter().flatten().map(as_json).collect())
}

/// Returns the items of a registry; `None` for a list without one.
fn items(what: Listed, registry: &Registry) -> anyhow::Result<Option<Vec<Item>>> {
    Ok(Some(match what {
        Listed::Policies => policies(registry),
        Listed::Drives => built_in(drives())?,
        Listed::Translations => translations(),
        Listed::Ssds => built_in(ssds())?,
        Listed::Formats => formats(),
        Listed::Workloads => workloads(),
        Listed::Disks | Listed::Anchors => return Ok(None),
    }))
}

/// Returns the names of the lists.
fn kinds() -> Vec<String> {
    all_kinds().into_iter().map(|(name, _)| name).collect()
}

/// Returns the lists with their descriptions from `--help`.
fn all_kinds() -> Vec<(String, String)> {
    let values = Listed::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let about = |value: &PossibleValue| value.get_help().map(ToString::to_string);
    values.map(|value| (value.get_name().to_owned(), about(&value).unwrap_or_default())).collect()
}

fn as_json(item: &Item) -> Value {
    let parameters: Vec<Value> = item
        .parameters
        .iter()
        .map(|[name, default, about]| json!({ "name": name, "default": default, "about": about }))
        .collect();
    let mut all = json!({ "name": item.name, "about": item.about, "parameters": parameters });
    if let Some(idle) = &item.idle {
        all["idle"] = json!(idle);
    }
    all
}

/// Returns parameters as their owner declares them.
fn declared(params: &[Param]) -> Vec<[String; 3]> {
    let shown = |p: &Param| {
        let about = match p.kind {
            Kind::Choice(words) => format!("{} ({})", p.about, words.join(" | ")),
            _ => p.about.into(),
        };
        [p.name.into(), p.default.into(), about]
    };
    params.iter().map(shown).collect()
}

fn policies(registry: &Registry) -> Vec<Item> {
    let entries = registry.entries().iter();
    entries
        .map(|entry| Item {
            name: entry.name.into(),
            about: match entry.zoning(&Params::new(entry.params)) {
                Zoning::Bands => format!("{}; knows the bands", entry.about),
                Zoning::Exposed => format!("{}; for drives that expose zones", entry.about),
                _ => entry.about.into(),
            },
            idle: Some(entry.idle.to_string()),
            parameters: declared(entry.params),
        })
        .collect()
}

fn translations() -> Vec<Item> {
    let item = |entry: &shingle_translation::Entry| Item {
        name: entry.name.into(),
        about: entry.about.into(),
        idle: None,
        parameters: declared(entry.params)
            .into_iter()
            .chain(declared(TRANSLATION_PARAMS))
            .collect(),
    };
    ALL.iter().map(item).collect()
}

/// Returns whether a drive of this name is described by a file.
fn is_file(name: &str) -> bool {
    name.starts_with(SHEET) || name.starts_with(PROFILE)
}

/// Returns the sheet of a drive or SSD, as a start for a user's own.
fn sheet(what: Listed, name: Option<&str>) -> Result<String, Usage> {
    let all = match what {
        Listed::Drives => drives(),
        Listed::Ssds => ssds(),
        _ => return Err(Usage("--toml: only drives and ssds have sheets".into())),
    };
    let names = || all.iter().map(|entry| entry.name);
    let found = all.iter().find(|entry| Some(entry.name) == name);
    found.map(DriveEntry::text).ok_or_else(|| {
        let names = nearest(name.unwrap_or_default(), names()).join(", ");
        Usage(format!("--toml: give the name of one sheet; there are {names}"))
    })
}

fn built_in(entries: &[DriveEntry]) -> anyhow::Result<Vec<Item>> {
    entries.iter().map(|built_in| Ok(drive(&entry(built_in.name)?))).collect()
}

fn drive(entry: &Known) -> Item {
    let parameters = entry.parameters().into_iter().map(|p| {
        let about = format!("{}. {}", p.about.trim_end_matches('.'), p.source);
        [p.name, format!("{} {}", p.value, p.unit).trim().into(), about]
    });
    Item {
        name: entry.name.clone(),
        about: entry.about.clone(),
        idle: None,
        parameters: parameters.collect(),
    }
}

fn formats() -> Vec<Item> {
    let item = |format: &shingle_trace::format::Format| Item {
        name: format.name.into(),
        about: format.about.into(),
        idle: None,
        parameters: Vec::new(),
    };
    FORMATS.iter().map(item).collect()
}

fn workloads() -> Vec<Item> {
    let item = |workload: &shingle_trace::synth::Workload| Item {
        name: workload.name.into(),
        about: workload.about.into(),
        idle: None,
        parameters: workload
            .parameters()
            .map(|p| [p.name, p.default, p.about].map(Into::into))
            .collect(),
    };
    WORKLOADS.iter().map(item).collect()
}
