//! `shingle store export --salvage`: writes to the disk what is left of a damaged cache, and lists what is
//! missing.

use anyhow::bail;
use shingle_core::size::show_blocks;
use shingle_engine::recover::LostPage;
use shingle_store::store::salvage::{Salvaged, salvage};

use super::{Export, Places, writing};
use crate::cli::Global;
use crate::output::{note, print};

pub(super) fn execute(args: &Export, global: &Global) -> anyhow::Result<()> {
    let Export { places: Places { cache, disk }, trust_disk, .. } = args;
    let warn = |text: &str| note(text, false);
    let salvaged = salvage(cache, disk, *trust_disk, &warn, &mut writing(global.quiet))?;
    print(&told(&salvaged))?;
    if !salvaged.is_complete() {
        bail!(
            "{}: not all that was dirty is on the disk, see above: check the file systems on it",
            cache.display()
        );
    }
    Ok(())
}

fn told(salvaged: &Salvaged) -> String {
    let Salvaged { written_blocks, lost, lost_pages } = salvaged;
    let mut lines = vec![format!("written to the disk: {}", show_blocks(*written_blocks))];
    for block in lost {
        lines.push(format!(
            "the dirty block at byte {} is damaged: its data is lost",
            block.bytes()
        ));
    }
    for LostPage { place, frames, unknown_frames, .. } in lost_pages {
        lines.push(format!(
            "page {place} of the frame table is lost: of {unknown_frames} of its {frames} frames nothing tells which blocks of \
             the disk were in them, nor whether they were dirty"
        ));
    }
    lines.join("\n")
}
