//! Parquet with the columns `time_ns`, `op`, `offset_bytes` and `size_bytes`, which represent
//! traces without loss: for pandas, polars, DuckDB and similar tools.

use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use shingle_core::units::{Op, Request};

use super::{Out, Sink, Writer};
use crate::error::{Kind, Place, TraceError};

pub(super) const WRITER: Writer = Writer { name: "parquet", extensions: &["parquet"], create };

const SCHEMA: &str = "message trace { required int64 time_ns; required binary op (UTF8); \
                      required int64 offset_bytes; required int64 size_bytes; }";

/// Requests of a row group: some megabytes in memory.
const GROUP_REQUESTS: usize = 256 << 10;

fn create(out: Out) -> core::result::Result<Box<dyn Sink>, TraceError> {
    let schema = parse_message_type(SCHEMA).expect("the schema is ours");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("shingle ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let name = out.name().to_owned();
    let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        .map_err(|error| failed(&name, &error))?;
    Ok(Box::new(Parquet { name, file, waiting: Vec::new() }))
}

struct Parquet {
    name: String,
    file: SerializedFileWriter<Out>,
    /// Requests of the current row group, which is not full.
    waiting: Vec<Request>,
}

impl Parquet {
    fn end_group(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let words = ["R", "W", "T", "F"].map(ByteArray::from);
        let word = |op: Op| match op {
            Op::Read => words[0].clone(),
            Op::Write => words[1].clone(),
            Op::Trim => words[2].clone(),
            Op::Flush => words[3].clone(),
        };
        let mut group = self.file.next_row_group()?;
        let mut number = 0;
        while let Some(mut column) = group.next_column()? {
            let waiting = self.waiting.iter();
            // No number of a request has its highest bit set.
            match number {
                1 => {
                    let ops: Vec<ByteArray> = waiting.map(|r| word(r.op)).collect();
                    column.typed::<ByteArrayType>().write_batch(&ops, None, None)?
                }
                _ => {
                    let of = |r: &Request| [r.at.0, 0, r.offset, r.bytes][number].cast_signed();
                    let numbers: Vec<i64> = waiting.map(of).collect();
                    column.typed::<Int64Type>().write_batch(&numbers, None, None)?
                }
            };
            column.close()?;
            number += 1;
        }
        group.close()?;
        self.waiting.clear();
        Ok(())
    }
}

impl Sink for Parquet {
    fn put(&mut self, requests: &[Request]) -> core::result::Result<(), TraceError> {
        for part in requests.chunks(GROUP_REQUESTS) {
            self.waiting.extend_from_slice(part);
            if self.waiting.len() >= GROUP_REQUESTS {
                self.end_group().map_err(|error| failed(&self.name, &error))?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> core::result::Result<Vec<String>, TraceError> {
        self.end_group().map_err(|error| failed(&self.name, &error))?;
        let out = self.file.into_inner().map_err(|error| failed(&self.name, &error))?;
        out.finish()?;
        Ok(Vec::new())
    }
}

#[cold]
fn failed(name: &str, error: &ParquetError) -> TraceError {
    TraceError::new(Kind::Io, name, Place::Whole, format!("cannot be written: {error}"))
}
