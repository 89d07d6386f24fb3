//! The drives.
//!
//! | file | what |
//! |---|---|
//! | `conventional.rs` | a disk with a write cache |
//! | `drive_managed/` | a shingled disk with a log before its bands |
//! | `flash_inside/` | the same with flash beside it |
//! | `host_aware/`, `host_managed/` | shingled disks with zones that have write pointers |
//! | `in_zones.rs` | a disk without zones, which its host writes in zones |
//! | `emulator.rs` | the emulated disks of SAC's and PORE's prototypes |
//! | `ssd.rs`, `flash_ssd.rs` | SSDs: a fixed time for each block, or flash that collects garbage |

pub(crate) mod conventional;
pub(crate) mod drive_managed;
pub(crate) mod emulator;
pub(crate) mod flash_inside;
pub(crate) mod flash_ssd;
pub(crate) mod host_aware;
pub(crate) mod host_managed;
pub(crate) mod in_zones;
pub(crate) mod ssd;
