//! The options, in one place: `--help` is made from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "papers")]
use crate::commands::reproduce::Reproduce;
use crate::commands::sweep::Sweep;
use crate::commands::trace::Trace;
#[cfg(feature = "manual")]
use crate::commands::{completions::Completions, man::Man};
#[cfg(feature = "store")]
use crate::commands::{
    follow::Follow, model::Model, probe::Probe, replay::Replay, store::Store, zoned::Zoned,
};
use crate::parquet::ParquetArgs;
use crate::report::PictureArgs;

/// Makes shingled (SMR) disks usable for random writes, and tells beforehand what you will get.
#[derive(Debug, Parser)]
#[command(name = "shingle", version, max_term_width = 98, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results only: no notes, no progress.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colour in tables.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Policies side by side: which serves this trace on this disk best, and why.
    #[command(after_help = "Example: shingle compare trace.csv.gz -p lru,most,sac -c 1%,5%")]
    Compare(Box<Compare>),
    /// One configuration: all counters, response times, the course over time.
    #[command(after_help = "Example: shingle run synth:zipf -p sac --set sac.rule4=exact")]
    Run(Box<Run>),
    /// A grid over any parameters: resumed after a kill, spread over machines, merged.
    #[command(
        after_help = "Example: shingle sweep trace.csv.gz -p lru,most,sac --vary cache=1%..8%,drive.pb=0.2%..0.8%"
    )]
    Sweep(Box<Sweep>),
    #[cfg(feature = "papers")]
    /// A paper's tables and figures: what it published beside what comes out here, with a verdict on
    /// each statement.
    #[command(after_help = "Example: shingle reproduce sac --figure 14 --scale 0.1")]
    Reproduce(Box<Reproduce>),
    /// What there is: policies, drives, translations, SSDs, trace formats, workloads; how the drive models hold
    /// against measurements.
    #[command(after_help = "Example: shingle list drives st8000as0002")]
    List(List),
    /// Look at traces, and make others of them.
    #[command(subcommand)]
    Trace(Trace),
    #[cfg(feature = "store")]
    /// A trace through a real cache, on files or devices: what `run` counts, measured.
    #[command(
        after_help = "Example: shingle replay trace.csv.gz --cache ssd.img --disk hdd.img -p sac --record live.shingle"
    )]
    Replay(Box<Replay>),
    #[cfg(feature = "store")]
    /// A recording of a real cache, followed by the simulator: whether it decides the same.
    #[command(after_help = "Example: shingle follow live.shingle")]
    Follow(Follow),
    #[cfg(feature = "store")]
    /// A real cache: an SSD before a disk, served as a block device.
    #[command(subcommand)]
    Store(Store),
    #[cfg(feature = "store")]
    /// Drive models for others to test against.
    #[command(subcommand)]
    Model(Model),
    #[cfg(feature = "store")]
    /// What a disk hides: its buffer, its bands, the cost of cleaning. Destroys what is on it.
    #[command(after_help = "Example: shingle probe --model st8000as0002 --dry-run")]
    Probe(Box<Probe>),
    #[cfg(feature = "store")]
    /// Zoned disks: files that behave as host-managed disks, and what a disk says of its zones.
    #[command(subcommand)]
    Zoned(Zoned),
    #[cfg(feature = "manual")]
    /// Completions of this command for a shell, on stdout.
    #[command(after_help = "Example: shingle completions bash")]
    Completions(Completions),
    #[cfg(feature = "manual")]
    /// Manual pages, from the same definitions as --help.
    #[command(after_help = "Example: shingle man --out man1")]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policies; `all` for all that go with the drive. [default: none,lru,lru-band,most,sac]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) policies: Vec<String>,
    /// Repeat a synthetic trace with so many seeds, from --seed on, and show least and most.
    /// [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Policy to run along, shown dimmed; `none` for no baseline. [default: lru; none when only
    /// translations are compared, with -p none]
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// End with the smallest cache of -c that meets a target, for each policy and drive: mean, p50, p99,
    /// p999 or max response time, hits, rmw, seconds of I/O done and left. As in p99=50ms or hits=80%;
    /// each of several by itself.
    #[arg(long = "target", value_delimiter = ',', value_name = "NAME=VALUE,…")]
    pub(crate) targets: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policy. [default: sac]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Write the commands that the disk got as a trace in CSV, each with its cause.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_out: Option<PathBuf>,
}

/// What `compare` and `run` share. Options that are not given come from `--config`, or else have
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
    #[arg(short, long, value_delimiter = ',', value_name = "SIZE,…", allow_hyphen_values = true)]
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
    /// What serves the requests: the executor of the papers, one request after the other, without journal,
    /// room ahead or idle time; or the store as it is served with `shingle store serve`, over models.
    /// [default: papers]
    #[arg(long = "as", value_enum)]
    pub(crate) executor: Option<Executor>,
    /// With --as store and --pacing closed: requests under way at a time. [default: 32]
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// With --as store: the client flushes so often, beside what the trace has. [default: never]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) flush_every: Option<u64>,
    /// Send each block by itself, destages in the order the policy names them (`4k`, as the papers'
    /// prototypes do). [default: off]
    #[arg(long, value_enum)]
    pub(crate) split: Option<Split>,
    /// Blocks that are written only in part: read the rest when it is not cached, or count them as
    /// whole. [default: fill]
    #[arg(long, value_enum)]
    pub(crate) partial: Option<Partial>,
    /// How drives are timed. [default: as each drive prefers]
    #[arg(long, value_enum)]
    pub(crate) drive_timing: Option<DriveTiming>,
    /// Destage and clean everything at the end, and count that in.
    #[arg(long)]
    pub(crate) drain: bool,
    /// Give every write a stamp and check every read against it.
    #[arg(long)]
    pub(crate) check: bool,
    /// Configurations run side by side. [default: one a core]
    #[arg(long, value_name = "N")]
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
    /// Options from a TOML file; those on the command line come first.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TraceArgs {
    /// A file (compressed or not), - for stdin, or a workload synth:NAME. [default: synth:mixed]
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    /// Format, if it is not to be found from the content; for CSV with its columns, as in
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
    /// Only the first N requests.
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) requests: Option<u64>,
    /// Shift the trace up on the disk.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) offset: Option<u64>,
    /// So many copies of the trace side by side, mixed request by request.
    #[arg(long, value_name = "N")]
    pub(crate) copies: Option<u32>,
    /// Pack the zones that the trace touches together.
    #[arg(long)]
    pub(crate) remap: bool,
    /// Seed of everything random. [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list; without it, what can be listed.
    #[arg(value_enum)]
    pub(crate) what: Option<Listed>,
    /// One of them, with its parameters. A drive may be `sheet:FILE`.
    pub(crate) name: Option<String>,
    /// As JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// The sheet of a drive on stdout, to make one's own of it for `-d sheet:FILE`.
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// What a cache keeps, and who leaves it.
    Policies,
    /// Models of disks.
    Drives,
    /// Layers that let a disk be written anywhere that cannot by itself.
    Translations,
    /// Models of the SSD that a cache is on.
    Ssds,
    /// Trace formats.
    Formats,
    /// Synthetic traces.
    Workloads,
    /// Drive models against published measurements.
    Anchors,
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

/// A number of requests: `5000`, `2M`.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok().and_then(|n: u64| n.checked_mul(factor));
    number.filter(|&n| n > 0).ok_or_else(|| format!("`{text}` is no number such as 5000 or 2M"))
}

/// A factor above zero, in thousandths.
pub(crate) fn factor(text: &str) -> Result<u64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no factor such as 2 or 0.5"))?;
    if !(0.001..=1_000_000.0).contains(&value) {
        return Err("the speed lies between 0.001 and 1000000".into());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok((value * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_of_itself() {
        use clap::CommandFactory;
        fn check(command: &clap::Command, path: &str) {
            let leaf = command.get_subcommands().next().is_none();
            if leaf || command.get_after_help().is_some() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&format!("Example: {path}")), "{path}: {help}");
            }
            for below in command.get_subcommands() {
                check(below, &format!("{path} {}", below.get_name()));
            }
        }
        check(&Arguments::command(), "shingle");
    }

    #[test]
    fn numbers_and_factors() {
        assert_eq!(number("2M"), Ok(2_000_000));
        assert!(number("0").is_err() && number("x").is_err() && number("99999999999999G").is_err());
        assert_eq!(factor("0.5"), Ok(500));
        assert!(factor("0").is_err() && factor("-1").is_err() && factor("NaN").is_err());
    }
}
