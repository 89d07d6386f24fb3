//! Errors of the commands as exceptions, with the line that the command line would print.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The exception for `error`: of a class of `shingle._errors`.
pub(crate) fn raised(py: Python<'_>, error: &anyhow::Error) -> PyErr {
    let message = format!("{error:#}");
    let class = match shingle::api::is_usage(error) {
        true if message.contains("invalid type: ") => "OptionTypeError",
        true => "UsageError",
        false => "DataError",
    };
    of_class(py, class, &message)
}

/// An exception of `class` in `shingle._errors`.
pub(crate) fn of_class(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import("shingle._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((PyString::new(py, message),)));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
