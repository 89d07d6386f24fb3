//! Around the engine: caches made, checked and ended, served to clients, and asked how they are.

pub mod check;
pub mod control;
pub mod create;
mod export;
pub mod fingerprint;
pub mod serve;
pub mod settings;
pub mod signature;
pub mod status;
