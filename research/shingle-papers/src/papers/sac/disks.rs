//! Figures of bare disks.

use super::reasons::{AFTER, BY_ADDRESS, CMR_MODEL, FROM_EMPTY, SECONDS, TEN_GB};
use crate::cells::Chain;
use crate::experiment::{Chart, Figure, Source};
use crate::papers::bare;
use crate::papers::rows::rows;

pub(super) const BANDWIDTH: Figure = Figure {
    id: "1",
    title: "Bandwidth of random writes, shingled against conventional",
    how: "4 KB random writes over 1 TB of st8000as0002, once its buffer is full, and of cmr5900, \
          once its write cache is: 1,000 seconds.",
    source: Source::Measured(bare::sac_1),
    charts: &[Chart::Own("bandwidth")],
    rows: rows! {
        "§1, Figure 1" {
            factor 38.0: "the SMR disk severely jittered between 38KB/s …",
                |c| c.number("SMR: least second (KB/s)"), SECONDS;
            factor 2000.0: "… and 2000KB/s", |c| c.number("SMR: greatest second (KB/s)"), SECONDS;
            factor 830.0: "a 5TB CMR swings slightly around 830KB/s",
                |c| c.number("CMR: mean (KB/s)");
            order: "severely jittered against swings slightly",
                |c| {
                    let link = |drive: &str| {
                        let name = format!("{drive}: deviation (% of mean)");
                        (drive.to_owned(), c.number(&name))
                    };
                    vec![Chain { place: "deviation".into(), links: vec![link("CMR"), link("SMR")] }]
                };
        }
    },
};

pub(super) const TABLE_2: Figure = Figure {
    id: "table-2",
    title: "Bandwidth of random reads and writes over 10 GB",
    how: "4 KB, second by second for 2,000 seconds, once the buffer is full: cmr5900 and \
          st8000as0002. The paper does not say how long it measured, nor how full the buffer \
          was.",
    source: Source::Measured(bare::sac_table_2),
    charts: &[],
    rows: rows! {
        "§3, Table 2" {
            factor 247.5: "CMR read 247.5 KB/s", |c| c.number("CMR read: mean (KB/s)"), CMR_MODEL;
            factor 588.8: "CMR write 588.8 KB/s", |c| c.number("CMR write: mean (KB/s)"), CMR_MODEL;
            factor 373.7: "SMR read 373.7 KB/s", |c| c.number("SMR read: mean (KB/s)");
            factor 124.2: "SMR write 124.2 KB/s", |c| c.number("SMR write: mean (KB/s)"), TEN_GB;
            percent 6.1: "RSD of CMR reads 6.1%", |c| c.number("CMR read: RSD (%)");
            percent 11.1: "RSD of CMR writes 11.1%", |c| c.number("CMR write: RSD (%)"), CMR_MODEL;
            percent 6.6: "RSD of SMR reads 6.6%", |c| c.number("SMR read: RSD (%)");
            percent 869.6: "RSD of SMR writes 869.6%",
                |c| c.number("SMR write: RSD (%)"), FROM_EMPTY;
        }
    },
};

pub(super) const FIGURE_10: Figure = Figure {
    id: "10",
    title: "Time to write a band by the blocks written of it",
    how: "st8000as0002: zones of 5,000 blocks drawn from the whole disk, 500 to 2,500 blocks of \
          each written in random order, all drive time counted from when the buffer is full.",
    source: Source::Measured(bare::sac_10),
    charts: &[Chart::Own("regression")],
    rows: rows! {
        "§4.4, Figure 10 (b)" {
            factor 0.728: "R(x) = 0.728x + 436: the slope",
                |c| c.number("slope (ms a block)"), BY_ADDRESS;
            factor 436.0: "R(x) = 0.728x + 436: at 0", |c| c.number("R(0) (ms)");
            factor 0.9717: "R² = 0.9717", |c| c.number("R²");
        }
        "§4.4, Figure 10 (a)" {
            order: "Every peak cluster of the 500 coverage case is shorter than that of the 2500 \
                    coverage case",
                |c| {
                    let at = |blocks: u32| {
                        let name = format!("{blocks} blocks: a cluster of peaks lasts (s)");
                        (blocks.to_string(), c.number(&name))
                    };
                    vec![Chain { place: "cluster".into(), links: vec![at(500), at(2500)] }]
                };
        }
    },
};

/// Makes the rows of Table 3, four for each line: size of writes, buffer, I/Os per second before
/// and after, seconds.
macro_rules! table_3 {
    ($($size:literal $buffer:literal $megabytes:literal, $before:literal $after:literal, $time:literal $seconds:literal,
       $falls_from:literal $falls_to:literal;)*) => {
        rows! { "§5.1, Table 3" { $(
            factor $megabytes: concat!($size, ", depth 1: ", $buffer),
                |c| c.number(concat!($size, ": buffer (MB)"));
            factor $before: concat!($size, ", depth 1: ", $falls_from),
                |c| c.number(concat!($size, ": IOPS before"));
            factor $after: concat!($size, ", depth 1: ", $falls_to),
                |c| c.number(concat!($size, ": IOPS after")), AFTER;
            factor $seconds: concat!($size, ", depth 1: ", $time),
                |c| c.number(concat!($size, ": seconds"));
        )* } }
    };
}

pub(super) const TABLE_3: Figure = Figure {
    id: "table-3",
    title: "Capacity of the buffer by the size of writes",
    how: "st8000as0002, random writes over the whole disk into an empty buffer. The model serves \
          one I/O at a time, so the rows of depth 32 are left out.",
    source: Source::Measured(bare::sac_table_3),
    charts: &[],
    rows: table_3! {
        "4KB" "PB 720MB" 720.0, 3156.0 41.0, "54s" 54.0, "IOPS 3156 …" "… → 41";
        "8KB" "PB 1450MB" 1450.0, 3268.0 9.0, "58s" 58.0, "IOPS 3268 …" "… → 9";
        "256KB" "PB 30.3GB" 30300.0, 452.0 21.0, "268 s" 268.0, "IOPS 452 …" "… → 21";
    },
};
