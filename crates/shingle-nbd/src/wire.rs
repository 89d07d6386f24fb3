//! The numbers and limits of the protocol, and the decoding of integers and strings.
//!
//! Names are those of the specification without their prefix. All integers are big-endian.

use thiserror::Error;

/// The largest payload of one READ or WRITE, in bytes: every client may rely on it ("Block size
/// constraints"), and it is the advertised maximum block size.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// The longest string, in bytes ("Conventions").
pub const STRING_BYTES_MAX: usize = 4096;
/// The longest data of an option that is read, in bytes. Longer data is skipped and the option
/// refused.
pub const OPTION_BYTES_MAX: u32 = 64 << 10;
/// The longest data of an option that is skipped, in bytes. With longer data the peer is cut off.
pub const OPTION_SKIP_BYTES_MAX: u32 = PAYLOAD_BYTES_MAX;
/// The highest number of options in one handshake. With more the peer is cut off.
pub const OPTIONS_MAX: u32 = 1024;
/// The highest number of queries for metadata contexts in one option.
pub const QUERIES_MAX: u32 = 64;
/// The highest number of descriptors of each context in the reply to BLOCK_STATUS.
pub const DESCRIPTORS_MAX: usize = 16 << 10;

/// The first eight bytes from the server.
pub const NBD_MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Before each option; also the second eight bytes from the server.
pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// Before each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before each simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Before each chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Flags of the handshake; those of the client have the same values.
pub mod handshake_flag {
    /// Several options can be sent and answered.
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    /// No 124 zeroes after EXPORT_NAME.
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// Options of the handshake.
pub mod option {
    /// Serve this export; can be refused only by hanging up.
    pub const EXPORT_NAME: u32 = 1;
    /// End the session.
    pub const ABORT: u32 = 2;
    /// List all exports.
    pub const LIST: u32 = 3;
    /// Begin TLS.
    pub const STARTTLS: u32 = 5;
    /// Describe an export.
    pub const INFO: u32 = 6;
    /// Describe an export, and serve it.
    pub const GO: u32 = 7;
    /// Use structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// List metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Select metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub mod option_reply {
    /// The option succeeded.
    pub const ACK: u32 = 1;
    /// An export.
    pub const SERVER: u32 = 2;
    /// An item of information about an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// Set in all errors.
    pub const ERROR: u32 = 1 << 31;
}

/// Items that INFO and GO request and return.
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// The export's own name.
    pub const NAME: u16 = 1;
    /// The description for users.
    pub const DESCRIPTION: u16 = 2;
    /// Minimum, preferred and maximum block size.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Capabilities of an export.
pub mod transmission_flag {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1 << 0;
    /// Writes are refused.
    pub const READ_ONLY: u16 = 1 << 1;
    /// FLUSH is supported.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is supported.
    pub const SEND_FUA: u16 = 1 << 3;
    /// TRIM is supported.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is supported.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// DF is supported.
    pub const SEND_DF: u16 = 1 << 7;
    /// A FLUSH on one connection covers the writes of all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// CACHE is supported.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// FAST_ZERO is supported.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Types of requests.
pub mod command {
    /// Read bytes.
    pub const READ: u16 = 0;
    /// Write bytes, which follow the request.
    pub const WRITE: u16 = 1;
    /// End the session; there is no reply.
    pub const DISC: u16 = 2;
    /// Make durable what was answered.
    pub const FLUSH: u16 = 3;
    /// Discard a range.
    pub const TRIM: u16 = 4;
    /// Prefetch a range.
    pub const CACHE: u16 = 5;
    /// Write zeroes, which are not sent.
    pub const WRITE_ZEROES: u16 = 6;
    /// Get the status of a range.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub mod command_flag {
    /// The command has to be durable before the reply.
    pub const FUA: u16 = 1 << 0;
    /// WRITE_ZEROES: do not make a hole.
    pub const NO_HOLE: u16 = 1 << 1;
    /// READ: reply with one chunk.
    pub const DF: u16 = 1 << 2;
    /// BLOCK_STATUS: reply with one descriptor.
    pub const REQ_ONE: u16 = 1 << 3;
    /// WRITE_ZEROES: fail unless it is faster than a write.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Types of chunks of structured replies.
pub mod chunk {
    /// Flag: the last chunk of its reply.
    pub const DONE: u16 = 1 << 0;
    /// The end of the reply.
    pub const NONE: u16 = 0;
    /// Bytes at an offset.
    pub const OFFSET_DATA: u16 = 1;
    /// Zeroes at an offset.
    pub const OFFSET_HOLE: u16 = 2;
    /// Descriptors of one context.
    pub const BLOCK_STATUS: u16 = 5;
    /// The request failed.
    pub const ERROR: u16 = (1 << 15) + 1;
    /// The request failed at an offset.
    pub const ERROR_OFFSET: u16 = (1 << 15) + 2;
}

/// Bytes that are not a message of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Malformed {
    #[error("the peer does not speak NBD here: magic {0:#x}")]
    Magic(u64),
    #[error("unknown client flags {0:#x}")]
    ClientFlags(u32),
    #[error("a message ends in the middle of a field")]
    Short,
    #[error("a message is longer than its fields")]
    Long,
    #[error("a string is not UTF-8 without NUL")]
    Text,
    /// A string longer than [`STRING_BYTES_MAX`].
    #[error("a string is longer than 4096 bytes")]
    StringTooLong,
    /// More queries than [`QUERIES_MAX`].
    #[error("more than 64 queries")]
    Queries,
    /// An option's data are longer than [`OPTION_SKIP_BYTES_MAX`].
    #[error("an option of {0} bytes")]
    OptionTooLong(u32),
    /// More options than [`OPTIONS_MAX`].
    #[error("more than 1024 options")]
    Options,
    #[error("a reply of unknown type {0:#x}")]
    Kind(u32),
}

/// The unread rest of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads a string of a length known to the caller.
    pub(crate) fn text(&mut self, bytes: usize) -> Result<&'a str, Malformed> {
        let bytes = self.bytes(bytes)?;
        if bytes.len() > STRING_BYTES_MAX {
            return Err(Malformed::StringTooLong);
        }
        match core::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => Ok(text),
            _ => Err(Malformed::Text),
        }
    }

    /// Reads a string after its length of 32 bits.
    pub(crate) fn counted_text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.u32()?;
        self.text(bytes as usize)
    }

    /// Reads the rest as a string.
    pub(crate) fn rest(&mut self) -> Result<&'a str, Malformed> {
        self.text(self.0.len())
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}

/// The longest prefix of `text` that fits a string of the protocol, cut between characters.
pub(crate) fn fitting(text: &str) -> &str {
    let mut end = text.len().min(STRING_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The length of something that is limited to less than 2³².
pub(crate) fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("limits are far below 4 GiB")
}
