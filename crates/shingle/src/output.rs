//! Where results and talk go: results to stdout, talk to stderr, files whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;

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

/// Fails if `path` cannot be written. Stdout always can.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let beside = beside(path);
    let written = std::fs::write(&beside, "").and_then(|()| std::fs::remove_file(&beside));
    written.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Where a file is written before it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    beside.into()
}

/// Writes `text` to `path`, or to stdout for `-`.
pub(crate) fn text(text: &str, path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print(text);
    }
    // Written beside and renamed, so that no reader ever sees half a file.
    let beside = beside(path);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Writes `value` as JSON.
pub(crate) fn json(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    text(&(serde_json::to_string_pretty(value)? + "\n"), path)
}

/// Writes `values` as CSV: a line each, a column for each figure of their JSON, its path joined by
/// dots. What is null or missing is empty; lists are left out.
pub(crate) fn csv(values: &[impl Serialize], path: &Path) -> anyhow::Result<()> {
    let lines: Vec<Vec<(String, String)>> = values
        .iter()
        .map(|value| {
            let mut line = Vec::new();
            flatten("", &serde_json::to_value(value)?, &mut line);
            Ok(line)
        })
        .collect::<anyhow::Result<_>>()?;
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in lines.iter().flatten() {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns)?;
    for line in &lines {
        let figure = |column: &&str| line.iter().find(|(name, _)| name == column);
        writer.write_record(columns.iter().map(|column| figure(column).map_or("", |(_, f)| f)))?;
    }
    text(&String::from_utf8(writer.into_inner()?)?, path)
}

fn flatten(name: &str, value: &Value, line: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{field}"), value, line);
            }
        }
        Value::Array(_) => {}
        Value::Null => line.push((name.into(), String::new())),
        Value::String(text) => line.push((name.into(), text.clone())),
        figure => line.push((name.into(), figure.to_string())),
    }
}
