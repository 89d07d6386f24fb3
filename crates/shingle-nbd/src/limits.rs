//! How much a server takes on.

use std::time::Duration;

/// Connections at the same time. For another one an idle one gives way; if all work, it is closed at
/// once.
pub const CONNECTIONS_MAX: usize = 64;
/// Requests of one connection between their arrival and the sending of their replies. No more are
/// read then.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 256;
/// Bytes of payload of one connection that are held at the same time.
pub const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Bytes of payload of all connections that are held at the same time. Half of it is shared out to
/// [`CONNECTIONS_MAX`] connections; who needs more takes of the other half, or stands in line for it. (A request that
/// is larger than both together comes through alone.)
pub const MEMORY_BYTES_ALL_MAX: u64 = 512 << 20;
/// How long a handshake may take.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// How long nothing may have happened on a connection in transmission before it gives way to a new one,
/// where there are [`CONNECTIONS_MAX`], or before it loses its memory to one that stands in line for it.
pub const IDLE_MIN: Duration = Duration::from_secs(30);

/// What a server does not exceed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// [`CONNECTIONS_MAX`]
    pub connections: usize,
    /// [`REQUESTS_IN_FLIGHT_MAX`]
    pub requests_in_flight: usize,
    /// [`MEMORY_BYTES_MAX`]
    pub memory_bytes: u64,
    /// [`MEMORY_BYTES_ALL_MAX`]
    pub memory_bytes_all: u64,
    /// [`HANDSHAKE_MAX`]
    pub handshake: Duration,
    /// [`IDLE_MIN`]
    pub idle: Duration,
}

impl Limits {
    /// What each connection has for itself.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.memory_bytes_all / 2 / self.connections.max(1) as u64
    }

    /// What they share.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.memory_bytes_all - self.own_bytes() * self.connections as u64
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            requests_in_flight: REQUESTS_IN_FLIGHT_MAX,
            memory_bytes: MEMORY_BYTES_MAX,
            memory_bytes_all: MEMORY_BYTES_ALL_MAX,
            handshake: HANDSHAKE_MAX,
            idle: IDLE_MIN,
        }
    }
}
