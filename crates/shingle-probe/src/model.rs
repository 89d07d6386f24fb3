//! A drive model under probe, in virtual time: what it hides, it hides from the probe too.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use shingle_core::units::Zone;
use shingle_drive::{Drive, Rng};

use crate::target::{Done, Facts, Io, Nanos, Target, TargetError, Zones};

/// Noise of a measurement: what the drive does not do, but a clock shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of a latency, as a part of it.
    pub jitter: f64,
    /// One I/O in so many takes from 2 to 50 ms longer; 0 for none.
    pub outlier_every: u64,
}

/// See the module.
pub struct Model {
    drive: Box<dyn Drive>,
    facts: Facts,
    now: Nanos,
    /// Work in idle time goes on until then.
    busy: Nanos,
    noise: Noise,
    rng: Rng,
}

impl Model {
    /// `drive`, which is called `name`. The noise follows from `seed`.
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

    /// The drive, for those who may know.
    #[must_use]
    pub fn drive(&self) -> &dyn Drive {
        self.drive.as_ref()
    }

    /// Serves an I/O that was submitted at `begun`.
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

    /// The latency as the clock shows it.
    fn shown(&mut self, begun: Nanos) -> Nanos {
        let latency = self.now.since(begun);
        if self.noise.jitter <= 0.0 {
            return self.now;
        }
        // Twelve uniform numbers less six: normal enough, and the same on every machine.
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
        seen: &mut dyn FnMut(Done) -> ControlFlow<()>,
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
            let done = self.shown(begun);
            ended |= seen(Done { number, begun, done }).is_break();
            number += 1;
        }
    }

    fn idle(&mut self, span: Nanos) -> Result<(), TargetError> {
        let since = self.now.max(self.busy);
        let end = self.now + span;
        let mut at = since;
        // Ends: each step takes time, and none begins after the end.
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
