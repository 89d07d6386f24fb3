//! The project's own binary format: what its reader and its writer share.
//!
//! `docs/format-native.md` describes it byte by byte. A header with a summary and an index, then
//! blocks of 4096 requests; each block is four columns, packed into as few bits as its values need.
//! Any block can be found and decoded without the others.

pub(crate) mod block;
mod column;
mod file;
pub(crate) mod header;
mod streamed;

pub use file::{Indexed, Reading};
pub use header::Recorded;
pub use streamed::Streamed;

/// What a file begins with. The first byte is no ASCII, so that nobody takes it for text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89shingle";

/// Of a trace.
pub(crate) const VERSION: u32 = 1;

/// Of a trace with events behind it.
pub(crate) const VERSION_WITH_EVENTS: u32 = 2;

/// What the header names as the program that wrote the file.
pub(crate) const TOOL: &str = concat!("shingle ", env!("CARGO_PKG_VERSION"));

/// Requests in every block but the last.
pub(crate) const BLOCK_REQUESTS: usize = 4096;

/// A number of 8 bytes at `from`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], from: usize) -> u64 {
    u64::from_le_bytes(bytes[from..from + 8].try_into().expect("8 bytes"))
}

/// A number of 4 bytes at `from`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], from: usize) -> u32 {
    u32::from_le_bytes(bytes[from..from + 4].try_into().expect("4 bytes"))
}

/// Zeros up to a multiple of 8 bytes.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
