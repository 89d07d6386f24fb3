//! Reads traces with measured response times: those of the validation set of DiskSim 4.0. They are
//! not a format for simulation, because the times are those of one disk. `shingle list anchors
//! --disksim DIR` replays them.
//!
//! ```text
//! W Hit    4583176   4    663.00000  45422.00000
//! op, what the disk's cache did, first sector (512 bytes), sectors, response time (us), pause after it (us)
//! ```
//!
//! The pause is the time from the completion of a request to the next request: in the simulator's
//! own output in the set, the second request comes at the simulated response time of the first,
//! plus its pause.

use shingle_core::units::{Nanos, Op};

use super::fields::words_and_rest;
use super::text::{is_skipped, time, whole};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;

/// A request with its measured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Read or write.
    pub op: Op,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Number of sectors; at least one.
    pub sectors: u64,
    /// Its response time.
    pub response: Nanos,
    /// Time from its completion to the next request.
    pub pause: Nanos,
}

/// The longest plausible time: an hour.
const US_MAX: u64 = 3_600_000_000;

/// Reads a whole file, compressed or not.
///
/// # Errors
/// If it cannot be read, holds no request, or a line is not a request.
pub fn read(path: &str) -> Result<Vec<Timed>, TraceError> {
    read_all(Input::open(path)?)
}

fn read_all(mut input: Input) -> Result<Vec<Timed>, TraceError> {
    let mut all = Vec::new();
    while let Some(line) = input.next_line()? {
        if !is_skipped(line) {
            let timed = timed(line);
            let at = |problem: Problem| (problem, input.name().to_owned(), input.line());
            let timed = timed.map_err(at);
            all.push(timed.map_err(|(problem, name, line)| problem.at(&name, Place::Line(line)))?);
        }
    }
    if all.is_empty() {
        return Err(TraceError::new(Kind::Empty, input.name(), Place::Whole, "holds no request"));
    }
    Ok(all)
}

fn timed(line: &[u8]) -> Result<Timed, Problem> {
    let columns = words_and_rest::<6>(line);
    let ([op, cache, sector, sectors, response, pause], rest) = columns.ok_or_else(|| {
        Problem::syntax("no six columns: R or W, Hit or Miss, sector, sectors, response, pause")
    })?;
    if !rest.trim_ascii().is_empty() {
        return Err(Problem::syntax("more than six columns"));
    }
    let op = match op {
        b"R" => Op::Read,
        b"W" => Op::Write,
        _ => return Err(Problem::syntax("the first column is R or W")),
    };
    if !matches!(cache, b"Hit" | b"Miss") {
        return Err(Problem::syntax("the second column is Hit or Miss"));
    }
    let span = |field, what| match time(field, 1000, what)? {
        ns if ns <= US_MAX * 1000 => Ok(Nanos(ns)),
        _ => Err(Problem::range(format!("{what}: longer than an hour"))),
    };
    let (sector, sectors) = (whole(sector, "first sector")?, whole(sectors, "sectors")?);
    if sectors == 0 {
        return Err(Problem::range("sectors: one at least"));
    }
    let (response, pause) = (span(response, "response time")?, span(pause, "pause")?);
    Ok(Timed { op, sector, sectors, response, pause })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Timed>, String> {
        let input = Input::from_bytes("a.trace", text).map_err(|error| error.to_string())?;
        read_all(input).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_a_request_with_its_times() {
        let read = of("W Hit    4583176   4    663.00000  45422.00000\nR Miss 0 12 6657.5 0\n");
        let (us, first) = (Nanos::from_micros, 4_583_176);
        let write = Timed {
            op: Op::Write,
            sector: first,
            sectors: 4,
            response: us(663),
            pause: us(45_422),
        };
        let response = Nanos(6_657_500);
        let other = Timed { op: Op::Read, sector: 0, sectors: 12, response, pause: us(0) };
        assert_eq!(read, Ok(vec![write, other]));
    }

    #[test]
    fn whatever_is_no_such_line_is_told_with_its_number() {
        for (line, told) in [
            ("W Hit 1 4 663.0", "six columns"),
            ("W Hit 1 4 663.0 1 2", "more than six"),
            ("X Hit 1 4 663.0 1", "R or W"),
            ("W hot 1 4 663.0 1", "Hit or Miss"),
            ("W Hit -1 4 663.0 1", "first sector"),
            ("W Hit 1 0 663.0 1", "one at least"),
            ("W Hit 1 4 x 1", "response time"),
            ("W Hit 1 4 663.0 3600000001", "longer than an hour"),
        ] {
            let error = of(&format!("R Hit 0 1 1 1\n{line}\n")).expect_err(line);
            assert!(error.starts_with("a.trace: line 2: ") && error.contains(told), "{error}");
        }
        assert!(of("\n").expect_err("empty").contains("holds no request"));
    }
}
