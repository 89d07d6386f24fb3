//! Measurements that survive the process: each is recorded as a line of JSON when it is done.
//!
//! The analysis asks for measurements by name. A recorded one is taken from the record, others are
//! made. So an interrupted probe resumes where it ended (and repeats the unfinished measurement),
//! and a record can be analysed again without a disk (`--fit-only`).

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ProbeError;

/// The format, in the first line of a record.
const FORMAT: &str = "shingle.probe/1";

/// The disk and the options of a record. A record of another subject is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    format: String,
    /// Name of the disk.
    pub name: String,
    /// Serial of the disk.
    pub serial: String,
    /// Size of the disk.
    pub blocks: u64,
    /// Options that change the measurements.
    pub options: String,
}

impl Subject {
    /// The subject of a new record.
    #[must_use]
    pub fn new(name: &str, serial: &str, blocks: u64, options: &str) -> Subject {
        let own = str::to_owned;
        Subject {
            format: own(FORMAT),
            name: own(name),
            serial: own(serial),
            blocks,
            options: own(options),
        }
    }
}

/// A line of the record: the name of a measurement and its result.
#[derive(Serialize)]
struct Line<'a, T> {
    name: &'a str,
    shown: &'a T,
}

#[derive(Deserialize)]
struct Read {
    name: String,
    shown: Box<RawValue>,
}

/// Measurements of a probe, in memory or in a file.
#[derive(Debug, Default)]
pub struct Session {
    path: Option<PathBuf>,
    file: Option<File>,
    recorded: BTreeMap<String, Box<RawValue>>,
}

impl Session {
    /// Makes a session without a file.
    #[must_use]
    pub fn in_memory() -> Session {
        Session::default()
    }

    /// Opens or creates the record at `path`, under an exclusive lock, with the measurements of an
    /// earlier session of the same subject. A last line that a kill cut off is dropped.
    ///
    /// # Errors
    /// If the file cannot be read or written, is in use, is not a record, or is of another subject.
    pub fn resume(path: &Path, subject: &Subject) -> Result<Session, ProbeError> {
        let mut session = Session { path: Some(path.to_owned()), ..Session::default() };
        let system = |error| ProbeError::Record(path.to_owned(), error);
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(path).map_err(system)?;
        // Two probes of one disk would disturb each other. (Not every file system has locks.)
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(ProbeError::RecordInUse(path.to_owned()));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(system)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let first = serde_json::to_string(subject).map_err(|error| system(error.into()))?;
        if whole > 0 && session.parse(path, &text[..whole])? != *subject {
            return Err(ProbeError::OtherSubject(path.to_owned()));
        }
        // Drop the rest only if it is the beginning of this record.
        if whole == 0 && !first.starts_with(&text) {
            let why = "it is no record, and would be overwritten".to_owned();
            return Err(ProbeError::BadRecord(path.to_owned(), 1, why));
        }
        file.set_len(whole as u64).map_err(system)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(system)?;
        if whole == 0 {
            file.write_all(format!("{first}\n").as_bytes()).map_err(system)?;
        }
        session.file = Some(file);
        Ok(session)
    }

    /// Opens a record to be analysed again, and returns its subject too.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a record.
    pub fn open(path: &Path) -> Result<(Session, Subject), ProbeError> {
        let mut session = Session { path: Some(path.to_owned()), ..Session::default() };
        let text = std::fs::read_to_string(path)
            .map_err(|error| ProbeError::Record(path.to_owned(), error))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let subject = session.parse(path, &text[..whole])?;
        Ok((session, subject))
    }

    fn parse(&mut self, path: &Path, text: &str) -> Result<Subject, ProbeError> {
        let bad = |line: usize, why: &dyn std::fmt::Display| {
            ProbeError::BadRecord(path.to_owned(), line, why.to_string())
        };
        let mut lines = text.lines().zip(1..);
        let (first, _) = lines.next().ok_or_else(|| bad(1, &"it is empty"))?;
        let subject: Subject = serde_json::from_str(first).map_err(|error| bad(1, &error))?;
        if subject.format != FORMAT {
            return Err(bad(1, &format!("its format is `{}`, not {FORMAT}", subject.format)));
        }
        for (line, number) in lines {
            let read: Read = serde_json::from_str(line)
                .map_err(|error| ProbeError::DamagedRecord(path.to_owned(), number, error))?;
            self.recorded.insert(read.name, read.shown);
        }
        Ok(subject)
    }

    /// Whether a measurement is on record.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.recorded.contains_key(name)
    }

    /// Returns the measurement `name`: from the record, or by `make`, and records it.
    ///
    /// # Errors
    /// If it cannot be made, parsed or recorded.
    pub fn measure<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        make: impl FnOnce() -> Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        let path = self.path.clone().unwrap_or_default();
        if let Some(shown) = self.recorded.get(name) {
            return serde_json::from_str(shown.get())
                .map_err(|error| ProbeError::BadMeasurement(path, name.to_owned(), error));
        }
        let shown = make()?;
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_vec(&Line { name, shown: &shown })
                .map_err(|error| ProbeError::Record(path.clone(), error.into()))?;
            line.push(b'\n');
            file.write_all(&line).map_err(|error| ProbeError::Record(path, error))?;
        }
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, the path of a record in it, and what is measured.
    fn record() -> (tempfile::TempDir, PathBuf, Subject) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record");
        (folder, path, Subject::new("disk", "S1", 100, ""))
    }

    #[test]
    fn what_was_measured_is_not_measured_again() {
        let (_folder, path, subject) = record();
        let mut session = Session::resume(&path, &subject).expect("new");
        let two = session.measure("two", || Ok((2u64, 0.1f64))).expect("made");
        assert_eq!(two, (2, 0.1));
        assert!(session.measure::<u64>("three", || Err(ProbeError::NotMeasured)).is_err());
        drop(session);
        // A kill in the middle of a line.
        let mut text = std::fs::read(&path).expect("there");
        text.extend(b"{\"name\":\"four\",\"sho");
        std::fs::write(&path, text).expect("written");
        let mut session = Session::resume(&path, &subject).expect("resumed");
        assert!(session.has("two") && !session.has("three") && !session.has("four"));
        let again = session.measure("two", || Err(ProbeError::NotMeasured)).expect("kept");
        assert_eq!((2u64, 0.1f64), again);
        session.measure("four", || Ok(4u64)).expect("made");
        let (mut record, found) = Session::open(&path).expect("whole");
        assert_eq!(found, subject);
        assert_eq!(
            record.measure::<u64>("four", || Err(ProbeError::NotMeasured)).expect("kept"),
            4
        );
    }

    #[test]
    fn a_record_of_something_else_is_refused() {
        let (_folder, path, subject) = record();
        drop(Session::resume(&path, &subject).expect("new"));
        let message =
            |result: Result<Session, ProbeError>| result.expect_err("refused").to_string();
        let other = message(Session::resume(&path, &Subject::new("disk", "S2", 100, "")));
        assert!(other.contains("another"), "{other}");
        std::fs::write(&path, "a,b,c\n1,2,3\n").expect("written");
        let bad = message(Session::resume(&path, &subject));
        assert!(bad.contains("line 1"), "{bad}");
        assert_eq!(std::fs::read(&path).expect("there"), b"a,b,c\n1,2,3\n");
    }

    #[test]
    fn a_damaged_line_is_told_with_how_to_go_on() {
        let (_folder, path, subject) = record();
        let mut session = Session::resume(&path, &subject).expect("new");
        for name in ["one", "two", "three"] {
            session.measure(name, || Ok(1u64)).expect("made");
        }
        drop(session);
        let text = std::fs::read_to_string(&path).expect("there").replace("two\",", "two\";");
        std::fs::write(&path, &text).expect("written");
        let bad = Session::resume(&path, &subject).expect_err("refused").to_string();
        assert!(bad.contains("line 3: it is damaged"), "{bad}");
        let rest: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, rest).expect("written");
        let session = Session::resume(&path, &subject).expect("what is before it");
        assert!(session.has("one") && !session.has("two") && !session.has("three"));
    }

    #[test]
    fn a_record_is_one_probes() {
        let (_folder, path, subject) = record();
        let mut session = Session::resume(&path, &subject).expect("new");
        let message = Session::resume(&path, &subject).expect_err("refused").to_string();
        assert!(message.contains("another probe"), "{message}");
        session.measure("one", || Ok(1u64)).expect("made");
        drop(session);
        assert!(Session::resume(&path, &subject).expect("it has ended").has("one"));
    }

    /// Only a first line that a kill cut off is overwritten.
    #[test]
    fn a_file_of_one_line_that_is_no_record_stays() {
        let (_folder, path, subject) = record();
        std::fs::write(&path, "a note without an end of line").expect("written");
        let bad = Session::resume(&path, &subject).expect_err("refused").to_string();
        assert!(bad.contains("no record"), "{bad}");
        assert_eq!(std::fs::read(&path).expect("there"), b"a note without an end of line");
        let whole = serde_json::to_string(&subject).expect("JSON");
        for bytes in [0, 1, whole.len() / 2, whole.len()] {
            std::fs::write(&path, &whole[..bytes]).expect("written");
            drop(Session::resume(&path, &subject).expect("begun anew"));
            assert_eq!(Session::open(&path).expect("whole").1, subject);
        }
    }
}
