//! SAC (Sun and Chai, ASPLOS 2020): Figure 1, Tables 2 and 3. (Figure 10 is [`crate::measure::rmw`].)

use super::{Bandwidth, Series};
use crate::measure::load::Load;
use crate::sheet::DriveError;
use shingle_core::units::{BLOCK_BYTES, Op};

const KIB: u64 = 1024;
const TB: u64 = 1_000_000_000_000;
const WRITES_MAX: u64 = 10_000_000;
/// Writes that fill the write cache of a conventional disk many times over.
const WARM: u64 = 1000;

/// State of the drive when time begins to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// New: the buffer is empty.
    Empty,
    /// After the first write that had to wait for cleaning; of a drive without a buffer, when its
    /// write cache is full.
    Full,
}

/// Figure 1: 4 KB random writes over 1 TB, second for second.
///
/// The paper says the shingled disk swings between 38 and 2,000 KB/s, which leaves out the time
/// until its buffer is full (13 MB/s): take [`Start::Full`]. It does not say over how long a time it
/// averages, either. When two bands are cleaned at a time many single seconds see no write done.
///
/// # Errors
/// If there is no such drive.
pub fn figure_1(
    drive: &str,
    start: Start,
    seconds: usize,
    seed: u64,
) -> Result<Series, DriveError> {
    let mut load = Load::new(drive, TB, 4 * KIB, seed)?;
    begin(&mut load, start);
    Ok(load.series(Op::Write, seconds))
}

/// Writes until the drive is in the requested state.
fn begin(load: &mut Load, start: Start) {
    if start == Start::Full && load.drive.description().buffer_blocks > 0 {
        load.run_to_cliff(WRITES_MAX);
    } else if start == Start::Full {
        load.run(Op::Write, WARM);
    }
}

/// One cell of Table 2: 4 KB random reads or writes over the first 10 GB, second for second.
///
/// The paper does not say how long it measured, nor how full the buffer was. A relative standard
/// deviation of 870 % at a mean of 124 KB/s needs a few seconds of some 13 MB/s among many of
/// little: a run that begins with an empty buffer and continues for hours, and then at a rate far
/// below what the models, and other published runs, reach over so small a range (`docs/drives.md`).
///
/// # Errors
/// If there is no such drive.
pub fn table_2(
    drive: &str,
    op: Op,
    start: Start,
    seconds: usize,
    seed: u64,
) -> Result<Bandwidth, DriveError> {
    let mut load = Load::new(drive, 10 << 30, 4 * KIB, seed)?;
    if op == Op::Write {
        begin(&mut load, start);
    }
    Ok(load.series(op, seconds).bandwidth())
}

/// A row of Table 3.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detected {
    /// I/Os per second until the first write that waited, cleaning excluded.
    pub iops_before: f64,
    /// Seconds until then.
    pub seconds: f64,
    /// Bytes written until then: the size of the buffer for such writes.
    pub buffer_bytes: u64,
    /// I/O a second of the 20,000 writes that follow.
    pub iops_after: f64,
}

/// A row of Table 3: how much random writing the empty buffer takes (§5.1).
///
/// The range is the whole drive, which the method allows; the paper does not say. A drive serves
/// one I/O at a time: the rows of depth 32 are, to the models, those of depth 1.
///
/// # Errors
/// If there is no such drive, it has no buffer, or a write is not of whole blocks.
pub fn table_3(drive: &str, write_bytes: u64, seed: u64) -> Result<Detected, DriveError> {
    let refuse = |why: &str| DriveError::Refused(format!("{drive}: {why}"));
    if write_bytes == 0 || !write_bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(refuse("a write is of whole blocks of 4096 bytes"));
    }
    let mut load = Load::new(drive, u64::MAX, write_bytes, seed)?;
    if load.drive.description().buffer_blocks == 0 {
        return Err(refuse("no buffer to detect; take a shingled drive"));
    }
    let ios = load.run_to_cliff(WRITES_MAX);
    let seconds = load.now.since(load.drive.counters().clean_time).as_secs_f64();
    // The write that waited found it full.
    let buffer_bytes = load.bytes(ios - 1);
    let iops_after = 20_000.0 / load.run(Op::Write, 20_000);
    Ok(Detected { iops_before: ios as f64 / seconds, seconds, buffer_bytes, iops_after })
}
