//! A drive with its queue: I/O waits for the I/O before it, and idle time reaches the drive.

use shingle_core::units::{Nanos, Op, Zone};
use shingle_drive::drive::{Counters, Drive, Io, Served, Stamp, Zoned};
use shingle_result::Responses;

use crate::watch::{Cause, Command, Watch};

/// A drive and when it is free.
pub(crate) struct Device {
    drive: Box<dyn Drive>,
    /// When it is free.
    free: Nanos,
    /// When it was done with I/O, background work apart.
    last_io: Nanos,
    /// The drive has queues of its own, and gets I/O whether it is free or not.
    queues: bool,
    busy: Nanos,
    responses: Responses,
    /// How long I/O waited for the end of background steps that had begun in idle time.
    overrun: Nanos,
    /// Who looks on at [`Device::serve_for`] and [`Device::reset`].
    watch: Option<Box<Watch>>,
}

impl Device {
    /// With `parallel`, a drive that has queues of its own works at several I/Os side by side.
    pub(crate) fn new(drive: Box<dyn Drive>, parallel: bool) -> Device {
        Device {
            queues: parallel && drive.queues(),
            drive,
            free: Nanos::ZERO,
            last_io: Nanos::ZERO,
            responses: Responses::default(),
            busy: Nanos::ZERO,
            overrun: Nanos::ZERO,
            watch: None,
        }
    }

    /// Serves `io`, which may begin at `ready`, as soon as the drive is free. Returns when its turn
    /// came, which is before the end of the background step it may have to wait for.
    #[inline]
    pub(crate) fn serve(&mut self, ready: Nanos, io: &Io, data: &mut [Stamp]) -> (Nanos, Served) {
        if self.queues {
            return self.hand_over(ready, io, data);
        }
        self.turn(ready, |drive, start| drive.serve(start, io, data))
    }

    /// [`Device::serve`], and tells those who look on why.
    #[inline]
    pub(crate) fn serve_for(
        &mut self,
        cause: Cause,
        ready: Nanos,
        io: &Io,
        data: &mut [Stamp],
    ) -> (Nanos, Served) {
        let (turn, served) = self.serve(ready, io, data);
        if let Some(watch) = &mut self.watch {
            watch.command(&Command { at: turn, done: served.done, io: *io, cause });
        }
        (turn, served)
    }

    /// Those who look on, if anybody does.
    pub(crate) fn watched(&mut self) -> Option<&mut Watch> {
        self.watch.as_deref_mut()
    }

    /// Lets somebody look on.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        self.watch.get_or_insert_default()
    }

    /// Resets a zone, as [`Device::serve`] serves I/O.
    ///
    /// # Panics
    /// If the drive exposes no zones, or the zone is conventional: nobody may ask for it then.
    pub(crate) fn reset(&mut self, ready: Nanos, zone: Zone) -> (Nanos, Served) {
        let (turn, served) = self.turn(ready, |drive, start| {
            zoned(drive).reset(start, zone).expect("a zone with a write pointer can be reset")
        });
        if let Some(watch) = &mut self.watch {
            let info = zoned(self.drive.as_mut()).zone(zone);
            let io = Io { op: Op::Trim, block: info.first, count: info.blocks };
            watch.command(&Command { at: turn, done: served.done, io, cause: Cause::Reset });
        }
        (turn, served)
    }

    #[inline]
    fn turn(
        &mut self,
        ready: Nanos,
        work: impl FnOnce(&mut dyn Drive, Nanos) -> Served,
    ) -> (Nanos, Served) {
        let turn = ready.max(self.last_io);
        self.idle_until(turn);
        self.overrun += self.free.since(turn);
        let start = turn.max(self.free);
        let served = work(self.drive.as_mut(), start);
        (self.free, self.last_io) = (served.done, served.done);
        self.busy += served.done.since(start);
        self.responses.record(served.done.since(ready));
        (turn, served)
    }

    /// Has the drive do in idle time what it would have done by `now`, for a host that wants to know
    /// how the drive is then.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        self.idle_until(now);
    }

    /// Serves `io` by a drive that has the queues itself.
    fn hand_over(&mut self, ready: Nanos, io: &Io, data: &mut [Stamp]) -> (Nanos, Served) {
        let served = self.drive.serve(ready, io, data);
        let turn = ready + served.wait;
        self.last_io = self.last_io.max(served.done);
        self.free = self.last_io;
        self.busy += served.done.since(turn);
        self.responses.record(served.done.since(ready));
        (turn, served)
    }

    /// Lets the drive use the time from its last completion to `until`. A step that was begun is
    /// finished, so the drive may be free only later.
    #[inline]
    fn idle_until(&mut self, until: Nanos) {
        let idle_since = self.last_io;
        if until <= self.free {
            return;
        }
        let Some(from) = self.drive.background_from(idle_since) else { return };
        let mut now = from.max(self.free);
        while now < until {
            let Some(end) = self.drive.background(now, idle_since, &[]) else { return };
            (self.free, now) = (end, end);
        }
    }

    /// When all I/O is done, background work apart.
    pub(crate) fn last_io(&self) -> Nanos {
        self.last_io
    }

    /// Time spent serving, over all servers, and how many there are.
    pub(crate) fn busy(&self) -> (Nanos, u32) {
        (self.busy, if self.queues { self.drive.description().channels } else { 1 })
    }

    /// The part of the time up to `end` that its servers were at work.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn utilisation(&self, end: Nanos) -> f64 {
        let (busy, servers) = self.busy();
        match end.as_secs_f64() {
            0.0 => 0.0,
            elapsed => busy.as_secs_f64() / elapsed / f64::from(servers),
        }
    }

    /// The drive's counters. Of a background step, the part that I/O waited for counts as cleaning
    /// that made it wait, which the drive cannot know.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = *self.drive.counters();
        counters.clean_time += self.overrun;
        counters.idle_clean_time = counters.idle_clean_time.since(self.overrun);
        counters
    }

    /// How long I/O took from the moment it could have begun.
    pub(crate) fn responses(&self) -> Responses {
        self.responses
    }

    /// The drive, to be asked for its zones.
    pub(crate) fn drive_mut(&mut self) -> &mut dyn Drive {
        self.drive.as_mut()
    }

    pub(crate) fn drive(&self) -> &dyn Drive {
        self.drive.as_ref()
    }

    /// Has the drive do all it has left undone, from `now` on.
    pub(crate) fn drain(&mut self, now: Nanos) -> Nanos {
        let done = self.drive.drain(now.max(self.free));
        (self.free, self.last_io) = (done, done);
        done
    }

    pub(crate) fn copy(&self) -> Device {
        Device {
            drive: self.drive.copy(),
            queues: self.queues,
            free: self.free,
            last_io: self.last_io,
            responses: self.responses,
            busy: self.busy,
            overrun: self.overrun,
            watch: None, // of the device itself, not of what it would do
        }
    }
}

fn zoned(drive: &mut dyn Drive) -> &mut dyn Zoned {
    drive.zoned().expect("a zone is reset of a drive that exposes zones")
}
