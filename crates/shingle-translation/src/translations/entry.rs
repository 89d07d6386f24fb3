//! The registry's entry of a translation.

use crate::translation::{Layout, Make, SavedMap, Translation};
use shingle_core::params::{Param, Params};

/// The parameter of [`Entry::limit_open`].
const OPEN: &str = "open";

type Maker = fn(&Params, Layout) -> Result<Box<dyn Translation>, String>;
type Opener = fn(&Params, Layout, &dyn SavedMap) -> Result<Box<dyn Translation>, String>;

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

    /// Lowers parameter `open`, the most zones that it appends to by turns, to the `max_open` zones
    /// that a disk can have open at a time; 0 means any number. Without this parameter nothing
    /// changes. Call it before the user's settings are applied, as these count more.
    pub fn limit_open(&self, params: &mut Params, max_open: u32) {
        if max_open != 0 && params.has(OPEN) && params.count(OPEN) > max_open.into() {
            params.set(OPEN, &max_open.to_string()).expect("a whole number");
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
        saved: &dyn SavedMap,
    ) -> Result<Box<dyn Translation>, String> {
        (self.open)(params, layout, saved)
    }
}
