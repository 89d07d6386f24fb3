//! Where sums are kept over restarts: a file for each cache, `UUID.json`, in a folder of the
//! machine. They describe the service and not the data, so they are not part of the format of the
//! SSD.
//!
//! Sums are saved before they are reported, so a reported sum never becomes smaller, however the
//! process ends. A crash loses what was counted since the last report, or in the last minute.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Totals;

const SCHEMA: &str = "shingle.counters/1";

#[derive(Serialize, Deserialize)]
struct Saved {
    schema: String,
    totals: Totals,
}

/// The file of a cache.
#[derive(Clone, Debug)]
pub struct Place(PathBuf);

impl Place {
    /// The file of `cache` in `folder`, which is created if needed.
    pub fn new(folder: &Path, cache: Uuid) -> io::Result<Place> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Place(folder.join(format!("{cache}.json"))))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the saved sums; zeros if there are none.
    ///
    /// # Errors
    /// If the file cannot be read, or has no valid content.
    pub fn read(&self) -> io::Result<Totals> {
        let bytes = match fs::read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Totals::default()),
            other => other?,
        };
        let saved: Saved = serde_json::from_slice(&bytes)?;
        match saved.schema == SCHEMA {
            true => Ok(saved.totals),
            false => Err(io::Error::other(format!("its schema is {:?}", saved.schema))),
        }
    }

    /// Saves sums durably.
    pub fn write(&self, totals: &Totals) -> io::Result<()> {
        let saved = Saved { schema: SCHEMA.to_owned(), totals: totals.clone() };
        let partial = self.0.with_extension("json.partial");
        let mut file = File::create(&partial)?;
        file.write_all(&serde_json::to_vec(&saved)?)?;
        file.sync_data()?;
        fs::rename(&partial, &self.0)?;
        // Makes the name of the file durable, too.
        self.0.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_there_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::new(&folder.path().join("deeper"), Uuid::nil()).expect("made");
        assert_eq!(place.read().expect("nothing yet"), Totals::default());
        let totals = Totals { starts: 3, ..Totals::default() };
        place.write(&totals).expect("saved");
        assert_eq!(place.read().expect("read"), totals);
        // Files of a later version, with more fields, and of an earlier one, with fewer.
        for (text, starts) in [
            (r#"{"schema":"shingle.counters/1","totals":{"starts":5,"new":{}}}"#, Some(5)),
            (r#"{"schema":"shingle.counters/1","totals":{}}"#, Some(0)),
            (r#"{"schema":"shingle.counters/2","totals":{}}"#, None),
            ("{", None),
        ] {
            fs::write(place.path(), text).expect("written");
            assert_eq!(place.read().ok().map(|totals| totals.starts), starts, "{text}");
        }
    }
}
