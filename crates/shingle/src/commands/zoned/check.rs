//! `shingle zoned check`: reads the map of a disk and compares its copies. It exits with 1 also
//! where only one of two copies is damaged: a nightly check shall notice a medium that begins to
//! fail.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde_json::json;
use shingle_core::size::show_blocks;
use shingle_core::units::BLOCK_BYTES;
use shingle_translated::{Copy, Inspected, inspect};
use uuid::Uuid;

use super::used::refuse_used;
use crate::output::print;

const WRITTEN_ANEW: &str =
    "what the other copy has is written anew by the next start, or by `zoned repair`";
/// What it means that no spare zone is left.
pub(super) const NO_SPARE: &str = "writes that need another zone are refused; copy the data to another disk, or format this one anew, \
     which leaves out zones that have failed";

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(args: &Check) -> anyhow::Result<()> {
    let seen = unused(&args.disk)?;
    if args.json {
        let mut json = json!({ "schema": "shingle.zoned-check/1" });
        merge(&mut json, seen.json()?);
        print(&json.to_string())?;
    } else {
        let lines = told(&seen.map).into_iter().chain(seen.wrong());
        let verdict = match (seen.map.is_sound(), seen.is_whole()) {
            (true, true) => "sound",
            (true, false) => "nothing is lost, and `zoned repair` makes it whole",
            (false, _) => "NOT SOUND",
        };
        print(&lines.chain([verdict.to_owned()]).collect::<Vec<_>>().join("\n"))?;
    }
    seen.end(&args.disk)
}

/// The metadata found on a disk.
pub(crate) struct Seen {
    pub(crate) map: Inspected,
    /// The parts of the header of a zoned file of which one copy is damaged.
    pub(super) head: Vec<String>,
}

/// Inspects a disk that is not in use.
pub(super) fn unused(disk: &Path) -> anyhow::Result<Seen> {
    refuse_used(disk)?;
    look(disk)
}

/// Inspects a disk, if no process changes it meanwhile.
pub(crate) fn look(disk: &Path) -> anyhow::Result<Seen> {
    let disk = shingle_zoned::open_read_only(disk)?;
    Ok(Seen { map: inspect(&disk)?, head: disk.damaged().to_vec() })
}

impl Seen {
    /// Returns whether there is no damage, not even in one of two copies.
    fn is_whole(&self) -> bool {
        self.map.is_whole() && self.head.is_empty()
    }

    /// Returns an error if something is wrong; the details were printed.
    pub(crate) fn end(&self, disk: &Path) -> anyhow::Result<()> {
        let disk = disk.display();
        if !self.map.is_sound() {
            bail!("{disk}: something is wrong, see above");
        }
        if !self.is_whole() {
            bail!(
                "{disk}: one of two copies is damaged, see above, and nothing is lost; `shingle zoned repair {disk}` makes it whole"
            );
        }
        Ok(())
    }

    pub(crate) fn json(&self) -> anyhow::Result<serde_json::Value> {
        let (sound, whole) = (self.map.is_sound(), self.is_whole());
        let mut json = json!({ "sound": sound, "whole": whole, "damaged_head": self.head });
        merge(&mut json, serde_json::to_value(&self.map)?);
        Ok(json)
    }

    /// Returns what is wrong, and what to do, in lines.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let found = &self.map;
        let mut lines: Vec<String> = in_head(&self.head).collect();
        if found.spares_left == Some(0) {
            lines.push(format!(
                "no spare zone is left, as {} zones have failed: {NO_SPARE}",
                found.failed_zones
            ));
        }
        let can_be_written = found.failed_conventional_zones.is_empty();
        if !can_be_written {
            let zones = found.failed_conventional_zones.iter().map(u32::to_string);
            lines.push(format!(
                "conventional zones that can no longer be written, whose place no others take: {}; writes that need them are \
                 refused, so copy the data to another disk; format this one anew to use the others",
                zones.collect::<Vec<_>>().join(", ")
            ));
        }
        if !found.uuid.is_empty() {
            let is_written_anew = found.damage.is_none() && can_be_written;
            for (number, copy) in (1..).zip(&found.copies) {
                lines.extend(in_copy(number, copy, is_written_anew));
            }
        }
        for (first, count) in &found.lost_ranges {
            lines.push(format!(
                "lost: {} at byte {}, an error until it is written anew or trimmed",
                show_blocks(*count),
                first * BLOCK_BYTES
            ));
        }
        lines.extend(found.damage.iter().map(|damage| format!("the map is damaged: {damage}")));
        match (&found.damage, &found.given_up_ranges) {
            (Some(_), None) if !can_be_written => {
                lines.push("it cannot be repaired, and not be formatted anew".to_owned());
            }
            (Some(_), None) => {
                let map = Uuid::try_parse(&found.uuid).ok().map(Uuid::into_bytes);
                let cache = found.mark.and_then(|mark| mark.cache(map));
                let consent =
                    cache.map_or("--force".to_owned(), |cache| format!("--destroy {cache}"));
                lines.push(format!(
                    "it cannot be repaired: `zoned format {consent}` makes it a new disk, and gives up all that was on it"
                ));
            }
            (_, Some(ranges)) if ranges.is_empty() => lines
                .push("`zoned repair --give-up` makes it whole, and gives up nothing".to_owned()),
            (_, Some(ranges)) => lines.extend(ranges.iter().map(|(first, count)| {
                format!(
                    "`zoned repair --give-up` gives up {} at byte {}",
                    show_blocks(*count),
                    first * BLOCK_BYTES
                )
            })),
            (None, None) => {}
        }
        lines
    }
}

/// Returns what is damaged in one copy of the header of a zoned file, and what to do.
pub(super) fn in_head(damaged: &[String]) -> impl Iterator<Item = String> {
    damaged.iter().map(|what| format!("{what}; {WRITTEN_ANEW}"))
}

/// Adds the fields of an object to another one.
pub(super) fn merge(to: &mut serde_json::Value, more: serde_json::Value) {
    if let (serde_json::Value::Object(to), serde_json::Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

/// Formats a buffer of `blocks` for the end of a list; empty if there is none.
pub(super) fn a_buffer(blocks: u64) -> String {
    match blocks {
        0 => String::new(),
        _ => format!(", a buffer of {}", show_blocks(blocks)),
    }
}

/// Formats what a map says, in lines.
pub(super) fn told(found: &Inspected) -> Vec<String> {
    let set = found.params.iter().map(|(name, value)| format!(" {name}={value}"));
    let mut lines = Vec::new();
    // (Where both superblocks are bad, nothing is known.)
    if !found.uuid.is_empty() {
        lines.extend([
            format!("disk {}, {}", found.uuid, show_blocks(found.blocks)),
            format!("{}{}", found.translation, set.collect::<String>()),
            format!(
                "{} zones and {} spare ones{}",
                found.zones,
                found.spare_zones,
                a_buffer(found.buffer_blocks)
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
        lines.push(
            "a crash cut off the last commit of the map; no client had an answer that relied on it"
                .to_owned(),
        );
    }
    if found.zones_ahead > 0 {
        lines.push(format!(
            "zones that have more behind what the map names: {}; a crash, or a write that failed and was undone, left it, \
             and it was never flushed",
            found.zones_ahead
        ));
    }
    if let Some(spares) = found.spares_left.filter(|spares| *spares > 0 && found.failed_zones > 0) {
        lines.push(format!(
            "sequential zones that have failed: {}; spare ones that are left: {spares}",
            found.failed_zones
        ));
    }
    lines
}

/// Returns what is wrong with a copy of a map.
fn in_copy(number: u32, copy: &Copy, is_written_anew: bool) -> Option<String> {
    let what = match (copy.superblock, copy.bad_pages) {
        (true, 0) => return None,
        (false, 0) => "its superblock is bad".to_owned(),
        (true, pages) if !copy.damaged => {
            format!("{pages} pages of the last commit are missing, as a crash leaves them")
        }
        (true, pages) => format!("{pages} pages are bad"),
        (false, pages) => format!("its superblock and {pages} pages are bad"),
    };
    let why = copy.what.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let then = if is_written_anew { format!("; {WRITTEN_ANEW}") } else { String::new() };
    Some(format!("copy {number} of the map: {what}{why}{then}"))
}
