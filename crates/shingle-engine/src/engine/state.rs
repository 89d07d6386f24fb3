//! Hashes the part of an engine's state that decides what it does from now on. Engines with the
//! same hash may be treated as one, which makes it possible to explore all behaviour of a small one
//! (`tests/all/exhaustive`).
//!
//! What decides nothing is not hashed: counters for the status, unused memory, and ids of I/O,
//! slots and keys, which are replaced by what they identify. Times are hashed as ages, up to the
//! limit that matters; numbers of records and of writes as distances to the last one committed or
//! flushed. Each module names all its fields in its hash function, so that a new field is not
//! forgotten.
//!
//! Three assumptions: the policy keeps no state that the slots do not show, sequential runs are not
//! detected (`Rules::sequential_bytes`), and commands with the same id are equal.

use std::hash::{DefaultHasher, Hash, Hasher};

use shingle_core::units::{Block, Nanos, Slot};

use super::Engine;
use super::keys::{CommandKey, JobKey, OpKey};
use crate::data::Data;

/// What modules need of each other while they are hashed.
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
    /// The age of `since`. Ages above `matters` are equal.
    pub(super) fn age(&self, since: Nanos, matters: Nanos) -> u64 {
        if matters == Nanos::NEVER { 0 } else { self.now.since(since).min(matters).0 }
    }

    /// The time left until `until`.
    pub(super) fn ahead(&self, until: Nanos) -> u64 {
        until.since(self.now).0
    }

    /// The distance of a record to the last committed one; 0 if it is committed.
    pub(super) fn record(&self, number: u64) -> u64 {
        number.saturating_sub(self.committed)
    }

    /// The distance of a write to the disk to the last flushed one; 0 if it is flushed.
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

/// Hashes items that have no order.
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
    /// Hashes everything that decides what the engine does from now on. Call it when
    /// [`Engine::take_effects`] has nothing left to return.
    ///
    /// # Panics
    /// If the engine detects sequential runs, which are not hashed.
    pub fn hash_state<H: Hasher + Default>(&self, into: &mut H) {
        let Engine { now, service, port, requests, contents, durability, .. } = self;
        let Engine { destages, disk, failure, life, drain, exchange, grows_to, due, .. } = self;
        let Engine { trims, observer: _, ssd_written_pages: _, bugs: _, .. } = self;
        let rules = service.rules();
        assert!(rules.sequential_bytes.is_none(), "long runs are not hashed");
        let view = View {
            now: *now,
            committed: durability.committed(),
            flushed: disk.flushed(),
            room_timeout: rules.room_timeout,
            op: &|key| requests.op_id(key),
            command: &|key| requests.command_id(key),
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
        grows_to.hash(into);
        trims.hash_state(&view, into);
        due.hash(into);
    }

    /// Runs all steps, due or not.
    pub fn run_all_steps(&mut self) {
        self.pump();
    }

    /// Whether running all steps right after [`Engine::take_effects`] would do something although none is
    /// due. Then a handler has not marked every step that became due, and work waits for an
    /// unrelated event.
    #[must_use]
    pub fn has_missed_step(&self) -> bool
    where
        D: Clone,
    {
        // Work that has waited for a time is done by the next tick.
        if self.bugs.are_made() || !self.due.is_empty() || self.is_time() {
            return false;
        }
        let state = |engine: &Engine<D>| {
            let mut hasher = DefaultHasher::new();
            engine.hash_state(&mut hasher);
            hasher.finish()
        };
        let mut after = self.clone();
        after.run_all_steps();
        // The steps due in the next pass do not count.
        after.due = Default::default();
        state(self) != state(&after)
    }
}
