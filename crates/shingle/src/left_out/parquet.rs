//! Replaces `parquet.rs` in builds without it.

use std::path::Path;

use clap::Args;

use crate::lines::Column;
use crate::output::Tried;

/// No options.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ParquetArgs {}

impl ParquetArgs {
    pub(crate) fn wanted(&self) -> bool {
        false
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        None
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }

    pub(crate) fn deliver(&self, _: &[Column], _: &mut Tried) {}
}
