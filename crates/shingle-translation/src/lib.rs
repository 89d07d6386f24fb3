//! Translations: decide where a block of a host-managed disk is stored, and what is cleaned next.
//!
//! Apart from a few conventional zones, a host-managed disk takes writes only at the write pointers
//! of its zones. A [`Translation`] uses the conventional zones as a buffer, lets the host write
//! anywhere, and moves blocks from the buffer to the other zones. Like a policy it only decides:
//! the [`Executor`] turns its [`Step`]s into I/O, and the simulator, a store or a test carries that
//! out.
//!
//! ```
//! use shingle_core::{params::Params, units::Block};
//! use shingle_translation::{Layout, NoQueue, Place, Step, Work, translations};
//!
//! let fluid = translations::get("fluid").expect("a built-in translation");
//! let layout = Layout { zone_blocks: 256, buffer_blocks: 1024, zones: 100 };
//! let mut fluid = fluid.make(&Params::new(fluid.params), layout).expect("there is room");
//!
//! // The host writes somewhere in the disk: it goes to the buffer.
//! fluid.begin(Work::Write { block: Block(5000), count: 2 });
//! let mut steps = Vec::new();
//! while let Some(step) = fluid.next(&NoQueue) {
//!     steps.push(step); // and carried out
//! }
//! assert_eq!(steps[0], Step::Buffer { block: Block(5000), count: 2, at: 0 });
//! let mut pieces = Vec::new();
//! fluid.locate(Block(5001), 1, &mut pieces);
//! assert_eq!(pieces[0].place, Place::Buffer(1));
//! ```

// Casts are lossless: zones and chunks are u32 by construction.

mod executor;
mod parts;
#[doc(hidden)]
pub mod testing;
mod translation;
pub mod translations;

pub use executor::{Action, Cause, Executor};
pub use translation::{
    BufferState, Counters, Layout, Make, NoQueue, Piece, Place, Queue, Saved, SavedMap, Step,
    Translation, Work,
};
pub use translations::Entry;
