//! An NBD export under probe: one connection, with as many requests in flight as the measurement
//! wants.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use shingle_core::units::BLOCK_BYTES;
use shingle_engine::format::Page;
use shingle_engine::recover::Pages;
use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::requests::Request;
use shingle_nbd::stream::Stream;
use shingle_nbd::url::{Place, Url};
use shingle_nbd::wire::{PAYLOAD_BYTES_MAX, command, transmission_flag};

use crate::clock::Clock;
use crate::device::failed;
use crate::fill::Payload;
use crate::guard::{Refusal, check_allowed};
use crate::target::{Done, Facts, Io, Nanos, Op, Target, TargetError};

/// An export of an NBD server.
#[derive(Debug)]
pub struct Nbd {
    connection: Connection,
    writer: Writer,
}

impl Nbd {
    /// Connects to an export that may be overwritten, by the rules of [`crate::guard::allow`]. Its
    /// serial is its name, or that of the socket or host for an export without one. `seed` decides
    /// what is written. I/O and waits end early once `interrupted` is set.
    ///
    /// # Errors
    /// If the server cannot be reached, or the export may not be overwritten.
    pub fn open(
        url: &Url,
        destroy: Option<&str>,
        seed: u64,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Nbd, Refusal> {
        let name = url.to_string();
        let open = |error| Refusal::Open { path: name.clone().into(), error };
        // Structured replies carry an error message, but not every server supports them.
        let connected = [true, false].into_iter().map(|structured| {
            let options = ClientOptions { export: &url.export, structured, contexts: &[] };
            Client::connect(url.connect()?, &options)
        });
        let mut result = Err(io::ErrorKind::NotConnected.into());
        for client in connected {
            let again =
                client.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
            result = client;
            if !again {
                break;
            }
        }
        let mut client = result.map_err(open)?;
        if client.flags() & transmission_flag::READ_ONLY != 0 {
            return Err(Refusal::ReadOnly(name.into()));
        }
        let place = || match &url.place {
            Place::Unix(path) => path.file_name().unwrap_or_default().to_string_lossy().into(),
            Place::Tcp(host, port) => format!("{host}:{port}"),
        };
        let serial = if url.export.is_empty() { place() } else { url.export.clone() };
        let blocks = client.size_bytes() / BLOCK_BYTES;
        let facts = Facts { name: name.clone(), serial, blocks, zones: None };
        check_allowed(&facts, &mut Read(&mut client), destroy)?;
        let stream = client.stream().try_clone().map_err(open)?;
        let writer = Writer { stream, payload: Payload::new(seed), message: Vec::new() };
        let connection = Connection { client, facts, clock: Clock::new(interrupted), cookies: 0 };
        Ok(Nbd { connection, writer })
    }
}

/// Makes requests and receives the replies.
#[derive(Debug)]
struct Connection {
    client: Client<Stream>,
    facts: Facts,
    clock: Clock,
    /// Number of the last request. The client's own requests are done before the first of these.
    cookies: u64,
}

impl Connection {
    /// Makes the NBD request of an I/O.
    fn request(&mut self, io: &Io) -> io::Result<Request> {
        let kind = match io.op {
            Op::Read => command::READ,
            Op::Write => command::WRITE,
            Op::Trim => command::TRIM,
            Op::Flush => command::FLUSH,
        };
        let length = u32::try_from(io.count * BLOCK_BYTES).ok();
        let length = length.filter(|&length| kind == command::TRIM || length <= PAYLOAD_BYTES_MAX);
        let too_long = || io::Error::other("longer than NBD allows");
        let offset = if io.op == Op::Flush { 0 } else { io.block.bytes() };
        self.cookies += 1;
        let cookie = self.cookies;
        Ok(Request { flags: 0, kind, cookie, offset, length: length.ok_or_else(too_long)? })
    }
}

/// Sends requests, with their payload.
#[derive(Debug)]
struct Writer {
    stream: Stream,
    payload: Payload,
    message: Vec<u8>,
}

impl Writer {
    fn send(&mut self, request: &Request) -> io::Result<()> {
        self.message.clear();
        request.encode(&mut self.message);
        let blocks = u64::from(request.payload_bytes()) / BLOCK_BYTES;
        self.message.extend_from_slice(self.payload.blocks(blocks));
        self.stream.write_all(&self.message)
    }
}

/// An I/O without a reply yet.
struct InFlight {
    number: u64,
    begun: Nanos,
    io: Io,
}

impl Target for Nbd {
    fn facts(&self) -> &Facts {
        &self.connection.facts
    }

    fn run(
        &mut self,
        depth: usize,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let Nbd { connection, writer } = self;
        thread::scope(|scope| {
            // A server may stop taking requests until its replies are read: so the thread that
            // writes must not be the one that reads.
            let (to, requests) = channel::<Request>();
            scope.spawn(move || {
                for request in requests {
                    if writer.send(&request).is_err() {
                        // The thread that waits for a reply gets an error.
                        return writer.stream.shutdown(Shutdown::Both);
                    }
                }
            });
            connection.exchange(depth.max(1), &to, next, on_done)
        })
    }

    fn idle(&mut self, span: Nanos) -> Result<(), TargetError> {
        self.connection.clock.sleep(span)
    }

    fn now(&self) -> Nanos {
        self.connection.clock.now()
    }
}

impl Connection {
    fn exchange(
        &mut self,
        depth: usize,
        to: &Sender<Request>,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let mut in_flight = BTreeMap::new();
        let mut numbers = 0..;
        let mut result = Ok(());
        let mut more = true;
        loop {
            while more && in_flight.len() < depth {
                if let Err(stop) = self.clock.check_interrupted() {
                    (result, more) = (Err(stop), false);
                    break;
                }
                let (Some(io), Some(number)) = (next(), numbers.next()) else {
                    more = false;
                    break;
                };
                if io.op == Op::Flush && self.client.flags() & transmission_flag::SEND_FLUSH == 0 {
                    // A server without FLUSH has no volatile data.
                    let now = self.clock.now();
                    more &= on_done(Done { number, begun: now, done: now }).is_continue();
                    continue;
                }
                match self.request(&io) {
                    Ok(request) => {
                        self.client.register(request);
                        let begun = self.clock.now();
                        in_flight.insert(request.cookie, InFlight { number, begun, io });
                        // If the writer has stopped, there is no reply either.
                        let _ = to.send(request);
                    }
                    Err(error) => {
                        (result, more) = (Err(failed(&self.facts, &io, error)), false);
                    }
                }
            }
            let Some(oldest) = in_flight.values().next().map(|first: &InFlight| first.io) else {
                return result;
            };
            // After a failed receive the connection is unusable.
            let reply = self.client.receive().map_err(|error| {
                // The writer must not wait for a server that takes no more requests.
                self.client.stream().shutdown(Shutdown::Both);
                failed(&self.facts, &oldest, error)
            })?;
            let done = self.clock.now();
            let InFlight { number, begun, io } =
                in_flight.remove(&reply.cookie).expect("the client knows what was asked");
            match reply.error {
                None => more &= on_done(Done { number, begun, done }).is_continue(),
                Some(error) => {
                    more = false;
                    if !matches!(result, Err(TargetError::Io { .. })) {
                        result = Err(failed(&self.facts, &io, io::Error::other(error)));
                    }
                }
            }
        }
    }
}

/// Reads the content of an export.
struct Read<'a>(&'a mut Client<Stream>);

impl Pages for Read<'_> {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> io::Result<()> {
        let out = out.as_flattened_mut();
        let length = u32::try_from(out.len()).map_err(io::Error::other)?;
        let read = self.0.read(first * BLOCK_BYTES, length)?.map_err(io::Error::other)?;
        out.copy_from_slice(&read);
        Ok(())
    }
}
