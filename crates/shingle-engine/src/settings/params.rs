//! What can be set beside policy, cache and mode.

use shingle_core::params::{Kind, Param};

/// What is known of the disk, `drive.NAME`. By default what SAC measured on its own ([`Costs::PAPER`]).
pub(crate) const DRIVE_PARAMS: &[Param] = &[
    Param {
        name: "buffer_blocks",
        kind: Kind::Count,
        default: "0",
        about: "Blocks that fit into the disk's buffer; 0 if nobody knows",
    },
    Param {
        name: "zone_blocks",
        kind: Kind::Count,
        default: "0",
        about: "Blocks of the zones that R(x) is of, and zones of a policy that is not told otherwise; \
                0 for the policy's own",
    },
    Param {
        name: "read_us",
        kind: Kind::Micros,
        default: "14000",
        about: "L_read, a random read (SAC's prototype)",
    },
    Param {
        name: "rmw_base_us",
        kind: Kind::Micros,
        default: "436000",
        about: "R(0), the fixed part of the drive time of a zone written (SAC section 4.4)",
    },
    Param {
        name: "rmw_us_per_block",
        kind: Kind::Micros,
        default: "728",
        about: "The part of R(x) for each block written of the zone (SAC section 4.4)",
    },
    Param {
        name: BAND_PASS_US,
        kind: Kind::Micros,
        default: "0",
        about: "Time of going over a band once, of a disk that takes a band written from start to end past its \
                buffer; 0 of all others, and if nobody knows. Needs drive.bands",
    },
    Param {
        name: TRIM,
        kind: Kind::Choice(&["auto", "on", "off"]),
        default: "auto",
        about: "Whether the disk is told what clients trim; auto: if a translation makes it of a zoned one",
    },
];

/// The parameter that says that bands written in order go past the disk's buffer.
pub(super) const BAND_PASS_US: &str = "band_pass_us";

/// The parameter that says whether the disk is told of trims.
pub(super) const TRIM: &str = "trim";

/// What an operator allows, `limit.NAME`.
pub(crate) const LIMIT_PARAMS: &[Param] = &[
    Param {
        name: "destage",
        kind: Kind::Limit,
        default: "none",
        about: "Bytes that are destaged a second, at most",
    },
    Param {
        name: "hours",
        kind: Kind::Hours,
        default: "0-24",
        about: "Hours of the day at which idle time is used for destaging, as in 22-6",
    },
    Param {
        name: "ssd",
        kind: Kind::Limit,
        default: "none",
        about: "Bytes that the SSD is written in a day; what is not cached bypasses the cache when they are used up",
    },
];
