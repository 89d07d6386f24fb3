//! The log of a server: lines with time, level and fields, on stderr or in the journal.

mod lines;

use std::os::unix::fs::MetadataExt;

use anyhow::Context;
use clap::ValueEnum;
use serde::Deserialize;
use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

pub(crate) use self::lines::{FlushOnDrop, Lines};

/// Format of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// The journal if stderr is connected to it, else `text`.
    #[default]
    Auto,
    /// Time, level, message, fields.
    Text,
    /// The same as JSON lines.
    Json,
    /// The journal of systemd, with separate fields.
    Journal,
}

/// Least severe level that is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// Data is lost, or something does not work.
    Error,
    /// Something is wrong, but serving continues.
    Warn,
    /// Events: clients, addresses, changes.
    #[default]
    Info,
}

/// The name in files.
impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("none is left out").get_name())
    }
}

impl Level {
    fn filter(self) -> LevelFilter {
        match self {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
        }
    }
}

/// A running log. Dropping it writes all lines.
pub(crate) struct Log {
    levels: Levels,
    /// (The journal needs none.)
    _lines: Option<FlushOnDrop>,
}

/// Changes the level, from any thread.
#[derive(Clone)]
pub(crate) struct Levels(reload::Handle<LevelFilter, Registry>);

impl Log {
    /// Starts the log of the process.
    pub(crate) fn begin(format: Format, level: Level) -> anyhow::Result<Log> {
        let format = match format {
            Format::Auto if leads_to_journal() => Format::Journal,
            Format::Auto => Format::Text,
            other => other,
        };
        let (filter, handle) = reload::Layer::new(level.filter());
        let levels = Levels(handle);
        if format == Format::Journal {
            let journal = tracing_journald::layer()
                .context("--log journal: there is no journal here; say --log text or json")?;
            let layer = journal.with_field_prefix(Some("SHINGLE".to_owned()));
            tracing_subscriber::registry().with(filter).with(layer).try_init()?;
            return Ok(Log { levels, _lines: None });
        }
        let lines = Lines::begin(std::io::stderr(), |_, lost| {
            error!(
                lost,
                "{lost} lines of the log are lost: they were not read, or could not be written"
            );
        })?;
        let to = lines.clone();
        let layer =
            fmt::layer().with_writer(move || to.clone()).with_ansi(false).with_target(false);
        let layer = match format {
            Format::Json => layer.json().flatten_event(true).boxed(),
            _ => layer.boxed(),
        };
        tracing_subscriber::registry().with(filter).with(layer).try_init()?;
        Ok(Log { levels, _lines: Some(FlushOnDrop(lines)) })
    }

    pub(crate) fn levels(&self) -> Levels {
        self.levels.clone()
    }
}

impl Levels {
    /// Sets the level. Returns whether it was another one.
    pub(crate) fn set(&self, level: Level) -> bool {
        let new = level.filter();
        let mut changes = false;
        // (It fails only when the subscriber is gone.)
        let _ = self.0.modify(|filter| changes = std::mem::replace(filter, new) != new);
        changes
    }
}

/// Returns whether stderr is connected to the journal. The service manager names that file, so a
/// process that has redirected stderr since is recognised.
fn leads_to_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stderr) = std::fs::metadata("/proc/self/fd/2") else { return false };
    stream == format!("{}:{}", stderr.dev(), stderr.ino())
}
