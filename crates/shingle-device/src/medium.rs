//! Media: something in place of a disk that emulates another drive on it, or makes one of a zoned
//! disk. A medium runs on threads of its own.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use shingle_engine::buffer::Buffer;
use shingle_engine::{Io, Kind};

use crate::done::{Answers, Done};
use crate::lanes::{Lanes, MainLane, READERS, ReadLane};
use crate::worker::panicked;

/// Reads pages into buffers, from a page on.
pub type Reader = Box<dyn FnMut(u64, &mut [Buffer]) -> io::Result<()> + Send>;

/// Serves I/O in place of a disk, one at a time.
pub trait Medium: Send {
    /// Serves an I/O: reads into `buffers` from `page` on, writes them there, flushes, or trims.
    fn serve(&mut self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()>;

    /// A reader that works in parallel to [`Medium::serve`]; `None` if reads wait for their turn.
    /// Called before the first I/O, once for each parallel reader.
    fn reader(&self) -> Option<Reader> {
        None
    }

    /// Called after a while without I/O ([`IDLE_AFTER`](crate::IDLE_AFTER)). Does a piece of idle
    /// work, and returns whether there is more. An error shows in the next I/O.
    fn idle(&mut self) -> bool {
        false
    }

    /// Called when no more I/O comes.
    fn end(&mut self) -> io::Result<()>;
}

/// The name of its threads in errors.
const WHOSE: &str = "the disk";

/// A running medium, on threads of its own.
pub struct MediumThreads {
    lanes: Lanes<Io>,
    from: Receiver<Done>,
}

impl MediumThreads {
    /// Starts the threads. The doorbell is written when an I/O is done.
    pub fn start(medium: Box<dyn Medium>, doorbell: Arc<File>) -> io::Result<MediumThreads> {
        let (to, from) = channel();
        let answers = Answers { to, doorbell };
        let reader = |mut reader: Reader| {
            let answers = answers.clone();
            let read = move |io| answers.serve(io, |_, page, buffers| reader(page, buffers));
            Box::new(read) as ReadLane<Io>
        };
        let readers = (0..READERS).map_while(|_| medium.reader()).map(reader).collect();
        let main = Main { medium, answers: answers.clone() };
        Ok(MediumThreads { lanes: Lanes::start("shingle-medium", WHOSE, main, readers)?, from })
    }

    /// Submits an I/O.
    pub fn begin(&self, io: Io) {
        match io.kind {
            Kind::Read => self.lanes.begin_read(io),
            Kind::Write | Kind::Flush | Kind::Trim(_) => self.lanes.begin(io),
        }
    }

    /// Appends completed I/Os to `done`.
    ///
    /// # Errors
    /// If an I/O can never complete.
    pub fn done(&self, done: &mut Vec<Done>) -> io::Result<()> {
        done.extend(self.from.try_iter());
        if self.lanes.has_failed() { Err(panicked(WHOSE)) } else { Ok(()) }
    }

    /// Waits until all I/O is done.
    ///
    /// # Errors
    /// If the medium fails at its end, or has panicked.
    pub fn end(self) -> io::Result<()> {
        self.lanes.end()
    }
}

struct Main {
    medium: Box<dyn Medium>,
    answers: Answers,
}

impl MainLane<Io> for Main {
    fn carry_out(&mut self, io: Io) {
        let medium = &mut self.medium;
        self.answers.serve(io, |kind, page, buffers| medium.serve(kind, page, buffers));
    }

    fn idle(&mut self) -> bool {
        self.medium.idle()
    }

    fn end(&mut self) -> io::Result<()> {
        self.medium.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;
    use std::time::{Duration, Instant};

    use rustix::event::{EventfdFlags, eventfd};
    use shingle_engine::buffer::zeroed;
    use shingle_engine::{Device, IoId};

    use super::*;

    /// Longer than anything here takes, even on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Holds writes and flushes until they are released; reads return sevens.
    struct Stuck {
        let_go: Receiver<()>,
        has_reader: bool,
    }

    impl Medium for Stuck {
        fn serve(&mut self, kind: Kind, _: u64, _: &mut [Buffer]) -> io::Result<()> {
            // Returns for good when the sender is dropped.
            let _ = self.let_go.recv();
            match kind {
                Kind::Read => Err(io::ErrorKind::Other.into()),
                Kind::Write | Kind::Flush | Kind::Trim(_) => Ok(()),
            }
        }

        fn reader(&self) -> Option<Reader> {
            let read = |page: u64, buffers: &mut [Buffer]| {
                if page == 13 {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                buffers.iter_mut().for_each(|buffer| buffer.0.fill(7));
                Ok(())
            };
            self.has_reader.then(|| Box::new(read) as Reader)
        }

        fn end(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start(has_reader: bool) -> (MediumThreads, Sender<()>) {
        let (held, let_go) = channel();
        let doorbell = eventfd(0, EventfdFlags::CLOEXEC).expect("a doorbell");
        let medium = Box::new(Stuck { let_go, has_reader });
        (MediumThreads::start(medium, Arc::new(doorbell.into())).expect("started"), held)
    }

    fn io(id: u64, kind: Kind, page: u64) -> Io {
        Io { id: IoId(id), device: Device::Disk, kind, page, buffers: vec![zeroed()] }
    }

    fn wait(medium: &MediumThreads, count: usize) -> Vec<Done> {
        let (mut done, begun) = (Vec::new(), Instant::now());
        while done.len() < count {
            assert!(begun.elapsed() < PATIENCE, "it is not done");
            medium.done(&mut done).expect("at work");
            std::thread::sleep(Duration::from_millis(1));
        }
        done
    }

    #[test]
    fn reads_pass_a_write_that_is_stuck_and_bring_data_and_errors() {
        let (medium, held) = start(true);
        medium.begin(io(1, Kind::Write, 0));
        medium.begin(io(2, Kind::Read, 0));
        let read = wait(&medium, 1).remove(0);
        assert_eq!((read.id, read.buffers[0].0[0]), (IoId(2), 7));
        medium.begin(io(3, Kind::Read, 13));
        let failed = wait(&medium, 1).remove(0).result.expect_err("refused");
        assert_eq!((failed.operation.kind, failed.operation.block), (Kind::Read, 13));
        medium.begin(io(4, Kind::Flush, 0));
        drop(held);
        let ids: Vec<IoId> = wait(&medium, 2).iter().map(|done| done.id).collect();
        assert_eq!(ids, [IoId(1), IoId(4)], "writes and flushes keep their order");
        medium.end().expect("in order");
    }

    #[test]
    fn without_readers_all_is_served_in_order() {
        let (medium, held) = start(false);
        (0..4).for_each(|id| medium.begin(io(id, Kind::Write, 0)));
        medium.begin(io(4, Kind::Read, 0));
        drop(held);
        let done = wait(&medium, 5);
        assert!(done.iter().map(|done| done.id.0).eq(0..5));
        assert!(done[4].result.is_err(), "served by the medium itself");
        medium.end().expect("in order");
    }
}
