//! Finished runs, one line of JSON each, appended and synced as they finish.
//!
//! A line is `{"cell":NAME,"run":RESULT,"crc":"8 DIGITS"}`, where the CRC-32 covers all bytes
//! before `,"crc"`. A kill while a line is written leaves a torn line at the end, which is dropped.
//! A sweep names its cells by numbers; other users may use other names.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shingle_result::RunResult;

use crate::SweepError;

/// Results by cell name.
pub type Done<K = usize> = BTreeMap<K, RunResult>;

/// Bytes of `,"crc":"12345678"}`.
const TRAILER: usize = 18;

/// A journal, open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

/// The contents of a line, without its checksum.
#[derive(Serialize)]
struct Line<'a, K> {
    cell: &'a K,
    run: &'a RunResult,
}

#[derive(Deserialize)]
struct Kept<K> {
    cell: K,
    run: RunResult,
}

impl Journal {
    /// Opens the journal at `path`, drops a torn line at its end, and returns the finished runs.
    ///
    /// # Errors
    /// If the file cannot be read or truncated, or is no journal.
    pub fn open<K: DeserializeOwned + Ord>(path: &Path) -> Result<(Journal, Done<K>), SweepError> {
        let wrong = |error| SweepError::file(path, "cannot open the journal", error);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut bytes = Vec::new();
        if let Ok(file) = &mut file {
            file.read_to_end(&mut bytes).map_err(wrong)?;
        }
        let mut file = file.map_err(wrong)?;
        let (done, whole) = parse(&bytes, path)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(wrong)?;
            file.seek(SeekFrom::End(0)).map_err(wrong)?;
            file.sync_all().map_err(wrong)?;
        }
        Ok((Journal { file }, done))
    }

    /// Reads the journal at `path`; returns nothing if there is none.
    pub(crate) fn read(path: &Path) -> Result<Done, SweepError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(parse(&bytes, path)?.0),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Done::new()),
            Err(error) => Err(SweepError::file(path, "cannot read the journal", error)),
        }
    }

    /// Appends a finished cell, and syncs it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, cell: &impl Serialize, run: &RunResult) -> std::io::Result<()> {
        self.file.write_all(line(cell, run).as_bytes())?;
        self.file.sync_data()
    }
}

fn line(cell: &impl Serialize, run: &RunResult) -> String {
    let mut line = serde_json::to_string(&Line { cell, run }).expect("a result is JSON");
    line.pop(); // the closing brace
    let crc = crc32fast::hash(line.as_bytes());
    line + &format!(",\"crc\":\"{crc:08x}\"}}\n")
}

/// Returns the cells of complete lines, and how many bytes those take.
fn parse<K: DeserializeOwned + Ord>(
    bytes: &[u8],
    path: &Path,
) -> Result<(Done<K>, usize), SweepError> {
    let (mut done, mut whole) = (Done::new(), 0);
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let Some(checked) = checked(line) else {
            if whole + line.len() == bytes.len() {
                break; // torn by a kill
            }
            return Err(SweepError::Data(format!(
                "{}: line {} is damaged: take it out, and its cell is computed again",
                path.display(),
                number + 1
            )));
        };
        let kept: Kept<K> = serde_json::from_slice(checked).map_err(|error| {
            SweepError::Data(format!(
                "{}: line {} is whole and cannot be read: {error}; it may be of another version of \
                 shingle: --fresh starts over",
                path.display(),
                number + 1
            ))
        })?;
        done.insert(kept.cell, kept.run);
        whole += line.len();
    }
    Ok((done, whole))
}

/// Returns the JSON of a line if its checksum is right.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n")?;
    let (body, trailer) = line.split_at_checked(line.len().checked_sub(TRAILER)?)?;
    let crc = trailer.strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    let crc = u32::from_str_radix(std::str::from_utf8(crc).ok()?, 16).ok()?;
    (crc == crc32fast::hash(body)).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_crc(body: &str) -> String {
        format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()))
    }

    #[test]
    fn a_line_is_what_was_written_or_nothing() {
        // CRC-32 of `{"cell":0`, as zlib computes it.
        let line = "{\"cell\":0,\"crc\":\"d8404ab0\"}\n";
        assert_eq!(with_crc("{\"cell\":0"), line);
        assert!(checked(line.as_bytes()).is_some());
        for at in 0..line.len() {
            assert!(checked(&line.as_bytes()[..at]).is_none(), "torn at {at}");
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] ^= 1;
            assert!(checked(&bytes).is_none(), "another byte at {at}");
        }
        assert!(checked(b"").is_none() && checked(b"\n").is_none());
    }

    #[test]
    fn whole_lines_of_another_version_are_not_dropped() {
        let error = parse::<usize>(with_crc("{\"cell\":0").as_bytes(), Path::new("j")).err();
        let error = error.expect("no result is in it").to_string();
        assert!(error.contains("line 1") && error.contains("another version"), "{error}");
    }
}
