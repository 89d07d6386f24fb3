//! `--trace-out`: writes the commands that a disk received, as a trace that shingle reads.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use shingle_core::units::{BLOCK_BYTES, Op};
use shingle_sim::watch::{Command, Log};
use shingle_trace::write::Destination;

use crate::Usage;
use crate::output;

/// A file of commands. It gets its final name when it is complete.
pub(crate) struct TraceOut {
    path: PathBuf,
    destination: Destination,
    /// Shared with the run, which writes.
    file: Arc<Mutex<Lines>>,
}

/// Writes lines; after an error it writes nothing more.
struct Lines {
    to: BufWriter<File>,
    failed: Option<io::Error>,
}

/// The columns. The CSV reader needs the first four.
const HEADER: &str = "time_us,op,offset_bytes,size_bytes,cause,took_us";

impl TraceOut {
    /// Fails now, not after the run, if the file cannot be written.
    pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
        if path == Path::new("-") {
            return Err(Usage("--trace-out takes a file, not `-`".into()).into());
        }
        output::check_writable(path)
    }

    pub(crate) fn new(path: &Path) -> anyhow::Result<TraceOut> {
        let destination = Destination::of(path);
        let file = destination.create();
        let file = file.with_context(|| format!("{}: cannot write the trace", path.display()))?;
        let mut lines = Lines { to: BufWriter::new(file), failed: None };
        lines.write(|to| writeln!(to, "{HEADER}"));
        Ok(TraceOut { path: path.into(), destination, file: Arc::new(Mutex::new(lines)) })
    }

    /// Returns a log that writes a line for each command.
    pub(crate) fn log(&self) -> Log {
        let file = self.file.clone();
        Box::new(move |command| {
            let mut lines = file.lock().unwrap_or_else(PoisonError::into_inner);
            lines.write(|to| line(to, command));
        })
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let written = {
            let mut lines = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            lines.write(|to| to.flush());
            lines.failed.take().map_or(Ok(()), Err)
        };
        self.destination
            .finish(written)
            .with_context(|| format!("{}: cannot write the trace", self.path.display()))
    }
}

impl Lines {
    fn write(&mut self, what: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = what(&mut self.to).err();
        }
    }
}

fn line(to: &mut impl Write, command: &Command) -> io::Result<()> {
    let (at, took) = (command.at.0, command.done.since(command.at).0);
    let op = match command.io.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    };
    writeln!(
        to,
        "{}.{:03},{op},{},{},{},{}.{:03}",
        at / 1000,
        at % 1000,
        command.io.block.bytes(),
        command.io.count * BLOCK_BYTES,
        command.cause.name(),
        took / 1000,
        took % 1000,
    )
}
