//! The addresses of commands that serve, and the rights of clients to connect.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::Args;
use shingle_device::start_thread;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::tls::{ClientName, Rights, Tls};
use shingle_nbd::users::Users;

use crate::Usage;
use crate::cli::whole;
use crate::output::note;

#[derive(Debug, Args)]
pub(crate) struct Listening {
    /// Where clients connect: unix:PATH, or tcp:ADDR:PORT (without --tls a loopback address). May be given
    /// several times.
    #[arg(long, value_name = "ADDRESS", required = true)]
    nbd: Vec<String>,
    /// Users who may connect over TCP, besides you and root: names or numbers of users, with commas
    /// between them, or `any` for every user of this machine.
    #[arg(long, value_name = "USER,…|any", conflicts_with = "tls")]
    allow_users: Option<String>,
    #[command(flatten)]
    encryption: Encrypting,
}

/// Encryption of connections, and the clients whose certificates are accepted.
#[derive(Debug, Default, Args)]
pub(crate) struct Encrypting {
    /// Encrypt TCP connections, and accept only clients with a valid certificate. The folder has
    /// server-cert.pem, server-key.pem, and ca-cert.pem, which signs the certificates of clients.
    /// On sockets in the file system clients may encrypt.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) tls: Option<PathBuf>,
    /// Accept only these clients: DNS names or addresses in their certificates, or sha256:DIGITS of
    /// one. With EXPORT= for one export only. May be given several times.
    #[arg(long, value_name = "[EXPORT=]NAME,…", requires = "tls")]
    tls_allow: Vec<String>,
}

impl Encrypting {
    pub(crate) fn open(&self, exports: &[&str]) -> anyhow::Result<Option<Arc<Tls>>> {
        let Some(folder) = &self.tls else { return Ok(None) };
        tls(folder, &self.tls_allow, exports).map(Some)
    }
}

/// Reads the TLS files of a folder, and the accepted clients; names may have one of `exports` as a
/// prefix.
pub(crate) fn tls(folder: &Path, allow: &[String], exports: &[&str]) -> anyhow::Result<Arc<Tls>> {
    let mut rights = Rights::default();
    for text in allow {
        let (names, text) = match text.split_once('=') {
            Some((export, text)) => (rights.of.entry(export.to_owned()).or_default(), text),
            None => (&mut rights.all, text.as_str()),
        };
        for name in text.split(',') {
            let name = name.parse::<ClientName>();
            names.push(name.map_err(|error| Usage(format!("--tls-allow: {error}")))?);
        }
    }
    // A misspelt export would leave the real one open to all.
    if let Some(unknown) = rights.of.keys().find(|name| !exports.contains(&name.as_str())) {
        let there = match exports {
            [""] => "the only one has no name: leave out what stands before =".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(Usage(format!("--tls-allow: there is no export `{unknown}`; {there}")).into());
    }
    Ok(Arc::new(Tls::new(folder, rights)?))
}

/// Warns before the certificate of the server expires and afterwards: at once and then once a day.
pub(crate) fn look_after(
    tls: Arc<Tls>,
    warn: impl Fn(&str) + Send + 'static,
) -> std::io::Result<()> {
    const EVERY: Duration = Duration::from_secs(3600);
    const AGAIN: Duration = Duration::from_secs(24 * 3600);
    start_thread("shingle-tls", move || {
        loop {
            let warning = tls.warning(SystemTime::now());
            warning.iter().for_each(|text| warn(text));
            thread::sleep(if warning.is_some() { AGAIN } else { EVERY });
        }
    })
    .map(drop)
}

/// Returns which of `exports` every client with a valid certificate may open, although others are
/// restricted.
pub(crate) fn open_to_all<'a>(tls: &Tls, exports: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let rights = tls.rights();
    let none = rights.of.is_empty() || !rights.all.is_empty();
    exports.filter(|&name| !none && !rights.of.contains_key(name)).collect()
}

/// The block size that clients must respect.
#[derive(Debug, Args)]
pub(crate) struct MinimumBlock {
    /// Minimum block size in bytes: offsets and lengths of requests must be multiples of it. A
    /// power of two up to 4096.
    #[arg(long, value_name = "BYTES", value_parser = whole::<u32>, default_value_t = 1)]
    minimum_block: u32,
}

impl MinimumBlock {
    pub(crate) fn bytes(&self) -> Result<u32, Usage> {
        let bytes = self.minimum_block;
        minimum_block(bytes).map_err(|why| Usage(format!("--minimum-block {bytes}: {why}")))
    }
}

/// Checks a minimum block size.
pub(crate) fn minimum_block(bytes: u32) -> Result<u32, &'static str> {
    let fits = bytes.is_power_of_two() && bytes <= 4096;
    fits.then_some(bytes).ok_or("a power of two up to 4096")
}

/// Parses the addresses for clients: without `tls` in the file system and on the loopback only.
pub(crate) fn addresses(texts: &[String], tls: bool) -> Result<Vec<Address>, Usage> {
    let addresses = texts.iter().map(|text| address(text, tls));
    addresses.collect::<Result<_, _>>().map_err(|error| Usage(error.to_string()))
}

/// Parses one address.
pub(crate) fn address(text: &str, tls: bool) -> Result<Address, ListenError> {
    let address: Address = text.parse()?;
    allowed(&address, tls).map(|()| address)
}

/// Checks that all addresses are distinct: a second listener would take the first for another
/// server.
pub(crate) fn check_distinct<'a>(all: impl IntoIterator<Item = &'a Address>) -> Result<(), String> {
    // A socket may not exist yet, and its folder may have several names.
    let real = |address: &Address| match address {
        Address::Unix(path) => {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            let name = path.file_name().map(PathBuf::from).unwrap_or_default();
            Address::Unix(folder.map_or_else(|_| path.clone(), |folder| folder.join(name)))
        }
        other => other.clone(),
    };
    let mut seen = Vec::new();
    for address in all {
        match address {
            // Port 0: any free port.
            Address::Tcp(ip) if ip.port() == 0 => {}
            _ if seen.contains(&real(address)) => {
                return Err(format!(
                    "{address} is named twice: clients and metrics need an address each"
                ));
            }
            _ => seen.push(real(address)),
        }
    }
    Ok(())
}

/// Parses the address for metrics, which never uses TLS.
pub(crate) fn metrics_address(text: &str) -> Result<Address, String> {
    address(text, false).map_err(|error| match error {
        ListenError::NotLoopback(ip) => format!(
            "{ip} is refused: metrics are told on loopback addresses (tcp:127.0.0.1:PORT) and sockets in the file \
             system only; a proxy before them serves other machines"
        ),
        other => other.to_string(),
    })
}

/// Checks that a server may listen there.
pub(crate) fn allowed(address: &Address, tls: bool) -> Result<(), ListenError> {
    match address {
        Address::Tcp(ip) if address.needs_tls() && !tls => Err(ListenError::NotLoopback(*ip)),
        _ => Ok(()),
    }
}

/// Parses the users who may connect over TCP: a list of names and numbers.
pub(crate) fn users(text: Option<&str>) -> Result<Users, String> {
    match text {
        None => Ok(Users::default()),
        Some("any") => Ok(Users::Any),
        Some(names) => names.split(',').map(number).collect::<Result<_, _>>().map(Users::Own),
    }
}

impl Listening {
    pub(crate) fn addresses(&self) -> Result<Vec<Address>, Usage> {
        addresses(&self.nbd, self.encryption.tls.is_some())
    }

    /// Opens the encryption of connections to the only export.
    pub(crate) fn tls(&self, export: &str) -> anyhow::Result<Option<Arc<Tls>>> {
        self.encryption.open(&[export])
    }

    /// Returns the users who may connect over TCP.
    pub(crate) fn users(&self) -> Result<Users, Usage> {
        users(self.allow_users.as_deref()).map_err(|why| Usage(format!("--allow-users: {why}")))
    }

    /// Listens on all addresses.
    pub(crate) fn bind(
        addresses: &[Address],
        users: &Users,
        tls: Option<&Arc<Tls>>,
    ) -> Result<Vec<Listener>, ListenError> {
        let bound = addresses.iter().map(|address| match tls {
            Some(tls) => Listener::bind_encrypted(address, tls.clone()),
            None => Listener::bind(address).map(|listener| listener.for_users(users.clone())),
        });
        bound.collect()
    }

    /// Warns about addresses that every user of the machine can reach.
    pub(crate) fn warn(addresses: &[Address], users: &Users, tls: bool, quiet: bool) {
        for remark in remarks(addresses, users, tls) {
            note(&remark.to_string(), quiet);
        }
    }
}

/// A remark about the users who may read and write at an address that every user of the machine can
/// reach.
pub(crate) enum Remark {
    /// All users may.
    Warning(String),
    /// Some users may.
    Note(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Warning(text) => write!(f, "warning: {text}"),
            Remark::Note(text) => f.write_str(text),
        }
    }
}

/// Returns the remarks for all addresses.
pub(crate) fn remarks(addresses: &[Address], users: &Users, tls: bool) -> Vec<Remark> {
    let of = |address: &Address| match (address, users) {
        (Address::Unix(_), _) => None,
        (Address::Tcp(_), _) if tls => Some(Remark::Note(format!(
            "clients whose certificate is good may connect to {address}, with TLS"
        ))),
        (Address::Tcp(_), Users::Any) => Some(Remark::Warning(format!(
            "every user of this machine may read and write at {address}"
        ))),
        (Address::Tcp(_), Users::Own(more)) => {
            let more: String = more.iter().map(|user| format!(", user {user}")).collect();
            Some(Remark::Note(format!("you and root{more} may connect to {address}")))
        }
    };
    addresses.iter().filter_map(of).collect()
}

/// Returns the number of a user, from a name or a number.
pub(crate) fn number(name: &str) -> Result<u32, String> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    // `id` asks the C library, which also knows users of a directory service; /etc/passwd does not.
    let output = Command::new("id").args(["-u", "--", name]).stderr(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run `id`: {error}"))?;
    let number = String::from_utf8_lossy(&output.stdout);
    let unknown = || format!("there is no user {name:?} here");
    if name.is_empty() || !output.status.success() {
        return Err(unknown());
    }
    number.trim().parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_is_not_there_is_for_nobody() {
        let refused = |allow: &str, exports: &[&str]| {
            let refused = tls(Path::new("no-such-folder"), &[allow.to_owned()], exports);
            refused.expect_err("wrong").to_string()
        };
        let told = "--tls-allow: there is no export `Home`; there are attic, home";
        assert_eq!(refused("Home=boss.example", &["attic", "home"]), told);
        assert!(refused("home=boss.example", &[""]).contains("the only one has no name"));
        assert!(refused("home=boss.example", &["home"]).contains("no-such-folder"));
    }

    #[test]
    fn an_address_is_for_one_thing() {
        let check = |texts: &[&str]| {
            let all: Vec<Address> = texts.iter().map(|text| text.parse().expect(text)).collect();
            check_distinct(&all)
        };
        assert_eq!(check(&["unix:a", "unix:b", "tcp:127.0.0.1:1", "tcp:127.0.0.1:2"]), Ok(()));
        assert_eq!(check(&["tcp:127.0.0.1:0", "tcp:127.0.0.1:0"]), Ok(()), "two free ports");
        for twice in
            [["unix:a", "unix:./a"], ["unix:/no/a", "unix:/no/a"], ["tcp:[::1]", "tcp:[::1]:10809"]]
        {
            let why = check(&twice).expect_err("twice");
            assert!(why.starts_with(&format!("{} is named twice", twice[1])), "{why}");
        }
    }

    #[test]
    fn users_have_names_and_numbers() {
        let of = |text: &str| {
            let allow_users = Some(text.to_owned());
            Listening { nbd: Vec::new(), allow_users, encryption: Encrypting::default() }.users()
        };
        assert_eq!(of("any").expect("known"), Users::Any);
        assert_eq!(of("root,1001").expect("known"), Users::Own(vec![0, 1001]));
        for bad in ["", "root,", "nobody-of-this-name", "any,root", "-1"] {
            let error = of(bad).expect_err(bad).to_string();
            assert!(error.contains("--allow-users"), "{error}");
        }
    }
}
