//! The page of results, and its pictures: one file that works offline, for one run or hundreds.

mod curve;
mod names;
mod page;
mod pictures;
mod said;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use shingle_core::units::BLOCK_BYTES;
use shingle_report::chart::DrawError;
use shingle_report::page::Making;
use shingle_result::Report;

use crate::Usage;
use crate::output::{self, Tried};
pub(crate) use curve::CurveArgs;
pub(crate) use pictures::pictures;

/// The options for pages and pictures.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PictureArgs {
    /// Write a page with tables and charts: one file that works offline.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    folders: Folders,
}

/// The folders for pictures.
#[derive(Clone, Debug, Default, Args)]
struct Folders {
    /// Write each chart as SVG into a folder.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write each chart as PNG into a folder.
    #[cfg(feature = "png")]
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
}

impl Folders {
    /// Iterates over the folders, with whether pictures there are PNG.
    fn each(&self) -> impl Iterator<Item = (&Path, bool)> {
        let folders = [
            (self.svg.as_deref(), false),
            #[cfg(feature = "png")]
            (self.png.as_deref(), true),
        ];
        folders.into_iter().filter_map(|(path, painted)| Some((path?, painted)))
    }

    /// Fails now, not after the work, if they cannot be written.
    fn check(&self) -> anyhow::Result<()> {
        self.each().try_for_each(|(path, _)| folder(path))
    }
}

impl PictureArgs {
    /// Returns whether any are drawn, which needs the time series of each run.
    pub(crate) fn wanted(&self) -> bool {
        self.html.is_some() || self.folders.each().next().is_some()
    }

    /// Returns the file of the page.
    pub(crate) fn page(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Fails now, not after the work, if they cannot be written.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.html.as_deref() == Some(Path::new("-")) {
            return Err(Usage("--html takes a file, not `-`".into()).into());
        }
        self.html.as_deref().map_or(Ok(()), output::check_writable)?;
        self.folders.check()
    }

    /// Draws and writes the requested pictures.
    pub(crate) fn deliver(&self, report: &Report, tried: &mut Tried) -> anyhow::Result<()> {
        if !self.wanted() {
            return Ok(());
        }
        let pictures = drawn(report)?;
        if let Some(path) = &self.html {
            let page = page::page(report, &pictures);
            tried.add(page.and_then(|page| output::text(&page, path)));
        }
        for (folder, png) in self.folders.each() {
            for picture in &pictures {
                tried.add(save(&picture.svg, folder, picture.file, png));
            }
        }
        Ok(())
    }
}

/// Returns the page of `report`.
pub(crate) fn page(report: &Report) -> anyhow::Result<String> {
    page::page(report, &drawn(report)?)
}

fn drawn(report: &Report) -> Result<Vec<Drawn>, DrawError> {
    let pictures = pictures(report).into_iter();
    pictures.map(|(file, picture)| Ok(Drawn { file, svg: picture.svg()? })).collect()
}

/// A drawn picture.
struct Drawn {
    /// The name of its file, without extension.
    file: &'static str,
    /// The SVG.
    svg: String,
}

/// Creates a folder for pictures.
pub(crate) fn folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder for pictures", folder.display()))
}

/// Writes a picture as `FOLDER/NAME.svg`, or as PNG.
pub(crate) fn save(svg: &str, folder: &Path, name: &str, png: bool) -> anyhow::Result<()> {
    match png {
        #[cfg(feature = "png")]
        true => {
            let png = shingle_report::png::png(svg)?;
            output::bytes(&png, &folder.join(format!("{name}.png")))
        }
        _ => output::text(&shingle_report::chart::alone(svg), &folder.join(format!("{name}.svg"))),
    }
}

/// Converts blocks to MiB, the unit of charts.
pub(crate) fn mib(blocks: u64) -> f64 {
    (blocks * BLOCK_BYTES) as f64 / f64::from(1 << 20)
}

/// Returns what a page says of how it was made.
pub(crate) fn making() -> Making {
    Making { command: output::command(), version: env!("CARGO_PKG_VERSION").into() }
}
