//! Replies of the transmission: the simple one, and chunks of the structured one.

use crate::wire::{
    Fields, Malformed, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, fitting, length,
};

/// Why a request failed, in the numbers of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum ErrorCode {
    /// A write to a read-only export.
    Perm = 1,
    /// The data cannot be read or written.
    Io = 5,
    /// No memory. (Better is to make the peer wait.)
    NoMem = 12,
    /// The request is wrong.
    Inval = 22,
    /// A write past the end, or the space is used up.
    NoSpc = 28,
    /// Too long for one piece.
    Overflow = 75,
    /// Zeroes that would not be fast.
    NotSup = 95,
    /// The server is shutting down.
    Shutdown = 108,
}

/// A part of a range, and what one metadata context says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Bytes, at least 1.
    pub length: u32,
    /// In the meaning of the context.
    pub flags: u32,
}

/// The simple reply; data follow a READ that went well.
pub fn simple(cookie: u64, error: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..].copy_from_slice(&cookie.to_be_bytes());
    out
}

/// What stands before each chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkHeader {
    /// Whether it is the last of its reply.
    pub done: bool,
    /// Of [`chunk`].
    pub kind: u16,
    /// Of the request.
    pub cookie: u64,
    /// Bytes that follow.
    pub length: u32,
}

impl ChunkHeader {
    /// Its size.
    pub const BYTES: usize = 20;

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        out.extend_from_slice(&(if self.done { chunk::DONE } else { 0 }).to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }

    /// Reads it. Unknown flags are ignored, as the specification wants of clients.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        match fields.u32()? {
            STRUCTURED_REPLY_MAGIC => Ok(Self {
                done: fields.u16()? & chunk::DONE != 0,
                kind: fields.u16()?,
                cookie: fields.u64()?,
                length: fields.u32()?,
            }),
            magic => Err(Malformed::Magic(magic.into())),
        }
    }
}

/// A chunk of a structured reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// Nothing more.
    None,
    /// Bytes at an offset of the export.
    Data {
        /// First byte.
        offset: u64,
        /// The bytes, at least one.
        data: &'a [u8],
    },
    /// Zeroes at an offset of the export.
    Hole {
        /// First byte.
        offset: u64,
        /// Bytes, at least one.
        length: u32,
    },
    /// What a context says of the range.
    Status {
        /// The context's number.
        context: u32,
        /// At least one.
        descriptors: Vec<Descriptor>,
    },
    /// It failed.
    Error {
        /// Of [`ErrorCode`].
        code: u32,
        /// For people.
        message: &'a str,
        /// Where, if that is known.
        offset: Option<u64>,
    },
}

impl<'a> Chunk<'a> {
    /// Appends the whole chunk.
    pub fn encode(&self, cookie: u64, done: bool, out: &mut Vec<u8>) {
        if let Self::Data { offset, data } = *self {
            Self::encode_data_header(cookie, done, offset, data.len(), out);
            out.extend_from_slice(data);
            return;
        }
        let header = |kind, length| ChunkHeader { done, kind, cookie, length };
        match self {
            Self::None => header(chunk::NONE, 0).encode(out),
            Self::Data { .. } => unreachable!("encoded above"),
            Self::Hole { offset, length } => {
                header(chunk::OFFSET_HOLE, 12).encode(out);
                out.extend_from_slice(&offset.to_be_bytes());
                out.extend_from_slice(&length.to_be_bytes());
            }
            Self::Status { context, descriptors } => {
                header(chunk::BLOCK_STATUS, length(4 + 8 * descriptors.len())).encode(out);
                out.extend_from_slice(&context.to_be_bytes());
                for descriptor in descriptors {
                    out.extend_from_slice(&descriptor.length.to_be_bytes());
                    out.extend_from_slice(&descriptor.flags.to_be_bytes());
                }
            }
            Self::Error { code, message, offset } => {
                let message = fitting(message).as_bytes();
                let (kind, rest) = match offset {
                    Some(_) => (chunk::ERROR_OFFSET, 14),
                    None => (chunk::ERROR, 6),
                };
                header(kind, length(message.len() + rest)).encode(out);
                out.extend_from_slice(&code.to_be_bytes());
                let bytes = u16::try_from(message.len()).expect("at most 4096 bytes");
                out.extend_from_slice(&bytes.to_be_bytes());
                out.extend_from_slice(message);
                if let Some(offset) = offset {
                    out.extend_from_slice(&offset.to_be_bytes());
                }
            }
        }
    }

    /// Appends what stands before `bytes` of data, which need not be copied then.
    pub(crate) fn encode_data_header(
        cookie: u64,
        done: bool,
        offset: u64,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let length = length(bytes + 8);
        ChunkHeader { done, kind: chunk::OFFSET_DATA, cookie, length }.encode(out);
        out.extend_from_slice(&offset.to_be_bytes());
    }

    /// Reads what follows a header of type `kind`.
    pub fn decode(kind: u16, payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(payload);
        let decoded = match kind {
            chunk::NONE => Self::None,
            chunk::OFFSET_DATA => {
                let offset = fields.u64()?;
                let data = fields.bytes(fields.0.len())?;
                if data.is_empty() {
                    return Err(Malformed::Short);
                }
                Self::Data { offset, data }
            }
            chunk::OFFSET_HOLE => Self::Hole { offset: fields.u64()?, length: fields.u32()? },
            chunk::BLOCK_STATUS => {
                let context = fields.u32()?;
                let mut descriptors = Vec::new();
                while !fields.0.is_empty() {
                    descriptors.push(Descriptor { length: fields.u32()?, flags: fields.u32()? });
                }
                if descriptors.is_empty() {
                    return Err(Malformed::Short);
                }
                Self::Status { context, descriptors }
            }
            chunk::ERROR | chunk::ERROR_OFFSET => {
                let code = fields.u32()?;
                let bytes = fields.u16()?;
                let message = fields.text(bytes.into())?;
                let offset = match kind {
                    chunk::ERROR => None,
                    _ => Some(fields.u64()?),
                };
                Self::Error { code, message, offset }
            }
            kind => return Err(Malformed::Kind(kind.into())),
        };
        fields.end()?;
        Ok(decoded)
    }
}
