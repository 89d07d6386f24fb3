//! `shingle zoned repair`: repairs the map of a disk.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use shingle_translated::repair;
use shingle_zoned::{open, open_read_only};

use super::check::{Seen, told};
use super::used::refuse_used;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Where both copies of a page of the map are damaged, give up the blocks that it mapped.
    /// `zoned check` lists them.
    #[arg(long)]
    give_up: bool,
}

pub(super) fn execute(args: &Repair) -> anyhow::Result<()> {
    refuse_used(&args.disk)?;
    let head = open_read_only(&args.disk)?.damaged().to_vec();
    // (Opening repairs the header, whether there is a map or not.)
    let disk = open(&args.disk)?;
    let seen = Seen { map: repair(disk, args.give_up)?, head };
    print(&[told(&seen.map), seen.wrong()].concat().join("\n"))?;
    if seen.map.damage.is_some() && !args.give_up {
        bail!(
            "{}: nothing was changed: what is said above to be given up is gone; to have the rest, say --give-up",
            args.disk.display()
        );
    }
    let verdict = match &seen.map.damage {
        Some(_) => "repaired: what was given up is an error until it is written anew",
        None => "both copies of the map are whole; nothing was given up",
    };
    print(verdict)
}
