//! Misbehaving clients: each is refused or disconnected, others continue, and the server needs
//! little memory.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{Bed, Held, LONG};
use shingle_nbd::client::{Client, ClientOptions, ask, greet};
use shingle_nbd::connection::{CutOff, End};
use shingle_nbd::export::{Answer, Command};
use shingle_nbd::memory::Memory;
use shingle_nbd::options::{OptionReply, OptionRequest, Query, Refusal};
use shingle_nbd::requests::Request;
use shingle_nbd::server::{Event, Limits};
use shingle_nbd::wire::{Malformed, OPTION_MAGIC, command, option as option_number};

fn bed() -> Bed {
    Bed::new(Arc::new(Memory::new(1 << 20)))
}

/// Reads until the server hangs up.
fn drained(mut stream: &UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => bytes,
        // Some of the sent data was not read.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => bytes,
        Err(error) => panic!("the server did not hang up: {error}"),
    }
}

fn cut_off(bed: &Bed) -> CutOff {
    bed.event(|event| match event {
        Event::CutOff(_, why) => Some(why),
        Event::Left(..) => panic!("{event}"),
        _ => None,
    })
}

fn option(number: u32, length: u32) -> Vec<u8> {
    let fields = [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &length.to_be_bytes()];
    fields.concat()
}

#[test]
fn a_wrong_handshake_is_cut_off() {
    let flags = 3u32.to_be_bytes();
    let cases: Vec<(Vec<u8>, Malformed)> = vec![
        (4u32.to_be_bytes().to_vec(), Malformed::ClientFlags(4)),
        (b"GET / HTTP/1.1\r\n".to_vec(), Malformed::ClientFlags(0x4745_5420)),
        ([&flags[..], b"NBDMAGIC--------"].concat(), Malformed::Magic(0x4e42_444d_4147_4943)),
        ([&flags[..], &option(99, u32::MAX)].concat(), Malformed::OptionTooLong(u32::MAX)),
        // EXPORT_NAME cannot be refused.
        ([&flags[..], &option(1, 2), b"\xff\xff"].concat(), Malformed::Text),
        ([&flags[..], &option(1, 4097), &[b'a'; 4097]].concat(), Malformed::StringTooLong),
        ([&flags[..], &option(3, 0).repeat(1025)].concat(), Malformed::Options),
    ];
    let bed = bed();
    for (bytes, expected) in cases {
        let mut stream = bed.raw();
        let listening = stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || drained(&listening));
        stream.write_all(&bytes).unwrap();
        match cut_off(&bed) {
            CutOff::Malformed(why) => assert_eq!(why, expected),
            why => panic!("{why}"),
        }
        reader.join().unwrap();
    }
    bed.client(true).disconnect().unwrap();
}

/// As clients do after the reply that there is no such export.
#[test]
fn who_says_good_bye_need_not_wait_for_the_answer() {
    let bed = bed();
    let mut stream = bed.raw();
    greet(&mut stream).unwrap();
    stream.shutdown(std::net::Shutdown::Read).unwrap();
    stream.write_all(&option(option_number::ABORT, 0)).unwrap();
    let end = bed.event(|event| match event {
        Event::Left(_, end) => Some(end),
        Event::CutOff(..) => panic!("{event}"),
        _ => None,
    });
    assert_eq!(end, End::Closed);
}

#[test]
fn options_that_are_too_large_are_refused_and_the_handshake_goes_on() {
    let bed = bed();
    let mut stream = bed.raw();
    greet(&mut stream).unwrap();
    let refusal = |stream: &mut UnixStream, request: &OptionRequest<'_>| {
        let mut refusals = Vec::new();
        ask(stream, request, |reply| match reply {
            OptionReply::Error { refusal, .. } => refusals.push(*refusal),
            reply => panic!("{reply:?}"),
        })
        .unwrap();
        refusals
    };
    let long = "x".repeat(4097);
    let queries = vec!["base:allocation"; 65];
    let many = Query { name: "", queries };
    for request in [
        OptionRequest::ListMetaContext(many),
        OptionRequest::ListMetaContext(Query { name: &long, queries: Vec::new() }),
        OptionRequest::ListMetaContext(Query { name: "", queries: vec![&long] }),
    ] {
        assert_eq!(refusal(&mut stream, &request), [Refusal::TooBig]);
    }
    let bad = Query { name: "", queries: vec!["allocation"] };
    assert_eq!(refusal(&mut stream, &OptionRequest::ListMetaContext(bad)), [Refusal::Invalid]);
    // 1 MiB of data: of a known option, and of an unknown one. It arrives in pieces.
    for (number, expected) in [(9, 0x8000_0009u32), (77, 0x8000_0001)] {
        stream.write_all(&option(number, 1 << 20)).unwrap();
        (0..1024).for_each(|_| stream.write_all(&[b'a'; 1024]).unwrap());
        let mut header = [0; 20];
        stream.read_exact(&mut header).unwrap();
        assert_eq!(header[12..16], expected.to_be_bytes());
        let bytes = u32::from_be_bytes(header[16..].try_into().unwrap());
        stream.read_exact(&mut vec![0; bytes as usize]).unwrap();
    }
    let mut seen = 0;
    ask(&mut stream, &OptionRequest::List, |_| seen += 1).unwrap();
    assert_eq!(seen, 2);
    ask(&mut stream, &OptionRequest::Abort, |_| seen += 1).unwrap();
    assert_eq!(drained(&stream), b"");
}

#[test]
fn who_stalls_in_the_handshake_is_cut_off() {
    let handshake = Duration::from_millis(300);
    let limits = Limits { handshake, ..Limits::default() };
    let bed = Bed::with(Arc::new(Memory::new(4096)), 1, limits);
    // One client is silent, one sends a little now and then, one sends requests without reading.
    let silent = bed.raw();
    let mut slow = bed.raw();
    let mut deaf = bed.raw();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for byte in [0, 0, 0, 3].into_iter().chain(b"IHAVEOPT".repeat(1000)) {
                if slow.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        scope.spawn(|| {
            let _ = deaf.write_all(&3u32.to_be_bytes());
            while deaf.write_all(&option(3, 0)).is_ok() {}
        });
        for _ in 0..3 {
            match cut_off(&bed) {
                CutOff::Slow(_) | CutOff::Malformed(Malformed::Options) => {}
                why => panic!("{why}"),
            }
        }
    });
    assert!(start.elapsed() >= handshake);
    assert!(drained(&silent).len() <= 18);
    assert_eq!(bed.server.connections(), 0);
}

#[test]
fn a_wrong_request_ends_the_connection_after_the_replies_to_those_before() {
    let bed = bed();
    let mut client = bed.client(true);
    let cookie = client.send(command::READ, 0, 0, 8, &[]).unwrap();
    client.stream().write_all(&[0xaa; 28]).unwrap();
    let reply = client.receive().unwrap();
    assert_eq!((reply.cookie, reply.data.len()), (cookie, 8));
    assert!(matches!(cut_off(&bed), CutOff::Malformed(Malformed::Magic(0xaaaa_aaaa))));
    assert_eq!(drained(client.stream()), b"");
}

#[test]
fn a_client_may_vanish_at_any_point() {
    let bed = bed();
    // In the middle of a request or a payload: nothing is written.
    for sent in [1, 27, 28, 29, 127] {
        let mut client = bed.client(true);
        let mut bytes = Vec::new();
        Request { flags: 0, kind: command::WRITE, cookie: 1, offset: 0, length: 100 }
            .encode(&mut bytes);
        bytes.resize(128, 0xff);
        client.stream().write_all(&bytes[..sent]).unwrap();
        drop(client);
        assert_eq!(cut_off(&bed).to_string(), "it hung up in the middle of a message");
    }
    assert_eq!(bed.client(true).read(0, 100).unwrap().unwrap(), [0; 100]);
    // With requests in flight, and without reading the replies.
    for _ in 0..20 {
        let mut client = bed.client(false);
        for _ in 0..50 {
            client.send(command::READ, 0, 0, 1 << 14, &[]).unwrap();
        }
    }
    let deadline = Instant::now() + LONG;
    while bed.server.connections() > 0 {
        assert!(Instant::now() < deadline, "connections do not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn no_more_requests_are_read_than_may_be_under_way() {
    let held = Held::new();
    let limits = Limits { requests_in_flight: 4, memory_bytes: 10_000, ..Limits::default() };
    let bed = Bed::with(Arc::clone(&held) as _, 1, limits);
    let short = Duration::from_millis(100);
    let mut client = bed.client(true);
    for _ in 0..10 {
        client.send(command::FLUSH, 0, 0, 0, &[]).unwrap();
    }
    let mut under_way: Vec<_> = (0..4).map(|_| held.next().1).collect();
    assert!(held.none_within(short));
    for _ in 0..6 {
        under_way.remove(0).done(Ok(Answer::Done));
        client.receive().unwrap();
        under_way.push(held.next().1);
    }
    under_way.into_iter().for_each(|done| done.done(Ok(Answer::Done)));
    (0..4).for_each(|_| drop(client.receive().unwrap()));
    // Payload: two of 5000 bytes fit; one that is larger than all memory is served alone.
    for length in [5000, 5000, 1, 20_000] {
        client.send(command::READ, 0, 0, length, &[]).unwrap();
    }
    let answer = |(command, done): (Command, shingle_nbd::export::Completion)| match command {
        Command::Read { length, .. } => done.done(Ok(Answer::Data(vec![1; length as usize]))),
        command => panic!("{command:?}"),
    };
    let (first, second) = (held.next(), held.next());
    assert!(held.none_within(short));
    answer(first);
    let third = held.next();
    assert!(held.none_within(short));
    answer(second);
    assert!(held.none_within(short));
    answer(third);
    answer(held.next());
    (0..4).for_each(|_| drop(client.receive().unwrap()));
}

#[test]
fn one_connection_too_many_is_closed() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let bed = Bed::with(Arc::new(Memory::new(4096)), 1, limits);
    let (mut one, two) = (bed.client(true), bed.client(true));
    let (ours, theirs) = UnixStream::pair().unwrap();
    assert!(!bed.server.adopt(shingle_nbd::stream::Stream::Unix(theirs)));
    assert_eq!(drained(&ours), b"");
    one.flush().unwrap().unwrap();
    two.disconnect().unwrap();
    bed.event(|event| matches!(event, Event::Left(2, End::Closed)).then_some(()));
    bed.client(false).flush().unwrap().unwrap();
}

#[test]
fn stopping_answers_what_is_under_way_and_sends_the_idle_away() {
    let held = Held::new();
    let mut bed = Bed::new(Arc::clone(&held) as _);
    let mut idle = bed.client(true);
    let mut busy = bed.client(true);
    let shaking = bed.raw();
    busy.send(command::WRITE, 0, 0, 3, b"abc").unwrap();
    let (_, done) = held.next();
    let nothing = Bed::new(Arc::new(Memory::new(1)));
    let server = std::mem::replace(&mut bed.server, nothing.server);
    let stopped = std::thread::spawn(move || server.stop(LONG));
    assert_eq!(drained(idle.stream()), b"");
    drained(&shaking);
    done.done(Ok(Answer::Done));
    assert_eq!(busy.receive().unwrap().error, None);
    assert_eq!(drained(busy.stream()), b"");
    assert_eq!(stopped.join().unwrap(), 0);
}

#[test]
fn stopping_does_not_wait_for_an_export_that_never_answers() {
    let held = Held::new();
    let mut bed = Bed::new(Arc::clone(&held) as _);
    let mut busy = bed.client(true);
    busy.send(command::FLUSH, 0, 0, 0, &[]).unwrap();
    let under_way = held.next();
    let nothing = Bed::new(Arc::new(Memory::new(1)));
    let server = std::mem::replace(&mut bed.server, nothing.server);
    assert_eq!(server.stop(Duration::from_millis(50)), 1);
    assert_eq!(drained(busy.stream()), b"");
    // A late answer is dropped.
    under_way.1.done(Ok(Answer::Done));
}

#[test]
fn an_export_that_panics_ends_its_connection_only() {
    struct Panics;
    impl shingle_nbd::export::Export for Panics {
        fn size_bytes(&self) -> u64 {
            4096
        }
        fn submit(&self, command: Command, done: shingle_nbd::export::Completion) {
            assert!(!matches!(command, Command::Flush), "a bug of the export (expected here)");
            done.done(Ok(Answer::Done));
        }
    }
    let bed = Bed::new(Arc::new(Panics));
    let (mut one, mut two) = (bed.client(true), bed.client(true));
    assert_eq!(one.flush().unwrap().expect_err("an error").code, 5);
    bed.event(|event| matches!(event, Event::Panicked(1)).then_some(()));
    assert_eq!(drained(one.stream()), b"");
    two.write(0, b"x", 0).unwrap().unwrap();
}

#[test]
fn no_such_export() {
    let bed = bed();
    let options = ClientOptions { export: "other", structured: true, contexts: &[] };
    let refused = Client::connect(bed.raw(), &options).expect_err("refused");
    assert!(refused.to_string().contains("Unknown: there is no export \"other\""), "{refused}");
}
