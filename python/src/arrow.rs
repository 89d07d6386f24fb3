//! Tables out, by Arrow's C interface: the library that takes one (polars, pyarrow, pandas, DuckDB) owns its memory.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use serde_json::Value;
use shingle::api::{Column, Holds};
use shingle_core::units::{Op, Request};
use shingle_result::Point;
use shingle_sim::experiment::Trace;

/// A table that others can take.
#[pyclass(frozen, module = "shingle._native")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let batch = self.0.clone();
        let fields = batch.schema().fields().clone();
        let array: ArrayRef = Arc::new(StructArray::from(batch));
        stream(py, fields, std::iter::once(Ok(array)), requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.schema().as_ref())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

fn stream<'py>(
    py: Python<'py>,
    fields: Fields,
    arrays: impl Iterator<Item = Result<ArrayRef, ArrowError>> + Send + 'static,
    requested: Option<Bound<'py, PyCapsule>>,
) -> PyArrowResult<Bound<'py, PyCapsule>> {
    let field = Arc::new(Field::new_struct("", fields, false));
    to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, field)), requested)
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> PyResult<Table> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    batch.map(Table).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The columns of the CSV, with types.
pub(crate) fn table(columns: &[Column]) -> PyResult<Table> {
    let one = |Column { name, holds, values }: &Column| {
        let array: ArrayRef = match holds {
            Holds::Whole => Arc::new(values.iter().map(Value::as_u64).collect::<UInt64Array>()),
            Holds::Fraction => Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>()),
            Holds::Truth => Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>()),
            Holds::Text => {
                let text = |value: &Value| match value {
                    Value::Null => None,
                    Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                };
                Arc::new(values.iter().map(text).collect::<StringArray>())
            }
        };
        (Field::new(name, array.data_type().clone(), true), array)
    };
    batch(columns.iter().map(one).collect())
}

/// The course of a run: `series` of the JSON.
pub(crate) fn course(points: &[Point]) -> PyResult<Table> {
    let whole = |name: &str, of: fn(&Point) -> u64| {
        let array: ArrayRef = Arc::new(points.iter().map(|p| Some(of(p))).collect::<UInt64Array>());
        (Field::new(name, DataType::UInt64, true), array)
    };
    let fraction = |name: &str, of: fn(&Point) -> Option<f64>| {
        let array: ArrayRef = Arc::new(points.iter().map(of).collect::<Float64Array>());
        (Field::new(name, DataType::Float64, true), array)
    };
    batch(vec![
        whole("requests", |p| p.requests),
        fraction("at_seconds", |p| Some(p.at_seconds)),
        fraction("seconds", |p| Some(p.seconds)),
        fraction("clean_seconds", |p| Some(p.clean_seconds)),
        whole("blocks", |p| p.blocks),
        fraction("hit_ratio", |p| p.hit_ratio),
        whole("rmw", |p| p.rmw),
        whole("dirty_blocks", |p| p.dirty_blocks),
        whole("buffer_blocks", |p| p.buffer_blocks),
        whole("buffer_bands", |p| p.buffer_bands),
    ])
}

/// Requests of one part of a stream.
const PART: usize = 1 << 18;

fn request_fields() -> Fields {
    let number = |name| Field::new(name, DataType::Int64, false);
    let op = Field::new("op", DataType::Utf8, false);
    vec![number("time_ns"), op, number("offset_bytes"), number("size_bytes")].into()
}

/// The schema of [`requests`].
pub(crate) fn requests_schema(py: Python<'_>) -> PyArrowResult<Bound<'_, PyCapsule>> {
    to_schema_pycapsule(py, Schema::new(request_fields()))
}

/// The requests of a trace, with the columns that its Parquet has, made as they are asked for.
pub(crate) fn requests<'py>(
    py: Python<'py>,
    trace: Arc<Trace>,
    requested: Option<Bound<'py, PyCapsule>>,
) -> PyArrowResult<Bound<'py, PyCapsule>> {
    let parts = trace.requests.len().div_ceil(PART);
    let arrays = (0..parts).map(move |part| {
        let requests = &trace.requests[part * PART..];
        let requests = &requests[..requests.len().min(PART)];
        // (No number of a request has its highest bit set.)
        let number = |of: fn(&Request) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(requests.iter().map(|r| of(r).cast_signed())))
        };
        let ops: ArrayRef =
            Arc::new(StringArray::from_iter_values(requests.iter().map(|r| letter(r.op))));
        let columns = vec![number(|r| r.at.0), ops, number(|r| r.offset), number(|r| r.bytes)];
        Ok(Arc::new(StructArray::try_new(request_fields(), columns, None)?) as ArrayRef)
    });
    stream(py, request_fields(), arrays, requested)
}

/// As traces in text have it.
pub(crate) fn letter(op: Op) -> &'static str {
    match op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Trim => "T",
        Op::Flush => "F",
    }
}
