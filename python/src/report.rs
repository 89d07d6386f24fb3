//! A result: the JSON of the command, tables, the page.

use std::path::PathBuf;

use pyo3::prelude::*;
use shingle::api;
use shingle_result::Report as Inner;

use crate::arrow::{self, Table};
use crate::errors::raised;
use crate::pictures;

/// A result of `run`, `compare` or a sweep.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Report(Inner);

impl Report {
    pub(crate) fn new(inner: Inner) -> Report {
        Report(inner)
    }
}

#[pymethods]
impl Report {
    /// What `--json` writes.
    fn json(&self) -> String {
        serde_json::to_string_pretty(&self.0).expect("a report is JSON") + "\n"
    }

    /// A line for each run, a column for each figure: as Arrow.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let columns = api::columns(&self.0).map_err(|error| raised(py, &error.into()))?;
        arrow::table(&columns)
    }

    /// The course over time of a run, as Arrow; without lines if it was not recorded.
    fn course(&self, run: usize) -> PyResult<Table> {
        let run = self.0.runs.get(run).ok_or_else(|| {
            pyo3::exceptions::PyIndexError::new_err(format!(
                "there is no run {run}: the result has {}",
                self.0.runs.len()
            ))
        })?;
        arrow::course(&run.series)
    }

    /// The pictures of the page, as JSON.
    fn pictures(&self) -> String {
        pictures::json(&self.0)
    }

    /// The page that `--html` writes.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        api::page(&self.0).map_err(|error| raised(py, &error))
    }

    /// Writes it into a file: .json, .csv, .parquet or .html.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        api::save(&self.0, &path).map_err(|error| raised(py, &error))
    }
}
