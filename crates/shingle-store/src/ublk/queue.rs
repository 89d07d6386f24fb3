//! Requests of the kernel as commands, and results as its answers.
//!
//! The thread of the queue waits in its ring. Results come from the thread of the store: they are put down, and an
//! eventfd, which the ring watches, wakes the queue's thread. It alone talks to the kernel.

use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use io_uring::{opcode, types};
use libublk::helpers::IoBuf;
use libublk::io::{BufDescList, UblkDev, UblkIOCtx, UblkQueue};
use libublk::{BufDesc, UblkIORes, sys};
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use shingle_nbd::export::{Answer, Command, Completion, Export, Failure, Piece};
use shingle_nbd::replies::ErrorCode;

/// The device is a client like others; connections of NBD count from 1 on, and never come so far.
const CONNECTION: u64 = u64::MAX;

/// Bytes of a sector, the unit of requests.
const SECTOR_BYTES: u64 = 512;

type Outcome = Result<Answer, Failure>;

/// Results that the kernel is still to get.
struct Results {
    waiting: Mutex<Vec<(u16, Outcome)>>,
    bell: OwnedFd,
}

impl Results {
    fn put(&self, tag: u16, outcome: Outcome) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((tag, outcome));
        // Whoever finds others waiting need not ring: those who put them there have.
        if waiting.len() == 1 {
            // A counter that is full has rung, too.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Vec<(u16, Outcome)> {
        // The bell first: what is put down after the look rings again.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A queue of requests at work.
pub(super) struct Queue<'a> {
    export: &'a Arc<dyn Export>,
    results: Arc<Results>,
    /// Where the kernel puts what is written, and takes what is read, by tag.
    buffers: Vec<IoBuf<u8>>,
}

impl<'a> Queue<'a> {
    /// Serves until the device is taken away. Where this cannot be begun, the device does not start.
    pub(super) fn serve(
        id: u16,
        device: &UblkDev,
        export: &'a Arc<dyn Export>,
    ) -> Result<(), libublk::UblkError> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|error| libublk::UblkError::IOError(error.into()))?;
        let results = Arc::new(Results { waiting: Mutex::default(), bell });
        let mut queue = Queue { export, results, buffers: device.alloc_queue_io_bufs() };
        let ring = UblkQueue::new(id, device)?
            .submit_fetch_commands_unified(BufDescList::Slices(Some(&queue.buffers)))?;
        queue.watch(&ring)?;
        export.opened(CONNECTION);
        ring.wait_and_handle_io(|ring, tag, event| queue.handle(ring, tag, event));
        export.closed(CONNECTION);
        Ok(())
    }

    /// The ring tells, once, when somebody has rung.
    fn watch(&self, ring: &UblkQueue) -> Result<(), libublk::UblkError> {
        let bell = types::Fd(self.results.bell.as_raw_fd());
        let poll = opcode::PollAdd::new(bell, PollFlags::IN.bits().into()).build();
        ring.ublk_submit_sqe_sync(poll.user_data(UblkIOCtx::build_user_data(0, 0, 0, true)))
    }

    fn handle(&mut self, ring: &UblkQueue, tag: u16, event: &UblkIOCtx) {
        if event.is_tgt_io() {
            for (tag, outcome) in self.results.take() {
                let answer = self.answer(tag, outcome, ring);
                self.complete(ring, tag, answer);
            }
            // Without it no result would ever be told again.
            if let Err(error) = self.watch(ring) {
                panic!("a ring that takes nothing any more: {error}");
            }
        } else {
            match self.command(ring.get_iod(tag), tag) {
                Ok(command) => {
                    let results = self.results.clone();
                    let done = move |outcome| results.put(tag, outcome);
                    self.export.submit(command, Completion::of(CONNECTION, done));
                }
                Err(errno) => self.complete(ring, tag, -errno.raw_os_error()),
            }
        }
        if event.is_last_cqe() {
            self.export.kick();
        }
    }

    /// What the kernel asks for. What is written is copied: the export may keep it.
    fn command(&self, request: &sys::ublksrv_io_desc, tag: u16) -> Result<Command, Errno> {
        let op = request.op_flags & 0xff;
        if op == sys::UBLK_IO_OP_FLUSH {
            // (It has a sector nevertheless, beyond all bounds.)
            return Ok(Command::Flush);
        }
        let offset = request.start_sector.checked_mul(SECTOR_BYTES).ok_or(Errno::INVAL)?;
        let length = u64::from(request.nr_sectors) * SECTOR_BYTES;
        let length = u32::try_from(length).map_err(|_| Errno::INVAL)?;
        let has = |flag| request.op_flags & flag != 0;
        let fua = has(sys::UBLK_IO_F_FUA);
        Ok(match op {
            sys::UBLK_IO_OP_READ => Command::Read { offset, length },
            sys::UBLK_IO_OP_WRITE => {
                let data = self.buffers[usize::from(tag)].as_slice();
                let data = data.get(..length as usize).ok_or(Errno::INVAL)?.to_vec();
                Command::Write { offset, data, fua }
            }
            sys::UBLK_IO_OP_DISCARD => Command::Trim { offset, length, fua },
            sys::UBLK_IO_OP_WRITE_ZEROES => {
                let no_hole = has(sys::UBLK_IO_F_NOUNMAP);
                Command::WriteZeroes { offset, length, fua, no_hole, fast: false }
            }
            _ => return Err(Errno::OPNOTSUPP),
        })
    }

    /// How many bytes were read or written, or why not. What was read is put where the kernel takes it.
    fn answer(&mut self, tag: u16, outcome: Outcome, ring: &UblkQueue) -> i32 {
        let length = ring.get_iod(tag).nr_sectors as usize * SECTOR_BYTES as usize;
        let buffer = self.buffers[usize::from(tag)].as_mut_slice();
        let put = match outcome {
            Ok(Answer::Data(data)) => put(buffer, [Piece::Data(data)]),
            Ok(Answer::Pieces(pieces)) => put(buffer, pieces),
            Ok(Answer::Done | Answer::Status { .. }) => Some(length),
            Err(failure) => return -errno(failure.code).raw_os_error(),
        };
        // More or less than was asked for is a bug of the export.
        if put == Some(length) { length as i32 } else { -Errno::IO.raw_os_error() }
    }

    /// Tells the kernel, and asks for the next request of this tag.
    fn complete(&self, ring: &UblkQueue, tag: u16, answer: i32) {
        let buffer = BufDesc::Slice(self.buffers[usize::from(tag)].as_slice());
        let told = ring.complete_io_cmd_unified(tag, buffer, Ok(UblkIORes::Result(answer)));
        told.expect("buffers are of the kind that the device was made with");
    }
}

/// Puts what was read one behind the other, and returns how many bytes that are; `None` if there is no room for all.
fn put(buffer: &mut [u8], pieces: impl IntoIterator<Item = Piece>) -> Option<usize> {
    let mut at = 0;
    for piece in pieces {
        let bytes = match &piece {
            Piece::Data(data) => data.len(),
            Piece::Zeroes(bytes) => *bytes as usize,
        };
        let place = buffer.get_mut(at..at + bytes)?;
        match piece {
            Piece::Data(data) => place.copy_from_slice(&data),
            Piece::Zeroes(_) => place.fill(0),
        }
        at += bytes;
    }
    Some(at)
}

fn errno(code: ErrorCode) -> Errno {
    match code {
        ErrorCode::Perm => Errno::PERM,
        ErrorCode::NoMem => Errno::NOMEM,
        ErrorCode::Inval => Errno::INVAL,
        ErrorCode::NoSpc => Errno::NOSPC,
        ErrorCode::Overflow => Errno::OVERFLOW,
        ErrorCode::NotSup => Errno::OPNOTSUPP,
        ErrorCode::Io | ErrorCode::Shutdown => Errno::IO,
    }
}
