//! What a process is to serve, as it is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use shingle_nbd::listen::Address;
use shingle_nbd::tls::Tls;
use shingle_nbd::users::Users;

use crate::ublk;

/// What is served, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The caches.
    pub caches: Vec<CacheOptions>,
    /// Where clients connect.
    pub addresses: Vec<Address>,
    /// Who may connect to those of TCP without TLS.
    pub users: Users,
    /// What connections are encrypted with: those of TCP all, those of sockets in the file system if they want.
    pub tls: Option<Arc<Tls>>,
    /// A folder in which counters go on over restarts; a reload does not change it.
    pub counters: Option<PathBuf>,
}

/// A cache that is to be served, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// Name of the export.
    pub name: String,
    /// The SSD with the cache.
    pub ssd: PathBuf,
    /// Its disk.
    pub disk: PathBuf,
    /// What offsets and lengths of clients have to be multiples of, in bytes.
    pub minimum_block: u32,
    /// The disk may have been written without its cache: what is cached counts nevertheless.
    pub trust_disk: bool,
    /// Where operators ask, if not at [`control::socket`](super::control::socket).
    pub control: Option<PathBuf>,
    /// The block device that it is, too.
    pub ublk: Option<ublk::Number>,
}
