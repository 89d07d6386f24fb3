//! Parquet as other tools write it: missing values, other types, volumes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::input::Input;
use shingle_trace::{OpenOptions, format, open, read_all};

/// The non-null values of a column.
enum Values {
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Text(Vec<Option<&'static str>>),
}

fn split<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let there = values.iter().flatten().cloned().collect();
    (there, values.iter().map(|value| i16::from(value.is_some())).collect())
}

/// Writes each group of columns as a row group; columns are optional.
fn make(path: &Path, schema: &str, groups: &[Vec<Values>]) {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().build());
    let file = File::create(path).expect("made");
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("begun");
    for columns in groups {
        let mut group = writer.next_row_group().expect("begun");
        for values in columns {
            let mut column = group.next_column().expect("begun").expect("one more");
            match values {
                Values::Int32(values) => {
                    let (values, levels) = split(values);
                    column.typed::<Int32Type>().write_batch(&values, Some(&levels), None)
                }
                Values::Int64(values) => {
                    let (values, levels) = split(values);
                    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
                }
                Values::Text(values) => {
                    let (values, levels) = split(values);
                    let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
                }
            }
            .expect("written");
            column.close().expect("written");
        }
        group.close().expect("written");
    }
    writer.close().expect("written");
}

fn read(path: &Path, volume: Option<&str>) -> Result<Vec<Request>, String> {
    let options = OpenOptions::of(None, volume);
    let mut opened = open(path.to_str().expect("text"), &options).map_err(|e| e.to_string())?;
    assert_eq!(opened.recognised.name, "parquet");
    read_all(&mut *opened.source, &mut |_| {}).map_err(|e| e.to_string())
}

const SCHEMA: &str = "message m { optional int64 timestamp (TIMESTAMP(MICROS,true)); \
    optional int32 volume; optional binary op (UTF8); optional int64 sector; \
    optional int32 length (INTEGER(32,false)); optional int64 latency; }";

fn rows(volumes: [i32; 3], length: i32) -> Vec<Values> {
    vec![
        Values::Int64(vec![Some(1_000), Some(1_005), Some(1_006)]),
        Values::Int32(volumes.map(Some).to_vec()),
        Values::Text(vec![Some("write"), Some("Read"), Some("flush")]),
        Values::Int64(vec![Some(8), Some(1), None]),
        Values::Int32(vec![Some(length), Some(512), None]),
        Values::Int64(vec![None; 3]),
    ]
}

/// Any byte may be wrong: the result is an error or other requests, never a panic.
#[test]
fn damaged_files_are_errors_or_other_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.parquet");
    make(&path, SCHEMA, &[rows([3; 3], 4096), rows([3; 3], 8192)]);
    let good = std::fs::read(&path).expect("written");
    let expected = read(&path, None).expect("valid");
    let mut same = 0;
    for place in 4..good.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[place] ^= change;
            let input = Input::from_bytes("damaged", bytes).expect("not empty");
            let options = OpenOptions::of(Some("parquet"), None);
            let requests = format::open(input, &options)
                .and_then(|(_, mut source)| read_all(&mut *source, &mut |_| {}));
            same += usize::from(requests.is_ok_and(|requests| requests == expected));
        }
    }
    assert!(same < 2 * good.len(), "most bytes matter, and were read: {same} changes did not");
}

#[test]
fn columns_are_found_by_name_and_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.parquet");
    make(&path, SCHEMA, &[rows([3; 3], 4096), rows([3; 3], i32::MIN >> 2)]);
    let error = read(&path, None).expect_err("too long");
    assert!(error.contains("request 4: the size of 3758096384 bytes"), "{error}");
    make(&path, SCHEMA, &[rows([3; 3], 4096), rows([3; 3], 8192)]);
    let request = |at, op, offset, bytes| Request { at: Nanos(at), offset, bytes, op };
    let expected = [
        request(0, Op::Write, 4096, 4096),
        request(0, Op::Write, 4096, 8192),
        request(5_000, Op::Read, 512, 512),
        request(5_000, Op::Read, 512, 512),
        request(6_000, Op::Flush, 0, 0),
        request(6_000, Op::Flush, 0, 0),
    ];
    assert_eq!(read(&path, None).expect("valid"), expected);
    make(&path, SCHEMA, &[rows([3, 4, 3], 4096)]);
    assert!(
        read(&path, None).expect_err("two").contains("holds 2 volumes, by requests 3 (2), 4 (1)")
    );
    assert_eq!(read(&path, Some("4")).expect("one"), [request(0, Op::Read, 512, 512)]);
}

/// Returns the times of two requests with this time column and the values 1,000 and 3,000.
fn times(column: &str) -> Result<[u64; 2], String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.parquet");
    let schema = format!(
        "message m {{ optional int64 {column}; optional binary op (UTF8); optional int64 offset_bytes; \
         optional int64 size_bytes; }}"
    );
    let pair = |values: [i64; 2]| Values::Int64(values.map(Some).to_vec());
    let ops = Values::Text(vec![Some("W"), Some("W")]);
    make(&path, &schema, &[vec![pair([1_000, 3_000]), ops, pair([0, 0]), pair([512, 512])]]);
    let requests = read(&path, None)?;
    Ok([requests[0].at.0, requests[1].at.0])
}

#[test]
fn a_type_that_says_the_unit_of_time_is_believed_before_the_name() {
    assert_eq!(times("time_s"), Ok([0, 2_000_000_000_000]));
    for (column, second) in [
        ("time_s (TIMESTAMP(MILLIS,true))", 2_000_000_000),
        ("time_us (TIMESTAMP(NANOS,true))", 2_000),
        ("time_ns (TIMESTAMP_MICROS)", 2_000_000),
        ("time (TIMESTAMP_MILLIS)", 2_000_000_000),
        ("time_s (TIME(MICROS,true))", 2_000_000),
    ] {
        assert_eq!(times(column), Ok([0, second]), "{column}");
    }
}

#[test]
fn a_number_with_a_fraction_is_not_taken_for_a_whole_one() {
    assert_eq!(times("time_us (DECIMAL(18,0))"), Ok([0, 2_000_000]));
    let error = times("time_s (DECIMAL(18,6))").expect_err("0.001 s, kept as 1000");
    assert!(
        error.contains("column time_s is of type DECIMAL") && error.contains("convert"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.parquet");
    let mut missing = rows([0; 3], 512);
    missing[3] = Values::Int64(vec![Some(8), None, None]);
    make(&path, SCHEMA, &[missing]);
    assert!(read(&path, None).expect_err("null").contains("request 2: the offset is missing"));
    let mut negative = rows([0; 3], 512);
    negative[3] = Values::Int64(vec![Some(-8), Some(1), Some(1)]);
    make(&path, SCHEMA, &[negative]);
    assert!(read(&path, None).expect_err("negative").contains("request 1: the offset -8 is below"));
    let schema = "message m { optional int64 time; optional binary op (UTF8); }";
    let columns = || vec![Values::Int64(vec![Some(1)]), Values::Text(vec![Some("W")])];
    make(&path, schema, &[columns()]);
    assert!(read(&path, None).expect_err("no unit").contains("time does not say its unit"));
    for (name, wanted) in [
        ("lba", "lba_bytes, lba_sectors (of 512 bytes), lba_blocks (of 4 KiB) or lba_kib"),
        ("address_mb", "address_bytes, address_sectors"),
        ("size_words", "size_bytes, size_sectors"),
    ] {
        let schema = format!("message m {{ optional int64 {name}; optional binary op (UTF8); }}");
        make(&path, &schema, &[columns()]);
        let error = read(&path, None).expect_err("no unit");
        assert!(
            error.contains(&format!("the column {name} does not say its unit: call it {wanted}")),
            "{error}"
        );
    }
    make(&path, &schema.replace("time", "time_us"), &[columns()]);
    let error = read(&path, None).expect_err("no offset");
    assert!(error.contains("no column for the offset, such as offset_bytes, among time_us, op"));
    make(&path, SCHEMA, &[]);
    assert!(read(&path, None).expect_err("empty").contains("holds no request"));
    let bytes = std::fs::read(&path).expect("there");
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
    assert!(read(&path, None).expect_err("cut").contains("cannot be read as Parquet"));
}
