//! More clients than a server allows: inactive ones are disconnected, active ones stay.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Bed, Held, LONG};
use shingle_nbd::client::Client;
use shingle_nbd::export::{Answer, Command};
use shingle_nbd::listen::Listener;
use shingle_nbd::memory::Memory;
use shingle_nbd::requests::Request;
use shingle_nbd::server::{Event, Limits};
use shingle_nbd::stream::Stream;
use shingle_nbd::wire::command;

/// A server of at most `connections`; inactive ones can be disconnected after `idle`.
fn bed(export: Arc<dyn shingle_nbd::export::Export>, connections: usize, idle: Duration) -> Bed {
    Bed::with(export, 1, Limits { connections, idle, ..Limits::default() })
}

fn gave_way(bed: &Bed) -> u64 {
    bed.event(|event| match event {
        Event::GaveWay(id, _) => Some(id),
        Event::Left(..) | Event::CutOff(..) => panic!("{event}"),
        _ => None,
    })
}

/// Checks that the server has hung up.
fn is_cut_off(stream: &UnixStream) {
    let ended = std::io::copy(&mut { stream }, &mut std::io::sink());
    assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
}

fn works(client: &mut Client<UnixStream>) {
    client.flush().expect("connected").expect("flushed");
}

const HOUR: Duration = Duration::from_secs(3600);

/// A client that is silent after the greeting, which it has received: later clients are silent for
/// a shorter time.
fn greeted(bed: &Bed) -> UnixStream {
    let mut stream = bed.raw();
    std::io::Read::read_exact(&mut stream, &mut [0; 18]).expect("a greeting");
    stream
}

#[test]
fn half_open_connections_give_way_the_one_longest_silent_first() {
    let bed = bed(Arc::new(Memory::new(4096)), 4, HOUR);
    // A client in transmission came first and has done nothing since: it may stay for an hour.
    let mut first = bed.client(true);
    let silent: Vec<UnixStream> = (0..3).map(|_| greeted(&bed)).collect();
    let mut newer: Vec<Client<UnixStream>> = Vec::new();
    for (nth, stream) in (2..).zip(&silent) {
        newer.push(bed.client(true));
        assert_eq!(gave_way(&bed), nth);
        is_cut_off(stream);
    }
    // Now all are in transmission, and none has been idle for long enough.
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    assert!(!bed.server.adopt(Stream::Unix(theirs)));
    is_cut_off(&ours);
    works(&mut first);
    newer.iter_mut().for_each(works);
}

#[test]
fn sixty_four_half_open_connections_lock_no_client_out() {
    let bed = Bed::new(Arc::new(Memory::new(4096)));
    let _silent: Vec<UnixStream> = (0..64).map(|_| bed.raw()).collect();
    let mut clients: Vec<_> = (0..64).map(|_| bed.client(true)).collect();
    clients.iter_mut().for_each(works);
    assert_eq!(bed.server.connections(), 64);
}

#[test]
fn idle_connections_give_way_the_one_idle_for_the_longest_time_first() {
    let bed = bed(Arc::new(Memory::new(4096)), 3, Duration::ZERO);
    let mut clients: Vec<_> = (0..3).map(|_| bed.client(true)).collect();
    // The second is idle for the longest time, then the third.
    [1, 2, 0].into_iter().for_each(|nth: usize| works(&mut clients[nth]));
    let mut newer: Vec<_> = Vec::new();
    for nth in [1, 2, 0] {
        newer.push(bed.client(true));
        assert_eq!(gave_way(&bed), nth as u64 + 1);
        is_cut_off(clients[nth].stream());
    }
    newer.iter_mut().for_each(works);
    assert_eq!(bed.server.connections(), 3);
}

#[test]
fn one_that_the_export_works_for_is_never_cut_off() {
    let held = Held::new();
    let bed = bed(Arc::clone(&held) as _, 1, Duration::ZERO);
    let mut busy = bed.client(true);
    busy.send(command::WRITE, 0, 0, 3, b"abc").expect("sent");
    let (_, done) = held.next();
    for _ in 0..3 {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        assert!(!bed.server.adopt(Stream::Unix(theirs)));
        is_cut_off(&ours);
    }
    done.done(Ok(Answer::Done));
    assert_eq!(busy.receive().expect("answered").error, None);
    // Now it is idle.
    let _new = bed.raw();
    assert_eq!(gave_way(&bed), 1);
}

#[test]
fn who_stalls_in_a_request_gives_way() {
    let held = Held::new();
    let bed = bed(Arc::clone(&held) as _, 1, Duration::ZERO);
    // The payload is missing, once for a valid request and once for a refused one.
    for (nth, flags) in (1..).zip([0, 0x8000]) {
        let mut stalled = bed.client(true);
        let before = held.kicks.load(Ordering::Relaxed);
        stalled.send(command::FLUSH, 0, 0, 0, &[]).expect("sent");
        held.next().1.done(Ok(Answer::Done));
        stalled.receive().expect("answered");
        let mut bytes = Vec::new();
        let request = Request { flags, kind: command::WRITE, cookie: 1, offset: 0, length: 100 };
        request.encode(&mut bytes);
        bytes.resize(60, 0xff);
        stalled.stream().write_all(&bytes).expect("sent");
        // The export is kicked before the server waits: for the first request (if that is not
        // counted in `before`), for the second, and for the payload.
        let begun = Instant::now();
        while held.kicks.load(Ordering::Relaxed) < before + 2 {
            assert!(begun.elapsed() < LONG, "the payload is not waited for");
            std::thread::yield_now();
        }
        let new = loop {
            let (ours, theirs) = UnixStream::pair().expect("two sockets");
            if bed.server.adopt(Stream::Unix(theirs)) {
                break ours;
            }
            assert!(begun.elapsed() < LONG, "it does not give way");
        };
        assert_eq!(gave_way(&bed), 2 * nth - 1);
        is_cut_off(stalled.stream());
        drop(new);
        bed.event(|event| match event {
            Event::Left(id, _) | Event::CutOff(id, _) => (id == 2 * nth).then_some(()),
            _ => None,
        });
    }
}

#[test]
fn who_takes_no_reply_gives_way() {
    let held = Held::new();
    let bed = bed(Arc::clone(&held) as _, 1, Duration::ZERO);
    let mut deaf = bed.client(false);
    deaf.send(command::READ, 0, 0, 32 << 20, &[]).expect("sent");
    let (read, done) = held.next();
    let Command::Read { length, .. } = read else { panic!("{read:?}") };
    done.done(Ok(Answer::Data(vec![1; length as usize])));
    // Some of it arrives: the server is about to send the rest.
    deaf.stream().read_exact(&mut [0; 16]).expect("the head of the reply");
    let mut new = bed.client(true);
    assert_eq!(gave_way(&bed), 1);
    is_cut_off(deaf.stream());
    new.send(command::FLUSH, 0, 0, 0, &[]).expect("sent");
    held.next().1.done(Ok(Answer::Done));
    assert_eq!(new.receive().expect("answered").error, None);
}

/// Each connection has 10 kB, and all share 40 kB more.
fn short_of_memory(idle: Duration) -> (Arc<Held>, Bed) {
    let held = Held::new();
    let limits = Limits { connections: 4, memory_bytes_all: 80_000, idle, ..Limits::default() };
    let bed = Bed::with(Arc::clone(&held) as _, 1, limits);
    (held, bed)
}

fn answer((command, done): (Command, shingle_nbd::export::Completion)) {
    match command {
        Command::Read { length, .. } => done.done(Ok(Answer::Data(vec![1; length as usize]))),
        other => panic!("{other:?}"),
    }
}

fn asks(client: &mut Client<UnixStream>, bytes: u32) {
    client.send(command::READ, 0, 0, bytes, &[]).expect("sent");
}

fn hears(client: &mut Client<UnixStream>, bytes: usize) {
    assert_eq!(client.receive().expect("answered").data.len(), bytes);
}

#[test]
fn a_connection_that_needs_memory_of_others_waits_and_holds_up_none() {
    let (held, bed) = short_of_memory(HOUR);
    let short = Duration::from_millis(100);
    let mut clients: Vec<_> = (0..3).map(|_| bed.client(true)).collect();
    let [greedy, waits, modest] = &mut clients[..] else { unreachable!() };
    asks(greedy, 50_000);
    let all_there_is = held.next();
    asks(waits, 20_000);
    assert!(held.none_within(short), "there is no memory for it");
    for _ in 0..3 {
        asks(modest, 10_000);
        answer(held.next());
        hears(modest, 10_000);
    }
    answer(all_there_is);
    hears(greedy, 50_000);
    let second = held.next();
    // Now half of the shared memory is in use.
    asks(greedy, 30_001);
    answer(second);
    hears(waits, 20_000);
    answer(held.next());
    hears(greedy, 30_001);
    // A request larger than all memory is served alone.
    asks(modest, 1 << 20);
    let large = held.next();
    asks(waits, 10_001);
    assert!(held.none_within(short));
    answer(large);
    hears(modest, 1 << 20);
    answer(held.next());
    hears(waits, 10_001);
}

#[test]
fn who_stalls_with_memory_for_which_others_wait_gives_way() {
    let (held, bed) = short_of_memory(Duration::ZERO);
    let mut stalled = bed.client(true);
    let request = Request { flags: 0, kind: command::WRITE, cookie: 1, offset: 0, length: 50_000 };
    let mut bytes = Vec::new();
    request.encode(&mut bytes);
    let before = held.kicks.load(Ordering::Relaxed);
    stalled.stream().write_all(&bytes).expect("sent");
    let begun = Instant::now();
    // (Before it waits for memory, and before it waits for the payload.)
    while held.kicks.load(Ordering::Relaxed) < before + 2 {
        assert!(begun.elapsed() < LONG, "the payload is not waited for");
        std::thread::yield_now();
    }
    let mut waits = bed.client(true);
    asks(&mut waits, 20_000);
    answer(held.next());
    hears(&mut waits, 20_000);
    assert_eq!(gave_way(&bed), 1);
    is_cut_off(stalled.stream());
}

#[test]
fn requests_of_who_has_gone_are_not_begun() {
    let held = Held::new();
    let limits = Limits { requests_in_flight: 1, ..Limits::default() };
    let bed = Bed::with(Arc::clone(&held) as _, 1, limits);
    let mut client = bed.client(false);
    (0..3).for_each(|_| asks(&mut client, 4096));
    let first = held.next();
    drop(client);
    answer(first);
    let end = bed.event(|event| match event {
        Event::Left(1, end) => Some(end),
        Event::CutOff(_, why) => panic!("{why}"),
        _ => None,
    });
    assert_eq!(end, shingle_nbd::connection::End::HungUp);
    assert!(held.none_within(Duration::ZERO));
}

/// As on a system without free descriptors, which may last for days.
#[test]
fn that_the_system_gives_no_connections_is_told_once() {
    let bed = Bed::new(Arc::new(Memory::new(4096)));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sock");
    let socket = shingle_testbed::bound_socket(&path);
    // Until it listens each call is an error.
    let not_yet = socket.try_clone().expect("the same").into();
    bed.server.listen(Listener::inherit_unix(not_yet).expect("a path")).expect("a thread");
    std::thread::sleep(Duration::from_millis(350));
    rustix::net::listen(&socket, 1).expect("it listens");
    let _client = UnixStream::connect(&path).expect("connected");
    let told = AtomicUsize::new(0);
    bed.event(|event| match event {
        Event::Starved(_) => {
            told.fetch_add(1, Ordering::Relaxed);
            None
        }
        Event::Connected(_) => Some(()),
        _ => None,
    });
    assert_eq!(told.into_inner(), 1);
}
