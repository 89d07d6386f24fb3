//! Results with one line per run, for CSV and Parquet: one column per figure, with the type from
//! the schema of the result. So files of any two commands have the same columns, except for
//! parameters and axes, whatever the values are.

mod schema;

use std::collections::BTreeMap;

use serde_json::Value;
use shingle_result::{Report, SaidKind, TraceInfo};

use schema::Field;
pub use schema::Holds;

/// A column.
#[derive(Debug)]
pub struct Column {
    /// The path of a field in the JSON, joined by dots.
    pub name: String,
    /// The type of its values; each may be null.
    pub holds: Holds,
    /// One value per line.
    pub values: Vec<Value>,
}

impl Column {
    fn text(name: impl Into<String>, values: impl Iterator<Item = Option<String>>) -> Column {
        Column { name: name.into(), holds: Holds::Text, values: values.map(Value::from).collect() }
    }
}

/// Returns the columns of `report`: the place of each run in the sweep, its trace, its own figures,
/// its remarks, and the program, so that files can be concatenated and their lines told apart.
///
/// # Errors
/// If a figure cannot be written as JSON: a bug.
pub fn columns(report: &Report) -> serde_json::Result<Vec<Column>> {
    let mut columns = places(report);
    let traces: Vec<&TraceInfo> = match &report.sweep {
        None => vec![&report.trace; report.runs.len()],
        Some(sweep) => sweep.cells.iter().map(|place| &sweep.traces[place.trace].info).collect(),
    };
    let of_trace = |name: &str, of: fn(&TraceInfo) -> &str| {
        Column::text(name, traces.iter().map(|trace| Some(of(trace).to_owned())))
    };
    columns.push(of_trace("trace.name", |trace| &trace.name));
    columns.push(of_trace("trace.hash", |trace| &trace.hash));
    columns.extend(figures(report)?);
    columns.push(said(report, "verdict", SaidKind::Verdict));
    columns.push(said(report, "warnings", SaidKind::Warning));
    columns.push(said(report, "notes", SaidKind::Note));
    let all = |text: &str| vec![Some(text.to_owned()); report.runs.len()].into_iter();
    columns.push(Column::text("shingle.version", all(&report.shingle.version)));
    columns.push(Column::text("shingle.command", all(&report.shingle.command)));
    Ok(columns)
}

/// Returns the remarks on each run; null where there are none.
fn said(report: &Report, name: &str, kind: SaidKind) -> Column {
    let of_run = |run: usize| {
        let about = report.said.iter().filter(|said| said.kind == kind && said.runs.contains(&run));
        let texts: Vec<&str> = about.map(|said| said.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    };
    Column::text(name, (0..report.runs.len()).map(of_run))
}

/// Returns the place of each run in the grid of a sweep.
fn places(report: &Report) -> Vec<Column> {
    let Some(sweep) = &report.sweep else { return Vec::new() };
    let of_axis = |axis: &str| {
        let at = sweep.cells.iter().map(|place| match axis {
            "trace" => Some(sweep.traces[place.trace].info.name.clone()),
            axis => place.at.get(axis).cloned(),
        });
        Column::text(format!("at.{axis}"), at)
    };
    let mut axes: Vec<&str> = sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
    if !axes.contains(&"trace") {
        axes.push("trace");
    }
    axes.into_iter().map(of_axis).collect()
}

/// Returns the figures of the runs themselves, without lists.
pub(crate) fn figures(report: &Report) -> serde_json::Result<Vec<Column>> {
    let runs: Vec<Value> =
        report.runs.iter().map(serde_json::to_value).collect::<serde_json::Result<_>>()?;
    let mut columns = Vec::new();
    for field in schema::fields_of_a_run() {
        match field {
            Field::Figure { path, holds } => {
                let values = runs.iter().map(|run| at(run, &path).clone()).collect();
                columns.push(Column { name: path.join("."), holds, values });
            }
            Field::Settings { path } => columns.extend(settings(&runs, &path)),
        }
    }
    Ok(columns)
}

/// Returns the field at `path` in `value`; null if there is none.
fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, name| value.get(name).unwrap_or(&Value::Null))
}

/// Returns parameters by name: as text, and sizes in blocks also as numbers.
fn settings(runs: &[Value], path: &[String]) -> Vec<Column> {
    let mut named: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (line, run) in runs.iter().enumerate() {
        for (name, value) in at(run, path).as_object().into_iter().flatten() {
            named.entry(name).or_insert_with(|| vec![Value::Null; runs.len()])[line] =
                value.clone();
        }
    }
    let mut columns = Vec::new();
    for (name, values) in named {
        let name = format!("{}.{name}", path.join("."));
        let blocks: Vec<Value> =
            values.iter().map(|value| value.as_str().and_then(blocks_of).into()).collect();
        columns.push(Column { name: name.clone(), holds: Holds::Text, values });
        if blocks.iter().any(|value| !value.is_null()) {
            let name = format!("{name}_blocks");
            columns.push(Column { name, holds: Holds::Whole, values: blocks });
        }
    }
    columns
}

/// Parses a size in blocks, such as `5000b`.
pub(crate) fn blocks_of(value: &str) -> Option<u64> {
    value.strip_suffix('b')?.parse().ok()
}

/// Formats a value for a table.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        figure => figure.to_string(),
    }
}

/// Returns the columns as CSV. Null values are empty.
///
/// # Errors
/// If memory runs out.
pub fn csv(columns: &[Column]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| &column.name))?;
    for line in 0..columns.first().map_or(0, |column| column.values.len()) {
        writer.write_record(columns.iter().map(|column| plain(&column.values[line])))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
