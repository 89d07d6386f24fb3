//! Where results and talk go: results to stdout, talk to stderr, files whole or not at all.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// Prints a result.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// Prints a remark, unless `quiet`.
pub(crate) fn note(text: &str, quiet: bool) {
    if !quiet {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("{text}");
        }
    }
}

/// Fails now, not after the work is done, if `path` cannot be written.
pub(crate) fn check_writable(path: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else { return Ok(()) };
    let beside = beside(path);
    let written = std::fs::write(&beside, "").and_then(|()| std::fs::remove_file(&beside));
    written.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Where a file is written before it is whole.
fn beside(path: &Path) -> std::path::PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    beside.into()
}

/// Writes `value` as JSON to `path`, or to stdout for `-`.
pub(crate) fn json(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    if path == Path::new("-") {
        return print(&text);
    }
    // Written beside and renamed, so that no reader ever sees half a file.
    let beside = beside(path);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(|| format!("{}: cannot write the results", path.display()))
}
