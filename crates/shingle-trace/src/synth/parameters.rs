//! The parameters of workloads, and the values that the user gives them.

use super::rng::Share;
use shingle_core::params::nearest;
use shingle_core::size;

use crate::error::{Problem, shown};

/// A parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name that the user writes.
    pub name: &'static str,
    /// The default value.
    pub default: &'static str,
    /// A description of one line for lists.
    pub about: &'static str,
    /// The values that it takes.
    pub kind: Kind,
}

/// The values that a parameter takes, with both limits.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A number of things: `500000`, `500k`, `1M` (powers of 1000).
    Count(u64, u64),
    /// A size in bytes: `40GB`, `16GiB`.
    Size(u64, u64),
    /// A share from 0 to 1: `0.7` or `70%`.
    Share,
    /// A real number.
    Number(f64, f64),
    /// A file.
    File,
}

impl Kind {
    /// Returns the limits of a number or share.
    #[must_use]
    pub fn limits(self) -> Option<(f64, f64)> {
        match self {
            Kind::Share => Some((0.0, 1.0)),
            Kind::Number(low, high) => Some((low, high)),
            Kind::Count(..) | Kind::Size(..) | Kind::File => None,
        }
    }
}

/// The parameters of every workload.
pub(super) const COMMON: &[Parameter] = &[
    requests("500k", "how many requests"),
    iops("50", "requests a second, on average, idle time included"),
    IDLE,
];

/// The share of idle time.
pub(crate) const IDLE: Parameter = Parameter {
    name: "idle",
    default: "0.3",
    about: "share of the time in long gaps without requests",
    kind: Kind::Share,
};

/// Returns the number of requests, as a parameter.
pub(super) const fn requests(default: &'static str, about: &'static str) -> Parameter {
    Parameter { name: "requests", default, about, kind: Kind::Count(1, 10_000_000_000) }
}

/// Returns the rate of requests, as a parameter.
pub(super) const fn iops(default: &'static str, about: &'static str) -> Parameter {
    Parameter { name: "iops", default, about, kind: Kind::Number(0.001, 1e7) }
}

/// Returns the address range, as a parameter of workloads that have one.
pub(super) const fn range(default: &'static str) -> Parameter {
    // The least range is one zone; 64 TiB is more than any drive has.
    let kind = Kind::Size(crate::zones::ZONE_BYTES, 1 << 46);
    Parameter { name: "range", default, about: "addresses lie below this", kind }
}

/// Returns the share of writes, as a parameter.
pub(super) const fn write(default: &'static str) -> Parameter {
    Parameter { name: "write", default, about: "share of writes", kind: Kind::Share }
}

/// Returns the skew of popularity, as a parameter.
pub(super) const fn theta(default: &'static str, about: &'static str) -> Parameter {
    Parameter { name: "theta", default, about, kind: Kind::Number(0.0, 4.0) }
}

#[derive(Clone, Debug)]
enum Value {
    Whole(u64),
    Real(f64),
    Text(String),
}

/// A value for every parameter of a workload.
#[derive(Debug)]
pub(crate) struct Values(Vec<(&'static str, Value)>);

impl Values {
    /// Returns the defaults of `parameters`, overridden by `key=value&…`. Errors name
    /// the owner, `whose`.
    pub(crate) fn of<'a>(
        parameters: impl Iterator<Item = &'a Parameter>,
        whose: &str,
        pairs: &str,
    ) -> Result<Values, Problem> {
        let parameters: Vec<&Parameter> = parameters.collect();
        let mut values = Values(Vec::new());
        for parameter in &parameters {
            values.0.push((parameter.name, value(parameter, parameter.default)?));
        }
        for pair in pairs.split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').ok_or_else(|| {
                let likely = nearest(pair, parameters.iter().map(|p| p.name));
                let pair = shown(pair.as_bytes());
                let name = likely.first().unwrap_or(&"NAME");
                Problem::usage(format!("{pair} has no value: write {name}=VALUE, joined with &"))
            })?;
            let Some(parameter) = parameters.iter().find(|p| p.name == name) else {
                let names = nearest(name, parameters.iter().map(|p| p.name));
                let (name, names) = (shown(name.as_bytes()), names.join(", "));
                return Err(Problem::usage(format!(
                    "{whose} has no parameter {name}; it takes {names}"
                )));
            };
            let value = value(parameter, text)?;
            for slot in values.0.iter_mut().filter(|slot| slot.0 == name) {
                slot.1.clone_from(&value);
            }
        }
        Ok(values)
    }

    fn value(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|(n, _)| *n == name);
        &found.expect("a workload asks only for parameters that it lists").1
    }

    pub(super) fn count(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Whole(value) => *value,
            _ => unreachable!("{name} is a whole number by its kind"),
        }
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(value) => *value,
            _ => unreachable!("{name} is a real number by its kind"),
        }
    }

    /// Returns the path of a file.
    pub(super) fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            _ => unreachable!("{name} is a file by its kind"),
        }
    }

    /// Returns a number or a share, if the workload has this parameter.
    pub(super) fn number_if(&self, name: &str) -> Option<f64> {
        self.0.iter().any(|(n, _)| *n == name).then(|| self.number(name))
    }

    /// Returns all numbers and shares, as the user would write them.
    pub(crate) fn numbers(&self) -> Vec<(String, String)> {
        let number = |value: &Value| match value {
            Value::Real(value) => Some(value.to_string()),
            Value::Whole(_) | Value::Text(_) => None,
        };
        let pairs = self.0.iter().filter_map(|(name, value)| Some((*name, number(value)?)));
        pairs.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn share(&self, name: &str) -> Share {
        Share::of(self.number(name))
    }
}

fn value(parameter: &Parameter, text: &str) -> Result<Value, Problem> {
    let name = parameter.name;
    let shown = || {
        let quoted = shown(text.as_bytes());
        quoted.trim_matches('\'').to_owned()
    };
    let range = |low: String, high: String| {
        Problem::usage(format!("{name}={} is out of range: {low} to {high}", shown()))
    };
    let not = |what: &str| Problem::usage(format!("{name}={} is not {what}", shown()));
    if let Some(factor) = text.strip_prefix('x').and_then(|factor| factor.parse::<f64>().ok()) {
        return times(parameter, factor).ok_or_else(|| not("a factor of its default: x0.5, x2"));
    }
    match parameter.kind {
        Kind::File => Ok(Value::Text(text.to_owned())),
        Kind::Count(low, high) => match size::parse_count(text) {
            None => Err(not("a whole number: write it like 500000, 500k or 1M")),
            Some(value) if !(low..=high).contains(&value) => {
                Err(range(low.to_string(), high.to_string()))
            }
            Some(value) => Ok(Value::Whole(value)),
        },
        Kind::Size(low, high) => match size::parse_bytes(text) {
            Err(error) => Err(Problem::usage(format!("{name}: {error}"))),
            Ok(value) if !(low..=high).contains(&value) => {
                Err(range(format!("{low} bytes"), format!("{high} bytes")))
            }
            Ok(value) => Ok(Value::Whole(value)),
        },
        Kind::Share => {
            let (text, hundred) = text.strip_suffix('%').map_or((text, 1.0), |t| (t, 100.0));
            match text.parse::<f64>() {
                Err(_) => Err(not("a share: write it like 0.7 or 70%")),
                Ok(value) if !(0.0..=hundred).contains(&value) => {
                    Err(range("0".to_owned(), "1 (or 0% to 100%)".to_owned()))
                }
                Ok(value) => Ok(Value::Real(value / hundred)),
            }
        }
        Kind::Number(low, high) => match text.parse::<f64>() {
            Err(_) => Err(not("a number: write it like 0.9")),
            Ok(value) if !(low..=high).contains(&value) => {
                Err(range(low.to_string(), high.to_string()))
            }
            Ok(value) => Ok(Value::Real(value)),
        },
    }
}

/// Returns the default times `factor`, clamped to the limits. Only numbers and shares have factors.
fn times(parameter: &Parameter, factor: f64) -> Option<Value> {
    let (low, high) = parameter.kind.limits().filter(|_| factor.is_finite() && factor >= 0.0)?;
    let default: f64 = parameter.default.parse().ok()?;
    Some(Value::Real((default * factor).clamp(low, high)))
}
