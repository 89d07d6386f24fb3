//! Replaces the block device in a build without ublk.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use shingle_nbd::export::Export;
use uuid::Uuid;

use super::{Number, UblkError};

/// A type without values.
pub struct Device(Infallible);

impl Device {
    /// Returns the error of a build without ublk.
    pub fn check(_: Number, _: Uuid) -> Result<(), UblkError> {
        Err(UblkError::NotBuilt)
    }

    /// Returns the error of a build without ublk.
    pub fn start(
        _: Number,
        _: Uuid,
        _: Arc<dyn Export>,
        _minimum_block: u32,
        _gone: impl FnOnce() + Send + 'static,
    ) -> Result<Device, UblkError> {
        Err(UblkError::NotBuilt)
    }

    /// Cannot be called.
    pub fn stop(self) -> io::Result<()> {
        match self.0 {}
    }
}
