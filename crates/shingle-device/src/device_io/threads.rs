//! I/O by threads of this process, where the system allows no io_uring.

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use shingle_engine::{Device, Io};

use super::file::IoFile;
use crate::done::{Answers, Done};
use crate::error::passes;
use crate::lanes::next;
use crate::worker::{Worker, panicked};

/// The most threads of a device. Each does one I/O at a time.
const THREADS_MAX: usize = 16;

/// The name of the threads in errors.
const WHOSE: &str = "the store's I/O";

/// Threads for two devices, and a doorbell: an eventfd that is written when an I/O is done, and by
/// other threads.
pub(crate) struct IoThreads {
    ssd: Pool,
    /// Apart from the SSD, whose I/O must not wait for that of a slow disk.
    disk: Pool,
    doorbell: Arc<File>,
}

impl IoThreads {
    pub(crate) fn start(doorbell: File) -> io::Result<IoThreads> {
        let doorbell = Arc::new(doorbell);
        let (ssd, disk) = (Pool::start(&doorbell)?, Pool::start(&doorbell)?);
        Ok(IoThreads { ssd, disk, doorbell })
    }

    /// Submits an I/O on `file`.
    pub(crate) fn begin(&mut self, io: Io, file: &Arc<IoFile>) {
        let pool = match io.device {
            Device::Ssd => &mut self.ssd,
            Device::Disk => &mut self.disk,
        };
        pool.begin(Job { io, file: file.clone() });
    }

    /// Whether I/O of the SSD is not done yet.
    pub(crate) fn uses_ssd(&self) -> bool {
        self.ssd.under_way > 0
    }

    /// Returns when something is done, the doorbell is written, or `timeout` is over.
    ///
    /// # Errors
    /// If the doorbell fails, or a thread has panicked: its I/O will never be done.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<()> {
        if [&self.ssd, &self.disk].into_iter().any(Pool::has_failed) {
            return Err(panicked(WHOSE));
        }
        if timeout.is_zero() {
            return Ok(());
        }
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let doorbell = &mut [PollFd::new(&self.doorbell, PollFlags::IN)];
        match poll(doorbell, Some(&timeout)).map_err(io::Error::from) {
            Ok(0) => Ok(()),
            // Only this thread reads it, so it does not wait.
            Ok(_) => (&*self.doorbell).read_exact(&mut [0; 8]),
            Err(error) => passes(error),
        }
    }

    /// Appends completed I/Os to `done`.
    pub(crate) fn done(&mut self, done: &mut Vec<Done>) {
        self.ssd.done(done);
        self.disk.done(done);
    }
}

struct Job {
    io: Io,
    file: Arc<IoFile>,
}

/// The threads of one device, started as they are needed.
struct Pool {
    /// `None` at the end.
    to: Option<Sender<Job>>,
    /// The threads receive jobs in turn.
    jobs: Arc<Mutex<Receiver<Job>>>,
    threads: Vec<Worker<()>>,
    answers: Answers,
    from: Receiver<Done>,
    under_way: usize,
}

impl Pool {
    /// Starts the first thread.
    fn start(doorbell: &Arc<File>) -> io::Result<Pool> {
        let (to, jobs) = channel();
        let (to_answers, from) = channel();
        let answers = Answers { to: to_answers, doorbell: doorbell.clone() };
        let jobs = Arc::new(Mutex::new(jobs));
        let to = Some(to);
        let mut pool = Pool { to, jobs, threads: Vec::new(), answers, from, under_way: 0 };
        pool.start_thread()?;
        Ok(pool)
    }

    fn start_thread(&mut self) -> io::Result<()> {
        let (jobs, answers) = (self.jobs.clone(), self.answers.clone());
        let work = move || {
            while let Some(Job { io, file }) = next(&jobs) {
                answers.serve(io, |kind, page, buffers| file.carry_out(kind, page, buffers));
            }
            Ok(())
        };
        self.threads.push(Worker::start("shingle-io", WHOSE, work)?);
        Ok(())
    }

    fn begin(&mut self, job: Job) {
        if self.under_way >= self.threads.len() && self.threads.len() < THREADS_MAX {
            // If the system gives none, those that there are do more.
            let _ = self.start_thread();
        }
        self.under_way += 1;
        let to = self.to.as_ref().expect("it is not at its end");
        // (This holds the other end, too.)
        to.send(job).expect("jobs are received");
    }

    fn has_failed(&self) -> bool {
        self.threads.iter().any(Worker::has_ended)
    }

    fn done(&mut self, done: &mut Vec<Done>) {
        let before = done.len();
        done.extend(self.from.try_iter());
        self.under_way -= done.len() - before;
    }
}

impl Drop for Pool {
    /// Waits until all I/O is done.
    fn drop(&mut self) {
        self.to = None;
        for thread in self.threads.drain(..) {
            // [`IoThreads::wait`] has reported a panic, or nothing waits for its I/O any more.
            let _ = thread.end();
        }
    }
}
