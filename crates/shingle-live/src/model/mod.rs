//! Drive models in real time, as test targets for other software.

mod clock;
mod contents;
mod drive_queue;
mod served;

pub use clock::DriveClock;
pub use contents::Contents;
pub use served::ServedModel;
