//! Options by name, as all calls are given them.

use pyo3::prelude::*;
use serde_json::{Map, Value};
use shingle::api::Options;

use crate::errors::{of_class, raised};

/// Options from their JSON.
pub(crate) fn parsed(py: Python<'_>, options: &str) -> PyResult<Options> {
    let fields: Map<String, Value> = serde_json::from_str(options)
        .map_err(|error| of_class(py, "UsageError", &error.to_string()))?;
    Options::new(fields).map_err(|error| raised(py, &error))
}

/// The names of all options.
#[pyfunction]
pub(crate) fn options() -> Vec<String> {
    Options::names()
}
