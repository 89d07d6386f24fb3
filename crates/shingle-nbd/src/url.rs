//! URLs of exports, as clients use them: `nbd://HOST:PORT/EXPORT` and
//! `nbd+unix:///EXPORT?socket=PATH`
//! ([specification](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md)). Encrypted
//! ones (`nbds`) are not supported.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use thiserror::Error;

use crate::listen::{Address, PORT};
use crate::stream::Stream;

/// An export, and the address of its server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Url {
    /// The address of the server.
    pub place: Place,
    /// The name; the server chooses if it is empty.
    pub export: String,
}

/// The address of a server, as a client sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host, by name or number, and a port.
    Tcp(String, u16),
}

/// The error of a text that is not a URL of an export.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0:?} is no URL of NBD: write nbd://HOST:PORT/EXPORT or nbd+unix:///EXPORT?socket=PATH")]
pub struct NoUrl(String);

/// Characters that are not escaped in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const PLAIN_PATH: &AsciiSet = &PLAIN.remove(b'/').remove(b'+');

impl Url {
    /// Whether a text looks like a URL of an export.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("nbd://") || text.starts_with("nbd+unix:")
    }

    /// The URL of an export at an address of a server.
    pub fn of(address: &Address, export: &str) -> Self {
        let place = match address {
            Address::Unix(path) => Place::Unix(path.clone()),
            Address::Tcp(address) => Place::Tcp(address.ip().to_string(), address.port()),
        };
        Self { place, export: export.to_owned() }
    }

    /// Connects to the server, before any handshake.
    ///
    /// # Errors
    /// If no server listens.
    pub fn connect(&self) -> io::Result<Stream> {
        match &self.place {
            Place::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
            Place::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl FromStr for Url {
    type Err = NoUrl;

    fn from_str(text: &str) -> Result<Self, NoUrl> {
        parse(text).ok_or_else(|| NoUrl(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Url> {
    let decoded = |text| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    if let Some(rest) = text.strip_prefix("nbd+unix://") {
        let (export, query) = rest.strip_prefix('/')?.split_once('?')?;
        let socket = query.split('&').find_map(|field| field.strip_prefix("socket="))?;
        let path: Vec<u8> = percent_decode_str(socket).collect();
        let path = PathBuf::from(OsStr::from_bytes(&path));
        let place = (!path.as_os_str().is_empty()).then_some(Place::Unix(path))?;
        return Some(Url { place, export: decoded(export)? });
    }
    let rest = text.strip_prefix("nbd://")?;
    let (place, export) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, PORT),
        Some((host, port)) => (host, port.strip_prefix(':')?.parse().ok()?),
        None => match place.split_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (place, PORT),
        },
    };
    let place = Place::Tcp((!host.is_empty()).then(|| host.to_owned())?, port);
    Some(Url { place, export: decoded(export)? })
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = percent_encode(self.export.as_bytes(), PLAIN_PATH);
        match &self.place {
            Place::Unix(path) => {
                let path = percent_encode(path.as_os_str().as_bytes(), PLAIN_PATH);
                write!(f, "nbd+unix:///{export}?socket={path}")
            }
            Place::Tcp(host, port) if host.contains(':') => {
                write!(f, "nbd://[{host}]:{port}/{export}")
            }
            Place::Tcp(host, port) => write!(f, "nbd://{host}:{port}/{export}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn urls_are_read_and_written() {
        let unix = |path: &str| Place::Unix(path.into());
        let tcp = |host: &str, port| Place::Tcp(host.to_owned(), port);
        for (text, place, export) in [
            ("nbd+unix:///?socket=/run/x", unix("/run/x"), ""),
            ("nbd+unix:///st8+fc?socket=a%20b/x.sock", unix("a b/x.sock"), "st8+fc"),
            ("nbd://127.0.0.1:10810/disk", tcp("127.0.0.1", 10810), "disk"),
            ("nbd://[::1]:7/a%20b", tcp("::1", 7), "a b"),
        ] {
            let url = Url { place, export: export.to_owned() };
            assert_eq!(text.parse(), Ok(url.clone()));
            assert_eq!(url.to_string(), text);
        }
        let short: Url = "nbd://localhost".parse().expect("read");
        assert_eq!(short, Url { place: tcp("localhost", PORT), export: String::new() });
        let last: Url = "nbd+unix:///?x=1&socket=s".parse().expect("read");
        assert_eq!(last.place, unix("s"));
        for bad in [
            "",
            "disk.img",
            "nbd:unix:x",
            "nbds://host/",
            "nbd://",
            "nbd:///x",
            "nbd://host:port/",
            "nbd://host:70000/",
            "nbd://[::1]7/",
            "nbd+unix:///x",
            "nbd+unix:///?socket=",
            "nbd+unix://host/?socket=x",
        ] {
            assert!(bad.parse::<Url>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(path in "[^\0]{1,20}", export in ".{0,20}", port: u16) {
            for place in [Place::Unix(path.clone().into()), Place::Tcp("host".into(), port)] {
                let url = Url { place, export: export.clone() };
                prop_assert_eq!(url.to_string().parse(), Ok(url));
            }
        }
    }
}
