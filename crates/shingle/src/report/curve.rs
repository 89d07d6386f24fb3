//! Pictures of curves: a figure over cache sizes, with its error.

use clap::Args;
use shingle_core::size::show_blocks;
use shingle_report::chart::{Kind, Picture, Value};

use super::{Folders, save};
use crate::output::Tried;
use shingle_result::{CurvePoint, Curves, CurvesOfDrive, Estimate};

/// The options for pictures of curves.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CurveArgs {
    #[command(flatten)]
    folders: Folders,
}

impl CurveArgs {
    /// Fails now, not after the work, if they cannot be written.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.folders.check()
    }

    /// Draws and writes the requested pictures.
    pub(crate) fn deliver(&self, all: &Curves, tried: &mut Tried) -> anyhow::Result<()> {
        if self.folders.each().next().is_none() {
            return Ok(());
        }
        let several = all.curves.len() > 1;
        for curve in &all.curves {
            for (name, picture) in pictures(curve) {
                let svg = picture.svg()?;
                let name = match several {
                    true => format!("{name}-{}", file_name(&curve.drive)),
                    false => name.to_owned(),
                };
                for (folder, png) in self.folders.each() {
                    tried.add(save(&svg, folder, &name, png));
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of a drive, which may be a path, as part of a file name.
fn file_name(drive: &str) -> String {
    drive.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-")
}

fn pictures(curve: &CurvesOfDrive) -> [(&'static str, Picture); 3] {
    let mut sizes: Vec<u64> = curve.points.iter().map(|point| point.cache_blocks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // (The point without a cache has no size.)
    if sizes.len() > 1 {
        sizes.retain(|&size| size > 0);
    }
    let mut policies: Vec<&str> = Vec::new();
    for point in &curve.points {
        if !policies.contains(&point.policy.as_str()) {
            policies.push(&point.policy);
        }
    }
    let of = |title: &str, figure: fn(&CurvePoint) -> Estimate| {
        let line = |policy: &str| {
            let at = |size: u64| {
                let mut points = curve.points.iter().filter(|point| point.policy == policy);
                points.find(|point| [0, size].contains(&point.cache_blocks)).map(figure)
            };
            let value = |size: &u64| match at(*size) {
                None => Value::one(f64::NAN),
                Some(Estimate { value, error }) => {
                    let least = (value - error).max(0.0);
                    Value { mean: value, least, most: value + error }
                }
            };
            (policy.to_owned(), sizes.iter().map(value).collect())
        };
        let places = sizes.iter().copied().map(show_blocks).collect();
        let series = policies.iter().map(|policy| line(policy)).collect();
        Picture { title: title.to_owned(), kind: Kind::Steps { places, series } }
    };
    [
        ("hits", of("Hits in percent of accesses, by size of the cache", |told| told.hits_percent)),
        ("rmws", of("Bands rewritten, by size of the cache", |told| told.rmws)),
        (
            "io-time",
            of("Seconds of I/O, done and left, by size of the cache", |told| {
                told.done_and_left_seconds
            }),
        ),
    ]
}
