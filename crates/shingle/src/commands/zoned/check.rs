//! `shingle zoned check`: the map of a disk, read and compared.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde_json::json;
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_translated::{Copy, Inspected, inspect};

use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The disk: a file made by `zoned create`, or a host-managed block device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(args: &Check) -> anyhow::Result<()> {
    let found = unused(&args.disk)?;
    let sound = found.damage.is_none() && found.lost_ranges.is_empty();
    if args.json {
        let mut json = json!({ "schema": "shingle.zoned-check/1", "sound": sound });
        merge(&mut json, serde_json::to_value(&found)?);
        print(&json.to_string())?;
    } else {
        let verdict = if sound { "sound" } else { "NOT SOUND" };
        print(&format!("{}\n{verdict}", told(&found).join("\n")))?;
    }
    if !sound {
        bail!("{}: something is wrong, see above", args.disk.display());
    }
    Ok(())
}

/// What is on a disk that nobody uses.
pub(super) fn unused(disk: &Path) -> anyhow::Result<Inspected> {
    refuse_used(disk)?;
    Ok(inspect(&*shingle_zoned::open_read_only(disk)?)?)
}

/// Refuses a disk that somebody uses whom nobody can ask by the name of the disk.
pub(super) fn refuse_used(disk: &Path) -> anyhow::Result<()> {
    if shingle_zoned::is_in_use(disk)? {
        bail!(
            "{} is in use by another process; if that is a cache before it, `shingle store` asks and stops both; if another \
             user serves it, ask as that user, with the same XDG_RUNTIME_DIR",
            disk.display()
        );
    }
    Ok(())
}

/// Adds the fields of an object to another one.
pub(super) fn merge(to: &mut serde_json::Value, more: serde_json::Value) {
    if let (serde_json::Value::Object(to), serde_json::Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

/// In lines.
pub(super) fn told(found: &Inspected) -> Vec<String> {
    let bytes = |blocks: u64| show_bytes(blocks * BLOCK_BYTES);
    let set = found.params.iter().map(|(name, value)| format!(" {name}={value}"));
    let mut lines = Vec::new();
    // (Where both superblocks are bad nothing is known.)
    if !found.uuid.is_empty() {
        lines.extend([
            format!("disk {}, {}", found.uuid, bytes(found.blocks)),
            format!("{}{}", found.translation, set.collect::<String>()),
            format!(
                "{} zones and {} spare ones, a buffer of {}",
                found.zones,
                found.spare_zones,
                bytes(found.buffer_blocks)
            ),
        ]);
    }
    if found.damage.is_none() || found.given_up_ranges.is_some() {
        lines.push(format!(
            "map: checkpoint {} and {} commits, {} runs of blocks",
            found.generation, found.commits, found.runs
        ));
    }
    if found.torn_commit {
        lines.push("a crash tore the last commit, which nobody was told of".to_owned());
    }
    if found.zones_ahead > 0 {
        lines.push(format!(
            "{} zones have more behind what the map names: a crash, or a write that failed and was undone, left it, \
             and it was never flushed",
            found.zones_ahead
        ));
    }
    if !found.uuid.is_empty() {
        for (number, copy) in (1..).zip(&found.copies) {
            lines.extend(in_copy(number, copy, found.damage.is_none()));
        }
    }
    for (first, count) in &found.lost_ranges {
        lines.push(format!("lost: {} at byte {}", bytes(*count), first * BLOCK_BYTES));
    }
    lines.extend(found.damage.iter().map(|damage| format!("the map is damaged: {damage}")));
    match (&found.damage, &found.given_up_ranges) {
        (Some(_), None) => lines.push(
            "it cannot be repaired: `zoned format --force` makes it a new disk, and gives up all that was on it".to_owned(),
        ),
        (_, Some(ranges)) if ranges.is_empty() => {
            lines.push("`zoned repair --give-up` makes it whole, and gives up nothing".to_owned())
        }
        (_, Some(ranges)) => lines.extend(ranges.iter().map(|(first, count)| {
            format!(
                "`zoned repair --give-up` gives up {} at byte {}",
                bytes(*count),
                first * BLOCK_BYTES
            )
        })),
        (None, None) => {}
    }
    lines
}

/// What is wrong with a copy of a map, which is `whole` if the two are taken together.
fn in_copy(number: u32, copy: &Copy, whole: bool) -> Option<String> {
    let what = match (copy.superblock, copy.bad_pages) {
        (true, 0) => return None,
        (false, 0) => "its superblock is bad".to_owned(),
        (true, pages) => format!("{pages} pages are bad"),
        (false, pages) => format!("its superblock and {pages} pages are bad"),
    };
    let why = copy.what.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let then = if whole { "; what the other has is written anew at the next start" } else { "" };
    Some(format!("copy {number} of the map: {what}{why}{then}"))
}
