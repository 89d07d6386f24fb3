//! The measured part of a sheet: its parameters, and how they are written to the file.

use super::Measured;
use crate::sheet::text::in_line;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value, value};

/// Why a sheet was not rewritten. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SheetError {
    /// The file cannot be read or written.
    #[error("{path}: {error}; give the sheet of a drive")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// The file is no sheet.
    #[error("{path}: not a parameter sheet, {what}; `shingle list drives NAME --toml` shows one")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// One parameter of the measured part.
struct Entry {
    name: &'static str,
    value: Value,
    unit: &'static str,
    about: &'static str,
    /// The greatest value an override may have; `None` for what only the measurement can say.
    max: Option<i64>,
}

/// Writes a measurement of the drive called `name` into the text of its sheet: existing parameters
/// are replaced, missing ones are added after the last. Everything else stays as it is.
///
/// # Errors
/// If the text is not that of a sheet; says what is wrong.
pub fn rewrite(text: &str, name: &str, measured: &Measured) -> Result<String, String> {
    let mut sheet: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| in_line(text, error.message(), error.span()))?;
    let source = format!("Measured by `shingle reproduce sac --figure 10 -d {name} --write`");
    for entry in entries(measured) {
        match sheet.get_mut(entry.name) {
            None => {
                sheet.insert(entry.name, Item::Table(entry.table(&source)));
            }
            Some(item) => match item.as_table_like_mut() {
                Some(table) => entry.set(table),
                None => return Err(format!("`{}` is not a table", entry.name)),
            },
        }
    }
    Ok(sheet.to_string())
}

/// [`rewrite`] of a file, in place. Returns whether that changed it.
///
/// # Errors
/// If the file cannot be read or written, or is no sheet.
pub fn rewrite_file(path: &Path, name: &str, measured: &Measured) -> Result<bool, SheetError> {
    let file = |error| SheetError::File { path: path.to_owned(), error };
    let text = fs::read_to_string(path).map_err(file)?;
    let fresh = rewrite(&text, name, measured)
        .map_err(|what| SheetError::Malformed { path: path.to_owned(), what })?;
    if fresh != text {
        fs::write(path, &fresh).map_err(file)?;
    }
    Ok(fresh != text)
}

fn entries(measured: &Measured) -> Vec<Entry> {
    let read = "L_read, what hosts plan with: mean of random reads of a block over the whole drive";
    let mut entries =
        vec![entry("measured_read_us", measured.read_us, "us", read, Some(10_000_000))];
    if let Some(shingled) = measured.shingled {
        let base = "R(0), what hosts plan with: fixed part of the drive time of a zone written";
        let slope = "What hosts plan with: the part of R(x) for each block written of the zone";
        let fit = "R² of R(x); a fact of the measurement";
        let zone = "Zones that R(x) holds for; a fact of the measurement (SAC section 5.2)";
        let buffer = "Random writes the empty buffer takes before one waits (SAC section 5.1); a fact of the measurement";
        let base_us = shingled.rmw_base_us;
        entries.extend([
            entry("measured_rmw_base_us", base_us, "us", base, Some(1_000_000_000)),
            entry(
                "measured_rmw_us_per_block",
                shingled.rmw_us_per_block,
                "us",
                slope,
                Some(10_000_000),
            ),
            Entry {
                name: "measured_rmw_r_squared",
                value: shingled.rmw_r_squared.into(),
                unit: "",
                about: fit,
                max: None,
            },
            entry("measured_zone_blocks", shingled.zone_blocks, "4 KiB", zone, None),
            entry("measured_buffer_blocks", shingled.buffer_blocks, "4 KiB", buffer, None),
        ]);
    }
    entries
}

fn entry(
    name: &'static str,
    count: u64,
    unit: &'static str,
    about: &'static str,
    max: Option<i64>,
) -> Entry {
    let value = Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    Entry { name, value, unit, about, max }
}

impl Entry {
    fn table(&self, source: &str) -> Table {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        self.set(&mut table);
        table.insert("unit", value(self.unit));
        table.insert("about", value(self.about));
        table.insert("source", value(source));
        table
    }

    /// The figure, and the range of overrides: nothing but the figure if only a measurement can
    /// say.
    fn set(&self, table: &mut dyn TableLike) {
        let (min, max) = match self.max {
            Some(max) => (Value::from(0), Value::from(max)),
            None => (self.value.clone(), self.value.clone()),
        };
        for (key, new) in [("value", self.value.clone()), ("min", min), ("max", max)] {
            let old = table.get(key).and_then(Item::as_value).map(|old| old.to_string());
            if old.as_deref().map(str::trim) != Some(new.to_string().trim()) {
                table.insert(key, Item::Value(new));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shingled;
    use super::*;

    const SHEET: &str = "# A drive.\n\n[rpm]\nvalue = 5980 # exact\nunit='1/min'\n";

    fn measured(read_us: u64) -> Measured {
        let shingled = Shingled {
            rmw_base_us: 435_833,
            rmw_us_per_block: 728,
            rmw_r_squared: 0.9717,
            zone_blocks: 5000,
            buffer_blocks: 184_000,
        };
        Measured { read_us, shingled: Some(shingled) }
    }

    #[test]
    fn the_measured_part_goes_to_the_end_and_nothing_else_changes() {
        let fresh = rewrite(SHEET, "st1", &measured(14_000)).expect("a sheet");
        let added = fresh.strip_prefix(SHEET).expect("the rest is as it was");
        let first = "\n[measured_read_us]\nvalue = 14000\nmin = 0\nmax = 10000000\nunit = \"us\"\n";
        assert!(added.starts_with(first), "{added}");
        assert!(added.contains("sac --figure 10 -d st1 --write`\""), "{added}");
        assert!(added.contains("value = 0.9717\nmin = 0.9717\nmax = 0.9717\n"), "{added}");
        assert_eq!(rewrite(&fresh, "st1", &measured(14_000)).as_deref(), Ok(fresh.as_str()));
    }

    #[test]
    fn a_new_figure_changes_one_line() {
        let old = rewrite(SHEET, "st1", &measured(14_000)).expect("a sheet");
        let new = rewrite(&old, "st1", &measured(15_123)).expect("a sheet");
        let lines = old.lines().zip(new.lines()).filter(|(old, new)| old != new);
        assert_eq!(lines.collect::<Vec<_>>(), [("value = 14000", "value = 15123")]);
        assert_eq!(old.lines().count(), new.lines().count());
    }

    #[test]
    fn what_is_no_sheet_is_refused_in_a_line() {
        let wrong = |text: &str| rewrite(text, "st1", &measured(1)).expect_err("no sheet");
        assert!(wrong("[rpm]\nvalue = = 3\n").starts_with("line 2: "));
        assert_eq!(wrong("measured_read_us = 3\n"), "`measured_read_us` is not a table");
        let error = rewrite_file(Path::new("no/such.toml"), "st1", &measured(1));
        let error = error.expect_err("no file").to_string();
        assert!(error.starts_with("no/such.toml: ") && error.lines().count() == 1, "{error}");
    }
}
