//! Exports and addresses that are added and removed while a server runs.

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Held, LONG, served};
use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::export::{Answer, Export};
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Limits, Served, Server};
use shingle_nbd::stream::Stream;

fn named(name: &str, export: Arc<dyn Export>) -> Served {
    Served { name: name.to_owned(), ..served(export, 1) }
}

fn memory(name: &str) -> Served {
    named(name, Arc::new(Memory::new(1 << 20)))
}

fn server(exports: Vec<Served>) -> Server {
    Server::start(&[], exports, Limits::default(), |_| {}).expect("no address to fail at")
}

fn connect(server: &Server, export: &str) -> Result<Client<UnixStream>, String> {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    ours.set_read_timeout(Some(LONG)).expect("a time");
    assert!(server.adopt(Stream::Unix(theirs)));
    Client::connect(ours, &ClientOptions { export, structured: true, contexts: &[] })
        .map_err(|error| error.to_string())
}

#[test]
fn a_client_gets_the_export_that_it_names() {
    let server = server(vec![memory("one"), memory("two")]);
    let [mut one, mut two] = ["one", "two"].map(|name| connect(&server, name).expect("there"));
    one.write(0, b"1", 0).unwrap().unwrap();
    two.write(0, b"2", 0).unwrap().unwrap();
    assert_eq!(one.read(0, 1).unwrap().unwrap(), b"1");
    // With several exports a client must name one.
    let Err(refused) = connect(&server, "") else { panic!("it is not refused") };
    assert!(refused.contains("there is no export \"\""), "{refused}");
    assert!(!server.offer(memory("two")), "a name twice");
    assert!(server.offer(memory("three")));
    connect(&server, "three").expect("there");
}

/// Returns how many were cut off.
fn withdraw(server: &Server, name: &str, grace: Duration) -> usize {
    server.withdraw(name).map_or(0, |withdrawn| withdrawn.send_away(grace))
}

#[test]
fn who_uses_an_export_that_is_withdrawn_is_answered_and_sent_away() {
    let held = Held::new();
    let server = server(vec![memory("stays"), named("goes", held.clone())]);
    let mut stays = connect(&server, "stays").expect("there");
    let mut goes = connect(&server, "goes").expect("there");
    let asked = thread::spawn(move || (goes.write(0, b"x", 0).expect("answered"), goes));
    let (_, under_way) = held.next();
    thread::scope(|scope| {
        let withdrawn = scope.spawn(|| withdraw(&server, "goes", LONG));
        while connect(&server, "goes").is_ok() {}
        under_way.done(Ok(Answer::Done));
        assert_eq!(withdrawn.join().expect("no panic"), 0, "no client was cut off");
    });
    let (answer, mut goes) = asked.join().expect("no panic");
    answer.expect("written");
    goes.flush().expect_err("sent away");
    stays.write(0, b"x", 0).unwrap().unwrap();
    // The name is free, and the remaining export is the only one.
    assert!(server.offer(memory("goes")));
    assert_eq!(withdraw(&server, "goes", LONG), 0);
    connect(&server, "").expect("there is one only");
    assert_eq!(withdraw(&server, "never there", LONG), 0);
}

#[test]
fn who_does_not_leave_a_withdrawn_export_is_cut_off() {
    let held = Held::new();
    let server = server(vec![named("goes", held.clone())]);
    let mut goes = connect(&server, "goes").expect("there");
    let asked = thread::spawn(move || goes.flush());
    let (_, never_answered) = held.next();
    assert_eq!(withdraw(&server, "goes", Duration::from_millis(1)), 1);
    asked.join().expect("no panic").expect_err("cut off");
    drop(never_answered);
}

#[test]
fn addresses_come_and_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    let server = server(vec![memory("disk")]);
    let address = Address::Unix(one.clone());
    server.listen(Listener::bind(&address).expect("free")).expect("a thread");
    let client = UnixStream::connect(&one).expect("it listens");
    let options = ClientOptions { export: "disk", structured: true, contexts: &[] };
    let mut client = Client::connect(client, &options).expect("there");
    // A socket that a service manager created: its file must not be removed.
    let made = UnixListener::bind(&two).expect("free");
    server.listen(Listener::inherit_unix(made).expect("a path")).expect("a thread");
    assert_eq!(server.addresses(), [address.clone(), Address::Unix(two.clone())]);
    server.close(&address);
    assert!(!one.exists(), "its file is gone");
    client.flush().expect("who is connected stays").expect("flushed");
    UnixStream::connect(&two).expect("the other one listens");
    server.stop(Duration::ZERO);
    assert!(two.exists());
}

/// A service manager keeps listening on the socket it handed over, and hands it over again.
#[test]
fn a_socket_that_was_handed_over_outlives_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let unix = UnixListener::bind(&path).expect("free");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = tcp.local_addr().expect("bound");
    let options = ClientOptions { export: "", structured: true, contexts: &[] };
    for turn in 0..2 {
        // A client that connected while no server ran.
        let waits = UnixStream::connect(&path).expect("it listens still");
        let waits_too = TcpStream::connect(port).expect("it listens still");
        waits.set_read_timeout(Some(LONG)).expect("a time");
        waits_too.set_read_timeout(Some(LONG)).expect("a time");
        let server = server(vec![memory("disk")]);
        let [again, again_tcp] = [
            Listener::inherit_unix(unix.try_clone().expect("the same")).expect("a path"),
            Listener::inherit_tcp(tcp.try_clone().expect("the same")).expect("of the loopback"),
        ];
        server.listen(again).expect("a thread");
        server.listen(again_tcp).expect("a thread");
        Client::connect(waits, &options).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        Client::connect(waits_too, &options).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        let begun = Instant::now();
        server.stop(LONG);
        assert!(begun.elapsed() < LONG / 2, "it waits for a client to end");
    }
}

#[test]
fn what_is_inherited_is_of_the_loopback() {
    let here = TcpListener::bind("127.0.0.1:0").expect("a port");
    Listener::inherit_tcp(here).expect("taken");
    let everywhere = TcpListener::bind("0.0.0.0:0").expect("a port");
    let refused = Listener::inherit_tcp(everywhere).expect_err("refused").to_string();
    assert!(refused.contains("on loopback addresses only"), "{refused}");
}
