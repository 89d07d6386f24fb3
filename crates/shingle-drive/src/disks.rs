//! Real disks by their maker's number: what is published of how they record (`data/disks.toml`),
//! and the nearest model. A disk number given as a drive name is answered with this.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// How a disk records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Recording {
    /// Conventional: tracks do not overlap.
    #[serde(rename = "CMR")]
    Conventional,
    /// Shingled behind a buffer that the drive cleans by itself.
    #[serde(rename = "DM")]
    DriveManaged,
    /// Shingled with zones that the host sees; takes writes anywhere.
    #[serde(rename = "HA")]
    HostAware,
    /// Shingled with zones that the host has to write in order.
    #[serde(rename = "HM")]
    HostManaged,
    /// Shingled; its source does not say whether drive or host manages it.
    #[serde(rename = "SMR")]
    Shingled,
}

impl Recording {
    /// Returns whether tracks overlap.
    #[must_use]
    pub fn shingled(self) -> bool {
        self != Recording::Conventional
    }

    /// Returns the abbreviation that makers use: CMR, DM, HA, HM, or SMR if it is not known which
    /// of these three.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            Recording::Conventional => "CMR",
            Recording::DriveManaged => "DM",
            Recording::HostAware => "HA",
            Recording::HostManaged => "HM",
            Recording::Shingled => "SMR",
        }
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Recording::Conventional => "conventional",
            Recording::DriveManaged => "drive-managed SMR",
            Recording::HostAware => "host-aware SMR",
            Recording::HostManaged => "host-managed SMR",
            Recording::Shingled => "SMR of a kind not published",
        })
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// The maker's number, or what all variants of it begin with.
    pub number: String,
    /// Who makes it.
    pub maker: String,
    /// The line it is sold in.
    pub line: String,
    /// Size as sold, in terabytes (10¹² bytes).
    pub terabytes: f64,
    /// How it records.
    pub recording: Recording,
    /// The drive here whose mechanics and buffer are nearest; not a model of this disk unless its sheet says so.
    pub nearest: String,
    /// Who published a measurement of such a disk, if known.
    pub probed: Option<String>,
    /// Source of how it records.
    pub source: String,
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disk { maker, line, terabytes, recording, .. } = self;
        let space = if line.is_empty() { "" } else { " " };
        write!(f, "{maker}{space}{line}, {terabytes} TB, {recording}")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sources: BTreeMap<String, String>,
    disks: Rows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: Vec<Row>,
}

/// Number, maker, line, TB, kind, nearest model, probed by, key of the source.
type Row = (String, String, String, f64, Recording, String, String, String);

/// Returns the table, by maker and kind as in its file.
///
/// # Panics
/// If the built-in table is malformed, which a test rules out.
#[must_use]
pub fn disks() -> &'static [Disk] {
    static DISKS: OnceLock<Vec<Disk>> = OnceLock::new();
    DISKS.get_or_init(|| {
        let file: File = toml::from_str(include_str!("../data/disks.toml")).expect("the table");
        let disk = |row: Row| {
            let (number, maker, line, terabytes, recording, nearest, probed, source) = row;
            let source = file.sources.get(&source).expect("a source of the table").clone();
            let probed = Some(probed).filter(|who| !who.is_empty());
            Disk { number, maker, line, terabytes, recording, nearest, probed, source }
        };
        file.disks.rows.into_iter().map(disk).collect()
    })
}

/// Normalises a number for comparison: `WDC WD60EFAX-68SHWN0` is `WD60EFAX`.
fn plain(asked: &str) -> String {
    let last = asked.split_whitespace().last().unwrap_or_default();
    last.split('-').next().unwrap_or_default().to_uppercase()
}

/// Returns the disks whose number begins with `prefix`, or is a prefix of it.
#[must_use]
pub fn with_prefix(prefix: &str) -> Vec<&'static Disk> {
    let prefix = plain(prefix);
    let begins = |disk: &&Disk| disk.number.starts_with(&prefix);
    let found: Vec<&Disk> = disks().iter().filter(begins).collect();
    if found.is_empty() { named(&prefix).into_iter().collect() } else { found }
}

/// Returns the disk of this number, as its label, `lsblk` or `smartctl` gives it.
#[must_use]
pub fn named(number: &str) -> Option<&'static Disk> {
    let number = plain(number);
    // Of two that match, the longer is more specific.
    let fits = disks().iter().filter(|disk| number.starts_with(&disk.number));
    fits.max_by_key(|disk| disk.number.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{drives, make};
    use crate::sheet::Settings;

    #[test]
    fn every_row_is_whole_and_its_nearest_model_exists() {
        assert!(disks().len() >= 40, "{}", disks().len());
        for (at, disk) in disks().iter().enumerate() {
            let Disk { number, maker, recording, nearest, source, terabytes, .. } = disk;
            let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
            assert!(number.len() >= 7 && number.chars().all(upper), "{number}");
            assert!(["WD", "HGST", "Seagate", "Toshiba"].contains(&maker.as_str()), "{number}");
            assert!((0.5..=40.0).contains(terabytes), "{number}: {terabytes}");
            assert!(source.len() > 20, "{number} has no source");
            let twins = disks().iter().skip(at + 1);
            assert!(twins.clone().all(|other| other.number != *number), "{number} stands twice");
            let entry = drives().iter().find(|entry| entry.name == nearest);
            let entry = entry.unwrap_or_else(|| panic!("{number}: no drive {nearest}"));
            // The nearest is of the same kind.
            let drive = make(nearest, &Settings::default()).expect("a drive");
            let description = drive.description();
            let ordered = description.exposed.is_some_and(|zones| zones.sequential_required);
            let kind = match (entry.shingled, description.exposed.is_some(), ordered) {
                (false, ..) => Recording::Conventional,
                (true, false, _) => Recording::DriveManaged,
                (true, true, false) => Recording::HostAware,
                (true, true, true) => Recording::HostManaged,
            };
            match recording {
                Recording::Shingled => assert!(kind.shingled(), "{number} and {nearest}"),
                _ => assert_eq!(kind, *recording, "{number} and {nearest}"),
            }
        }
    }

    #[test]
    fn every_source_is_used() {
        let file: File = toml::from_str(include_str!("../data/disks.toml")).expect("the table");
        for (key, text) in &file.sources {
            assert!(file.disks.rows.iter().any(|row| row.7 == *key), "{key} is not used");
            assert!(!text.contains(char::is_control), "{key}");
        }
    }

    #[test]
    fn a_disk_is_found_by_what_its_number_begins_with() {
        let numbers = |prefix: &str| -> Vec<&str> {
            with_prefix(prefix).iter().map(|disk| disk.number.as_str()).collect()
        };
        let st4000 = ["ST4000DM004", "ST4000DM005", "ST4000LM024", "ST4000DM006", "ST4000VN008"];
        assert_eq!(numbers("ST4000"), st4000);
        assert_eq!(numbers("st4000dm004"), ["ST4000DM004"]);
        assert_eq!(numbers("ST4000DM004-2CV104"), ["ST4000DM004"]);
        assert_eq!(numbers("WDC WD60EFAX-68SHWN0"), ["WD60EFAX"]);
        assert_eq!(numbers("HSH721414ALE6M0"), ["HSH721414AL"]);
        assert_eq!(numbers(""), disks().iter().map(|disk| &disk.number).collect::<Vec<_>>());
        assert!(numbers("ST9999").is_empty());
        assert_eq!(named("ST4000"), None, "a part of a number names no disk");
        assert_eq!(named("toshiba hdwd240").map(|disk| disk.recording.short()), Some("DM"));
        assert_eq!(named(""), None);
    }
}
