//! Where results and talk go: results to stdout, talk to stderr, files whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;
use shingle_report::page::Making;

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
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    beside.into()
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
    // Written beside and renamed, so that no reader ever sees half a file.
    let beside = beside(path);
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(|| format!("{}: cannot write the results", path.display()))
}

/// Writes `value` as JSON.
pub(crate) fn json(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    text(&(serde_json::to_string_pretty(value)? + "\n"), path)
}

/// Makes a folder for pictures.
pub(crate) fn folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder for pictures", folder.display()))
}

/// Writes a picture as `FOLDER/NAME.svg`, or as PNG.
pub(crate) fn picture(svg: &str, folder: &Path, name: &str, png: bool) -> anyhow::Result<()> {
    if png {
        return bytes(&shingle_report::png::png(svg)?, &folder.join(format!("{name}.png")));
    }
    text(&shingle_report::chart::alone(svg), &folder.join(format!("{name}.svg")))
}

/// What a page says of its own making: the command as it was given, but for the way to the program.
pub(crate) fn making() -> Making {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/%+@".contains(c);
    let given = std::env::args().skip(1).map(|word| match word.chars().all(plain) {
        true if !word.is_empty() => word,
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    });
    let command = std::iter::once("shingle".to_owned()).chain(given).collect::<Vec<_>>().join(" ");
    Making { command, version: env!("CARGO_PKG_VERSION") }
}

/// A line of figures: path of each in the JSON, joined by dots, and its value.
pub(crate) type Line = Vec<(String, Value)>;

/// The figures of `values`, a line each. Lists are left out.
pub(crate) fn lines(values: &[impl Serialize]) -> anyhow::Result<Vec<Line>> {
    let line = |value| {
        let mut line = Vec::new();
        flatten("", serde_json::to_value(value)?, &mut line);
        Ok(line)
    };
    values.iter().map(line).collect()
}

/// The names of all figures that any line has, in the order in which they come.
pub(crate) fn columns(lines: &[Line]) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for line in lines {
        // Behind the one before it, if that is known: lines of one kind agree.
        let mut at = 0;
        for (name, _) in line {
            match columns.iter().position(|column| column == name) {
                Some(found) => at = found + 1,
                None => {
                    columns.insert(at, name);
                    at += 1;
                }
            }
        }
    }
    columns
}

/// The value of `column` in `line`; null if there is none.
pub(crate) fn value<'a>(line: &'a Line, column: &str) -> &'a Value {
    line.iter().find(|(name, _)| name == column).map_or(&Value::Null, |(_, value)| value)
}

/// A value as it stands in a table.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        figure => figure.to_string(),
    }
}

/// Writes CSV: a column for each figure. What is null or missing is empty.
pub(crate) fn csv(lines: &[Line], path: &Path) -> anyhow::Result<()> {
    let columns = columns(lines);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns)?;
    for line in lines {
        writer.write_record(columns.iter().map(|column| plain(value(line, column))))?;
    }
    text(&String::from_utf8(writer.into_inner()?)?, path)
}

fn flatten(name: &str, value: Value, line: &mut Line) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{field}"), value, line);
            }
        }
        Value::Array(_) => {}
        figure => line.push((name.into(), figure)),
    }
}
