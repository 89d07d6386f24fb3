//! What fuzzers of NBD do: bytes of a client go in, and what comes out must be what a distrustful
//! client accepts.

use std::io::{self, Cursor, Read, Write};

use shingle_nbd::batch::Batch;
use shingle_nbd::client::Client;
use shingle_nbd::export::{Context, Contexts};
use shingle_nbd::handshake::{Agreement, Encryption, ExportInfo, Handshake, Step};
use shingle_nbd::memory::Memory;
use shingle_nbd::options::{OPTION_REPLY_HEADER_BYTES, OptionReply};
use shingle_nbd::requests::Request;
use shingle_nbd::session::Session;
use shingle_nbd::wire::{OPTION_MAGIC, REQUEST_MAGIC, command, option};

const EXPORT_BYTES: usize = 16 << 10;

fn exports(choice: u8) -> [ExportInfo; 2] {
    let export = |name: &str, description: &str| ExportInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        size_bytes: EXPORT_BYTES as u64,
        read_only: choice & 8 != 0,
        minimum_block: if choice & 16 != 0 { 512 } else { 1 },
    };
    [export("disk", "a disk"), export("é", "")]
}

/// The first byte says how the rest arrives: all of it, or so many bytes at a time; whether TLS is
/// offered or required, and whether magic numbers of options are put right, so that what is behind them is reached.
pub fn handshake(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let mut input = bytes.to_vec();
    if choice & 1 != 0 {
        seal(&mut input);
    }
    let piece = if choice < 128 { usize::MAX } else { usize::from(choice >> 1 & 31) + 1 };
    let encryption = match choice & 0x86 {
        2 => Encryption::Offered,
        4 => Encryption::Required,
        _ => Encryption::None,
    };
    let exports = exports(0);
    let mut out = Vec::new();
    let mut handshake = Handshake::new(&exports, &mut out).with(encryption);
    let mut secured = false;
    assert_eq!(out.len(), 18);
    out.clear();
    let (mut start, mut end) = (0, input.len().min(piece));
    loop {
        let before = out.len();
        let Ok((taken, step)) = handshake.step(&input[start..end], &mut out) else { break };
        start += taken;
        assert!(start <= end && out.len() - before < 64 << 10);
        let transmission = replies(&out[before..]);
        match step {
            Step::Again => assert!(taken > 0, "no progress"),
            Step::More if end == input.len() => break,
            Step::More => end = input.len().min(end.saturating_add(piece)),
            Step::Close => break,
            // As if all that follows were what TLS says.
            Step::StartTls => {
                assert!(!secured && encryption != Encryption::None);
                secured = true;
                handshake.secured(&exports);
            }
            Step::Serve(agreement) => {
                assert!(agreement.export < exports.len());
                assert!(secured || encryption != Encryption::Required, "in plain text");
                assert!(agreement.structured || agreement.contexts == Contexts::NONE);
                let _ = Session::new(&exports[agreement.export], agreement);
                return;
            }
        }
        assert!(transmission, "bytes that are no reply");
    }
}

/// Puts the magic number before each option, by the lengths that are there.
fn seal(input: &mut [u8]) {
    let mut at = 4;
    while let Some(header) = input.get_mut(at..at + 16) {
        header[..8].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
        // Of the numbers 0 to 15 only, and short.
        (header[8..11].fill(0), header[12..14].fill(0));
        header[11] &= 15;
        at += 16 + usize::from(u16::from_be_bytes([header[14], header[15]]));
    }
}

/// Whether all bytes are replies to options.
fn replies(mut out: &[u8]) -> bool {
    while !out.is_empty() {
        let Some(header) = out.first_chunk() else { return false };
        let Ok((number, kind, length)) = OptionReply::decode_header(header) else { return false };
        assert_ne!(number, option::EXPORT_NAME);
        let end = OPTION_REPLY_HEADER_BYTES + length as usize;
        OptionReply::decode(kind, &out[OPTION_REPLY_HEADER_BYTES..end]).expect("a reply");
        out = &out[end..];
    }
    true
}

/// What the server sends, for a client that asks nothing.
struct Sent(Cursor<Vec<u8>>);

impl Read for Sent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Sent {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!("it only listens")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first byte says what was negotiated; requests follow, with their payloads. Magic numbers are
/// put right, and writes and reads are held against an array.
pub fn transmission(bytes: &[u8]) {
    let Some((&choice, mut bytes)) = bytes.split_first() else { return };
    let structured = choice & 1 != 0;
    let contexts = Contexts {
        allocation: structured && choice & 2 != 0,
        dirty: structured && choice & 4 != 0,
    };
    let names = Context::ALL.into_iter().filter(|&context| contexts.has(context));
    let names: Vec<_> = names.map(|context| (context.id(), context.name().to_owned())).collect();
    let agreement = Agreement { export: 0, structured, contexts };
    let session = Session::new(&exports(choice)[0], agreement);
    let memory = Memory::with_crashes(EXPORT_BYTES);
    let mut model = vec![0; EXPORT_BYTES];
    let mut batch = Batch::default();
    while let Some((header, rest)) = bytes.split_first_chunk::<{ Request::BYTES }>() {
        let _ = Request::decode(header);
        let mut header = *header;
        header[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        let request = Request::decode(&header).expect("the magic number is right");
        if request.kind == command::DISC {
            return;
        }
        let checked = session.check(&request);
        let Some((payload, rest)) = rest.split_at_checked(request.payload_bytes() as usize) else {
            return;
        };
        bytes = rest;
        let result = checked.and_then(|()| match session.command(&request, payload.to_vec()) {
            Some(command) => memory.execute(command),
            None => Ok(shingle_nbd::export::Answer::Done),
        });
        let done = result.is_ok();
        session.reply(&request, result, &mut batch);
        let mut out = Vec::new();
        batch.send(&mut out).expect("into memory");
        let total = out.len() as u64;
        let mut client = Client::after_handshake(Sent(Cursor::new(out)), structured, names.clone());
        client.register(request);
        let reply = client.receive().expect("what a client accepts");
        assert_eq!(client.stream().0.position(), total, "bytes behind the reply");
        assert_eq!(reply.error.is_none(), done);
        if !done {
            continue;
        }
        let range = request.offset as usize..request.offset as usize + request.length as usize;
        match request.kind {
            command::READ => assert_eq!(reply.data, model[range]),
            command::WRITE => model[range].copy_from_slice(payload),
            command::TRIM | command::WRITE_ZEROES => model[range].fill(0),
            _ => {}
        }
    }
    assert_eq!(memory.contents(), model);
}
