//! The project's own binary format: the parts that reader and writer share.
//!
//! `docs/format-native.md` describes it byte by byte. A header with a summary and an index comes
//! first, then blocks of 4096 requests. Each block has four columns, packed into as few bits as its
//! values need. Any block can be found and decoded without the others.

pub(crate) mod block;
mod column;
mod file;
pub(crate) mod header;
mod streamed;

pub use file::{Indexed, Reading};
pub use header::Recorded;
pub use streamed::Streamed;

/// The first bytes of a file. The first one is not ASCII, so that no tool takes the file for text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89shingle";

/// Version of a file without events.
pub(crate) const VERSION: u32 = 1;

/// Version of a file with events behind the trace.
pub(crate) const VERSION_WITH_EVENTS: u32 = 2;

/// The program that the header names as the writer of the file.
pub(crate) const TOOL: &str = concat!("shingle ", env!("CARGO_PKG_VERSION"));

/// Requests in every block but the last.
pub(crate) const BLOCK_REQUESTS: usize = 4096;

/// Returns the little-endian number in the 8 bytes at `from`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], from: usize) -> u64 {
    u64::from_le_bytes(bytes[from..from + 8].try_into().expect("8 bytes"))
}

/// Returns the little-endian number in the 4 bytes at `from`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], from: usize) -> u32 {
    u32::from_le_bytes(bytes[from..from + 4].try_into().expect("4 bytes"))
}

/// Appends zeros up to a multiple of 8 bytes.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
