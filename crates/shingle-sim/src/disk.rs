//! The disk behind a cache: a drive, or a translation over one.

use shingle_drive::Drive;

use crate::translated::Translated;

/// A drive, or a translation over one. Only a translation uses announced requests, and it has more
/// counters than a drive.
pub enum Disk {
    /// A drive by itself.
    Drive(Box<dyn Drive>),
    /// A translation and the drive beneath it.
    Translated(Box<Translated>),
}

impl From<Box<dyn Drive>> for Disk {
    fn from(drive: Box<dyn Drive>) -> Disk {
        Disk::Drive(drive)
    }
}

impl From<Translated> for Disk {
    fn from(translated: Translated) -> Disk {
        Disk::Translated(Box::new(translated))
    }
}

impl Disk {
    /// Returns it as a drive, for inspection.
    #[inline]
    #[must_use]
    pub fn drive(&self) -> &dyn Drive {
        match self {
            Disk::Drive(drive) => drive.as_ref(),
            Disk::Translated(translated) => translated.as_ref(),
        }
    }

    #[inline]
    pub(crate) fn drive_mut(&mut self) -> &mut dyn Drive {
        match self {
            Disk::Drive(drive) => drive.as_mut(),
            Disk::Translated(translated) => translated.as_mut(),
        }
    }

    /// Converts it to a plain drive.
    #[must_use]
    pub fn into_drive(self) -> Box<dyn Drive> {
        match self {
            Disk::Drive(drive) => drive,
            Disk::Translated(translated) => translated,
        }
    }

    /// Returns the translation, if there is one.
    #[must_use]
    pub fn translated(&self) -> Option<&Translated> {
        match self {
            Disk::Drive(_) => None,
            Disk::Translated(translated) => Some(translated),
        }
    }

    pub(crate) fn translated_mut(&mut self) -> Option<&mut Translated> {
        match self {
            Disk::Drive(_) => None,
            Disk::Translated(translated) => Some(translated),
        }
    }

    /// Returns a copy in the same state.
    #[must_use]
    pub fn copy(&self) -> Disk {
        match self {
            Disk::Drive(drive) => Disk::Drive(drive.copy()),
            Disk::Translated(translated) => Disk::from(translated.duplicate()),
        }
    }
}
