//! TLS: the certificate of the server, the clients it accepts, and the exports that each of them
//! may open.
//!
//! A folder has three files in PEM, with the names that other NBD servers use: `ca-cert.pem`, of
//! the authorities that sign certificates of clients; `server-cert.pem` and `server-key.pem`. Every
//! client has to show a certificate. TLS 1.3, or 1.2 for clients without it, such as nbd-client.
//! There is no resumption, as each connection is judged by its own certificate; that also excludes
//! pre-shared keys, which rustls uses for resumption only.
//!
//! Replaced files, as certificates expire, are used from the next connection on.

mod channel;
mod names;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;
use webpki::{EndEntityCert, KeyUsage};

pub(crate) use channel::{Channel, begin};
pub(crate) use names::Identity;
pub use names::{ClientName, NotAName, Rights};

/// The authorities that sign certificates of clients.
const CLIENTS: &str = "ca-cert.pem";
const CERTIFICATE: &str = "server-cert.pem";
/// The private key of the server.
const KEY: &str = "server-key.pem";

/// Why TLS cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum TlsError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {why}", path.display())]
    Content { path: PathBuf, why: String },
    #[error("{}: every user may read it; chmod 600 it, and have a new key made", .0.display())]
    OpenKey(PathBuf),
}

/// The files for TLS were replaced, and the new ones cannot be used.
#[derive(Debug, Error)]
#[error("{0}; the files for TLS from before it was replaced are still used")]
pub struct NotRenewed(TlsError);

/// The TLS configuration of a server.
#[derive(Debug)]
pub struct Tls {
    folder: PathBuf,
    rights: Mutex<Arc<Rights>>,
    /// Held while files are read again: connections that begin meanwhile wait for the new ones.
    loaded: Mutex<Loaded>,
}

/// When a file was written, renamed or given another mode, in seconds and nanoseconds.
type Changed = (i64, i64);

#[derive(Clone, Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// The certificate of the server.
    certificate: CertificateDer<'static>,
    /// When the files were changed.
    times: [Option<Changed>; 3],
}

impl Tls {
    /// Loads the files in `folder`. `rights` say which exports clients with a valid certificate may
    /// open.
    ///
    /// # Errors
    /// If a file is missing or not valid.
    pub fn new(folder: &Path, rights: Rights) -> Result<Tls, TlsError> {
        let loaded = Mutex::new(load(folder)?);
        Ok(Tls { folder: folder.to_owned(), rights: Mutex::new(Arc::new(rights)), loaded })
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Which clients may open which exports.
    pub fn rights(&self) -> Arc<Rights> {
        self.rights.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the rights; returns whether they have changed.
    /// [`Server::judge_again`](crate::server::Server::judge_again) applies them to connected
    /// clients.
    pub fn allow(&self, rights: Rights) -> bool {
        let mut now = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = **now != rights;
        *now = Arc::new(rights);
        differs
    }

    /// Reads the files again if they have changed.
    ///
    /// # Errors
    /// If they are not valid: then the old ones stay in use, and the new ones are neither read nor
    /// reported again before they change.
    pub(crate) fn renew(&self) -> Result<(), NotRenewed> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let times = times(&self.folder);
        if times != loaded.times {
            loaded.times = times;
            *loaded = load(&self.folder).map_err(NotRenewed)?;
        }
        Ok(())
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).config.clone()
    }

    /// Whether the certificate of the server has expired: most clients then just hang up.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires().is_some_and(|end| end < SystemTime::now())
    }

    /// When the certificate of the server expires, if known.
    pub fn expires(&self) -> Option<SystemTime> {
        // No certificate is valid at this time, and the error contains the end of the validity. The
        // time is checked before the signature.
        const LATE: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let end = EndEntityCert::try_from(&loaded.certificate).ok()?;
        match end
            .verify_for_usage(&[], &[], &[], LATE, KeyUsage::server_auth(), None, None)
            .err()?
        {
            webpki::Error::CertExpired { not_after, .. } => {
                SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(not_after.as_secs()))
            }
            _ => None,
        }
    }

    /// A warning for the operator at the time `now`: the certificate of the server has expired or
    /// soon will, or newer files cannot be used.
    pub fn warning(&self, now: SystemTime) -> Option<String> {
        const NOTICE: Duration = Duration::from_secs(14 * DAY_S);
        const DAY_S: u64 = 86_400;
        if let Err(error) = self.renew() {
            return Some(error.to_string());
        }
        let left = self.expires()?.duration_since(now);
        if left.as_ref().is_ok_and(|left| *left > NOTICE) {
            return None;
        }
        let (folder, name) = (self.folder.display(), CERTIFICATE);
        Some(match left.map(|left| left.as_secs() / DAY_S) {
            Err(_) => {
                format!("{folder}/{name} has expired: clients refuse it; put a new one there")
            }
            Ok(0) => format!("{folder}/{name} expires within a day; put a new one there"),
            Ok(1) => format!("{folder}/{name} expires within two days; put a new one there"),
            Ok(days) => format!("{folder}/{name} expires in {days} days; put a new one there"),
        })
    }
}

fn times(folder: &Path) -> [Option<Changed>; 3] {
    [CLIENTS, CERTIFICATE, KEY].map(|name| {
        fs::metadata(folder.join(name)).ok().map(|file| (file.ctime(), file.ctime_nsec()))
    })
}

fn load(folder: &Path) -> Result<Loaded, TlsError> {
    let times = times(folder);
    let [clients, certificate, key] = [CLIENTS, CERTIFICATE, KEY].map(|name| folder.join(name));
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |why: &dyn ToString| TlsError::Content { path: path.clone(), why: why.to_string() }
    };
    let provider = Arc::new(default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&clients)? {
        roots.add(certificate).map_err(|error| wrong(&clients)(&error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let verifier = verifier.build().map_err(|error| wrong(&clients)(&error))?;
    let mode = fs::metadata(&key).map_err(|error| TlsError::File { path: key.clone(), error })?;
    if mode.permissions().mode() & 0o007 != 0 {
        return Err(TlsError::OpenKey(key));
    }
    let pem = read(&key)?;
    let private = PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| wrong(&key)(&"there is no private key in PEM"))?;
    let shown = certificates(&certificate)?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| wrong(&certificate)(&error))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(shown.clone(), private);
    let mut config = config.map_err(|error| wrong(&certificate)(&error))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    // Prevents the use of keys of TLS 1.2 for another connection.
    config.require_ems = true;
    Ok(Loaded { config: Arc::new(config), certificate: shown[0].clone(), times })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::File { path: path.to_owned(), error })
}

/// Reads all certificates in a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    let found = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(TlsError::Content {
            path: path.to_owned(),
            why: "there is no certificate in PEM".to_owned(),
        }),
    }
}
