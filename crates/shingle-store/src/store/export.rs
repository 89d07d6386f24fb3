//! A store as an NBD export.

use std::sync::Arc;
use std::time::Instant;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::{self as engine, CommandOp, Connection, Errno};
use shingle_nbd::export::{Answer, Command, Completion, DIRTY, Export, Extent, Failure};
use shingle_nbd::replies::ErrorCode;

use crate::backend::Handle;
use crate::measures::Requests;

/// The longest part of a prefetch of a client that is carried out.
const PREFETCH_BYTES_MAX: u64 = 8 << 20;

/// A store, as clients see it.
pub(super) struct Served {
    pub(super) handle: Handle,
    pub(super) measured: Arc<Requests>,
}

impl Export for Served {
    fn size_bytes(&self) -> u64 {
        self.handle.disk_bytes()
    }

    fn submit(&self, command: Command, done: Completion) {
        let connection = Connection(done.connection());
        let plain = |op, offset, bytes, fua| engine::Command {
            connection,
            fua,
            ..engine::Command::new(0, op, offset, bytes)
        };
        // Nothing waits for a prefetch.
        let waited_for = !matches!(command, Command::Cache { .. });
        let (command, reads) = match command {
            Command::Read { offset, length } => {
                (plain(CommandOp::Read, offset, length.into(), false), true)
            }
            Command::Write { offset, data, fua } => {
                let bytes = data.len() as u64;
                (engine::Command { data, ..plain(CommandOp::Write, offset, bytes, fua) }, false)
            }
            Command::Flush => (plain(CommandOp::Flush, 0, 0, false), false),
            Command::Trim { offset, length, fua } => {
                (plain(CommandOp::Trim, offset, length.into(), fua), false)
            }
            Command::WriteZeroes { fast: true, .. } => {
                return done.done(Err(Failure::no_fast_zeroes()));
            }
            Command::WriteZeroes { offset, length, fua, .. } => {
                (plain(CommandOp::WriteZeroes, offset, length.into(), fua), false)
            }
            Command::Cache { offset, length } => {
                let bytes = u64::from(length).min(PREFETCH_BYTES_MAX);
                (plain(CommandOp::Read, offset, bytes, false), false)
            }
            Command::BlockStatus { offset, length, contexts, .. } => {
                return self.block_status(offset, length, contexts.dirty, done);
            }
        };
        let (op, bytes, begun) = (command.op, command.bytes, Instant::now());
        let measured = self.measured.clone();
        self.handle.send(
            command,
            Box::new(move |result| {
                if waited_for {
                    measured.answered(op, bytes, begun.elapsed(), result.is_ok());
                }
                done.put(match result {
                    Ok(data) if reads => Ok(Answer::Data(data)),
                    Ok(_) => Ok(Answer::Done),
                    Err(errno) => Err(failure(errno)),
                })
            }),
        );
    }

    fn kick(&self) {
        self.handle.wake();
    }

    fn opened(&self, connection: u64) {
        self.handle.opened(Connection(connection));
    }

    fn closed(&self, connection: u64) {
        self.handle.closed(Connection(connection));
    }
}

impl Served {
    /// Reports everything as allocated: the disk does not tell which blocks are holes.
    fn block_status(&self, offset: u64, length: u32, dirty: bool, done: Completion) {
        let all = vec![Extent { length_bytes: length.into(), flags: 0 }];
        if !dirty {
            return done.done(Ok(Answer::Status { allocation: all, dirty: Vec::new() }));
        }
        let first = Block(offset / BLOCK_BYTES);
        let blocks = (offset + u64::from(length)).div_ceil(BLOCK_BYTES) - first.0;
        let skipped = offset - first.bytes();
        self.handle.dirty(first, blocks, move |runs| {
            let mut dirty: Vec<Extent> = runs
                .into_iter()
                .map(|(blocks, dirty)| Extent {
                    length_bytes: blocks * BLOCK_BYTES,
                    flags: if dirty { DIRTY } else { 0 },
                })
                .collect();
            if let Some(extent) = dirty.first_mut() {
                extent.length_bytes -= skipped;
            }
            done.done(Ok(Answer::Status { allocation: all, dirty }));
        });
    }
}

fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::INVALID => Failure::new(ErrorCode::Inval, "not within the disk"),
        Errno::SHUT_DOWN => Failure::new(ErrorCode::Shutdown, "the store is being shut down"),
        Errno::TIMED_OUT => {
            Failure::new(ErrorCode::Io, "the cache is full of dirty data and the disk takes none")
        }
        _ => Failure::new(ErrorCode::Io, "a device failed, or what it holds is damaged"),
    }
}
