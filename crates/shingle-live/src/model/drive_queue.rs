//! A drive with its queue, in the drive's time: it serves one I/O at a time in the order of
//! arrival, and does background work while the queue is empty.

use shingle_core::units::Nanos;
use shingle_drive::{Counters, Drive, Io, Refused};

/// A drive, with the times at which it becomes free.
pub(super) struct DriveQueue {
    drive: Box<dyn Drive>,
    /// When it becomes free.
    free: Nanos,
    /// When its last I/O was done, without background work.
    last_io: Nanos,
}

impl DriveQueue {
    pub(super) fn new(drive: Box<dyn Drive>) -> DriveQueue {
        DriveQueue { drive, free: Nanos::ZERO, last_io: Nanos::ZERO }
    }

    /// Serves an I/O, and returns its completion time.
    ///
    /// # Errors
    /// If a rule of the drive's zones forbids it. That takes no time.
    pub(super) fn serve(&mut self, arrived: Nanos, io: &Io) -> Result<Nanos, Refused> {
        let ready = arrived.max(self.last_io);
        self.idle_until(ready);
        let start = ready.max(self.free);
        let served = match self.drive.zoned() {
            Some(zoned) => zoned.try_serve(start, io, &mut [])?,
            None => self.drive.serve(start, io, &mut []),
        };
        (self.free, self.last_io) = (served.done, served.done);
        Ok(served.done)
    }

    /// Starts all background work that is due before `until`, if no I/O arrives by then. Started
    /// work is finished, so the drive may become free after `until`.
    pub(super) fn idle_until(&mut self, until: Nanos) {
        while let Some(now) = self.background_from().filter(|&from| from < until) {
            match self.drive.background(now, self.last_io, &[]) {
                Some(end) => self.free = end,
                None => return,
            }
        }
    }

    /// When the next background work is due, if no I/O arrives before.
    pub(super) fn background_from(&self) -> Option<Nanos> {
        Some(self.drive.background_from(self.last_io)?.max(self.free))
    }

    pub(super) fn counters(&self) -> &Counters {
        self.drive.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{Block, Op};
    use shingle_drive::{Buffer, Overrides, Settings, make};

    fn io(op: Op, block: u64, count: u64) -> Io {
        Io { op, block: Block(block), count }
    }

    #[test]
    fn i_o_waits_for_the_i_o_before_it() {
        let emulator = make("sac-emulator", &Settings::default()).expect("made");
        let mut alone = emulator.copy();
        let mut queue = DriveQueue::new(emulator);
        let mut done = Nanos::ZERO;
        // All arrive at once: each begins at the end of the previous one.
        for block in [0, 900_000, 5] {
            done = alone.serve(done, &io(Op::Read, block, 3), &mut []).done;
            assert_eq!(queue.serve(Nanos::ZERO, &io(Op::Read, block, 3)), Ok(done));
        }
        // One that arrives later begins at its arrival.
        let later = done + Nanos::from_millis(1);
        let done = alone.serve(later, &io(Op::Write, 7, 1), &mut []).done;
        assert_eq!(queue.serve(later, &io(Op::Write, 7, 1)), Ok(done));
    }

    /// Random writes fill a buffer, and idle time empties it. An I/O that arrives within a step
    /// waits for its end.
    #[test]
    fn bands_are_cleaned_in_idle_time() {
        let settings = Settings {
            idle_cleaning: Some(true),
            idle_delay: Some(Nanos::from_millis(500)),
            buffer: Buffer::Bytes(1 << 20),
            overrides: Overrides::new(),
            ..Settings::default()
        };
        let mut queue = DriveQueue::new(make("st8000as0002", &settings).expect("made"));
        let mut done = Nanos::ZERO;
        for n in 0..50 {
            done = queue.serve(done, &io(Op::Write, n * 1_000_003, 1)).expect("no zones");
        }
        let held = queue.drive.buffer().blocks;
        assert!(held > 0, "some of it is in the buffer");
        let idle = queue.background_from().expect("there is something to clean");
        assert_eq!(idle, done + Nanos::from_millis(500));
        queue.idle_until(idle);
        assert_eq!(queue.drive.buffer().blocks, held, "not before its time");
        // The result does not depend on how often `idle_until` is called.
        let mut looked = DriveQueue { drive: queue.drive.copy(), ..queue };
        let hour = Nanos::from_millis(3_600_000);
        queue.idle_until(idle + hour);
        assert_eq!(queue.drive.buffer().blocks, 0);
        assert!(queue.counters().idle_clean_time > Nanos::ZERO);
        for step in 0..=3600 {
            looked.idle_until(idle + Nanos::from_millis(1000 * step));
        }
        assert_eq!((looked.counters(), looked.free), (queue.counters(), queue.free));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_and_takes_no_time() {
        let mut queue = DriveQueue::new(make("hm-tiny", &Settings::default()).expect("made"));
        let zone = 256 * 100;
        let refused = queue.serve(Nanos::ZERO, &io(Op::Write, zone + 1, 1)).expect_err("refused");
        assert!(refused.to_string().contains("begin at the write pointer"), "{refused}");
        assert_eq!(queue.free, Nanos::ZERO);
        let done = queue.serve(Nanos::ZERO, &io(Op::Write, zone, 1)).expect("at the pointer");
        assert_eq!(queue.free, done);
    }
}
