//! What a write-back cache decides beside its policy: which blocks it is asked about at all, how much room
//! is kept ahead, who waits for room, and when it uses idle time.
//!
//! Counts and times go in, decisions come out. The engine of the store takes them from here, over real
//! devices and over models alike; so what they change can be simulated.
//!
//! ```
//! use shingle_core::service::{Rules, Service, Way};
//! use shingle_core::units::{Nanos, Op, Request};
//!
//! let mut service = Service::new(Rules::for_slots(1 << 20));
//! let write = |offset| Request { at: Nanos::ZERO, offset, bytes: 1 << 20, op: Op::Write };
//! // The fifth MiB of a sequential run goes round the cache, if it is not cached already.
//! let long: Vec<bool> = (0..5).map(|n| service.is_sequential(&write(n << 20))).collect();
//! assert_eq!(long, [false, false, false, false, true]);
//! assert_eq!(service.way(true, false, true, false), Way::Bypass);
//! // 4,096 slots are kept free.
//! assert_eq!(service.room_wanted(4_000, 0), 96);
//! ```

mod mode;
mod pace;
mod streams;

pub use mode::Mode;
pub use pace::Pace;

use crate::units::{Nanos, Request};
use streams::Streams;

/// How a write-back cache behaves.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What writes and reads do.
    pub mode: Mode,
    /// Sequential runs of requests bypass the cache from this length on; `None` if none do.
    pub sequential_bytes: Option<u64>,
    /// Slots kept free, so that a write need not wait for the disk; 0 leaves it to the policy.
    pub room_slots: u32,
    /// Without requests for so long the cache destages of its own accord.
    pub idle_after: Nanos,
    /// A write that finds no room for so long is answered with an error.
    pub room_timeout: Nanos,
}

impl Rules {
    /// For a cache of so many slots.
    #[must_use]
    pub fn for_slots(slots: u64) -> Rules {
        Rules {
            mode: Mode::WriteBack,
            sequential_bytes: Some(4 << 20),
            room_slots: (slots / 128).min(4096) as u32,
            idle_after: Nanos::from_millis(200),
            room_timeout: Nanos::from_millis(60_000),
        }
    }
}

/// Where an operation on a block goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The policy is asked.
    Cache,
    /// To the disk; the cache stays as it is.
    Bypass,
    /// It waits until a slot is free, behind those that wait already.
    Queue,
}

/// Blocks that are destaged at a time in idle time, so that a request that comes finds little under way.
const IDLE_BLOCKS: u32 = 128;

/// The decisions of one cache.
#[derive(Clone, Debug)]
pub struct Service {
    rules: Rules,
    streams: Streams,
    last_request: Nanos,
}

impl Service {
    /// Of a cache that nobody has asked for anything yet.
    #[must_use]
    pub fn new(rules: Rules) -> Service {
        Service { rules, streams: Streams::default(), last_request: Nanos::ZERO }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What reads and writes do.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.rules.mode
    }

    /// They do something else from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.rules.mode = mode;
    }

    /// Somebody asks for something.
    pub fn asked(&mut self, now: Nanos) {
        self.last_request = now;
    }

    /// A read or write begins. Returns whether it belongs to a long sequential run.
    pub fn is_sequential(&mut self, request: &Request) -> bool {
        self.streams.is_long(request, self.rules.sequential_bytes)
    }

    /// Where a block goes. `sequential` is what [`Service::is_sequential`] said of its request; `others_wait` for
    /// room.
    #[must_use]
    pub fn way(&self, write: bool, cached: bool, sequential: bool, others_wait: bool) -> Way {
        match cached {
            true => Way::Cache,
            false if sequential || self.rules.mode.bypasses(write) => Way::Bypass,
            // Who has waited longer is served first.
            false if write && others_wait => Way::Queue,
            false => Way::Cache,
        }
    }

    /// Where a block goes for which the policy could not make room at once: reading needs none.
    #[must_use]
    pub fn way_without_room(&self, write: bool) -> Way {
        if write { Way::Queue } else { Way::Bypass }
    }

    /// Whether the first of those that wait for room is to be tried: not if as many slots as they need are on
    /// their way already, as the policy would name more and more victims.
    #[must_use]
    pub fn serves_waiting(&self, free: u32, leaving: u32, waiting: usize) -> bool {
        free > 0 || (leaving as usize) < waiting
    }

    /// Whether an operation that has waited for room since then is told so.
    #[must_use]
    pub fn gives_up(&self, since: Nanos, now: Nanos) -> bool {
        now.since(since) > self.rules.room_timeout
    }

    /// Slots that are to be made free ahead, if so many are free or on their way. `choice` more are wanted
    /// while the disk does not take everything.
    #[must_use]
    pub fn room_wanted(&self, coming: u32, choice: u32) -> u32 {
        (self.rules.room_slots + choice).saturating_sub(coming)
    }

    /// Blocks that are to be destaged now because nobody asks for anything; none if somebody does.
    #[must_use]
    pub fn idle_blocks(&self, now: Nanos) -> u32 {
        match now.since(self.last_request) >= self.rules.idle_after {
            true => IDLE_BLOCKS,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_blocks() {
        let way = |mode, write, cached, sequential, others_wait| {
            let rules = Rules { mode, ..Rules::for_slots(1_000) };
            Service::new(rules).way(write, cached, sequential, others_wait)
        };
        for mode in Mode::ALL {
            for bits in 0..8 {
                let [write, sequential, others] = [1, 2, 4].map(|bit| bits & bit != 0);
                assert_eq!(way(mode, write, true, sequential, others), Way::Cache, "a hit");
                assert_eq!(way(mode, write, false, true, others), Way::Bypass, "a long run");
            }
        }
        assert_eq!(way(Mode::WriteBack, true, false, false, true), Way::Queue);
        assert_eq!(way(Mode::WriteBack, false, false, false, true), Way::Cache);
        assert_eq!(way(Mode::WriteAround, true, false, false, true), Way::Bypass);
        assert_eq!(way(Mode::WriteAround, false, false, false, false), Way::Cache);
        assert_eq!(way(Mode::NoReadFill, false, false, false, false), Way::Bypass);
        assert_eq!(way(Mode::PassThrough, true, false, false, false), Way::Bypass);
    }

    #[test]
    fn who_waits_for_room() {
        let service = Service::new(Rules::for_slots(1 << 20));
        assert!(service.serves_waiting(1, 9, 2) && service.serves_waiting(0, 1, 2));
        assert!(!service.serves_waiting(0, 2, 2));
        let (second, minute) = (Nanos::from_millis(1_000), Nanos::from_millis(60_000));
        assert!(!service.gives_up(second, second + minute));
        assert!(service.gives_up(second, second + minute + Nanos(1)));
        let wanted = [0, 4_095, 4_096, 9_999].map(|coming| service.room_wanted(coming, 0));
        assert_eq!(wanted, [4_096, 1, 0, 0]);
        assert_eq!(Service::new(Rules::for_slots(1_280)).room_wanted(5, 7), 12);
    }

    #[test]
    fn idle_time_begins_after_a_pause() {
        let mut service = Service::new(Rules::for_slots(1_000));
        let at = Nanos::from_millis;
        service.asked(at(1_000));
        let blocks = [1_000, 1_199, 1_200].map(|ms| service.idle_blocks(at(ms)));
        assert_eq!(blocks, [0, 0, IDLE_BLOCKS]);
    }
}
