//! Devices in use whose names do not lead to them any more: what is served is not what an operator
//! sees there, nor what the next start would take.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shingle_device::{Device, Place};

/// A device in use whose name does not lead to it any more.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Misplaced {
    /// `SSD` or `disk`.
    pub device: String,
    /// The name by which it was opened.
    pub path: String,
    /// `gone`: nothing has this name. `taken`: another file or device has it. `deleted`: it was a
    /// file, and is lost at the end.
    pub state: String,
}

impl Misplaced {
    /// Those of an SSD and a disk that are, if the next start looks for the SSD at `named`. May
    /// take long: their folders may be on other devices.
    pub(crate) fn among(ssd: &Device, named: &Path, disk: Option<&Device>) -> Vec<Misplaced> {
        let ssd = match (ssd.place(), ssd.place_at(named)) {
            // It was exchanged, and has the name of the old one by now.
            (Place::Gone | Place::Taken, Place::Kept) => None,
            (place, _) => Misplaced::of("SSD", ssd, place),
        };
        let disk = disk.and_then(|disk| Misplaced::of("disk", disk, disk.place()));
        ssd.into_iter().chain(disk).collect()
    }

    fn of(name: &str, device: &Device, place: Place) -> Option<Misplaced> {
        let state = match place {
            Place::Kept => return None,
            Place::Gone => "gone",
            Place::Taken => "taken",
            Place::Deleted => "deleted",
        };
        let path = device.path().display().to_string();
        Some(Misplaced { device: name.to_owned(), path, state: state.to_owned() })
    }

    /// Whether its content is lost when the server ends.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.state == "deleted"
    }
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misplaced { device, path, .. } = self;
        let deleted =
            "what is served is a file that was deleted (one that has its name now is another one)";
        match (&*self.state, &**device) {
            ("deleted", "SSD") => write!(
                f,
                "{path}: {deleted}, and at the end of the server what is dirty on it is lost: `shingle store replace` \
                 takes another SSD meanwhile"
            ),
            ("deleted", _) => write!(
                f,
                "{path}: {deleted}, and at the end of the server all that it holds is lost: copy what is served first, \
                 as with nbdcopy"
            ),
            ("taken", _) => write!(
                f,
                "{path}: this is the name of another file or device by now, and the {device} that is served has another \
                 name: the next start has to be told that, or the name given back"
            ),
            _ => write!(
                f,
                "{path}: nothing has this name any more; if the {device} that is served was renamed, the next start has \
                 to be told its new name; if it is a device that went away, see dmesg"
            ),
        }
    }
}
