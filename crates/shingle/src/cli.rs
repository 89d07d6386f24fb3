//! Options shared by several commands.

use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::parquet::ParquetArgs;
use crate::report::PictureArgs;

/// Position in `--help` after the options of a command. (Those that clap adds are at 999.)
const LAST: usize = 998;

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Global {
    /// Print results only: no notes, no progress.
    #[arg(long, short, global = true, display_order = LAST)]
    pub(crate) quiet: bool,
    /// Colour in tables.
    #[arg(long, global = true, display_order = LAST, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// Options of `compare` and `run`. Options that are not given come from `--config`, or else have
/// the defaults shown.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Drives: names of `list drives`, `profile:FILE` of a probed disk, `sheet:FILE` of your own. [default:
    /// st8000as0002]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) drives: Vec<String>,
    /// Translations, each over each drive; `none` for the drive by itself, `all` for all that have room.
    /// A host-managed drive needs one. [default: none]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) translations: Vec<String>,
    /// Cache sizes: 256MiB, 2G, 5000b (blocks), 5% of the footprint (the different blocks
    /// accessed), 5%zones of the zones touched, 5%written of the zones written. [default: 15%]
    #[arg(short, long, value_delimiter = ',', value_name = "SIZE,…")]
    pub(crate) cache: Vec<String>,
    /// SSD the cache is on. [default: pcie-ssd]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) ssd: Option<String>,
    /// Set a parameter, as in sac.rule4=exact or drive.pb=real: OWNER is policy, translation, cache,
    /// drive, ssd or the name of a policy or translation.
    #[arg(long, value_name = "OWNER.NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// When requests come: the next when the last is done, or at their timestamps.
    /// [default: closed]
    #[arg(long, value_enum)]
    pub(crate) pacing: Option<Pacing>,
    /// With --pacing trace: how many times faster than the trace. [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) speed: Option<u64>,
    /// How requests are served: by the executor of the papers, one request after the other, without
    /// journal, room ahead or idle time; or by the store, as `shingle store serve` runs it, over
    /// models. [default: papers]
    #[arg(long = "as", value_enum)]
    pub(crate) executor: Option<Executor>,
    /// With --as store and --pacing closed: requests in flight at a time. [default: 32]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) depth: Option<usize>,
    /// With --as store: seconds between flushes of the client, besides those of the trace. [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) flush_every: Option<u64>,
    /// Send each block by itself, destages in the order the policy names them (`4k`, as the papers'
    /// prototypes do). [default: off]
    #[arg(long, value_enum)]
    pub(crate) split: Option<Split>,
    /// Blocks that are written only in part: read the rest when it is not cached, or count them as
    /// whole. [default: fill]
    #[arg(long, value_enum)]
    pub(crate) partial: Option<Partial>,
    /// Timing of drives. [default: as each drive prefers]
    #[arg(long, value_enum)]
    pub(crate) drive_timing: Option<DriveTiming>,
    /// Destage and clean everything at the end, and include that in the results.
    #[arg(long)]
    pub(crate) drain: bool,
    /// Give every write a stamp and check every read against it.
    #[arg(long)]
    pub(crate) check: bool,
    /// Configurations run in parallel. [default: one a core]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    /// Write the results as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the results as CSV, a line a run, a column for each figure of the JSON; `-` for
    /// stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) parquet: ParquetArgs,
    #[command(flatten)]
    pub(crate) pictures: PictureArgs,
    /// Record the data of pictures, also without drawing any.
    #[arg(skip)]
    pub(crate) course: bool,
    /// Memory limit for a native trace: a larger one stays in its file, and each run reads it
    /// again. [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Options from a TOML file; those on the command line override them.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TraceArgs {
    /// A file (compressed or not), - for stdin, or a workload synth:NAME. [default: synth:mixed]
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    /// Format, if it cannot be found from the content; for CSV with its columns, as in
    /// csv:time=1/us,op=2,offset=3/bytes,size=4/bytes.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Which volumes to read of a trace that holds several: NAME, or NAME,NAME or '*' (all) side
    /// by side.
    #[arg(long, value_name = "VOLUME")]
    pub(crate) volume: Option<String>,
    /// Requests that are out of order are sorted within this time (10s, 500ms), or `keep` their
    /// places. [default: 10s]
    #[arg(long, value_name = "TIME|keep")]
    pub(crate) reorder: Option<String>,
    /// Take all requests for reads or for writes, in formats that do not say what they are.
    #[arg(long, value_enum)]
    pub(crate) assume_op: Option<AssumedOp>,
    /// Requests that count: all, writes, reads. [default: rw]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Only the first N of the requests that count (--mode). [default: all]
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) requests: Option<u64>,
    /// Shift the trace up on the disk by this much. [default: 0]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) offset: Option<u64>,
    /// Run N copies of the trace side by side, mixed request by request. [default: 1]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub(crate) copies: Option<u32>,
    /// Pack the zones that the trace touches together.
    #[arg(long)]
    pub(crate) remap: bool,
    /// Seed of everything random. [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(crate) seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Rw,
    W,
    R,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AssumedOp {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pacing {
    Closed,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Executor {
    Papers,
    Store,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Split {
    Off,
    #[value(name = "4k")]
    #[serde(rename = "4k")]
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Partial {
    Fill,
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DriveTiming {
    Mechanics,
    Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl From<Pacing> for shingle_result::Pacing {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Closed => Self::Closed,
            Pacing::Trace => Self::Open,
        }
    }
}

impl From<DriveTiming> for shingle_drive::Timing {
    fn from(timing: DriveTiming) -> Self {
        match timing {
            DriveTiming::Mechanics => Self::Mechanics,
            DriveTiming::Cost => Self::Cost,
        }
    }
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write NAME=VALUE, as in sac.rule2=off")?;
    Ok((key.trim().into(), value.trim().into()))
}

pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    shingle_core::size::parse_bytes(text)
}

/// Parses a number of requests: `5000`, `2M`.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let number = shingle_core::size::parse_count(text).filter(|&n| n > 0);
    number.ok_or_else(|| "give a whole number from 1 to 2^64 - 1, such as 5000 or 2M".to_owned())
}

/// Parses a whole number. Its range is checked later, for all sources alike.
pub(crate) fn whole<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => {
            "that is too large; give a whole number, such as 10".to_owned()
        }
        _ => "give a whole number, such as 10".to_owned(),
    })
}

/// Parses a number of copies. Zero is refused later, for all sources alike.
pub(crate) fn copies(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

/// Parses seconds. Zero is refused later, for all sources alike.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give whole seconds, at least 1".to_owned())
}

/// Parses a factor above zero, in thousandths.
pub(crate) fn factor(text: &str) -> Result<u64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no factor such as 2 or 0.5"))?;
    if !(0.001..=1_000_000.0).contains(&value) {
        return Err("a factor lies between 0.001 and 1000000".into());
    }
    Ok((value * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_factors() {
        assert_eq!(number("2M"), Ok(2_000_000));
        assert!(number("0").is_err() && number("x").is_err() && number("99999999999999G").is_err());
        assert!(number("1.5").is_err());
        assert_eq!(whole::<u64>("0"), Ok(0));
        for text in ["x", "-1", "1.5", "", "2M"] {
            assert_eq!(
                whole::<u64>(text).unwrap_err(),
                "give a whole number, such as 10",
                "{text}"
            );
        }
        assert!(whole::<u32>("4294967296").unwrap_err().contains("too large"));
        assert_eq!(seconds("5"), Ok(5));
        assert_eq!(seconds("0.5"), Err("give whole seconds, at least 1".to_owned()));
        assert_eq!(factor("0.5"), Ok(500));
        assert!(factor("0").is_err() && factor("-1").is_err() && factor("NaN").is_err());
    }
}
