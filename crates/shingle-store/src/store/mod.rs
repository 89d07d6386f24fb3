//! Around the engine: caches made, checked and ended, served to clients, and asked how they are.

mod change;
pub mod check;
pub mod control;
pub mod create;
mod doubt;
pub mod drain;
mod errors;
mod export;
pub mod format;
pub mod leave;
mod occupant;
mod operators;
pub mod serve;
pub mod status;
pub mod trust;
pub mod unserved;
