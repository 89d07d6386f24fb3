//! One file a command.

mod anchors;
mod compare;
pub(crate) mod completions;
pub(crate) mod follow;
mod list;
mod listening;
pub(crate) mod man;
pub(crate) mod model;
pub(crate) mod probe;
pub(crate) mod replay;
mod reproduce;
mod run;
mod setup;
mod signals;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod trace;

use shingle_core::registry::Registry;

use crate::cli::{Arguments, Command};

/// Carries out what `arguments` ask for.
pub(crate) fn execute(arguments: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    match &arguments.command {
        Command::Compare(args) => compare::execute(args, arguments, registry),
        Command::Run(args) => run::execute(args, arguments, registry),
        Command::Sweep(args) => sweep::execute(args, arguments, registry),
        Command::Reproduce(args) => reproduce::execute(args, arguments, registry),
        Command::List(args) => list::execute(args, arguments, registry),
        Command::Trace(args) => trace::execute(args, arguments),
        Command::Replay(args) => replay::execute(args, arguments, registry),
        Command::Follow(args) => follow::execute(args, registry),
        Command::Store(args) => store::execute(args, arguments, registry),
        Command::Model(args) => model::execute(args, arguments),
        Command::Probe(args) => probe::execute(args, arguments, registry),
        Command::Completions(args) => completions::execute(args),
        Command::Man(args) => man::execute(args, arguments),
    }
}
