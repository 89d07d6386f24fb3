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
/// How long a handshake may take.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// How long nothing may have happened on a connection in transmission before it gives way to a new one,
/// where there are [`CONNECTIONS_MAX`].
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
    /// [`HANDSHAKE_MAX`]
    pub handshake: Duration,
    /// [`IDLE_MIN`]
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            requests_in_flight: REQUESTS_IN_FLIGHT_MAX,
            memory_bytes: MEMORY_BYTES_MAX,
            handshake: HANDSHAKE_MAX,
            idle: IDLE_MIN,
        }
    }
}
