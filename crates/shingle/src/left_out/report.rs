//! Replaces `report.rs` in builds without it.

use std::path::Path;

use clap::Args;
use shingle_result::Report;

use crate::output::Tried;
use shingle_result::Curves;

/// No options.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PictureArgs {}

impl PictureArgs {
    pub(crate) fn wanted(&self) -> bool {
        false
    }

    pub(crate) fn page(&self) -> Option<&Path> {
        None
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }

    pub(crate) fn deliver(&self, _: &Report, _: &mut Tried) -> anyhow::Result<()> {
        Ok(())
    }
}

/// No options.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CurveArgs {}

impl CurveArgs {
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }

    pub(crate) fn deliver(&self, _: &Curves, _: &mut Tried) -> anyhow::Result<()> {
        Ok(())
    }
}
