//! `--config FILE.toml`: the long options under their own names, settings in a table `[set]`.
//!
//! ```toml
//! trace = "synth:zipf"
//! policies = ["lru", "sac"]
//! cache = "2%"
//! pacing = "trace"
//! [set]
//! "sac.rule4" = "exact"
//! "drive.pb" = "real"
//! ```

use std::path::Path;

use anyhow::Context;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use shingle_core::params::nearest;

use crate::Usage;
use crate::cli::{self, AssumedOp, DriveTiming, Executor, Mode, Pacing, Partial, SetupArgs, Split};

/// The options of a file, with the names and meanings of the command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    trace: Option<String>,
    format: Option<String>,
    volume: Option<String>,
    reorder: Option<String>,
    #[serde(rename = "assume-op")]
    assume_op: Option<AssumedOp>,
    mode: Option<Mode>,
    requests: Option<u64>,
    #[serde(default, deserialize_with = "offset")]
    offset: Option<u64>,
    copies: Option<u32>,
    remap: Option<bool>,
    seed: Option<u64>,
    #[serde(default, deserialize_with = "list")]
    pub(crate) policies: Option<Vec<String>>,
    pub(crate) baseline: Option<String>,
    pub(crate) seeds: Option<u64>,
    #[serde(default, deserialize_with = "list")]
    drives: Option<Vec<String>>,
    #[serde(default, deserialize_with = "list")]
    translations: Option<Vec<String>>,
    #[serde(default, deserialize_with = "list")]
    cache: Option<Vec<String>>,
    ssd: Option<String>,
    pacing: Option<Pacing>,
    #[serde(rename = "as")]
    executor: Option<Executor>,
    depth: Option<usize>,
    #[serde(rename = "flush-every")]
    flush_every: Option<u64>,
    #[serde(default, deserialize_with = "speed")]
    speed: Option<u64>,
    split: Option<Split>,
    partial: Option<Partial>,
    #[serde(rename = "drive-timing")]
    drive_timing: Option<DriveTiming>,
    drain: Option<bool>,
    check: Option<bool>,
    threads: Option<usize>,
    #[serde(default, deserialize_with = "offset")]
    memory: Option<u64>,
    #[serde(default)]
    set: toml::Table,
}

impl Config {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Config> {
        read(path)
    }

    /// Creates options from names and values.
    ///
    /// # Errors
    /// If there is no such option, or a value has the wrong type: one line that names the option.
    pub(crate) fn of(given: serde_json::Map<String, serde_json::Value>) -> Result<Config, Usage> {
        // Each option alone first: an error in a value does not name its option.
        for (name, value) in &given {
            let alone = serde_json::Map::from_iter([(name.clone(), value.clone())]);
            let read: Result<Config, _> = serde_json::from_value(alone.into());
            if let Err(error) = read {
                let error = told(&error.to_string());
                let is_unknown = error.starts_with("there is no option");
                return Err(Usage(if is_unknown { error } else { format!("{name}: {error}") }));
            }
        }
        serde_json::from_value(given.into()).map_err(|error| Usage(told(&error.to_string())))
    }

    pub(crate) fn names() -> Vec<String> {
        // The error for an unknown name lists the known ones.
        let wrong = serde_json::json!({ "": null });
        let error = serde_json::from_value::<Config>(wrong).expect_err("no option has no name");
        error.to_string().split('`').skip(3).step_by(2).map(str::to_owned).collect()
    }

    /// Fills in options that the command line does not give.
    pub(crate) fn complete(&self, args: &mut SetupArgs) {
        let trace = &mut args.trace;
        fn or<T: Clone>(given: &mut Option<T>, configured: &Option<T>) {
            if given.is_none() {
                given.clone_from(configured);
            }
        }
        or(&mut trace.trace, &self.trace);
        or(&mut trace.format, &self.format);
        or(&mut trace.volume, &self.volume);
        or(&mut trace.reorder, &self.reorder);
        or(&mut trace.assume_op, &self.assume_op);
        or(&mut trace.mode, &self.mode);
        or(&mut trace.requests, &self.requests);
        or(&mut trace.offset, &self.offset);
        or(&mut trace.copies, &self.copies);
        or(&mut trace.seed, &self.seed);
        trace.remap |= self.remap.unwrap_or(false);
        let list = |given: &mut Vec<String>, configured: &Option<Vec<String>>| {
            if given.is_empty() {
                given.extend(configured.iter().flatten().cloned());
            }
        };
        list(&mut args.drives, &self.drives);
        list(&mut args.translations, &self.translations);
        list(&mut args.cache, &self.cache);
        or(&mut args.ssd, &self.ssd);
        or(&mut args.pacing, &self.pacing);
        or(&mut args.executor, &self.executor);
        or(&mut args.depth, &self.depth);
        or(&mut args.flush_every, &self.flush_every);
        or(&mut args.speed, &self.speed);
        or(&mut args.split, &self.split);
        or(&mut args.partial, &self.partial);
        or(&mut args.drive_timing, &self.drive_timing);
        or(&mut args.threads, &self.threads);
        or(&mut args.memory, &self.memory);
        args.drain |= self.drain.unwrap_or(false);
        args.check |= self.check.unwrap_or(false);
        // Later settings override earlier ones: those of the command line come last.
        let configured = self.set.iter().map(|(key, value)| (key.clone(), shown(value)));
        args.set = configured.chain(args.set.drain(..)).collect();
    }
}

/// Reads a file of options. Errors are one line, with the line number in the file.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read the configuration", path.display()))?;
    parse(&text, path)
}

/// Parses the text of a file; errors name `path`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Usage(format!("{}: line {line}: {}", path.display(), told(error.message()))).into()
    })
}

/// Returns the error on one line; for an unknown name, with the known names most like it.
fn told(message: &str) -> String {
    /// More names would hide the right one.
    const NAMED: usize = 5;
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown field"), quoted.next()) {
        (true, Some(wrong)) => {
            let near = nearest(wrong, quoted);
            let near = near[..near.len().min(NAMED)].join("`, `");
            format!("there is no option `{wrong}`; the nearest are `{near}`")
        }
        _ => in_plain_words(&message.replace('\n', " ")),
    }
}

/// Replaces the names of Rust types.
fn in_plain_words(message: &str) -> String {
    let Some((what, kind)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let most = match kind {
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => u64::MAX,
        _ => return message.to_owned(),
    };
    format!("{what}, expected a whole number from 0 to {most}")
}

/// Parses one value or several: separated by commas as on the command line, or as a list.
fn list<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<String>>, D::Error> {
    let one = |value: &toml::Value| match value {
        toml::Value::Array(_) | toml::Value::Table(_) | toml::Value::Datetime(_) => {
            Err(D::Error::custom("give one value, or a list of values such as [\"1%\", \"5%\"]"))
        }
        value => Ok(shown(value).split(',').map(|part| part.trim().to_owned()).collect::<Vec<_>>()),
    };
    let several = match &toml::Value::deserialize(value)? {
        toml::Value::Array(values) => values.iter().map(one).collect::<Result<Vec<_>, _>>()?,
        value => vec![one(value)?],
    };
    Ok(Some(several.concat()))
}

/// Parses a size, written as on the command line.
fn offset<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    cli::bytes(&shown(&toml::Value::deserialize(value)?)).map(Some).map_err(D::Error::custom)
}

/// Parses a factor, written as on the command line.
fn speed<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    cli::factor(&shown(&toml::Value::deserialize(value)?)).map(Some).map_err(D::Error::custom)
}

/// Formats a TOML value as on the command line.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Boolean(true) => "on".into(),
        toml::Value::Boolean(false) => "off".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    fn parsed(text: &str) -> Config {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_list_may_be_one_value() {
        for (text, values) in [
            ("cache = \"1%\"", &["1%"][..]),
            ("cache = \"1%, 5%\"", &["1%", "5%"]),
            ("cache = [\"1%\", \"5%\"]", &["1%", "5%"]),
            ("cache = 65536", &["65536"]),
            ("cache = [65536, \"2G\"]", &["65536", "2G"]),
        ] {
            assert_eq!(parsed(text).cache.expect("there are some"), values, "{text}");
        }
        assert_eq!(parsed("policies = \"lru,sac\"").policies.expect("some"), ["lru", "sac"]);
        assert_eq!(parsed("drives = \"cmr7200\"").drives.expect("some"), ["cmr7200"]);
        assert_eq!(parsed("translations = \"fluid\"").translations.expect("some"), ["fluid"]);
        let error = toml::from_str::<Config>("cache = [[1]]").expect_err("no list of lists");
        assert!(error.message().contains("give one value"), "{error}");
    }

    #[test]
    fn options_may_come_by_name_from_elsewhere() {
        let of = |json: serde_json::Value| match json {
            serde_json::Value::Object(fields) => Config::of(fields),
            other => panic!("{other} has no names"),
        };
        let json = serde_json::json!({ "policies": ["lru", "sac"], "speed": 2.5, "set": {"sac.rule2": false} });
        let mut args = SetupArgs::default();
        of(json).expect("options").complete(&mut args);
        assert_eq!((args.speed, args.set), (Some(2500), vec![("sac.rule2".into(), "off".into())]));
        for (json, wanted) in [
            (serde_json::json!({ "requests": "many" }), "requests: invalid type: string"),
            (serde_json::json!({ "pacing": "open" }), "expected `closed` or `trace`"),
            (serde_json::json!({ "polices": "lru" }), "the nearest are `policies`"),
        ] {
            let Err(error) = of(json) else { panic!("{wanted}") };
            let error = error.to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Config::names().contains(&"drive-timing".to_owned()), "{:?}", Config::names());
    }

    #[test]
    fn the_names_are_those_of_the_long_options() {
        let command =
            crate::commands::compare::Compare::augment_args(clap::Command::new("compare"));
        let longs: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for name in Config::names() {
            assert!(name == "trace" || longs.contains(&&*name), "{name} is none of {longs:?}");
        }
    }

    #[test]
    fn a_wrong_number_is_told_its_limits() {
        for (text, wanted) in [
            ("seed = -1", "integer `-1`, expected a whole number from 0 to 18446744073709551615"),
            ("copies = 4294967296", "`4294967296`, expected a whole number from 0 to 4294967295"),
            ("threads = \"two\"", "string \"two\", expected a whole number from 0 to"),
        ] {
            let error = toml::from_str::<Config>(text).expect_err(text);
            let told = told(error.message());
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_those_like_it() {
        let error = toml::from_str::<Config>("polices = \"lru\"").expect_err("no such option");
        let told = told(error.message());
        assert!(
            told.starts_with("there is no option `polices`; the nearest are `policies`,"),
            "{told}"
        );
    }
}
