//! Options and their replies: the messages of the handshake.

use crate::wire::{
    Fields, Malformed, OPTION_MAGIC, OPTION_REPLY_MAGIC, QUERIES_MAX, fitting, info, length,
    option, option_reply,
};

/// The header before the data of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionHeader {
    /// The number of the option.
    pub option: u32,
    /// The length of the data in bytes.
    pub length: u32,
}

impl OptionHeader {
    /// The length of a header in bytes.
    pub const BYTES: usize = 16;

    /// Decodes a header.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        match fields.u64()? {
            OPTION_MAGIC => Ok(Self { option: fields.u32()?, length: fields.u32()? }),
            magic => Err(Malformed::Magic(magic)),
        }
    }
}

/// An option of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionRequest<'a> {
    /// Serve this export.
    ExportName(&'a str),
    /// End the session. The data are ignored, as specified.
    Abort,
    /// List all exports.
    List,
    /// Begin TLS.
    StartTls,
    /// Describe an export.
    Info(Choice<'a>),
    /// Describe an export, and serve it.
    Go(Choice<'a>),
    /// Use structured replies.
    StructuredReply,
    /// List metadata contexts.
    ListMetaContext(Query<'a>),
    /// Select metadata contexts.
    SetMetaContext(Query<'a>),
    /// An option that is not supported, with any data.
    Unknown(u32),
}

/// The data of INFO and GO.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice<'a> {
    /// The name of the export.
    pub name: &'a str,
    /// The requested items, of [`info`].
    pub infos: Vec<u16>,
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query<'a> {
    /// The name of the export.
    pub name: &'a str,
    /// `namespace:leaf`, or `namespace:` for all of a namespace.
    pub queries: Vec<&'a str>,
}

impl<'a> OptionRequest<'a> {
    /// Decodes the data of an option.
    pub fn decode(number: u32, data: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(data);
        let request = match number {
            option::EXPORT_NAME => Self::ExportName(fields.rest()?),
            option::ABORT => return Ok(Self::Abort),
            option::LIST => Self::List,
            option::STARTTLS => Self::StartTls,
            option::INFO => Self::Info(Choice::decode(&mut fields)?),
            option::GO => Self::Go(Choice::decode(&mut fields)?),
            option::STRUCTURED_REPLY => Self::StructuredReply,
            option::LIST_META_CONTEXT => Self::ListMetaContext(Query::decode(&mut fields)?),
            option::SET_META_CONTEXT => Self::SetMetaContext(Query::decode(&mut fields)?),
            other => return Ok(Self::Unknown(other)),
        };
        fields.end()?;
        Ok(request)
    }

    /// The number of the option.
    pub fn number(&self) -> u32 {
        match self {
            Self::ExportName(_) => option::EXPORT_NAME,
            Self::Abort => option::ABORT,
            Self::List => option::LIST,
            Self::StartTls => option::STARTTLS,
            Self::Info(_) => option::INFO,
            Self::Go(_) => option::GO,
            Self::StructuredReply => option::STRUCTURED_REPLY,
            Self::ListMetaContext(_) => option::LIST_META_CONTEXT,
            Self::SetMetaContext(_) => option::SET_META_CONTEXT,
            Self::Unknown(number) => *number,
        }
    }

    /// Appends the whole message, as a client sends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        match self {
            Self::ExportName(name) => data.extend_from_slice(name.as_bytes()),
            Self::Info(choice) | Self::Go(choice) => {
                counted(choice.name, &mut data);
                let count = u16::try_from(choice.infos.len()).expect("few kinds of information");
                data.extend_from_slice(&count.to_be_bytes());
                choice.infos.iter().for_each(|i| data.extend_from_slice(&i.to_be_bytes()));
            }
            Self::ListMetaContext(query) | Self::SetMetaContext(query) => {
                counted(query.name, &mut data);
                data.extend_from_slice(&length(query.queries.len()).to_be_bytes());
                query.queries.iter().for_each(|query| counted(query, &mut data));
            }
            Self::Abort | Self::List | Self::StartTls | Self::StructuredReply => {}
            Self::Unknown(_) => {}
        }
        out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        out.extend_from_slice(&self.number().to_be_bytes());
        out.extend_from_slice(&length(data.len()).to_be_bytes());
        out.extend_from_slice(&data);
    }
}

fn counted(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&length(text.len()).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

impl<'a> Choice<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, Malformed> {
        let name = fields.counted_text()?;
        let count = fields.u16()?;
        // The announced length is not allocated before the data is there.
        let infos = fields.bytes(2 * usize::from(count))?;
        let infos = infos.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        Ok(Self { name, infos: infos.collect() })
    }
}

impl<'a> Query<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, Malformed> {
        let name = fields.counted_text()?;
        let count = fields.u32()?;
        if count > QUERIES_MAX {
            return Err(Malformed::Queries);
        }
        let queries = (0..count).map(|_| fields.counted_text()).collect::<Result<_, _>>()?;
        Ok(Self { name, queries })
    }
}

/// Why an option is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[non_exhaustive]
pub enum Refusal {
    /// The option is unknown or not supported.
    Unsupported = option_reply::ERROR + 1,
    /// It is known, but not allowed here.
    Policy = option_reply::ERROR + 2,
    /// Its data are invalid, or it comes at the wrong time.
    Invalid = option_reply::ERROR + 3,
    /// TLS is required first.
    TlsRequired = option_reply::ERROR + 5,
    /// The export does not exist.
    Unknown = option_reply::ERROR + 6,
    /// The server is stopping.
    Shutdown = option_reply::ERROR + 7,
    /// It is too large.
    TooBig = option_reply::ERROR + 9,
}

impl Refusal {
    const ALL: [Self; 7] = [
        Self::Unsupported,
        Self::Policy,
        Self::Invalid,
        Self::TlsRequired,
        Self::Unknown,
        Self::Shutdown,
        Self::TooBig,
    ];
}

/// The length of the header before the data of a reply to an option.
pub const OPTION_REPLY_HEADER_BYTES: usize = 20;

/// A reply to an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionReply<'a> {
    /// The option succeeded.
    Ack,
    /// An export in the list.
    Server {
        /// The name.
        name: &'a str,
        /// The description for users; may be empty.
        description: &'a str,
    },
    /// An item of information about an export.
    Info(Info<'a>),
    /// A metadata context.
    MetaContext {
        /// The number in the transmission; 0 in lists.
        id: u32,
        /// `namespace:leaf`
        name: &'a str,
    },
    /// The option is refused.
    Error {
        /// The reason.
        refusal: Refusal,
        /// The message for users.
        message: &'a str,
    },
}

/// An item of information about an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Info<'a> {
    /// Size and flags, which are always sent.
    Export {
        /// The size in bytes.
        size_bytes: u64,
        /// The transmission flags, of [`crate::wire::transmission_flag`].
        flags: u16,
    },
    /// The name of the export.
    Name(&'a str),
    /// The description for users.
    Description(&'a str),
    /// The block sizes of requests.
    BlockSize {
        /// Offsets and lengths must be multiples of this, in bytes.
        minimum: u32,
        /// Offsets and lengths should be multiples of this, in bytes.
        preferred: u32,
        /// The longest payload, in bytes.
        maximum: u32,
    },
}

impl<'a> OptionReply<'a> {
    fn kind(&self) -> u32 {
        match self {
            Self::Ack => option_reply::ACK,
            Self::Server { .. } => option_reply::SERVER,
            Self::Info(_) => option_reply::INFO,
            Self::MetaContext { .. } => option_reply::META_CONTEXT,
            Self::Error { refusal, .. } => *refusal as u32,
        }
    }

    /// Appends the whole message, a reply to option `number`.
    pub fn encode(&self, number: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&self.kind().to_be_bytes());
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        match self {
            Self::Ack => {}
            Self::Server { name, description } => {
                counted(fitting(name), out);
                out.extend_from_slice(fitting(description).as_bytes());
            }
            Self::Info(info) => info.encode(out),
            Self::MetaContext { id, name } => {
                out.extend_from_slice(&id.to_be_bytes());
                out.extend_from_slice(name.as_bytes());
            }
            Self::Error { message, .. } => out.extend_from_slice(fitting(message).as_bytes()),
        }
        let data = length(out.len() - at - 4);
        out[at..at + 4].copy_from_slice(&data.to_be_bytes());
    }

    /// Decodes the header: the number of the option, the type of the reply, and the length of its
    /// data.
    pub fn decode_header(
        bytes: &[u8; OPTION_REPLY_HEADER_BYTES],
    ) -> Result<(u32, u32, u32), Malformed> {
        let mut fields = Fields(bytes);
        match fields.u64()? {
            OPTION_REPLY_MAGIC => Ok((fields.u32()?, fields.u32()?, fields.u32()?)),
            magic => Err(Malformed::Magic(magic)),
        }
    }

    /// Decodes the data of a reply of type `kind`.
    pub fn decode(kind: u32, data: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(data);
        let reply = match kind {
            option_reply::ACK => Self::Ack,
            option_reply::SERVER => {
                Self::Server { name: fields.counted_text()?, description: fields.rest()? }
            }
            option_reply::INFO => Self::Info(Info::decode(&mut fields)?),
            option_reply::META_CONTEXT => {
                Self::MetaContext { id: fields.u32()?, name: fields.rest()? }
            }
            kind => {
                let refusal = Refusal::ALL.into_iter().find(|&refusal| refusal as u32 == kind);
                let refusal = refusal.ok_or(Malformed::Kind(kind))?;
                Self::Error { refusal, message: fields.rest()? }
            }
        };
        fields.end()?;
        Ok(reply)
    }
}

impl<'a> Info<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Export { size_bytes, flags } => {
                out.extend_from_slice(&info::EXPORT.to_be_bytes());
                out.extend_from_slice(&size_bytes.to_be_bytes());
                out.extend_from_slice(&flags.to_be_bytes());
            }
            Self::Name(name) => {
                out.extend_from_slice(&info::NAME.to_be_bytes());
                out.extend_from_slice(fitting(name).as_bytes());
            }
            Self::Description(text) => {
                out.extend_from_slice(&info::DESCRIPTION.to_be_bytes());
                out.extend_from_slice(fitting(text).as_bytes());
            }
            Self::BlockSize { minimum, preferred, maximum } => {
                out.extend_from_slice(&info::BLOCK_SIZE.to_be_bytes());
                for size in [minimum, preferred, maximum] {
                    out.extend_from_slice(&size.to_be_bytes());
                }
            }
        }
    }

    fn decode(fields: &mut Fields<'a>) -> Result<Self, Malformed> {
        Ok(match fields.u16()? {
            info::EXPORT => Self::Export { size_bytes: fields.u64()?, flags: fields.u16()? },
            info::NAME => Self::Name(fields.rest()?),
            info::DESCRIPTION => Self::Description(fields.rest()?),
            info::BLOCK_SIZE => Self::BlockSize {
                minimum: fields.u32()?,
                preferred: fields.u32()?,
                maximum: fields.u32()?,
            },
            kind => return Err(Malformed::Kind(kind.into())),
        })
    }
}
