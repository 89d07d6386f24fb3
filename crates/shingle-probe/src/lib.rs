//! Finds out a black-box disk's hidden geometry (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015).

pub mod target;
