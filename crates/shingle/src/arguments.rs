//! The command line with all its commands: the source of `--help`.

use std::ffi::{OsStr, OsString};

#[cfg(feature = "manual")]
use clap::CommandFactory;
use clap::{Parser, Subcommand};
use shingle_core::registry::Registry;

use crate::cli::Global;
use crate::commands;
use crate::commands::bound::Bound;
use crate::commands::compare::Compare;
use crate::commands::curve::Curve;
use crate::commands::list::List;
#[cfg(feature = "papers")]
use crate::commands::reproduce::Reproduce;
use crate::commands::run::Run;
use crate::commands::sweep::Sweep;
use crate::commands::trace::Trace;
#[cfg(feature = "manual")]
use crate::commands::{completions::Completions, man::Man};
#[cfg(store)]
use crate::commands::{
    follow::Follow, model::Model, probe::Probe, replay::Replay, store::Store, zoned::Zoned,
};

/// Makes shingled (SMR) disks usable for random writes, and tells beforehand what you will get.
#[derive(Debug, Parser)]
#[command(name = "shingle", version, max_term_width = 98, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Policies side by side: which serves this trace on this disk best, and why.
    #[command(after_help = "Example: shingle compare trace.csv.gz -p lru,most,sac -c 1%,5%")]
    Compare(Box<Compare>),
    /// The least band rewrites that any policy needs on a trace, and how close some policies come
    /// to that.
    #[command(after_help = "Example: shingle bound trace.csv.gz -d sac-emulator -c 5% -p most,sac")]
    Bound(Box<Bound>),
    /// The effect of larger caches: hits, rewrites and I/O time over cache sizes, from a sample of
    /// the bands.
    #[command(after_help = "Example: shingle curve trace.csv.gz -p lru,sac -c 1%..64%")]
    Curve(Box<Curve>),
    /// One configuration in detail: all counters, response times, time series.
    #[command(after_help = "Example: shingle run synth:zipf -p sac --set sac.rule4=exact")]
    Run(Box<Run>),
    /// A grid over any parameters: resumed after a kill, spread over machines, merged.
    #[command(
        after_help = "Example: shingle sweep trace.csv.gz -p lru,most,sac --vary cache=1%..8%,drive.pb=0.2%..0.8%"
    )]
    Sweep(Box<Sweep>),
    #[cfg(feature = "papers")]
    /// A paper's tables and figures: published values beside computed ones, with a verdict on each
    /// statement.
    #[command(after_help = "Example: shingle reproduce sac --figure 14 --scale 0.1")]
    Reproduce(Box<Reproduce>),
    /// Lists policies, drives, translations, SSDs, trace formats and workloads; compares the drive
    /// models with measurements.
    #[command(after_help = "Example: shingle list drives st8000as0002")]
    List(List),
    /// Look at traces, and make new ones from them.
    #[command(subcommand)]
    Trace(Trace),
    #[cfg(store)]
    /// Run a trace through a real cache, on files or devices: what `run` counts, measured.
    #[command(
        after_help = "Example: shingle replay trace.csv.gz --cache ssd.img --disk hdd.img -p sac --record live.shingle"
    )]
    Replay(Box<Replay>),
    #[cfg(store)]
    /// Repeat a recording of a real cache in the simulator: does it decide the same?
    #[command(after_help = "Example: shingle follow live.shingle")]
    Follow(Follow),
    #[cfg(store)]
    /// A real cache: an SSD before a disk, served as a block device.
    #[command(subcommand)]
    Store(Store),
    #[cfg(store)]
    /// Drive models to test other programs with.
    #[command(subcommand)]
    Model(Model),
    #[cfg(store)]
    /// Measure what a disk hides: its buffer, its bands, the cost of cleaning. Destroys the data on
    /// it.
    #[command(after_help = "Example: shingle probe --model st8000as0002 --dry-run")]
    Probe(Box<Probe>),
    #[cfg(store)]
    /// Zoned disks (host-managed ones, files that behave like them, and other disks that are written in zones): make them
    /// writable anywhere, serve them, show their zones.
    #[command(subcommand)]
    Zoned(Zoned),
    #[cfg(feature = "manual")]
    /// Print completions of this command for a shell.
    #[command(after_help = "Example: shingle completions bash")]
    Completions(Completions),
    #[cfg(feature = "manual")]
    /// Manual pages, from the same definitions as --help.
    #[command(after_help = "Example: shingle man --out man1")]
    Man(Man),
}

impl Arguments {
    /// Returns the arguments of the process.
    pub(crate) fn given() -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(negative_with_option(std::env::args_os()))
    }
}

/// Joins a word such as `-1` or `-5ms` to the option before it, as in `--seed=-1`, so that the option says what is wrong
/// with its value. Options do not begin with a digit, and clap would call the word an unknown one.
fn negative_with_option(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut options = true;
    for word in given {
        options &= word != "--";
        let negative = matches!(word.as_encoded_bytes(), [b'-', b'0'..=b'9' | b'.', ..]);
        match words.last_mut().filter(|last| options && negative && is_option(last)) {
            Some(option) => {
                if option.as_encoded_bytes().starts_with(b"--") {
                    option.push("=");
                }
                option.push(word);
            }
            None => words.push(word),
        }
    }
    words
}

/// Returns whether `word` is an option without a value.
fn is_option(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes[0] == b'-' && !bytes.contains(&b'=')
}

/// Executes the command in `arguments`.
pub(crate) fn execute(arguments: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Compare(args) => commands::compare::execute(args, global, registry),
        Command::Bound(args) => commands::bound::execute(args, global, registry),
        Command::Curve(args) => commands::curve::execute(args, global, registry),
        Command::Run(args) => commands::run::execute(args, global, registry),
        Command::Sweep(args) => commands::sweep::execute(args, global, registry),
        #[cfg(feature = "papers")]
        Command::Reproduce(args) => commands::reproduce::execute(args, global, registry),
        Command::List(args) => commands::list::execute(args, global, registry),
        Command::Trace(args) => commands::trace::execute(args, global),
        #[cfg(store)]
        Command::Replay(args) => commands::replay::execute(args, global, registry),
        #[cfg(store)]
        Command::Follow(args) => commands::follow::execute(args, registry),
        #[cfg(store)]
        Command::Store(args) => commands::store::execute(args, global, registry),
        #[cfg(store)]
        Command::Model(args) => commands::model::execute(args, global),
        #[cfg(store)]
        Command::Probe(args) => commands::probe::execute(args, global, registry),
        #[cfg(store)]
        Command::Zoned(args) => commands::zoned::execute(args, global),
        #[cfg(feature = "manual")]
        Command::Completions(args) => {
            commands::completions::execute(args, &mut Arguments::command())
        }
        #[cfg(feature = "manual")]
        Command::Man(args) => commands::man::execute(args, Arguments::command(), global),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_negative_value_goes_to_its_option() {
        for (given, joined) in [
            ("run --seed -1", "run --seed=-1"),
            ("run -c -5% -q", "run -c-5% -q"),
            ("run --offset=1 -1M", "run --offset=1 -1M"),
            ("run -1 - -1", "run -1 - -1"),
            ("run --seed -c", "run --seed -c"),
            ("run -- -c -1", "run -- -c -1"),
        ] {
            assert_eq!(
                negative_with_option(given.split(' ').map(OsString::from)),
                *joined.split(' ').collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn every_command_shows_an_example_of_itself() {
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
}
