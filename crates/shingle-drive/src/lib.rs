//! Drive models in virtual time.
pub mod drive;
