//! Translations: where a block of a host-managed disk lives, and what is cleaned next.
//!
//! A host-managed disk takes writes only at the write pointers of its zones, but for a few
//! conventional zones. A [`translation::Translation`] makes a buffer of these, lets the host write
//! where it likes, and moves what the buffer holds to the zones. Like a policy it decides and does
//! nothing: an executor (the simulator, a store, a test) carries out its [`step::Step`]s one by one
//! and asks for the next.

#![allow(clippy::cast_possible_truncation)] // zones and chunks are u32 by construction

mod buffered;
mod native;
pub mod registry;
pub mod step;
#[doc(hidden)]
pub mod testing;
pub mod translation;
pub mod translations;
mod write_back;
