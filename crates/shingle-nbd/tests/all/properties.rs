//! Messages survive encoding and decoding, no bytes crash the protocol, and a served disk behaves
//! like an array.

use std::sync::Arc;

use crate::common::{Bed, Shuffled};
use proptest::prelude::*;
use shingle_nbd::handshake::{ExportInfo, Handshake, Step};
use shingle_nbd::memory::Memory;
use shingle_nbd::options::{
    Choice, Info, OPTION_REPLY_HEADER_BYTES, OptionHeader, OptionReply, OptionRequest, Query,
    Refusal,
};
use shingle_nbd::replies::{Chunk, ChunkHeader, Descriptor};
use shingle_nbd::requests::Request;
use shingle_nbd::server::Limits;
use shingle_nbd::wire::{command, command_flag};

fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,40}"
}

fn round_trip(request: &OptionRequest<'_>) {
    let mut out = Vec::new();
    request.encode(&mut out);
    let header = OptionHeader::decode(out.first_chunk().unwrap()).unwrap();
    assert_eq!(header.length as usize, out.len() - 16);
    assert_eq!(OptionRequest::decode(header.option, &out[16..]).as_ref(), Ok(request));
}

fn reply_round_trip(number: u32, reply: &OptionReply<'_>) {
    let mut out = Vec::new();
    reply.encode(number, &mut out);
    let (option, kind, length) = OptionReply::decode_header(out.first_chunk().unwrap()).unwrap();
    assert_eq!((option, length as usize), (number, out.len() - OPTION_REPLY_HEADER_BYTES));
    let data = &out[OPTION_REPLY_HEADER_BYTES..];
    assert_eq!(OptionReply::decode(kind, data).as_ref(), Ok(reply));
}

fn chunk_round_trip(cookie: u64, done: bool, chunk: &Chunk<'_>) {
    let mut out = Vec::new();
    chunk.encode(cookie, done, &mut out);
    let header = ChunkHeader::decode(out.first_chunk().unwrap()).unwrap();
    assert_eq!((header.cookie, header.done), (cookie, done));
    assert_eq!(header.length as usize, out.len() - ChunkHeader::BYTES);
    assert_eq!(Chunk::decode(header.kind, &out[ChunkHeader::BYTES..]).as_ref(), Ok(chunk));
}

proptest! {
    #[test]
    fn options_come_back(
        name in text(), texts in prop::collection::vec(text(), 0..64),
        infos in prop::collection::vec(any::<u16>(), 0..20), number in 100u32..,
    ) {
        let choice = Choice { name: &name, infos };
        let query = Query { name: &name, queries: texts.iter().map(|text| &**text).collect() };
        for request in [
            OptionRequest::ExportName(&name), OptionRequest::Abort, OptionRequest::List,
            OptionRequest::StartTls, OptionRequest::Info(choice.clone()), OptionRequest::Go(choice),
            OptionRequest::StructuredReply, OptionRequest::ListMetaContext(query.clone()),
            OptionRequest::SetMetaContext(query), OptionRequest::Unknown(number),
        ] {
            round_trip(&request);
        }
    }

    #[test]
    fn replies_to_options_come_back(
        number: u32, name in text(), description in text(), size_bytes: u64, flags: u16, id: u32,
        sizes: (u32, u32, u32),
    ) {
        let (minimum, preferred, maximum) = sizes;
        for reply in [
            OptionReply::Ack,
            OptionReply::Server { name: &name, description: &description },
            OptionReply::Info(Info::Export { size_bytes, flags }),
            OptionReply::Info(Info::Name(&name)),
            OptionReply::Info(Info::Description(&description)),
            OptionReply::Info(Info::BlockSize { minimum, preferred, maximum }),
            OptionReply::MetaContext { id, name: &name },
            OptionReply::Error { refusal: Refusal::TooBig, message: &description },
        ] {
            reply_round_trip(number, &reply);
        }
    }

    #[test]
    fn requests_and_chunks_come_back(
        flags: u16, kind: u16, cookie: u64, offset: u64, length: u32, done: bool,
        data in prop::collection::vec(any::<u8>(), 1..100), message in text(), code: u32,
        list in prop::collection::vec(any::<(u32, u32)>(), 1..20),
    ) {
        let request = Request { flags, kind, cookie, offset, length };
        let mut out = Vec::new();
        request.encode(&mut out);
        prop_assert_eq!(Request::decode(out[..].try_into().unwrap()), Ok(request));
        let descriptors = list.iter().map(|&(length, flags)| Descriptor { length, flags }).collect();
        for chunk in [
            Chunk::None,
            Chunk::Data { offset, data: &data },
            Chunk::Hole { offset, length },
            Chunk::Status { context: code, descriptors },
            Chunk::Error { code, message: &message, offset: None },
            Chunk::Error { code, message: &message, offset: Some(offset) },
        ] {
            chunk_round_trip(cookie, done, &chunk);
        }
    }

    #[test]
    fn any_bytes_can_be_decoded(number in 0u32..12, data in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = OptionRequest::decode(number, &data);
        for kind in [number, number | 1 << 31] {
            let _ = OptionReply::decode(kind, &data);
        }
        for kind in [number as u16, number as u16 | 1 << 15] {
            let _ = Chunk::decode(kind, &data);
        }
    }

    /// The reply does not depend on how the bytes of a handshake are split.
    #[test]
    fn a_handshake_does_not_depend_on_how_it_arrives(
        numbers in prop::collection::vec((0u32..12, prop::collection::vec(any::<u8>(), 0..30)), 0..8),
        name in text(), cuts in prop::collection::vec(1usize..40, 1..10),
    ) {
        let exports = [ExportInfo {
            name: name.clone(), description: String::new(), size_bytes: 1, read_only: false, minimum_block: 1,
        }];
        let mut input = vec![0, 0, 0, 3];
        for (number, data) in &numbers {
            OptionRequest::Unknown(*number).encode(&mut input);
            let at = input.len() - 4;
            input[at..].copy_from_slice(&(data.len() as u32).to_be_bytes());
            input.extend_from_slice(data);
        }
        OptionRequest::Go(Choice { name: &name, infos: vec![] }).encode(&mut input);
        let run = |cuts: &mut dyn Iterator<Item = usize>| {
            let mut out = Vec::new();
            let mut handshake = Handshake::new(&exports, &mut out);
            let (mut start, mut end) = (0, 0);
            loop {
                match handshake.step(&input[start..end], &mut out) {
                    Err(error) => return (out, Err(error)),
                    Ok((taken, step)) => {
                        start += taken;
                        match step {
                            Step::Again => {}
                            Step::More if end == input.len() => return (out, Ok(step)),
                            Step::More => end = input.len().min(end + cuts.next().unwrap()),
                            step => return (out, Ok(step)),
                        }
                    }
                }
            }
        };
        let whole = run(&mut std::iter::repeat(usize::MAX / 2));
        prop_assert_eq!(run(&mut cuts.iter().copied().cycle()), whole);
    }
}

#[derive(Clone, Debug)]
struct Action {
    kind: u16,
    flags: u16,
    block: u64,
    blocks: u32,
    stamp: u8,
}

const BLOCK: u64 = 512;
const BLOCKS: u64 = 64;

fn action() -> impl Strategy<Value = Action> {
    let flags = [0, command_flag::FUA, command_flag::DF, command_flag::REQ_ONE];
    let flags = prop::sample::select(flags.to_vec());
    (0u16..9, flags, 0..BLOCKS + 2, 0u32..10, 1u8..).prop_map(
        |(kind, flags, block, blocks, stamp)| Action { kind, flags, block, blocks, stamp },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Compares with an array of bytes, one request at a time, over a real connection.
    #[test]
    fn a_disk_is_an_array(
        actions in prop::collection::vec(action(), 1..200), structured: bool, threads: bool,
        minimum in prop::sample::select(vec![1u32, 512]),
    ) {
        let bytes = (BLOCK * BLOCKS) as usize;
        let memory = Arc::new(Memory::new(bytes));
        let bed = match threads {
            true => Bed::with(Arc::new(Shuffled::new(memory)), minimum, Limits::default()),
            false => Bed::with(memory, minimum, Limits::default()),
        };
        let mut client = bed.client(structured);
        let mut model = vec![0u8; bytes];
        for Action { kind, flags, block, blocks, stamp } in actions {
            // Not only at block boundaries, if that is allowed.
            let odd = u64::from(stamp % 7) * u64::from(minimum == 1);
            let (offset, length) = (block * BLOCK + odd, blocks * BLOCK as u32);
            let (offset, length) = if kind == command::FLUSH { (0, 0) } else { (offset, length) };
            if kind == command::DISC {
                continue;
            }
            let payload = vec![stamp; if kind == command::WRITE { length as usize } else { 0 }];
            let result = client.call(kind, flags, offset, length, &payload).unwrap();
            let known = match kind {
                command::READ => command_flag::DF * u16::from(structured),
                command::BLOCK_STATUS => command_flag::REQ_ONE,
                _ => 0,
            };
            let range = offset as usize..offset as usize + length as usize;
            let right = flags & !(known | command_flag::FUA) == 0
                && range.end <= bytes
                && kind <= command::BLOCK_STATUS
                && (kind != command::BLOCK_STATUS || (structured && length > 0));
            prop_assert_eq!(result.is_ok(), right, "{} {} {} {}: {:?}", kind, flags, offset, length, result);
            let Ok(reply) = result else { continue };
            match kind {
                command::READ => prop_assert_eq!(&reply.data[..], &model[range]),
                command::WRITE => model[range].fill(stamp),
                command::WRITE_ZEROES | command::TRIM => model[range].fill(0),
                _ => {}
            }
        }
        client.disconnect().unwrap();
    }
}
