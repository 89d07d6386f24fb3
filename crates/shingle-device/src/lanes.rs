//! Threads for the jobs of a disk, in two lanes: jobs that change the disk run one after the other,
//! and reads run in parallel to them. After a while without jobs there is idle time.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::worker::Worker;

/// How long there has to be no job before idle time begins.
pub const IDLE_AFTER: Duration = Duration::from_millis(200);

/// The number of parallel reads, if they have a lane.
pub const READERS: usize = 4;

/// Runs the jobs of the main lane, one after the other.
pub trait MainLane<J>: Send {
    /// Runs a job.
    fn carry_out(&mut self, job: J);

    /// Whether work is left for [`MainLane::go_on`].
    fn is_busy(&self) -> bool {
        false
    }

    /// Does a piece of the work that is left, when no job waits.
    fn go_on(&mut self) {}

    /// Called when there was no job in either lane for [`IDLE_AFTER`]. Does a piece of idle work,
    /// short enough for a new job to wait for. Returns whether there is more: then it is called
    /// again unless a job comes, otherwise not before the next job.
    fn idle(&mut self) -> bool;

    /// Called when no more jobs come in either lane, and all are done.
    fn end(&mut self) -> io::Result<()>;
}

/// Runs reads.
pub type ReadLane<J> = Box<dyn FnMut(J) + Send>;

/// Both lanes.
pub struct Lanes<J> {
    main: Sender<J>,
    /// `None` if reads wait for their turn in the main lane.
    reads: Option<Sender<J>>,
    reads_begun: Arc<AtomicU64>,
    readers: Vec<Worker<()>>,
    worker: Worker<()>,
}

impl<J: Send + 'static> Lanes<J> {
    /// Starts a thread for `main` and one for each of `readers`. `name` is the name of the threads,
    /// for debuggers; `whose` describes them in errors.
    pub fn start(
        name: &str,
        whose: &'static str,
        main: impl MainLane<J> + 'static,
        readers: Vec<ReadLane<J>>,
    ) -> io::Result<Lanes<J>> {
        let reads_begun = Arc::new(AtomicU64::new(0));
        let (to_main, jobs) = channel();
        let (to_readers, reads) = channel();
        let reads = Arc::new(Mutex::new(reads));
        let has_readers = !readers.is_empty();
        let reader = |mut read: ReadLane<J>| {
            let reads = reads.clone();
            let work = move || {
                while let Some(job) = next(&reads) {
                    read(job);
                }
                Ok(())
            };
            Worker::start(&format!("{name}-reads"), whose, work)
        };
        let readers = readers.into_iter().map(reader).collect::<io::Result<_>>()?;
        let begun = reads_begun.clone();
        let worker = Worker::start(name, whose, move || work(main, &jobs, &begun))?;
        let reads = has_readers.then_some(to_readers);
        Ok(Lanes { main: to_main, reads, reads_begun, readers, worker })
    }

    /// Adds a job to the main lane.
    pub fn begin(&self, job: J) {
        // The thread ends after this object, or has panicked: [`Lanes::has_failed`] tells.
        let _ = self.main.send(job);
    }

    /// Adds a read to the lane of reads, or to the main lane if there is none.
    pub fn begin_read(&self, job: J) {
        self.reads_begun.fetch_add(1, Ordering::Relaxed);
        let _ = self.reads.as_ref().unwrap_or(&self.main).send(job);
    }

    /// Whether a thread has panicked: its jobs will never be done.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.worker.has_ended() || self.readers.iter().any(Worker::has_ended)
    }

    /// Waits until all jobs are done.
    ///
    /// # Errors
    /// As [`MainLane::end`], or if a thread has panicked.
    pub fn end(self) -> io::Result<()> {
        let Lanes { main, reads, readers, worker, .. } = self;
        drop(reads);
        let read = readers.into_iter().map(Worker::end).fold(Ok(()), io::Result::and);
        drop(main);
        worker.end().and(read)
    }
}

/// The next job of several threads: one waits for it, the others for their turn to wait. `None` if
/// no more come.
pub(crate) fn next<J>(jobs: &Mutex<Receiver<J>>) -> Option<J> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn work<J>(
    mut lane: impl MainLane<J>,
    jobs: &Receiver<J>,
    reads_begun: &AtomicU64,
) -> io::Result<()> {
    let mut seen = reads_begun.load(Ordering::Relaxed);
    // How long to wait before idle time; `None` if there is no idle work. Work may be left from the
    // last time.
    let mut patience = Some(IDLE_AFTER);
    loop {
        let came = match patience {
            Some(span) => jobs.recv_timeout(span),
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match came {
            Ok(job) => lane.carry_out(job),
            Err(RecvTimeoutError::Disconnected) => {
                while lane.is_busy() {
                    lane.go_on();
                }
                return lane.end();
            }
            Err(RecvTimeoutError::Timeout) if lane.is_busy() => lane.go_on(),
            Err(RecvTimeoutError::Timeout) => {
                let begun = reads_begun.load(Ordering::Relaxed);
                patience = if mem::replace(&mut seen, begun) != begun {
                    Some(IDLE_AFTER)
                } else if lane.idle() {
                    Some(Duration::ZERO)
                } else {
                    None
                };
                continue;
            }
        }
        patience = Some(if lane.is_busy() { Duration::ZERO } else { IDLE_AFTER });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::RecvTimeoutError::Timeout;

    /// Longer than anything here takes, even on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Reports what it does. Each job waits until it may be done, and idle time has this number of
    /// pieces.
    struct Said {
        to: Sender<String>,
        may: Receiver<()>,
        pieces: u32,
    }

    impl MainLane<u32> for Said {
        fn carry_out(&mut self, job: u32) {
            // The sender may be gone: then nothing delays the job.
            let _ = self.may.recv();
            self.to.send(format!("main {job}")).expect("a receiver");
        }

        fn idle(&mut self) -> bool {
            let Some(left) = self.pieces.checked_sub(1) else { return false };
            self.pieces = left;
            self.to.send(format!("idle, {left} left")).expect("a receiver");
            true
        }

        fn end(&mut self) -> io::Result<()> {
            self.to.send("end".to_owned()).expect("a receiver");
            Ok(())
        }
    }

    /// Lanes with this number of readers, their reports, and the channel that lets jobs of the main
    /// lane go on.
    fn lanes(readers: usize, pieces: u32) -> (Lanes<u32>, Receiver<String>, Sender<()>) {
        let (to, said) = channel();
        let (let_go, may) = channel();
        let reader = |_| {
            let to = to.clone();
            Box::new(move |job| to.send(format!("read {job}")).expect("a receiver"))
                as ReadLane<u32>
        };
        let readers = (0..readers).map(reader).collect();
        let main = Said { to: to.clone(), may, pieces };
        (Lanes::start("test", "the test", main, readers).expect("started"), said, let_go)
    }

    fn line(said: &Receiver<String>) -> String {
        said.recv_timeout(PATIENCE).expect("a line")
    }

    #[test]
    fn a_read_does_not_wait_behind_a_write() {
        let (lanes, said, let_go) = lanes(2, 0);
        lanes.begin(1);
        lanes.begin_read(2);
        assert_eq!(line(&said), "read 2", "the write is stuck");
        let_go.send(()).expect("it works");
        assert_eq!(line(&said), "main 1");
        lanes.end().expect("in order");
        assert_eq!(line(&said), "end");
    }

    #[test]
    fn without_a_lane_of_their_own_reads_wait_their_turn() {
        let (lanes, said, let_go) = lanes(0, 0);
        lanes.begin(1);
        lanes.begin_read(2);
        assert_eq!(said.recv_timeout(Duration::from_millis(20)), Err(Timeout));
        drop(let_go);
        assert_eq!([line(&said), line(&said)], ["main 1", "main 2"]);
        lanes.end().expect("in order");
    }

    /// All jobs are done before the end.
    #[test]
    fn the_end_comes_last() {
        let (lanes, said, let_go) = lanes(3, 0);
        drop(let_go);
        for job in 0..100 {
            lanes.begin(job);
            lanes.begin_read(job);
        }
        lanes.end().expect("in order");
        let lines: Vec<String> = said.try_iter().collect();
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (201, Some("end")));
        let main = lines.iter().filter(|line| line.starts_with("main"));
        assert!(
            main.eq(&(0..100).map(|job| format!("main {job}")).collect::<Vec<_>>()),
            "in order"
        );
    }

    #[test]
    fn idle_time_begins_by_itself_and_is_asked_for_until_nothing_is_left() {
        let (lanes, said, let_go) = lanes(1, 2);
        drop(let_go);
        assert_eq!([line(&said), line(&said)], ["idle, 1 left", "idle, 0 left"]);
        lanes.end().expect("in order");
        assert_eq!(line(&said), "end");
    }

    /// Each job comes within the time: the order is checked, not the time.
    #[test]
    fn while_reads_come_there_is_no_idle_time() {
        let (lanes, said, let_go) = lanes(1, 1);
        drop(let_go);
        let begun = std::time::Instant::now();
        let mut longest = Duration::ZERO;
        let mut last = begun;
        let mut early = false;
        while begun.elapsed() < 3 * IDLE_AFTER {
            lanes.begin_read(0);
            std::thread::sleep(IDLE_AFTER / 20);
            longest = longest.max(last.elapsed());
            last = std::time::Instant::now();
            early |= said.try_iter().any(|line| line.starts_with("idle"));
        }
        // If the machine was stopped, reads did not come in time.
        assert!(!early || longest > IDLE_AFTER / 2, "idle time between reads");
        lanes.end().expect("in order");
    }

    #[test]
    fn a_panic_in_either_lane_is_told() {
        struct Panics;
        impl MainLane<u32> for Panics {
            fn carry_out(&mut self, _: u32) {
                panic!("a bug")
            }
            fn idle(&mut self) -> bool {
                false
            }
            fn end(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for reads in [false, true] {
            let reader: ReadLane<u32> = Box::new(|_| panic!("a bug"));
            let lanes = Lanes::start("test", "the test", Panics, vec![reader]).expect("started");
            assert!(!lanes.has_failed());
            if reads {
                lanes.begin_read(1)
            } else {
                lanes.begin(1)
            }
            let begun = std::time::Instant::now();
            while !lanes.has_failed() {
                assert!(begun.elapsed() < PATIENCE, "no report comes");
                std::thread::sleep(Duration::from_millis(1));
            }
            let error = lanes.end().expect_err("it panicked").to_string();
            assert!(error.contains("the thread of the test has panicked"), "{error}");
        }
    }
}
