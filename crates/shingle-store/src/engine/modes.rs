//! Modes: what of the client's reads and writes the cache takes. They can be switched at any time.

use shingle_core::plan::Destage;
use shingle_core::units::{Nanos, Slot};

use super::Engine;
use super::gone::Gone;

/// What the cache takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Reads and writes; the disk gets writes later.
    WriteBack,
    /// Reads and writes; a write is answered when the disk has it, too.
    WriteThrough,
    /// Reads. Writes go to the disk, unless the block is cached: then as in `WriteThrough`.
    WriteAround,
    /// Writes, as in `WriteBack`; reads that miss leave no trace.
    NoReadFill,
    /// Nothing new: what is cached serves reads, and is written as in `WriteThrough`.
    PassThrough,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 5] = [
        Mode::WriteBack,
        Mode::WriteThrough,
        Mode::WriteAround,
        Mode::NoReadFill,
        Mode::PassThrough,
    ];

    /// As in commands and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::WriteBack => "write-back",
            Mode::WriteThrough => "write-through",
            Mode::WriteAround => "write-around",
            Mode::NoReadFill => "no-read-fill",
            Mode::PassThrough => "pass-through",
        }
    }

    /// What is not cached does not enter.
    pub(super) fn bypasses(self, write: bool) -> bool {
        match self {
            Mode::WriteBack | Mode::WriteThrough => false,
            Mode::WriteAround => write,
            Mode::NoReadFill => !write,
            Mode::PassThrough => true,
        }
    }

    /// A write is answered when the disk has it.
    pub(super) fn writes_through(self) -> bool {
        matches!(self, Mode::WriteThrough | Mode::WriteAround | Mode::PassThrough)
    }
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let names = Mode::ALL.map(Mode::name);
        let found = Mode::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| format!("there is no mode `{text}`; there are {}", names.join(", ")))
    }
}

/// Blocks that are destaged at a time when everything has to be.
const AT_A_TIME: usize = 1024;

/// What is left of a round through all dirty blocks, in the order of their addresses.
#[derive(Default)]
pub(super) struct Draining {
    wanted: bool,
    left: std::collections::VecDeque<Destage>,
    /// Not to be looked for again before.
    not_before: Nanos,
}

impl Draining {
    /// What it knows of slots does not hold any more.
    pub(super) fn forget(&mut self) {
        self.left.clear();
        self.not_before = Nanos::ZERO;
    }
}

impl Engine {
    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Switches the mode: it holds for operations that begin from now on. In modes in which the disk
    /// gets everything, what is dirty goes there meanwhile.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.stopping.draining.not_before = Nanos::ZERO;
        self.pump();
    }

    /// Destages everything that is dirty, and goes on doing so until [`Engine::keep_dirty`].
    pub fn drain(&mut self) {
        self.stopping.draining.wanted = true;
        self.stopping.draining.not_before = Nanos::ZERO;
        self.pump();
    }

    /// Ends [`Engine::drain`].
    pub fn keep_dirty(&mut self) {
        self.stopping.draining.wanted = false;
    }

    /// Plans some more destages, if everything has to go.
    pub(super) fn drain_some(&mut self) {
        let draining = &self.stopping.draining;
        let gone = self.gone.as_ref();
        let wanted = draining.wanted || self.mode.writes_through() || gone.is_some();
        if !wanted || gone.is_some_and(Gone::is_telling) || self.stopping.begun() {
            return;
        }
        if draining.left.is_empty() {
            let found = self.cache.slots().dirty_blocks() > 0
                && self.destager.is_empty()
                && self.now >= draining.not_before;
            if !found {
                return;
            }
            self.find_dirty();
        }
        while self.destager.count() < AT_A_TIME && !self.stopping.draining.left.is_empty() {
            let mut group = Vec::new();
            while group.len() < AT_A_TIME / 2
                && let Some(destage) = self.stopping.draining.left.pop_front()
            {
                let there = self.cache.lookup(destage.block) == Some(destage.slot);
                if there && self.cache.begin_destage(destage.slot) {
                    group.push(destage);
                }
            }
            self.plan_group(&mut group, true, false);
        }
    }

    fn find_dirty(&mut self) {
        let slots = self.cache.slots();
        let dirty = (0..slots.capacity())
            .map(Slot)
            .filter(|&slot| slots.dirty(slot) && slots.evictable(slot))
            .filter(|&slot| {
                self.gone.as_ref().is_none_or(|gone| gone.may_destage(slots.block(slot)))
            });
        let mut left: Vec<Destage> =
            dirty.map(|slot| Destage { slot, block: slots.block(slot) }).collect();
        left.sort_unstable_by_key(|destage| destage.block);
        // Nothing but what cannot be destaged now: look again later.
        const LATER: Nanos = Nanos::from_millis(100);
        self.stopping.draining.not_before =
            if left.is_empty() { self.now + LATER } else { Nanos::ZERO };
        self.stopping.draining.left = left.into();
    }
}
