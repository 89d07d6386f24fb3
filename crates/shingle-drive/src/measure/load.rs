//! Uniform random I/O of one size, one at a time: the load of the papers on bare drives.

use crate::drive::{Description, Drive};
use crate::io::Io;
use crate::parts::rng::Rng;
use crate::registry::make;
use crate::sheet::{DriveError, Settings};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Zone};

/// A drive under load, and the virtual time.
pub(crate) struct Load {
    pub(crate) drive: Box<dyn Drive>,
    pub(crate) now: Nanos,
    rng: Rng,
    range: u64,
    count: u64,
}

impl Load {
    /// Creates I/O of `bytes` over the first `range` bytes of a drive as built, or over all of a
    /// smaller one.
    pub(crate) fn new(name: &str, range: u64, bytes: u64, seed: u64) -> Result<Load, DriveError> {
        let mut drive = make(name, &Settings::default())?;
        let now = write_zones(drive.as_mut());
        let range = (range / BLOCK_BYTES).min(drive.description().disk_blocks);
        let count = bytes / BLOCK_BYTES;
        Ok(Load { drive, now, rng: Rng::new(seed), range, count })
    }

    pub(crate) fn one(&mut self, op: Op) {
        let block = Block(self.rng.below(self.range / self.count) * self.count);
        let io = Io { op, block, count: self.count };
        self.now = self.drive.serve(self.now, &io, &mut []).done;
    }

    /// Serves `ios` I/Os. Returns the seconds they took.
    pub(crate) fn run(&mut self, op: Op, ios: u64) -> f64 {
        let start = self.now;
        for _ in 0..ios {
            self.one(op);
        }
        self.now.since(start).as_secs_f64()
    }

    /// Writes until the drive has cleaned for the first time, at most `most` times. Returns the
    /// number of writes.
    pub(crate) fn run_to_cliff(&mut self, most: u64) -> u64 {
        let mut ios = 0;
        while self.drive.counters().clean_time == Nanos::ZERO && ios < most {
            self.one(Op::Write);
            ios += 1;
        }
        ios
    }

    /// Runs for `span`. Returns the number of I/Os done, and the bandwidth in bytes a second.
    pub(crate) fn run_for(&mut self, op: Op, span: Nanos) -> (u64, f64) {
        let (start, mut ios) = (self.now, 0);
        while self.now.since(start) < span {
            self.one(op);
            ios += 1;
        }
        (ios, self.bytes(ios) as f64 / self.now.since(start).as_secs_f64())
    }

    /// Runs for `seconds` whole seconds. Bytes count in the second in which their I/O completes.
    pub(crate) fn series(&mut self, op: Op, seconds: usize) -> Series {
        let (start, second) = (self.now, Nanos::from_millis(1000).0);
        let mut bytes = vec![0; seconds];
        loop {
            self.one(op);
            let at = usize::try_from(self.now.since(start).0 / second).unwrap_or(usize::MAX);
            let Some(sum) = bytes.get_mut(at) else { return Series { bytes } };
            *sum += self.bytes(1);
        }
    }

    /// Bytes of `ios` I/O.
    pub(crate) fn bytes(&self, ios: u64) -> u64 {
        ios * self.count * BLOCK_BYTES
    }
}

/// Writes all zones of a drive that exposes them, as if it had been in use: otherwise its reads
/// would find nothing, and cleaning would have nothing to rewrite. Returns the completion, which is
/// immediate for all other drives.
pub(crate) fn write_zones(drive: &mut dyn Drive) -> Nanos {
    let zones = match drive.description() {
        Description { exposed: Some(_), bands: Some(zones), .. } => zones.clone(),
        _ => return Nanos::ZERO,
    };
    let mut now = Nanos::ZERO;
    for zone in (0..u32::try_from(zones.count()).unwrap_or(u32::MAX)).map(Zone) {
        let io = Io { op: Op::Write, block: zones.first_block(zone), count: zones.blocks(zone) };
        now = drive.serve(now, &io, &mut []).done;
    }
    now
}

/// Bytes moved in each second of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// One figure a second, in order. A second in which no I/O was done has 0.
    pub bytes: Vec<u64>,
}

/// Statistics over the seconds of a [`Series`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Mean, in bytes a second.
    pub mean: f64,
    /// Standard deviation of the seconds (of all of them, not of a sample), in bytes a second.
    pub stdev: f64,
    /// Least second, in bytes.
    pub least: u64,
    /// Greatest second, in bytes.
    pub greatest: u64,
}

impl Bandwidth {
    /// Relative standard deviation: `stdev / mean`, as SAC's Table 2 has it. 0 if nothing moved.
    #[must_use]
    pub fn rsd(&self) -> f64 {
        if self.mean > 0.0 { self.stdev / self.mean } else { 0.0 }
    }
}

impl Series {
    /// Mean and spread of the seconds; zeros if there are none.
    #[must_use]
    pub fn bandwidth(&self) -> Bandwidth {
        let count = self.bytes.len().max(1) as f64;
        let mean = self.bytes.iter().sum::<u64>() as f64 / count;
        let squares: f64 =
            self.bytes.iter().map(|&bytes| bytes as f64 - mean).map(|off| off * off).sum();
        Bandwidth {
            mean,
            stdev: (squares / count).sqrt(),
            least: self.bytes.iter().copied().min().unwrap_or(0),
            greatest: self.bytes.iter().copied().max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_seconds_by_hand() {
        let bandwidth = Series { bytes: vec![2, 4, 4, 4, 5, 5, 7, 9] }.bandwidth();
        assert_eq!((bandwidth.mean, bandwidth.stdev), (5.0, 2.0));
        assert_eq!((bandwidth.least, bandwidth.greatest), (2, 9));
        assert!((bandwidth.rsd() - 0.4).abs() < 1e-12);
        assert_eq!(Series { bytes: vec![] }.bandwidth().mean, 0.0);
    }

    #[test]
    fn a_series_holds_the_bytes_of_each_second() {
        // Cost timing of the emulator: 0.3 ms a block into an empty buffer. 3333 writes of 0.3 ms
        // end within the first second (at 999.9 ms), 3333 more within the next (at 1999.8 ms).
        let mut load = Load::new("sac-emulator", 1 << 30, 4096, 1).expect("made");
        assert_eq!(load.series(Op::Write, 2).bytes, [3333 * 4096, 3333 * 4096]);
    }
}
