//! The addresses of a server, and what it refuses to overwrite or serve.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Event, Limits, Server};
use shingle_nbd::stream::Stream;
use shingle_nbd::users::{Refused, Users};
use shingle_testbed::root_or_skip;

const OPTIONS: ClientOptions<'_> =
    ClientOptions { export: "disk", structured: true, contexts: &[] };

fn start(address: &Address) -> Result<Server, ListenError> {
    let exports = vec![crate::common::served(Arc::new(Memory::new(4096)), 1)];
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
        let address = parse(text).expect(text);
        assert!(address.needs_tls());
        let error = Listener::bind(&address).map(drop).expect_err(text);
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
    let mut client = Client::connect(UnixStream::connect(&path).unwrap(), &OPTIONS).unwrap();
    client.flush().unwrap().unwrap();
    // A second server does not take the socket of the first.
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
    Client::connect(UnixStream::connect(&path).unwrap(), &OPTIONS).unwrap();
    // A file that replaced the socket is not removed.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    drop(server);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert!(matches!(refused(&address), ListenError::NoSocket(_)));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    // A live socket of another program, which does not even accept.
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
    let mut client = Client::connect(stream, &OPTIONS).unwrap();
    client.write(0, b"over TCP", 0).unwrap().unwrap();
    assert_eq!(client.read(0, 8).unwrap().unwrap(), b"over TCP");
    assert!(matches!(refused(&Address::Tcp(address)), ListenError::Busy(_)));
    client.disconnect().unwrap();
    assert_eq!(server.stop(Duration::from_secs(5)), 0);
    // The port is free again.
    drop(TcpListener::bind(address).unwrap());
}

#[test]
fn peers_over_tcp_are_asked_whether_they_are_there() {
    use rustix::net::sockopt;
    let listener = Listener::bind(&"tcp:127.0.0.1:0".parse().unwrap()).unwrap();
    let Address::Tcp(address) = listener.address().unwrap() else { panic!("it is TCP") };
    let client = TcpStream::connect(address).unwrap();
    let Stream::Tcp(accepted) = listener.accept().unwrap() else { panic!("it is TCP") };
    assert!(sockopt::socket_keepalive(&accepted).unwrap());
    let idle = sockopt::tcp_keepidle(&accepted).unwrap();
    let more = sockopt::tcp_keepintvl(&accepted).unwrap();
    let count = sockopt::tcp_keepcnt(&accepted).unwrap();
    assert!(idle + more * count <= Duration::from_secs(120), "{idle:?} {more:?} {count}");
    drop(client);
}

/// What a user gets on connecting.
fn greeting(user: u32, address: SocketAddr) -> String {
    let script = format!("exec 3<>/dev/tcp/{}/{} && head -c 8 <&3", address.ip(), address.port());
    let output = Command::new("bash").args(["-c", &script]).uid(user).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn over_tcp_other_users_are_refused_unless_they_are_allowed() {
    const OTHER: u32 = 65_534;
    if !root_or_skip("clients of another user") {
        return;
    }
    for (users, welcome) in [
        (Users::default(), false),
        (Users::Own(vec![1]), false),
        (Users::Own(vec![1, OTHER]), true),
        (Users::Any, true),
    ] {
        let listener = Listener::bind(&"tcp:127.0.0.1:0".parse().unwrap()).unwrap();
        let exports = vec![crate::common::served(Arc::new(Memory::new(4096)), 1)];
        let (told, events) = std::sync::mpsc::channel();
        let tell = move |event| drop(told.send(event));
        let listeners = vec![listener.for_users(users.clone())];
        let server = Server::start_at(listeners, exports, Limits::default(), tell).unwrap();
        let [Address::Tcp(address)] = server.addresses()[..] else { panic!("one address") };
        assert_eq!(greeting(OTHER, address) == "NBDMAGIC", welcome, "{users:?}");
        if !welcome {
            let event = events.recv_timeout(crate::common::LONG).unwrap();
            assert!(matches!(event, Event::Refused(Refused::User(OTHER))), "{event}");
        }
        assert_eq!(greeting(0, address), "NBDMAGIC", "root may do all that a user may");
    }
}
