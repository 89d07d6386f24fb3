//! NAND flash, and a translation layer over it.
//!
//! | file | what |
//! |---|---|
//! | `nand.rs` | pages and erase blocks, and the rules of NAND: state without time |
//! | `timing.rs` | how long operations take |
//! | `ftl.rs` | where each logical page lies; garbage collection |

mod ftl;
mod nand;
mod timing;

pub(crate) use ftl::Ftl;
pub(crate) use nand::{EraseBlock, Geometry, Nand, Page};
pub(crate) use timing::Times;
