//! CSV, or any text with one request a line and the same columns in every line.
//!
//! A header whose names are clear defines the columns. For anything else the user gives a map,
//! `csv:time=1/us,op=2,…` (`docs/formats.md` has its keys). Published traces whose columns vary have
//! formats of their own.
//!
//! Blanks and quotes around a field are removed, and a delimiter in quotes belongs to its field.
//! Lines are not split by the csv crate: it does not support a run of blanks as delimiter, and with
//! it a stray quote makes the rest of the file one field, held in memory and reported far from the
//! quote. (`benches/decode.rs` measures the speed of both.)

mod delim;
mod header;
mod iso;
mod map;

use core::mem;

use delim::Delim;
pub(super) use header::{COLUMNS_ADVICE, unclear_header};
#[cfg(feature = "parquet")]
pub(super) use header::{role_of, with_unit};
#[cfg(feature = "parquet")]
pub(super) use map::with_default_words;
use map::{Column, Device, Header, Map, Notation, ROLES, Size, Time};
pub(super) use map::{Role, size_unit};
use shingle_core::units::{Op, SECTOR_BYTES};

use super::decode::{Decode, Pieces};
use super::units::Columns;
use super::{Decoded, Evidence, Format, Match, Options, number, text};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::Raw;
use crate::volume::{Choice, Volumes};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    about: "text columns: by a header's names, or csv:time=1/us,op=2,offset=3/bytes,size=4/bytes",
    sniff,
    weigh: None,
    open,
};

fn sniff(head: &[u8]) -> Option<Match> {
    let mut lines = text::lines(head);
    let line = lines.next()?;
    if text::is_binary(line) {
        return None;
    }
    let delim = Delim::of(line);
    header::map_of(line, delim)?;
    // Only the number of columns counts here; wrong values are reported where they are read.
    let columns = delim.split(line).count();
    let good = |line: &[u8]| delim.split(line).count() == columns;
    let (fit, of) = lines.fold((0, 0), |(fit, of), line| (fit + usize::from(good(line)), of + 1));
    Some(Match { sureness: Match::LIKELY, evidence: Evidence::Header { fit, of } })
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    let name = input.name().to_owned();
    let whole = |problem: Problem| problem.at(&name, Place::Whole);
    let (map, delim) = map_of(input.peek(PEEK_BYTES_MAX)?, options.map).map_err(whole)?;
    let names = consume_header(&mut input, &map, delim)?;
    let plan = Plan::new(map, delim, names.as_deref(), options.volume).map_err(whole)?;
    Decoded::records(Pieces::lines(input, Csv { plan, seen: Columns::default() }, options.reorder))
}

/// Returns the map that the user gave, or that of the header.
fn map_of(head: &[u8], told: Option<&str>) -> Result<(Map, Delim), Problem> {
    let mut lines = text::lines(head);
    let first = lines.next().unwrap_or(b"");
    if text::is_binary(first) {
        return Err(text::binary_error(first));
    }
    let mut map = match told {
        Some(told) => Map::parse(told)?,
        None => {
            header::map_of(first, Delim::of(first)).ok_or_else(|| header::no_header_error(first))?
        }
    };
    // Lines above the names or the first request may hold anything.
    let telling = match map.header {
        Header::Lines(count @ 1..) => head.split(|&byte| byte == b'\n').nth(count - 1),
        Header::Lines(0) | Header::Auto => None,
    };
    let delim = *map.delim.get_or_insert_with(|| Delim::of(telling.unwrap_or(first)));
    if map.lacks_time_unit() {
        map.infer_time_unit(lines.next().unwrap_or(b""), first, delim)?;
    }
    Ok((map, delim))
}

/// Consumes the header, and returns the line with the names.
fn consume_header(
    input: &mut Input,
    map: &Map,
    delim: Delim,
) -> Result<Option<Vec<u8>>, TraceError> {
    let mut names = None;
    match map.header {
        Header::Lines(count) => {
            for _ in 0..count {
                names = input.next_line()?.map(<[u8]>::to_vec);
            }
        }
        Header::Auto => {
            let head = input.peek(PEEK_BYTES_MAX)?;
            let Some(line) = text::lines(head).next() else { return Ok(None) };
            if map.has_names() || is_header(line, map, delim) {
                names = text::consume_first_line(input)?;
            }
        }
    }
    Ok(names)
}

/// Returns whether no column that must be a number begins like one. A line in which only some
/// numbers are bad is an error later.
fn is_header(line: &[u8], map: &Map, delim: Delim) -> bool {
    let fields: Vec<&[u8]> = delim.split(line).collect();
    map.number_columns().all(|index| {
        let field = fields.get(index).map_or(&b""[..], |field| text::unquoted(field));
        field.first().is_some_and(|byte| !byte.is_ascii_digit() && !b".-+".contains(byte))
    })
}

/// A map resolved to positions of columns in the line.
struct Plan {
    delim: Delim,
    /// Roles by column, up to the last one needed.
    roles: Vec<Option<Role>>,
    /// Number of columns in the header, if columns are chosen by name.
    named_columns: Option<usize>,
    /// Unit of times, if there is a column.
    time: Option<Time>,
    offset: Notation,
    size: SizeSource,
    words: Vec<(Vec<u8>, Op)>,
    volumes: Option<Volumes>,
    ignored: Vec<String>,
}

enum SizeSource {
    Bytes(u64),
    Column(Notation),
}

impl Plan {
    fn new(
        mut map: Map,
        delim: Delim,
        names: Option<&[u8]>,
        volume: &Choice,
    ) -> Result<Plan, Problem> {
        let mut roles = Vec::new();
        let mut place = |column: &Column, role: Role| -> Result<(), Problem> {
            let index = column.index(names, delim)?;
            if roles.len() <= index {
                roles.resize(index + 1, None);
            }
            match Option::replace(&mut roles[index], role) {
                None => Ok(()),
                Some(other) => Err(Problem::usage(format!(
                    "column {} cannot be both {other:?} and {role:?}; name each column once",
                    index + 1
                ))),
            }
        };
        place(&map.op, Role::Op)?;
        place(&map.offset.0, Role::Offset)?;
        if let Some((column, _)) = &map.time {
            place(column, Role::Time)?;
        }
        let size = match &map.size {
            Size::Fixed(bytes) => SizeSource::Bytes(*bytes),
            Size::Column(column, unit) => {
                place(column, Role::Size)?;
                SizeSource::Column(*unit)
            }
        };
        let volumes = match (&map.device, volume) {
            (None, Choice::Only | Choice::All) => None,
            (None, volume) => {
                return Err(Problem::usage(format!(
                    "--volume {volume} needs the column that tells volumes apart: --format \
                     csv:…,device=COLUMN"
                )));
            }
            (Some((_, Device::All)), Choice::Only) => None,
            (Some((column, device)), volume) => {
                place(column, Role::Device)?;
                Some(match (volume, device) {
                    (Choice::Only, Device::One(name)) => {
                        Volumes::new(&Choice::Named(vec![name.clone()]))
                    }
                    (volume, _) => Volumes::new(volume),
                })
            }
        };
        let words = mem::take(&mut map.words);
        let named_columns =
            names.filter(|_| map.has_names()).map(|names| delim.split(names).count());
        let named_columns = named_columns.filter(|&named_columns| named_columns >= roles.len());
        let time = map.time.map(|(_, unit)| unit.unwrap_or(Time::Number(1)));
        let (offset, ignored) = (map.offset.1, map.ignored);
        Ok(Plan { delim, roles, named_columns, time, offset, size, words, volumes, ignored })
    }

    #[inline]
    fn fields<'a>(&self, line: &'a [u8]) -> Result<[&'a [u8]; ROLES], Problem> {
        let mut fields: [&[u8]; ROLES] = [b""; ROLES];
        let mut columns = self.delim.split(line);
        for role in &self.roles {
            let Some(field) = columns.next() else { return Err(self.too_few(line)) };
            if let Some(role) = role {
                fields[*role as usize] = field;
            }
        }
        // One field too many, as of a number written 4,096, would move later fields to wrong names.
        if let Some(named_columns) = self.named_columns {
            let mut extra = columns.skip(named_columns - self.roles.len());
            if extra.any(|field| !text::unquoted(field).is_empty()) {
                return Err(self.too_many(named_columns, line));
            }
        }
        Ok(fields)
    }

    #[cold]
    fn too_few(&self, line: &[u8]) -> Problem {
        Problem::syntax(format!(
            "there are {} columns and column {} is needed in {}; is the delimiter right \
             (--format csv:…,delim=comma|semicolon|tab|space)?",
            self.delim.split(line).count(),
            self.roles.len(),
            shown(line)
        ))
    }

    #[cold]
    fn too_many(&self, named_columns: usize, line: &[u8]) -> Problem {
        Problem::syntax(format!(
            "there are {} columns and the header names {named_columns} in {}; put a field that contains the delimiter in \
             quotes, or name columns by their number (--format csv:time=1/us,…)",
            self.delim.split(line).count(),
            shown(line)
        ))
    }

    fn column(&self, role: Role) -> usize {
        self.roles.iter().position(|r| *r == Some(role)).map_or(0, |index| index + 1)
    }

    #[cold]
    fn bad_number(&self, role: Role, field: &[u8]) -> Problem {
        let what = format!("{} (column {})", format!("{role:?}").to_lowercase(), self.column(role));
        if role == Role::Time && iso::nanoseconds(text::unquoted(field)).is_some() {
            return Problem::syntax(format!(
                "the {what} is {}, a date: write time={}/iso in the map (--format csv:…)",
                shown(field),
                self.column(role)
            ));
        }
        let number =
            str::from_utf8(text::unquoted(field)).ok().filter(|text| text.parse::<f64>().is_ok());
        let (whole, bytes, field) = (role != Role::Time, field, shown(field));
        match number {
            // Digits that are not parsed as a number exceed its range.
            Some(text) if text.bytes().all(|b| b.is_ascii_digit() || (b == b'.' && !whole)) => {
                Problem::range(format!(
                    "the {what} is {field}, out of range; is the unit right (--format csv:…)?"
                ))
            }
            Some(text) if text.contains(['e', 'E']) => Problem::syntax(format!(
                "the {what} is {field}, which may have been rounded; write it with all its digits and no exponent \
                 (in R: options(scipen = 999)), or name another column (--format csv:…)"
            )),
            Some(_) => Problem::syntax(format!(
                "the {what} is {field}, and a number is read that is {}, in digits without a sign; is \
                 it the right column (--format csv:…)?",
                if whole { "whole" } else { "0 or more" }
            )),
            None if whole => text::not_a_number(bytes, &what),
            None => self.bad_time(bytes),
        }
    }

    #[cold]
    fn bad_time(&self, field: &[u8]) -> Problem {
        iso::bad_time(field, &format!("column {}", self.column(Role::Time)))
    }

    /// Returns a warning if the units of offsets or sizes look wrong.
    fn unit_warning(&self, seen: &Columns) -> Option<String> {
        let (size, sizes) = match self.size {
            SizeSource::Bytes(_) => (None, 1),
            SizeSource::Column(sized) => (Some(self.column(Role::Size)), sized.unit),
        };
        let size = |odd: bool| size.filter(|_| odd);
        let sizes_too_small = size(sizes == 1 && seen.are_sizes_in_sectors());
        let sizes_too_large = size(sizes == SECTOR_BYTES && seen.are_sizes_in_bytes());
        let offset = |odd: bool| odd.then(|| self.column(Role::Offset));
        let offsets_too_small = offset(self.offset.unit == 1 && seen.are_offsets_in_sectors());
        let offsets_too_large = offset(
            self.offset.unit == SECTOR_BYTES
                && seen.are_offsets_in_bytes()
                && (sizes == 1 || sizes_too_large.is_some()),
        );
        let told = [
            (offsets_too_small, "offset", "most are no multiples of 512", "sectors"),
            (offsets_too_large, "offset", "all are multiples of 512", "bytes"),
            (sizes_too_small, "size", "nearly all are below 512", "sectors"),
            (sizes_too_large, "size", "all are multiples of 512", "bytes"),
        ];
        let told = told.into_iter().filter_map(|(column, what, why, unit)| {
            let column = column?;
            Some(format!("{what}s (column {column}): {why}, as if they were {unit}; if so, {what}={column}/{unit}"))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| format!("{} (--format csv:…)", told.join("; ")))
    }

    #[inline]
    fn op(&self, field: &[u8]) -> Result<Op, Problem> {
        let bare = text::unquoted(field);
        for (word, op) in &self.words {
            if bare.eq_ignore_ascii_case(word) {
                return Ok(*op);
            }
        }
        let known: Vec<_> = self.words.iter().map(|(w, _)| String::from_utf8_lossy(w)).collect();
        Err(text::unknown_op(field, &format!("known are {}", known.join(" "))))
    }
}

struct Csv {
    plan: Plan,
    /// Samples of the offsets and sizes of the first requests.
    seen: Columns,
}

impl Decode for Csv {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let plan = &mut self.plan;
        let fields = plan.fields(line)?;
        let field = |role: Role| fields[role as usize];
        let volume = match &mut plan.volumes {
            None => 0,
            Some(volumes) => match volumes.select(text::unquoted(field(Role::Device)))? {
                Some(volume) => volume,
                None => return Ok(None),
            },
        };
        let plan = &self.plan;
        let op = plan.op(field(Role::Op))?;
        let ns = match plan.time {
            None => 0,
            Some(Time::Number(unit)) => number::scaled(text::unquoted(field(Role::Time)), unit)
                .or_else(|| number::scaled_small(text::unquoted(field(Role::Time)), unit))
                .ok_or_else(|| plan.bad_number(Role::Time, field(Role::Time)))?,
            Some(Time::Iso) => iso::nanoseconds(text::unquoted(field(Role::Time)))
                .ok_or_else(|| plan.bad_time(field(Role::Time)))?,
        };
        if op == Op::Flush {
            // Traces leave these columns of a flush empty, or fill in meaningless values.
            return Ok(Some(Raw { ns, offset: 0, bytes: 0, op, volume }));
        }
        let number = |role: Role, sized: Notation| {
            let field = text::unquoted(field(role));
            let value = if sized.hex { None } else { number::whole(field) };
            let value = value
                .or_else(|| number::hexadecimal(field, sized.hex))
                .or_else(|| if sized.hex { None } else { number::integral(field) });
            value
                .and_then(|value| Some((value, value.checked_mul(sized.unit)?)))
                .ok_or_else(|| plan.bad_number(role, field))
        };
        let (offset_number, offset) = number(Role::Offset, plan.offset)?;
        let (size_number, bytes) = match plan.size {
            SizeSource::Bytes(bytes) => (bytes, bytes),
            SizeSource::Column(sized) => number(Role::Size, sized)?,
        };
        // The length of a trim says nothing about the unit.
        if op != Op::Trim && !self.seen.is_enough() {
            self.seen.add_numbers(offset_number, size_number);
        }
        Ok(Some(Raw { ns, offset, bytes, op, volume }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        self.plan.volumes.as_ref()
    }

    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request below the header")
    }

    fn warning(&self) -> Option<String> {
        let no_time = self.plan.time.is_none();
        let all_at_zero =
            no_time.then(|| "no column is named as the time, so every request arrives at 0; name it time_us (or _s, _ms, _ns), or say --format csv:time=COLUMN/UNIT,…".to_owned());
        let also = self.plan.ignored.join(", ");
        let also = (!also.is_empty()).then(|| {
            format!(
                "of several columns for one thing the first is taken, and not {also}; --format csv:time=COLUMN/UNIT,… \
                 takes another"
            )
        });
        let told: Vec<String> =
            all_at_zero.into_iter().chain(also).chain(self.plan.unit_warning(&self.seen)).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}
