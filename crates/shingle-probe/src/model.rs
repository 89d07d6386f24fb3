//! A drive model under probe, in virtual time. The probe sees no more of it than of a real drive.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use shingle_core::units::Zone;
use shingle_drive::{Drive, Rng};

use crate::target::{Done, Facts, Io, Nanos, Target, TargetError, Zones};

/// Noise of a measurement: what a clock shows in addition to the drive's own time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of a latency, relative to the latency.
    pub jitter: f64,
    /// One I/O in this number takes 2 to 50 ms longer; 0 for none.
    pub outlier_every: u64,
}

/// A drive model as a [`Target`].
pub struct Model {
    drive: Box<dyn Drive>,
    facts: Facts,
    now: Nanos,
    /// The end of the drive's work in idle time.
    busy: Nanos,
    noise: Noise,
    rng: Rng,
}

impl Model {
    /// Wraps `drive`, under the name `name`. The noise follows from `seed`.
    #[must_use]
    pub fn new(name: &str, drive: Box<dyn Drive>, noise: Noise, seed: u64) -> Model {
        let description = drive.description();
        let exposed = description.exposed.as_ref().zip(description.bands.as_ref());
        let zones = exposed.map(|(exposed, bands)| Zones {
            required: exposed.sequential_required,
            zone_blocks: bands.blocks(Zone(0)),
            count: bands.count() as u64,
        });
        let name = name.to_owned();
        let facts = Facts { serial: name.clone(), name, blocks: description.disk_blocks, zones };
        let (now, busy, rng) = (Nanos::ZERO, Nanos::ZERO, Rng::new(seed));
        Model { drive, facts, now, busy, noise, rng }
    }

    /// The drive, for comparisons with the truth.
    #[must_use]
    pub fn drive(&self) -> &dyn Drive {
        self.drive.as_ref()
    }

    /// Serves an I/O.
    fn serve(&mut self, io: &Io, queued: bool) {
        let start = self.now.max(self.busy);
        self.now = self.drive.serve(start, io, &mut []).done;
        if queued {
            self.now += self.drive.description().queued_command;
        }
        let every = self.noise.outlier_every;
        if every > 0 && self.rng.below(every) == 0 {
            self.now += Nanos::from_micros(2000 + self.rng.below(48_000));
        }
    }

    /// The completion time as the clock shows it, with jitter.
    fn observed(&mut self, begun: Nanos) -> Nanos {
        let latency = self.now.since(begun);
        if self.noise.jitter <= 0.0 {
            return self.now;
        }
        // The sum of twelve uniform numbers less six is close to normal, and the same on every
        // machine.
        let uniform = |rng: &mut Rng| rng.below(1 << 32) as f64 / (1u64 << 32) as f64;
        let normal: f64 = (0..12).map(|_| uniform(&mut self.rng)).sum::<f64>() - 6.0;
        let factor = (1.0 + normal * self.noise.jitter).max(0.1);
        begun + Nanos((latency.0 as f64 * factor) as u64)
    }
}

impl Target for Model {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(
        &mut self,
        depth: usize,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let mut queue: VecDeque<(Io, Nanos)> = VecDeque::with_capacity(depth);
        let (mut number, mut ended) = (0, false);
        loop {
            while !ended && queue.len() < depth {
                match next() {
                    Some(io) => queue.push_back((io, self.now)),
                    None => ended = true,
                }
            }
            let Some((io, begun)) = queue.pop_front() else { return Ok(()) };
            self.serve(&io, depth > 1);
            let done = self.observed(begun);
            ended |= on_done(Done { number, begun, done }).is_break();
            number += 1;
        }
    }

    fn idle(&mut self, span: Nanos) -> Result<(), TargetError> {
        let since = self.now.max(self.busy);
        let end = self.now + span;
        let mut at = since;
        // The loop ends: each step takes time, and none begins after the end.
        while let Some(from) = self.drive.background_from(since) {
            let start = at.max(from);
            if start >= end {
                break;
            }
            let Some(done) = self.drive.background(start, since, &[]) else { break };
            at = done;
        }
        self.now = end;
        self.busy = at;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.now
    }
}
