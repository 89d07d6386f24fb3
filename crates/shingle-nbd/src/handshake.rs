//! The handshake, without I/O: takes bytes of the client, returns bytes for it.

use crate::command::{Context, Contexts};
use crate::options::{Choice, Info, OptionHeader, OptionReply, OptionRequest, Query, Refusal};
use crate::wire::{
    Malformed, NBD_MAGIC, OPTION_BYTES_MAX, OPTION_MAGIC, OPTION_SKIP_BYTES_MAX, OPTIONS_MAX,
    PAYLOAD_BYTES_MAX, handshake_flag, info, option, transmission_flag,
};

/// What the handshake reports about an export.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExportInfo {
    /// The name. The only export of a server is also found under the empty name.
    pub name: String,
    /// The description for users; may be empty.
    pub description: String,
    /// The size in bytes.
    pub size_bytes: u64,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Offsets and lengths have to be multiples of this, in bytes: a power of two up to 64 KiB.
    pub minimum_block: u32,
}

impl ExportInfo {
    /// The preferred block size, in bytes: one block of the cache.
    pub(crate) const PREFERRED_BLOCK: u32 = 4096;

    /// The transmission flags.
    pub fn flags(&self, structured: bool) -> u16 {
        use transmission_flag::*;
        let mut flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA | CAN_MULTI_CONN | SEND_CACHE;
        flags |= match self.read_only {
            true => READ_ONLY,
            false => SEND_TRIM | SEND_WRITE_ZEROES | SEND_FAST_ZERO,
        };
        if structured { flags | SEND_DF } else { flags }
    }
}

/// The result of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Agreement {
    /// The index of the export.
    pub export: usize,
    /// Whether replies are structured.
    pub structured: bool,
    /// The contexts of BLOCK_STATUS.
    pub contexts: Contexts,
}

/// The state of the handshake after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It needs more bytes.
    More,
    /// It has taken a message; there may be another complete one.
    Again,
    /// The handshake of TLS follows, and then [`Handshake::secured`]. Bytes that the client sent
    /// after STARTTLS in plain text must be dropped.
    StartTls,
    /// It is over, and requests follow.
    Serve(Agreement),
    /// It is over: close the connection after everything is sent.
    Close,
}

#[derive(Clone, Hash)]
enum State {
    Flags,
    Options,
    /// The data are too long to be read: this many bytes are left, then the option is refused.
    Skipping {
        option: u32,
        left: u32,
    },
}

/// The handshake with one client.
#[derive(Clone, Hash)]
pub struct Handshake<'a> {
    exports: &'a [ExportInfo],
    state: State,
    no_zeroes: bool,
    structured: bool,
    /// The chosen contexts, and the export they were chosen for.
    contexts: (Option<usize>, Contexts),
    options: u32,
    encryption: Encryption,
    /// Something was requested and refused because TLS has not begun.
    too_plain: bool,
}

/// Whether options may be sent in plain text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Encryption {
    /// There is no TLS.
    #[default]
    None,
    /// The client may begin TLS.
    Offered,
    /// The client has to begin TLS.
    Required,
    /// TLS has begun.
    Begun,
}

impl<'a> Handshake<'a> {
    /// Begins a handshake. Appends the greeting to `out`.
    pub fn new(exports: &'a [ExportInfo], out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&NBD_MAGIC.to_be_bytes());
        out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
        out.extend_from_slice(&flags.to_be_bytes());
        Self {
            exports,
            state: State::Flags,
            no_zeroes: false,
            structured: false,
            contexts: (None, Contexts::NONE),
            options: 0,
            encryption: Encryption::None,
            too_plain: false,
        }
    }

    /// Sets the encryption.
    #[must_use]
    pub fn with(self, encryption: Encryption) -> Self {
        Self { encryption, ..self }
    }

    /// Notes that TLS has begun: earlier options do not count, and `exports` are those that this
    /// client may open.
    pub fn secured(&mut self, exports: &'a [ExportInfo]) {
        self.exports = exports;
        self.structured = false;
        self.contexts = (None, Contexts::NONE);
        (self.encryption, self.too_plain) = (Encryption::Begun, false);
    }

    /// Whether the client requested something in plain text that needs TLS, and has not begun TLS.
    pub fn is_too_plain(&self) -> bool {
        self.too_plain
    }

    /// Takes at most one message from the front of `input`, appends the reply to `out`, and returns
    /// the number of bytes taken. After an error the client has to be cut off.
    pub fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Step), Malformed> {
        match self.state {
            State::Flags => {
                let Some(bytes) = input.first_chunk() else { return Ok((0, Step::More)) };
                self.client_flags(u32::from_be_bytes(*bytes))?;
                self.state = State::Options;
                Ok((bytes.len(), Step::Again))
            }
            State::Skipping { option, left } => {
                let taken = input.len().min(left as usize);
                let left = left - crate::wire::length(taken);
                if left > 0 {
                    self.state = State::Skipping { option, left };
                    return Ok((taken, Step::More));
                }
                self.state = State::Options;
                let step = self.oversized(option, out);
                Ok((taken, step))
            }
            State::Options => {
                let Some(header) = input.first_chunk() else { return Ok((0, Step::More)) };
                let OptionHeader { option, length } = OptionHeader::decode(header)?;
                if length > OPTION_SKIP_BYTES_MAX {
                    return Err(Malformed::OptionTooLong(length));
                }
                if length > OPTION_BYTES_MAX {
                    self.count()?;
                    self.state = State::Skipping { option, left: length };
                    return Ok((header.len(), Step::Again));
                }
                let end = header.len() + length as usize;
                let Some(data) = input.get(header.len()..end) else { return Ok((0, Step::More)) };
                self.count()?;
                Ok((end, self.option(option, data, out)?))
            }
        }
    }

    fn count(&mut self) -> Result<(), Malformed> {
        self.options += 1;
        if self.options > OPTIONS_MAX { Err(Malformed::Options) } else { Ok(()) }
    }

    fn client_flags(&mut self, flags: u32) -> Result<(), Malformed> {
        let known = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
        if flags & !u32::from(known) != 0 {
            return Err(Malformed::ClientFlags(flags));
        }
        self.no_zeroes = flags & u32::from(handshake_flag::NO_ZEROES) != 0;
        Ok(())
    }

    /// Handles an option whose data were too long and were skipped.
    fn oversized(&mut self, number: u32, out: &mut Vec<u8>) -> Step {
        let known = [
            option::LIST,
            option::STARTTLS,
            option::INFO,
            option::GO,
            option::STRUCTURED_REPLY,
            option::LIST_META_CONTEXT,
            option::SET_META_CONTEXT,
        ];
        if self.encryption == Encryption::Required && number != option::ABORT {
            self.too_plain = true;
        }
        match number {
            option::EXPORT_NAME => return Step::Close,
            option::ABORT => return abort(out),
            number if known.contains(&number) => {
                if number == option::SET_META_CONTEXT {
                    self.contexts = (None, Contexts::NONE);
                }
                refuse(number, Refusal::TooBig, "more data than any option needs", out);
            }
            number => unknown(number, out),
        }
        Step::Again
    }

    fn option(&mut self, number: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Step, Malformed> {
        let plain = [option::STARTTLS, option::ABORT].contains(&number);
        if self.encryption == Encryption::Required && !plain {
            self.too_plain = true;
            if number == option::EXPORT_NAME {
                return Ok(Step::Close);
            }
            refuse(number, Refusal::TlsRequired, "TLS has to be begun first (STARTTLS)", out);
            return Ok(Step::Again);
        }
        // Earlier contexts are dropped even if the option fails.
        if number == option::SET_META_CONTEXT {
            self.contexts = (None, Contexts::NONE);
        }
        let request = match OptionRequest::decode(number, data) {
            Ok(request) => request,
            // This option cannot be refused.
            Err(error) if number == option::EXPORT_NAME => return Err(error),
            Err(error) => {
                let refusal = match error {
                    Malformed::StringTooLong | Malformed::Queries => Refusal::TooBig,
                    _ => Refusal::Invalid,
                };
                refuse(number, refusal, &error.to_string(), out);
                return Ok(Step::Again);
            }
        };
        match request {
            OptionRequest::ExportName(name) => return Ok(self.export_name(name, out)),
            OptionRequest::Abort => return Ok(abort(out)),
            OptionRequest::List => {
                for export in self.exports {
                    let (name, description) = (&export.name, &export.description);
                    OptionReply::Server { name, description }.encode(number, out);
                }
                OptionReply::Ack.encode(number, out);
            }
            OptionRequest::StartTls => match self.encryption {
                Encryption::None => {
                    refuse(number, Refusal::Policy, "this server does not encrypt", out);
                }
                Encryption::Begun => refuse(number, Refusal::Invalid, "TLS has begun already", out),
                Encryption::Offered | Encryption::Required => {
                    OptionReply::Ack.encode(number, out);
                    return Ok(Step::StartTls);
                }
            },
            OptionRequest::Info(choice) => {
                self.info(number, &choice, out);
            }
            OptionRequest::Go(choice) => {
                if let Some(export) = self.info(number, &choice, out) {
                    return Ok(Step::Serve(self.agreement(export)));
                }
            }
            OptionRequest::StructuredReply => {
                self.structured = true;
                OptionReply::Ack.encode(number, out);
            }
            OptionRequest::ListMetaContext(query) => {
                self.meta_context(number, &query, out);
            }
            OptionRequest::SetMetaContext(query) if !self.structured => {
                let message = "structured replies have to be negotiated first";
                refuse(number, Refusal::Invalid, message, out);
                drop(query);
            }
            OptionRequest::SetMetaContext(query) => {
                if let Some((export, contexts)) = self.meta_context(number, &query, out) {
                    self.contexts = (Some(export), contexts);
                }
            }
            OptionRequest::Unknown(number) => unknown(number, out),
        }
        Ok(Step::Again)
    }

    /// The index of the export with this name. The empty name is valid only if there is one export:
    /// with several, the client could get a disk that it did not mean.
    fn find(&self, name: &str) -> Option<usize> {
        let named = self.exports.iter().position(|export| export.name == name);
        named.or_else(|| (name.is_empty() && self.exports.len() == 1).then_some(0))
    }

    fn agreement(&self, export: usize) -> Agreement {
        let contexts = match self.contexts {
            (Some(chosen), contexts) if chosen == export => contexts,
            _ => Contexts::NONE,
        };
        Agreement { export, structured: self.structured, contexts }
    }

    fn export_name(&self, name: &str, out: &mut Vec<u8>) -> Step {
        let Some(index) = self.find(name) else { return Step::Close };
        let export = &self.exports[index];
        out.extend_from_slice(&export.size_bytes.to_be_bytes());
        out.extend_from_slice(&export.flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            out.extend_from_slice(&[0; 124]);
        }
        Step::Serve(self.agreement(index))
    }

    fn info(&self, number: u32, choice: &Choice<'_>, out: &mut Vec<u8>) -> Option<usize> {
        let index = self.find_or_refuse(number, choice.name, out)?;
        let export = &self.exports[index];
        let flags = export.flags(self.structured);
        let mut reply = |info| OptionReply::Info(info).encode(number, out);
        reply(Info::Export { size_bytes: export.size_bytes, flags });
        if choice.infos.contains(&info::NAME) {
            reply(Info::Name(&export.name));
        }
        if choice.infos.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            reply(Info::Description(&export.description));
        }
        // Sent in any case: a client that did not request it may ignore it.
        reply(Info::BlockSize {
            minimum: export.minimum_block,
            preferred: ExportInfo::PREFERRED_BLOCK.max(export.minimum_block),
            maximum: PAYLOAD_BYTES_MAX,
        });
        OptionReply::Ack.encode(number, out);
        Some(index)
    }

    /// Replies to both options about contexts. Returns the contexts found, if it succeeds.
    fn meta_context(
        &self,
        number: u32,
        query: &Query<'_>,
        out: &mut Vec<u8>,
    ) -> Option<(usize, Contexts)> {
        let index = self.find_or_refuse(number, query.name, out)?;
        if let Some(bad) = query.queries.iter().find(|query| !query.contains(':')) {
            let message = format!("the query {bad:?} has no namespace");
            refuse(number, Refusal::Invalid, &message, out);
            return None;
        }
        let listing = number == option::LIST_META_CONTEXT;
        let wanted = |context: Context| {
            let (namespace, _) = context.name().split_once(':').expect("each has a namespace");
            (listing && query.queries.is_empty())
                || query.queries.iter().any(|&query| {
                    let all = listing && query.strip_suffix(':') == Some(namespace);
                    query == context.name() || all
                })
        };
        let mut found = Contexts::NONE;
        for context in Context::ALL.into_iter().filter(|&context| wanted(context)) {
            found.add(context);
            let id = if listing { 0 } else { context.id() };
            OptionReply::MetaContext { id, name: context.name() }.encode(number, out);
        }
        OptionReply::Ack.encode(number, out);
        Some((index, found))
    }

    fn find_or_refuse(&self, number: u32, name: &str, out: &mut Vec<u8>) -> Option<usize> {
        let found = self.find(name);
        if found.is_none() {
            let message = format!("there is no export {name:?} here");
            refuse(number, Refusal::Unknown, &message, out);
        }
        found
    }
}

fn refuse(number: u32, refusal: Refusal, message: &str, out: &mut Vec<u8>) {
    OptionReply::Error { refusal, message }.encode(number, out);
}

fn unknown(number: u32, out: &mut Vec<u8>) {
    refuse(number, Refusal::Unsupported, "this server does not know the option", out);
}

fn abort(out: &mut Vec<u8>) -> Step {
    OptionReply::Ack.encode(option::ABORT, out);
    Step::Close
}
