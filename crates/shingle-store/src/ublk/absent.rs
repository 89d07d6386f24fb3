//! In the place of a block device, in a build without them.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use shingle_nbd::export::Export;
use uuid::Uuid;

use super::{Number, UblkError};

/// There is none.
pub struct Device(Infallible);

impl Device {
    /// Says that this build has none.
    ///
    /// # Errors
    /// Always.
    pub fn check(_: Number, _: Uuid) -> Result<(), UblkError> {
        Err(UblkError::NotBuilt)
    }

    /// Says that this build has none.
    ///
    /// # Errors
    /// Always.
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
    ///
    /// # Errors
    /// None.
    pub fn stop(self) -> io::Result<()> {
        match self.0 {}
    }
}
