//! The parameters that are neither the policy's nor the cache's.

use shingle_core::param;
use shingle_core::params::Param;

/// Properties of the disk, `drive.NAME`. The defaults are what SAC measured on its disk
/// ([`Costs::PAPER`]).
pub(crate) const DRIVE_PARAMS: &[Param] = &[
    param!("buffer_blocks": Count = "0",
        "Blocks that fit into the disk's buffer, each written by itself; 0 if that is not known"),
    param!(LOG_BLOCKS: Count = "0",
        "Blocks of log in the disk's buffer, if its map fills before its log: then the log takes more blocks \
         of long writes. 0 of all other disks, and if that is not known. Needs drive.buffer_blocks"),
    param!("zone_blocks": Count = "0",
        "Blocks of the zones that R(x) is of, and zones of a policy that is not told otherwise; 0 for the \
         policy's own"),
    param!("read_us": Micros = "14000", "L_read, a random read (SAC's prototype)"),
    param!("rmw_base_us": Micros = "436000",
        "R(0), the fixed part of the drive time of a zone written (SAC section 4.4)"),
    param!("rmw_us_per_block": Micros = "728",
        "The part of R(x) for each block written of the zone (SAC section 4.4)"),
    param!(BAND_PASS_US: Micros = "0",
        "Time of going over a band once, of a disk that takes a band written from start to end past its \
         buffer; 0 of all others, and if that is not known. Needs drive.bands"),
    param!(LOG: Switch = "off",
        "Whether all that is written is appended to a log, wherever it belongs, as by the translation log of a \
         zoned disk: no band is rewritten for it. create sets it for such a disk"),
    param!(TRIM: Choice(&["auto", "on", "off"]) = "auto",
        "Whether the disk is told what clients trim; auto: if a translation makes it of a zoned one"),
];

/// The blocks of log in a buffer whose map fills first.
pub(super) const LOG_BLOCKS: &str = "log_blocks";

/// The time to write a band in order, past the disk's buffer.
pub(super) const BAND_PASS_US: &str = "band_pass_us";

/// Whether the disk is written as a log.
pub(super) const LOG: &str = "log";

/// Whether trims are passed on to the disk.
pub(super) const TRIM: &str = "trim";

/// Limits of the operator, `limit.NAME`.
pub(crate) const LIMIT_PARAMS: &[Param] = &[
    param!("destage": Limit = "none", "Bytes that are destaged a second, at most"),
    param!("hours": Hours = "0-24",
        "Hours of the day at which idle time is used for destaging, as in 22-6"),
    param!("ssd": Limit = "none",
        "Bytes that the SSD is written in a day; what is not cached bypasses the cache when they are used up"),
];
