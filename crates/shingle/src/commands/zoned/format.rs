//! `shingle zoned format`: writes a map to a zoned disk, which makes it writable anywhere.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use shingle_core::size::show_blocks;
use shingle_core::units::{BLOCK_BYTES, Block, Zone};
use shingle_device::{SIGNATURE_PAGES, signature_in};
use shingle_engine::buffer::{Buffer, zeroed};
use shingle_translated::{self as translated, FormatError, OpenError};
use shingle_translation::translations;
use shingle_zoned::{Condition, ZonedDisk};
use uuid::Uuid;

use super::check::a_buffer;
use crate::Usage;
use crate::cli::{self, Global};
use crate::output::{note, print};

#[derive(Debug, Args)]
pub(crate) struct Format {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// The translation, which decides where blocks are written and cleans zones: one of `shingle list translations`.
    #[arg(short, long, value_name = "NAME")]
    translation: String,
    /// Set one of its parameters, as in amphisbaena.idle_free=0.2, or idle_free=0.2.
    #[arg(long, value_name = "NAME=VALUE", value_parser = cli::assignment)]
    set: Vec<(String, String)>,
    /// Size of its buffer, in the conventional zones; `log` has none. [default: all that the map
    /// leaves]
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes)]
    buffer: Option<u64>,
    /// Sequential zones reserved as spares: zones are rewritten into them, and they replace zones
    /// that fail. [default: 2, and 1 of 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    spare_zones: Option<u32>,
    /// Destroy what is on the disk: a map, a file system or the like.
    #[arg(long)]
    force: bool,
    /// Destroy a disk that belongs to the cache with this UUID, with all its data, also what only
    /// the SSD of the cache holds.
    #[arg(long, value_name = "UUID")]
    destroy: Option<Uuid>,
}

pub(super) fn execute(args: &Format, global: &Global) -> anyhow::Result<()> {
    let own = format!("{}.", args.translation);
    let set = |(name, value): &(String, String)| {
        (name.strip_prefix(&own).unwrap_or(name).to_owned(), value.clone())
    };
    let has_buffer = translations::get(&args.translation).map_err(Usage)?.has_buffer;
    if args.buffer.is_some() && !has_buffer {
        bail!(Usage(format!("--buffer: {} has no buffer; leave the option out", args.translation)));
    }
    let format = translated::Format {
        translation: args.translation.clone(),
        params: args.set.iter().map(set).collect(),
        buffer_blocks: args.buffer_blocks()?,
        spare_zones: args.spare_zones,
        uuid: None,
        force: args.force,
        destroy: args.destroy.map(Uuid::into_bytes),
    };
    let consent = args.force || args.destroy.is_some();
    let disk = shingle_zoned::open(&args.disk)?;
    if !consent && let Some(found) = occupied(&*disk) {
        bail!("{}: there is {found}; to destroy it, say --force", disk.name());
    }
    let written = written_zones(&*disk)?;
    if !consent && written > 0 && has_no_map(&*disk) {
        bail!(
            "{}: {written} of its sequential zones hold data, of which no map is known; if it was formatted, both superblocks are \
             lost; to give up all that is on it, say --force",
            disk.name()
        );
    }
    let made = translated::format(&*disk, &format).map_err(|error| match error {
        FormatError::Translation(why) => anyhow::anyhow!(Usage(why)),
        FormatError::HasMap { disk, uuid } => anyhow::anyhow!(
            "{disk}: it is formatted already (UUID {uuid}); to give up all that is on it, say --force"
        ),
        other => other.into(),
    })?;
    print(&Uuid::from_bytes(made.uuid).to_string())?;
    let text = format!(
        "a disk of {} under {}: {} zones and {} spare ones{}, a map of {}",
        show_blocks(made.blocks),
        args.translation,
        made.zones,
        made.spare_zones,
        a_buffer(if has_buffer { made.buffer_blocks } else { 0 }),
        show_blocks(made.map_blocks),
    );
    note(&text, global.quiet);
    if made.left_out_zones > 0 {
        let text = format!(
            "{} of its {} conventional zones are not used, as some of them have failed",
            made.left_out_zones,
            disk.geometry().conventional_zones
        );
        note(&text, global.quiet);
    }
    Ok(())
}

impl Format {
    fn buffer_blocks(&self) -> Result<Option<u64>, Usage> {
        match self.buffer {
            Some(bytes) if bytes == 0 || bytes % BLOCK_BYTES != 0 => Err(Usage(format!(
                "--buffer {bytes}: it is a multiple of 4096 bytes, and not 0; without the option it is as large as can be"
            ))),
            bytes => Ok(bytes.map(|bytes| bytes / BLOCK_BYTES)),
        }
    }
}

/// Returns the number of sequential zones that hold any data.
fn written_zones(disk: &dyn ZonedDisk) -> anyhow::Result<usize> {
    let reports = disk.report(Zone(0), disk.geometry().zones)?;
    let empty =
        [Condition::Conventional, Condition::Empty, Condition::ReadOnly, Condition::Offline];
    Ok(reports.iter().filter(|report| !empty.contains(&report.condition)).count())
}

/// Returns whether the disk has no map, not even a damaged one.
fn has_no_map(disk: &dyn ZonedDisk) -> bool {
    matches!(translated::inspect(disk), Err(OpenError::NotFormatted { .. }))
}

/// Returns the kind of other data on the disk, if its signature is known.
fn occupied(disk: &dyn ZonedDisk) -> Option<&'static str> {
    let pages = (disk.geometry().blocks() as usize).min(SIGNATURE_PAGES);
    let mut buffers: Vec<Buffer> = (0..pages).map(|_| zeroed()).collect();
    // (Blocks that cannot be read, or were never written, hold no signature.)
    disk.read(Block(0), &mut buffers).ok()?;
    let pages: Vec<_> = buffers.iter().map(|buffer| buffer.0).collect();
    signature_in(pages.as_flattened())
}
