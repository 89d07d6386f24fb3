//! Where results and talk go: results to stdout, talk to stderr, files whole or not at all.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;
use shingle_result::Program;
use shingle_trace::write::Destination;

use crate::Usage;

/// Prints a result.
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

/// A line on stderr. Whoever read that may have gone, as `head` does behind `2>&1`: then nobody is told, and the work goes
/// on. (`eprintln` would panic.) Names of files are in it, which may hold what a terminal obeys.
pub(crate) fn say(text: &str) {
    if !NOBODY_READS.load(Ordering::Relaxed) {
        let text = text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}");
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

static NOBODY_READS: AtomicBool = AtomicBool::new(false);

/// Stderr is a pipe that is full: nothing more is said, as that would be waited for without end.
#[cfg(feature = "store")]
pub(crate) fn nobody_reads() {
    NOBODY_READS.store(true, Ordering::Relaxed);
}

/// Fails if `path` cannot be written. Stdout always can, and what is no file shows it only then.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let checked = match Destination::of(path) {
        Destination::Straight(path) if path.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Destination::Straight(_) => Ok(()),
        Destination::Beside { partial, .. } => {
            std::fs::write(&partial, "").and_then(|()| std::fs::remove_file(&partial))
        }
    };
    checked.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Fails if what is written to `path` would take the place of one of `used`, a trace, an SSD or a disk, and of all that it holds.
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

/// Whether the file begins as results of this program do.
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

/// Writes `bytes` to `path`.
pub(crate) fn bytes(bytes: &[u8], path: &Path) -> anyhow::Result<()> {
    let destination = Destination::of(path);
    let written = destination.create().and_then(|mut file| file.write_all(bytes));
    destination
        .finish(written)
        .with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Outputs of which each is tried, whatever became of those before it.
#[derive(Default)]
pub(crate) struct Tried {
    failed: Vec<anyhow::Error>,
}

impl Tried {
    /// Remembers how an output went.
    pub(crate) fn add(&mut self, done: anyhow::Result<()>) {
        self.failed.extend(done.err());
    }

    /// Fails if an output did; what failed before the last of them is told.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        // A reader that has seen enough is no failure beside one.
        self.failed.sort_by_key(|error| !crate::is_broken_pipe(error));
        let Some(last) = self.failed.pop() else { return Ok(()) };
        for error in self.failed.iter().filter(|error| !crate::is_broken_pipe(error)) {
            note(&format!("shingle: {error:#}"), false);
        }
        Err(last)
    }
}

/// Writes `value` as JSON.
pub(crate) fn json(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    text(&(serde_json::to_string_pretty(value)? + "\n"), path)
}

/// The command as it was given, but for the way to the program.
pub(crate) fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/%+@".contains(c);
    let given = std::env::args().skip(1).map(|word| match word.chars().all(plain) {
        true if !word.is_empty() => word,
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    });
    std::iter::once("shingle".to_owned()).chain(given).collect::<Vec<_>>().join(" ")
}

/// The program, as results have it.
pub(crate) fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").into(), command: command() }
}
