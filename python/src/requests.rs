//! Tables in: as the Parquet file that they would be, so that names of columns, units and mistakes are those of
//! files. Columns that no request needs are left out.

use std::sync::Arc;

use anyhow::Context;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type as ArrowInt64, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, SchemaRef, TimeUnit as ArrowUnit};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// How a column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Signed,
    Unsigned,
    Time(ArrowUnit),
    Fraction,
    Text,
}

impl Kept {
    fn of(kind: &DataType) -> Option<Kept> {
        Some(match kind {
            kind if kind.is_unsigned_integer() => Kept::Unsigned,
            kind if kind.is_signed_integer() => Kept::Signed,
            kind if kind.is_floating() => Kept::Fraction,
            DataType::Timestamp(unit, _) | DataType::Duration(unit) => Kept::Time(*unit),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kept::Text,
            DataType::Dictionary(_, values) => return Kept::of(values),
            _ => return None,
        })
    }

    /// Of Arrow, to which the column is cast first.
    fn cast(self) -> DataType {
        match self {
            Kept::Signed | Kept::Time(_) => DataType::Int64,
            Kept::Unsigned => DataType::UInt64,
            Kept::Fraction => DataType::Float64,
            Kept::Text => DataType::Utf8,
        }
    }

    fn field(self, name: &str) -> anyhow::Result<Type> {
        let (physical, logical) = match self {
            Kept::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
            Kept::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kept::Time(unit) => {
                // (Parquet has no seconds: they are written as milliseconds.)
                let unit = match unit {
                    ArrowUnit::Second | ArrowUnit::Millisecond => TimeUnit::MILLIS,
                    ArrowUnit::Microsecond => TimeUnit::MICROS,
                    ArrowUnit::Nanosecond => TimeUnit::NANOS,
                };
                (Physical::INT64, Some(LogicalType::timestamp(false, unit)))
            }
            Kept::Fraction => (Physical::DOUBLE, None),
            Kept::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(name, physical);
        Ok(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?)
    }
}

/// The table as a Parquet file.
pub(crate) fn as_parquet(schema: &SchemaRef, batches: &[RecordBatch]) -> anyhow::Result<Vec<u8>> {
    let fields = schema.fields().iter().enumerate();
    let kept: Vec<(usize, &str, Kept)> = fields
        .filter_map(|(at, field)| Some((at, field.name().as_str(), Kept::of(field.data_type())?)))
        .collect();
    let columns = kept.iter().map(|(_, name, kept)| Ok(Arc::new(kept.field(name)?)));
    let columns: Vec<TypePtr> = columns.collect::<anyhow::Result<_>>()?;
    let schema = Type::group_type_builder("requests").with_fields(columns).build()?;
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    for batch in batches {
        let mut group = file.next_row_group()?;
        for &(at, name, kept) in &kept {
            let Some(mut column) = group.next_column()? else { break };
            let array = batch.column(at);
            // A number of a time is taken as it is.
            let array = match array.data_type() {
                DataType::Timestamp(..) | DataType::Duration(_) => cast(array, &DataType::Int64),
                _ => cast(array, &kept.cast()),
            };
            let array = array.with_context(|| format!("the column {name} cannot be read"))?;
            write(&mut column, &array, kept)?;
            column.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(bytes)
}

fn write(
    column: &mut SerializedColumnWriter<'_>,
    array: &ArrayRef,
    kept: Kept,
) -> anyhow::Result<()> {
    match kept {
        Kept::Signed => {
            let values = array.as_primitive::<ArrowInt64>().iter();
            put::<Int64Type>(column, values)
        }
        Kept::Time(unit) => {
            let factor = if unit == ArrowUnit::Second { 1000 } else { 1 };
            let values = array.as_primitive::<ArrowInt64>().iter();
            put::<Int64Type>(column, values.map(|value| value?.checked_mul(factor)))
        }
        Kept::Unsigned => {
            let values = array.as_primitive::<UInt64Type>().iter();
            put::<Int64Type>(column, values.map(|value| value.map(u64::cast_signed)))
        }
        Kept::Fraction => put::<DoubleType>(column, array.as_primitive::<Float64Type>().iter()),
        Kept::Text => {
            let values = array.as_string::<i32>().iter();
            put::<ByteArrayType>(column, values.map(|text| text.map(ByteArray::from)))
        }
    }
}

fn put<T: parquet::data_type::DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> anyhow::Result<()> {
    let (mut present, mut held) = (Vec::new(), Vec::new());
    for value in values {
        present.push(i16::from(value.is_some()));
        held.extend(value);
    }
    column.typed::<T>().write_batch(&held, Some(&present), None)?;
    Ok(())
}
