//! Operations on caches: create, check, serve, inspect and delete them.

mod cache;
mod change;
pub mod check;
pub mod control;
mod counters;
pub mod create;
mod doubt;
pub mod drain;
mod errors;
mod export;
pub mod format;
pub mod leave;
mod missing;
mod moved;
mod notice;
mod occupant;
mod operators;
mod options;
mod reload;
mod roster;
pub mod salvage;
pub mod serve;
mod shared;
pub mod status;
mod threads;
pub mod trust;
pub mod unserved;
