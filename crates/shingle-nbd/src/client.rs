//! A small client that does not trust its server: for tests of servers and stores, and for disks
//! under probe. Anything from the server that the specification does not allow is an error.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use crate::options::{Choice, Info, OPTION_REPLY_HEADER_BYTES, OptionReply, OptionRequest, Query};
use crate::replies::{Chunk, ChunkHeader, Descriptor};
use crate::requests::Request;
use crate::wire::{
    NBD_MAGIC, OPTION_MAGIC, PAYLOAD_BYTES_MAX, SIMPLE_REPLY_MAGIC, STRING_BYTES_MAX,
    STRUCTURED_REPLY_MAGIC, command, command_flag, handshake_flag, info,
};

/// What a client requests in the handshake.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions<'a> {
    /// The name of the export.
    pub export: &'a str,
    /// Structured replies.
    pub structured: bool,
    /// Names of metadata contexts; these need structured replies.
    pub contexts: &'a [&'a str],
}

/// A connection in the transmission phase.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    structured: bool,
    /// The number and name of each context.
    contexts: Vec<(u32, String)>,
    size_bytes: u64,
    flags: u16,
    next_cookie: u64,
    waiting: BTreeMap<u64, (Request, Reply)>,
}

/// The complete reply to a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// The cookie of the request.
    pub cookie: u64,
    /// The data that was read, with zeroes for holes.
    pub data: Vec<u8>,
    /// The first byte and the length of each chunk, and whether it was a hole.
    pub pieces: Vec<(u64, u32, bool)>,
    /// The descriptors of each context, by its number.
    pub status: Vec<(u32, Vec<Descriptor>)>,
    /// The error, if it failed.
    pub error: Option<Error>,
}

/// The error of a request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} (error {code} of NBD)", if message.is_empty() { "the server failed" } else { message })]
pub struct Error {
    /// The error number of the protocol.
    pub code: u32,
    /// The message for users.
    pub message: String,
    /// The byte of the export, if the server reported it.
    pub offset: Option<u64>,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn array<const N: usize>(mut from: impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn bytes(mut from: impl Read, count: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the greeting of the server, and replies to it.
pub fn greet(mut stream: impl Read + Write) -> io::Result<()> {
    let greeting: [u8; 18] = array(&mut stream)?;
    let expected = [NBD_MAGIC.to_be_bytes(), OPTION_MAGIC.to_be_bytes()].concat();
    if greeting[..16] != expected {
        return Err(wrong("no newstyle greeting"));
    }
    let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
    if greeting[16..] != flags.to_be_bytes() {
        return Err(wrong("other handshake flags"));
    }
    stream.write_all(&u32::from(flags).to_be_bytes())
}

/// Sends an option, and passes each reply to `seen`, up to the last one.
pub fn ask(
    mut stream: impl Read + Write,
    request: &OptionRequest<'_>,
    mut seen: impl FnMut(&OptionReply<'_>),
) -> io::Result<()> {
    let mut out = Vec::new();
    request.encode(&mut out);
    stream.write_all(&out)?;
    loop {
        let header: [u8; OPTION_REPLY_HEADER_BYTES] = array(&mut stream)?;
        let (option, kind, length) =
            OptionReply::decode_header(&header).map_err(|e| wrong(e.to_string()))?;
        if option != request.number() || length as usize > 3 * STRING_BYTES_MAX {
            return Err(wrong("a reply to another option, or a very long one"));
        }
        let data = bytes(&mut stream, length)?;
        let reply = OptionReply::decode(kind, &data).map_err(|e| wrong(e.to_string()))?;
        seen(&reply);
        if matches!(reply, OptionReply::Ack | OptionReply::Error { .. }) {
            return Ok(());
        }
    }
}

impl<S: Read + Write> Client<S> {
    /// Connects: does the handshake for an export.
    pub fn connect(mut stream: S, options: &ClientOptions<'_>) -> io::Result<Self> {
        greet(&mut stream)?;
        Self::open(stream, options)
    }

    /// As [`Client::connect`], after [`greet`]: TLS may have begun in between.
    pub fn open(mut stream: S, options: &ClientOptions<'_>) -> io::Result<Self> {
        let mut refused = None;
        let mut contexts = Vec::new();
        let (mut size_bytes, mut flags) = (None, 0);
        let mut see = |reply: &OptionReply<'_>| match reply {
            OptionReply::Error { refusal, message } => {
                refused.get_or_insert(format!("{refusal:?}: {message}"));
            }
            OptionReply::MetaContext { id, name } => contexts.push((*id, (*name).to_owned())),
            OptionReply::Info(Info::Export { size_bytes: bytes, flags: those }) => {
                (size_bytes, flags) = (Some(*bytes), *those);
            }
            _ => {}
        };
        if options.structured {
            ask(&mut stream, &OptionRequest::StructuredReply, &mut see)?;
        }
        if !options.contexts.is_empty() {
            let query = Query { name: options.export, queries: options.contexts.to_vec() };
            ask(&mut stream, &OptionRequest::SetMetaContext(query), &mut see)?;
        }
        let choice = Choice { name: options.export, infos: vec![info::BLOCK_SIZE] };
        ask(&mut stream, &OptionRequest::Go(choice), &mut see)?;
        if let Some(refused) = refused {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, refused));
        }
        let size_bytes = size_bytes.ok_or_else(|| wrong("no size"))?;
        let mut client = Self::after_handshake(stream, options.structured, contexts);
        (client.size_bytes, client.flags) = (size_bytes, flags);
        Ok(client)
    }

    /// A client whose handshake was done elsewhere.
    pub fn after_handshake(stream: S, structured: bool, contexts: Vec<(u32, String)>) -> Self {
        let (size_bytes, flags, next_cookie) = (0, 0, 1);
        let waiting = BTreeMap::new();
        Self { stream, structured, contexts, size_bytes, flags, next_cookie, waiting }
    }

    /// The size of the export in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The transmission flags of the export, of [`crate::wire::transmission_flag`].
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// The number and name of each metadata context.
    pub fn contexts(&self) -> &[(u32, String)] {
        &self.contexts
    }

    /// The connection itself, for tests that send something invalid.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Sends a request and returns its cookie; [`Client::receive`] gets the reply. `payload` is
    /// sent with a WRITE, and sets its length.
    pub fn send(
        &mut self,
        kind: u16,
        flags: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> io::Result<u64> {
        let cookie = self.next_cookie;
        let request = Request { flags, kind, cookie, offset, length };
        let mut out = Vec::with_capacity(Request::BYTES + payload.len());
        request.encode(&mut out);
        out.extend_from_slice(payload);
        self.register(request);
        self.stream.write_all(&out)?;
        Ok(cookie)
    }

    /// Registers a request that was sent some other way, to receive its reply.
    pub fn register(&mut self, request: Request) {
        self.next_cookie = self.next_cookie.max(request.cookie.wrapping_add(1));
        let reply = Reply { cookie: request.cookie, ..Reply::default() };
        self.waiting.insert(request.cookie, (request, reply));
    }

    /// The number of requests without a reply yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Receives the next complete reply, of any request.
    pub fn receive(&mut self) -> io::Result<Reply> {
        loop {
            let magic: [u8; 4] = array(&mut self.stream)?;
            let cookie = match u32::from_be_bytes(magic) {
                SIMPLE_REPLY_MAGIC => Some(self.simple()?),
                STRUCTURED_REPLY_MAGIC if self.structured => self.chunk(magic)?,
                magic => return Err(wrong(format!("a reply begins with {magic:#x}"))),
            };
            if let Some((request, reply)) = cookie.and_then(|cookie| self.waiting.remove(&cookie)) {
                self.check(&request, &reply)?;
                return Ok(reply);
            }
        }
    }

    fn simple(&mut self) -> io::Result<u64> {
        let code = u32::from_be_bytes(array(&mut self.stream)?);
        let cookie = u64::from_be_bytes(array(&mut self.stream)?);
        let (request, reply) =
            self.waiting.get_mut(&cookie).ok_or_else(|| wrong("a reply to nothing"))?;
        if self.structured && matches!(request.kind, command::READ | command::BLOCK_STATUS) {
            return Err(wrong("a simple reply where it has to be structured"));
        }
        if code != 0 {
            reply.error = Some(Error { code, message: String::new(), offset: None });
        } else if request.kind == command::READ {
            reply.data = bytes(&mut self.stream, request.length)?;
            reply.pieces.push((request.offset, request.length, false));
        }
        Ok(cookie)
    }

    fn chunk(&mut self, magic: [u8; 4]) -> io::Result<Option<u64>> {
        let rest: [u8; ChunkHeader::BYTES - 4] = array(&mut self.stream)?;
        let mut header = [0; ChunkHeader::BYTES];
        header[..4].copy_from_slice(&magic);
        header[4..].copy_from_slice(&rest);
        let header = ChunkHeader::decode(&header).map_err(|e| wrong(e.to_string()))?;
        if header.length > PAYLOAD_BYTES_MAX + 8 {
            return Err(wrong("a very long chunk"));
        }
        let payload = bytes(&mut self.stream, header.length)?;
        let chunk = Chunk::decode(header.kind, &payload).map_err(|e| wrong(e.to_string()))?;
        let (request, reply) =
            self.waiting.get_mut(&header.cookie).ok_or_else(|| wrong("a chunk for nothing"))?;
        let read = request.kind == command::READ;
        match chunk {
            Chunk::None if !header.done => return Err(wrong("nothing, and not the end")),
            Chunk::None => {}
            Chunk::Data { offset, data } if read => {
                put(request, reply, offset, data.len() as u32, Some(data))?;
            }
            Chunk::Hole { offset, length } if read => put(request, reply, offset, length, None)?,
            Chunk::Status { context, descriptors } if request.kind == command::BLOCK_STATUS => {
                reply.status.push((context, descriptors));
            }
            Chunk::Error { code: 0, .. } => return Err(wrong("an error of number 0")),
            Chunk::Error { code, message, offset } => {
                if offset.is_some_and(|at| outside(request, at, 1)) {
                    return Err(wrong("an error outside of its request"));
                }
                reply.error = Some(Error { code, message: message.to_owned(), offset });
            }
            _ => return Err(wrong("a chunk of another request's kind")),
        }
        Ok(header.done.then_some(header.cookie))
    }

    /// Checks that a successful reply is complete.
    fn check(&self, request: &Request, reply: &Reply) -> io::Result<()> {
        if reply.error.is_some() {
            return Ok(());
        }
        if request.kind == command::READ {
            let told: u64 = reply.pieces.iter().map(|piece| u64::from(piece.1)).sum();
            if told != request.length.into() {
                return Err(wrong("a read that is not complete"));
            }
            if request.has(command_flag::DF) && reply.pieces.len() > 1 {
                return Err(wrong("a read in pieces that was to be in one"));
            }
        }
        if request.kind == command::BLOCK_STATUS {
            let mut told: Vec<u32> = reply.status.iter().map(|status| status.0).collect();
            let mut asked: Vec<u32> = self.contexts.iter().map(|context| context.0).collect();
            told.sort_unstable();
            asked.sort_unstable();
            if told != asked {
                return Err(wrong("not each context once"));
            }
            for (_, descriptors) in &reply.status {
                let length = |d: &Descriptor| u64::from(d.length);
                let sum: u64 = descriptors.iter().map(length).sum();
                let before = sum - descriptors.last().map_or(0, length);
                let one = request.has(command_flag::REQ_ONE);
                if descriptors.iter().any(|d| d.length == 0)
                    || before >= request.length.into()
                    || (one && (descriptors.len() != 1 || sum > request.length.into()))
                {
                    return Err(wrong("descriptors that do not fit the range"));
                }
            }
        }
        Ok(())
    }

    /// Sends a request and waits for its reply; no other may be in flight.
    pub fn call(
        &mut self,
        kind: u16,
        flags: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> io::Result<Result<Reply, Error>> {
        let cookie = self.send(kind, flags, offset, length, payload)?;
        let mut reply = self.receive()?;
        if reply.cookie != cookie {
            return Err(wrong("the reply to another request"));
        }
        Ok(match reply.error.take() {
            Some(error) => Err(error),
            None => Ok(reply),
        })
    }

    /// Reads bytes.
    pub fn read(&mut self, offset: u64, length: u32) -> io::Result<Result<Vec<u8>, Error>> {
        Ok(self.call(command::READ, 0, offset, length, &[])?.map(|reply| reply.data))
    }

    /// Writes bytes, with `flags` of [`command_flag`].
    pub fn write(&mut self, offset: u64, data: &[u8], flags: u16) -> io::Result<Result<(), Error>> {
        let length = u32::try_from(data.len()).map_err(|_| wrong("too much to write"))?;
        Ok(self.call(command::WRITE, flags, offset, length, data)?.map(drop))
    }

    /// Makes durable what was written.
    pub fn flush(&mut self) -> io::Result<Result<(), Error>> {
        Ok(self.call(command::FLUSH, 0, 0, 0, &[])?.map(drop))
    }

    /// Sends DISC, and waits until the server has closed the connection.
    pub fn disconnect(mut self) -> io::Result<()> {
        let mut out = Vec::new();
        Request { flags: 0, kind: command::DISC, cookie: 0, offset: 0, length: 0 }.encode(&mut out);
        self.stream.write_all(&out)?;
        while self.waiting() > 0 {
            self.receive()?;
        }
        match self.stream.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(wrong("bytes after good-bye")),
        }
    }
}

fn outside(request: &Request, offset: u64, length: u32) -> bool {
    let end = request.offset + u64::from(request.length);
    let last = offset.checked_add(length.into());
    length == 0 || offset < request.offset || last.is_none_or(|last| last > end)
}

/// Copies what was read to its place.
fn put(
    request: &Request,
    reply: &mut Reply,
    offset: u64,
    length: u32,
    data: Option<&[u8]>,
) -> io::Result<()> {
    let overlaps = |&(at, bytes, _): &(u64, u32, bool)| {
        at < offset + u64::from(length) && offset < at + u64::from(bytes)
    };
    if outside(request, offset, length) || reply.pieces.iter().any(overlaps) {
        return Err(wrong("a chunk outside of its request, or the same bytes twice"));
    }
    reply.pieces.push((offset, length, data.is_none()));
    reply.data.resize(request.length as usize, 0);
    if let Some(data) = data {
        let at = (offset - request.offset) as usize;
        reply.data[at..at + data.len()].copy_from_slice(data);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::replies::Chunk;

    /// The result of a client for a reply to a read of 4096 bytes at 4096.
    fn told(chunk: &Chunk<'_>) -> io::Result<Reply> {
        let (ours, mut theirs) = UnixStream::pair()?;
        let mut client = Client::after_handshake(ours, true, Vec::new());
        let cookie = client.send(command::READ, 0, 4096, 4096, &[])?;
        let mut out = Vec::new();
        chunk.encode(cookie, true, &mut out);
        theirs.write_all(&out)?;
        client.receive()
    }

    #[test]
    fn what_lies_elsewhere_is_no_answer() {
        told(&Chunk::Hole { offset: 4096, length: 4096 }).expect("what was asked for");
        let data = &[1; 100];
        for offset in [0, 4095, 8193, u64::MAX - 99, u64::MAX] {
            for chunk in [
                Chunk::Hole { offset, length: 4096 },
                Chunk::Data { offset, data },
                Chunk::Error { code: 5, message: "", offset: Some(offset) },
            ] {
                let Err(error) = told(&chunk) else { panic!("{chunk:?}") };
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{chunk:?}");
            }
        }
    }
}
