//! `shingle completions`: completions of the command for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn execute(args: &Completions, command: &mut Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "shingle", &mut script);
    print(&String::from_utf8(script)?)
}
