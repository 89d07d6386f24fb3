//! Building blocks of translations.

mod buffered;
mod native;
mod opening;
mod write_back;

pub(crate) use self::buffered::Buffered;
pub(crate) use self::native::{FRESH, Native, countable, join, pieces};
pub(crate) use self::opening::{
    InBuffer, behind_most_free, in_buffer, in_one, in_zones, misplaced,
};
pub(crate) use self::write_back::WriteBack;
