//! The addresses where clients connect, and the sockets that listen there.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{FlockOperation, Mode, fchmod, flock};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use thiserror::Error;

use crate::connections::Security;
use crate::stream::Stream;
use crate::tls::Tls;
use crate::users::{Refused, Users};

/// The default port of NBD.
pub const PORT: u16 = 10809;

/// The address of a listening server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A socket in the file system, with mode 0600.
    Unix(PathBuf),
    /// A TCP port; 0 is any free one. Every user of the machine can connect to a loopback address:
    /// [`Users`] or [`Tls`] restrict that. Other addresses require [`Tls`].
    Tcp(SocketAddr),
}

/// Why a server cannot listen on an address.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum ListenError {
    #[error("{0:?} is no address: write unix:PATH or tcp:ADDR:PORT")]
    Syntax(String),
    #[error(
        "{0} is refused: without TLS the server listens on loopback addresses only \
         (tcp:127.0.0.1:PORT) or on a socket in the file system (unix:PATH)"
    )]
    NotLoopback(SocketAddr),
    #[error("{0}: another server listens there; stop it or choose another path")]
    Live(PathBuf),
    #[error("{0}: there is a file, and it is no socket; choose another path")]
    NoSocket(PathBuf),
    #[error("tcp:{0}: the port is in use; stop the other server or choose another port")]
    Busy(SocketAddr),
    #[error("{0}: longer than a socket's path may be (107 bytes); choose a shorter one")]
    LongPath(PathBuf),
    #[error("{0}: cannot listen: {1}")]
    Io(Address, io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl FromStr for Address {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        let syntax = || ListenError::Syntax(text.to_owned());
        let address: SocketAddr = match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => return Ok(Self::Unix(path.into())),
            Some(("tcp", "localhost")) => (Ipv4Addr::LOCALHOST, PORT).into(),
            Some(("tcp", rest)) => match rest.strip_prefix("localhost:") {
                Some(port) => (Ipv4Addr::LOCALHOST, port.parse().map_err(|_| syntax())?).into(),
                None => match (rest.parse(), rest.trim_matches(['[', ']']).parse::<IpAddr>()) {
                    (Ok(address), _) => address,
                    (_, Ok(ip)) => (ip, PORT).into(),
                    _ => return Err(syntax()),
                },
            },
            _ => return Err(syntax()),
        };
        Ok(Self::Tcp(address))
    }
}

impl Address {
    /// Whether other machines can reach it: then it requires TLS.
    pub fn needs_tls(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    /// The users who may connect, for TCP.
    users: RwLock<Users>,
    closed: AtomicBool,
    /// For a socket of a service manager: an eventfd that is written when the socket is closed
    /// here. Shutting the socket down would close it for the service manager as well, which
    /// continues to use it.
    closes: Option<OwnedFd>,
    tls: Option<Arc<Tls>>,
}

#[derive(Debug)]
enum Socket {
    Unix {
        socket: UnixListener,
        path: PathBuf,
        /// Device and inode of the socket's file, so that only our own file is removed at the end.
        /// `None` for a socket made by another process.
        file: Option<(u64, u64)>,
    },
    Tcp(TcpListener),
}

impl Listener {
    /// Begins to listen; over TCP for this user and root.
    ///
    /// # Errors
    /// If the address is taken or refused.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Unix(path) => bind_unix(path).map(Self::over),
            Address::Tcp(ip) if address.needs_tls() => Err(ListenError::NotLoopback(*ip)),
            Address::Tcp(ip) => bind_tcp(ip).map(Self::over),
        }
    }

    /// Checks whether a server could listen there.
    ///
    /// # Errors
    /// If the address is taken.
    pub fn look(address: &Address) -> Result<(), ListenError> {
        match address {
            Address::Unix(path) => look_unix(path),
            Address::Tcp(ip) => bind_tcp(ip).map(drop),
        }
    }

    /// Begins to listen with TLS: required over TCP, with a valid certificate of the client;
    /// optional on a socket in the file system.
    pub fn bind_encrypted(address: &Address, tls: Arc<Tls>) -> Result<Self, ListenError> {
        let socket = match address {
            Address::Unix(path) => bind_unix(path)?,
            Address::Tcp(ip) => bind_tcp(ip)?,
        };
        Ok(Self::over(socket).encrypted(tls))
    }

    /// Adds TLS, as [`Listener::bind_encrypted`].
    #[must_use]
    pub fn encrypted(mut self, tls: Arc<Tls>) -> Self {
        self.tls = Some(tls);
        self.for_users(Users::Any)
    }

    /// Takes over a socket in the file system that already listens, from a service manager, which
    /// decides on its owner and mode. The file is not removed.
    pub fn inherit_unix(socket: UnixListener) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let path = address.as_pathname().ok_or_else(|| io::Error::other("it has no path"))?;
        let path = path.to_owned();
        Self::inherited(Socket::Unix { socket, path, file: None })
    }

    /// Takes over a listening TCP socket of the loopback.
    ///
    /// # Errors
    /// If other machines can reach it.
    pub fn inherit_tcp(socket: TcpListener) -> Result<Self, ListenError> {
        let unknown = |error| ListenError::Io(Address::Tcp((Ipv4Addr::LOCALHOST, 0).into()), error);
        let address = socket.local_addr().map_err(unknown)?;
        match address.ip().is_loopback() {
            true => Self::inherited(Socket::Tcp(socket))
                .map_err(|error| ListenError::Io(Address::Tcp(address), error)),
            false => Err(ListenError::NotLoopback(address)),
        }
    }

    fn over(socket: Socket) -> Self {
        let (users, closed) = (RwLock::default(), AtomicBool::new(false));
        Self { socket, users, closed, closes: None, tls: None }
    }

    fn inherited(socket: Socket) -> io::Result<Self> {
        let mut listener = Self::over(socket);
        listener.closes = Some(eventfd(0, EventfdFlags::CLOEXEC)?);
        Ok(listener)
    }

    /// Sets the users who may connect, for TCP. A socket in the file system has an owner and a mode
    /// instead.
    #[must_use]
    pub fn for_users(self, who: Users) -> Self {
        self.allow(who);
        self
    }

    /// Sets the users who may connect from now on, for TCP without TLS: with TLS, certificates
    /// decide.
    pub fn allow(&self, who: Users) {
        let who = if self.tls.is_some() { Users::Any } else { who };
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = who;
    }

    /// The actual address, with the real port in place of 0.
    pub fn address(&self) -> io::Result<Address> {
        match &self.socket {
            Socket::Unix { path, .. } => Ok(Address::Unix(path.clone())),
            Socket::Tcp(socket) => socket.local_addr().map(Address::Tcp),
        }
    }

    /// Waits for the next client. [`Listener::admit`] checks whether it may connect.
    ///
    /// # Errors
    /// If the listener is closed, or the system fails.
    pub fn accept(&self) -> io::Result<Stream> {
        if let Some(closes) = &self.closes {
            self.wait(closes)?;
        }
        match &self.socket {
            Socket::Unix { socket, .. } => socket.accept().map(|(stream, _)| Stream::Unix(stream)),
            Socket::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nodelay(true)?;
                keep_alive(&stream)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// Waits for a client, or until the listener is closed.
    fn wait(&self, closes: &OwnedFd) -> io::Result<()> {
        let socket = match &self.socket {
            Socket::Unix { socket, .. } => PollFd::new(socket, PollFlags::IN),
            Socket::Tcp(socket) => PollFd::new(socket, PollFlags::IN),
        };
        let mut either = [socket, PollFd::new(closes, PollFlags::IN)];
        retry_on_intr(|| poll(&mut either, None))?;
        match self.is_closed() {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// The encryption of its connections.
    pub(crate) fn security(&self) -> Security {
        match (&self.tls, &self.socket) {
            (None, _) => Security::None,
            (Some(tls), Socket::Unix { .. }) => Security::Offered(tls.clone()),
            (Some(tls), Socket::Tcp(..)) => Security::Required(tls.clone()),
        }
    }

    /// Checks whether an accepted client may connect.
    ///
    /// # Errors
    /// If it may not, or if its user is unknown.
    pub fn admit(&self, client: &Stream) -> Result<(), Refused> {
        match (&self.socket, client) {
            (Socket::Tcp(_), Stream::Tcp(stream)) => {
                let users = self.users.read().unwrap_or_else(PoisonError::into_inner).clone();
                users.admit(stream)
            }
            _ => Ok(()),
        }
    }

    /// Wakes the accepting thread; from now on no client is accepted.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(closes) = &self.closes {
            // It stays readable, for later calls of `accept`.
            let _ = rustix::io::write(closes, &1_u64.to_ne_bytes());
            return;
        }
        let how = rustix::net::Shutdown::Both;
        // It fails only if the socket is shut down already.
        let _ = match &self.socket {
            Socket::Unix { socket, .. } => rustix::net::shutdown(socket, how),
            Socket::Tcp(socket) => rustix::net::shutdown(socket, how),
        };
    }

    /// Whether [`Listener::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Socket::Unix { path, file: Some(file), .. } = &self.socket
            && inode(path).is_ok_and(|there| there == *file)
        {
            // A socket that stays is found dead, and replaced, by the next one to bind there.
            let _ = fs::remove_file(path);
        }
    }
}

/// Finds peers that are gone without notice within two minutes.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    Ok(())
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|there| (there.dev(), there.ino()))
}

fn bind_tcp(ip: &SocketAddr) -> Result<Socket, ListenError> {
    match TcpListener::bind(ip) {
        Ok(socket) => Ok(Socket::Tcp(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(ListenError::Busy(*ip)),
        Err(error) => Err(ListenError::Io(Address::Tcp(*ip), error)),
    }
}

/// Checks what [`bind_unix`] does, and makes nothing: a client that waits for the socket must not find it too early.
fn look_unix(path: &Path) -> Result<(), ListenError> {
    let (address, _) = unix_place(path)?;
    match fs::symlink_metadata(path) {
        Ok(_) => must_be_dead(path, &address),
        Err(_) => Ok(()),
    }
}

/// The address of a socket, and its folder.
fn unix_place(path: &Path) -> Result<(SocketAddrUnix, fs::File), ListenError> {
    let failed = |error: io::Error| ListenError::Io(Address::Unix(path.to_owned()), error);
    let address = SocketAddrUnix::new(path).map_err(|error| match error {
        Errno::NAMETOOLONG => ListenError::LongPath(path.to_owned()),
        error => failed(error.into()),
    })?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = fs::File::open(parent.unwrap_or(Path::new("."))).map_err(failed)?;
    Ok((address, folder))
}

/// Checks that what is there is a socket at which nobody listens.
fn must_be_dead(path: &Path, address: &SocketAddrUnix) -> Result<(), ListenError> {
    let failed = |error: io::Error| ListenError::Io(Address::Unix(path.to_owned()), error);
    if !fs::symlink_metadata(path).map_err(failed)?.file_type().is_socket() {
        return Err(ListenError::NoSocket(path.to_owned()));
    }
    match probe(address) {
        Err(Errno::CONNREFUSED) => Ok(()),
        // EAGAIN: the queue of connecting clients is full.
        Ok(()) | Err(Errno::AGAIN) => Err(ListenError::Live(path.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}

fn bind_unix(path: &Path) -> Result<Socket, ListenError> {
    let failed = |error: io::Error| ListenError::Io(Address::Unix(path.to_owned()), error);
    let (address, folder) = unix_place(path)?;
    // Two servers must not both find the same stale socket, so that the second one removes the
    // socket of the first.
    flock(&folder, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;

    let socket = match listening(&address) {
        Err(Errno::ADDRINUSE) => {
            must_be_dead(path, &address)?;
            fs::remove_file(path).map_err(failed)?;
            listening(&address)
        }
        other => other,
    };
    let socket = UnixListener::from(socket.map_err(|error| failed(error.into()))?);
    let file = Some(inode(path).map_err(failed)?);
    Ok(Socket::Unix { socket, path: path.to_owned(), file })
}

/// Makes a socket whose file no other user can ever connect to: it gets its mode before its name.
fn listening(address: &SocketAddrUnix) -> Result<OwnedFd, Errno> {
    let socket = socket(SocketFlags::CLOEXEC)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

fn probe(address: &SocketAddrUnix) -> Result<(), Errno> {
    let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    rustix::net::connect(&socket, address)
}

fn socket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}
