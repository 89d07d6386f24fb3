//! The end in order: what was begun is finished, the disk flushed, the journal emptied into the
//! table, and the superblock says that nothing is left to replay. What is dirty stays dirty.

use super::Engine;
use super::modes::Draining;

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    NotYet,
    /// Commands and destages are finished.
    Finishing,
    /// All records are committed, all of the table is written.
    Emptying,
    /// The last superblock is on its way.
    Saying,
    Stopped,
}

/// The end.
#[derive(Default)]
pub(super) struct Stopping {
    stage: Stage,
    /// What is not committed does not matter: the cache is about to be ended.
    forgets: bool,
    pub(super) draining: Draining,
}

impl Stopping {
    pub(super) fn begun(&self) -> bool {
        self.stage != Stage::NotYet
    }

    /// Commits go on until nothing is left.
    pub(super) fn wants_commits(&self) -> bool {
        self.stage == Stage::Emptying
    }
}

impl Engine {
    /// Begins to shut down: new commands are refused, those that were given are finished.
    pub fn shut_down(&mut self) {
        if !self.stopping.begun() {
            self.stopping.stage = Stage::Finishing;
        }
        self.pump();
    }

    /// As [`Engine::shut_down`], for a cache that is ended right after: the disk has everything, and nothing
    /// more is written to the SSD.
    pub fn shut_down_for_good(&mut self) {
        self.stopping.forgets = true;
        self.shut_down();
    }

    /// Whether all is done, and the engine may be dropped. With a failed SSD it never says so.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopping.stage == Stage::Stopped
    }

    /// Whether the SSD has failed and nothing is under way any more: there is nothing to wait for.
    #[must_use]
    pub fn can_do_no_more(&self) -> bool {
        self.commits.is_dead() && self.is_idle()
    }

    /// Whether nothing at all is under way, and no command unanswered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.ios.is_idle()
    }

    pub(super) fn maybe_stop(&mut self) {
        let quiet = self.commits.is_idle() && self.commands.is_empty() && self.ops.is_empty();
        match self.stopping.stage {
            Stage::Finishing if self.is_finished() && self.stopping.forgets => {
                let idle = self.commits.is_idle() && self.ios.is_idle();
                self.stopping.stage = if idle { Stage::Stopped } else { Stage::Finishing };
            }
            Stage::Finishing if self.is_finished() => {
                self.stopping.stage = Stage::Emptying;
                self.journal.touch_hinted();
                self.maybe_commit();
                // There may be nothing to do.
                self.maybe_stop();
            }
            Stage::Emptying
                if quiet
                    && self.journal.is_committed()
                    && self.journal.table.needs_from().is_none() =>
            {
                let write = self.journal.write_last_superblock().expect("no other is on its way");
                self.stopping.stage = Stage::Saying;
                self.begin_round(vec![write]);
            }
            Stage::Saying if quiet => self.stopping.stage = Stage::Stopped,
            _ => {}
        }
    }

    fn is_finished(&self) -> bool {
        self.commands.is_empty()
            && self.ops.is_empty()
            && self.destager.is_empty()
            && self.disk.is_clean()
    }
}
