//! What a write-back cache decides apart from its policy: which accesses reach the policy at all,
//! how much room is kept free, the order of accesses that wait for room, and the use of idle time.
//!
//! Counts and times go in, decisions come out. The engine of the store uses this over real devices
//! and over models alike, so its effects can be simulated.
//!
//! ```
//! use shingle_core::service::{Rules, Service, Route};
//! use shingle_core::units::{Nanos, Op, Request};
//!
//! let mut service = Service::new(Rules::for_slots(1 << 20));
//! let write = |offset| Request { at: Nanos::ZERO, offset, bytes: 1 << 20, op: Op::Write };
//! // The fifth MiB of a sequential run bypasses the cache, if it is not cached already.
//! let long: Vec<bool> = (0..5).map(|n| service.is_sequential(&write(n << 20))).collect();
//! assert_eq!(long, [false, false, false, false, true]);
//! assert_eq!(service.route(true, true, false), Route::Bypass);
//! // 4,096 slots are kept free.
//! assert_eq!(service.slots_to_free(4_000, 0), 96);
//! ```

mod limits;
mod mode;
mod pace;
mod streams;

pub use limits::{Hours, Limits};
pub use mode::Mode;
pub use pace::Pace;

use crate::units::{Nanos, Request};
use limits::Rate;
use streams::Streams;

/// How a write-back cache behaves.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the cache takes of reads and writes.
    pub mode: Mode,
    /// Length from which on sequential runs of requests bypass the cache; `None` if none do.
    pub sequential_bytes: Option<u64>,
    /// Slots kept free, so that a write need not wait for the disk; 0 leaves it to the policy.
    pub room_slots: u32,
    /// Time without requests after which idle time begins.
    pub idle_after: Nanos,
    /// Time after which a write that waits for room fails.
    pub room_timeout: Nanos,
    /// Limits set by an operator.
    pub limits: Limits,
}

impl Rules {
    /// Returns the default rules for a cache of this number of slots.
    #[must_use]
    pub fn for_slots(slots: u64) -> Rules {
        Rules {
            mode: Mode::WriteBack,
            sequential_bytes: Some(4 << 20),
            room_slots: (slots / 128).min(4096) as u32,
            idle_after: Nanos::from_millis(200),
            room_timeout: Nanos::from_millis(60_000),
            limits: Limits::default(),
        }
    }
}

/// Where an operation on a block is routed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// To the cache: the policy decides.
    Cache,
    /// To the disk; the cache stays as it is.
    Bypass,
    /// It waits for a free slot, behind the operations that wait already.
    Queue,
}

/// Blocks destaged at a time in idle time: few, so that a new request finds little I/O in flight.
const IDLE_BLOCKS: u32 = 128;

/// The decisions of one cache.
#[derive(Clone, Debug)]
pub struct Service {
    rules: Rules,
    streams: Streams,
    last_request: Nanos,
    destages: Option<Rate>,
    /// The rate of writes to the SSD, if limited.
    ssd: Option<Rate>,
    /// Offset from the time to the time of day.
    to_time_of_day: Nanos,
    /// Whether the SSD is being detached: nothing more may become dirty on it.
    detaching_ssd: bool,
}

const DAY: Nanos = Nanos::from_millis(24 * 3_600_000);
/// For how long unused destages may be made up for: about the interval in which the time is
/// updated.
const DESTAGES_KEPT: Nanos = Nanos::from_millis(100);
/// For how long unused writes to the SSD may be made up for.
const SSD_KEPT: Nanos = Nanos::from_millis(3_600_000);
/// Part of the kept SSD writes that fills by reads leave to writes, in percent.
const SSD_PERCENT_FOR_WRITES: u64 = 50;

impl Service {
    /// Creates the service of a cache that has had no request yet.
    #[must_use]
    pub fn new(rules: Rules) -> Service {
        let mut service = Service {
            rules,
            streams: Streams::default(),
            last_request: Nanos::ZERO,
            destages: None,
            ssd: None,
            to_time_of_day: Nanos::ZERO,
            detaching_ssd: false,
        };
        service.set_limits(service.rules.limits);
        service
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the mode in effect.
    #[must_use]
    #[inline]
    pub fn mode(&self) -> Mode {
        if self.detaching_ssd { Mode::PassThrough } else { self.rules.mode }
    }

    /// Sets the mode.
    pub fn set_mode(&mut self, mode: Mode) {
        self.rules.mode = mode;
    }

    /// Sets whether the SSD is being detached. Meanwhile the mode is pass-through, so that the disk
    /// gets everything.
    pub fn set_detaching_ssd(&mut self, detaching: bool) {
        self.detaching_ssd = detaching;
    }

    /// Sets the number of slots kept free, after the cache was resized.
    pub fn set_room_slots(&mut self, slots: u32) {
        self.rules.room_slots = slots;
    }

    /// Sets the limits.
    pub fn set_limits(&mut self, limits: Limits) {
        let second = Nanos::from_millis(1_000);
        let destages = limits.destage_blocks_per_s;
        let destages = destages.map(|blocks| Rate::new(blocks, second, DESTAGES_KEPT));
        self.destages = destages.map(|rate| rate.like(self.destages));
        let ssd = limits.ssd_blocks_per_day.map(|blocks| Rate::new(blocks, DAY, SSD_KEPT));
        self.ssd = ssd.map(|rate| rate.like(self.ssd));
        self.rules.limits = limits;
    }

    /// Sets the time of day by the clock of the operator.
    pub fn set_time_of_day(&mut self, now: Nanos, time_of_day: Nanos) {
        self.to_time_of_day = Nanos((time_of_day.0 % DAY.0 + DAY.0 - now.0 % DAY.0) % DAY.0);
    }

    /// Returns whether destages have a limit.
    #[must_use]
    pub fn limits_destages(&self) -> bool {
        self.destages.is_some()
    }

    /// Returns whether another destage may be submitted now.
    #[must_use]
    pub fn may_destage(&self, now: Nanos) -> bool {
        self.destages.is_none_or(|rate| rate.allows(now, 0))
    }

    /// Counts destaged blocks against the limit.
    pub fn destages(&mut self, blocks: u64, now: Nanos) {
        if let Some(rate) = &mut self.destages {
            rate.uses(blocks, now);
        }
    }

    /// Counts pages written to the SSD against the limit.
    pub fn writes_ssd(&mut self, pages: u64, now: Nanos) {
        if let Some(rate) = &mut self.ssd {
            rate.uses(pages, now);
        }
    }

    /// Returns whether a block that is not cached bypasses the cache because the SSD's daily budget
    /// is used up.
    #[must_use]
    #[inline]
    pub fn ssd_budget_is_used(&self, write: bool, now: Nanos) -> bool {
        let left = if write { 0 } else { SSD_PERCENT_FOR_WRITES };
        self.ssd.is_some_and(|rate| !rate.allows(now, left))
    }

    /// Notes the arrival of a request.
    #[inline]
    pub fn request_arrived(&mut self, now: Nanos) {
        self.last_request = now;
    }

    /// Notes a read or write. Returns whether it belongs to a long sequential run.
    pub fn is_sequential(&mut self, request: &Request) -> bool {
        self.streams.is_long(request, self.rules.sequential_bytes)
    }

    /// Routes a block that is not cached. `sequential` is the result of [`Service::is_sequential`]
    /// for its request; `others_wait`: other operations wait for room.
    #[must_use]
    #[inline]
    pub fn route(&self, write: bool, sequential: bool, others_wait: bool) -> Route {
        if sequential || self.mode().bypasses(write) {
            return Route::Bypass;
        }
        // First come, first served.
        if write && others_wait { Route::Queue } else { Route::Cache }
    }

    /// Routes a block for which the policy could not make room at once: a read needs none.
    #[must_use]
    pub fn route_without_room(&self, write: bool) -> Route {
        if write { Route::Queue } else { Route::Bypass }
    }

    /// Returns whether to retry the first operation that waits for room. Not if as many slots as
    /// all of them need are leaving already: the policy would name more and more victims.
    #[must_use]
    pub fn may_retry_waiting(&self, free: u32, leaving: u32, waiting: usize) -> bool {
        free > 0 || (leaving as usize) < waiting
    }

    /// Returns whether an operation that has waited for room since then has timed out.
    #[must_use]
    pub fn has_timed_out(&self, since: Nanos, now: Nanos) -> bool {
        now.since(since) > self.rules.room_timeout
    }

    /// Returns how many slots to make free ahead of need, if `coming` are free or leaving. `choice`
    /// more are wanted while the disk does not take everything.
    #[must_use]
    #[inline]
    pub fn slots_to_free(&self, coming: u32, choice: u32) -> u32 {
        (self.rules.room_slots + choice).saturating_sub(coming)
    }

    /// Returns the number of blocks to destage now, because no request has come for a while;
    /// otherwise 0.
    #[must_use]
    #[inline]
    pub fn idle_blocks(&self, now: Nanos) -> u32 {
        let time_of_day = now + self.to_time_of_day;
        let idle = now.since(self.last_request) >= self.rules.idle_after;
        match idle && self.rules.limits.hours.contains(time_of_day) {
            true => IDLE_BLOCKS,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_blocks() {
        let route = |mode, write, sequential, others_wait| {
            let rules = Rules { mode, ..Rules::for_slots(1_000) };
            Service::new(rules).route(write, sequential, others_wait)
        };
        for mode in Mode::ALL {
            for (write, others) in [(false, false), (false, true), (true, false), (true, true)] {
                assert_eq!(route(mode, write, true, others), Route::Bypass, "a long run");
            }
        }
        assert_eq!(route(Mode::WriteBack, true, false, true), Route::Queue);
        assert_eq!(route(Mode::WriteBack, true, false, false), Route::Cache);
        assert_eq!(route(Mode::WriteBack, false, false, true), Route::Cache);
        assert_eq!(route(Mode::WriteAround, true, false, true), Route::Bypass);
        assert_eq!(route(Mode::WriteAround, false, false, false), Route::Cache);
        assert_eq!(route(Mode::NoReadFill, false, false, false), Route::Bypass);
        assert_eq!(route(Mode::PassThrough, true, false, false), Route::Bypass);
    }

    #[test]
    fn who_waits_for_room() {
        let service = Service::new(Rules::for_slots(1 << 20));
        assert!(service.may_retry_waiting(1, 9, 2) && service.may_retry_waiting(0, 1, 2));
        assert!(!service.may_retry_waiting(0, 2, 2));
        let (second, minute) = (Nanos::from_millis(1_000), Nanos::from_millis(60_000));
        assert!(!service.has_timed_out(second, second + minute));
        assert!(service.has_timed_out(second, second + minute + Nanos(1)));
        let wanted = [0, 4_095, 4_096, 9_999].map(|coming| service.slots_to_free(coming, 0));
        assert_eq!(wanted, [4_096, 1, 0, 0]);
        assert_eq!(Service::new(Rules::for_slots(1_280)).slots_to_free(5, 7), 12);
    }

    #[test]
    fn idle_time_begins_after_a_pause() {
        let mut service = Service::new(Rules::for_slots(1_000));
        let at = Nanos::from_millis;
        service.request_arrived(at(1_000));
        let blocks = [1_000, 1_199, 1_200].map(|ms| service.idle_blocks(at(ms)));
        assert_eq!(blocks, [0, 0, IDLE_BLOCKS]);
    }

    #[test]
    fn idle_time_is_used_at_its_hours() {
        let hours = Hours::parse("22-6").expect("hours");
        let limits = Limits { hours, ..Limits::default() };
        let mut service = Service::new(Rules { limits, ..Rules::for_slots(1_000) });
        let minute = |minute: u64| Nanos::from_millis(minute * 60_000);
        // It is 21:50 after the first minute.
        service.set_time_of_day(minute(1), minute(21 * 60 + 50));
        let blocks =
            [5, 10, 11, 11 + 8 * 60 - 1, 11 + 8 * 60].map(|at| service.idle_blocks(minute(at)));
        assert_eq!(blocks, [0, 0, IDLE_BLOCKS, IDLE_BLOCKS, 0]);
    }

    #[test]
    fn what_is_written_to_the_ssd_in_a_day_is_limited() {
        let limits = Limits { ssd_blocks_per_day: Some(2_400), ..Limits::default() };
        let mut service = Service::new(Rules { limits, ..Rules::for_slots(1_000) });
        // A block of each kind every second, for ten days.
        let (mut fills, mut writes) = (0, 0);
        for second in 0..10 * 86_400 {
            let now = Nanos::from_millis(second * 1_000);
            for (write, count) in [(false, &mut fills), (true, &mut writes)] {
                if !service.ssd_budget_is_used(write, now) {
                    service.writes_ssd(1, now);
                    *count += 1;
                }
            }
        }
        assert!((24_000..24_000 + 110).contains(&(fills + writes)), "{fills} {writes}");
        assert!(writes > 10 * fills, "writes go before fills: {fills} {writes}");
        // More than was allowed is missing afterwards; without a limit nothing is.
        let day = Nanos::from_millis(86_400_000);
        service.writes_ssd(2_400, day);
        service.set_limits(limits);
        assert!(service.ssd_budget_is_used(true, day));
        service.set_limits(Limits::default());
        assert!(!service.ssd_budget_is_used(false, day) && service.may_destage(day));
    }
}
