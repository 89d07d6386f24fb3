//! A drive and its queue, in the drive's own time: one I/O at a time in the order of arrival, and
//! background work while none is there.

use shingle_core::units::Nanos;
use shingle_drive::{Counters, Drive, Io, Refused};

/// A drive, and when it is free.
pub(super) struct Turns {
    drive: Box<dyn Drive>,
    /// When it is free.
    free: Nanos,
    /// When it was done with I/O, background work apart.
    last_io: Nanos,
}

impl Turns {
    pub(super) fn new(drive: Box<dyn Drive>) -> Turns {
        Turns { drive, free: Nanos::ZERO, last_io: Nanos::ZERO }
    }

    /// Serves an I/O that has arrived, and returns when it is done.
    ///
    /// # Errors
    /// If a rule of the drive's zones forbids it, which takes no time.
    pub(super) fn serve(&mut self, arrived: Nanos, io: &Io) -> Result<Nanos, Refused> {
        let turn = arrived.max(self.last_io);
        self.idle_until(turn);
        let start = turn.max(self.free);
        let served = match self.drive.zoned() {
            Some(zoned) => zoned.try_serve(start, io, &mut [])?,
            None => self.drive.serve(start, io, &mut []),
        };
        (self.free, self.last_io) = (served.done, served.done);
        Ok(served.done)
    }

    /// Begins all background work that begins before `until`, if no I/O has arrived by then. What is
    /// begun is finished, so the drive may be free only later.
    pub(super) fn idle_until(&mut self, until: Nanos) {
        while let Some(now) = self.works_from().filter(|&from| from < until) {
            match self.drive.background(now, self.last_io, &[]) {
                Some(end) => self.free = end,
                None => return,
            }
        }
    }

    /// When background work is to begin, if no I/O arrives before.
    pub(super) fn works_from(&self) -> Option<Nanos> {
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
        let mut turns = Turns::new(emulator);
        let mut done = Nanos::ZERO;
        // All arrive at once: each begins when the one before it is done.
        for block in [0, 900_000, 5] {
            done = alone.serve(done, &io(Op::Read, block, 3), &mut []).done;
            assert_eq!(turns.serve(Nanos::ZERO, &io(Op::Read, block, 3)), Ok(done));
        }
        // One that comes later begins then.
        let later = done + Nanos::from_millis(1);
        let done = alone.serve(later, &io(Op::Write, 7, 1), &mut []).done;
        assert_eq!(turns.serve(later, &io(Op::Write, 7, 1)), Ok(done));
    }

    /// Random writes fill a buffer, which idle time empties; an I/O that comes in the middle of a step
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
        let mut turns = Turns::new(make("st8000as0002", &settings).expect("made"));
        let mut done = Nanos::ZERO;
        for n in 0..50 {
            done = turns.serve(done, &io(Op::Write, n * 1_000_003, 1)).expect("no zones");
        }
        let held = turns.drive.buffer().blocks;
        assert!(held > 0, "some of it is in the buffer");
        let idle = turns.works_from().expect("there is something to clean");
        assert_eq!(idle, done + Nanos::from_millis(500));
        turns.idle_until(idle);
        assert_eq!(turns.drive.buffer().blocks, held, "not before its time");
        // However often one looks, the same is done.
        let mut looked = Turns { drive: turns.drive.copy(), ..turns };
        let hour = Nanos::from_millis(3_600_000);
        turns.idle_until(idle + hour);
        assert_eq!(turns.drive.buffer().blocks, 0);
        assert!(turns.counters().idle_clean_time > Nanos::ZERO);
        for step in 0..=3600 {
            looked.idle_until(idle + Nanos::from_millis(1000 * step));
        }
        assert_eq!((looked.counters(), looked.free), (turns.counters(), turns.free));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_and_takes_no_time() {
        let mut turns = Turns::new(make("hm-tiny", &Settings::default()).expect("made"));
        let zone = 256 * 100;
        let refused = turns.serve(Nanos::ZERO, &io(Op::Write, zone + 1, 1)).expect_err("refused");
        assert!(refused.to_string().contains("begin at the write pointer"), "{refused}");
        assert_eq!(turns.free, Nanos::ZERO);
        let done = turns.serve(Nanos::ZERO, &io(Op::Write, zone, 1)).expect("at the pointer");
        assert_eq!(turns.free, done);
    }
}
