//! An export as a block device of Linux, by its ublk driver (Linux 6.0 and later; `Documentation/block/ublk.rst`).
//!
//! A server that ends in order takes its device away. One that was killed leaves it: the kernel keeps requests until a
//! server of the same cache takes the device over (`UBLK_F_USER_RECOVERY`), and repeats those that were under way
//! (`UBLK_F_USER_RECOVERY_REISSUE`). A store may be asked for the same write twice: nobody has seen its end yet.

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

/// Which device it is to be: N of `/dev/ublkbN`. It has to be the same one after a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl Number {
    /// Where users find it.
    #[must_use]
    pub fn path(self) -> PathBuf {
        format!("/dev/ublkb{}", self.0).into()
    }
}

/// Why there is no such device.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UblkError {
    /// Of this program.
    #[error("this build knows nothing of ublk: build it with `--features ublk`")]
    NotBuilt,
    /// The kernel has no such driver.
    #[error(
        "the kernel has no ublk driver: there is no /dev/ublk-control; try `modprobe ublk_drv`"
    )]
    NoDriver,
    /// Not ours.
    #[error("{}: belongs to another server or cache; take another number", .0.path().display())]
    Taken(Number),
    /// Ours, and somebody serves it.
    #[error("{}: process {pid} serves it", number.path().display())]
    Served {
        /// The device.
        number: Number,
        /// Who serves it.
        pid: i32,
    },
    /// The driver refuses.
    #[error("{}: {doing}: {error}", number.path().display())]
    Driver {
        /// The device.
        number: Number,
        /// What was asked of it.
        doing: &'static str,
        /// What the driver said.
        error: String,
    },
}
