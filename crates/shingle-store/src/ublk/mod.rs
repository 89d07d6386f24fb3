//! An export as a block device of Linux, by its ublk driver (Linux 6.0 and later;
//! `Documentation/block/ublk.rst`).
//!
//! A server that ends in order removes its device. If it was killed, the device stays: the kernel
//! keeps requests until a server of the same cache takes the device over (`UBLK_F_USER_RECOVERY`),
//! and repeats those in flight (`UBLK_F_USER_RECOVERY_REISSUE`). So a store may get the same write
//! twice, as its completion was not seen.

#[cfg(not(feature = "ublk"))]
mod absent;
#[cfg(feature = "ublk")]
mod device;
#[cfg(feature = "ublk")]
mod queue;

use std::path::PathBuf;

use thiserror::Error;

#[cfg(not(feature = "ublk"))]
pub use self::absent::Device;
#[cfg(feature = "ublk")]
pub use self::device::Device;

/// The number of the device: N of `/dev/ublkbN`. It has to be the same after a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl Number {
    /// The path of the device.
    #[must_use]
    pub fn path(self) -> PathBuf {
        format!("/dev/ublkb{}", self.0).into()
    }
}

/// Why there is no such device.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum UblkError {
    #[error("this build knows nothing of ublk: build it with `--features ublk`")]
    NotBuilt,
    #[error(
        "the kernel has no ublk driver: there is no /dev/ublk-control; try `modprobe ublk_drv`"
    )]
    NoDriver,
    #[error("{}: belongs to another server or cache; take another number", .0.path().display())]
    Taken(Number),
    #[error("{}: process {pid} serves it", number.path().display())]
    Served { number: Number, pid: i32 },
    #[error("{}: {doing}: {error}", number.path().display())]
    Driver { number: Number, doing: &'static str, error: String },
}
