//! The folder of a sweep: `sweep.json` describes the sweep, `cells.jsonl` holds finished cells, and
//! a running process holds `lock`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fs4::FileExt;

use crate::SweepError;
use crate::journal::{Done, Journal};
use crate::manifest::Manifest;

/// A folder that only this process uses.
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) journal: Journal,
    /// Released when the folder is dropped, or the process ends, however it ends.
    _lock: File,
}

impl Folder {
    /// Begins or resumes the sweep `manifest` at `path`, or starts over if `fresh`. Returns the
    /// cells finished before.
    pub(crate) fn open(
        path: &Path,
        manifest: &Manifest,
        fresh: bool,
    ) -> Result<(Folder, Done), SweepError> {
        let wrong = |why| move |error| SweepError::file(path, why, error);
        fs::create_dir_all(path).map_err(wrong("cannot make the folder of the sweep"))?;
        let lock = lock(path)?;
        let (sweep, cells) = (path.join(SWEEP), path.join(CELLS));
        if fresh {
            for old in [&cells, &sweep, &path.join(RESULTS)] {
                match fs::remove_file(old) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(SweepError::file(old, "cannot start over", error));
                    }
                    _ => {}
                }
            }
        }
        if sweep.exists() {
            if let Some(difference) = manifest.difference(&read(path)?) {
                return Err(SweepError::Usage(format!(
                    "{}: it holds another sweep: {difference}; give another --out, or --fresh to \
                     start over",
                    path.display()
                )));
            }
        } else {
            // Cells of an unknown sweep, and results of something else.
            for file in [CELLS, RESULTS, "results.csv"].map(|name| path.join(name)) {
                if !fresh && file.metadata().is_ok_and(|file| file.len() > 0) {
                    return Err(SweepError::Usage(format!(
                        "{} is there, and no {SWEEP}: give another --out, or --fresh to start over",
                        file.display()
                    )));
                }
            }
            let text = serde_json::to_string_pretty(manifest).expect("a manifest is JSON");
            write_whole(&sweep, &(text + "\n")).map_err(wrong("cannot write sweep.json"))?;
        }
        let (journal, done) = Journal::open(&cells)?;
        check(&done, manifest)?;
        sync(path).map_err(wrong("cannot sync the folder"))?;
        Ok((Folder { path: path.to_owned(), journal, _lock: lock }, done))
    }

    /// Writes the results of the whole sweep.
    pub(crate) fn save(&self, text: &str) -> Result<(), SweepError> {
        let path = self.path.join(RESULTS);
        write_whole(&path, text)
            .map_err(|error| SweepError::file(&path, "cannot write the results", error))
    }
}

const SWEEP: &str = "sweep.json";
const CELLS: &str = "cells.jsonl";
const RESULTS: &str = "results.json";

pub(crate) fn read(path: &Path) -> Result<Manifest, SweepError> {
    let file = path.join(SWEEP);
    let text = fs::read_to_string(&file)
        .map_err(|error| SweepError::file(path, "is no folder of a sweep", error))?;
    let wrong =
        |why: String| SweepError::Data(format!("{}: {why}; --fresh starts over", file.display()));
    let manifest: Manifest =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if manifest.sweep.traces.is_empty() {
        return Err(wrong("it names no trace".into()));
    }
    Ok(manifest)
}

/// Fails if a finished cell does not belong to the sweep.
pub(crate) fn check(done: &Done, manifest: &Manifest) -> Result<(), SweepError> {
    let cells = manifest.sweep.cells.len();
    match done.keys().find(|&&number| number >= cells) {
        None => Ok(()),
        Some(number) => Err(SweepError::Data(format!(
            "{CELLS} has cell {number}, and the sweep has {cells}: it is the journal of another one"
        ))),
    }
}

/// Reads the finished cells of the folder at `path`, which no other process may be using.
pub(crate) fn done(path: &Path) -> Result<Done, SweepError> {
    let _lock = lock(path)?;
    Journal::read(&path.join(CELLS))
}

fn lock(path: &Path) -> Result<File, SweepError> {
    let file = path.join("lock");
    let wrong = |error| SweepError::file(&file, "cannot lock the folder", error);
    let lock = File::options().create(true).append(true).open(&file).map_err(wrong)?;
    match FileExt::try_lock(&lock) {
        Ok(()) => Ok(lock),
        Err(fs4::TryLockError::WouldBlock) => Err(SweepError::Data(format!(
            "{}: another process is at work there; wait for it, or give another --out",
            path.display()
        ))),
        Err(fs4::TryLockError::Error(error)) => Err(wrong(error)),
    }
}

/// Writes a temporary file and renames it, so that no reader sees half a file.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("partial");
    fs::write(&beside, text)?;
    File::open(&beside)?.sync_all()?;
    fs::rename(&beside, path)
}

/// Syncs the folder, so that its files survive a power cut.
fn sync(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}
