//! Where a server listens, and what it does not take from others.

mod common;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use shingle_nbd::client::{Client, Wishes};
use shingle_nbd::listen::{Address, ListenError};
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Limits, Server};

const WISHES: Wishes<'_> = Wishes { export: "disk", structured: true, contexts: &[] };

fn start(address: &Address) -> Result<Server, ListenError> {
    let exports = vec![common::served(Arc::new(Memory::new(4096)), 1)];
    Server::start(std::slice::from_ref(address), exports, Limits::default(), |_| {})
}

fn refused(address: &Address) -> ListenError {
    match start(address) {
        Ok(_) => panic!("{address} was taken"),
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1);
            error
        }
    }
}

#[test]
fn addresses_are_read() {
    let parse = |text: &str| text.parse::<Address>();
    for (text, same) in [
        ("unix:/run/x.sock", "unix:/run/x.sock"),
        ("unix:x:y", "unix:x:y"),
        ("tcp:127.0.0.1:4000", "tcp:127.0.0.1:4000"),
        ("tcp:127.8.9.1:4000", "tcp:127.8.9.1:4000"),
        ("tcp:[::1]:4000", "tcp:[::1]:4000"),
        ("tcp:127.0.0.1", "tcp:127.0.0.1:10809"),
        ("tcp:::1", "tcp:[::1]:10809"),
        ("tcp:[::1]", "tcp:[::1]:10809"),
        ("tcp:localhost", "tcp:127.0.0.1:10809"),
        ("tcp:localhost:0", "tcp:127.0.0.1:0"),
    ] {
        assert_eq!(parse(text).expect(text).to_string(), same);
    }
    for text in ["", "unix", "unix:", "tcp:", "tcp:here", "tcp:localhost:", "udp:127.0.0.1:1", "x"]
    {
        assert!(matches!(parse(text), Err(ListenError::Syntax(_))), "{text}");
    }
    for text in ["tcp:0.0.0.0:10809", "tcp:192.168.1.1", "tcp:[::]:1", "tcp:8.8.8.8:1"] {
        let error = parse(text).expect_err(text);
        assert!(error.to_string().contains("loopback"), "{error}");
    }
    assert!(matches!(
        refused(&Address::Tcp("0.0.0.0:0".parse().unwrap())),
        ListenError::NotLoopback(_)
    ));
}

#[test]
fn a_socket_is_private_and_goes_with_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let address = Address::Unix(path.clone());
    let server = start(&address).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::connect(UnixStream::connect(&path).unwrap(), &WISHES).unwrap();
    client.flush().unwrap().unwrap();
    // A second server does not push the first one out.
    let error = refused(&address);
    assert!(matches!(error, ListenError::Live(_)), "{error}");
    client.flush().unwrap().unwrap();
    assert_eq!(server.stop(Duration::from_secs(5)), 0);
    assert!(!path.exists());
    assert!(client.flush().is_err());
}

#[test]
fn a_stale_socket_is_replaced_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let address = Address::Unix(path.clone());
    drop(UnixListener::bind(&path).unwrap());
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket());
    let server = start(&address).unwrap();
    Client::connect(UnixStream::connect(&path).unwrap(), &WISHES).unwrap();
    // Whoever replaces the file keeps it.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    drop(server);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert!(matches!(refused(&address), ListenError::NoSocket(_)));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    // A live one of somebody else, who does not even accept.
    let other = folder.path().join("other");
    let _listening = UnixListener::bind(&other).unwrap();
    assert!(matches!(refused(&Address::Unix(other)), ListenError::Live(_)));
}

#[test]
fn paths_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("x".repeat(120));
    assert!(matches!(refused(&Address::Unix(long)), ListenError::LongPath(_)));
    let nowhere = Path::new("/nowhere/at/all").to_owned();
    assert!(matches!(refused(&Address::Unix(nowhere)), ListenError::Io(..)));
}

#[test]
fn tcp() {
    let server = start(&"tcp:localhost:0".parse().unwrap()).unwrap();
    let [Address::Tcp(address)] = server.addresses()[..] else { panic!("one address") };
    assert_ne!(address.port(), 0);
    let stream = std::net::TcpStream::connect(address).unwrap();
    let mut client = Client::connect(stream, &WISHES).unwrap();
    client.write(0, b"over TCP", 0).unwrap().unwrap();
    assert_eq!(client.read(0, 8).unwrap().unwrap(), b"over TCP");
    assert!(matches!(refused(&Address::Tcp(address)), ListenError::Busy(_)));
    client.disconnect().unwrap();
    assert_eq!(server.stop(Duration::from_secs(5)), 0);
    // The port is free again.
    drop(TcpListener::bind(address).unwrap());
}
