//! `run`, `compare` and `list`, and what such calls are given beside their options: policies, and which program makes them.

use pyo3::prelude::*;
use serde_json::Value;
use shingle::api::{self, Asked};
use shingle_core::registry::Registry;
use shingle_result::Program;

use crate::errors::of_class;
use crate::options::parsed;
use crate::policy::{Definition, first_error};
use crate::report::Report;
use crate::trace::Trace;
use crate::work::{Callbacks, Watch, work};

/// What a call is given beside its options.
pub(crate) struct Call {
    pub(crate) registry: Registry,
    pub(crate) policies: Vec<Py<Definition>>,
    pub(crate) program: Program,
    pub(crate) told: Callbacks,
}

impl Call {
    /// `policies` are those that are written in Python; `command` is the call as one would write it.
    pub(crate) fn new(
        policies: Vec<Py<Definition>>,
        command: &str,
        told: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Call> {
        let mut registry = crate::policies();
        for policy in &policies {
            registry.insert(policy.get().entry());
        }
        first_error(&policies); // (one that an earlier call left)
        let program =
            Program { version: env!("CARGO_PKG_VERSION").into(), command: command.to_owned() };
        Ok(Call { registry, policies, program, told: Callbacks::of(told)? })
    }

    /// Does work for it.
    ///
    /// # Errors
    /// Those of the work; but if a policy raised an exception, that.
    pub(crate) fn work<T: Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&Asked<'_>) -> anyhow::Result<T> + Send,
    ) -> PyResult<T> {
        let (registry, program) = (&self.registry, &self.program);
        let done = work(py, &self.told, |watch: &Watch| {
            job(&Asked { registry, listener: watch, program: program.clone() })
        });
        match first_error(&self.policies) {
            Some(error) => Err(error),
            None => done,
        }
    }
}

/// `shingle run` or `shingle compare`, as JSON options.
#[pyfunction]
#[pyo3(signature = (command, options, trace, policies, written, told=None))]
pub(crate) fn compute(
    py: Python<'_>,
    command: &str,
    options: &str,
    trace: Option<&Bound<'_, Trace>>,
    policies: Vec<Py<Definition>>,
    written: &str,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let computed = match command {
        "run" => api::run,
        "compare" => api::compare,
        other => {
            return Err(of_class(
                py,
                "UsageError",
                &format!("`{other}`: there are run and compare"),
            ));
        }
    };
    let options = parsed(py, options)?;
    let trace = trace.map(|trace| trace.get().inner());
    let call = Call::new(policies, written, told)?;
    call.work(py, |asked| computed(&options, trace.as_deref(), asked)).map(Report::new)
}

/// `shingle list WHAT --json`.
#[pyfunction]
pub(crate) fn listed(py: Python<'_>, what: &str) -> PyResult<String> {
    let listed = api::list(what, &crate::policies());
    let listed = listed.map_err(|error| crate::errors::raised(py, &error))?;
    Ok(Value::from(listed).to_string())
}
