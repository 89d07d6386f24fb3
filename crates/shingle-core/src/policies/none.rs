//! No cache: the disk serves everything. The baseline that shows what a cache saves.

use crate::params::Params;
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims};
use crate::slots::Slots;
use crate::units::Slot;

/// Admits nothing.
#[derive(Clone, Debug)]
pub struct NoCache;

impl Policy for NoCache {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "no cache: the disk serves everything";
    const IDLE: Idle = Idle::Never("no block is ever cached");

    fn new(_: &Params, _: &Slots) -> Self {
        NoCache
    }

    fn admit(&mut self, _: &Access, _: &Slots) -> Admission {
        Admission::Bypass
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_remove(&mut self, _: Slot, _: &Slots) {}

    fn evict(&mut self, _: Option<&Access>, _: u32, _: &mut Victims) {}

    fn memory(&self) -> Memory {
        Memory::default()
    }
}
