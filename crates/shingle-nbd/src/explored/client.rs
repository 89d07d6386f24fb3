//! What a client may say, as bytes, and what it believes of what it hears.

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

/// The disk that is served.
pub(super) const NAME: &str = "disk";
pub(super) const BYTES: u32 = 8;
/// What one write writes.
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
pub(super) enum Say {
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
    /// Refused, so that its payload is skipped.
    WritePast,
    Nothing,
    Zeroes,
    Flush,
    Status,
    UnknownCommand,
    Disc,
    NoRequest,
}

/// Where a client takes itself to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Flags,
    Options,
    Transmission,
    /// It has said what ends a connection.
    Over,
}

impl Say {
    /// When it is said.
    pub(super) fn stage(self) -> Stage {
        match self {
            Say::Flags(_) => Stage::Flags,
            Say::ExportName(_)
            | Say::Go(_)
            | Say::Info
            | Say::List
            | Say::Structured
            | Say::Contexts
            | Say::StartTls
            | Say::Abort
            | Say::UnknownOption
            | Say::NoOption => Stage::Options,
            _ => Stage::Transmission,
        }
    }

    /// Its number and range, if it is a request with a magic number.
    fn request(self) -> Option<(u16, u64, u32)> {
        Some(match self {
            Say::Read => (command::READ, 0, BYTES),
            Say::ReadPast => (command::READ, 0, BYTES + 1),
            Say::Write => (command::WRITE, PART_BYTES.into(), PART_BYTES),
            Say::WritePast => (command::WRITE, BYTES.into(), PART_BYTES),
            Say::Nothing => (command::WRITE, 0, 0),
            Say::Zeroes => (command::WRITE_ZEROES, 0, PART_BYTES),
            Say::Flush => (command::FLUSH, 0, 0),
            Say::Status => (command::BLOCK_STATUS, 0, BYTES),
            Say::UnknownCommand => (99, 0, 0),
            _ => return None,
        })
    }

    /// Whether a server refuses the request whatever stands on the disk.
    fn is_refused(self, contexts: bool) -> bool {
        match self {
            Say::ReadPast | Say::WritePast | Say::UnknownCommand => true,
            Say::Status => !contexts,
            _ => false,
        }
    }
}

/// A client: what it has said, and what it waits for.
#[derive(Clone, Debug)]
pub(super) struct Talker {
    /// Which of the two.
    number: u64,
    pub(super) stage: Stage,
    /// Messages said.
    pub(super) said: u8,
    /// Of the message that it is about to say: what is left.
    pub(super) rest: Vec<u8>,
    pub(super) hung_up: bool,
    /// It has asked for these, and was not refused.
    structured: bool,
    contexts: bool,
    /// Options that have no last reply yet.
    options: Vec<u32>,
    /// Requests that are said as a whole and have no reply, and what they were.
    pub(super) waiting: BTreeMap<u64, (Request, bool)>,
    /// A request of which a part is said.
    half_said: Option<(Request, bool)>,
}

impl Talker {
    pub(super) fn new(number: u64) -> Talker {
        Talker {
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

    /// What it agrees on with a server that needs no TLS.
    pub(super) fn agreement(&self) -> Agreement {
        let contexts = match self.contexts {
            true => Contexts { allocation: true, dirty: false },
            false => Contexts::NONE,
        };
        Agreement { export: 0, structured: self.structured, contexts }
    }

    /// Says something: the first bytes of it, up to one of its borders, or all.
    pub(super) fn say(&mut self, say: Say, cut: usize, encrypts: bool) -> Vec<u8> {
        self.said += 1;
        let (bytes, borders) = self.bytes(say, encrypts);
        let upto = if cut == 0 { bytes.len() } else { borders[cut - 1] };
        self.rest = bytes[upto..].to_vec();
        if self.rest.is_empty() {
            self.has_said();
        }
        bytes[..upto].to_vec()
    }

    /// In how many ways it may be cut, or be said as a whole.
    pub(super) fn ways(&self, say: Say) -> usize {
        1 + self.clone().bytes(say, false).1.len()
    }

    pub(super) fn has_said(&mut self) {
        if let Some((request, refused)) = self.half_said.take() {
            self.waiting.insert(request.cookie, (request, refused));
        }
    }

    /// A message, and where in it there are borders: in the middle of its header, behind it, in its data.
    fn bytes(&mut self, say: Say, encrypts: bool) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let plain = !encrypts;
        let option = match say {
            Say::ExportName(name) => {
                self.stage = if name == NAME && plain { Stage::Transmission } else { Stage::Over };
                Some(OptionRequest::ExportName(name))
            }
            Say::Go(name) => {
                if name == NAME && plain {
                    self.stage = Stage::Transmission;
                }
                Some(OptionRequest::Go(Choice { name, infos: vec![] }))
            }
            Say::Info => Some(OptionRequest::Info(Choice { name: NAME, infos: vec![1] })),
            Say::List => Some(OptionRequest::List),
            Say::Structured => {
                self.structured |= plain;
                Some(OptionRequest::StructuredReply)
            }
            Say::Contexts => {
                self.contexts |= self.structured && plain;
                let queries = vec![Context::Allocation.name(), "other:context"];
                Some(OptionRequest::SetMetaContext(Query { name: NAME, queries }))
            }
            Say::StartTls => Some(OptionRequest::StartTls),
            Say::Abort => {
                self.stage = Stage::Over;
                Some(OptionRequest::Abort)
            }
            Say::UnknownOption => Some(OptionRequest::Unknown(77)),
            _ => None,
        };
        let header_bytes = match say.stage() {
            Stage::Flags => 4,
            Stage::Options => 16,
            Stage::Transmission | Stage::Over => Request::BYTES,
        };
        if let Some(option) = option {
            option.encode(&mut bytes);
            if !matches!(say, Say::ExportName(_)) {
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
                Say::Flags(known) => {
                    let flags = u32::from(handshake_flag::FIXED_NEWSTYLE);
                    self.stage = if known { Stage::Options } else { Stage::Over };
                    bytes.extend((if known { flags } else { flags | 1 << 9 }).to_be_bytes());
                }
                Say::Disc => {
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

    /// Replies to options, whole ones.
    pub(super) fn hears_options(&mut self, mut heard: &[u8]) {
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

    /// The size, the flags and the zeroes that answer EXPORT_NAME.
    pub(super) fn hears_export(&self, heard: &[u8]) {
        let structured = self.structured;
        assert_eq!(heard[..8], u64::from(BYTES).to_be_bytes());
        assert_eq!(heard[8..10], info().flags(structured).to_be_bytes());
        assert!(heard.len() == 134 && heard[10..].iter().all(|&byte| byte == 0));
    }

    /// No option is left without its last reply.
    pub(super) fn knows_of_all_options(&self) -> bool {
        self.options.is_empty()
    }

    /// Replies to requests, whole ones, of which `results` says what they have to be.
    pub(super) fn hears_replies(
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
        // (A server that stops may answer what it has not got in full.)
        let half = self.half_said.iter();
        half.chain(self.waiting.values()).for_each(|(request, _)| client.expect(*request));
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

impl Hash for Talker {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Talker { number, stage, said, rest, hung_up, structured, contexts, .. } = self;
        let Talker { options, waiting, half_said, .. } = self;
        (number, stage, said, rest, hung_up, structured, contexts).hash(into);
        (options, waiting, half_said).hash(into);
    }
}

/// What the server has said, for a client that says nothing.
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
