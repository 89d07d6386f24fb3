//! The server side of the NBD protocol (Network Block Device), from its
//! [specification](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md).
//!
//! # What is here
//!
//! The protocol itself does no I/O: bytes in, bytes out. [`wire`] has its numbers and limits;
//! [`options`], [`requests`] and [`replies`] its messages; [`handshake`] the phase before the
//! transmission, and [`session`] the rules of the transmission. Only [`server`] has sockets and
//! threads: two threads for each connection, one that reads and one that writes. What is served
//! implements the trait [`export::Export`]: it gets commands with owned buffers, completions may be
//! called from any thread, and replies are sent in the order of completions. [`client`] is a client
//! that does not trust its server, [`url`] names the server it connects to, and [`memory`] is an
//! export for tests.
//!
//! ```
//! use std::{net::TcpStream, sync::Arc, time::Duration};
//! use shingle_nbd::client::{Client, ClientOptions};
//! use shingle_nbd::listen::Address;
//! use shingle_nbd::memory::Memory;
//! use shingle_nbd::server::{Limits, Served, Server};
//!
//! let export = Arc::new(Memory::new(1 << 20));
//! let served =
//!     Served { name: "disk".into(), description: String::new(), minimum_block: 1, export };
//! let address = "tcp:127.0.0.1:0".parse()?;
//! let server = Server::start(&[address], vec![served], Limits::default(), |_| {})?;
//!
//! let Address::Tcp(address) = server.addresses()[0] else { unreachable!() };
//! let options = ClientOptions { export: "disk", structured: true, contexts: &[] };
//! let mut client = Client::connect(TcpStream::connect(address)?, &options)?;
//! client.write(4096, b"kept", 0)??;
//! client.flush()??;
//! assert_eq!(client.read(4096, 4)??, b"kept");
//! client.disconnect()?;
//! server.stop(Duration::from_secs(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is served
//!
//! | | |
//! |---|---|
//! | handshake | fixed newstyle, NO_ZEROES |
//! | options | EXPORT_NAME, ABORT, LIST, STARTTLS, INFO, GO, STRUCTURED_REPLY, LIST_META_CONTEXT, SET_META_CONTEXT |
//! | information | EXPORT and BLOCK_SIZE always, NAME and DESCRIPTION when asked for |
//! | requests | READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS |
//! | flags | FUA with any of them, DF, REQ_ONE, NO_HOLE, FAST_ZERO |
//! | replies | simple; OFFSET_DATA, OFFSET_HOLE, BLOCK_STATUS, ERROR and ERROR_OFFSET once structured ones are negotiated |
//! | contexts | `base:allocation`; `shingle:dirty`, bit 0: the cache holds what the disk does not have yet |
//! | multi-conn | always: an export's flush covers what was answered on any connection |
//! | block sizes | minimum 1 (or as set, up to 64 KiB), preferred 4096, maximum 32 MiB |
//!
//! Exports may be added and removed while a server runs. If there is only one, it is also found
//! under the empty name. Clients that do not ask for block sizes are served; a request that is not
//! a multiple of the minimum is EINVAL. TRIM, CACHE and WRITE_ZEROES carry no payload and may be
//! longer than the maximum. A range of 0 bytes is a success, except for BLOCK_STATUS. EPERM is
//! checked before an unaligned length, and that before a range beyond the end.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | payload of READ and WRITE | [32 MiB](wire::PAYLOAD_BYTES_MAX) | EINVAL (READ with DF: EOVERFLOW); a WRITE's payload is skipped |
//! | a string | [4096 bytes](wire::STRING_BYTES_MAX) | the option is refused: TOO_BIG |
//! | data of an option | [64 KiB](wire::OPTION_BYTES_MAX) | skipped and refused: TOO_BIG; above [32 MiB](wire::OPTION_SKIP_BYTES_MAX) cut off |
//! | queries for contexts | [64](wire::QUERIES_MAX) | refused: TOO_BIG |
//! | options of a handshake | [1024](wire::OPTIONS_MAX) | cut off |
//! | time for a handshake | [30 s](server::HANDSHAKE_MAX) | cut off |
//! | descriptors of a context | [16384](wire::DESCRIPTORS_MAX) | the rest of the range is left out, and clients ask again |
//! | requests in flight | [256](server::REQUESTS_IN_FLIGHT_MAX) a connection | no more requests are read until a reply has been sent |
//! | payload held | [64 MiB](server::MEMORY_BYTES_MAX) a connection | the same |
//! | payload held | [512 MiB](server::MEMORY_BYTES_ALL_MAX) all connections: half is divided, 4 MiB to each, and half is for those that need more | a connection that needs more waits in line, and is not read from meanwhile |
//! | connections | [64](server::CONNECTIONS_MAX) | an idle one is closed; if none is idle, the new one |
//!
//! A client that stalls after the handshake, even in the middle of a request, holds only its own
//! connection and, for a time, memory; [`server::Server::stop`] cuts it off. If there are too many
//! connections, the one that has been idle longest is closed: first those whose handshake is not
//! over, then those without a transferred byte for [30 s](server::IDLE_MIN) and without work of the
//! export. One of the latter is also closed if it holds memory that others wait for. A client whose
//! request the export works on is never cut off.
//!
//! If a client is gone before it has taken its replies, its requests that the export does not have
//! yet are dropped.
//!
//! # What is refused
//!
//! - Over TCP: users other than the server's own and root, unless [they are allowed](users).
//! - STARTTLS without a [certificate](tls) (POLICY). With one: all other options before STARTTLS (TLS_REQD), except on sockets in
//!   the file system.
//! - PEEK_EXPORT, EXTENDED_HEADERS and any other option (UNSUP); oldstyle handshakes; unknown client flags; RESIZE, and unknown
//!   requests and flags (EINVAL).
//!
//! A message without its magic number ends the connection.

// Casts lose nothing: lengths are u32 in the protocol, and limited.

mod activity;
mod answer;
pub mod batch;
pub mod client;
mod command;
pub mod connection;
mod connections;
#[cfg(test)]
mod explored;
pub mod export;
pub mod handshake;
mod inbox;
mod limits;
pub mod listen;
pub mod memory;
mod offers;
mod opening;
pub mod options;
mod outbox;
mod pool;
mod queue;
mod reading;
pub mod replies;
pub mod requests;
mod sender;
mod served;
pub mod server;
pub mod session;
pub mod stream;
pub mod tls;
pub mod url;
pub mod users;
pub mod wire;
