//! Where sums go on over restarts: a file for each cache, `UUID.json`, in a folder of the machine. They are about
//! the service and not about the data, so the format of the SSD knows nothing of them.
//!
//! What is told was saved before. So a sum never becomes smaller, whatever the process dies of: what a crash loses
//! is what was counted since somebody asked last, or since the last minute.

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
    /// In `folder`, which is made.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn new(folder: &Path, cache: Uuid) -> io::Result<Place> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Place(folder.join(format!("{cache}.json"))))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What was saved last; zeros if nothing was.
    ///
    /// # Errors
    /// If it cannot be read, or is nothing that was saved.
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

    /// Saves sums; when this is done they are safe.
    ///
    /// # Errors
    /// If they are not.
    pub fn write(&self, totals: &Totals) -> io::Result<()> {
        let saved = Saved { schema: SCHEMA.to_owned(), totals: totals.clone() };
        let partial = self.0.with_extension("json.partial");
        let mut file = File::create(&partial)?;
        file.write_all(&serde_json::to_vec(&saved)?)?;
        file.sync_data()?;
        fs::rename(&partial, &self.0)?;
        // The name, too.
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
        // Of a later version, with more in it; and of an earlier one, with less.
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
