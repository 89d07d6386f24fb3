//! The map on the disk: what stands where, byte by byte, how it is written, and how it is read after a crash.
//!
//! It lies on the conventional zones, twice: one copy at their start, one at their end, the buffer between them.
//!
//! ```text
//!  │ superblock │ slot 0 │ slot 1 │        buffer        │ slot 1 │ slot 0 │ superblock │
//!  └──────────── copy 0 ──────────┘                      └──────────── copy 1 ──────────┘
//!       slot: │ checkpoint │ log │
//! ```
//! A checkpoint is the whole map. The log behind it is what has changed since, commit by commit; when it is full the next
//! checkpoint goes into the other slot, and the superblock names it once it is durable. Each checkpoint is a *generation*,
//! and each process that opens the disk is an *epoch*, which it says in the superblock before it writes anything else. Pages
//! carry both, so that no page of an older time is ever taken for one of now: not what an earlier format left, nor what a
//! killed process had asked for and a disk carries out late.
//!
//! A checkpoint has what is lost first and last, then zones and runs in order: so if one of its pages is gone in both copies, it
//! is known what was on it, and nothing else is in doubt.
//!
//! Nothing is written in place that the durable map needs: the superblocks one after the other with a flush between, pages
//! into the slot that is not named, or behind the last one of the log.

mod areas;
mod page;
mod read;
mod superblock;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use self::areas::Areas;
pub(crate) use self::page::{RECORDS, Record, lost_records, records_of_length, run_records};
pub(crate) use self::read::{Reading, Recovered, recover, superblocks};
pub(crate) use self::superblock::Superblock;
pub(crate) use self::write::Saver;
