//! The users who may connect over TCP. A socket in the file system has an owner and a mode; every
//! user of the machine can connect to a port of the loopback. So the server asks the kernel for the
//! owner of the socket at the other end: `/proc/net/tcp` and `tcp6` list all sockets of its network
//! namespace, and both ends of a connection over the loopback are in the same namespace.
//!
//! The answer is about this very connection. No other connection has the same pair of addresses
//! while our end is open, and that it is still open is checked after the table was read. So it
//! is of no use to connect, send and reset, and to let another user get the same port. A socket
//! that its process has closed is listed as root's, without an inode: it does not count, nor does
//! any state except ESTABLISHED. If the owner cannot be found out, the client is refused.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use thiserror::Error;

/// The users who may connect over TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Users {
    /// The user of the server, root, and these users, by number.
    Own(Vec<u32>),
    /// Every user of this machine.
    Any,
}

impl Default for Users {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

/// Why a client over TCP was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Refused {
    #[error("a client of user {0} was refused: this user may not connect over TCP")]
    User(u32),
    #[error("a client at {peer} was refused: its user cannot be found out: {why}")]
    Unknown { peer: String, why: String },
}

impl Users {
    /// Checks whether the client at the other end may connect.
    pub(crate) fn admit(&self, stream: &TcpStream) -> Result<(), Refused> {
        let Self::Own(more) = self else { return Ok(()) };
        let unknown = |peer: String, why: &dyn std::fmt::Display| Refused::Unknown {
            peer,
            why: why.to_string(),
        };
        let ends = stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)));
        let (peer, own) = ends.map_err(|error| unknown("an unknown address".to_owned(), &error))?;
        let uid = owner(stream, peer, own).map_err(|error| unknown(peer.to_string(), &error))?;
        let ours = rustix::process::geteuid().as_raw();
        match uid == ours || uid == 0 || more.contains(&uid) {
            true => Ok(()),
            false => Err(Refused::User(uid)),
        }
    }
}

/// The user of the socket at the other end.
fn owner(stream: &TcpStream, peer: SocketAddr, own: SocketAddr) -> io::Result<u32> {
    // The kernel writes the tables piece by piece: while many sockets open and close it may leave
    // one out.
    const TRIES: usize = 3;
    if !peer.ip().to_canonical().is_loopback() {
        return Err(io::Error::other("it did not come over the loopback"));
    }
    for _ in 0..TRIES {
        let found = tables(peer, own)?;
        // An error if our end has closed: then the table may show another connection.
        stream.peer_addr()?;
        if let Some(uid) = found {
            return mapped(uid);
        }
    }
    Err(io::Error::other("the kernel does not list its socket"))
}

/// Searches both tables: an IPv6 socket may use IPv4.
fn tables(peer: SocketAddr, own: SocketAddr) -> io::Result<Option<u32>> {
    for (path, wide) in [("/proc/self/net/tcp", false), ("/proc/self/net/tcp6", true)] {
        let table = match std::fs::read_to_string(path) {
            Ok(table) => table,
            // A kernel without IPv6 has no such sockets.
            Err(error) if wide && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(io::Error::other(format!("{path}: {error}"))),
        };
        let (Some(peer), Some(own)) = (end(peer, wide), end(own, wide)) else { continue };
        if let Some(uid) = find(&table, &peer, &own) {
            return Ok(Some(uid));
        }
    }
    Ok(None)
}

/// The user in a table whose socket is at `local` and connected to `remote`.
fn find(table: &str, local: &str, remote: &str) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, here, there, state, _, _, _, uid, _, inode, ..] = &fields[..] else { return None };
        let open = state == ESTABLISHED && inode != "0";
        (open && here == local && there == remote).then(|| uid.parse().ok())?
    })
}

/// An end of a connection as the tables show it: words in the byte order of the machine, and the
/// port. IPv6 addresses are not in the narrow table.
fn end(address: SocketAddr, wide: bool) -> Option<String> {
    let octets = match address.ip().to_canonical() {
        IpAddr::V4(ip) if wide => ip.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) if wide => ip.octets().to_vec(),
        IpAddr::V6(_) => return None,
    };
    let word = |word: &[u8]| {
        let word: [u8; 4] = word.try_into().expect("addresses have whole words");
        format!("{:08X}", u32::from_ne_bytes(word))
    };
    let words: String = octets.chunks_exact(4).map(word).collect();
    Some(format!("{words}:{:04X}", address.port()))
}

/// A user whom our user namespace does not know is shown as the overflow user, which stands for
/// many users: treated as unknown.
fn mapped(uid: u32) -> io::Result<u32> {
    let read = |path: &str| std::fs::read_to_string(path);
    let overflow: Option<u32> = read("/proc/sys/kernel/overflowuid")?.trim().parse().ok();
    if overflow.is_some_and(|overflow| overflow != uid) {
        return Ok(uid);
    }
    let map = read("/proc/self/uid_map")?;
    let all = ["0", "0", "4294967295"];
    match map.split_whitespace().eq(all) {
        true => Ok(uid),
        false => Err(io::Error::other("it is of a user whom this user namespace does not know")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        (listener.accept().expect("accepted").0, client)
    }

    #[test]
    fn the_user_at_the_other_end_is_found() {
        let me = rustix::process::geteuid().as_raw();
        for address in ["127.0.0.1:0", "127.3.2.1:0", "[::1]:0"] {
            let Ok(_) = TcpListener::bind(address) else {
                println!("SKIPPED: {address} is not there");
                continue;
            };
            let (ours, _theirs) = pair(address);
            let (peer, own) = (ours.peer_addr().expect("known"), ours.local_addr().expect("known"));
            assert_eq!(owner(&ours, peer, own).expect("found"), me, "{address}");
            assert_eq!(Users::default().admit(&ours), Ok(()));
        }
    }

    /// The socket still exists, but belongs to the kernel, which shows it as root's.
    #[test]
    fn one_who_has_closed_is_refused() {
        let (ours, theirs) = pair("127.0.0.1:0");
        drop(theirs);
        let refused = Users::default().admit(&ours).expect_err("refused");
        assert!(matches!(refused, Refused::Unknown { .. }), "{refused}");
        assert_eq!(refused.to_string().lines().count(), 1);
        assert_eq!(Users::Any.admit(&ours), Ok(()));
    }

    #[test]
    fn only_an_open_socket_of_this_very_connection_counts() {
        let (peer, own) = ("127.0.0.1:40000".parse(), "127.0.0.1:10809".parse());
        let (peer, own) = (peer.expect("an address"), own.expect("an address"));
        let (here, there) = (end(peer, false).expect("IPv4"), end(own, false).expect("IPv4"));
        if cfg!(target_endian = "little") {
            assert_eq!((here.as_str(), there.as_str()), ("0100007F:9C40", "0100007F:2A39"));
        }
        let line = |here: &str, there: &str, state: &str, uid: &str, inode: &str| {
            format!(
                "  sl  local_address rem_address   st …\n   7: {here} {there} {state} \
                 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0 20 4 30 10 -1\n"
            )
        };
        let found = |table: String| find(&table, &here, &there);
        assert_eq!(found(line(&here, &there, "01", "1000", "77")), Some(1000));
        // Our own end, and another connection.
        assert_eq!(found(line(&there, &here, "01", "1000", "77")), None);
        assert_eq!(found(line(&here, "0100007F:2A3A", "01", "1000", "77")), None);
        // FIN_WAIT2 and TIME_WAIT, and a socket without a process: all are shown as root's.
        for (state, inode) in [("05", "0"), ("06", "0"), ("04", "0"), ("01", "0")] {
            assert_eq!(found(line(&here, &there, state, "0", inode)), None, "{state}");
        }
        assert_eq!(found(line(&here, &there, "01", "x", "77")), None);
        assert_eq!(found("odd\nodd\n".to_owned()), None);
        // The same address in IPv6, and an IPv6 one.
        let wide = end(peer, true).expect("mapped");
        assert!(wide.ends_with(&here) && wide.len() == 37, "{wide}");
        let six: SocketAddr = "[::1]:40000".parse().expect("an address");
        assert_eq!(end(six, false), None);
        assert_eq!(end(six, true).expect("IPv6").len(), 37);
    }

    #[test]
    fn others_are_refused_unless_they_are_named() {
        let (ours, _theirs) = pair("127.0.0.1:0");
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(Users::Own(vec![me + 1]).admit(&ours), Ok(()));
        assert_eq!(Refused::User(7).to_string().lines().count(), 1);
        // If all users are allowed, nothing is looked up.
        assert_eq!(Users::Any.admit(&ours), Ok(()));
    }
}
