//! `shingle store check`: reads all of a cache and verifies its checksums; of a zoned disk also the
//! map. It exits with 1 also where only one of two copies is damaged, as `shingle zoned check` does.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::Args;
use serde_json::json;
use shingle_core::size::show_blocks;
use shingle_device::Device;
use shingle_store::backend::open_pair_read_only;
use shingle_store::store::check::{CheckError, Findings, check};
use shingle_store::store::trust::Known;

use crate::cli::Global;
use crate::commands::zoned::check::{Seen, look};
use crate::output::print;
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
    /// The disk: checks whether it was written without its cache.
    #[arg(long, value_name = "FILE|DEV")]
    disk: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(args: &Check, global: &Global) -> anyhow::Result<()> {
    let (ssd, disk) = match &args.disk {
        Some(disk) => {
            let (ssd, disk) = open_pair_read_only(&args.cache, disk)?;
            (ssd, Some(disk))
        }
        None => (Device::open_read_only(&args.cache)?, None),
    };
    let progress = Progress::new("checking", 0, global.quiet);
    let findings = check(&ssd, disk.as_deref(), &mut |done, all| progress.set(done, all)).map_err(
        |error| match error {
            // (The error names its device.)
            CheckError::Device(error) => anyhow!(error),
            error => anyhow!(error).context(args.cache.display().to_string()),
        },
    )?;
    drop(progress);
    // (No other process uses it: it is locked.)
    let zoned = disk.as_deref().filter(|disk| disk.device().is_none());
    let zoned = zoned.map(|disk| look(disk.path())).transpose()?;
    if args.json {
        let mut json = json(&findings);
        if let Some(zoned) = &zoned {
            json["zoned"] = zoned.json()?;
        }
        print(&json.to_string())?;
    } else {
        print(&told(&findings, zoned.as_ref()))?;
    }
    let cache = args.cache.display();
    if !findings.is_sound() {
        bail!("{cache}: something is wrong, see above");
    }
    if let (Some(zoned), Some(disk)) = (&zoned, &disk) {
        zoned.end(disk.path())?;
    }
    if findings.mendable_pages > 0 {
        bail!(
            "{cache}: one of two copies is damaged, see above, and nothing is lost; serving it mends that"
        );
    }
    if findings.damaged_clean_blocks > 0 {
        bail!(
            "{cache}: clean blocks are damaged, see above, and nothing is lost, as the disk has them; an SSD that does this is \
             to be replaced"
        );
    }
    Ok(())
}

fn json(findings: &Findings) -> serde_json::Value {
    json!({
        "schema": "shingle.store-check/1",
        "uuid": findings.uuid.to_string(),
        "policy": findings.settings.as_ref().map(|settings| &settings.policy),
        "mode": findings.settings.as_ref().map(|settings| settings.mode.name()),
        "clean_shutdown": findings.clean,
        "clean_blocks": findings.clean_blocks,
        "dirty_blocks": findings.dirty_blocks,
        "replayed_pages": findings.replayed_pages,
        "mendable_pages": findings.mendable_pages,
        "torn_pages": findings.torn_pages,
        "void_records": findings.void_records,
        "damaged_clean_blocks": findings.damaged_clean_blocks,
        "lost_blocks": findings.lost.iter().map(|block| block.0).collect::<Vec<_>>(),
        "other_disk_bytes": findings.other_disk_bytes,
        "disk_changed": findings.disk_changed(),
        "sound": findings.is_sound(),
    })
}

fn told(findings: &Findings, zoned: Option<&Seen>) -> String {
    let mut lines = vec![
        format!("cache {}", findings.uuid),
        match findings.clean {
            true => "shut down in order".to_owned(),
            false => {
                format!("not shut down in order; pages to replay: {}", findings.replayed_pages)
            }
        },
        format!(
            "{} clean, {} dirty",
            show_blocks(findings.clean_blocks),
            show_blocks(findings.dirty_blocks)
        ),
    ];
    if findings.mendable_pages > 0 {
        lines.push(format!(
            "pages of metadata that are damaged and stand elsewhere too, so that serving mends them: {}",
            findings.mendable_pages
        ));
    }
    if findings.void_records > 0 {
        lines.push(format!(
            "blocks that were written shortly before the crash and are as they were before, as their data \
             was not flushed, or is damaged: {}",
            findings.void_records
        ));
    }
    if findings.damaged_clean_blocks > 0 {
        lines.push(format!(
            "clean blocks that are damaged, and will be read from the disk: {}",
            findings.damaged_clean_blocks
        ));
    }
    for block in &findings.lost {
        lines.push(format!(
            "the dirty block at byte {} is damaged: its data is lost",
            block.bytes()
        ));
    }
    if let Some(bytes) = findings.other_disk_bytes {
        lines
            .push(format!("the disk has {bytes} bytes: it is not the one this cache was made for"));
    }
    match &findings.disk {
        Some(Known::Doubtful(doubt)) => lines.push(format!("the disk {doubt}")),
        Some(Known::AsItWas) => lines.push("the disk is as it was left".to_owned()),
        Some(Known::Nothing { compared: 1.. }) => lines
            .push("the disk has the clean blocks that were compared as they are cached".to_owned()),
        Some(Known::Unproven) => {
            lines.push("nothing tells whether this is the disk of the cache".to_owned());
        }
        Some(Known::Nothing { .. }) | None => {}
    }
    lines.extend(
        zoned.iter().flat_map(|zoned| zoned.wrong()).map(|line| format!("the disk: {line}")),
    );
    let sound = findings.is_sound() && zoned.is_none_or(|zoned| zoned.map.is_sound());
    lines.push(if sound { "sound" } else { "NOT SOUND" }.to_owned());
    lines.join("\n")
}
