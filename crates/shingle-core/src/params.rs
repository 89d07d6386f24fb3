//! Parameters of policies and of the cache: declared as data, listed, set by name, checked.

use crate::service::Hours;
use crate::size::{self, parse_whole_blocks};
use crate::units::{BLOCK_BYTES, Nanos};

/// One parameter, as its owner declares it.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name after the dot: `sac.NAME`.
    pub name: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// Default, as a user would write it.
    pub default: &'static str,
    /// What it does, in one line, with its source.
    pub about: &'static str,
}

/// A [`Param`] in one line: name, [`Kind`], default, meaning.
///
/// ```
/// const BATCH: shingle_core::params::Param =
///     shingle_core::param!("batch": Count = "1", "victims an eviction asks for");
/// ```
#[macro_export]
macro_rules! param {
    ($name:tt: $kind:ident $(($words:expr))? = $default:expr, $about:expr) => {
        $crate::params::Param {
            name: $name,
            kind: $crate::params::Kind::$kind $(($words))?,
            default: $default,
            about: $about,
        }
    };
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A size, in whole blocks, at least one.
    Blocks,
    /// A size of zones, in whole blocks, at least one; or the word `bands`.
    Zones,
    /// A size, in whole blocks, at least one; or the word `none`.
    Limit,
    /// A time of an I/O, in whole microseconds.
    Micros,
    /// Hours of the day, as in `22-6`.
    Hours,
    /// A decimal factor, kept in thousandths.
    Ratio,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Value of the word `bands` of [`Kind::Zones`]: no zone is empty.
const BANDS: u64 = 0;
/// Value of the word `none` of [`Kind::Limit`].
const NONE: u64 = 0;

/// A limit, so that sums of times fit: no I/O takes a quarter of an hour.
const MICROS_MAX: u64 = 1_000_000_000;

/// The parameters of one owner with their values.
#[derive(Clone, Debug)]
pub struct Params {
    declared: &'static [Param],
    values: Vec<u64>,
}

/// Why a parameter could not be set. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError(String);

impl core::fmt::Display for ParamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ParamError {}

impl Params {
    /// Creates all parameters of `declared`, at their defaults.
    ///
    /// # Panics
    /// If a default is not valid for its kind: a mistake in the declaration.
    #[must_use]
    pub fn new(declared: &'static [Param]) -> Params {
        let values = declared
            .iter()
            .map(|param| parse(param, param.default).expect("a default must be valid"))
            .collect();
        Params { declared, values }
    }

    /// Sets parameter `name`.
    ///
    /// # Errors
    /// If there is no such parameter (the message lists the known ones, nearest first), or the text
    /// is not a value of its kind.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError> {
        let Some(at) = self.declared.iter().position(|param| param.name == name) else {
            let names = nearest(name, self.declared.iter().map(|param| param.name));
            return Err(ParamError(match names.as_slice() {
                [] => format!("no parameter `{name}`: there are none to set"),
                names => format!("no parameter `{name}`; there are {}", names.join(", ")),
            }));
        };
        self.values[at] = parse(&self.declared[at], text)?;
        Ok(())
    }

    fn value(&self, name: &str) -> (Kind, u64) {
        let at = self.declared.iter().position(|param| param.name == name);
        let at = at.unwrap_or_else(|| panic!("parameter `{name}` was not declared"));
        (self.declared[at].kind, self.values[at])
    }

    fn typed(&self, name: &str, wanted: Kind) -> u64 {
        let (kind, value) = self.value(name);
        assert_eq!(kind, wanted, "parameter `{name}` was declared otherwise");
        value
    }

    /// Returns a declared [`Kind::Count`].
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.typed(name, Kind::Count)
    }

    /// Returns a declared [`Kind::Blocks`].
    #[must_use]
    pub fn blocks(&self, name: &str) -> u64 {
        self.typed(name, Kind::Blocks)
    }

    /// Returns a declared [`Kind::Zones`]: the size in blocks, or `None` for the drive's true
    /// bands.
    #[must_use]
    pub fn zones(&self, name: &str) -> Option<u64> {
        Some(self.typed(name, Kind::Zones)).filter(|&blocks| blocks != BANDS)
    }

    /// Returns a declared [`Kind::Limit`]: the size in blocks, or `None` for no limit.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<u64> {
        Some(self.typed(name, Kind::Limit)).filter(|&blocks| blocks != NONE)
    }

    /// Returns a declared [`Kind::Micros`].
    #[must_use]
    pub fn time(&self, name: &str) -> Nanos {
        Nanos::from_micros(self.typed(name, Kind::Micros))
    }

    /// Returns a declared [`Kind::Hours`].
    #[must_use]
    pub fn hours(&self, name: &str) -> Hours {
        hours(self.typed(name, Kind::Hours))
    }

    /// Returns a declared [`Kind::Ratio`], in thousandths.
    #[must_use]
    pub fn thousandths(&self, name: &str) -> u64 {
        self.typed(name, Kind::Ratio)
    }

    /// Returns a declared [`Kind::Ratio`] times `whole`, rounded down.
    #[must_use]
    pub fn part_of(&self, name: &str, whole: impl Into<u64>) -> u64 {
        let part = u128::from(whole.into()) * u128::from(self.thousandths(name)) / 1000;
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// Returns a declared [`Kind::Switch`].
    #[must_use]
    pub fn switch(&self, name: &str) -> bool {
        self.typed(name, Kind::Switch) == 1
    }

    /// Returns a declared [`Kind::Choice`].
    #[must_use]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            (Kind::Choice(words), at) => words[at as usize],
            (kind, _) => panic!("parameter `{name}` was declared as {kind:?}"),
        }
    }

    /// Returns whether `name` is declared.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.declared.iter().any(|param| param.name == name)
    }

    /// Returns name and value of each parameter, as a user would write them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.declared
            .iter()
            .zip(&self.values)
            .map(|(param, &value)| (param.name, show(param, value)))
    }
}

/// Decodes the value of a [`Kind::Hours`].
fn hours(bits: u64) -> Hours {
    u32::try_from(bits).ok().and_then(Hours::from_bits).expect("they were parsed")
}

fn parse(param: &Param, text: &str) -> Result<u64, ParamError> {
    let wrong = |expected: String| {
        ParamError(format!("`{text}` is no value for `{}`: {expected}", param.name))
    };
    match param.kind {
        Kind::Count => {
            text.parse().map_err(|_| wrong("give a whole number from 0 to 2^64 - 1".into()))
        }
        Kind::Micros => text
            .parse()
            .ok()
            .filter(|&us| us <= MICROS_MAX)
            .ok_or_else(|| wrong(format!("give a whole number, at most {MICROS_MAX} us"))),
        Kind::Blocks => parse_whole_blocks(text).map_err(wrong),
        Kind::Zones if text == "bands" => Ok(BANDS),
        Kind::Zones => parse_whole_blocks(text).map_err(|why| wrong(format!("{why}, or `bands`"))),
        Kind::Limit if text == "none" => Ok(NONE),
        Kind::Limit => parse_whole_blocks(text).map_err(|why| wrong(format!("{why}, or `none`"))),
        Kind::Hours => Hours::parse(text).map(|hours| hours.bits().into()).map_err(wrong),
        Kind::Ratio => size::scaled(text, 1000)
            .ok_or_else(|| wrong("give a decimal number from 0 on, such as 0.8".into())),
        Kind::Switch => match text {
            "on" | "true" | "yes" => Ok(1),
            "off" | "false" | "no" => Ok(0),
            _ => Err(wrong("give on or off".into())),
        },
        Kind::Choice(words) => words
            .iter()
            .position(|&word| word == text)
            .map(|at| at as u64)
            .ok_or_else(|| wrong(format!("give one of {}", words.join(", ")))),
    }
}

/// Formats a size in the largest unit of which it is a whole multiple.
fn show_exactly(blocks: u64) -> String {
    let bytes = u128::from(blocks) * u128::from(BLOCK_BYTES);
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let (name, power) =
        units.into_iter().find(|(_, power)| bytes % (1 << power) == 0).expect("KiB");
    format!("{}{name}", bytes >> power)
}

fn show(param: &Param, value: u64) -> String {
    match param.kind {
        Kind::Count | Kind::Micros => value.to_string(),
        Kind::Zones if value == BANDS => "bands".into(),
        Kind::Limit if value == NONE => "none".into(),
        Kind::Limit => show_exactly(value),
        Kind::Blocks | Kind::Zones => format!("{value}b"),
        Kind::Hours => hours(value).to_string(),
        Kind::Ratio => format!("{}", value as f64 / 1000.0),
        Kind::Switch => if value == 1 { "on" } else { "off" }.into(),
        Kind::Choice(words) => words[value as usize].into(),
    }
}

/// Sorts `names` by likeness to `wanted`, ignoring case: names that begin with it first, then by
/// number of edits, then by name.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    let wanted = wanted.to_lowercase();
    names.sort_by_cached_key(|name| {
        let lower = name.to_lowercase();
        (!lower.starts_with(&wanted), edits(&wanted, &lower), *name)
    });
    names
}

/// Returns the edit distance: characters inserted, deleted, replaced, or swapped with their
/// neighbour.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut next = vec![i + 1];
        for j in 0..to.len() {
            let replaced = row[j] + usize::from(from[i] != to[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Param] = &[
        Param { name: "zone", kind: Kind::Zones, default: "5000b", about: "" },
        Param { name: "window", kind: Kind::Ratio, default: "0.8", about: "" },
        Param { name: "rule2", kind: Kind::Switch, default: "on", about: "" },
        Param { name: "rate", kind: Kind::Limit, default: "none", about: "" },
        Param { name: "hours", kind: Kind::Hours, default: "0-24", about: "" },
        Param { name: "score", kind: Kind::Choice(&["dirty", "all"]), default: "dirty", about: "" },
    ];

    #[test]
    fn values_are_typed_and_shown_as_written() {
        let mut params = Params::new(DECLARED);
        params.set("zone", "20MiB").unwrap();
        params.set("score", "all").unwrap();
        assert_eq!((params.zones("zone"), params.thousandths("window")), (Some(5120), 800));
        assert!(params.switch("rule2") && params.choice("score") == "all");
        assert_eq!((params.part_of("window", 11u32), params.part_of("window", 1u32)), (8, 0));
        let shown: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let all = ["zone=5120b", "window=0.8", "rule2=on", "rate=none", "hours=0-24", "score=all"];
        assert_eq!(shown, all);
        params.set("rate", "1MiB").unwrap();
        params.set("hours", "22-6").unwrap();
        assert_eq!(
            (params.limit("rate"), params.hours("hours").to_string()),
            (Some(256), "22-6".into())
        );
        params.set("zone", "bands").unwrap();
        assert_eq!(
            (params.zones("zone"), params.iter().next()),
            (None, Some(("zone", "bands".into())))
        );
    }

    #[test]
    fn edits_are_counted_as_typing_errors() {
        let cases =
            [("", "abc", 3), ("zone", "zone", 0), ("rmp", "rpm", 1), ("kitten", "sitting", 3)];
        for (from, to, count) in cases {
            assert_eq!((edits(from, to), edits(to, from)), (count, count), "{from} {to}");
        }
        assert_eq!(nearest("zipff", ["uniform", "mixed", "zipf"])[0], "zipf");
        assert_eq!(nearest("LRU", ["2q", "arc", "lru"])[0], "lru", "in capitals");
        let names = ["cmr5900", "sac-emulator", "st8000as0002"];
        assert_eq!(nearest("st8", names)[0], "st8000as0002", "what it begins comes first");
    }

    #[test]
    fn a_wrong_name_lists_the_right_ones_nearest_first() {
        let error = Params::new(DECLARED).set("wimdow", "1").unwrap_err().to_string();
        assert_eq!(
            error,
            "no parameter `wimdow`; there are window, hours, rate, rule2, score, zone"
        );
        for (name, value) in [("zone", "0"), ("rule2", "maybe"), ("score", "x"), ("window", "-1")] {
            let error = Params::new(DECLARED).set(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("give"), "{error}");
        }
    }
}
