//! Parameter sheets: what a drive is made of, each figure with unit and source.
//!
//! A sheet is a TOML file of tables, one a parameter: `value`, `unit`, `about`, `source`, and the
//! range that `min` and `max` allow an override. The kind of `value` (whole number, decimal number,
//! switch) is the kind an override must have.

use crate::error::DriveError;
use serde::{Deserialize, de::DeserializeOwned};
use shingle_core::params::nearest;
use std::fmt;

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Count(u64),
    /// A decimal number: coefficients of fits, made integers when the drive is made.
    Decimal(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Value::Count(count) => write!(f, "{count}"),
            Value::Decimal(number) => write!(f, "{number}"),
        }
    }
}

impl From<Value> for toml::Value {
    fn from(value: Value) -> toml::Value {
        match value {
            Value::Switch(on) => toml::Value::Boolean(on),
            Value::Count(count) => toml::Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)),
            Value::Decimal(number) => toml::Value::Float(number),
        }
    }
}

/// One parameter of a drive.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name, as in `drive.NAME=VALUE`.
    pub name: String,
    /// Value.
    pub value: Value,
    /// Unit; `""` for a switch or a pure number.
    pub unit: String,
    /// Where the value comes from.
    pub source: String,
    /// What it is.
    pub about: String,
    /// Least and greatest value an override may have.
    pub range: (f64, f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: Value,
    #[serde(default)]
    unit: String,
    source: String,
    about: String,
    #[serde(default)]
    min: f64,
    max: Option<f64>,
}

/// Values a user sets in place of those of the sheet: `NAME=VALUE`, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(Vec<(String, String)>);

impl Overrides {
    /// None.
    #[must_use]
    pub fn new() -> Overrides {
        Overrides::default()
    }

    /// Adds one. Names and values are looked at when the drive is made.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.push((name.trim().to_owned(), value.trim().to_owned()));
    }

    /// Adds one; for building in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Overrides {
        self.set(name, value);
        self
    }
}

/// A parsed sheet.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    parameters: Vec<Parameter>,
}

impl Sheet {
    /// Parses the text of a sheet.
    ///
    /// # Panics
    /// If it is malformed: sheets are part of the program.
    pub(crate) fn parse(text: &str) -> Sheet {
        let table: toml::Table = text.parse().expect("a sheet is TOML");
        let parameters = table.into_iter().map(|(name, entry)| {
            let entry: Entry =
                entry.try_into().unwrap_or_else(|error| panic!("parameter {name}: {error}"));
            let range = (entry.min, entry.max.unwrap_or(f64::INFINITY));
            let Entry { value, unit, source, about, .. } = entry;
            Parameter { name, value, unit, source, about, range }
        });
        Sheet { parameters: parameters.collect() }
    }

    /// The parameters, in the order of the file.
    pub(crate) fn parameters(self) -> Vec<Parameter> {
        self.parameters
    }

    /// Puts the user's values in. `prefix` is `drive` or `ssd`, for messages.
    pub(crate) fn apply(&mut self, prefix: &str, overrides: &Overrides) -> Result<(), DriveError> {
        for (name, text) in &overrides.0 {
            let Some(at) = self.parameters.iter().position(|p| p.name == *name) else {
                let names = self.parameters.iter().map(|p| p.name.as_str());
                let names = nearest(name, names);
                return Err(DriveError::UnknownParameter {
                    name: format!("{prefix}.{name}"),
                    names: names.join(", "),
                });
            };
            let parameter = &mut self.parameters[at];
            parameter.value = parameter.read(text).ok_or_else(|| parameter.wrong(prefix, text))?;
        }
        Ok(())
    }

    /// The values as the struct that names them.
    ///
    /// # Panics
    /// If a parameter is missing or of another type than the struct says: sheets are part of the
    /// program, and overrides keep the type.
    pub(crate) fn values<T: DeserializeOwned>(&self) -> T {
        let table: toml::Table =
            self.parameters.iter().map(|p| (p.name.clone(), p.value.into())).collect();
        table.try_into().expect("a sheet has what its drive needs")
    }
}

impl Parameter {
    fn read(&self, text: &str) -> Option<Value> {
        let plain = text.replace('_', "");
        let value = match self.value {
            Value::Switch(_) => match text {
                "on" | "true" | "yes" => Value::Switch(true),
                "off" | "false" | "no" => Value::Switch(false),
                _ => return None,
            },
            Value::Count(_) => Value::Count(plain.parse().ok()?),
            Value::Decimal(_) => {
                Value::Decimal(plain.parse().ok().filter(|v: &f64| v.is_finite())?)
            }
        };
        #[allow(clippy::cast_precision_loss)] // a border is nowhere near 2^53
        let number = match value {
            Value::Switch(_) => return Some(value),
            Value::Count(count) => count as f64,
            Value::Decimal(number) => number,
        };
        (self.range.0 <= number && number <= self.range.1).then_some(value)
    }

    fn wrong(&self, prefix: &str, text: &str) -> DriveError {
        let kind = match self.value {
            Value::Switch(_) => "`on` or `off`".to_owned(),
            Value::Count(_) => format!("a whole number{}", self.allowed()),
            Value::Decimal(_) => format!("a number{}", self.allowed()),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        let (name, value) = (&self.name, self.value);
        DriveError::BadValue(format!(
            "{prefix}.{name} is {kind}{unit}, not `{text}`; for example {prefix}.{name}={value}"
        ))
    }

    fn allowed(&self) -> String {
        match self.range {
            (min, max) if max.is_finite() => format!(" from {min} to {max}"),
            (min, _) if min > 0.0 => format!(" of at least {min}"),
            _ => String::new(),
        }
    }
}
