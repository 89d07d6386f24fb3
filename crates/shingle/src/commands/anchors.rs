//! `shingle list anchors`: the drive models beside published measurements.

use crate::cli::Arguments;

pub(crate) fn execute(json: bool, _global: &Arguments) -> anyhow::Result<()> {
    let _ = json;
    anyhow::bail!("not yet")
}
