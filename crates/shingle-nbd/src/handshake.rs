//! The handshake, without I/O: bytes of the client go in, bytes of the server come out.

use crate::command::{Context, Contexts};
use crate::options::{Choice, Info, OptionHeader, OptionReply, OptionRequest, Query, Refusal};
use crate::wire::{
    Malformed, NBD_MAGIC, OPTION_BYTES_MAX, OPTION_MAGIC, OPTION_SKIP_BYTES_MAX, OPTIONS_MAX,
    PAYLOAD_BYTES_MAX, handshake_flag, info, option, transmission_flag,
};

/// What the handshake tells of an export.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExportInfo {
    /// Its name. An only export of a server is also found under the empty name.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// Its size.
    pub size_bytes: u64,
    /// Whether writes are refused.
    pub read_only: bool,
    /// What offsets and lengths have to be multiples of, in bytes: a power of two up to 64 KiB.
    pub minimum_block: u32,
}

impl ExportInfo {
    /// The preferred block size, in bytes: one block of the cache.
    pub(crate) const PREFERRED_BLOCK: u32 = 4096;

    /// Its transmission flags.
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

/// What client and server have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Agreement {
    /// Which of the server's exports.
    pub export: usize,
    /// Whether replies are structured.
    pub structured: bool,
    /// What BLOCK_STATUS tells.
    pub contexts: Contexts,
}

/// Where the handshake stands after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It needs bytes that are not there yet.
    More,
    /// It went on; there may be another whole message.
    Again,
    /// The handshake of TLS follows, and then [`Handshake::secured`]; what the client sent behind STARTTLS in
    /// plain text must not count.
    StartTls,
    /// It is over, and requests follow.
    Serve(Agreement),
    /// It is over, and the connection is to be closed when all has been sent.
    Close,
}

#[derive(Clone, Hash)]
enum State {
    Flags,
    Options,
    /// Data that are too long to be read: so many bytes are left, then the option is refused.
    Skipping {
        option: u32,
        left: u32,
    },
}

/// One client's handshake.
#[derive(Clone, Hash)]
pub struct Handshake<'a> {
    exports: &'a [ExportInfo],
    state: State,
    no_zeroes: bool,
    structured: bool,
    /// Chosen contexts, and the export they were chosen for.
    contexts: (Option<usize>, Contexts),
    options: u32,
    encryption: Encryption,
    /// What was asked for and refused because TLS was not begun.
    too_plain: bool,
}

/// Whether options may be asked for in plain text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Encryption {
    /// There is no TLS.
    #[default]
    None,
    /// The client may begin TLS.
    Offered,
    /// It has to.
    Required,
    /// It has.
    Begun,
}

impl<'a> Handshake<'a> {
    /// Begins, with the greeting in `out`.
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

    /// The same where there is TLS.
    #[must_use]
    pub fn with(self, encryption: Encryption) -> Self {
        Self { encryption, ..self }
    }

    /// TLS has begun: what was said before does not count, and these are the exports that this client may open.
    pub fn secured(&mut self, exports: &'a [ExportInfo]) {
        self.exports = exports;
        self.structured = false;
        self.contexts = (None, Contexts::NONE);
        (self.encryption, self.too_plain) = (Encryption::Begun, false);
    }

    /// The client asked in plain text for what needs TLS, and has not begun it.
    pub fn is_too_plain(&self) -> bool {
        self.too_plain
    }

    /// Takes one message at most from the front of `input`, appends the answer to `out`, and says
    /// how many bytes it took. An error means that the peer is to be cut off.
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

    /// An option whose data were too long and have been skipped.
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
        // Contexts that were set are forgotten even if the option fails.
        if number == option::SET_META_CONTEXT {
            self.contexts = (None, Contexts::NONE);
        }
        let request = match OptionRequest::decode(number, data) {
            Ok(request) => request,
            // It is the one option that cannot be refused.
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

    /// The export of this name. Where there is one only, the empty name is its own, too; of several, a client
    /// that names none would get a disk that it did not mean.
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
        // Sent to everyone: those who did not ask are allowed to ignore it.
        reply(Info::BlockSize {
            minimum: export.minimum_block,
            preferred: ExportInfo::PREFERRED_BLOCK.max(export.minimum_block),
            maximum: PAYLOAD_BYTES_MAX,
        });
        OptionReply::Ack.encode(number, out);
        Some(index)
    }

    /// Answers both options about contexts; what was found if it went well.
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
