//! Whether a block device is host-managed: what `/sys` says, and what the device itself answers, as a
//! container may have no `/sys`, or not that of its devices. Nothing is written anywhere as long as neither is
//! known: on a host-managed disk most writes fail.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::report::{Order, order};
use super::{folder, ioctl, said};

/// What a block device is for those who write to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Written anywhere.
    Plain,
    HostManaged,
    /// A partition of a host-managed disk.
    PartOfHostManaged,
}

/// The kind of a block device.
///
/// # Errors
/// If nothing says it; with what to do.
pub(crate) fn kind(device: &File) -> Result<Kind, String> {
    let number = device.metadata().map_err(|error| error.to_string())?.rdev();
    decide(|place| said(number, place), || is_host_managed(device)).map_err(|error| {
        format!(
            "it is not known whether it is host-managed: {}/queue/zoned cannot be read, and the device does not \
             answer BLKGETZONESZ and BLKREPORTZONE ({error}); mount sysfs at /sys (in a container, the host's, read-only)",
            folder(number).display()
        )
    })
}

/// A device is host-managed if either source says so. `said` reads an attribute of it in `/sys`, `asked` is the device's
/// own answer.
fn decide(
    said: impl Fn(&str) -> Option<String>,
    asked: impl FnOnce() -> io::Result<bool>,
) -> io::Result<Kind> {
    // (A partition has no queue of its own.)
    let own = said("queue/zoned");
    let is_partition = own.is_none();
    let by_sys = own.or_else(|| said("../queue/zoned")).map(|text| text == "host-managed");
    if by_sys == Some(true) {
        return Ok(if is_partition { Kind::PartOfHostManaged } else { Kind::HostManaged });
    }
    match asked() {
        Ok(true) => Ok(Kind::HostManaged),
        Ok(false) => Ok(Kind::Plain),
        // (Before Linux 4.20 devices do not answer.)
        Err(_) if by_sys == Some(false) => Ok(Kind::Plain),
        Err(error) => Err(error),
    }
}

/// Whether the device reports zones that are written in order only. Host-aware disks have zones, too.
fn is_host_managed(device: &File) -> io::Result<bool> {
    if ioctl::zone_sectors(device)? == 0 {
        return Ok(false);
    }
    let mut next = 0;
    loop {
        let report = ioctl::report(device, next, ioctl::ZONES_AT_ONCE)?;
        match order(&report.0).map_err(io::Error::other)? {
            Order::Required => return Ok(true),
            Order::Preferred => return Ok(false),
            // Terminates: each report begins further on.
            Order::None { end } if end > next => next = end,
            Order::None { .. } => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(own: &str, of_disk: &str, asked: Result<bool, ()>) -> Result<Kind, String> {
        let said = |place: &str| {
            let text = if place.starts_with("..") { of_disk } else { own };
            (!text.is_empty()).then(|| text.to_owned())
        };
        let asked = || asked.map_err(|()| io::Error::other("no answer"));
        decide(said, asked).map_err(|error| error.to_string())
    }

    #[test]
    fn either_source_makes_a_device_host_managed() {
        use Kind::{HostManaged, PartOfHostManaged, Plain};
        for (own, of_disk, asked, kind) in [
            ("host-managed", "", Err(()), HostManaged),
            ("", "host-managed", Err(()), PartOfHostManaged),
            ("none", "", Err(()), Plain),
            ("host-aware", "", Ok(false), Plain),
            ("", "none", Err(()), Plain),
            // As in a container without /sys, or with another one.
            ("", "", Ok(true), HostManaged),
            ("", "", Ok(false), Plain),
            ("none", "", Ok(true), HostManaged),
        ] {
            assert_eq!(decided(own, of_disk, asked), Ok(kind), "{own:?}, {of_disk:?}, {asked:?}");
        }
        assert_eq!(decided("", "", Err(())), Err("no answer".to_owned()));
    }

    /// A file stands for a device that neither /sys nor the kernel tells of.
    #[test]
    fn what_nothing_tells_of_is_refused_with_what_to_do() {
        let file = tempfile::tempfile().expect("a file");
        let error = kind(&file).expect_err("no device");
        assert!(error.contains("not known whether it is host-managed"), "{error}");
        assert!(
            error.contains("BLKREPORTZONE (") && error.contains("mount sysfs at /sys"),
            "{error}"
        );
    }
}
