//! All commands over a socket pair: their results, and the errors that the specification requires.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::common::{Bed, Failing, Held, Shuffled};
use shingle_nbd::client::Client;
use shingle_nbd::export::{Answer, Command, Completion, DIRTY, Export, Failure, HOLE, ZERO};
use shingle_nbd::memory::Memory;
use shingle_nbd::replies::{Descriptor, ErrorCode};
use shingle_nbd::server::Limits;
use shingle_nbd::wire::{PAYLOAD_BYTES_MAX, command, command_flag};

const MIB: u64 = 1 << 20;

fn code<T: std::fmt::Debug>(result: std::io::Result<Result<T, shingle_nbd::client::Error>>) -> u32 {
    result.expect("the connection is whole").expect_err("an error").code
}

fn memory() -> (Arc<Memory>, Bed) {
    let memory = Arc::new(Memory::with_crashes(MIB as usize));
    let bed = Bed::new(Arc::clone(&memory) as _);
    (memory, bed)
}

#[test]
fn data_come_back() {
    for structured in [false, true] {
        let (_, bed) = memory();
        let mut client = bed.client(structured);
        assert_eq!(client.size_bytes(), MIB);
        let data: Vec<u8> = (0..9001u32).map(|i| (i % 251) as u8).collect();
        client.write(4095, &data, 0).unwrap().unwrap();
        assert_eq!(client.read(4095, 9001).unwrap().unwrap(), data);
        let around = client.read(4090, 9011).unwrap().unwrap();
        assert_eq!(around[..5], [0; 5]);
        assert_eq!(around[5..9006], data);
        assert_eq!(around[9006..], [0; 5]);
        client.write(MIB - 1, b"!", 0).unwrap().unwrap();
        assert_eq!(client.read(MIB - 2, 2).unwrap().unwrap(), b"\0!");
        client.disconnect().unwrap();
    }
}

#[test]
fn the_largest_payload_goes_both_ways() {
    let bed = Bed::new(Arc::new(Memory::new(40 << 20)));
    let mut client = bed.client(true);
    let data: Vec<u8> = (0..PAYLOAD_BYTES_MAX).map(|i| (i % 253) as u8).collect();
    client.write(12345, &data, 0).unwrap().unwrap();
    assert!(client.read(12345, PAYLOAD_BYTES_MAX).unwrap().unwrap() == data);
    // One byte more is refused, and the connection continues.
    assert_eq!(code(client.read(0, PAYLOAD_BYTES_MAX + 1)), ErrorCode::Inval as u32);
    let long = vec![1; PAYLOAD_BYTES_MAX as usize + 1];
    assert_eq!(code(client.write(0, &long, 0)), ErrorCode::Inval as u32);
    let one = client.call(command::READ, command_flag::DF, 0, PAYLOAD_BYTES_MAX + 1, &[]);
    assert_eq!(code(one), ErrorCode::Overflow as u32);
    assert_eq!(client.read(0, 3).unwrap().unwrap(), [0; 3]);
}

#[test]
fn holes_are_not_sent() {
    let (_, bed) = memory();
    let mut client = bed.client(true);
    client.write(8192, &[7; 4096], 0).unwrap().unwrap();
    let read = |client: &mut Client<_>, flags| {
        client.call(command::READ, flags, 4096, 12288, &[]).unwrap().unwrap()
    };
    let reply = read(&mut client, 0);
    assert_eq!(reply.pieces, [(4096, 4096, true), (8192, 4096, false), (12288, 4096, true)]);
    let whole = read(&mut client, command_flag::DF);
    assert_eq!(whole.pieces, [(4096, 12288, false)]);
    assert_eq!(whole.data, reply.data);
    let hole = client.call(command::READ, command_flag::DF, 0, 4096, &[]).unwrap().unwrap();
    assert_eq!(hole.pieces, [(0, 4096, true)]);
}

#[test]
fn a_flush_or_fua_makes_durable_and_nothing_else_does() {
    let (memory, bed) = memory();
    let mut one = bed.client(true);
    let mut other = bed.client(false);
    let lost = |client: &mut Client<_>, offset| {
        memory.crash();
        client.read(offset, 1).unwrap().unwrap() == [0]
    };
    one.write(0, b"a", 0).unwrap().unwrap();
    assert!(lost(&mut one, 0));
    one.write(0, b"a", command_flag::FUA).unwrap().unwrap();
    assert!(!lost(&mut one, 0));
    one.write(5000, b"b", 0).unwrap().unwrap();
    // Multi-conn: a flush on another connection covers it.
    other.flush().unwrap().unwrap();
    assert!(!lost(&mut one, 5000));
    one.write(9000, b"c", 0).unwrap().unwrap();
    assert!(lost(&mut other, 9000));
    // FUA covers only its own bytes, even in the same block.
    one.write(20000, b"d", 0).unwrap().unwrap();
    one.write(20001, b"e", command_flag::FUA).unwrap().unwrap();
    assert!(lost(&mut one, 20000));
    assert!(!lost(&mut one, 20001));
    let zero = |client: &mut Client<_>, kind, flags| {
        client.call(kind, flags, 0, 4096, &[]).unwrap().unwrap();
    };
    for (kind, flags) in [(command::WRITE_ZEROES, command_flag::NO_HOLE), (command::TRIM, 0)] {
        one.write(0, b"a", command_flag::FUA).unwrap().unwrap();
        zero(&mut one, kind, flags);
        assert!(!lost(&mut one, 0));
        zero(&mut one, kind, flags | command_flag::FUA);
        assert!(lost(&mut one, 0));
    }
}

#[test]
fn status_tells_holes_and_dirty_blocks() {
    let (_, bed) = memory();
    let mut client = bed.client(true);
    assert_eq!(client.contexts().len(), 2);
    client.write(4096, &[1; 8192], 0).unwrap().unwrap();
    client.flush().unwrap().unwrap();
    client.write(8192, &[2; 4096], 0).unwrap().unwrap();
    let status = |client: &mut Client<_>, flags, offset, length| {
        client.call(command::BLOCK_STATUS, flags, offset, length, &[]).unwrap().unwrap().status
    };
    let d = |length, flags| Descriptor { length, flags };
    let hole = HOLE | ZERO;
    assert_eq!(
        status(&mut client, 0, 0, 65536),
        [
            (1, vec![d(4096, hole), d(8192, 0), d(53248, hole)]),
            (2, vec![d(8192, 0), d(4096, DIRTY), d(53248, 0)])
        ]
    );
    assert_eq!(
        status(&mut client, command_flag::REQ_ONE, 8000, 65536),
        [(1, vec![d(4288, 0)]), (2, vec![d(192, 0)])]
    );
    client.call(command::TRIM, 0, 4096, 4096, &[]).unwrap().unwrap();
    client.call(command::WRITE_ZEROES, command_flag::NO_HOLE, 0, 4096, &[]).unwrap().unwrap();
    client.call(command::WRITE_ZEROES, command_flag::FAST_ZERO, 8192, 4096, &[]).unwrap().unwrap();
    assert_eq!(status(&mut client, 0, 0, 12288)[0], (1, vec![d(4096, 0), d(8192, hole)]));
    // Contexts that were not requested are not reported.
    let mut plain = bed.client(false);
    let refused = plain.call(command::BLOCK_STATUS, 0, 0, 4096, &[]);
    assert_eq!(code(refused), ErrorCode::Inval as u32);
}

/// Kind, flags, offset, length and the expected error. (`refused.rs` has all that is refused.)
const WRONG: &[(u16, u16, u64, u32, ErrorCode)] = &[
    (command::READ, 0, MIB - 1, 2, ErrorCode::Inval),
    (command::READ, 0, u64::MAX, 2, ErrorCode::Inval),
    (command::READ, command_flag::REQ_ONE, 0, 1, ErrorCode::Inval),
    // Their payload is skipped.
    (command::WRITE, 0, MIB - 1, 2, ErrorCode::NoSpc),
    (command::WRITE, command_flag::DF, 0, 1, ErrorCode::Inval),
    (command::WRITE_ZEROES, 0, MIB - 1, 2, ErrorCode::NoSpc),
    (command::BLOCK_STATUS, 0, 0, 0, ErrorCode::Inval),
    (command::FLUSH, 0, 0, 1, ErrorCode::Inval),
    (8, 0, 0, 1, ErrorCode::Inval),
];

#[test]
fn wrong_requests_get_the_error_of_the_specification() {
    let (memory, bed) = memory();
    let mut client = bed.client(true);
    for &(kind, flags, offset, length, expected) in WRONG {
        let payload = vec![9; if kind == command::WRITE { length as usize } else { 0 }];
        let error = client.call(kind, flags, offset, length, &payload).unwrap().expect_err("wrong");
        assert_eq!(error.code, expected as u32, "{kind} {flags:#x} {offset} {length}");
        assert!(!error.message.is_empty());
    }
    assert!(memory.contents().iter().all(|&byte| byte == 0), "a refused write was done");
    // FUA is allowed with every command, and an empty range is no error.
    for kind in [command::READ, command::FLUSH, command::CACHE, command::TRIM, command::WRITE] {
        client.call(kind, command_flag::FUA, 0, 0, &[]).unwrap().unwrap();
        client.call(kind, 0, 0, 0, &[]).unwrap().unwrap();
    }
    client.call(command::CACHE, 0, 0, MIB as u32, &[]).unwrap().unwrap();
    // Without structured replies DF is unknown.
    let mut plain = bed.client(false);
    assert_eq!(code(plain.call(command::READ, command_flag::DF, 0, 1, &[])), 22);
    assert_eq!(plain.read(0, 1).unwrap().unwrap(), [0]);
}

#[test]
fn ranges_are_multiples_of_the_minimum_block_size() {
    let bed = Bed::with(Arc::new(Memory::new(MIB as usize)), 4096, Limits::default());
    let mut client = bed.client(true);
    for (offset, length) in [(1, 4096), (0, 512), (512, 4096), (4096, 4097)] {
        let payload = vec![1; length as usize];
        assert_eq!(code(client.read(offset, length)), ErrorCode::Inval as u32);
        assert_eq!(code(client.write(offset, &payload, 0)), ErrorCode::Inval as u32);
    }
    client.write(4096, &[1; 4096], 0).unwrap().unwrap();
    assert_eq!(client.read(4096, 4096).unwrap().unwrap(), [1; 4096]);
}

#[test]
fn an_export_s_errors_reach_the_client() {
    let failure = Failure::new(ErrorCode::Io, "block 3 is lost").at(12288);
    let bed = Bed::new(Arc::new(Failing(failure)));
    let mut client = bed.client(true);
    let error = client.read(8192, 8192).unwrap().expect_err("it fails");
    assert_eq!((error.code, error.offset), (5, Some(12288)));
    assert_eq!(error.message, "block 3 is lost");
    let error = client.write(0, b"x", 0).unwrap().expect_err("it fails");
    assert_eq!((error.code, error.offset), (5, None));
    let mut plain = bed.client(false);
    assert_eq!(code(plain.read(8192, 8192)), 5);
}

#[test]
fn read_only_exports_are_not_written() {
    struct ReadOnly(Memory);
    impl shingle_nbd::export::Export for ReadOnly {
        fn size_bytes(&self) -> u64 {
            self.0.size_bytes()
        }
        fn read_only(&self) -> bool {
            true
        }
        fn submit(&self, command: Command, done: shingle_nbd::export::Completion) {
            self.0.submit(command, done);
        }
    }
    let bed = Bed::new(Arc::new(ReadOnly(Memory::new(MIB as usize))));
    let mut client = bed.client(true);
    for kind in [command::WRITE, command::TRIM, command::WRITE_ZEROES] {
        let payload: &[u8] = if kind == command::WRITE { b"x" } else { b"" };
        assert_eq!(code(client.call(kind, 0, 0, 1, payload)), ErrorCode::Perm as u32);
    }
    client.flush().unwrap().unwrap();
    assert_eq!(client.read(0, 1).unwrap().unwrap(), [0]);
}

#[test]
fn replies_come_in_order_of_completion() {
    let held = Held::new();
    let bed = Bed::new(Arc::clone(&held) as _);
    let mut client = bed.client(true);
    let first = client.send(command::READ, 0, 0, 4, &[]).unwrap();
    let second = client.send(command::WRITE, command_flag::FUA, 100, 3, b"abc").unwrap();
    let (read, read_done) = held.next();
    let (write, write_done) = held.next();
    assert_eq!(read, Command::Read { offset: 0, length: 4 });
    assert_eq!(write, Command::Write { offset: 100, data: b"abc".to_vec(), fua: true });
    write_done.done(Ok(Answer::Done));
    assert_eq!(client.receive().unwrap().cookie, second);
    read_done.done(Ok(Answer::Data(b"wxyz".to_vec())));
    let reply = client.receive().unwrap();
    assert_eq!((reply.cookie, &reply.data[..]), (first, &b"wxyz"[..]));
    assert!(held.kicks.load(Ordering::Relaxed) > 0);
    // A dropped completion is an error for the client.
    client.send(command::FLUSH, 0, 0, 0, &[]).unwrap();
    drop(held.next());
    assert_eq!(client.receive().unwrap().error.expect("an error").code, ErrorCode::Io as u32);
}

#[test]
fn two_connections_with_many_requests_under_way() {
    let memory = Arc::new(Memory::new(8 << 20));
    let bed = Bed::new(Arc::new(Shuffled::new(memory)));
    std::thread::scope(|scope| {
        for half in 0..2u64 {
            let mut client = bed.client(half == 0);
            scope.spawn(move || {
                let place = |i: u64| (half * 1000 + i) * 4096;
                let data = |i: u64| vec![(half * 100 + i % 100) as u8 + 1; 4096];
                for i in 0..1000 {
                    client.send(command::WRITE, 0, place(i), 4096, &data(i)).unwrap();
                    if client.waiting() >= 100 {
                        assert_eq!(client.receive().unwrap().error, None);
                    }
                }
                while client.waiting() > 0 {
                    assert_eq!(client.receive().unwrap().error, None);
                }
                let mut of = std::collections::BTreeMap::new();
                for i in 0..1000 {
                    of.insert(client.send(command::READ, 0, place(i), 4096, &[]).unwrap(), i);
                    if client.waiting() >= 100 {
                        let reply = client.receive().unwrap();
                        assert_eq!(reply.data, data(of[&reply.cookie]));
                    }
                }
                client.disconnect().unwrap();
            });
        }
    });
}

/// Reports the export's notifications about connections.
struct Heard(std::sync::Mutex<std::sync::mpsc::Sender<(&'static str, u64)>>);

impl Heard {
    fn tell(&self, what: &'static str, connection: u64) {
        let _ = self.0.lock().expect("no panics").send((what, connection));
    }
}

impl Export for Heard {
    fn size_bytes(&self) -> u64 {
        MIB
    }

    fn submit(&self, _: Command, done: Completion) {
        self.tell("command", done.connection());
        done.done(Ok(Answer::Done));
    }

    fn opened(&self, connection: u64) {
        self.tell("opened", connection);
    }

    fn closed(&self, connection: u64) {
        self.tell("closed", connection);
    }
}

#[test]
fn an_export_knows_its_connections() {
    let (told, heard) = std::sync::mpsc::channel();
    let bed = Bed::new(Arc::new(Heard(told.into())));
    let next = || heard.recv_timeout(crate::common::LONG).expect("it is told");
    let mut one = bed.client(false);
    assert_eq!(next(), ("opened", 1));
    let mut two = bed.client(true);
    assert_eq!(next(), ("opened", 2));
    for _ in 0..2 {
        for (client, connection) in [(&mut one, 1), (&mut two, 2)] {
            client.flush().unwrap().unwrap();
            assert_eq!(next(), ("command", connection));
        }
    }
    // An orderly disconnect, and a hang-up.
    one.disconnect().unwrap();
    assert_eq!(next(), ("closed", 1));
    drop(two);
    assert_eq!(next(), ("closed", 2));
    drop(bed.client(false));
    assert_eq!([next(), next()], [("opened", 3), ("closed", 3)]);
}
