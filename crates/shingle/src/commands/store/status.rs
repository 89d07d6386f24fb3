//! `shingle store status` and `get`: the state and the settings of a cache, served or not.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::{Map, json};
use shingle_core::params::nearest;
use shingle_core::registry::Registry;
use shingle_core::size::{show_blocks, show_bytes};
use shingle_engine::BandCounts;
use shingle_engine::settings::{Setting, Settings};
use shingle_store::measures::{Misplaced, NotServed};
use shingle_store::store::control::{self, Answer, ControlError, Request};
use shingle_store::store::status::{Errors, LastError, Recording, Silent, Status};
use shingle_store::store::unserved;

use super::super::{unexpected, uuid_given, zoned};
use super::{Ask, socket};
use crate::Usage;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct AskStatus {
    #[command(flatten)]
    ask: Ask,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print again every second, until it is interrupted.
    #[arg(long)]
    watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    #[command(flatten)]
    ask: Ask,
    /// Show only this setting, as in mode or sac.zone.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn get(args: &Get, registry: &Registry) -> anyhow::Result<()> {
    let ssd = &args.ask.cache;
    let socket = socket(ssd)?;
    let settings = match control::ask(&socket, &mut |_| {}, &Request::Status) {
        Ok(Answer::Status(status)) => status.to_settings()?,
        Ok(Answer::Failed(why)) => bail!(why),
        Ok(other) => bail!(unexpected(&other)),
        Err(ControlError::NotServed(_)) if uuid_given(ssd).is_none() => {
            let superblock = unserved::superblock(ssd)?;
            Settings::from_text(&superblock.map(|found| found.settings).unwrap_or_default())?
        }
        Err(error) => return Err(error.into()),
    };
    let mut all = settings.all(registry)?;
    if let Some(name) = &args.name {
        let names = nearest(name, all.iter().map(|setting| setting.name.as_str())).join(", ");
        all.retain(|setting| setting.name == *name);
        if all.is_empty() {
            bail!(Usage(format!("there is no `{name}` to get; there are {names}")));
        }
    }
    if args.json {
        let map: Map<_, _> =
            all.into_iter().map(|Setting { name, value, .. }| (name, value.into())).collect();
        return print(
            &json!({ "schema": "shingle.store-settings/1", "settings": map }).to_string(),
        );
    }
    let line = |Setting { name: of, value, .. }| match args.name {
        Some(_) => value,
        None => format!("{of}={value}"),
    };
    print(&all.into_iter().map(line).collect::<Vec<_>>().join("\n"))
}

pub(super) fn execute(args: &AskStatus, registry: &Registry) -> anyhow::Result<()> {
    const STEP: Duration = Duration::from_secs(1);
    loop {
        let status = of(&args.ask.cache)?;
        if args.json {
            print(&serde_json::to_string(&status)?)?;
        } else {
            let missing = if status.served { None } else { control::not_served(&args.ask.cache) };
            print(&table(&status, missing.as_ref(), registry)?)?;
        }
        if !args.watch {
            let disk = Path::new(&status.disk);
            return status.zoned.as_ref().map_or(Ok(()), |zoned| zoned::end(zoned, disk));
        }
        std::thread::sleep(STEP);
    }
}

/// Returns the state from the server of the cache; if it is not served, from the SSD.
pub(super) fn of(ssd: &Path) -> anyhow::Result<Status> {
    let socket = socket(ssd)?;
    match control::ask(&socket, &mut |_| {}, &Request::Status) {
        Ok(Answer::Status(status)) => Ok(*status),
        Ok(Answer::Failed(why)) => bail!(why),
        Ok(other) => bail!(unexpected(&other)),
        Err(ControlError::NotServed(_)) if uuid_given(ssd).is_none() => Ok(unserved::status(ssd)?),
        Err(error) => Err(error.into()),
    }
}

fn table(
    status: &Status,
    missing: Option<&NotServed>,
    registry: &Registry,
) -> anyhow::Result<String> {
    let mut lines = if status.served { served(status) } else { unserved(status) };
    // (`get` reports settings of a version with other parameters, by failing.)
    let set = status.to_settings().and_then(|settings| settings.all(registry)).unwrap_or_default();
    let set = set.into_iter().filter(|setting| setting.name.contains('.') && !setting.is_default);
    let set: Vec<String> =
        set.map(|Setting { name, value, .. }| format!("{name}={value}")).collect();
    if !set.is_empty() {
        let after = lines.iter().position(|(name, _)| *name == "policy").map_or(0, |at| at + 1);
        lines.insert(after, ("parameters", set.join(" ")));
    }
    lines.extend(status.silent.iter().map(silent));
    lines.extend(status.misplaced.iter().map(misplaced));
    lines.extend(missing.map(|one| ("server", format!("export `{}`: {one}", one.export))));
    lines.extend(status.zoned.iter().flat_map(zoned::lines));
    lines.extend(errors(&status.errors, exchange(&status.ssd_state)));
    Ok(lines.iter().map(|(name, value)| format!("{name:20}{value}\n")).collect())
}

type Line = (&'static str, String);

fn content(status: &Status) -> [Line; 3] {
    let used = status.dirty_blocks + status.clean_blocks;
    [
        ("policy", format!("{}, {}", status.policy, status.mode)),
        ("cached", format!("{} of {}", show_blocks(used), show_blocks(status.slots))),
        ("dirty", show_blocks(status.dirty_blocks)),
    ]
}

fn served(status: &Status) -> Vec<Line> {
    let ratio = |hits: u64, misses: u64| match hits + misses {
        0 => "–".to_owned(),
        all => format!("{:.1} %", 100.0 * hits as f64 / all as f64),
    };
    let mut lines = vec![
        ("cache", format!("{} on {} before {}", status.uuid, status.ssd, status.disk)),
        ("served at", status.addresses.join(", ")),
        ("clients", status.connections.to_string()),
    ];
    lines.extend(content(status));
    lines.extend([
        ("read hits", ratio(status.counts.read_hits, status.counts.read_misses)),
        ("write hits", ratio(status.counts.write_hits, status.counts.write_misses)),
        ("destaged", show_blocks(status.destaged_blocks)),
        ("bypassed", show_blocks(status.counts.bypassed_blocks)),
    ]);
    let bands = status.bands;
    if bands != BandCounts::default() {
        let (written, given_up) = (bands.written, bands.given_up);
        let read = show_blocks(bands.read_blocks);
        lines.push((
            "whole bands",
            format!("{written} written, {read} read for them; {given_up} given up"),
        ));
    }
    if let Some(Recording { file, ended }) = &status.recording {
        let ended = ended.iter().map(|why| format!("; it has ended: {why}"));
        lines.push(("recorded into", format!("{file}{}", ended.collect::<String>())));
    }
    if status.trimming_blocks > 0 {
        lines.push((
            "trimmed",
            format!("{} wait until the disk is told", show_blocks(status.trimming_blocks)),
        ));
    }
    lines
}

fn unserved(status: &Status) -> Vec<Line> {
    let end = match status.clean_shutdown {
        Some(true) => "it was shut down in order",
        _ => "it was not shut down in order",
    };
    let disk = match status.fingerprint_known {
        Some(true) => "a fingerprint of it is kept",
        _ => "no fingerprint of it is kept",
    };
    let mut lines = vec![
        ("cache", format!("{} on {}", status.uuid, status.ssd)),
        ("served at", format!("not served; {end}")),
        ("disk", format!("{}; {disk}", show_bytes(status.disk_bytes))),
    ];
    lines.extend(content(status));
    lines
}

/// Describes the progress of an SSD replacement.
fn exchange(state: &str) -> Option<&'static str> {
    Some(match state {
        "leaving" => "is exchanged: what is dirty goes to the disk",
        "untold" => "is exchanged: it takes no more writes, and the disk has everything",
        "out" => "is out: nothing is cached until `shingle store replace` names another one",
        "entering" => "is exchanged: the new one is about to be used",
        _ => return None,
    })
}

fn silent(silent: &Silent) -> Line {
    let Silent { device, seconds, ios } = silent;
    let name = if device == "SSD" { "SSD hangs" } else { "disk hangs" };
    (name, format!("no answer for {seconds} s, I/Os under way: {ios}; see dmesg"))
}

fn misplaced(misplaced: &Misplaced) -> Line {
    let name = match (&*misplaced.device, misplaced.is_deleted()) {
        ("SSD", true) => "SSD deleted",
        ("SSD", false) => "SSD misplaced",
        (_, true) => "disk deleted",
        (_, false) => "disk misplaced",
    };
    (name, misplaced.to_string())
}

fn errors(errors: &Errors, ssd_state: Option<&str>) -> Vec<Line> {
    let counts = &errors.counts;
    let mut lines = Vec::new();
    for (name, count) in [
        ("damaged metadata", counts.damaged_pages),
        ("unflushed writes", counts.void_records),
        ("SSD reads failed", counts.ssd_reads),
        ("wrong checksums", counts.checksums),
        ("SSD writes failed", counts.ssd_writes),
        ("disk reads failed", counts.disk_reads),
        ("disk writes failed", counts.disk_writes),
        ("disk trims failed", counts.disk_trims),
        ("disk flushes failed", counts.disk_flushes),
    ] {
        if count > 0 {
            lines.push((name, count.to_string()));
        }
    }
    if let Some(state) = ssd_state {
        lines.push(("SSD", state.to_owned()));
    } else if counts.ssd_failed {
        lines.push(("SSD", "takes no more writes: nothing new is cached".to_owned()));
    }
    for LastError { device, operation, block, blocks, error, seconds_ago } in &errors.last {
        let name = if device == "SSD" { "last SSD error" } else { "last disk error" };
        let place = match blocks {
            0 => String::new(),
            _ => format!(" of {} at block {block}", show_blocks(*blocks)),
        };
        lines.push((name, format!("{operation}{place}: {error}, {seconds_ago} s ago")));
    }
    for (first, bytes) in &errors.lost_ranges {
        lines.push(("lost", format!("{} at byte {first}", show_bytes(*bytes))));
    }
    lines
}
