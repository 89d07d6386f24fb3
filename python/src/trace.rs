//! Traces: read, made of tables or of each other, written.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatchReader as _;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyType};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::input::AnyRecordBatch;
use serde_json::json;
use shingle::api::{self, Listener as _};
use shingle_result::TraceFormat;
use shingle_sim::experiment::Trace as Inner;
use shingle_trace::mix::{Mixing, Order};
use shingle_trace::{Source as _, Summary, hash, read_all, write};

use crate::arrow;
use crate::options::parsed;
use crate::requests::as_parquet;
use crate::work::{Callbacks, Watch, work};

/// What pickle wants: how to make it again, and of what.
type Pickled<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyBytes>));

/// The requests of a trace, in memory.
#[pyclass(frozen, module = "shingle._native", weakref)]
pub(crate) struct Trace(Arc<Inner>);

impl Trace {
    pub(crate) fn new(inner: Inner) -> Trace {
        Trace(Arc::new(inner))
    }

    pub(crate) fn inner(&self) -> Arc<Inner> {
        self.0.clone()
    }
}

#[pymethods]
impl Trace {
    /// A short name: the file's without folders, or the workload.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The format it was read in, and how that is known, as JSON; `None` if a program made it.
    #[getter]
    fn format(&self) -> Option<String> {
        let format = TraceFormat::new(self.0.format.as_ref()?);
        Some(json!(format).to_string())
    }

    /// What tells its requests from others: as `trace.hash` of a result.
    #[getter]
    fn hash(&self) -> String {
        hash::hash(&self.0.requests)
    }

    /// Bytes from the first byte of the disk to the end of the last that is touched.
    #[getter]
    fn end_bytes(&self) -> u64 {
        self.0.summary.end_bytes
    }

    /// Seconds from the first request to the last.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.summary.last.since(self.0.summary.first).as_secs_f64()
    }

    fn __len__(&self) -> usize {
        self.0.requests.len()
    }

    fn __getitem__(&self, at: isize) -> PyResult<(u64, &'static str, u64, u64)> {
        let requests = &self.0.requests;
        let place = if at < 0 { requests.len().checked_add_signed(at) } else { Some(at as usize) };
        let request = place.and_then(|place| requests.get(place)).ok_or_else(|| {
            PyIndexError::new_err(format!(
                "there is no request {at}: the trace has {}",
                requests.len()
            ))
        })?;
        Ok((request.at.0, arrow::letter(request.op), request.offset, request.bytes))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        arrow::requests(py, self.0.clone(), requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        arrow::requests_schema(py)
    }

    /// What `shingle trace info --json -` prints.
    #[pyo3(signature = (told=None))]
    fn describe(&self, py: Python<'_>, told: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let trace = self.0.clone();
        work(py, &Callbacks::of(told)?, |watch| Ok(api::describe(&trace, watch).to_string()))
    }

    /// The same trace, filtered and shaped by JSON options.
    #[pyo3(signature = (options, told=None))]
    fn shaped(
        &self,
        py: Python<'_>,
        options: &str,
        told: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Trace> {
        let (options, trace) = (parsed(py, options)?, self.0.clone());
        let shaped = work(py, &Callbacks::of(told)?, |watch| {
            Ok(api::shaped(&options, &trace, watch)?.into_owned())
        });
        shaped.map(Trace::new)
    }

    /// Writes it into a file, in the format that is named or that the name says. Returns sentences about what
    /// the format cannot carry.
    #[pyo3(signature = (path, format=None, told=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        told: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let trace = self.0.clone();
        let path = path.to_string_lossy().into_owned();
        work(py, &Callbacks::of(told)?, |watch| {
            let bar = watch.begin("writing", trace.requests.len() as u64);
            let mut sink = write::create(&path, format.as_deref())?;
            sink.name_source(&trace.name);
            for part in trace.requests.chunks(1 << 16) {
                sink.put(part)?;
                bar.add(part.len() as u64);
            }
            Ok(sink.finish()?)
        })
    }

    /// Its requests, packed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let trace = self.0.clone();
        let bytes = py.detach(|| write::native_bytes(&trace.name, &trace.requests));
        PyBytes::new(py, &bytes)
    }

    /// What [`Trace::to_bytes`] packed, under this name.
    #[classmethod]
    fn from_bytes(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        name: String,
        bytes: Vec<u8>,
    ) -> PyResult<Trace> {
        let opened = work(py, &Callbacks::default(), |_| {
            let mut opened = shingle_trace::open_bytes(&name, bytes, &Default::default())?;
            let requests = read_all(opened.source.as_mut(), &mut |_| {})?;
            let summary = Summary::of(&requests);
            Ok(Inner { name: opened.name, format: None, requests, summary })
        });
        opened.map(Trace::new)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().0.name.clone(), slf.get().to_bytes(slf.py()))))
    }

    fn __repr__(&self) -> String {
        let Inner { name, requests, .. } = &*self.0;
        format!("<shingle.Trace {name}: {} requests>", requests.len())
    }
}

/// Reads the trace that JSON options name, and shapes it.
#[pyfunction]
#[pyo3(signature = (options, told=None))]
pub(crate) fn read(
    py: Python<'_>,
    options: &str,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let options = parsed(py, options)?;
    work(py, &Callbacks::of(told)?, |watch| api::read(&options, watch)).map(Trace::new)
}

/// Reads the bytes of a file, in any format, under this name.
#[pyfunction]
#[pyo3(signature = (name, bytes, options, told=None))]
pub(crate) fn read_bytes(
    py: Python<'_>,
    name: String,
    bytes: Vec<u8>,
    options: &str,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let options = parsed(py, options)?;
    work(py, &Callbacks::of(told)?, |watch| api::read_bytes(&options, &name, bytes, watch))
        .map(Trace::new)
}

/// Reads a table: columns by their names, as of Parquet.
#[pyfunction]
#[pyo3(signature = (name, table, options, told=None))]
pub(crate) fn read_table(
    py: Python<'_>,
    name: String,
    table: &Bound<'_, PyAny>,
    options: &str,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let options = parsed(py, options)?;
    let table: AnyRecordBatch = table.extract().map_err(|_| {
        PyTypeError::new_err(format!(
            "a table with __arrow_c_stream__ is wanted, such as one of polars, pandas, pyarrow or DuckDB, and \
             not {}",
            table.get_type()
        ))
    })?;
    let reader = table.into_reader()?;
    let schema = reader.schema();
    let batches: Vec<_> = reader
        .collect::<Result<_, _>>()
        .map_err(|error| PyTypeError::new_err(error.to_string()))?;
    work(py, &Callbacks::of(told)?, |watch| {
        let bytes = as_parquet(&schema, &batches)?;
        api::read_bytes(&options, &name, bytes, watch).map(|trace| Inner { format: None, ..trace })
    })
    .map(Trace::new)
}

/// Several traces made into one.
#[pyfunction]
#[pyo3(signature = (name, traces, copies, shift, shuffle, time_scale, seed, told=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub(crate) fn mix(
    py: Python<'_>,
    name: String,
    traces: Vec<Bound<'_, Trace>>,
    copies: u32,
    shift: Option<u64>,
    shuffle: bool,
    time_scale: f64,
    seed: u64,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let traces: Vec<Arc<Inner>> = traces.iter().map(|trace| trace.get().inner()).collect();
    work(py, &Callbacks::of(told)?, |watch: &Watch| {
        let mixing = Mixing {
            copies,
            shift_bytes: shift,
            order: if shuffle { Order::Shuffled { seed } } else { Order::Time },
            time_thousandths: api::factor(&time_scale.to_string())?,
        };
        let mut mixed = mixing.of(traces.iter().map(|trace| trace.requests.clone()).collect())?;
        let bar = watch.begin("mixing", mixed.length_hint().unwrap_or(0));
        let mut requests = Vec::new();
        let mut batch = Vec::new();
        while mixed.fill(&mut batch)? {
            requests.extend_from_slice(&batch);
            bar.add(batch.len() as u64);
        }
        let summary = Summary::of(&requests);
        Ok(Inner { name, format: None, requests, summary })
    })
    .map(Trace::new)
}
