//! Finds out a black-box disk's hidden geometry (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015).

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts that lie in memory; microseconds

pub mod bands;
pub mod blind;
pub mod change;
pub mod cliff;
pub mod cost;
pub mod error;

mod ground;
pub mod idle;
pub mod model;
pub mod options;
pub mod permute;
pub mod plan;
pub mod probe;
pub mod profile;
pub mod reads;
pub mod session;
pub mod split;
pub mod target;
