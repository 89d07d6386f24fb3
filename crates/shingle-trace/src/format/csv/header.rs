//! Recognises the columns by the names in a header.

use super::delim::Delim;
use super::map::{
    Column, Device, Header, Map, Notation, Role, Size, Time, size_unit, time_unit,
    with_default_words,
};
use crate::error::{Kind, Problem, shown};
use crate::format::text;

/// Returns the map that a header defines, if its names are clear enough.
pub(super) fn map_of(line: &[u8], delim: Delim) -> Option<Map> {
    let sized = |unit| Notation { unit, hex: false };
    let (mut time, mut op, mut offset, mut size, mut device) = (None, None, None, None, None);
    let mut ignored = Vec::new();
    for field in delim.split(line) {
        let Some(name) = str::from_utf8(text::unquoted(field)).ok() else { continue };
        let Some((role, unit)) = role_of(name) else { continue };
        let column = Column::Named(name.to_owned());
        // Of two columns with the same role the first is taken, which is the usual one.
        let (is_first, what) = match role {
            Role::Time => (fill(&mut time, (column, unit.map(Time::Number))), "time"),
            Role::Op => (fill(&mut op, column), "operation"),
            Role::Offset => (fill(&mut offset, (column, sized(unit?))), "offset"),
            Role::Size => (fill(&mut size, Size::Column(column, sized(unit?))), "size"),
            Role::Device => (fill(&mut device, (column, Device::First)), "volume"),
        };
        if !is_first {
            ignored.push(format!("{} ({what})", shown(name.as_bytes())));
        }
    }
    Some(Map {
        delim: Some(delim),
        header: Header::Auto,
        time,
        op: op?,
        words: with_default_words(Vec::new()),
        offset: offset?,
        size: size?,
        device,
        ignored,
    })
}

/// Stores `value` if `place` is empty, and returns whether it was.
fn fill<T>(place: &mut Option<T>, value: T) -> bool {
    let is_empty = place.is_none();
    place.get_or_insert(value);
    is_empty
}

/// Returns the role and unit of a column by its name. An offset or size without a unit is in bytes.
pub(in crate::format) fn role_of(name: &str) -> Option<(Role, Option<u64>)> {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let (base, next) = (words.next()?, words.next());
    let bytes = |unit: u64| match next {
        None => Some(unit),
        Some(word) => size_unit(word),
    };
    Some(match base {
        "time" | "timestamp" | "ts" | "arrival" => match next {
            None => (Role::Time, None),
            Some("stamp" | "time") => (Role::Time, words.next().and_then(time_unit)),
            Some(unit) => (Role::Time, Some(time_unit(unit)?)),
        },
        "op" | "operation" | "opcode" | "opname" | "type" | "iotype" | "rw" => (Role::Op, None),
        "offset" => (Role::Offset, bytes(1)),
        "sector" | "lbn" => (Role::Offset, bytes(512)),
        // The unit of such an address must be in the name.
        "lba" | "address" | "addr" => (Role::Offset, next.and_then(size_unit)),
        "size" | "length" | "len" => (Role::Size, bytes(1)),
        "sectors" => (Role::Size, Some(512)),
        "lun" | "volume" | "vol" | "device" | "dev" | "disk" | "asu" => (Role::Device, None),
        _ => return None,
    })
}

/// Returns names that say the unit, for a column of offsets or sizes without one.
pub(in crate::format) fn with_unit(name: &str) -> String {
    let base = name.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| !word.is_empty());
    let base = base.unwrap_or(name);
    format!("{base}_bytes, {base}_sectors (of 512 bytes), {base}_blocks (of 4 KiB) or {base}_kib")
}

/// Returns why a first line is not accepted as a header; `None` if it does not look like one.
pub(in crate::format) fn unclear_header(line: &[u8]) -> Option<Problem> {
    let mut told = Vec::new();
    let mut missing = vec![(Role::Op, "op"), (Role::Offset, "offset"), (Role::Size, "size")];
    for field in Delim::of(line).split(line) {
        let Some(name) = str::from_utf8(text::unquoted(field)).ok() else { continue };
        let Some((role, unit)) = role_of(name) else { continue };
        missing.retain(|(other, _)| *other != role);
        if matches!(role, Role::Offset | Role::Size) && unit.is_none() {
            told.push(format!(
                "the column {} does not say its unit: call it {}",
                shown(name.as_bytes()),
                with_unit(name)
            ));
        }
    }
    if missing.len() > 1 {
        return None;
    }
    told.extend(missing.iter().map(|(_, name)| format!("no column is called {name}")));
    let told = told.join("; ");
    Some(Problem::new(
        Kind::Format,
        format!("the header is not clear: {told}; or {COLUMNS_ADVICE}"),
    ))
}

/// Returns why a first line is not accepted as a header, and what to do.
pub(super) fn no_header_error(line: &[u8]) -> Problem {
    unclear_header(line).unwrap_or_else(|| {
        let shown = shown(line);
        let none = "the first line is no header with a clear op, offset and size";
        Problem::new(Kind::Format, format!("{none}: {shown}; {COLUMNS_ADVICE}"))
    })
}

/// Advice in errors: how to define the columns.
pub(in crate::format) const COLUMNS_ADVICE: &str = "say what the columns are: --format \
    csv:time=1/us,op=2,offset=3/bytes,size=4/bytes (or /sectors, of 512 bytes)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_headers_map_themselves() {
        let comma = Delim::Byte(b',');
        let map = map_of(b"time_us,op,offset_bytes,size_bytes", comma).expect("clear");
        assert_eq!(
            map.time,
            Some((Column::Named("time_us".to_owned()), Some(Time::Number(1_000))))
        );
        let map = map_of(b"Timestamp,Response,IOType,LUN,Offset,Size", comma).expect("clear");
        assert!(map.lacks_time_unit());
        assert_eq!(map.device, Some((Column::Named("LUN".to_owned()), Device::First)));
        let map = map_of(b"Time [ms];rw;sector;sectors", Delim::Byte(b';')).expect("clear");
        assert_eq!(map.offset.1, Notation { unit: 512, hex: false });
        for line in [&b"time,op,lba,size"[..], b"a,b,c", b"1,2,3", b"op,offset_miles,size"] {
            assert_eq!(map_of(line, comma), None);
        }
    }
}
