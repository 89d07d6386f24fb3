//! Replies of the transmission: the simple one, and chunks of the structured one.

use crate::wire::{
    Fields, Malformed, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, fitting, length,
};

/// The error numbers of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum ErrorCode {
    /// A write to a read-only export.
    Perm = 1,
    /// The data cannot be read or written.
    Io = 5,
    /// There is no memory. A server should rather make the peer wait.
    NoMem = 12,
    /// The request is invalid.
    Inval = 22,
    /// The write is beyond the end, or there is no space left.
    NoSpc = 28,
    /// The reply is too long for one chunk.
    Overflow = 75,
    /// The zeroes would not be fast.
    NotSup = 95,
    /// The server is stopping.
    Shutdown = 108,
}

/// A part of a range, with its status in one metadata context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// The length in bytes, at least 1.
    pub length: u32,
    /// Flags of the context.
    pub flags: u32,
}

/// Encodes a simple reply. The data of a successful READ follow it.
pub fn simple(cookie: u64, error: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..].copy_from_slice(&cookie.to_be_bytes());
    out
}

/// The header of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkHeader {
    /// Whether it is the last chunk of its reply.
    pub done: bool,
    /// The type, of [`chunk`].
    pub kind: u16,
    /// The cookie of the request.
    pub cookie: u64,
    /// The length of the payload in bytes.
    pub length: u32,
}

impl ChunkHeader {
    /// The length of a header in bytes.
    pub const BYTES: usize = 20;

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        out.extend_from_slice(&(if self.done { chunk::DONE } else { 0 }).to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }

    /// Decodes a header. Unknown flags are ignored, as specified for clients.
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
    /// The end of the reply.
    None,
    /// Bytes at an offset of the export.
    Data {
        /// The first byte.
        offset: u64,
        /// The bytes, at least one.
        data: &'a [u8],
    },
    /// Zeroes at an offset of the export.
    Hole {
        /// The first byte.
        offset: u64,
        /// The number of bytes, at least one.
        length: u32,
    },
    /// The status of the range in one context.
    Status {
        /// The number of the context.
        context: u32,
        /// At least one.
        descriptors: Vec<Descriptor>,
    },
    /// The request failed.
    Error {
        /// The error, of [`ErrorCode`].
        code: u32,
        /// The message for users.
        message: &'a str,
        /// The byte that failed, if known.
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

    /// Appends the header of a chunk with `bytes` of data, which need not be copied then.
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

    /// Decodes the payload of a chunk of type `kind`.
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
