//! The page about results, and its pictures: one file that works offline, for one run or hundreds.

mod names;
mod page;
mod pictures;
mod said;

pub(crate) use page::page;
pub(crate) use pictures::pictures;

/// A picture, drawn.
pub(crate) struct Drawn {
    /// What its file is called.
    pub(crate) file: &'static str,
    /// The SVG.
    pub(crate) svg: String,
}
