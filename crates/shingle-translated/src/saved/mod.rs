//! The map on the disk: its layout, byte by byte, how it is written, and how it is read after a
//! crash.
//!
//! It is stored twice on the conventional zones: one copy at their start, one at their end, with
//! the buffer between them. (Where conventional zones have failed: `find.rs`.)
//!
//! ```text
//!  │ superblock │ slot 0 │ slot 1 │        buffer        │ slot 1 │ slot 0 │ superblock │
//!  └──────────── copy 0 ──────────┘                      └──────────── copy 1 ──────────┘
//!       slot: │ checkpoint │ log │
//! ```
//! A checkpoint is the whole map. The log behind it has the changes since, commit by commit. When
//! the log is full, the next checkpoint is written to the other slot, and the superblock refers to
//! it once it is durable. Each checkpoint is a *generation*. Each process that opens the disk is an
//! *epoch*, which it records in the superblock before it writes anything else. Pages carry both, so
//! that no older page is ever taken for a current one: neither a page of an earlier format, nor one
//! that a killed process had submitted and the disk writes late.
//!
//! A checkpoint has the lost blocks first and last, and zones and runs in order between. So if one
//! of its pages is gone in both copies, it is known what was on it, and nothing else is in doubt.
//!
//! Nothing that the durable map needs is overwritten: the superblocks are written one after the
//! other with a flush between, the one that may be bad first; pages are written to the slot that is
//! not in use, or behind the last one of the log.

mod areas;
mod fetch;
mod find;
mod page;
mod read;
mod read_back;
mod superblock;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use self::areas::Areas;
pub(crate) use self::find::{highest_epoch, longest_run};
pub(crate) use self::page::{RECORDS, Record, lost_records, records_of_length, run_records};
pub(crate) use self::read::{Reading, Recovered, recover, superblocks};
pub(crate) use self::superblock::{COUNTER_MAX, Chosen, Superblock};
pub(crate) use self::write::Saver;
