//! Output: results to stdout, remarks to stderr, files complete or not at all.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;
use shingle_result::Program;
use shingle_trace::write::Destination;

use crate::Usage;

pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    written.and_then(|()| out.flush()).context("stdout: cannot write the results")
}

/// Prints a remark, unless `quiet`.
pub(crate) fn note(text: &str, quiet: bool) {
    if !quiet {
        say(text);
    }
}

/// Prints a line on stderr. A closed pipe, as of `head` behind `2>&1`, is ignored, and work
/// continues. (`eprintln` would panic.) Terminal control characters, which file names may contain,
/// are replaced.
pub(crate) fn say(text: &str) {
    if !STDERR_STOPPED.load(Ordering::Relaxed) {
        let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}");
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

static STDERR_STOPPED: AtomicBool = AtomicBool::new(false);

/// Stops all output to stderr: it is a full pipe, and writing would block forever.
#[cfg(store)]
pub(crate) fn stop_stderr() {
    STDERR_STOPPED.store(true, Ordering::Relaxed);
}

/// Fails if `path` cannot be written. Stdout, and outputs that are no files, fail only when
/// written.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let checked = match Destination::of(path) {
        Destination::Direct(path) if path.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Destination::Direct(_) => Ok(()),
        Destination::ViaTemporary { partial, .. } => {
            std::fs::write(&partial, "").and_then(|()| std::fs::remove_file(&partial))
        }
    };
    checked.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Fails if writing `path` would overwrite one of `used`: a trace, an SSD or a disk.
pub(crate) fn check_apart(path: &Path, used: &[&Path]) -> Result<(), Usage> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    match used.iter().any(|used| real(used) == real(path)) {
        true => {
            let path = path.display();
            Err(Usage(format!("{path}: that file is used by this command; write to another")))
        }
        false => Ok(()),
    }
}

/// Returns whether the file begins like results of this program.
pub(crate) fn are_results(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut begin));
    let has = |text: &[u8]| begin.windows(text.len()).any(|window| window == text);
    // (JSON, CSV, Parquet, pages.)
    read.is_ok() && (has(b"\"shingle.") || has(b"trace.hash") || has(b"PAR1") || has(b"<html"))
}

/// Writes `text` to `path`, or to stdout for `-`.
pub(crate) fn text(text: &str, path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print(text);
    }
    bytes(text.as_bytes(), path)
}

pub(crate) fn bytes(bytes: &[u8], path: &Path) -> anyhow::Result<()> {
    let destination = Destination::of(path);
    let written = destination.create().and_then(|mut file| file.write_all(bytes));
    destination
        .finish(written)
        .with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Attempts several outputs: an error of one does not prevent the others.
#[derive(Default)]
pub(crate) struct Tried {
    failed: Vec<anyhow::Error>,
}

impl Tried {
    pub(crate) fn add(&mut self, done: anyhow::Result<()>) {
        self.failed.extend(done.err());
    }

    /// Fails if an output failed; all errors but the last are printed.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        // A closed pipe matters less than a failure.
        self.failed.sort_by_key(|error| !crate::is_broken_pipe(error));
        let Some(last) = self.failed.pop() else { return Ok(()) };
        for error in self.failed.iter().filter(|error| !crate::is_broken_pipe(error)) {
            note(&format!("shingle: {error:#}"), false);
        }
        Err(last)
    }
}

pub(crate) fn json(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    text(&(serde_json::to_string_pretty(value)? + "\n"), path)
}

/// Returns the command as it was given, without the path of the program.
pub(crate) fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/%+@".contains(c);
    let given = std::env::args().skip(1).map(|word| match word.chars().all(plain) {
        true if !word.is_empty() => word,
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    });
    std::iter::once("shingle".to_owned()).chain(given).collect::<Vec<_>>().join(" ")
}

/// Returns the program's entry for results.
pub(crate) fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").into(), command: command() }
}
