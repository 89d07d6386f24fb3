//! The parts of the two large traces of the papers; [`crate::papers`] combines them.

/// The volumes of SAC's *long* (Table 4). All but the last are PORE's *mix* (Table I).
pub const LONG: [&str; 10] =
    ["src1_2", "prn_0", "ts_0", "wdev_0", "mds_0", "stg_0", "hm_0", "web_0", "usr_0", "rsrch_0"];

/// The volumes of PORE's *mix*.
pub const MIX: &[&str] = LONG.split_at(9).0;

/// Copies in SAC's *long*.
pub const LONG_COPIES: u32 = 18;
/// Copies in PORE's *mix*.
pub const MIX_COPIES: u32 = 16;
