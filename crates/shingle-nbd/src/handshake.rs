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
    pub(crate) fn is_too_plain(&self) -> bool {
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

    /// Whether an option needs TLS, which the client has not begun.
    fn needs_tls(&self, number: u32) -> bool {
        let plain = [option::STARTTLS, option::ABORT].contains(&number);
        self.encryption == Encryption::Required && !plain
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
        let mut reply = Reply { option: number, out };
        if self.encryption == Encryption::Required && number != option::ABORT {
            self.too_plain = true;
        }
        match number {
            option::EXPORT_NAME => return Step::Close,
            option::ABORT => return reply.abort(),
            number if known.contains(&number) => {
                self.drop_contexts_if_set_by(number);
                reply.refuse(Refusal::TooBig, "more data than any option needs");
            }
            _ => reply.unknown(),
        }
        Step::Again
    }

    /// Handles a complete option.
    fn option(&mut self, number: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Step, Malformed> {
        let mut reply = Reply { option: number, out };
        if self.needs_tls(number) {
            self.too_plain = true;
            if number == option::EXPORT_NAME {
                return Ok(Step::Close);
            }
            reply.refuse(Refusal::TlsRequired, "TLS has to be begun first (STARTTLS)");
            return Ok(Step::Again);
        }
        self.drop_contexts_if_set_by(number);
        match OptionRequest::decode(number, data) {
            Ok(request) => Ok(self.request(&request, &mut reply)),
            // This option cannot be refused.
            Err(error) if number == option::EXPORT_NAME => Err(error),
            Err(error) => {
                let refusal = match error {
                    Malformed::StringTooLong | Malformed::Queries => Refusal::TooBig,
                    _ => Refusal::Invalid,
                };
                reply.refuse(refusal, &error.to_string());
                Ok(Step::Again)
            }
        }
    }

    /// Before an option that sets contexts: earlier ones are dropped even if it fails.
    fn drop_contexts_if_set_by(&mut self, number: u32) {
        if number == option::SET_META_CONTEXT {
            self.contexts = (None, Contexts::NONE);
        }
    }

    fn request(&mut self, request: &OptionRequest<'_>, reply: &mut Reply<'_>) -> Step {
        match request {
            OptionRequest::ExportName(name) => return self.export_name(name, reply.out),
            OptionRequest::Abort => return reply.abort(),
            OptionRequest::List => self.list(reply),
            OptionRequest::StartTls => return self.start_tls(reply),
            OptionRequest::Info(choice) => {
                self.info(choice, reply);
            }
            OptionRequest::Go(choice) => {
                if let Some(export) = self.info(choice, reply) {
                    return Step::Serve(self.agreement(export));
                }
            }
            OptionRequest::StructuredReply => {
                self.structured = true;
                reply.ack();
            }
            OptionRequest::ListMetaContext(query) => {
                self.meta_context(query, reply);
            }
            OptionRequest::SetMetaContext(query) => self.set_meta_context(query, reply),
            OptionRequest::Unknown(_) => reply.unknown(),
        }
        Step::Again
    }

    fn list(&self, reply: &mut Reply<'_>) {
        for export in self.exports {
            let (name, description) = (&export.name, &export.description);
            reply.add(OptionReply::Server { name, description });
        }
        reply.ack();
    }

    fn start_tls(&self, reply: &mut Reply<'_>) -> Step {
        match self.encryption {
            Encryption::None => reply.refuse(Refusal::Policy, "this server does not encrypt"),
            Encryption::Begun => reply.refuse(Refusal::Invalid, "TLS has begun already"),
            Encryption::Offered | Encryption::Required => {
                reply.ack();
                return Step::StartTls;
            }
        }
        Step::Again
    }

    fn set_meta_context(&mut self, query: &Query<'_>, reply: &mut Reply<'_>) {
        if !self.structured {
            let message = "structured replies have to be negotiated first";
            return reply.refuse(Refusal::Invalid, message);
        }
        if let Some((export, contexts)) = self.meta_context(query, reply) {
            self.contexts = (Some(export), contexts);
        }
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

    /// Describes an export. Returns its index, if there is one of this name.
    fn info(&self, choice: &Choice<'_>, reply: &mut Reply<'_>) -> Option<usize> {
        let index = self.find_or_refuse(choice.name, reply)?;
        let export = &self.exports[index];
        let flags = export.flags(self.structured);
        let mut add = |info| reply.add(OptionReply::Info(info));
        add(Info::Export { size_bytes: export.size_bytes, flags });
        if choice.infos.contains(&info::NAME) {
            add(Info::Name(&export.name));
        }
        if choice.infos.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            add(Info::Description(&export.description));
        }
        // Sent in any case: a client that did not request it may ignore it.
        add(Info::BlockSize {
            minimum: export.minimum_block,
            preferred: ExportInfo::PREFERRED_BLOCK.max(export.minimum_block),
            maximum: PAYLOAD_BYTES_MAX,
        });
        reply.ack();
        Some(index)
    }

    /// Replies to both options about contexts. Returns the contexts found, if it succeeds.
    fn meta_context(&self, query: &Query<'_>, reply: &mut Reply<'_>) -> Option<(usize, Contexts)> {
        let index = self.find_or_refuse(query.name, reply)?;
        if let Some(bad) = query.queries.iter().find(|query| !query.contains(':')) {
            reply.refuse(Refusal::Invalid, &format!("the query {bad:?} has no namespace"));
            return None;
        }
        let listing = reply.option == option::LIST_META_CONTEXT;
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
            reply.add(OptionReply::MetaContext { id, name: context.name() });
        }
        reply.ack();
        Some((index, found))
    }

    fn find_or_refuse(&self, name: &str, reply: &mut Reply<'_>) -> Option<usize> {
        let found = self.find(name);
        if found.is_none() {
            reply.refuse(Refusal::Unknown, &format!("there is no export {name:?} here"));
        }
        found
    }
}

/// The reply to an option, of one message or more.
struct Reply<'a> {
    option: u32,
    out: &'a mut Vec<u8>,
}

impl Reply<'_> {
    fn add(&mut self, message: OptionReply<'_>) {
        message.encode(self.option, self.out);
    }

    fn ack(&mut self) {
        self.add(OptionReply::Ack);
    }

    fn refuse(&mut self, refusal: Refusal, message: &str) {
        self.add(OptionReply::Error { refusal, message });
    }

    fn unknown(&mut self) {
        self.refuse(Refusal::Unsupported, "this server does not know the option");
    }

    fn abort(&mut self) -> Step {
        self.ack();
        Step::Close
    }
}
