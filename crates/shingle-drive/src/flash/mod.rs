//! NAND flash, and an SSD made of it.
//!
//! | file | what |
//! |---|---|
//! | `nand.rs` | pages and erase blocks, and the rules of NAND: state without time |
//! | `timing.rs` | how long operations take |
//! | `ftl.rs` | where each logical page lies; garbage collection |
//! | `ssd.rs` | the drive |

mod ftl;
mod nand;
mod ssd;
mod timing;

pub(crate) use nand::{EraseBlock, Geometry, Nand, Page};
pub(crate) use ssd::FlashSsd;
pub(crate) use timing::Times;
