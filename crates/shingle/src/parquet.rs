//! Results as Parquet: the columns of the CSV, each with its own type.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use crate::Usage;
use crate::lines::{Column, Holds, plain};
use crate::output::{self, Tried};

/// The option for Parquet.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ParquetArgs {
    /// Write the results as Parquet, with the columns of the CSV.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
}

impl ParquetArgs {
    /// Returns whether the file was requested.
    pub(crate) fn wanted(&self) -> bool {
        self.parquet.is_some()
    }

    /// Returns the file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.parquet.as_deref()
    }

    /// Fails now, not after the work, if the file cannot be written.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.parquet.as_deref() == Some(Path::new("-")) {
            return Err(Usage("--parquet takes a file, not `-`".into()).into());
        }
        self.parquet.as_deref().map_or(Ok(()), output::check_writable)
    }

    /// Writes the file, if it was requested.
    pub(crate) fn deliver(&self, columns: &[Column], tried: &mut Tried) {
        if let Some(path) = &self.parquet {
            let bytes = parquet(columns).map_err(anyhow::Error::from);
            tried.add(bytes.and_then(|bytes| output::bytes(&bytes, path)));
        }
    }
}

/// Returns the whole file: all lines in one row group.
pub(crate) fn parquet(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(|column| Ok(Arc::new(field(column)?)));
    let fields: Vec<TypePtr> = fields.collect::<Result<_, ParquetError>>()?;
    let schema = Type::group_type_builder("shingle_result").with_fields(fields).build()?;
    let made_by = concat!("shingle version ", env!("CARGO_PKG_VERSION"));
    let properties = WriterProperties::builder().set_created_by(made_by.into()).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for Column { holds, values, .. } in columns {
        let Some(mut column) = group.next_column()? else { break };
        match holds {
            // The bits unchanged: the logical type says that they are unsigned.
            Holds::Whole => write::<Int64Type>(&mut column, values, |value| {
                value.as_u64().map(u64::cast_signed)
            }),
            Holds::Fraction => write::<DoubleType>(&mut column, values, Value::as_f64),
            Holds::Truth => write::<BoolType>(&mut column, values, Value::as_bool),
            Holds::Text => write::<ByteArrayType>(&mut column, values, |value| {
                (!value.is_null()).then(|| ByteArray::from(plain(value).as_str()))
            }),
        }?;
        column.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Writes a column; `take` returns `None` for null.
fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[Value],
    take: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let taken: Vec<Option<T::T>> = values.iter().map(take).collect();
    let present: Vec<i16> = taken.iter().map(|value| i16::from(value.is_some())).collect();
    let taken: Vec<T::T> = taken.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&taken, Some(&present), None).map(drop)
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    // Never the null type, which not all readers support: a column has its type even without
    // values.
    let (physical, logical) = match column.holds {
        Holds::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Holds::Fraction => (Physical::DOUBLE, None),
        Holds::Truth => (Physical::BOOLEAN, None),
        Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    #[test]
    fn every_kind_of_figure_comes_back_and_so_does_nothing() {
        let column = |name: &str, holds, values: [Value; 2]| Column {
            name: name.into(),
            holds,
            values: values.into(),
        };
        let columns = [
            column("a.n", Holds::Whole, [json!(18_446_744_073_709_551_615_u64), json!(null)]),
            column("a.x", Holds::Fraction, [json!(0.1), json!(2)]),
            column("b", Holds::Truth, [json!(true), json!(false)]),
            column("t", Holds::Text, [json!("ä"), json!(null)]),
            column("none", Holds::Text, [json!(null), json!(null)]),
        ];
        let bytes = parquet(&columns).expect("it writes");
        let mut file = tempfile::tempfile().expect("there is room for a file");
        std::io::Write::write_all(&mut file, &bytes).expect("it takes the bytes");
        let reader = SerializedFileReader::new(file).expect("it is Parquet");
        let rows: Vec<String> = reader
            .get_row_iter(None)
            .expect("it has rows")
            .map(|row| row.expect("it reads").to_string())
            .collect();
        assert_eq!(
            rows,
            [
                "{a.n: 18446744073709551615, a.x: 0.1, b: true, t: \"ä\", none: null}",
                "{a.n: null, a.x: 2.0, b: false, t: null, none: null}",
            ]
        );
    }
}
