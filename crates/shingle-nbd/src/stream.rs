//! A connection over a Unix socket or TCP.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

/// The value of `IOV_MAX`.
const SLICES_MAX: usize = 1024;

/// A connected socket.
#[derive(Debug)]
pub enum Stream {
    /// A socket within the machine.
    Unix(UnixStream),
    /// A TCP socket.
    Tcp(TcpStream),
}

impl Stream {
    /// Duplicates the connection, for another thread.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(s) => Self::Unix(s.try_clone()?),
            Self::Tcp(s) => Self::Tcp(s.try_clone()?),
        })
    }

    /// Sets the longest time of a read or a write; `None` is unlimited.
    pub fn set_timeouts(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(s) => s.set_read_timeout(limit).and_then(|()| s.set_write_timeout(limit)),
            Self::Tcp(s) => s.set_read_timeout(limit).and_then(|()| s.set_write_timeout(limit)),
        }
    }

    /// Writes as much as is possible without waiting.
    ///
    /// # Errors
    /// If nothing is possible ([`io::ErrorKind::WouldBlock`]), or the connection is broken.
    pub(crate) fn write_at_once(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let nothing_else = &mut SendAncillaryBuffer::default();
        // The system takes no more at a time.
        let buffers = &buffers[..buffers.len().min(SLICES_MAX)];
        Ok(match self {
            Self::Unix(s) => sendmsg(s, buffers, nothing_else, flags)?,
            Self::Tcp(s) => sendmsg(s, buffers, nothing_else, flags)?,
        })
    }

    /// Closes one direction or both, and wakes threads that wait there. A closed connection is no
    /// error.
    pub fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Self::Unix(s) => s.shutdown(how),
            Self::Tcp(s) => s.shutdown(how),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => (&*s).read(buffer),
            Stream::Tcp(s) => (&*s).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => (&*s).write(buffer),
            Stream::Tcp(s) => (&*s).write(buffer),
        }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Unix(s) => (&*s).write_vectored(buffers),
            Stream::Tcp(s) => (&*s).write_vectored(buffers),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
