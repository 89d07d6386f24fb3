//! Building blocks of policies: lists, scores, sets of slots and zones. Each part allocates for
//! slots at once and works in constant or logarithmic time. Members are plain `u32`s (slots,
//! ghosts, zones by [`ZoneIndex`]). No part holds data.
//!
//! | to keep | part |
//! |---|---|
//! | an order that changes: recency, queues | [`List`] over [`Links`] |
//! | one order of all slots by their last use | [`Uses`] |
//! | the member with the highest small score | [`Buckets`] |
//! | the best of a fixed number of scores | [`Tournament`] |
//! | many small heaps in one pool | [`Heap`] over [`Pool`] |
//! | a value for each zone that the cache meets | [`ByZone`] |
//! | blocks that are no longer cached | [`Ghosts`] |
//! | how often a block was used, roughly | [`Sketch`] |
//! | which blocks are cold: not used within a window | [`Recency`] |
//! | a sparse set, of which the next member is wanted | [`Bits`] |
//! | one bit for each number, set in ranges | [`Bitmap`], [`fill_bits`] |
//! | a count that decays, by half-lives | [`halved`] |
//! | pseudo-random bits from a number | [`split_mix`] |

mod bitmap;
mod bits;
mod buckets;
mod by_zone;
mod ghosts;
mod halved;
mod heap;
mod list;
mod recency;
mod sent;
mod sketch;
pub mod split_mix;
mod tournament;
mod uses;
mod worth;

pub use bitmap::{Bitmap, fill_bits};
pub use bits::Bits;
pub use buckets::Buckets;
pub(crate) use by_zone::Met;
pub use by_zone::{ByZone, ZoneIndex};
pub use ghosts::Ghosts;
pub use halved::halved;
pub use heap::{Heap, Pool};
pub use list::{Links, List};
pub use recency::Recency;
pub use sent::SentZones;
pub use sketch::Sketch;
pub use tournament::Tournament;
pub use uses::Uses;
pub use worth::Worth;
