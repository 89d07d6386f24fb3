//! The command line as a library: a program that adds its own policies to the registry gets
//! the whole command with one call.
//!
//! ```no_run
//! # use shingle_core::registry::Registry;
//! let mut registry = Registry::default();
//! // registry.add::<MyPolicy>();
//! shingle::main_with(&registry);
//! ```
//!
//! The commands are also functions ([`api`]), for other front ends.
//!
//! The features of the crate are parts of the command; `Cargo.toml` says what each adds.

pub mod api;
mod arguments;
mod cli;
mod commands;
mod config;
mod left_out;
mod lines;
mod listener;
#[cfg(store)]
mod log;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "left_out/parquet.rs"]
mod parquet;
mod progress;
#[cfg(feature = "pictures")]
mod report;
#[cfg(not(feature = "pictures"))]
#[path = "left_out/report.rs"]
mod report;
mod table;
mod trace_out;

/// Parsers of outside input, for fuzzers.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::commands::store::serve::fuzzed::{file, request};
}

use std::process::ExitCode;

use shingle_core::registry::{Registry, UnknownPolicy};
use shingle_drive::DriveError;
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

/// Runs the command with the arguments of the process and the policies of `registry`. Returns 0 on
/// success, 1 for bad data or a failure, 2 for a wrong option or name.
#[must_use]
pub fn main_with(registry: &Registry) -> ExitCode {
    let arguments = match arguments::Arguments::given() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    match arguments::execute(&arguments, registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&format!("shingle: {error:#}"));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Prints clap's message, help or error, and what this build leaves out.
fn refuse(error: &clap::Error) -> ExitCode {
    // If nobody reads the output, nothing can be done.
    let _ = error.print();
    if let Some(hint) = left_out::hint(error) {
        output::note(&hint, false);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let usage = error.chain().any(|cause| {
        cause.is::<Usage>()
            || matches!(cause.downcast_ref(), Some(ExperimentError::Usage(_)))
            || matches!(
                cause.downcast_ref(),
                Some(DriveError::UnknownDrive { .. } | DriveError::RealDisk { .. })
            )
            || cause.is::<UnknownPolicy>()
            || is_usage_of_papers(cause)
            || cause.downcast_ref::<SweepError>().is_some_and(SweepError::is_usage)
            || cause.downcast_ref::<TraceError>().is_some_and(TraceError::is_usage)
    });
    if usage { 2 } else { 1 }
}

#[cfg(feature = "papers")]
fn is_usage_of_papers(cause: &(dyn std::error::Error + 'static)) -> bool {
    use shingle_papers::runner::PaperError;
    cause.downcast_ref::<PaperError>().is_some_and(PaperError::is_usage)
}

#[cfg(not(feature = "papers"))]
fn is_usage_of_papers(_: &(dyn std::error::Error + 'static)) -> bool {
    false
}

/// Returns whether the reader of our output has closed the pipe, which is no failure.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<TraceError>().is_some_and(TraceError::is_unread)
    })
}
