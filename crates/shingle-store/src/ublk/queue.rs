//! A queue of ublk: requests of the kernel become commands, and results its answers.
//!
//! The thread of the queue waits in its ring. The thread of the store stores results, and an
//! eventfd that the ring watches wakes the queue's thread, which alone talks to the kernel.

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

/// The connection number of the device: it is a client like others, and NBD connections count from
/// 1 and never reach it.
const CONNECTION: u64 = u64::MAX;

/// Bytes of a sector, the unit of requests.
const SECTOR_BYTES: u64 = 512;

type Outcome = Result<Answer, Failure>;

/// Results to be passed to the kernel.
struct Results {
    waiting: Mutex<Vec<(u16, Outcome)>>,
    wakeup: OwnedFd,
}

impl Results {
    fn put(&self, tag: u16, outcome: Outcome) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((tag, outcome));
        // If others are waiting, their sender has written to the eventfd.
        if waiting.len() == 1 {
            // A full counter has woken the thread, too.
            let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Vec<(u16, Outcome)> {
        // The eventfd is reset first: a result stored after the next line wakes the thread again.
        let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A queue at work.
pub(super) struct Queue<'a> {
    export: &'a Arc<dyn Export>,
    results: Arc<Results>,
    /// The buffer of each tag, for data to and from the kernel.
    buffers: Vec<IoBuf<u8>>,
}

impl<'a> Queue<'a> {
    /// Serves until the device is removed. If serving cannot begin, the device does not start.
    pub(super) fn serve(
        id: u16,
        device: &UblkDev,
        export: &'a Arc<dyn Export>,
    ) -> Result<(), libublk::UblkError> {
        let wakeup = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|error| libublk::UblkError::IOError(error.into()))?;
        let results = Arc::new(Results { waiting: Mutex::default(), wakeup });
        let mut queue = Queue { export, results, buffers: device.alloc_queue_io_bufs() };
        let ring = UblkQueue::new(id, device)?
            .submit_fetch_commands_unified(BufDescList::Slices(Some(&queue.buffers)))?;
        queue.watch(&ring)?;
        export.opened(CONNECTION);
        ring.wait_and_handle_io(|ring, tag, event| queue.handle(ring, tag, event));
        export.closed(CONNECTION);
        Ok(())
    }

    /// Lets the ring report, once, the next write to the eventfd.
    fn watch(&self, ring: &UblkQueue) -> Result<(), libublk::UblkError> {
        let wakeup = types::Fd(self.results.wakeup.as_raw_fd());
        let poll = opcode::PollAdd::new(wakeup, PollFlags::IN.bits().into()).build();
        ring.ublk_submit_sqe_sync(poll.user_data(UblkIOCtx::build_user_data(0, 0, 0, true)))
    }

    fn handle(&mut self, ring: &UblkQueue, tag: u16, event: &UblkIOCtx) {
        if event.is_tgt_io() {
            for (tag, outcome) in self.results.take() {
                let answer = self.answer(tag, outcome, ring);
                self.complete(ring, tag, answer);
            }
            // Without this no result would ever be reported again.
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

    /// Turns a request of the kernel into a command. Written data is copied: the export may keep
    /// it.
    fn command(&self, request: &sys::ublksrv_io_desc, tag: u16) -> Result<Command, Errno> {
        let op = request.op_flags & 0xff;
        if op == sys::UBLK_IO_OP_FLUSH {
            // The request has a sector nevertheless, outside of all bounds.
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

    /// The number of bytes read or written, or the error. Read data is copied to the buffer of the
    /// tag.
    fn answer(&mut self, tag: u16, outcome: Outcome, ring: &UblkQueue) -> i32 {
        let length = ring.get_iod(tag).nr_sectors as usize * SECTOR_BYTES as usize;
        let buffer = self.buffers[usize::from(tag)].as_mut_slice();
        let put = match outcome {
            Ok(Answer::Data(data)) => put(buffer, [Piece::Data(data)]),
            Ok(Answer::Pieces(pieces)) => put(buffer, pieces),
            Ok(Answer::Done | Answer::Status { .. }) => Some(length),
            Err(failure) => return -errno(failure.code).raw_os_error(),
        };
        // A different length is a bug of the export.
        if put == Some(length) { length as i32 } else { -Errno::IO.raw_os_error() }
    }

    /// Completes the request, and fetches the next one of this tag.
    fn complete(&self, ring: &UblkQueue, tag: u16, answer: i32) {
        let buffer = BufDesc::Slice(self.buffers[usize::from(tag)].as_slice());
        let told = ring.complete_io_cmd_unified(tag, buffer, Ok(UblkIORes::Result(answer)));
        told.expect("buffers are of the kind that the device was made with");
    }
}

/// Concatenates what was read in `buffer`, and returns its length; `None` if it does not fit.
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
