//! Requests of the transmission.

use crate::wire::{Fields, Malformed, REQUEST_MAGIC, command, command_flag};

/// A request without its payload, as decoded: nothing in it has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The flags, of [`command_flag`].
    pub flags: u16,
    /// The type, of [`command`].
    pub kind: u16,
    /// The cookie that the reply has to carry.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u32,
}

impl Request {
    /// The length of a request in bytes.
    pub const BYTES: usize = 28;

    /// Decodes a request.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        match fields.u32()? {
            REQUEST_MAGIC => Ok(Self {
                flags: fields.u16()?,
                kind: fields.u16()?,
                cookie: fields.u64()?,
                offset: fields.u64()?,
                length: fields.u32()?,
            }),
            magic => Err(Malformed::Magic(magic.into())),
        }
    }

    /// Appends the request, as a client sends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&REQUEST_MAGIC.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }

    /// The length of the payload that follows it.
    pub fn payload_bytes(&self) -> u32 {
        if self.kind == command::WRITE { self.length } else { 0 }
    }

    /// Whether `flag`, of [`command_flag`], is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The flags that its command may have. FUA is allowed with all commands (specification,
    /// "Command flags").
    pub(crate) fn flags_allowed(&self) -> u16 {
        let own = match self.kind {
            command::READ => command_flag::DF,
            command::WRITE_ZEROES => command_flag::NO_HOLE | command_flag::FAST_ZERO,
            command::BLOCK_STATUS => command_flag::REQ_ONE,
            _ => 0,
        };
        own | command_flag::FUA
    }
}
