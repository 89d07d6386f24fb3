//! The messages of a client, as bytes, and the checks of what it receives.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::io::{self, Cursor, Read, Write};
use std::sync::LazyLock;

use crate::client::Client;
use crate::export::{Answer, Context, Contexts, Failure, Piece};
use crate::handshake::{Agreement, ExportInfo};
use crate::options::{Choice, OPTION_REPLY_HEADER_BYTES, OptionReply, OptionRequest, Query};
use crate::requests::Request;
use crate::wire::{command, handshake_flag};

/// The exported disk.
pub(super) const NAME: &str = "disk";
pub(super) const BYTES: u32 = 8;
/// The length of one write.
pub(super) const PART_BYTES: u32 = 4;

pub(super) static EXPORTS: LazyLock<[ExportInfo; 1]> = LazyLock::new(|| {
    [ExportInfo {
        name: NAME.to_owned(),
        description: String::new(),
        size_bytes: BYTES.into(),
        read_only: false,
        minimum_block: 1,
    }]
});

pub(super) fn info() -> &'static ExportInfo {
    &EXPORTS[0]
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Message {
    /// The flags of the handshake: known ones, or others.
    Flags(bool),
    ExportName(&'static str),
    Go(&'static str),
    Info,
    List,
    Structured,
    Contexts,
    StartTls,
    Abort,
    UnknownOption,
    NoOption,
    Read,
    ReadPast,
    Write,
    /// Refused, so its payload is skipped.
    WritePast,
    Nothing,
    Zeroes,
    Flush,
    Status,
    UnknownCommand,
    Disc,
    NoRequest,
}

/// The phase of the session, as the client sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Flags,
    Options,
    Transmission,
    /// It has sent a message that ends the connection.
    Over,
}

impl Message {
    /// The phase in which the message is sent.
    pub(super) fn stage(self) -> Stage {
        match self {
            Message::Flags(_) => Stage::Flags,
            Message::ExportName(_)
            | Message::Go(_)
            | Message::Info
            | Message::List
            | Message::Structured
            | Message::Contexts
            | Message::StartTls
            | Message::Abort
            | Message::UnknownOption
            | Message::NoOption => Stage::Options,
            _ => Stage::Transmission,
        }
    }

    /// Its number and range, if it is a valid request.
    fn request(self) -> Option<(u16, u64, u32)> {
        Some(match self {
            Message::Read => (command::READ, 0, BYTES),
            Message::ReadPast => (command::READ, 0, BYTES + 1),
            Message::Write => (command::WRITE, PART_BYTES.into(), PART_BYTES),
            Message::WritePast => (command::WRITE, BYTES.into(), PART_BYTES),
            Message::Nothing => (command::WRITE, 0, 0),
            Message::Zeroes => (command::WRITE_ZEROES, 0, PART_BYTES),
            Message::Flush => (command::FLUSH, 0, 0),
            Message::Status => (command::BLOCK_STATUS, 0, BYTES),
            Message::UnknownCommand => (99, 0, 0),
            _ => return None,
        })
    }

    /// Whether a server refuses the request whatever the disk contains.
    fn is_refused(self, contexts: bool) -> bool {
        match self {
            Message::ReadPast | Message::WritePast | Message::UnknownCommand => true,
            Message::Status => !contexts,
            _ => false,
        }
    }
}

/// A client: what it has sent, and what it waits for.
#[derive(Clone, Debug)]
pub(super) struct TestClient {
    /// Which of the two clients.
    number: u64,
    pub(super) stage: Stage,
    /// The number of messages sent.
    pub(super) said: u8,
    /// The rest of the message that it is sending.
    pub(super) rest: Vec<u8>,
    pub(super) hung_up: bool,
    /// It has requested these, and was not refused.
    structured: bool,
    contexts: bool,
    /// Options without a last reply yet.
    options: Vec<u32>,
    /// Requests that were sent completely and have no reply yet.
    pub(super) waiting: BTreeMap<u64, (Request, bool)>,
    /// A request that was sent in part.
    half_said: Option<(Request, bool)>,
}

impl TestClient {
    pub(super) fn new(number: u64) -> TestClient {
        TestClient {
            number,
            stage: Stage::Flags,
            said: 0,
            rest: Vec::new(),
            hung_up: false,
            structured: false,
            contexts: false,
            options: Vec::new(),
            waiting: BTreeMap::new(),
            half_said: None,
        }
    }

    /// Its agreement with a server that requires no TLS.
    pub(super) fn agreement(&self) -> Agreement {
        let contexts = match self.contexts {
            true => Contexts { allocation: true, dirty: false },
            false => Contexts::NONE,
        };
        Agreement { export: 0, structured: self.structured, contexts }
    }

    /// Sends a message: its first bytes, up to one of its cuts, or all of it.
    pub(super) fn say(&mut self, say: Message, cut: usize, encrypts: bool) -> Vec<u8> {
        self.said += 1;
        let (bytes, borders) = self.bytes(say, encrypts);
        let upto = if cut == 0 { bytes.len() } else { borders[cut - 1] };
        self.rest = bytes[upto..].to_vec();
        if self.rest.is_empty() {
            self.message_sent();
        }
        bytes[..upto].to_vec()
    }

    /// The number of ways to send a message: cut in different places, or complete.
    pub(super) fn ways(&self, say: Message) -> usize {
        1 + self.clone().bytes(say, false).1.len()
    }

    pub(super) fn message_sent(&mut self) {
        if let Some((request, refused)) = self.half_said.take() {
            self.waiting.insert(request.cookie, (request, refused));
        }
    }

    /// A message, and its cuts: in the middle of its header, after the header, in its data.
    fn bytes(&mut self, say: Message, encrypts: bool) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let plain = !encrypts;
        let option = match say {
            Message::ExportName(name) => {
                self.stage = if name == NAME && plain { Stage::Transmission } else { Stage::Over };
                Some(OptionRequest::ExportName(name))
            }
            Message::Go(name) => {
                if name == NAME && plain {
                    self.stage = Stage::Transmission;
                }
                Some(OptionRequest::Go(Choice { name, infos: vec![] }))
            }
            Message::Info => Some(OptionRequest::Info(Choice { name: NAME, infos: vec![1] })),
            Message::List => Some(OptionRequest::List),
            Message::Structured => {
                self.structured |= plain;
                Some(OptionRequest::StructuredReply)
            }
            Message::Contexts => {
                self.contexts |= self.structured && plain;
                let queries = vec![Context::Allocation.name(), "other:context"];
                Some(OptionRequest::SetMetaContext(Query { name: NAME, queries }))
            }
            Message::StartTls => Some(OptionRequest::StartTls),
            Message::Abort => {
                self.stage = Stage::Over;
                Some(OptionRequest::Abort)
            }
            Message::UnknownOption => Some(OptionRequest::Unknown(77)),
            _ => None,
        };
        let header_bytes = match say.stage() {
            Stage::Flags => 4,
            Stage::Options => 16,
            Stage::Transmission | Stage::Over => Request::BYTES,
        };
        if let Some(option) = option {
            option.encode(&mut bytes);
            if !matches!(say, Message::ExportName(_)) {
                self.options.push(option.number());
            }
        } else if let Some((kind, offset, length)) = say.request() {
            let cookie = self.number << 8 | u64::from(self.said);
            let request = Request { flags: 0, kind, cookie, offset, length };
            request.encode(&mut bytes);
            bytes.resize(bytes.len() + request.payload_bytes() as usize, cookie as u8);
            self.half_said = Some((request, say.is_refused(self.contexts)));
        } else {
            match say {
                Message::Flags(known) => {
                    let flags = u32::from(handshake_flag::FIXED_NEWSTYLE);
                    self.stage = if known { Stage::Options } else { Stage::Over };
                    bytes.extend((if known { flags } else { flags | 1 << 9 }).to_be_bytes());
                }
                Message::Disc => {
                    self.stage = Stage::Over;
                    let kind = command::DISC;
                    Request { flags: 0, kind, cookie: 0, offset: 0, length: 0 }.encode(&mut bytes);
                }
                _ => {
                    self.stage = Stage::Over;
                    bytes.resize(header_bytes, 0xEE);
                }
            }
        }
        let whole = bytes.len();
        let borders = [header_bytes / 2, header_bytes, header_bytes.midpoint(whole)];
        let mut borders: Vec<usize> = borders.into_iter().filter(|at| *at < whole).collect();
        borders.dedup();
        (bytes, borders)
    }

    /// Receives replies to options, complete ones.
    pub(super) fn receive_options(&mut self, mut heard: &[u8]) {
        while !heard.is_empty() {
            let header = heard.first_chunk().expect("the header of a reply");
            let (number, kind, length) = OptionReply::decode_header(header).expect("a header");
            let end = OPTION_REPLY_HEADER_BYTES + length as usize;
            let reply = OptionReply::decode(kind, &heard[OPTION_REPLY_HEADER_BYTES..end]);
            assert_eq!(Some(&number), self.options.first(), "the options are answered in order");
            if matches!(reply.expect("a reply"), OptionReply::Ack | OptionReply::Error { .. }) {
                self.options.remove(0);
            }
            heard = &heard[end..];
        }
    }

    /// Receives the reply to EXPORT_NAME: size, flags and zeroes.
    pub(super) fn receive_export(&self, heard: &[u8]) {
        let structured = self.structured;
        assert_eq!(heard[..8], u64::from(BYTES).to_be_bytes());
        assert_eq!(heard[8..10], info().flags(structured).to_be_bytes());
        assert!(heard.len() == 134 && heard[10..].iter().all(|&byte| byte == 0));
    }

    /// Whether every option has its last reply.
    pub(super) fn has_all_option_replies(&self) -> bool {
        self.options.is_empty()
    }

    /// Receives complete replies to requests; `results` are the expected ones.
    pub(super) fn receive_replies(
        &mut self,
        heard: Vec<u8>,
        results: &[(u64, Result<Answer, Failure>)],
    ) {
        let all = heard.len() as u64;
        let contexts = self.agreement().contexts;
        let contexts = Context::ALL.into_iter().filter(|&context| contexts.has(context));
        let contexts = contexts.map(|context| (context.id(), context.name().to_owned())).collect();
        let heard = Heard(Cursor::new(heard));
        let mut client = Client::after_handshake(heard, self.structured, contexts);
        // A server that stops may answer a request that it has in part only.
        let half = self.half_said.iter();
        half.chain(self.waiting.values()).for_each(|(request, _)| client.register(*request));
        for (cookie, result) in results {
            let reply = client.receive().expect("what a client that believes nothing accepts");
            assert_eq!(reply.cookie, *cookie, "in the order of completion");
            let half = self.half_said.take_if(|(request, _)| request.cookie == *cookie);
            assert!(half.is_none() || result.is_err(), "it has not got all of it");
            let said = half.or_else(|| self.waiting.remove(cookie));
            let (request, refused) = said.expect("an answer to nothing");
            assert_eq!(reply.error.is_some(), result.is_err() || refused, "{request:?}");
            if let (Ok(answer), command::READ) = (result, request.kind) {
                assert_eq!(reply.data, data_of(answer));
            }
        }
        assert_eq!(client.stream().0.position(), all, "bytes behind the replies");
    }
}

fn data_of(answer: &Answer) -> Vec<u8> {
    match answer {
        Answer::Data(data) => data.clone(),
        Answer::Pieces(pieces) => {
            let bytes = |piece: &Piece| match piece {
                Piece::Data(data) => data.clone(),
                Piece::Zeroes(bytes) => vec![0; *bytes as usize],
            };
            pieces.iter().flat_map(bytes).collect()
        }
        _ => Vec::new(),
    }
}

impl Hash for TestClient {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let TestClient { number, stage, said, rest, hung_up, structured, contexts, .. } = self;
        let TestClient { options, waiting, half_said, .. } = self;
        (number, stage, said, rest, hung_up, structured, contexts).hash(into);
        (options, waiting, half_said).hash(into);
    }
}

/// What the server has sent, as the input of a client that sends nothing.
struct Heard(Cursor<Vec<u8>>);

impl Read for Heard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Heard {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!("it only listens")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
