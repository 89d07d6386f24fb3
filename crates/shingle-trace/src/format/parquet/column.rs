//! Finds the columns of a Parquet file by the names that headers of CSV have too, and reads them.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::error::{Kind, Problem};
use crate::format::csv::{Role, role_of, with_unit};

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) role: Role,
    pub(super) index: usize,
    /// Nanoseconds or bytes of a unit of its numbers.
    pub(super) unit: u64,
    unsigned: bool,
    /// Definition level of a value that is not null.
    level: i16,
}

/// Returns the columns with a role; of two with the same role the first.
pub(super) fn find(schema: &SchemaDescriptor) -> Result<Vec<Column>, Problem> {
    let mut found: Vec<Column> = Vec::new();
    for (index, descriptor) in schema.columns().iter().enumerate() {
        let Some((role, unit)) = role_of(descriptor.name()) else { continue };
        if found.iter().any(|column| column.role == role) {
            continue;
        }
        // Lists and nested columns do not have one value for each row.
        if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() != 1 {
            continue;
        }
        found.push(Column {
            role,
            index,
            unit: unit_of(role, unit, descriptor)?,
            unsigned: matches!(
                descriptor.converted_type(),
                ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_64
            ),
            level: descriptor.max_def_level(),
        });
    }
    for (role, name) in [
        (Role::Time, "time_us"),
        (Role::Op, "op"),
        (Role::Offset, "offset_bytes"),
        (Role::Size, "size_bytes"),
    ] {
        if !found.iter().any(|column| column.role == role) {
            let names: Vec<&str> = schema.columns().iter().take(20).map(|c| c.name()).collect();
            return Err(Problem::new(
                Kind::Format,
                format!(
                    "has no column for the {}, such as {name}, among {}; rename it in the tool \
                     that wrote the file",
                    format!("{role:?}").to_lowercase(),
                    names.join(", ")
                ),
            ));
        }
    }
    Ok(found)
}

fn unit_of(role: Role, unit: Option<u64>, descriptor: &ColumnDescriptor) -> Result<u64, Problem> {
    let (name, kind) = (descriptor.name(), descriptor.physical_type());
    // A decimal with a fraction is stored as a whole number in units of its last digit.
    let fraction = descriptor.type_scale() > 0;
    let number = matches!(kind, Type::INT32 | Type::INT64) && !fraction;
    let is_supported = match role {
        Role::Time | Role::Offset | Role::Size => number,
        Role::Op => kind == Type::BYTE_ARRAY,
        Role::Device => number || kind == Type::BYTE_ARRAY,
    };
    if !is_supported {
        let wanted = if role == Role::Op { "text (R, W, T, F)" } else { "whole numbers" };
        let actual = if fraction { "DECIMAL".to_owned() } else { kind.to_string() };
        return Err(Problem::new(
            Kind::Format,
            format!("the column {name} is of type {actual}, and {wanted} can be read; convert it"),
        ));
    }
    let unclear = |names: &str| {
        let message = format!("the column {name} does not say its unit: call it {names}");
        Problem::new(Kind::Format, message)
    };
    // The unit of the type wins over that of the name: a table's name outlives a change of type.
    let by_type = if role == Role::Time { unit_of_type(descriptor) } else { None };
    match (role, by_type.or(unit)) {
        (_, Some(unit)) => Ok(unit),
        (Role::Op | Role::Device, None) => Ok(1),
        (Role::Offset | Role::Size, None) => Err(unclear(&with_unit(name))),
        (Role::Time, None) => Err(unclear("time_us, time_ns or time_s")),
    }
}

/// Returns the nanoseconds of a unit of a timestamp or a time of day; `None` for plain numbers.
fn unit_of_type(descriptor: &ColumnDescriptor) -> Option<u64> {
    let unit = match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Timestamp(time)), _) => time.unit,
        (Some(LogicalType::Time(time)), _) => time.unit,
        (_, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIME_MILLIS) => TimeUnit::MILLIS,
        (_, ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS) => TimeUnit::MICROS,
        _ => return None,
    };
    Some(match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    })
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Number(u64),
    /// A number below zero.
    Negative(i64),
    Text(ByteArray),
}

/// Replaces `out` by the values of up to `rows` rows.
pub(super) fn read(
    column: &Column,
    reader: &mut ColumnReader,
    rows: usize,
    out: &mut Vec<Value>,
) -> ParquetResult<()> {
    out.clear();
    let number = |value: i64| match u64::try_from(value) {
        Ok(number) => Value::Number(number),
        Err(_) if column.unsigned => Value::Number(value as u64),
        Err(_) => Value::Negative(value),
    };
    match reader {
        ColumnReader::Int64ColumnReader(reader) => {
            typed(column, reader, rows, out, |value| number(*value))
        }
        ColumnReader::Int32ColumnReader(reader) => typed(column, reader, rows, out, |value| {
            if column.unsigned {
                Value::Number(u64::from(*value as u32))
            } else {
                number(i64::from(*value))
            }
        }),
        ColumnReader::ByteArrayColumnReader(reader) => {
            typed(column, reader, rows, out, |value| Value::Text(value.clone()))
        }
        _ => unreachable!("types are checked when the file is opened"),
    }
}

fn typed<T: DataType>(
    column: &Column,
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    out: &mut Vec<Value>,
    value: impl Fn(&T::T) -> Value,
) -> ParquetResult<()> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    // A read ends at a page, which may hold fewer rows than requested.
    let mut read = 0;
    while read < rows {
        levels.clear();
        values.clear();
        let defined = (column.level > 0).then_some(&mut levels);
        let (records, _, _) = reader.read_records(rows - read, defined, None, &mut values)?;
        if records == 0 {
            break;
        }
        if column.level == 0 {
            out.extend(values.iter().map(&value));
        } else {
            let mut values = values.iter();
            out.extend(levels.iter().map(|&level| {
                let value_or_null = if level == column.level { values.next() } else { None };
                value_or_null.map_or(Value::Null, &value)
            }));
        }
        read += records;
    }
    Ok(())
}
