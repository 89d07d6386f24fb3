//! The requests of clients, over the control socket: a line of JSON with the number of requests
//! that follow, and then 16 bytes for each: offset (u64, little-endian), bytes (u32; the highest
//! value for longer ones), kind (u8: 0 read, 1 write, 2 trim), three zeros.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use shingle_core::units::{Nanos, Op, Request as Asked};

use super::{Answer, ControlError, Request, connect};
use crate::backend::{Batch, Handle};

/// The length of one request.
pub const REQUEST_RECORD_BYTES: usize = 16;

/// The number of batches that wait for a slow receiver.
const BATCHES_MAX: usize = 64;
/// The longest silence: both sides notice that the other one is gone.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// The most requests in one batch. A larger announced number is refused.
const COUNT_MAX: u64 = 1 << 20;

/// Sends requests until the connection ends, or the store.
pub(crate) fn tell(handle: &Handle, mut stream: &UnixStream) -> io::Result<()> {
    let (to, batches) = sync_channel(BATCHES_MAX);
    handle.watch(to);
    let mut bytes = Vec::new();
    loop {
        let Batch { requests, missed } = match batches.recv_timeout(SILENCE_MAX) {
            Ok(seen) => seen,
            Err(RecvTimeoutError::Timeout) => Batch::default(),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        bytes.clear();
        let count = requests.len() as u64;
        serde_json::to_writer(&mut bytes, &Answer::Requests { count, missed })?;
        bytes.push(b'\n');
        requests.iter().for_each(|request| bytes.extend_from_slice(&encode(request)));
        stream.write_all(&bytes)?;
    }
}

fn encode(request: &Asked) -> [u8; REQUEST_RECORD_BYTES] {
    let mut out = [0; REQUEST_RECORD_BYTES];
    out[..8].copy_from_slice(&request.offset.to_le_bytes());
    let bytes = u32::try_from(request.bytes).unwrap_or(u32::MAX);
    out[8..12].copy_from_slice(&bytes.to_le_bytes());
    out[12] = match request.op {
        Op::Read => 0,
        Op::Write => 1,
        _ => 2,
    };
    out
}

fn decode(bytes: &[u8; REQUEST_RECORD_BYTES]) -> Option<Asked> {
    let (offset, rest) = bytes.split_first_chunk().expect("16 bytes");
    let (length, rest) = rest.split_first_chunk().expect("8 bytes");
    let op = match rest[0] {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Trim,
        _ => return None,
    };
    let bytes = u64::from(u32::from_le_bytes(*length));
    Some(Asked { at: Nanos::ZERO, offset: u64::from_le_bytes(*offset), bytes, op })
}

/// Watches the process that listens at `path`. `each` gets requests without their times, and the
/// number of missed ones, and returns whether to go on.
///
/// # Errors
/// If the process does not answer, or an answer is not valid.
pub fn watch(path: &Path, each: &mut dyn FnMut(&[Asked], u64) -> bool) -> Result<(), ControlError> {
    let io_error = |error| ControlError::Io { path: path.to_owned(), error };
    let stream = connect(path)?;
    let mut line = serde_json::to_vec(&Request::Watch).expect("a request is JSON");
    line.push(b'\n');
    (&stream).write_all(&line).map_err(io_error)?;
    stream.set_read_timeout(Some(super::ANSWER_TIME_MAX)).map_err(io_error)?;
    let mut from = BufReader::new(&stream);
    let mut requests = Vec::new();
    loop {
        line.clear();
        let read = from.by_ref().take(super::REQUEST_BYTES_MAX).read_until(b'\n', &mut line);
        if read.map_err(io_error)? == 0 {
            return Err(io_error(io::Error::other("the process that serves has gone")));
        }
        let nonsense = |error| ControlError::Nonsense { path: path.to_owned(), error };
        let (count, missed) = match serde_json::from_slice(&line).map_err(nonsense)? {
            Answer::Requests { count, missed } if count <= COUNT_MAX => (count, missed),
            other => return Err(io_error(io::Error::other(format!("an odd answer: {other:?}")))),
        };
        requests.clear();
        for _ in 0..count {
            let mut record = [0; REQUEST_RECORD_BYTES];
            from.read_exact(&mut record).map_err(io_error)?;
            let asked = decode(&record);
            let asked = asked.ok_or_else(|| io_error(io::Error::other("a request of no kind")))?;
            requests.push(asked);
        }
        if !each(&requests, missed) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back() {
        for (op, kind) in [(Op::Read, 0), (Op::Write, 1), (Op::Trim, 2)] {
            let asked = Asked { at: Nanos::ZERO, offset: 0x0102_0304_0506, bytes: 0x0708, op };
            let bytes = encode(&asked);
            assert_eq!((bytes[0], bytes[8], bytes[12]), (6, 8, kind));
            assert_eq!(decode(&bytes), Some(asked));
        }
        assert_eq!(decode(&[9; REQUEST_RECORD_BYTES]), None);
    }
}
