//! `shingle completions`: what a shell needs to complete the command.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Arguments;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn execute(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "shingle", &mut script);
    print(&String::from_utf8(script)?)
}
