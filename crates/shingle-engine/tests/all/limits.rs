//! What an operator allows is kept to, in virtual time: destaging by rate and by hours, writes of the SSD by day.

use shingle_core::service::{Hours, Limits, Mode};
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Device, Engine};

use crate::memory::{Held, carry_out, serve, slots};

/// A store whose devices do everything at once.
struct Bed {
    engine: Engine,
    ssd: Held,
    disk: Held,
    now: Nanos,
    commands: u64,
}

impl Bed {
    fn new(limits: Limits) -> Bed {
        let (engine, ssd) = serve(&Settings::new("lru"), slots() * 10, |config| {
            config.rules.limits = limits;
        });
        Bed { engine, ssd, disk: Held::new(), now: Nanos::ZERO, commands: 0 }
    }

    fn settle(&mut self) {
        loop {
            let effects = self.engine.take();
            if effects.ios.is_empty() {
                return;
            }
            for mut io in effects.ios {
                let device = if io.device == Device::Ssd { &mut self.ssd } else { &mut self.disk };
                carry_out(device, &mut io);
                let bytes = io.buffers.len() * PAGE_BYTES;
                self.engine.done(io.id, Ok(bytes), io.buffers);
            }
        }
    }

    fn write(&mut self, block: u64) {
        self.commands += 1;
        let offset = block * BLOCK_BYTES;
        let data = vec![7; BLOCK_BYTES as usize];
        let command = Command::new(self.commands, CommandOp::Write, offset, BLOCK_BYTES);
        self.engine.submit(Command { data, ..command });
        self.settle();
    }

    fn read(&mut self, block: u64) {
        self.commands += 1;
        let offset = block * BLOCK_BYTES;
        self.engine.submit(Command::new(self.commands, CommandOp::Read, offset, BLOCK_BYTES));
        self.settle();
    }

    /// Time goes by, as the thread of a store tells it.
    fn wait(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.now += Nanos::from_millis(50);
            self.engine.tick(self.now);
            self.settle();
        }
    }

    fn destaged(&self) -> u64 {
        self.engine.status().destaged_blocks
    }
}

#[test]
fn no_more_is_destaged_in_a_second_than_is_allowed() {
    let limits = Limits { destage_blocks_per_s: Some(100), ..Limits::default() };
    let mut bed = Bed::new(limits);
    (0..3000).for_each(|n| bed.write(n * 3));
    let before = bed.destaged();
    bed.wait(10_000);
    let in_ten_seconds = bed.destaged() - before;
    assert!((900..=1_010).contains(&in_ten_seconds), "{in_ten_seconds}");
    // The limit is set anew while it goes on.
    bed.engine.set_limits(Limits { destage_blocks_per_s: Some(20), ..Limits::default() });
    let before = bed.destaged();
    bed.wait(10_000);
    let in_ten_seconds = bed.destaged() - before;
    assert!((150..=210).contains(&in_ten_seconds), "{in_ten_seconds}");
    // Whoever wants everything on the disk gets it.
    bed.engine.drain();
    bed.settle();
    assert_eq!(bed.engine.dirty_blocks(), 0);
}

/// As a disk that is slow does: what was to leave next is safe on the SSD, and the end does not wait for it.
#[test]
fn what_is_held_back_stays_dirty_at_the_end() {
    let mut bed = Bed::new(Limits { destage_blocks_per_s: Some(20), ..Limits::default() });
    let slots = slots();
    // Room is made before it is needed.
    (0..slots - 10).for_each(|n| bed.write(n * 3));
    bed.wait(1_000);
    let on_disk = bed.disk.len();
    bed.engine.shut_down();
    bed.settle();
    assert!(bed.engine.is_stopped());
    assert_eq!(bed.disk.len(), on_disk);
    assert_eq!(bed.engine.dirty_blocks(), slots - 10 - on_disk as u64);
}

#[test]
fn who_waits_for_room_waits_for_what_is_allowed() {
    let limits = Limits { destage_blocks_per_s: Some(100), ..Limits::default() };
    let mut bed = Bed::new(limits);
    let slots = slots();
    // Without pauses, so that idle time has no part in it.
    (0..slots + 200).for_each(|n| bed.write(n * 2));
    let asked = bed.commands;
    let mut answered = 0;
    for _ in 0..200 {
        bed.now += Nanos::from_millis(50);
        bed.engine.tick(bed.now);
        bed.settle();
        answered = asked - bed.engine.status().counts.write_misses;
    }
    assert_eq!(answered, 0, "all found room within ten seconds");
}

#[test]
fn what_goes_past_the_cache_is_missed_there() {
    let mut bed = Bed::new(Limits::default());
    bed.write(0);
    for (mode, hits) in [(Mode::NoReadFill, 1), (Mode::PassThrough, 2)] {
        bed.engine.set_mode(mode);
        (0..10).for_each(|n| bed.read(n * 3));
        let counts = bed.engine.status().counts;
        assert_eq!((counts.read_hits, counts.read_misses), (hits, 9 * hits), "{mode:?}");
    }
    (0..10).for_each(|n| bed.write(n * 3));
    let counts = bed.engine.status().counts;
    assert_eq!((counts.write_hits, counts.write_misses, counts.bypassed_blocks), (1, 10, 9));
}

#[test]
fn idle_time_is_used_at_its_hours_only() {
    let hours = Hours::parse("22-6").expect("hours");
    let mut bed = Bed::new(Limits { hours, ..Limits::default() });
    bed.engine.set_time_of_day(bed.now, Nanos::from_millis(12 * 3_600_000));
    (0..500).for_each(|n| bed.write(n * 3));
    bed.wait(10_000);
    assert_eq!(bed.destaged(), 0);
    bed.engine.set_time_of_day(bed.now, Nanos::from_millis(22 * 3_600_000));
    bed.wait(10_000);
    assert_eq!(bed.engine.dirty_blocks(), 0);
}

#[test]
fn the_ssd_is_written_no_more_than_its_budget_of_a_day() {
    // A thousand pages an hour.
    let limits = Limits { ssd_blocks_per_day: Some(24_000), ..Limits::default() };
    let mut bed = Bed::new(limits);
    let blocks = slots() * 10;
    for n in 0..5_000 {
        bed.write(n * 7919 % blocks);
        if n.is_multiple_of(100) {
            bed.wait(50);
        }
    }
    let status = bed.engine.status();
    let written = status.ssd_written_pages;
    // (What one command takes with the commit that follows it is more than nothing.)
    assert!((900..1_100).contains(&written), "{written} pages");
    assert!(status.counts.bypassed_blocks > 3_900, "{:?}", status.counts);
    // Half a day later half of the budget is there again, an hour of it at once.
    bed.now += Nanos::from_millis(12 * 3_600_000);
    bed.engine.tick(bed.now);
    bed.settle();
    for n in 5_000..10_000 {
        bed.write(n * 7919 % blocks);
    }
    let more = bed.engine.status().ssd_written_pages - written;
    assert!((900..1_400).contains(&more), "{more} pages");
}
