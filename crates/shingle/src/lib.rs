//! The command line, as a library: a program that adds policies of its own to the registry gets
//! the whole command with one call.
//!
//! ```no_run
//! # use shingle_core::registry::Registry;
//! let mut registry = Registry::default();
//! // registry.add::<MyPolicy>();
//! shingle::main_with(&registry);
//! ```

mod cli;
mod commands;
mod config;
mod lines;
mod output;
mod parquet;
mod progress;
mod report;
mod table;
mod trace_out;

use std::process::ExitCode;

use clap::Parser;
use shingle_core::registry::{Registry, UnknownPolicy};
use shingle_drive::DriveError;
use shingle_papers::runner::PaperError;
use shingle_sim::experiment::ExperimentError;
use shingle_sweep::SweepError;
use shingle_trace::TraceError;

/// A wrong option or name, as opposed to bad data: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Runs the command with the arguments of the process and the policies of `registry`. Returns 0 if
/// it was done, 1 for bad data or a failure, 2 for a wrong option or name.
#[must_use]
pub fn main_with(registry: &Registry) -> ExitCode {
    let arguments = cli::Arguments::parse();
    match commands::execute(&arguments, registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr)]
            {
                eprintln!("shingle: {error:#}");
            }
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let usage = error.chain().any(|cause| {
        cause.is::<Usage>()
            || matches!(cause.downcast_ref(), Some(ExperimentError::Usage(_)))
            || matches!(cause.downcast_ref(), Some(DriveError::UnknownDrive { .. }))
            || cause.is::<UnknownPolicy>()
            || cause.downcast_ref::<PaperError>().is_some_and(PaperError::is_usage)
            || cause.downcast_ref::<SweepError>().is_some_and(SweepError::is_usage)
            || cause.downcast_ref::<TraceError>().is_some_and(TraceError::is_usage)
    });
    if usage { 2 } else { 1 }
}

/// Whoever read our output has seen enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<TraceError>().is_some_and(TraceError::is_unread)
    })
}
