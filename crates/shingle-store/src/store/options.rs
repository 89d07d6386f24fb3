//! The options of a serving process.

use std::path::PathBuf;
use std::sync::Arc;

use shingle_nbd::listen::Address;
use shingle_nbd::tls::Tls;
use shingle_nbd::users::Users;

use crate::ublk;

/// What to serve, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The caches.
    pub caches: Vec<CacheOptions>,
    /// The addresses where clients connect.
    pub addresses: Vec<Address>,
    /// The users who may connect to TCP addresses without TLS.
    pub users: Users,
    /// The encryption of connections: required for TCP, optional for sockets in the file system.
    pub tls: Option<Arc<Tls>>,
    /// A folder in which counters continue over restarts; a reload does not change it.
    pub counters: Option<PathBuf>,
}

/// A cache to serve, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// The name of the export.
    pub name: String,
    /// The SSD with the cache.
    pub ssd: PathBuf,
    /// The disk.
    pub disk: PathBuf,
    /// Offsets and lengths of clients have to be multiples of this, in bytes.
    pub minimum_block: u32,
    /// The disk may have been written without its cache: the cache is used nevertheless.
    pub trust_disk: bool,
    /// The control socket, if not [`control::socket`](super::control::socket).
    pub control: Option<PathBuf>,
    /// The block device that exports the cache as well.
    pub ublk: Option<ublk::Number>,
}
