//! One file a command.

mod anchors;
mod compare;
#[cfg(feature = "manual")]
pub(crate) mod completions;
#[cfg(feature = "store")]
pub(crate) mod follow;
mod list;
#[cfg(feature = "store")]
mod listening;
#[cfg(feature = "manual")]
pub(crate) mod man;
#[cfg(feature = "store")]
pub(crate) mod model;
#[cfg(feature = "store")]
pub(crate) mod probe;
#[cfg(feature = "store")]
pub(crate) mod replay;
#[cfg(feature = "papers")]
pub(crate) mod reproduce;
mod run;
mod setup;
#[cfg(feature = "store")]
mod signals;
#[cfg(feature = "store")]
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod trace;
#[cfg(feature = "store")]
pub(crate) mod zoned;

use shingle_core::registry::Registry;

use crate::cli::{Arguments, Command};

/// Carries out what `arguments` ask for.
pub(crate) fn execute(arguments: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    match &arguments.command {
        Command::Compare(args) => compare::execute(args, arguments, registry),
        Command::Run(args) => run::execute(args, arguments, registry),
        Command::Sweep(args) => sweep::execute(args, arguments, registry),
        #[cfg(feature = "papers")]
        Command::Reproduce(args) => reproduce::execute(args, arguments, registry),
        Command::List(args) => list::execute(args, arguments, registry),
        Command::Trace(args) => trace::execute(args, arguments),
        #[cfg(feature = "store")]
        Command::Replay(args) => replay::execute(args, arguments, registry),
        #[cfg(feature = "store")]
        Command::Follow(args) => follow::execute(args, registry),
        #[cfg(feature = "store")]
        Command::Store(args) => store::execute(args, arguments, registry),
        #[cfg(feature = "store")]
        Command::Model(args) => model::execute(args, arguments),
        #[cfg(feature = "store")]
        Command::Probe(args) => probe::execute(args, arguments, registry),
        #[cfg(feature = "store")]
        Command::Zoned(args) => zoned::execute(args, arguments),
        #[cfg(feature = "manual")]
        Command::Completions(args) => completions::execute(args),
        #[cfg(feature = "manual")]
        Command::Man(args) => man::execute(args, arguments),
    }
}
