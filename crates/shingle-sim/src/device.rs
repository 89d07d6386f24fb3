//! A drive with its queue: I/O waits for earlier I/O, and idle time is given to the drive.

use shingle_core::units::{Nanos, Op, Request, Zone};
use shingle_drive::{Counters, Drive, Io, Served, Stamp, Wear, Zoned};
use shingle_result::{HostCounters, Responses, Snapshot};

use crate::disk::Disk;
use crate::passed::Passed;
use crate::watch::{Cause, Command, Watch};

/// The times of an I/O.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// When its turn came. It may then still wait for the end of a background step.
    pub(crate) came: Nanos,
    pub(crate) done: Nanos,
}

/// A drive, and the time at which it is free.
pub(crate) struct Device {
    disk: Disk,
    free: Nanos,
    /// Completion of the last I/O, background work excluded.
    last_io: Nanos,
    /// Whether the drive queues by itself, and gets I/O whether it is free or not.
    queues: bool,
    /// Time spent serving, over all servers.
    busy: Nanos,
    /// Time of reads, from their turn to their completion.
    read_time: Nanos,
    /// Time of all other calls. Draining the buffer is one of them: the caller waits for the
    /// cleaning.
    write_time: Nanos,
    responses: Responses,
    /// Time that I/O waited for background steps begun in idle time.
    overrun: Nanos,
    /// Observers of [`Device::serve_for`] and [`Device::reset`].
    watch: Option<Box<Watch>>,
    /// What [`Device::serve_anywhere`] served, of which neither the drive nor the times above know.
    anywhere: Anywhere,
    /// The requests left out, if these are a sample.
    passed: Option<Box<Passed>>,
    /// Scratch of [`Device::pass_over`].
    beside: Vec<Io>,
}

/// Blocks that lie anywhere, each of which takes the same time.
#[derive(Clone, Copy, Default)]
struct Anywhere {
    each: Nanos,
    read_blocks: u64,
    written_blocks: u64,
}

impl Anywhere {
    fn read_time(&self) -> Nanos {
        Nanos(self.each.0 * self.read_blocks)
    }

    fn write_time(&self) -> Nanos {
        Nanos(self.each.0 * self.written_blocks)
    }
}

impl Device {
    /// With `parallel`, a drive that queues by itself serves several I/Os at a time.
    pub(crate) fn new(disk: impl Into<Disk>, parallel: bool) -> Device {
        let disk = disk.into();
        Device {
            queues: parallel && disk.drive().description().channels.is_some(),
            anywhere: Anywhere {
                each: disk.drive().description().uniform.unwrap_or_default(),
                ..Anywhere::default()
            },
            disk,
            free: Nanos::ZERO,
            last_io: Nanos::ZERO,
            responses: Responses::default(),
            busy: Nanos::ZERO,
            read_time: Nanos::ZERO,
            write_time: Nanos::ZERO,
            overrun: Nanos::ZERO,
            watch: None,
            passed: None,
            beside: Vec::new(),
        }
    }

    /// Declares that the requests are a sample.
    pub(crate) fn pass(&mut self, passed: Passed) {
        self.passed = Some(Box::new(passed));
    }

    /// Notes the start of the next request of a sample.
    #[inline]
    pub(crate) fn begin_request(&mut self, request: &Request) {
        if let Some(passed) = &mut self.passed {
            passed.begin(request);
        }
    }

    /// Serves the I/O that a sample left out, before an I/O of the sample.
    #[cold]
    fn pass_over(&mut self, ready: Nanos, op: Op) {
        let Some(mut passed) = self.passed.take() else { return };
        passed.before(op, &mut self.beside);
        if !self.beside.is_empty() {
            let before = *self.drive().counters();
            let mut now = ready.max(self.free);
            for io in self.beside.drain(..) {
                now = self.disk.drive_mut().serve(now, &io, &mut []).done;
            }
            (self.free, self.last_io) = (now, now);
            passed.count(*self.drive().counters() - before);
        }
        self.passed = Some(passed);
    }

    /// Serves `io`, which may begin at `ready`, as soon as the drive is free.
    #[inline]
    pub(crate) fn serve(&mut self, ready: Nanos, io: &Io, data: &mut [Stamp]) -> Turn {
        debug_assert!(self.may_serve(io, data), "{io:?} with {} stamps", data.len());
        if self.passed.is_some() {
            self.pass_over(ready, io.op);
        }
        let turn = if self.queues {
            self.submit(ready, io, data)
        } else {
            self.turn(ready, |drive, start| drive.serve(start, io, data))
        };
        match io.op {
            Op::Read => self.read_time += turn.done.since(turn.came),
            _ => self.write_time += turn.done.since(turn.came),
        }
        turn
    }

    /// Reads (`Op::Read`) or writes `blocks` wherever they lie, at one time, on a drive of which each takes
    /// the same time ([`Description::uniform`]) and which serves one I/O after the other. As
    /// [`Device::serve`], but the drive itself is not asked: this is half of all I/O of a run. Returns the
    /// completion.
    ///
    /// [`Description::uniform`]: shingle_drive::Description::uniform
    #[inline]
    pub(crate) fn serve_anywhere(&mut self, ready: Nanos, op: Op, blocks: u64) -> Nanos {
        match op {
            Op::Read => self.anywhere.read_blocks += blocks,
            _ => self.anywhere.written_blocks += blocks,
        }
        let done = ready.max(self.last_io) + Nanos(self.anywhere.each.0 * blocks);
        (self.free, self.last_io) = (done, done);
        self.responses.record(done.since(ready));
        done
    }

    /// [`Device::serve`], and reports the I/O and its cause to the observers.
    #[inline]
    pub(crate) fn serve_for(
        &mut self,
        cause: Cause,
        ready: Nanos,
        io: &Io,
        data: &mut [Stamp],
    ) -> Turn {
        let turn = self.serve(ready, io, data);
        if let Some(watch) = &mut self.watch {
            watch.command(&Command { at: turn.came, done: turn.done, io: *io, cause });
        }
        turn
    }

    /// Returns the observers, if there are any.
    pub(crate) fn watched(&mut self) -> Option<&mut Watch> {
        self.watch.as_deref_mut()
    }

    /// Returns the observers, to add one.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        self.watch.get_or_insert_default()
    }

    /// Removes the observers.
    pub(crate) fn unwatch(&mut self) {
        self.watch = None;
    }

    /// Resets a zone, queued as I/O is.
    ///
    /// # Panics
    /// If the drive exposes no zones, or the zone is conventional.
    pub(crate) fn reset(&mut self, ready: Nanos, zone: Zone) -> Turn {
        let turn = self.turn(ready, |drive, start| {
            zoned(drive).reset(start, zone).expect("a zone with a write pointer can be reset")
        });
        self.write_time += turn.done.since(turn.came);
        if let Some(watch) = &mut self.watch {
            let info = zoned(self.disk.drive_mut()).zone(zone);
            let io = Io { op: Op::Trim, block: info.first, count: info.blocks };
            watch.command(&Command { at: turn.came, done: turn.done, io, cause: Cause::Reset });
        }
        turn
    }

    #[inline]
    fn turn(&mut self, ready: Nanos, work: impl FnOnce(&mut dyn Drive, Nanos) -> Served) -> Turn {
        let came = ready.max(self.last_io);
        self.idle_until(came);
        self.overrun += self.free.since(came);
        let start = came.max(self.free);
        let served = work(self.disk.drive_mut(), start);
        debug_assert!(adds_up(start, &served), "{served:?} from {start:?}");
        self.end_turn(ready, start, served.done);
        Turn { came, done: served.done }
    }

    /// Notes that an I/O which could have begun at `ready` was served from `start` to `done`.
    #[inline]
    fn end_turn(&mut self, ready: Nanos, start: Nanos, done: Nanos) {
        (self.free, self.last_io) = (done, done);
        self.busy += done.since(start);
        self.responses.record(done.since(ready));
    }

    /// Runs the background work that the drive would have done by `now`, before its state is
    /// examined.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        self.idle_until(now);
    }

    /// Serves `io` on a drive that queues by itself.
    fn submit(&mut self, ready: Nanos, io: &Io, data: &mut [Stamp]) -> Turn {
        let served = self.disk.drive_mut().serve(ready, io, data);
        debug_assert!(adds_up(ready, &served), "{served:?} from {ready:?}");
        let came = ready + served.wait;
        self.last_io = self.last_io.max(served.done);
        self.free = self.last_io;
        self.busy += served.done.since(came);
        self.responses.record(served.done.since(ready));
        Turn { came, done: served.done }
    }

    /// Returns whether the drive accepts this I/O ([`Drive`]).
    fn may_serve(&self, io: &Io, data: &[Stamp]) -> bool {
        let within = io.block.0 + io.count <= self.drive().description().disk_blocks;
        let moves_data = matches!(io.op, Op::Read | Op::Write);
        let stamped = data.is_empty() || moves_data && data.len() as u64 == io.count;
        within && stamped && (io.count > 0 || io.op == Op::Flush)
    }

    /// Gives the drive the time from its last completion to `until`. A step that began is finished,
    /// so the drive may be free only later.
    #[inline]
    fn idle_until(&mut self, until: Nanos) {
        let idle_since = self.last_io;
        if until <= self.free {
            return;
        }
        let Some(from) = self.drive().background_from(idle_since) else { return };
        let mut now = from.max(self.free);
        while now < until {
            let Some(end) = self.disk.drive_mut().background(now, idle_since, &[]) else { return };
            (self.free, now) = (end, end);
        }
    }

    /// Returns when all I/O is done, background work excluded.
    pub(crate) fn last_io(&self) -> Nanos {
        self.last_io
    }

    /// Returns the part of the time up to `end` in which its servers were busy.
    pub(crate) fn utilisation(&self, end: Nanos) -> f64 {
        let channels = self.drive().description().channels.filter(|_| self.queues);
        let busy = self.busy + self.anywhere.read_time() + self.anywhere.write_time();
        match end.as_secs_f64() {
            0.0 => 0.0,
            elapsed => busy.as_secs_f64() / elapsed / f64::from(channels.unwrap_or(1)),
        }
    }

    fn read_time(&self) -> Nanos {
        self.read_time + self.anywhere.read_time()
    }

    fn write_time(&self) -> Nanos {
        self.write_time + self.anywhere.write_time()
    }

    /// Returns the wear of its flash, if the drive models it.
    pub(crate) fn wear(&self) -> Option<Wear> {
        self.drive().wear()
    }

    /// Returns the drive's counters. The part of a background step that I/O waited for counts as
    /// foreground cleaning, which the drive cannot know.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = *self.drive().counters();
        let Anywhere { read_blocks, written_blocks, .. } = self.anywhere;
        counters.count_anywhere(Op::Read, read_blocks, self.anywhere.read_time());
        counters.count_anywhere(Op::Write, written_blocks, self.anywhere.write_time());
        if let Some(passed) = &self.passed {
            counters = counters - passed.beside();
        }
        counters.clean_time += self.overrun;
        counters.idle_clean_time = counters.idle_clean_time.since(self.overrun);
        counters
    }

    /// Returns the response times of I/O, from when it could have begun.
    pub(crate) fn responses(&self) -> Responses {
        self.responses
    }

    /// Returns the drive, for access to its zones.
    pub(crate) fn drive_mut(&mut self) -> &mut dyn Drive {
        self.disk.drive_mut()
    }

    #[inline]
    pub(crate) fn drive(&self) -> &dyn Drive {
        self.disk.drive()
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// Makes the drive finish all its work, from `now` on.
    pub(crate) fn drain(&mut self, now: Nanos) -> Nanos {
        let done = self.disk.drive_mut().drain(now.max(self.free));
        (self.free, self.last_io) = (done, done);
        self.write_time += done.since(now);
        done
    }

    pub(crate) fn copy(&self) -> Device {
        Device {
            disk: self.disk.copy(),
            queues: self.queues,
            free: self.free,
            last_io: self.last_io,
            responses: self.responses,
            busy: self.busy,
            read_time: self.read_time,
            write_time: self.write_time,
            overrun: self.overrun,
            anywhere: self.anywhere,
            passed: self.passed.clone(),
            beside: Vec::new(),
            watch: None, // observers see only the device itself, not a what-if copy
        }
    }
}

/// Combines `host` and the counters of two devices.
pub(crate) fn snapshot(host: &HostCounters, ssd: &Device, disk: &Device) -> Snapshot {
    let host = HostCounters {
        ssd_read_time: ssd.read_time(),
        ssd_write_time: ssd.write_time(),
        drive_read_time: disk.read_time(),
        drive_write_time: disk.write_time(),
        ..*host
    };
    Snapshot { host, ssd: ssd.counters(), disk: disk.counters() }
}

/// Returns whether the spans of an I/O that began at `start` add up to its end.
fn adds_up(start: Nanos, served: &Served) -> bool {
    let Served { done, command, seek, rotation, transfer, clean, wait } = *served;
    start + [command, seek, rotation, transfer, clean, wait].into_iter().sum() == done
}

fn zoned(drive: &mut dyn Drive) -> &mut dyn Zoned {
    drive.zoned().expect("a zone is reset of a drive that exposes zones")
}
