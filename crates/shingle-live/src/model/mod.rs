//! Drive models in real time, for others to test against.

mod clock;
mod contents;
mod served;
mod turns;

pub use clock::DriveClock;
pub use contents::Contents;
pub use served::ServedModel;
