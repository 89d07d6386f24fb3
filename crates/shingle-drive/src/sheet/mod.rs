//! Parameter sheets, the settings of a user, and the recipe that combines both.

mod error;
mod parameters;
mod settings;
pub(crate) mod text;

pub use error::DriveError;
pub use parameters::{Overrides, Parameter, Value};
pub(crate) use parameters::{Sheet, Written};
pub(crate) use settings::Recipe;
pub use settings::{Buffer, Settings, Timing};
