//! The limits of a server.

use std::time::Duration;

/// The highest number of connections. For another one an idle one gives way; if none is idle, the
/// new one is closed at once.
pub const CONNECTIONS_MAX: usize = 64;
/// The highest number of requests of one connection between their arrival and the sending of their
/// replies. No more are read then.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 256;
/// The highest number of payload bytes held by one connection.
pub const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// The highest number of payload bytes held by all connections. Half of it is divided among
/// [`CONNECTIONS_MAX`] connections; one that needs more takes it from the other half, or waits in
/// line for it. A request that is larger than both together is accepted alone.
pub const MEMORY_BYTES_ALL_MAX: u64 = 512 << 20;
/// The longest time for a handshake.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// The shortest idle time of a connection in transmission before it gives way to a new one, if
/// there are [`CONNECTIONS_MAX`], or loses its memory to one that waits for it.
pub const IDLE_MIN: Duration = Duration::from_secs(30);

/// The limits of a server.
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
    /// The payload bytes reserved for each connection.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.memory_bytes_all / 2 / self.connections.max(1) as u64
    }

    /// The payload bytes that all connections share.
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
