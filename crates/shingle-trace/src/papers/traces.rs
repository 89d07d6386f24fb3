//! A folder with Microsoft's traces as SNIA distributes them: `prn_0.csv.gz`, or decompressed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use shingle_core::units::{Op, Request};

use super::blocks::{Volume, packed};
use crate::error::{Kind, Place, TraceError};
use crate::source::{BATCH_REQUESTS, Source};
use crate::volumes::VOLUMES;
use crate::{OpenOptions, open};

/// Trace files by the volume's name; each is read when it is first requested, and then kept.
#[derive(Debug)]
pub(super) struct Traces {
    folder: String,
    files: BTreeMap<&'static str, File>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    read: OnceLock<Result<Volume, TraceError>>,
}

impl Traces {
    /// Lists the volumes in the folder.
    pub(super) fn find(folder: &Path) -> Result<Traces, TraceError> {
        let name = folder.display().to_string();
        let failed = |error: std::io::Error| {
            let message =
                format!("cannot be listed: {error}; --traces takes the folder with the MSR traces");
            TraceError::new(Kind::Io, &name, Place::Whole, message)
        };
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Some(file) = path.file_name().and_then(|file| file.to_str()) else { continue };
            let Some(volume) = volume_of(file) else { continue };
            // Of two files the shorter name is taken: decompressed files are faster to read.
            let length = |path: &Path| path.as_os_str().len();
            let known = files.get(volume).map(|file: &File| length(&file.path));
            if known.is_none_or(|known| length(&path) < known) {
                files.insert(volume, File { path, read: OnceLock::new() });
            }
        }
        Ok(Traces { folder: name, files })
    }

    /// Returns an error that names the missing `volumes`, if any.
    pub(super) fn require(&self, volumes: &[&str]) -> Result<(), TraceError> {
        let missing: Vec<String> = volumes
            .iter()
            .filter(|volume| !self.files.contains_key(*volume))
            .map(|volume| format!("{volume}.csv[.gz]"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "lacks {}; put the MSR Cambridge traces there under the names that SNIA gives them",
            missing.join(", ")
        );
        Err(TraceError::new(Kind::Io, &self.folder, Place::Whole, message))
    }

    pub(super) fn volume(&self, name: &str) -> Result<Volume, TraceError> {
        self.require(&[name])?;
        let file = &self.files[name];
        file.read.get_or_init(|| recorded(&file.path)).clone()
    }

    pub(super) fn requests(&self, name: &str) -> Result<Box<dyn Source>, TraceError> {
        self.require(&[name])?;
        source(&self.files[name].path).map(|(_, source)| source)
    }
}

/// Returns the volume that a file's name refers to.
fn volume_of(file: &str) -> Option<&'static str> {
    let lower = file.to_ascii_lowercase();
    let packings = ["", ".gz", ".bz2", ".xz", ".zst"];
    let fits = |name: &str| packings.iter().any(|packing| lower == format!("{name}.csv{packing}"));
    VOLUMES.iter().map(|volume| volume.name).find(|name| fits(name))
}

/// Returns the name of a file and its requests.
fn source(path: &Path) -> Result<(&str, Box<dyn Source>), TraceError> {
    let options = OpenOptions { format: Some("msr".to_owned()), ..OpenOptions::default() };
    let text = path.to_str().ok_or_else(|| {
        let message = "has a name that is no UTF-8; rename the folder";
        TraceError::new(Kind::Usage, &path.display().to_string(), Place::Whole, message)
    })?;
    Ok((text, open(text, &options)?.source))
}

fn recorded(path: &Path) -> Result<Volume, TraceError> {
    let (text, mut source) = source(path)?;
    let mut accesses = Vec::new();
    let mut batch = Vec::with_capacity(BATCH_REQUESTS);
    while source.fill(&mut batch)? {
        for request in &batch {
            split(*request, &mut accesses);
        }
    }
    if accesses.is_empty() {
        return Err(TraceError::new(Kind::Empty, text, Place::Whole, "holds no read and no write"));
    }
    Ok(Volume::recorded(accesses))
}

/// Splits a request into the accesses of its blocks.
fn split(request: Request, out: &mut Vec<u64>) {
    if matches!(request.op, Op::Read | Op::Write) {
        let first = request.first().0;
        out.extend((first..first + request.blocks()).map(|b| packed(b, request.op == Op::Write)));
    }
}
