//! `shingle zoned status`: the state of a formatted disk, served or not.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::json;
use shingle_core::size::show_blocks;
use shingle_core::units::BLOCK_BYTES;
use shingle_store::store::control::{Answer, Request};
use shingle_translated::{Pace, Status};

use super::super::unexpected;
use super::Asked;
use super::check::{NO_SPARE, merge, told, unused};
use super::used::{ask, is_unserved, refuse_used, wait_until_free};
use crate::output::print;

/// An I/O that takes longer is stuck: only a disk that retries again and again takes that long.
const STUCK_SECONDS: u64 = 10;

#[derive(Debug, Args)]
pub(crate) struct AskStatus {
    #[command(flatten)]
    which: Asked,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print again every second, until it is interrupted.
    #[arg(long)]
    watch: bool,
}

pub(super) fn execute(args: &AskStatus) -> anyhow::Result<()> {
    const STEP: Duration = Duration::from_secs(1);
    loop {
        let well = once(args)?;
        if !args.watch {
            return well;
        }
        std::thread::sleep(STEP);
    }
}

/// Prints the state. The inner result is an error if the state says that something is wrong.
fn once(args: &AskStatus) -> anyhow::Result<anyhow::Result<()>> {
    let disk = &args.which.disk;
    let served = match ask(disk, &Request::Status) {
        Ok(Answer::Zoned(status)) => Some(*status),
        Ok(Answer::Failed(why)) => bail!(why),
        Ok(other) => bail!(unexpected(&other)),
        Err(error) if is_unserved(disk, &error) => None,
        Err(error) => return Err(error),
    };
    let mut json =
        json!({ "schema": "shingle.zoned-status/1", "served": served.is_some(), "disk": disk });
    let (text, well) = match &served {
        Some(status) => {
            merge(&mut json, serde_json::to_value(status)?);
            let mut all = vec![("disk", format!("{} on {}", status.uuid, disk.display()))];
            all.extend(lines(status));
            (
                all.iter().map(|(name, value)| format!("{name:20}{value}\n")).collect(),
                end(status, disk),
            )
        }
        None => {
            let seen = unused(disk)?;
            merge(&mut json, seen.json()?);
            let all = ["not served".to_owned()].into_iter().chain(told(&seen.map));
            (all.chain(seen.wrong()).collect::<Vec<_>>().join("\n"), seen.end(disk))
        }
    };
    print(&if args.json { json.to_string() } else { text })?;
    Ok(well)
}

/// Returns an error if something is wrong with a served disk.
pub(crate) fn end(status: &Status, disk: &Path) -> anyhow::Result<()> {
    let is_well = status.failed.is_none()
        && status.writes_refused.is_none()
        && !status.lacks_spares()
        && status.lost_ranges.is_empty()
        && status.doubtful_ranges.is_empty();
    if !is_well {
        bail!("{}: something is wrong, see above", disk.display());
    }
    Ok(())
}

pub(super) fn stop(args: &Asked) -> anyhow::Result<()> {
    match ask(&args.disk, &Request::Stop) {
        Ok(Answer::Failed(why)) => bail!(why),
        Ok(_) => {
            wait_until_free(&args.disk);
            Ok(())
        }
        Err(error) if is_unserved(&args.disk, &error) => {
            refuse_used(&args.disk)?;
            bail!("{}: not served; `shingle zoned serve` serves it", args.disk.display())
        }
        Err(error) => Err(error),
    }
}

/// Formats the state of a zoned disk, in lines of a name and a value.
pub(crate) fn lines(status: &Status) -> Vec<(&'static str, String)> {
    let Status { buffer, map, .. } = status;
    let mut lines = vec![
        ("translation", format!("{}, {}", status.translation, show_blocks(status.blocks))),
        ("zones", zones(status)),
    ];
    if buffer.blocks > 0 {
        let [used, all, live] = [buffer.used, buffer.blocks, buffer.live].map(show_blocks);
        lines.push(("buffer", format!("{used} of {all} in use, {live} live")));
    }
    let more = if status.wants_idle { "; idle time would do more" } else { "" };
    let moved = show_blocks(status.cleaned_blocks);
    lines.push(("cleaning", format!("{} times, {moved} moved{more}", status.cleanings)));
    lines.push(("works", works(status)));
    lines.push(("written", written(status)));
    let gathered = match map.gathered_blocks {
        0 => String::new(),
        blocks => format!(", {} gathered", show_blocks(blocks)),
    };
    let map = format!(
        "{} runs of {} at most{gathered}, {} of {} pages of the log; {} commits",
        map.runs, map.runs_max, map.log_pages, map.log_pages_max, map.commits
    );
    lines.push(("map", map));
    lines.extend(failures(status));
    lines.extend(damage(status));
    lines
}

/// Says how many zones are in which state.
fn zones(status: &Status) -> String {
    let zones = &status.zones;
    let usual = [
        (zones.empty, "empty"),
        (zones.open, "open"),
        (zones.full, "full"),
        (zones.spare, "spare"),
    ];
    let unusual = [
        (zones.leaving, "leaving"),
        (zones.kept, "kept for lost blocks"),
        (zones.to_be_moved, "to be moved"),
        (zones.bad, "bad"),
    ];
    let shown = usual.into_iter().chain(unusual.into_iter().filter(|&(count, _)| count > 0));
    shown.map(|(count, state)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

/// Says what the host has written, and what was written to the disk for it.
fn written(status: &Status) -> String {
    let written = &status.written;
    let on_disk = written.buffer_blocks + written.zone_blocks + written.map_blocks;
    let ratio = match written.host_blocks {
        0 => String::new(),
        host => format!(" ({:.2} bytes a byte)", on_disk as f64 / host as f64),
    };
    let to_buffer = match status.buffer.blocks {
        0 => String::new(),
        _ => format!("buffer {}, ", show_blocks(written.buffer_blocks)),
    };
    let [host, on_disk, to_zones, to_map] =
        [written.host_blocks, on_disk, written.zone_blocks, written.map_blocks].map(show_blocks);
    format!(
        "{host} by the host; on the disk {on_disk}{ratio}: {to_buffer}zones {to_zones}, map {to_map}"
    )
}

/// Says what has failed, or may fail next.
fn failures(status: &Status) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if status.lacks_spares() {
        lines.push(("NO SPARE ZONE", NO_SPARE.to_owned()));
    }
    if let (Some(why), None) = (&status.writes_refused, &status.failed) {
        lines.push(("WRITES REFUSED", why.clone()));
    }
    if let Some(why) = &status.failed {
        lines.push(("failed", format!("{why}; writes are errors as long as that is so")));
    } else if let Some(why) = &status.last_failure {
        let then = match status.refused {
            0 => "all put right".to_owned(),
            refused => format!("after which {refused} writes, trims or flushes were refused"),
        };
        lines.push(("failures", format!("{}, {then}; the last: {why}", status.failures)));
    } else if status.refused > 0 {
        // (There was no room in the map.)
        lines.push(("refused", format!("{} writes, trims or flushes", status.refused)));
    }
    lines
}

/// Says which blocks are lost, or may be.
fn damage(status: &Status) -> impl Iterator<Item = (&'static str, String)> {
    let place = |&(first, count): &(u64, u64)| {
        format!("{} at byte {}", show_blocks(count), first * BLOCK_BYTES)
    };
    let lost = status.lost_ranges.iter().map(move |range| ("lost", place(range)));
    let doubtful = status
        .doubtful_ranges
        .iter()
        .map(move |range| ("may be older", format!("{}: a flush failed", place(range))));
    lost.chain(doubtful)
}

/// Says whether writes and cleaning make progress.
fn works(status: &Status) -> String {
    match status.pace {
        None => "not looked at yet".to_owned(),
        Some(pace) if pace.stuck_seconds > STUCK_SECONDS => {
            format!("STUCK: the disk has had one I/O for {} s", pace.stuck_seconds)
        }
        Some(Pace { ios_10s: 0, .. }) => "at rest".to_owned(),
        Some(pace) => format!("{} I/Os in the last 10 s", pace.ios_10s),
    }
}
