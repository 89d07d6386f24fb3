//! The arrival of requests in the transmission, without I/O: which request has arrived, and what to
//! do once it has room and its payload.

use crate::answer::Failure;
use crate::command::Command;
use crate::queue::InFlight;
use crate::requests::Request;
use crate::session::Session;
use crate::wire::{Malformed, command};

/// The next message in the received bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Arrival {
    /// There is no complete request yet.
    Nothing,
    /// DISC.
    Bye,
    /// A request, of [`Request::BYTES`]; its payload follows, or will arrive.
    Request(Arrived),
}

/// A request before its payload.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Arrived {
    pub(crate) which: InFlight,
    /// It is refused: its payload has to be skipped, and this is its reply.
    pub(crate) refused: Option<Failure>,
}

impl Arrival {
    pub(crate) fn of(session: &Session, bytes: &[u8]) -> Result<Arrival, Malformed> {
        let Some(header) = bytes.first_chunk() else { return Ok(Arrival::Nothing) };
        let request = Request::decode(header)?;
        if request.kind == command::DISC {
            return Ok(Arrival::Bye);
        }
        let refused = session.check(&request).err();
        let memory_bytes = if refused.is_none() { session.memory_bytes(&request) } else { 0 };
        Ok(Arrival::Request(Arrived { which: InFlight { request, memory_bytes }, refused }))
    }
}

impl Arrived {
    pub(crate) fn payload_bytes(&self) -> usize {
        self.which.request.payload_bytes() as usize
    }

    /// The command for the export, with the payload; `None` for a request of 0 bytes.
    pub(crate) fn command(&self, session: &Session, payload: Vec<u8>) -> Option<Command> {
        session.command(&self.which.request, payload)
    }
}
