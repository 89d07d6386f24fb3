//! Finds out a black-box disk's hidden geometry (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015).

mod clock;
pub mod device;
mod fill;
pub mod guard;
pub mod nbd;
mod sysfs;
pub mod target;
