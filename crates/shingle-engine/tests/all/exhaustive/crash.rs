//! Crashes, with every possible outcome.

use shingle_engine::Bug;

use super::cell::Cell;
use super::world::{Down, World};

/// The greatest number of outcomes of one crash. No scope has as many.
const OUTCOMES_MAX: usize = 4 << 20;

impl World {
    /// A copy without the process, with the media unchanged.
    fn without_process(&self) -> World {
        World {
            ssd: self.ssd.clone(),
            disk: self.disk.clone(),
            oracle: self.oracle.clone(),
            up: Err(Down::Cut),
            crashes: self.crashes + 1,
            late: Vec::new(),
            ..*self
        }
    }

    pub(super) fn cut(&self, outcome: u32) -> World {
        let mut world = self.without_process();
        let mut outcome = outcome as usize;
        for medium in [&mut world.ssd, &mut world.disk] {
            medium.cut(self.pending(), &mut outcome);
            medium.gone = None;
        }
        world.serve_another_if_abandoned();
        world
    }

    pub(super) fn cut_outcomes(&self) -> usize {
        let outcomes = [&self.ssd, &self.disk].map(|medium| medium.cut_outcomes(self.pending()));
        let outcomes = outcomes.iter().product();
        assert!(outcomes <= OUTCOMES_MAX, "too much to be lost by one power cut: {outcomes}");
        outcomes
    }

    pub(super) fn kill(&self, arrived: u32) -> World {
        let mut world = self.without_process();
        world.up = Err(Down::Killed);
        if self.bug == Some(Bug::LockEndsWithProcess) {
            world.late = self.pending().to_vec();
            return world;
        }
        let mut place = 0;
        for medium in [&mut world.ssd, &mut world.disk] {
            let pages = medium.written(self.pending());
            let arrives = |_: &(usize, Cell)| {
                place += 1;
                arrived >> (place - 1) & 1 != 0
            };
            let pages: Vec<_> = pages.into_iter().filter(arrives).collect();
            medium.kill(pages);
        }
        world.serve_another_if_abandoned();
        world
    }

    pub(super) fn kill_outcomes(&self) -> u32 {
        let media = [&self.ssd, &self.disk].map(|medium| medium.written(self.pending()).len());
        match self.bug {
            Some(Bug::LockEndsWithProcess) => 1,
            _ => 1 << (media[0] + media[1]),
        }
    }
}
