//! Drives from a sheet written by a user (`sheet:FILE`), checked against the parameters of its
//! model.
//!
//! A sheet in a file is like one of `data/` with one more line: `model = "conventional"`. It has
//! the parameters of the built-in drives of that model, in their units and within their bounds, so
//! that a model gets no value that was not tested. Measured parameters may be missing; then the
//! papers' costs are used.

use super::{DRIVES, DriveEntry, Model, SSDS};
use crate::sheet::text::{TEXT_BYTES_MAX, in_line, line_of, load, quoted};
use crate::sheet::{DriveError, Parameter, Sheet, Value, Written};
use serde::Deserialize as _;
use serde::de::IntoDeserializer;
use shingle_core::params::nearest;
use std::io;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Prefix of the name of a drive from a sheet; the rest is the file.
pub const SHEET: &str = "sheet:";

/// Prefix of the parameters that [`crate::measure`] writes.
const MEASURED: &str = "measured_";

/// The two ways to describe seek times, each with a drive whose sheet has it.
const SEEKS: [(&str, &[&str]); 2] = [
    (
        "st8000as0002",
        &[
            "seek_base_ms",
            "seek_sqrt_ms",
            "seek_linear_ms",
            "seek_short_base_ms",
            "seek_short_sqrt_ms",
            "seek_short_tracks",
        ],
    ),
    ("ha-roco", &["seek_points", "cylinders"]),
];

/// A drive described by a file.
pub(super) struct OwnSheet {
    pub(super) model: &'static Model,
    pub(super) about: String,
    pub(super) sheet: Sheet,
}

impl OwnSheet {
    pub(super) fn read(file: &str) -> Result<OwnSheet, DriveError> {
        let refuse = |what: String| DriveError::Refused(format!("{file}: {what}"));
        let text = load(Path::new(file)).map_err(|error| {
            refuse(match error.kind() {
                io::ErrorKind::NotFound => {
                    "there is no such file; `shingle list drives NAME --toml` shows a sheet to begin with"
                        .into()
                }
                io::ErrorKind::InvalidData => "no sheet: it is not text".into(),
                _ => error.to_string(),
            })
        })?;
        OwnSheet::parse(&text).map_err(refuse)
    }

    fn parse(text: &str) -> Result<OwnSheet, String> {
        if text.len() as u64 > TEXT_BYTES_MAX {
            return Err("too long for a sheet (8 MiB)".into());
        }
        let said = |error: &toml::de::Error| {
            format!("{}; correct it", in_line(text, error.message(), error.span()))
        };
        let table = DeTable::parse(text).map_err(|error| said(&error))?.into_inner();
        let word = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::String(word) => Ok(Some(word.as_ref())),
                _ => Err(format!("line {}: {key} is text", line_of(text, value.span().start))),
            },
        };
        let model = find(word("model")?)?;
        let about = word("about")?.map_or_else(|| model.about(), str::to_owned);
        if about.contains(char::is_control) {
            return Err("about is more than a line of text; shorten it".into());
        }
        let known = known(model);
        let mut parameters = Vec::new();
        for (key, value) in
            table.iter().filter(|(key, _)| !["model", "about"].contains(&key.get_ref().as_ref()))
        {
            let name: &str = key.get_ref();
            let wrong = |what: String| {
                let name = name.replace(char::is_control, "\u{fffd}");
                format!("line {}: {name}: {what}", line_of(text, key.span().start))
            };
            let Some(like) = known.iter().find(|parameter| parameter.name == name) else {
                let names = nearest(name, known.iter().map(|parameter| parameter.name.as_str()));
                let names = names.into_iter().take(3).collect::<Vec<_>>().join(", ");
                return Err(wrong(format!(
                    "no parameter of a {} drive; drop it, or did you mean one of {names}?",
                    model.name
                )));
            };
            let written = Written::deserialize(value.clone().into_deserializer()).map_err(
                |error: toml::de::Error| match error.message() {
                    message if message.contains("i128") => wrong("a number is too large".into()),
                    message => wrong(format!("{}; correct it", in_line(text, message, None))),
                },
            )?;
            parameters.push(like.written(written).map_err(wrong)?);
        }
        complete(model, &known, &parameters)?;
        plausible(&parameters)?;
        Ok(OwnSheet { model, about, sheet: Sheet::of(parameters) })
    }
}

/// Returns all built-in disks and SSDs.
fn entries() -> impl Iterator<Item = &'static DriveEntry> {
    DRIVES.iter().chain(SSDS)
}

fn find(name: Option<&str>) -> Result<&'static Model, String> {
    let found = entries().find(|entry| Some(entry.model.name) == name);
    found.map(|entry| entry.model).ok_or_else(|| {
        let mut names = nearest(name.unwrap_or_default(), entries().map(|entry| entry.model.name));
        names.dedup();
        let names = names.join(", ");
        match name {
            None => format!("no sheet: it does not say model = \"NAME\" first; there are {names}"),
            Some(name) => {
                format!("there is no model `{}`; there are {names}", quoted(name))
            }
        }
    })
}

impl Model {
    fn about(&self) -> String {
        let like: Vec<&str> = entries()
            .filter(|entry| entry.model.name == self.name)
            .map(|entry| entry.name)
            .collect();
        format!("a {} drive, by a model as of {}", self.name, like.join(", "))
    }
}

/// Returns the parameters of drives of this model, each with the widest bounds of any of them.
fn known(model: &Model) -> Vec<Parameter> {
    let mut known: Vec<Parameter> = Vec::new();
    let mut add = |mut new: Parameter| {
        if new.range.0 >= new.range.1 && new.name.starts_with(MEASURED) {
            new.range = (0.0, f64::INFINITY); // a fact of that drive
        }
        match known.iter_mut().find(|other| other.name == new.name) {
            Some(other) => {
                other.range = (other.range.0.min(new.range.0), other.range.1.max(new.range.1));
            }
            None => known.push(new),
        }
    };
    let alike = entries().filter(|entry| entry.model.name == model.name);
    alike.flat_map(DriveEntry::parameters).for_each(&mut add);
    if has(&known, SEEKS[0].1[0]) || has(&known, SEEKS[1].1[0]) {
        for (drive, names) in SEEKS {
            let drive = entries().find(|entry| entry.name == drive).expect("one of the table");
            let seeks = drive.parameters().into_iter();
            let new = seeks.filter(|parameter| names.contains(&parameter.name.as_str()));
            let new: Vec<Parameter> = new.filter(|new| !has(&known, &new.name)).collect();
            known.extend(new);
        }
    }
    known
}

fn has(parameters: &[Parameter], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.name == name)
}

/// Checks that all parameters that a drive of this model needs are given: one description of seeks,
/// and the rest except for measured ones.
fn complete(model: &Model, known: &[Parameter], given: &[Parameter]) -> Result<(), String> {
    let uses = |(_, names): &(&str, &[&str])| names.iter().any(|name| has(given, name));
    if SEEKS.iter().all(uses) {
        return Err(format!(
            "{} and {} both say what seeks take; drop one of them",
            SEEKS[0].1[0], SEEKS[1].1[0]
        ));
    }
    let other = if uses(&SEEKS[1]) { SEEKS[0].1 } else { SEEKS[1].1 };
    let missing: Vec<&str> = known
        .iter()
        .map(|parameter| parameter.name.as_str())
        .filter(|name| !name.starts_with(MEASURED) && !other.contains(name) && !has(given, name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (some, more) = missing.split_at(missing.len().min(4));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Err(format!(
        "a {} drive needs {}{more}; add them (`shingle list drives NAME --toml` shows a whole sheet)",
        model.name,
        some.join(", ")
    ))
}

/// Rejects values that a model accepts but no disk has: two figures were swapped, or one was
/// mistyped.
fn plausible(given: &[Parameter]) -> Result<(), String> {
    let value = |name| given.iter().find(|parameter| parameter.name == name).map(|p| &p.value);
    if let (Some(Value::Count(outer)), Some(Value::Count(inner))) =
        (value("track_od_bytes"), value("track_id_bytes"))
        && outer < inner
    {
        return Err("track_od_bytes is less than track_id_bytes, and no outer track is shorter than an inner one; \
                    swap or correct them"
            .into());
    }
    if let Some(Value::Points(points)) = value("seek_points")
        && !points.is_sorted_by(|near, far| near.1 <= far.1)
    {
        return Err(
            "seek_points has a longer seek take less time than a shorter one; correct it".into()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_sheet_is_one_of_its_model() {
        for entry in entries() {
            let own = OwnSheet::parse(&entry.text())
                .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert_eq!(own.model.name, entry.model.name);
            let shown = |p: &Parameter| {
                format!("{} {} {:?} {} {} {}", p.name, p.value, p.range, p.unit, p.about, p.source)
            };
            let of = |parameters: Vec<Parameter>| parameters.iter().map(shown).collect::<Vec<_>>();
            assert_eq!(of(own.sheet.parameters()), of(entry.parameters()));
        }
    }

    #[test]
    fn what_counts_has_whole_bounds() {
        let decimal = |value: Option<&toml::Value>| value.is_some_and(toml::Value::is_float);
        for entry in entries() {
            let sheet: toml::Table = entry.text().parse().expect("TOML");
            for (name, table) in sheet.iter().filter(|(_, entry)| entry.is_table()) {
                if table.get("value").is_some_and(toml::Value::is_integer) {
                    let bounds = [table.get("min"), table.get("max")];
                    assert!(!bounds.into_iter().any(decimal), "{} {name}: {table}", entry.name);
                }
            }
        }
    }
}
