//! `shingle man`: manual pages.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};

use crate::cli::Global;
use crate::output::{note, print};

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the page of each command into this folder. [default: that of shingle itself, on stdout]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(args: &Man, command: Command, global: &Global) -> anyhow::Result<()> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return print(&String::from_utf8(page)?);
    };
    let wrong = || format!("{}: cannot write the manual pages", folder.display());
    std::fs::create_dir_all(folder).with_context(wrong)?;
    clap_mangen::generate_to(command, folder).with_context(wrong)?;
    note(&format!("the pages are in {}", folder.display()), global.quiet);
    Ok(())
}
