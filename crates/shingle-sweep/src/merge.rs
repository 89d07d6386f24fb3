//! Merges the shards of a sweep.

use std::path::{Path, PathBuf};

use shingle_result::{Program, Report};

use crate::SweepError;
use crate::folder::{self, Folder};
use crate::journal::Done;
use crate::manifest::{Manifest, Shard};
use crate::run::save;

/// Merges the shards in `folders` into the folder `out`. The result is the same as without shards,
/// except for the name of the `program` and its command.
///
/// # Errors
/// If they belong to different sweeps, or cells are missing.
pub fn merge(
    folders: &[PathBuf],
    out: &Path,
    fresh: bool,
    program: Program,
) -> Result<Report, SweepError> {
    let (first, others) = folders.split_first().expect("at least one folder");
    let whole = |folder: &Path| -> Result<(Shard, Manifest), SweepError> {
        let mut manifest = folder::read(folder)?;
        Ok((std::mem::take(&mut manifest.shard), manifest))
    };
    let (shard, manifest) = whole(first)?;
    let (mut shards, mut done) = (vec![shard], folder::done(first)?);
    for other in others {
        let (shard, there) = whole(other)?;
        if let Some(difference) = manifest.difference(&there) {
            return Err(SweepError::Usage(format!(
                "{} and {} are not of one sweep: {}",
                first.display(),
                other.display(),
                difference.replace(" there ", " in the second ").replace(" here", " in the first")
            )));
        }
        shards.push(shard);
        done.extend(folder::done(other)?);
    }
    folder::check(&done, &manifest)?;
    if let Some(missing) = missing(&manifest, &shards, &done) {
        return Err(SweepError::Data(missing));
    }
    let (mut folder, before) = Folder::open(out, &manifest, fresh)?;
    for (&number, run) in done.iter().filter(|(number, _)| !before.contains_key(number)) {
        folder.journal.append(&number, run).map_err(SweepError::Journal)?;
    }
    save(program, manifest, done, &folder)
}

/// Describes which cells are missing, if any are.
fn missing(manifest: &Manifest, shards: &[Shard], done: &Done) -> Option<String> {
    const NAMED: usize = 5;
    let places = manifest.sweep.cells.iter().enumerate();
    let missing: Vec<String> = places
        .filter(|(number, _)| !done.contains_key(number))
        .map(|(number, place)| {
            let at = place.at.iter().map(|(name, value)| format!("{name}={value}"));
            format!("{number} ({})", at.collect::<Vec<_>>().join(" "))
        })
        .collect();
    if missing.is_empty() {
        return None;
    }
    let more = if missing.len() > NAMED { ", …" } else { "" };
    let named = missing[..missing.len().min(NAMED)].join(", ");
    let count = shards[0].count;
    let absent = (1..=count).filter(|&index| !shards.contains(&Shard { index, count }));
    let absent: Vec<String> = absent.map(|index| format!("{index}/{count}")).collect();
    let absent = match absent.as_slice() {
        [] => "run their shards again, which does what is left".to_owned(),
        shards => format!("shards not given: {}", shards.join(", ")),
    };
    Some(format!("{} cells are missing: {named}{more}; {absent}", missing.len()))
}
