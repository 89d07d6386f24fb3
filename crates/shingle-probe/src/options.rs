//! The options of a probe.

use serde::{Deserialize, Serialize};
use shingle_core::units::{BLOCK_BYTES, DISK_BYTES_MAX};

use crate::bands::MARKS;
use crate::guard::BYTES_MIN;
use crate::target::{Block, Nanos};

/// The least number of different coverages: a line through two points has no interval of its slope.
pub(crate) const COVERAGES_MIN: usize = 3;

/// The size of writes, and how many are in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// Blocks of each write.
    pub blocks: u64,
    /// Writes in flight.
    pub depth: u32,
}

/// The options of a probe. All of them change what is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The largest possible capacity of the buffer, in bytes (the paper's C).
    pub buffer_max_bytes: u64,
    /// The largest possible band, in bytes.
    pub band_max_bytes: u64,
    /// The kinds of writes whose capacity is measured. The first must be of one block, one at a
    /// time.
    pub writes: Vec<Writes>,
    /// At how many places of the disk bands are searched.
    pub sites: u64,
    /// Bytes of a reading step.
    pub step_bytes: u64,
    /// Blocks of the zones whose `R(x)` is measured.
    pub zone_blocks: u64,
    /// Blocks written in each zone, for each measurement.
    pub coverages: Vec<u64>,
    /// Zones for each coverage.
    pub zones: u64,
    /// The longest wait for cleaning in idle time, in seconds.
    pub idle_max: u64,
    /// Seed of all random orders.
    pub seed: u64,
}

impl Default for Options {
    /// SAC's Table 3, zones and coverages.
    fn default() -> Options {
        let writes = [(1, 1), (2, 1), (1, 32), (2, 32), (64, 1)];
        Options {
            buffer_max_bytes: 40 << 30,
            band_max_bytes: 64 << 20,
            writes: writes.map(|(blocks, depth)| Writes { blocks, depth }).to_vec(),
            sites: 24,
            step_bytes: 256 << 10,
            zone_blocks: 5000,
            coverages: vec![500, 1000, 1500, 2000, 2500],
            zones: 240,
            idle_max: 30,
            seed: 1,
        }
    }
}

impl Options {
    /// Checks whether a disk of `disk_blocks` blocks can be probed with these options.
    ///
    /// # Errors
    /// The first bad option, in one line with its name.
    pub fn check(&self, disk_blocks: u64) -> Result<(), String> {
        self.check_record(disk_blocks)?;
        let mut different = self.coverages.clone();
        different.sort_unstable();
        different.dedup();
        match different.len() {
            count if count < COVERAGES_MIN => Err(format!(
                "--coverages: {count} of them {}, and R(x) takes {COVERAGES_MIN} to tell how far off its line may be; name more, or \
                 leave the option out",
                if count == 1 { "is different" } else { "are different" }
            )),
            _ => Ok(()),
        }
    }

    /// Checks whether a record of these options can be analysed: as [`Options::check`], but with
    /// any number of coverages.
    ///
    /// # Errors
    /// As [`Options::check`].
    pub fn check_record(&self, disk_blocks: u64) -> Result<(), String> {
        let within = |option: &str, value: u64, least: u64, most: u64| match value {
            value if value < least => Err(format!("{option} {value}: give at least {least}")),
            value if value > most => Err(format!("{option} {value}: give at most {most}")),
            _ => Ok(()),
        };
        let bytes_within = |option: &str, value: u64, least: u64, most: u64| {
            within(option, value, least, most).map_err(|told| told + " bytes")
        };
        within("blocks of the disk:", disk_blocks, 0, DISK_BYTES_MAX / BLOCK_BYTES)?;
        bytes_within("--buffer-max", self.buffer_max_bytes, 16 << 20, u64::MAX)?;
        let one = Writes { blocks: 1, depth: 1 };
        if self.writes.first() != Some(&one) {
            return Err("--writes begins with 4KiB:1, on which the rest builds".to_owned());
        }
        for &Writes { blocks, depth } in &self.writes {
            within("--writes, blocks of each:", blocks, 1, (16 << 20) / BLOCK_BYTES)?;
            within("--writes, at once:", depth.into(), 1, 256)?;
        }
        within("--sites", self.sites, 1, 10_000)?;
        // Two bands and a half are read around each place. (A disk that is too small is refused
        // elsewhere.)
        let bands_max = (disk_blocks * BLOCK_BYTES).max(BYTES_MIN) / 5 * 2;
        bytes_within("--band-max", self.band_max_bytes, 1 << 20, bands_max)?;
        bytes_within("--step", self.step_bytes, 32 << 10, self.band_max_bytes)?;
        within("--zone", self.zone_blocks, 1, 1 << 20)?;
        if self.coverages.iter().any(|blocks| !(1..=self.zone_blocks).contains(blocks)) {
            return Err(format!(
                "--coverages: give from 1 to {} blocks, as many as a zone has (--zone)",
                self.zone_blocks
            ));
        }
        within("--zones", self.zones, 0, 1_000_000)?;
        within("--idle-max", self.idle_max, 0, 86_400)
    }

    /// Blocks from a place to either end of the range that is read around it.
    pub(crate) fn half_blocks(&self) -> u64 {
        self.band_max_bytes / BLOCK_BYTES * 5 / 4
    }

    /// Blocks of a reading step.
    pub(crate) fn step_blocks(&self) -> u64 {
        (self.step_bytes / BLOCK_BYTES).next_multiple_of(MARKS).max(MARKS)
    }

    /// The longest idle time.
    #[must_use]
    pub fn idle_max(&self) -> Nanos {
        Nanos::from_millis(self.idle_max * 1000)
    }

    /// The places where bands are searched on a disk of `blocks`: evenly spread from start to end.
    pub(crate) fn places(&self, blocks: u64) -> Vec<Block> {
        let half = self.half_blocks();
        let span = blocks.saturating_sub(2 * half);
        (0..self.sites).map(|nth| Block(half + span * nth / (self.sites - 1).max(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_of_a_disk_is_told() {
        const BLOCKS: u64 = (256 << 20) / BLOCK_BYTES;
        let usual = Options::default;
        usual().check(BLOCKS).expect("the smallest disk that is probed");
        let one = Writes { blocks: 1, depth: 1 };
        let writes = |more: Writes| vec![one, more];
        for (options, told) in [
            (
                Options { buffer_max_bytes: 4096, ..usual() },
                "--buffer-max 4096: give at least 16777216 bytes",
            ),
            (Options { writes: Vec::new(), ..usual() }, "--writes begins with"),
            (Options { writes: writes(Writes { blocks: 0, depth: 1 }), ..usual() }, "--writes"),
            (Options { writes: writes(Writes { blocks: 1, depth: 0 }), ..usual() }, "--writes"),
            (Options { sites: 0, ..usual() }, "--sites 0: give at least 1"),
            (Options { sites: u64::MAX, ..usual() }, "--sites"),
            (Options { band_max_bytes: 4096, ..usual() }, "--band-max"),
            (Options { band_max_bytes: 1 << 30, ..usual() }, "--band-max"),
            (Options { step_bytes: 4096, ..usual() }, "--step"),
            (Options { step_bytes: 1 << 30, ..usual() }, "--step"),
            (Options { zone_blocks: u64::MAX, ..usual() }, "--zone"),
            (Options { coverages: vec![0, 1, 2], ..usual() }, "--coverages: give from 1 to"),
            (
                Options { coverages: vec![500, 2500], ..usual() },
                "--coverages: 2 of them are different",
            ),
            (Options { coverages: vec![500, 500, 500], ..usual() }, "--coverages: 1 of them is"),
            (Options { zones: u64::MAX, ..usual() }, "--zones"),
            (Options { idle_max: u64::MAX, ..usual() }, "--idle-max"),
        ] {
            let refused = options.check(BLOCKS).expect_err(told);
            assert!(refused.starts_with(told) && !refused.contains('\n'), "{refused}");
        }
        // An existing record with fewer coverages can still be analysed.
        Options { coverages: vec![500, 2500], ..usual() }
            .check_record(BLOCKS)
            .expect("there is a record");
        usual().check(u64::MAX).expect_err("no disk is as large");
    }
}
