//! The registry's entry of a translation.

use crate::translation::{Layout, Make, Saved, Translation};
use shingle_core::params::{Param, Params};

type Maker = fn(&Params, Layout) -> Result<Box<dyn Translation>, String>;
type Opener = fn(&Params, Layout, &Saved) -> Result<Box<dyn Translation>, String>;

/// The registry's entry of a translation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name on the command line.
    pub name: &'static str,
    /// One line, with the source.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// [`Make::SURVIVES_POWER_CUTS`].
    pub survives_power_cuts: bool,
    /// [`Make::HAS_BUFFER`].
    pub has_buffer: bool,
    make: Maker,
    open: Opener,
}

impl Entry {
    /// Returns the entry of translation `T`.
    #[must_use]
    pub const fn of<T: Make>() -> Entry {
        Entry {
            name: T::NAME,
            about: T::ABOUT,
            params: T::PARAMS,
            survives_power_cuts: T::SURVIVES_POWER_CUTS,
            has_buffer: T::HAS_BUFFER,
            make: |params, layout| Ok(Box::new(T::new(params, layout)?)),
            open: |params, layout, saved| Ok(Box::new(T::open(params, layout, saved)?)),
        }
    }

    /// Creates the translation over an empty disk.
    ///
    /// # Errors
    /// If the layout leaves it no room to work: one line that says what it needs.
    pub fn make(&self, params: &Params, layout: Layout) -> Result<Box<dyn Translation>, String> {
        (self.make)(params, layout)
    }

    /// Creates the translation over a disk that it has written before. See [`Make::open`].
    ///
    /// # Errors
    /// If the layout leaves it no room to work, or the map cannot be its own: one line that says
    /// why.
    pub fn open(
        &self,
        params: &Params,
        layout: Layout,
        saved: &Saved,
    ) -> Result<Box<dyn Translation>, String> {
        (self.open)(params, layout, saved)
    }
}
