//! Measurements of a served cache: how long requests and I/O take, how much is read and written,
//! and how fast the disk takes destages. Sums continue over restarts ([`saved`]).

mod devices;
mod histogram;
mod misplaced;
mod not_served;
mod requests;
pub mod saved;
mod totals;

pub(crate) use devices::Devices;
pub use devices::{DeviceTotals, DevicesNow, IosNow};
pub(crate) use histogram::SharedHistogram;
pub use histogram::{BOUNDS_US, Histogram, Quantile};
pub use misplaced::Misplaced;
pub use not_served::NotServed;
pub(crate) use requests::Requests;
pub use requests::{KINDS, RequestTotals};
pub use totals::{Measures, Now, Totals, ZonedTotals};
