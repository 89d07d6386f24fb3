//! What a client has sent in transmission, without I/O: which request has arrived, and what is to be done with it once
//! it has room and its payload.

use crate::answer::Failure;
use crate::command::Command;
use crate::queue::InFlight;
use crate::requests::Request;
use crate::session::Session;
use crate::wire::{Malformed, command};

/// What stands at the front of the bytes that are there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Arrival {
    /// No whole request yet.
    Nothing,
    /// Good-bye.
    Bye,
    /// A request, of [`Request::BYTES`]; its payload is behind it, or will be.
    Request(Arrived),
}

/// A request before its payload.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Arrived {
    pub(crate) which: InFlight,
    /// It is not served: its payload is to be skipped, and then this is its reply.
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

    /// What the export has to do, now that the payload is there: nothing for a request of no bytes.
    pub(crate) fn command(&self, session: &Session, payload: Vec<u8>) -> Option<Command> {
        session.command(&self.which.request, payload)
    }
}
