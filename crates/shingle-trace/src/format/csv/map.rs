//! The column map: parses the text after `csv:`.

use shingle_core::params::nearest;
use shingle_core::size;
use shingle_core::units::{BLOCK_BYTES, NS_PER_S, Op};

use super::delim::Delim;
use super::iso;
use crate::error::{Problem, shown};
use crate::format::{FORMATS, number, text};

const KEYS: &[&str] = &[
    "time", "op", "offset", "size", "bytes", "device", "delim", "header", "read", "write", "trim",
    "flush",
];

/// The words for operations that need no definition.
const WORDS: &[(&str, Op)] = &[
    ("w", Op::Write),
    ("r", Op::Read),
    ("write", Op::Write),
    ("read", Op::Read),
    ("t", Op::Trim),
    ("d", Op::Trim),
    ("discard", Op::Trim),
    ("trim", Op::Trim),
    ("unmap", Op::Trim),
    ("f", Op::Flush),
    ("flush", Op::Flush),
    ("sync", Op::Flush),
];

/// The largest column number: a larger one is a typing error.
const COLUMNS_MAX: usize = 1000;
const HEADER_LINES_MAX: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::format) enum Role {
    Time,
    Op,
    Offset,
    Size,
    Device,
}

pub(super) const ROLES: usize = 5;

/// A column, as the user names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// Index from 0.
    At(usize),
    Named(String),
}

impl Column {
    fn parse(text: &str) -> Result<Column, Problem> {
        match text.parse::<usize>() {
            Ok(number @ 1..=COLUMNS_MAX) => Ok(Column::At(number - 1)),
            Ok(_) => Err(Problem::usage(format!(
                "column {text} is out of range: columns count from 1 to {COLUMNS_MAX}"
            ))),
            Err(_) if text.is_empty() => {
                Err(Problem::usage("a column is missing: write e.g. op=2 or op=name"))
            }
            Err(_) => Ok(Column::Named(text.to_owned())),
        }
    }

    /// Returns its index, from 0.
    pub(super) fn index(&self, names: Option<&[u8]>, delim: Delim) -> Result<usize, Problem> {
        let name = match self {
            Column::At(index) => return Ok(*index),
            Column::Named(name) => name,
        };
        let line = names.unwrap_or(b"");
        let there = |field: &[u8]| text::unquoted(field).eq_ignore_ascii_case(name.as_bytes());
        delim.split(line).position(there).filter(|index| *index < COLUMNS_MAX).ok_or_else(|| {
            Problem::usage(format!(
                "the header has no column '{name}'; it is {}; columns can be numbers from 1, too",
                shown(line)
            ))
        })
    }
}

/// The source of the length of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Size {
    Fixed(u64),
    Column(Column, Notation),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Time {
    /// A number in units of this many nanoseconds.
    Number(u64),
    /// Date and time of day, as in ISO 8601.
    Iso,
}

/// The notation of an address or size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Notation {
    /// Bytes of a unit.
    pub(super) unit: u64,
    /// Hexadecimal without 0x too; a number with 0x always is hexadecimal.
    pub(super) hex: bool,
}

/// The volumes to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Device {
    /// The only volume of the trace.
    First,
    One(String),
    All,
}

/// The number of lines above the first request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Header {
    Auto,
    Lines(usize),
}

/// The roles of the columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Map {
    /// `None` means that the first line decides.
    pub(super) delim: Option<Delim>,
    pub(super) header: Header,
    /// The column and its notation, which is `None` if a header does not give it.
    pub(super) time: Option<(Column, Option<Time>)>,
    pub(super) op: Column,
    pub(super) words: Vec<(Vec<u8>, Op)>,
    pub(super) offset: (Column, Notation),
    pub(super) size: Size,
    pub(super) device: Option<(Column, Device)>,
    /// Further columns of a header that could have a role that is taken.
    pub(super) ignored: Vec<String>,
}

impl Map {
    /// Parses `key=value,…`.
    pub(super) fn parse(text: &str) -> Result<Map, Problem> {
        if FORMATS.iter().any(|format| format.name == text) {
            return Err(Problem::usage(format!(
                "csv: takes columns, and {text} is a format of its own: --format {text}"
            )));
        }
        let (mut time, mut op, mut offset, mut size) = (None, None, None, None);
        let (mut device, mut delim, mut header) = (None, None, Header::Auto);
        let mut words = Vec::new();
        let mut keys: Vec<&str> = Vec::new();
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let key = key.trim();
            // Both give the length of requests.
            let what = if key == "bytes" { "size" } else { key };
            let is_words = ["read", "write", "trim", "flush"].contains(&key);
            if !is_words && keys.contains(&what) {
                let told = if what == "size" { "size= or bytes=" } else { key };
                return Err(Problem::usage(format!("csv: {told} is there twice; give one")));
            }
            keys.push(what);
            match key {
                "time" => time = Some(time_column(value)?),
                "op" => op = Some(Column::parse(value)?),
                "offset" => offset = Some(sized_column(value)?),
                "size" => {
                    let (column, unit) = sized_column(value)?;
                    size = Some(Size::Column(column, unit));
                }
                "bytes" => size = Some(Size::Fixed(bytes_of(value)?)),
                "device" => device = Some(device_column(value)?),
                "delim" => delim = Some(delim_of(value)?),
                "header" => header = Header::Lines(lines_of(value)?),
                "read" => add_words(&mut words, value, Op::Read)?,
                "write" => add_words(&mut words, value, Op::Write)?,
                "trim" => add_words(&mut words, value, Op::Trim)?,
                "flush" => add_words(&mut words, value, Op::Flush)?,
                other => {
                    let keys = nearest(other, KEYS.iter().copied());
                    return Err(Problem::usage(format!(
                        "csv: does not know {}; it takes {}",
                        shown(other.as_bytes()),
                        keys.join(", ")
                    )));
                }
            }
        }
        let missing = |what: &str| {
            Problem::usage(format!(
                "csv: lacks {what}; write e.g. \
                csv:time=1/us,op=2,offset=3/bytes,size=4/bytes"
            ))
        };
        Ok(Map {
            delim,
            header,
            time: time.ok_or_else(|| missing("time=COLUMN/UNIT (or time=none)"))?,
            op: op.ok_or_else(|| missing("op=COLUMN"))?,
            words: with_default_words(words),
            offset: offset.ok_or_else(|| missing("offset=COLUMN/UNIT"))?,
            size: size.ok_or_else(|| missing("size=COLUMN/UNIT"))?,
            device,
            ignored: Vec::new(),
        })
    }

    /// Returns whether a column is named, so that there must be a header.
    pub(super) fn has_names(&self) -> bool {
        let named = |column: &Column| matches!(column, Column::Named(_));
        named(&self.op)
            || named(&self.offset.0)
            || self.time.as_ref().is_some_and(|(column, _)| named(column))
            || self.device.as_ref().is_some_and(|(column, _)| named(column))
            || matches!(&self.size, Size::Column(column, _) if named(column))
    }

    /// Returns the indices of the columns that hold numbers, as far as they are known without a
    /// header.
    pub(super) fn number_columns(&self) -> impl Iterator<Item = usize> {
        let size = match &self.size {
            Size::Column(column, _) => Some(column),
            Size::Fixed(_) => None,
        };
        let time = self.time.as_ref().map(|(column, _)| column);
        [Some(&self.offset.0), size, time].into_iter().flatten().filter_map(|column| match column {
            Column::At(index) => Some(*index),
            Column::Named(_) => None,
        })
    }

    pub(in crate::format) fn lacks_time_unit(&self) -> bool {
        matches!(self.time, Some((_, None)))
    }

    /// Finds the unit of times from a first value: a date, or a number with a fraction, which is in
    /// seconds. Any other guess could be wrong by a factor of a thousand.
    pub(super) fn infer_time_unit(
        &mut self,
        line: &[u8],
        names: &[u8],
        delim: Delim,
    ) -> Result<(), Problem> {
        let Some((column, unit)) = &mut self.time else { return Ok(()) };
        let field = delim.split(line).nth(column.index(Some(names), delim)?).unwrap_or(b"");
        if iso::nanoseconds(text::unquoted(field)).is_some() {
            *unit = Some(Time::Iso);
            return Ok(());
        }
        let small = number::scaled_small(text::unquoted(field), 1).is_some();
        if !field.is_empty() && !small && number::scaled(text::unquoted(field), 1).is_none() {
            return Err(iso::bad_time(field, "below the header"));
        }
        if small || field.contains(&b'.') {
            *unit = Some(Time::Number(NS_PER_S));
            return Ok(());
        }
        let Column::Named(name) = column else { return Ok(()) };
        Err(Problem::usage(format!(
            "the unit of the time column '{name}' is not told; say it: --format \
             csv:time={name}/us,op=…,offset=…,size=…"
        )))
    }
}

pub(super) fn time_unit(name: &str) -> Option<u64> {
    Some(match name {
        "s" | "sec" | "secs" | "seconds" => NS_PER_S,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" | "µs" => 1_000,
        "ns" | "nsec" => 1,
        "filetime" => 100,
        _ => return None,
    })
}

/// Returns the bytes of a unit of offsets and sizes.
pub(in crate::format) fn size_unit(name: &str) -> Option<u64> {
    Some(match name {
        "bytes" | "byte" | "B" | "b" => 1,
        "sectors" | "sector" | "512" => 512,
        "blocks" | "block" | "pages" | "4k" => BLOCK_BYTES,
        "kib" | "KiB" => 1024,
        _ => return None,
    })
}

fn time_column(value: &str) -> Result<Option<(Column, Option<Time>)>, Problem> {
    if value == "none" {
        return Ok(None);
    }
    let unit = |unit: &str| match unit {
        "iso" => Some(Time::Iso),
        unit => time_unit(unit).map(Time::Number),
    };
    let split = value.rsplit_once('/').and_then(|(column, name)| Some((column, unit(name)?)));
    let Some((column, unit)) = split else {
        return Err(Problem::usage(format!(
            "time={value} has no unit: write time=COLUMN/UNIT with s, ms, us, ns, filetime or iso, \
             or time=none"
        )));
    };
    Ok(Some((Column::parse(column)?, Some(unit))))
}

fn sized_column(value: &str) -> Result<(Column, Notation), Problem> {
    let (value, hex) = match value.strip_suffix("/hex") {
        Some(value) => (value, true),
        None => (value, false),
    };
    let Some((column, unit)) = value.rsplit_once('/') else {
        return Ok((Column::parse(value)?, Notation { unit: 1, hex }));
    };
    let unit = match size_unit(unit) {
        Some(bytes) => bytes,
        None => size::parse_bytes(unit).ok().filter(|bytes| *bytes > 0).ok_or_else(|| {
            Problem::usage(format!(
                "'{unit}' is no unit of offsets and sizes: write bytes, sectors, blocks, KiB or a \
                 size such as 16KiB"
            ))
        })?,
    };
    Ok((Column::parse(column)?, Notation { unit, hex }))
}

fn bytes_of(value: &str) -> Result<u64, Problem> {
    size::parse_bytes(value).map_err(Problem::usage)
}

fn device_column(value: &str) -> Result<(Column, Device), Problem> {
    let (column, device) = match value.split_once(':') {
        None => (value, Device::First),
        Some((column, "*")) => (column, Device::All),
        Some((column, name)) => (column, Device::One(name.to_owned())),
    };
    Ok((Column::parse(column)?, device))
}

fn delim_of(value: &str) -> Result<Delim, Problem> {
    Ok(match value {
        "comma" => Delim::Byte(b','),
        "semicolon" | ";" => Delim::Byte(b';'),
        "tab" => Delim::Byte(b'\t'),
        "pipe" | "|" => Delim::Byte(b'|'),
        "space" | "blank" => Delim::Blank,
        _ => {
            return Err(Problem::usage(format!(
                "delim={value} is unknown: write comma, semicolon, tab, pipe or space"
            )));
        }
    })
}

fn lines_of(value: &str) -> Result<usize, Problem> {
    value.parse().ok().filter(|count| *count <= HEADER_LINES_MAX).ok_or_else(|| {
        Problem::usage(format!(
            "header={value} is no number of lines: write 0 to {HEADER_LINES_MAX}"
        ))
    })
}

fn add_words(words: &mut Vec<(Vec<u8>, Op)>, value: &str, op: Op) -> Result<(), Problem> {
    for word in value.split('|').filter(|word| !word.is_empty()) {
        if words.iter().any(|(w, o)| w.eq_ignore_ascii_case(word.as_bytes()) && *o != op) {
            let word = shown(word.as_bytes());
            return Err(Problem::usage(format!(
                "{word} cannot stand for two operations; give each word once"
            )));
        }
        words.push((word.as_bytes().to_vec(), op));
    }
    Ok(())
}

/// Appends the default words. The user's words come first, so they win.
pub(in crate::format) fn with_default_words(mut words: Vec<(Vec<u8>, Op)>) -> Vec<(Vec<u8>, Op)> {
    words.extend(WORDS.iter().map(|(word, op)| (word.as_bytes().to_vec(), *op)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_says_what_it_says() {
        let map = Map::parse("csv_is_not_part=1").expect_err("unknown key");
        assert!(map.message.contains("it takes "), "{}", map.message);
        let map = Map::parse("time=1/ms,op=5,offset=lba/sectors,size=4/16KiB,device=2:7,read=1|x")
            .expect("valid");
        let sized = |unit, hex| Notation { unit, hex };
        assert_eq!(map.time, Some((Column::At(0), Some(Time::Number(1_000_000)))));
        assert_eq!(map.offset, (Column::Named("lba".to_owned()), sized(512, false)));
        assert_eq!(map.size, Size::Column(Column::At(3), sized(16 << 10, false)));
        assert_eq!(map.device, Some((Column::At(1), Device::One("7".to_owned()))));
        assert_eq!(map.words[..2], [(b"1".to_vec(), Op::Read), (b"x".to_vec(), Op::Read)]);
        assert!(map.has_names());
        let map = Map::parse("time=1/iso,op=2,offset=3/hex,size=4/sectors/hex").expect("valid");
        assert_eq!(map.time, Some((Column::At(0), Some(Time::Iso))));
        assert_eq!(map.offset, (Column::At(2), sized(1, true)));
        assert_eq!(map.size, Size::Column(Column::At(3), sized(512, true)));
    }

    #[test]
    fn a_wrong_map_says_how_to_write_it() {
        for (text, told) in [
            ("spc", "--format spc"),
            ("tme=1/us", "it takes time"),
            ("time=1,op=2,offset=3,size=4", "has no unit"),
            ("op=2,offset=3,size=4", "lacks time="),
            ("time=none,offset=3,size=4", "lacks op="),
            ("time=none,op=0,offset=3,size=4", "columns count from 1"),
            ("time=none,op=,offset=3,size=4", "a column is missing"),
            ("time=none,op=2,offset=3/miles,size=4", "no unit of offsets"),
            ("time=none,op=2,offset=3,bytes=x", "is not a size"),
            ("time=1/us,time=2/us,op=3,offset=4,size=5", "time is there twice"),
            ("time=none,op=2,offset=3,size=4,bytes=4K", "size= or bytes= is there twice"),
            ("time=none,op=2,offset=3,size=4,delim=x", "write comma"),
            ("time=none,op=2,offset=3,size=4,header=x", "no number of lines"),
            ("time=none,op=2,offset=3,size=4,read=1,write=1", "two operations"),
        ] {
            let problem = Map::parse(text).expect_err(text);
            assert!(problem.message.contains(told), "{text}: {}", problem.message);
        }
    }
}
