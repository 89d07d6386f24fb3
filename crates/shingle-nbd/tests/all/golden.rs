//! Every message, byte for byte, written by hand from the specification.

use shingle_nbd::batch::Batch;
use shingle_nbd::export::{Answer, Contexts, Extent, Failure, Piece};
use shingle_nbd::handshake::{Agreement, ExportInfo, Handshake, Step};
use shingle_nbd::replies::ErrorCode;
use shingle_nbd::requests::Request;
use shingle_nbd::session::Session;

/// Decodes digits of `hex` and quoted letters; spaces are ignored.
fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, part) in text.split('"').enumerate() {
        if i % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: String = part.split_whitespace().collect();
        assert_eq!(digits.len() % 2, 0, "{part:?}");
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
        bytes.extend((0..digits.len()).step_by(2).map(byte));
    }
    bytes
}

fn exports() -> Vec<ExportInfo> {
    let export = |name: &str, description: &str, size_bytes, read_only, minimum_block| {
        let (name, description) = (name.to_owned(), description.to_owned());
        ExportInfo { name, description, size_bytes, read_only, minimum_block }
    };
    vec![export("a", "an A", 0x12_3456, false, 1), export("bé", "", 4096, true, 4096)]
}

/// The server's reply to `input`, without its greeting, and the last step.
fn answer(client_flags: &str, input: &str) -> (Vec<u8>, Step) {
    let exports = exports();
    let mut out = Vec::new();
    let mut handshake = Handshake::new(&exports, &mut out);
    assert_eq!(out, hex("\"NBDMAGICIHAVEOPT\" 0003"));
    out.clear();
    let input = hex(&format!("{client_flags} {input}"));
    let mut at = 0;
    loop {
        let (taken, step) = handshake.step(&input[at..], &mut out).expect("well-formed");
        at += taken;
        if step != Step::Again {
            assert_eq!(at, input.len(), "bytes were left");
            return (out, step);
        }
    }
}

const REPLY: &str = "0003e889045565a9";

fn options(input: &str, output: &str) {
    let (out, step) = answer("00000003", input);
    let expected = hex(&output.replace("REPLY", REPLY));
    assert_eq!(out, expected, "{input}");
    assert_eq!(step, Step::More);
}

#[test]
fn export_name() {
    // Size; flags: HAS, FLUSH, FUA, TRIM, ZEROES, MULTI, CACHE, FAST_ZERO = 0x0d6d.
    let (out, step) = answer("00000003", "\"IHAVEOPT\" 00000001 00000001 \"a\"");
    assert_eq!(out, hex("0000000000123456 0d6d"));
    let agreement = Agreement { export: 0, structured: false, contexts: Contexts::NONE };
    assert_eq!(step, Step::Serve(agreement));
    // Without NO_ZEROES 124 zeros follow.
    let (out, _) = answer("00000001", "\"IHAVEOPT\" 00000001 00000001 \"a\"");
    assert_eq!(out, [hex("0000000000123456 0d6d"), vec![0; 124]].concat());
    // With several exports none has the empty name.
    let (out, step) = answer("00000003", "\"IHAVEOPT\" 00000001 00000000");
    assert_eq!((out, step), (Vec::new(), Step::Close));
    // Read-only: HAS, READ_ONLY, FLUSH, FUA, MULTI, CACHE.
    let (out, _) = answer("00000003", "\"IHAVEOPT\" 00000001 00000003 \"bé\"");
    assert_eq!(out, hex("0000000000001000 050f"));
    let (out, step) = answer("00000003", "\"IHAVEOPT\" 00000001 00000002 \"no\"");
    assert_eq!((out, step), (Vec::new(), Step::Close));
}

#[test]
fn abort() {
    let expected = hex(&format!("{REPLY} 00000002 00000001 00000000"));
    for data in ["00000000", "00000003 \"bye\""] {
        let (out, step) = answer("00000003", &format!("\"IHAVEOPT\" 00000002 {data}"));
        assert_eq!((out, step), (expected.clone(), Step::Close));
    }
}

#[test]
fn list() {
    options(
        "\"IHAVEOPT\" 00000003 00000000",
        "REPLY 00000003 00000002 00000009 00000001 \"aan A\"
         REPLY 00000003 00000002 00000007 00000003 \"bé\"
         REPLY 00000003 00000001 00000000",
    );
    options(
        "\"IHAVEOPT\" 00000003 00000001 00",
        "REPLY 00000003 80000003 00000023 \"a message is longer than its fields\"",
    );
}

#[test]
fn refused_options() {
    options(
        "\"IHAVEOPT\" 00000005 00000000",
        "REPLY 00000005 80000002 0000001c \"this server does not encrypt\"",
    );
    // PEEK_EXPORT, EXTENDED_HEADERS, and an unknown option whose data is skipped.
    for (number, data) in [("00000004", ""), ("0000000b", ""), ("7fffffff", "ff 00 ff")] {
        let length = data.split_whitespace().count();
        options(
            &format!("\"IHAVEOPT\" {number} {length:08x} {data}"),
            &format!("REPLY {number} 80000001 00000024 \"this server does not know the option\""),
        );
    }
}

#[test]
fn info_and_go() {
    let infos = |option: &str| {
        format!(
            "REPLY {option} 00000003 0000000c 0000 0000000000123456 0d6d
             REPLY {option} 00000003 00000003 0001 \"a\"
             REPLY {option} 00000003 00000006 0002 \"an A\"
             REPLY {option} 00000003 0000000e 0003 00000001 00001000 02000000
             REPLY {option} 00000001 00000000"
        )
    };
    let data = "00000011 00000001 \"a\" 0005 0000 0001 0002 0003 7777";
    options(&format!("\"IHAVEOPT\" 00000006 {data}"), &infos("00000006"));
    let (out, step) = answer("00000003", &format!("\"IHAVEOPT\" 00000007 {data}"));
    assert_eq!(out, hex(&infos("00000007").replace("REPLY", REPLY)));
    assert!(matches!(step, Step::Serve(Agreement { export: 0, structured: false, .. })));
    // No information requested: the size, and the block sizes, which every client gets.
    options(
        "\"IHAVEOPT\" 00000006 00000009 00000003 \"bé\" 0000",
        "REPLY 00000006 00000003 0000000c 0000 0000000000001000 050f
         REPLY 00000006 00000003 0000000e 0003 00001000 00001000 02000000
         REPLY 00000006 00000001 00000000",
    );
    options(
        "\"IHAVEOPT\" 00000007 00000007 00000001 \"x\" 0000",
        "REPLY 00000007 80000006 0000001b \"there is no export \" 22 \"x\" 22 \" here\"",
    );
    options(
        "\"IHAVEOPT\" 00000007 00000007 00000009 \"x\" 0000",
        "REPLY 00000007 80000003 00000027 \"a message ends in the middle of a field\"",
    );
}

#[test]
fn structured_replies_and_contexts() {
    let ack = "REPLY 00000008 00000001 00000000";
    options("\"IHAVEOPT\" 00000008 00000000", ack);
    // All contexts; those of a namespace; none of an unknown one.
    let list = |queries: &str, length: &str| {
        format!("\"IHAVEOPT\" 00000009 {length} 00000001 \"a\" {queries}")
    };
    options(
        &list("00000000", "00000009"),
        "REPLY 00000009 00000004 00000013 00000000 \"base:allocation\"
         REPLY 00000009 00000004 00000011 00000000 \"shingle:dirty\"
         REPLY 00000009 00000001 00000000",
    );
    options(
        &list("00000002 00000008 \"shingle:\" 00000005 \"qemu:\"", "0000001e"),
        "REPLY 00000009 00000004 00000011 00000000 \"shingle:dirty\"
         REPLY 00000009 00000001 00000000",
    );
    let set = "\"IHAVEOPT\" 0000000a 0000001c 00000001 \"a\" 00000001 0000000f \"base:allocation\"";
    options(
        set,
        "REPLY 0000000a 80000003 0000002e \"structured replies have to be negotiated first\"",
    );
    let go = "\"IHAVEOPT\" 00000007 00000007 00000001 \"a\" 0000";
    let (out, step) = answer("00000003", &format!("\"IHAVEOPT\" 00000008 00000000 {set} {go}"));
    // DF is among the flags now: 0x0ded.
    let expected = format!(
        "{ack}
         REPLY 0000000a 00000004 00000013 00000001 \"base:allocation\"
         REPLY 0000000a 00000001 00000000
         REPLY 00000007 00000003 0000000c 0000 0000000000123456 0ded
         REPLY 00000007 00000003 0000000e 0003 00000001 00001000 02000000
         REPLY 00000007 00000001 00000000"
    );
    assert_eq!(out, hex(&expected.replace("REPLY", REPLY)));
    let contexts = Contexts { allocation: true, dirty: false };
    assert_eq!(step, Step::Serve(Agreement { export: 0, structured: true, contexts }));
    // They were selected for export a, so they do not apply to the other one.
    let go = "\"IHAVEOPT\" 00000001 00000003 \"bé\"";
    let (_, step) = answer("00000003", &format!("\"IHAVEOPT\" 00000008 00000000 {set} {go}"));
    let contexts = Contexts::NONE;
    assert_eq!(step, Step::Serve(Agreement { export: 1, structured: true, contexts }));
    // A second SET that fails discards the contexts of the first; so does one with a wildcard.
    let bad = "\"IHAVEOPT\" 0000000a 0000000e 00000001 \"a\" 00000001 00000001 \"b\"";
    let wild = "\"IHAVEOPT\" 0000000a 00000012 00000001 \"a\" 00000001 00000005 \"base:\"";
    for second in [bad, wild] {
        let go = "\"IHAVEOPT\" 00000001 00000001 \"a\"";
        let all = format!("\"IHAVEOPT\" 00000008 00000000 {set} {second} {go}");
        let (_, step) = answer("00000003", &all);
        assert_eq!(step, Step::Serve(Agreement { export: 0, structured: true, contexts }));
    }
}

#[test]
fn request() {
    let bytes = hex("25609513 0011 0006 0102030405060708 0000000000001000 00000200");
    let request = Request::decode(bytes[..].try_into().expect("28 bytes")).expect("a request");
    let cookie = 0x0102_0304_0506_0708;
    let expected = Request { flags: 0x11, kind: 6, cookie, offset: 4096, length: 512 };
    assert_eq!(request, expected);
    let mut out = Vec::new();
    request.encode(&mut out);
    assert_eq!(out, bytes);
    let old = hex("12560953 0011 0006 0102030405060708 0000000000001000 00000200");
    assert!(Request::decode(old[..].try_into().expect("28 bytes")).is_err());
}

#[test]
fn only_writes_carry_a_payload() {
    // "Request message": only a write has data after it.
    for kind in 0..=8 {
        let request = Request { flags: 1, kind, cookie: 0, offset: 0, length: 6 };
        assert_eq!(request.payload_bytes(), if kind == 1 { 6 } else { 0 }, "{kind}");
    }
}

fn reply(structured: bool, kind: u16, flags: u16, result: Result<Answer, Failure>) -> Vec<u8> {
    reply_to(structured, Request { flags, kind, cookie: 0xc0, offset: 4096, length: 6 }, result)
}

fn reply_to(structured: bool, request: Request, result: Result<Answer, Failure>) -> Vec<u8> {
    let contexts = Contexts { allocation: structured, dirty: structured };
    let session = Session::new(&exports()[0], Agreement { export: 0, structured, contexts });
    let mut batch = Batch::default();
    session.reply(&request, result, &mut batch);
    let mut out = Vec::new();
    batch.send(&mut out).expect("into memory");
    out
}

#[test]
fn simple_replies() {
    let done = hex("67446698 00000000 00000000000000c0");
    assert_eq!(reply(false, 1, 0, Ok(Answer::Done)), done);
    assert_eq!(reply(true, 1, 0, Ok(Answer::Done)), done);
    let data = Answer::Data(b"ABCDEF".to_vec());
    assert_eq!(reply(false, 0, 0, Ok(data)), [&done[..], b"ABCDEF"].concat());
    let pieces = Answer::Pieces(vec![Piece::Zeroes(4), Piece::Data(b"YZ".to_vec())]);
    assert_eq!(reply(false, 0, 0, Ok(pieces)), [&done[..], b"\0\0\0\0YZ"].concat());
    let failed = Err(Failure::new(ErrorCode::NoSpc, "full").at(4096));
    assert_eq!(reply(false, 1, 0, failed), hex("67446698 0000001c 00000000000000c0"));
}

#[test]
fn structured_replies() {
    let data = || Answer::Data(b"ABCDEF".to_vec());
    let whole = "668e33ef 0001 0001 00000000000000c0 0000000e 0000000000001000 \"ABCDEF\"";
    assert_eq!(reply(true, 0, 0, Ok(data())), hex(whole));
    let pieces = || Answer::Pieces(vec![Piece::Zeroes(4), Piece::Data(b"YZ".to_vec())]);
    assert_eq!(
        reply(true, 0, 0, Ok(pieces())),
        hex("668e33ef 0000 0002 00000000000000c0 0000000c 0000000000001000 00000004
             668e33ef 0001 0001 00000000000000c0 0000000a 0000000000001004 \"YZ\"")
    );
    // DF: zeros are sent.
    assert_eq!(
        reply(true, 0, 4, Ok(pieces())),
        hex("668e33ef 0001 0001 00000000000000c0 0000000e 0000000000001000 00000000 \"YZ\"")
    );
    // Except if the reply consists of zeros only, which is a single piece anyway. Empty pieces are
    // ignored.
    let zeroes = || Answer::Pieces(vec![Piece::Data(Vec::new()), Piece::Zeroes(6)]);
    let hole = "668e33ef 0001 0002 00000000000000c0 0000000c 0000000000001000 00000006";
    assert_eq!(reply(true, 0, 4, Ok(zeroes())), hex(hole));
    assert_eq!(reply(true, 0, 0, Ok(zeroes())), hex(hole));
    // An empty read gets a chunk too: reads no longer have simple replies.
    let nothing = Request { flags: 0, kind: 0, cookie: 0xc0, offset: 4096, length: 0 };
    let done = "668e33ef 0001 0000 00000000000000c0 00000000";
    assert_eq!(reply_to(true, nothing, Ok(Answer::Done)), hex(done));
    let failure = || Failure::new(ErrorCode::Io, "bad");
    assert_eq!(
        reply(true, 0, 0, Err(failure())),
        hex("668e33ef 0001 8001 00000000000000c0 00000009 00000005 0003 \"bad\"")
    );
    let at = "668e33ef 0001 8002 00000000000000c0 00000011 00000005 0003 \"bad\" 0000000000001005";
    assert_eq!(reply(true, 0, 0, Err(failure().at(4101))), hex(at));
    // The offset of a failure must lie within the request.
    for outside in [4095, 4102] {
        let general = reply(true, 0, 0, Err(failure().at(outside)));
        assert_eq!(general, reply(true, 0, 0, Err(failure())));
    }
}

#[test]
fn block_status() {
    let extent = |length_bytes, flags| Extent { length_bytes, flags };
    let answer = || Answer::Status {
        allocation: vec![extent(1, 0), extent(2, 3), extent(1, 3), extent(1 << 40, 0)],
        dirty: vec![extent(2, 1)],
    };
    assert_eq!(
        reply(true, 7, 0, Ok(answer())),
        hex("668e33ef 0000 0005 00000000000000c0 0000001c 00000001
                 00000001 00000000  00000003 00000003  00000002 00000000
             668e33ef 0001 0005 00000000000000c0 0000000c 00000002 00000002 00000001")
    );
    assert_eq!(
        reply(true, 7, 8, Ok(answer())),
        hex("668e33ef 0000 0005 00000000000000c0 0000000c 00000001 00000001 00000000
             668e33ef 0001 0005 00000000000000c0 0000000c 00000002 00000002 00000001")
    );
}
