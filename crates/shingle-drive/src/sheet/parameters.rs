//! Parameter sheets: the parameters of a drive, each figure with unit and source.
//!
//! A sheet is a TOML file of tables, one a parameter: `value`, `unit`, `about`, `source`, and the
//! range that `min` and `max` allow an override. The kind of `value` (whole number, decimal number,
//! switch, points of a curve) is the kind an override must have; what counts bytes may be written as a
//! size, `256MiB`.

use super::error::DriveError;
use serde::{Deserialize, de::DeserializeOwned};
use shingle_core::params::nearest;
use shingle_core::size::parse_bytes;
use std::fmt;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a number, true, false, or points [[x, y], …]")]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Count(u64),
    /// A decimal number: coefficients of fits, made integers when the drive is made.
    Decimal(f64),
    /// Points of a curve, at least two of them and from left to right: `1:0.5,8:3.7`.
    Points(Vec<(u64, f64)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Value::Count(count) => write!(f, "{count}"),
            Value::Decimal(number) => write!(f, "{number}"),
            Value::Points(points) => points.iter().enumerate().try_for_each(|(at, (x, y))| {
                write!(f, "{}{x}:{y}", if at == 0 { "" } else { "," })
            }),
        }
    }
}

impl From<Value> for toml::Value {
    fn from(value: Value) -> toml::Value {
        match value {
            Value::Switch(on) => toml::Value::Boolean(on),
            Value::Count(count) => integer(count),
            Value::Decimal(number) => toml::Value::Float(number),
            Value::Points(points) => {
                let point = |(x, y)| toml::Value::Array(vec![integer(x), toml::Value::Float(y)]);
                toml::Value::Array(points.into_iter().map(point).collect())
            }
        }
    }
}

fn integer(count: u64) -> toml::Value {
    toml::Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
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
    /// Description.
    pub about: String,
    /// Least and greatest value an override may have.
    pub range: (f64, f64),
}

/// A parameter as written in a sheet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with value and source")]
pub(crate) struct Written {
    pub(crate) value: Value,
    pub(crate) unit: Option<String>,
    pub(crate) source: String,
    pub(crate) about: Option<String>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// Values with which a user overrides those of the sheet: `NAME=VALUE`, in the given order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(Vec<(String, String)>);

impl Overrides {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Overrides {
        Overrides::default()
    }

    /// Adds one. Names and values are checked when the drive is created.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.push((name.trim().to_owned(), value.trim().to_owned()));
    }

    /// Returns the names, in the given order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Adds one, for use in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Overrides {
        self.set(name, value);
        self
    }
}

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
            let Written { value, unit, source, about, min, max } =
                entry.try_into().unwrap_or_else(|error| panic!("parameter {name}: {error}"));
            let range = (min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY));
            let (unit, about) = (unit.unwrap_or_default(), about.unwrap_or_default());
            Parameter { name, value, unit, source, about, range }
        });
        Sheet { parameters: parameters.collect() }
    }

    pub(crate) fn of(parameters: Vec<Parameter>) -> Sheet {
        Sheet { parameters }
    }

    /// Joins several sheets.
    ///
    /// # Panics
    /// If two have a parameter of one name: sheets are part of the program.
    pub(crate) fn join(sheets: impl Iterator<Item = Sheet>) -> Sheet {
        let mut joined = Sheet { parameters: Vec::new() };
        for parameter in sheets.flat_map(Sheet::parameters) {
            let known = joined.parameters.iter().any(|other| other.name == parameter.name);
            assert!(!known, "two sheets have {}", parameter.name);
            joined.parameters.push(parameter);
        }
        joined
    }

    /// Returns the parameters, in the order of the file.
    pub(crate) fn parameters(self) -> Vec<Parameter> {
        self.parameters
    }

    /// Sets a value from another source; it may be a decimal number where the sheet has an integer.
    /// Returns whether the parameter's range allows it.
    ///
    /// # Panics
    /// If there is no such parameter: names of sheets are part of the program.
    pub(crate) fn put(&mut self, name: &str, value: Value, source: &str) -> bool {
        let parameter = self.parameters.iter_mut().find(|parameter| parameter.name == name);
        let parameter = parameter.unwrap_or_else(|| panic!("no parameter {name}"));
        let allowed = parameter.allows_value(&value);
        parameter.value = value;
        source.clone_into(&mut parameter.source);
        allowed
    }

    /// Removes parameters that others replace.
    pub(crate) fn remove(&mut self, names: &[&str]) {
        self.parameters.retain(|parameter| !names.contains(&parameter.name.as_str()));
    }

    pub(crate) fn add(&mut self, parameter: Parameter) {
        self.parameters.push(parameter);
    }

    /// Sets a value that cannot be overridden: a fact.
    ///
    /// # Panics
    /// As [`Sheet::put`].
    pub(crate) fn fix(&mut self, name: &str, value: Value, source: &str) {
        self.put(name, value, source);
        let parameter = self.parameters.iter_mut().find(|parameter| parameter.name == name);
        let Some(parameter) = parameter else { return };
        let only = match parameter.value {
            Value::Count(count) => count as f64,
            Value::Decimal(number) => number,
            _ => return,
        };
        parameter.range = (only, only);
    }

    /// Returns a parameter.
    ///
    /// # Panics
    /// As [`Sheet::put`].
    pub(crate) fn get(&self, name: &str) -> &Parameter {
        let found = self.parameters.iter().find(|parameter| parameter.name == name);
        found.unwrap_or_else(|| panic!("no parameter {name}"))
    }

    /// Applies the user's values. `prefix` is `drive` or `ssd`, for messages.
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

    /// Returns the values as the struct that names them.
    ///
    /// # Panics
    /// If a parameter is missing or of another type than in the struct: sheets are part of the
    /// program, and overrides keep the type.
    pub(crate) fn values<T: DeserializeOwned>(&self) -> T {
        let table: toml::Table =
            self.parameters.iter().map(|p| (p.name.clone(), p.value.clone().into())).collect();
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
            Value::Count(_) if self.unit == "B" => Value::Count(parse_bytes(&plain).ok()?),
            Value::Count(_) => Value::Count(plain.parse().ok()?),
            Value::Decimal(_) => {
                Value::Decimal(plain.parse().ok().filter(|v: &f64| v.is_finite())?)
            }
            Value::Points(_) => Value::Points(points(&plain)?),
        };
        self.allows_value(&value).then_some(value)
    }

    /// Returns this parameter with the values of a user's sheet: a value of the same kind, and a
    /// range within this one. What is not given is kept.
    ///
    /// # Errors
    /// The reason, in words.
    pub(crate) fn written(&self, new: Written) -> Result<Parameter, String> {
        let Written { value, unit, source, about, min, max } = new;
        let plain = |text: &str| !text.contains(char::is_control);
        if source.trim().is_empty() {
            return Err("its source is empty; say where the figure comes from".into());
        }
        if !plain(&source) || !about.as_deref().is_none_or(plain) {
            return Err("its source or its about is more than a line of text".into());
        }
        if unit.as_ref().is_some_and(|unit| *unit != self.unit) {
            return Err(match self.unit.as_str() {
                "" => "it is a pure number; drop its unit".into(),
                unit => format!("it is in {unit}; convert it, or drop its unit"),
            });
        }
        let value = match (&self.value, value) {
            (Value::Decimal(_), Value::Count(count)) => Value::Decimal(count as f64),
            (_, value) => value,
        };
        let range = (
            min.unwrap_or(self.range.0).max(self.range.0),
            max.unwrap_or(self.range.1).min(self.range.1),
        );
        let about = about.unwrap_or_else(|| self.about.clone());
        let new = Parameter { value, source, about, range, ..self.clone() };
        let kind = match (&self.value, &new.value) {
            (Value::Switch(_), Value::Switch(_)) => return Ok(new),
            (Value::Count(_), Value::Count(_)) | (Value::Decimal(_), Value::Decimal(_)) => true,
            (Value::Points(_), Value::Points(points)) => are_points(points),
            _ => false,
        };
        if kind && new.allows_value(&new.value) {
            return Ok(new);
        }
        Err(match &self.value {
            Value::Switch(_) => "its value is true or false".into(),
            Value::Count(_) => format!("its value is a whole number{}", new.allowed()),
            Value::Decimal(_) => format!("its value is a number{}", new.allowed()),
            Value::Points(_) => format!(
                "its value is two or more points [x, y] from left to right, y{}",
                new.allowed()
            ),
        })
    }

    fn allows_value(&self, value: &Value) -> bool {
        match value {
            Value::Switch(_) => true,
            Value::Count(count) => self.allows(*count as f64),
            Value::Decimal(number) => self.allows(*number),
            Value::Points(points) => points.iter().all(|point| self.allows(point.1)),
        }
    }

    fn allows(&self, number: f64) -> bool {
        self.range.0 <= number && number <= self.range.1
    }

    fn wrong(&self, prefix: &str, text: &str) -> DriveError {
        let kind = match self.value {
            Value::Switch(_) => "`on` or `off`".to_owned(),
            Value::Count(_) if self.unit == "B" => format!("a size{}", self.allowed()),
            Value::Count(_) => format!("a whole number{}", self.allowed()),
            Value::Decimal(_) => format!("a number{}", self.allowed()),
            Value::Points(_) => {
                format!("two or more points X:Y,… from left to right, Y{}", self.allowed())
            }
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        let (name, value) = (&self.name, &self.value);
        DriveError::BadValue(format!(
            "{prefix}.{name} is {kind}{unit}, not `{text}`; for example {prefix}.{name}={value}"
        ))
    }

    /// Returns its range, in words.
    pub(crate) fn allowed(&self) -> String {
        match self.range {
            (min, max) if max.is_finite() => format!(" from {min} to {max}"),
            (min, _) if min > 0.0 => format!(" of at least {min}"),
            _ => String::new(),
        }
    }
}

/// Parses the points of a curve, from left to right.
fn points(text: &str) -> Option<Vec<(u64, f64)>> {
    let point = |text: &str| {
        let (x, y) = text.split_once(':')?;
        Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
    };
    let points: Vec<(u64, f64)> = text.split(',').map(point).collect::<Option<_>>()?;
    are_points(&points).then_some(points)
}

/// Returns whether these form a curve: at least two, from left to right.
fn are_points(points: &[(u64, f64)]) -> bool {
    points.len() >= 2 && points.windows(2).all(|pair| pair[0].0 < pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_as_sizes_too() {
        let text = "[flash]\nvalue = 4096\nunit = \"B\"\nabout = \"a\"\nsource = \"b\"\nmin = 4096\nmax = 1e9\n";
        let mut sheet = Sheet::parse(text);
        for (written, bytes) in [("256MiB", 1 << 28), ("1_000_000", 1_000_000), ("2b", 8_192)] {
            sheet.apply("drive", &Overrides::new().with("flash", written)).expect(written);
            assert_eq!(sheet.parameters[0].value, Value::Count(bytes));
        }
        for wrong in ["1GiB", "1b3", "many", "-1", "1024"] {
            let error = sheet.apply("drive", &Overrides::new().with("flash", wrong));
            let error = error.expect_err(wrong).to_string();
            assert!(error.starts_with("drive.flash is a size from 4096 to "), "{error}");
        }
    }

    #[test]
    fn points_of_a_curve_are_read_as_they_are_written() {
        let text = "[seek]\nvalue = [[1, 0.5], [8, 3]]\nunit = \"ms\"\nabout = \"a\"\nsource = \"b\"\nmax = 9\n";
        let mut sheet = Sheet::parse(text);
        let value = sheet.parameters[0].value.clone();
        assert_eq!(
            (value.to_string().as_str(), &value),
            ("1:0.5,8:3", &Value::Points(vec![(1, 0.5), (8, 3.0)]))
        );
        sheet.apply("drive", &Overrides::new().with("seek", "2:1, 3:4.5")).expect("points");
        assert_eq!(sheet.parameters[0].value, Value::Points(vec![(2, 1.0), (3, 4.5)]));
        for wrong in ["7", "1:2", "3:1,2:1", "1:1,2:10", "1:1,2:NaN", "1;1,2;2"] {
            let error = sheet.apply("drive", &Overrides::new().with("seek", wrong));
            let error = error.expect_err(wrong).to_string();
            assert!(error.starts_with("drive.seek is two or more points X:Y,"), "{error}");
        }
    }
}
