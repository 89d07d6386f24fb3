//! Results as Parquet: the columns of the CSV, each with a type of its own.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use crate::output::{self, Line};

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Whole,
    Fraction,
    Truth,
    Text,
    /// No line has a value: Parquet's null type.
    Nothing,
}

/// The whole file: all lines in one row group.
pub(crate) fn parquet(lines: &[Line]) -> Result<Vec<u8>, ParquetError> {
    let columns: Vec<(&str, Vec<&Value>)> = output::columns(lines)
        .into_iter()
        .map(|name| (name, lines.iter().map(|line| output::value(line, name)).collect()))
        .collect();
    let fields = columns.iter().map(|(name, values)| Ok(Arc::new(field(name, holds(values))?)));
    let fields: Vec<TypePtr> = fields.collect::<Result<_, ParquetError>>()?;
    let schema = Type::group_type_builder("shingle_result").with_fields(fields).build()?;
    let made_by = concat!("shingle version ", env!("CARGO_PKG_VERSION"));
    let properties = WriterProperties::builder().set_created_by(made_by.into()).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, values) in &columns {
        let Some(mut column) = group.next_column()? else { break };
        match holds(values) {
            // As the bits are: the logical type says that they have no sign.
            Holds::Whole => write::<Int64Type>(&mut column, values, |value| {
                value.as_u64().map(u64::cast_signed).or_else(|| value.as_i64())
            }),
            Holds::Fraction => write::<DoubleType>(&mut column, values, Value::as_f64),
            Holds::Truth => write::<BoolType>(&mut column, values, Value::as_bool),
            Holds::Text | Holds::Nothing => write::<ByteArrayType>(&mut column, values, |value| {
                (!value.is_null()).then(|| ByteArray::from(output::plain(value).as_str()))
            }),
        }?;
        column.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Writes a column; `take` is nothing for what is null.
fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[&Value],
    take: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let taken: Vec<Option<T::T>> = values.iter().map(|value| take(value)).collect();
    let present: Vec<i16> = taken.iter().map(|value| i16::from(value.is_some())).collect();
    let taken: Vec<T::T> = taken.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&taken, Some(&present), None).map(drop)
}

fn holds(values: &[&Value]) -> Holds {
    let of = |value: &&&Value| match value {
        Value::Bool(_) => Holds::Truth,
        Value::Number(number) if number.is_u64() => Holds::Whole,
        Value::Number(_) => Holds::Fraction,
        _ => Holds::Text,
    };
    let mut kinds = values.iter().filter(|value| !value.is_null()).map(|value| of(&value));
    let Some(first) = kinds.next() else { return Holds::Nothing };
    kinds.fold(first, |all, kind| match (all, kind) {
        (all, kind) if all == kind => all,
        (Holds::Whole | Holds::Fraction, Holds::Whole | Holds::Fraction) => Holds::Fraction,
        _ => Holds::Text,
    })
}

fn field(name: &str, holds: Holds) -> Result<Type, ParquetError> {
    let (physical, logical) = match holds {
        Holds::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Holds::Fraction => (Physical::DOUBLE, None),
        Holds::Truth => (Physical::BOOLEAN, None),
        Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Holds::Nothing => (Physical::BYTE_ARRAY, Some(LogicalType::Unknown)),
    };
    Type::primitive_type_builder(name, physical)
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
    fn every_kind_of_figure_comes_back() {
        let values = [
            json!({"a": {"n": 18_446_744_073_709_551_615_u64, "x": 0.1}, "b": true, "t": "ä",
                   "none": null, "both": 1, "list": [1]}),
            json!({"a": {"n": null, "x": 2.0}, "b": false, "t": null, "none": null, "both": 0.5}),
        ];
        let bytes = parquet(&output::lines(&values).expect("they are JSON")).expect("it writes");
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
                "{a.n: 18446744073709551615, a.x: 0.1, b: true, t: \"ä\", none: null, both: 1.0}",
                "{a.n: null, a.x: 2.0, b: false, t: null, none: null, both: 0.5}",
            ]
        );
    }
}
