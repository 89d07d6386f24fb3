//! Parquet: finds its columns by the names that headers of CSV have too (`time_us`, `op`,
//! `offset_bytes`, `size_bytes`, `volume`).
//!
//! Times, offsets and sizes are whole numbers; a time may also be a timestamp, whose type has the
//! unit. Operations are text as in CSV. Row groups are read one after another, in steps of some
//! thousand rows, so memory holds a page of each column.

mod catch;
mod column;
mod pages;
mod stored;

use ::parquet::column::reader::{ColumnReader, get_column_reader};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use catch::catch_panics;
use column::{Column, Value};
use pages::Pages;
use shingle_core::units::Op;
use stored::Stored;

use super::csv::{Role, with_default_words};
use super::{Decoded, Format, Match, Options};
use crate::arrange::Records;
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::Input;
use crate::source::{BATCH_REQUESTS, Gate, Raw};
use crate::volume::{Choice, Volumes};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    about: "columns by name: time_us (or _ns, _s), op, offset_bytes, size_bytes, volume",
    sniff: |head| Match::magic(head.starts_with(MAGIC)),
    weigh: None,
    open,
};

const MAGIC: &[u8] = b"PAR1";

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    let name = input.name().to_owned();
    let fail = |problem: Problem| problem.at(&name, Place::Whole);
    let stored = Stored::of(input)?;
    let reader = catch_panics(|| SerializedFileReader::new(stored))
        .map_err(|error| fail(damaged(&error)))?;
    let metadata = reader.metadata().file_metadata();
    let mut columns = column::find(metadata.schema_descr()).map_err(fail)?;
    let volumes = match (columns.iter().any(|c| c.role == Role::Device), options.volume) {
        (true, choice) => Some(Volumes::new(choice)),
        (false, Choice::Only | Choice::All) => None,
        (false, choice) => {
            let message = format!("--volume {choice} needs a column volume or device");
            return Err(fail(Problem::usage(message)));
        }
    };
    columns.sort_by_key(|column| column.role as usize);
    let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
    Decoded::records(Parquet {
        name,
        reader,
        columns: columns.into_iter().map(|column| (column, Vec::new())).collect(),
        group: 0,
        readers: Vec::new(),
        rows_left: 0,
        current_rows: 0,
        returned: 0,
        rows_returned: 0,
        rows,
        words: with_default_words(Vec::new()),
        volumes,
        gate: Gate::new(options.reorder),
    })
}

struct Parquet {
    name: String,
    reader: SerializedFileReader<Stored>,
    /// The columns, with the values of the current rows.
    columns: Vec<(Column, Vec<Value>)>,
    /// Number of row groups started.
    group: usize,
    /// A reader of each column in the current row group.
    readers: Vec<ColumnReader>,
    rows_left: u64,
    current_rows: usize,
    returned: usize,
    rows_returned: u64,
    rows: u64,
    words: Vec<(Vec<u8>, Op)>,
    volumes: Option<Volumes>,
    gate: Gate,
}

impl Parquet {
    /// Reads up to `most` rows and returns their number, 0 at the end.
    fn read_rows(&mut self, most: usize) -> Result<usize, Problem> {
        while self.rows_left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(0);
            }
            let group = catch_panics(|| {
                let group = self.reader.get_row_group(self.group)?;
                let rows = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
                let schema = group.metadata().schema_descr();
                let reader = |(column, _): &(Column, _)| {
                    let pages = Box::new(Pages(group.get_column_page_reader(column.index)?));
                    Ok(get_column_reader(schema.column(column.index), pages))
                };
                let readers = self.columns.iter().map(reader);
                Ok((rows, readers.collect::<Result<_, ParquetError>>()?))
            });
            (self.rows_left, self.readers) = group.map_err(|e| damaged(&e))?;
            self.group += 1;
        }
        let count = self.rows_left.min(most as u64) as usize;
        for ((column, values), reader) in self.columns.iter_mut().zip(&mut self.readers) {
            let read = catch_panics(|| column::read(column, reader, count, values));
            read.map_err(|e| damaged(&e))?;
            if values.len() != count {
                return Err(Problem::new(
                    Kind::Truncated,
                    format!(
                        "row group {} has fewer values than rows in a column: the file is damaged",
                        self.group
                    ),
                ));
            }
        }
        self.rows_left -= count as u64;
        Ok(count)
    }

    /// Returns the request of a current row; `None` if its volume is not selected.
    fn request(&mut self, row: usize) -> Result<Option<Raw>, Problem> {
        let mut raw = Raw { ns: 0, offset: 0, bytes: 0, op: Op::Flush, volume: 0 };
        let mut numbers = [None, None, None];
        for (column, values) in &self.columns {
            let value = &values[row];
            match column.role {
                Role::Op => raw.op = self.op(value)?,
                Role::Device => {
                    let Some(volumes) = &mut self.volumes else { continue };
                    let number = match value {
                        Value::Text(name) => volumes.select(name.data())?,
                        Value::Number(number) => volumes.select(number.to_string().as_bytes())?,
                        Value::Negative(number) => volumes.select(number.to_string().as_bytes())?,
                        Value::Null => volumes.select(b"")?,
                    };
                    let Some(volume) = number else { return Ok(None) };
                    raw.volume = volume;
                }
                role @ (Role::Time | Role::Offset | Role::Size) => {
                    let place = match role {
                        Role::Time => 0,
                        Role::Offset => 1,
                        _ => 2,
                    };
                    numbers[place] = Some(scaled(value, column));
                }
            }
        }
        let [time, offset, size] = numbers.map(|number| number.expect("every role has a column"));
        raw.ns = time?;
        // The offset and size of a flush have no meaning.
        if raw.op != Op::Flush {
            (raw.offset, raw.bytes) = (offset?, size?);
        }
        self.gate.admit(raw).map(Some)
    }

    fn op(&self, value: &Value) -> Result<Op, Problem> {
        let Value::Text(text) = value else {
            return Err(Problem::syntax("the operation is missing"));
        };
        let word = text.data().trim_ascii();
        let known = self.words.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
        known.map(|(_, op)| *op).ok_or_else(|| {
            Problem::syntax(format!(
                "the operation {} is unknown; R, W, T (trim), F (flush) and their words are known",
                shown(word)
            ))
        })
    }
}

fn scaled(value: &Value, column: &Column) -> Result<u64, Problem> {
    let role = || format!("{:?}", column.role).to_lowercase();
    match value {
        Value::Number(number) => number.checked_mul(column.unit).ok_or_else(|| {
            Problem::range(format!("the {} {number} is out of range; is the unit right?", role()))
        }),
        Value::Negative(number) => {
            Err(Problem::range(format!("the {} {number} is below zero", role())))
        }
        Value::Null | Value::Text(_) => Err(Problem::syntax(format!("the {} is missing", role()))),
    }
}

#[cold]
fn damaged(error: &ParquetError) -> Problem {
    let text = match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => {
            text.clone()
        }
        other => other.to_string(),
    };
    Problem::new(Kind::Corrupt, format!("cannot be read as Parquet: {text}"))
}

impl Records for Parquet {
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
        let before = out.len();
        while out.len() < out.capacity() {
            if self.returned == self.current_rows {
                let room = (out.capacity() - out.len()).min(BATCH_REQUESTS);
                let count = self.read_rows(room);
                self.current_rows = count.map_err(|problem| {
                    problem.at(&self.name, Place::Record(self.rows_returned + 1))
                })?;
                self.returned = 0;
                if self.current_rows == 0 {
                    break;
                }
            }
            while self.returned < self.current_rows && out.len() < out.capacity() {
                (self.returned, self.rows_returned) = (self.returned + 1, self.rows_returned + 1);
                match self.request(self.returned - 1) {
                    Ok(raw) => out.extend(raw),
                    Err(problem) => {
                        return Err(problem.at(&self.name, Place::Record(self.rows_returned)));
                    }
                }
            }
        }
        Ok(out.len() > before)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn length_hint(&self) -> Option<u64> {
        Some(self.rows)
    }

    /// In rows: the size of the columns in the file is not known beforehand.
    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.rows_returned.min(self.rows), self.rows))
    }

    fn volumes(&self) -> Option<&Volumes> {
        self.volumes.as_ref()
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: there are no rows")
    }
}
