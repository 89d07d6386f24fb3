//! All of an engine that decides what it does from now on, as a hash. Two engines with the same hash may be taken for
//! one, which makes it possible to explore all that can become of a small one (`tests/all/exhaustive`).
//!
//! Not hashed is what decides nothing: counters for the status, memory that nobody uses, the names of what is under
//! way (numbers of I/O, of slots, keys), for which that stands what they name. Times are hashed as ages, and no longer than they
//! matter; numbers of records and of writes as how many are not committed, or not flushed. Each room names all its
//! fields where it does that, so that a new one is not forgotten.
//!
//! Three things are taken as given: the policy remembers nothing but what slots show, long runs are not looked for
//! (`Rules::sequential_bytes`), and commands with the same id are the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use shingle_core::units::{Block, Nanos, Slot};

use super::Engine;
use super::keys::{CommandKey, JobKey, OpKey};
use crate::data::Data;

/// What rooms ask about each other while they are hashed.
pub(super) struct View<'a> {
    pub(super) now: Nanos,
    pub(super) committed: u64,
    pub(super) flushed: u64,
    pub(super) room_timeout: Nanos,
    pub(super) op: &'a dyn Fn(OpKey) -> u64,
    pub(super) command: &'a dyn Fn(CommandKey) -> u64,
    pub(super) job: &'a dyn Fn(JobKey) -> Block,
    pub(super) slot: &'a dyn Fn(Slot) -> Block,
}

impl View<'_> {
    /// How long ago; what is longer than `matters` is all the same.
    pub(super) fn age(&self, since: Nanos, matters: Nanos) -> u64 {
        if matters == Nanos::NEVER { 0 } else { self.now.since(since).min(matters).0 }
    }

    /// In how long.
    pub(super) fn ahead(&self, until: Nanos) -> u64 {
        until.since(self.now).0
    }

    /// The number of a record: 0 if it is committed.
    pub(super) fn record(&self, number: u64) -> u64 {
        number.saturating_sub(self.committed)
    }

    /// The number of a write to the disk: 0 if it is flushed.
    pub(super) fn write(&self, number: u64) -> u64 {
        if number == u64::MAX { number } else { number.saturating_sub(self.flushed) }
    }

    pub(super) fn ops<'a, H: Hasher>(
        &self,
        keys: impl ExactSizeIterator<Item = &'a OpKey>,
        into: &mut H,
    ) {
        keys.len().hash(into);
        keys.for_each(|&key| (self.op)(key).hash(into));
    }
}

/// Of things that are in no order.
pub(super) fn unordered<H: Hasher + Default, T>(
    items: impl Iterator<Item = T>,
    into: &mut H,
    each: impl Fn(T, &mut H),
) {
    let (mut count, mut sum) = (0_u64, 0_u64);
    for item in items {
        let mut one = H::default();
        each(item, &mut one);
        (count, sum) = (count + 1, sum.wrapping_add(one.finish()));
    }
    (count, sum).hash(into);
}

impl<D: Data> Engine<D>
where
    D::Payload: Hash,
{
    /// Hashes all that decides what it does from now on. Call it when nothing is left to be [taken](Engine::take).
    ///
    /// # Panics
    /// If it looks for long runs, which are not hashed.
    pub fn hash_state<H: Hasher + Default>(&self, into: &mut H) {
        let Engine { now, service, port, requests, contents, durability, .. } = self;
        let Engine { destages, disk, failure, life, drain, exchange, growth, looks, .. } = self;
        let Engine { trims, observer: _, ssd_written_pages: _, bugs: _, .. } = self;
        let rules = service.rules();
        assert!(rules.sequential_bytes.is_none(), "long runs are not hashed");
        let view = View {
            now: *now,
            committed: durability.committed(),
            flushed: disk.flushed(),
            room_timeout: rules.room_timeout,
            op: &|key| requests.name_of(key),
            command: &|key| requests.command_name_of(key),
            job: &|key| destages.block_of(key),
            slot: &|slot| contents.block_of(slot),
        };
        (service.mode() as u8, service.idle_blocks(*now)).hash(into);
        port.hash_state(&view, into);
        requests.hash_state(&view, into);
        contents.hash_state(&view, into);
        durability.hash_state(&view, into);
        destages.hash_state(contents, &view, into);
        disk.hash_state(&view, into);
        failure.hash_state(&view, into);
        life.hash(into);
        drain.hash_state(&view, into);
        exchange.hash_state(&view, into);
        growth.blocks().hash(into);
        trims.hash_state(&view, into);
        looks.hash(into);
    }

    /// Looks at everything, whatever has happened.
    pub fn look_at_everything(&mut self) {
        self.pump();
    }

    /// Whether a look at everything would do something now, right after [`Engine::take`], although none is due: then what
    /// happened before did not say all that was worth to look at, and it waits for something else to happen.
    #[must_use]
    pub fn has_missed_something(&self) -> bool
    where
        D: Clone,
    {
        // (What a time has come for is done by the next tick.)
        if self.bugs.are_made() || !self.looks.are_over() || self.is_time() {
            return false;
        }
        let state = |engine: &Engine<D>| {
            let mut hasher = DefaultHasher::new();
            engine.hash_state(&mut hasher);
            hasher.finish()
        };
        let mut after = self.clone();
        after.look_at_everything();
        // What the next look looks at is no part of it.
        after.looks = Default::default();
        state(self) != state(&after)
    }
}
