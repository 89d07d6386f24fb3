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
pub enum UblkError {
    /// This build has no support for it.
    #[error("this build knows nothing of ublk: build it with `--features ublk`")]
    NotBuilt,
    /// The kernel has no such driver.
    #[error(
        "the kernel has no ublk driver: there is no /dev/ublk-control; try `modprobe ublk_drv`"
    )]
    NoDriver,
    /// The device belongs to another server or cache.
    #[error("{}: belongs to another server or cache; take another number", .0.path().display())]
    Taken(Number),
    /// The device belongs to this cache, and another process serves it.
    #[error("{}: process {pid} serves it", number.path().display())]
    Served {
        /// The device.
        number: Number,
        /// That process.
        pid: i32,
    },
    /// The driver refused a command.
    #[error("{}: {doing}: {error}", number.path().display())]
    Driver {
        /// The device.
        number: Number,
        /// The command.
        doing: &'static str,
        /// The error of the driver.
        error: String,
    },
}
