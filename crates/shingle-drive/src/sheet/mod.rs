//! Parameter sheets, what a user may ask of a drive, and what its maker gets of both.

mod error;
mod parameters;
mod settings;
pub(crate) mod text;

pub use error::DriveError;
pub use parameters::{Overrides, Parameter, Value};
pub(crate) use parameters::{Sheet, Written};
pub(crate) use settings::Recipe;
pub use settings::{Buffer, Settings, Timing};
