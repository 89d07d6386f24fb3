//! TLS: who is admitted, how refusals are reported, and that no client waits for another.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use shingle_nbd::client::{Client, ClientOptions, ask, greet};
use shingle_nbd::connection::CutOff;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::memory::Memory;
use shingle_nbd::options::{OptionReply, OptionRequest, Refusal};
use shingle_nbd::server::{Event, Limits};
use shingle_nbd::stream::Stream;
use shingle_nbd::tls::{ClientName, Rights, Tls};
use shingle_nbd::wire::option;

use crate::common::{Bed, LONG};

/// A certificate authority, and a folder with the files of the server.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    folder: tempfile::TempDir,
}

/// A certificate and its key.
#[derive(Clone)]
struct Papers {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let folder = tempfile::tempdir().unwrap();
        // A unique name.
        let name = folder.path().display().to_string();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let authority = Authority { issuer, pem, folder };
        let papers = authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, false);
        authority.put(&papers);
        authority
    }

    /// Sets the certificate of the server.
    fn put(&self, papers: &Papers) {
        let write = |name: &str, text: &str| {
            std::fs::write(self.folder.path().join(name), text).unwrap();
        };
        write("ca-cert.pem", &self.pem);
        write("server-cert.pem", &papers.certificate);
        write("server-key.pem", &papers.key);
        mode(&self.folder.path().join("server-key.pem"), 0o600);
    }

    fn papers(&self, name: &str, purpose: ExtendedKeyUsagePurpose, expired: bool) -> Papers {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Papers { certificate, key: key.serialize_pem() }
    }

    fn client(&self, name: &str) -> Papers {
        self.papers(name, ExtendedKeyUsagePurpose::ClientAuth, false)
    }

    fn tls(&self, rights: Rights) -> Arc<Tls> {
        Arc::new(Tls::new(self.folder.path(), rights).unwrap())
    }

    fn config(&self, papers: Option<&Papers>) -> Arc<ClientConfig> {
        self.config_of(&rustls::version::TLS13, papers)
    }

    fn config_of(
        &self,
        version: &'static SupportedProtocolVersion,
        papers: Option<&Papers>,
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_protocol_versions(&[version]).unwrap();
        let config = config.with_root_certificates(roots);
        Arc::new(match papers {
            None => config.with_no_client_auth(),
            Some(Papers { certificate, key }) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        })
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn bed() -> Bed {
    Bed::new(Arc::new(Memory::new(64 << 20)))
}

/// The client's end of a connection that requires TLS.
fn raw(bed: &Bed, tls: &Arc<Tls>) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(LONG)).unwrap();
    assert!(bed.server.adopt_encrypted(Stream::Unix(theirs), tls.clone()));
    ours
}

type Encrypted = StreamOwned<ClientConnection, UnixStream>;

fn start_tls(mut stream: UnixStream, config: Arc<ClientConfig>) -> Encrypted {
    greet(&mut stream).unwrap();
    let mut replies = 0;
    ask(&mut stream, &OptionRequest::StartTls, |reply| {
        assert_eq!(*reply, OptionReply::Ack);
        replies += 1;
    })
    .unwrap();
    assert_eq!(replies, 1);
    let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    StreamOwned::new(connection, stream)
}

const OPTIONS: ClientOptions<'_> =
    ClientOptions { export: "disk", structured: true, contexts: &["base:allocation"] };

fn cut_off(bed: &Bed) -> String {
    bed.event(|event| match event {
        Event::CutOff(_, why) => Some(why.to_string()),
        Event::Left(..) => panic!("{event}"),
        _ => None,
    })
}

#[test]
fn a_client_with_a_good_certificate_reads_and_writes() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let config = authority.config(Some(&authority.client("alice.example")));
    let mut client = Client::open(start_tls(raw(&bed, &tls), config), &OPTIONS).unwrap();
    let data: Vec<u8> = (0..5_000_000_u32).map(|n| ((n * 7) >> 3) as u8).collect();
    client.write(4097, &data, 0).unwrap().unwrap();
    client.flush().unwrap().unwrap();
    assert_eq!(client.read(4097, data.len() as u32).unwrap().unwrap(), data);
    // Many requests at a time, with replies between them, in both directions.
    for n in 0..200_u64 {
        client.write(n * 40_000, &[n as u8; 30_000], 0).unwrap().unwrap();
        assert_eq!(client.read(n * 40_000, 30_000).unwrap().unwrap(), [n as u8; 30_000]);
    }
    client.disconnect().unwrap();
}

/// nbd-client supports no newer version.
#[test]
fn a_client_with_an_older_tls_is_served_and_shows_its_certificate() {
    let (served, refused, authority) = (bed(), bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let alice = authority.client("alice.example");
    let config = authority.config_of(&rustls::version::TLS12, Some(&alice));
    let mut client = Client::open(start_tls(raw(&served, &tls), config), &OPTIONS).unwrap();
    client.write(4096, &[7; 100_000], 0).unwrap().unwrap();
    assert_eq!(client.read(4096, 100_000).unwrap().unwrap(), [7; 100_000]);
    client.disconnect().unwrap();
    let config = authority.config_of(&rustls::version::TLS12, None);
    Client::open(start_tls(raw(&refused, &tls), config), &OPTIONS).map(drop).unwrap_err();
    assert!(cut_off(&refused).contains("no certificates"));
}

#[test]
fn who_is_not_let_in_is_told_of_in_one_line() {
    let (bed, authority, others) = (bed(), Authority::new(), Authority::new());
    let tls = authority.tls(Rights::default());
    let expired = authority.papers("a.example", ExtendedKeyUsagePurpose::ClientAuth, true);
    let of_server = authority.papers("a.example", ExtendedKeyUsagePurpose::ServerAuth, false);
    for (papers, told) in [
        (Some(&others.client("a.example")), "UnknownIssuer"),
        (Some(&expired), "xpired"),
        (Some(&of_server), "extended key usage"),
        (None, "no certificate"),
    ] {
        let mut stream = start_tls(raw(&bed, &tls), authority.config(papers));
        // The client notices when it reads: TLS 1.3 lets it send before.
        let _ = stream.write_all(b"hello");
        assert!(stream.read(&mut [0; 1]).is_err());
        let line = cut_off(&bed);
        let plain = line.to_lowercase().replace(' ', "");
        assert!(plain.contains(&told.to_lowercase().replace(' ', "")), "{told}: {line}");
        assert!(line.starts_with("TLS: ") && line.lines().count() == 1, "{line}");
    }
    bed.client(true).disconnect().unwrap();
}

#[test]
fn a_client_that_does_not_trust_the_server_may_just_hang_up() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    drop(start_tls(raw(&bed, &tls), authority.config(None)));
    let line = cut_off(&bed);
    assert!(line.contains("hung up") && line.contains("the server's certificate"), "{line}");
}

#[test]
fn nothing_is_served_without_tls_where_it_has_to_be() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    for request in [OptionRequest::List, OptionRequest::StructuredReply, OptionRequest::Unknown(77)]
    {
        let mut refusals = Vec::new();
        ask(&mut stream, &request, |reply| {
            if let OptionReply::Error { refusal, .. } = reply {
                refusals.push(*refusal);
            }
        })
        .unwrap();
        assert_eq!(refusals, [Refusal::TlsRequired]);
    }
    drop(stream);
    assert_eq!(cut_off(&bed), CutOff::Plain.to_string());
    // The option that cannot be refused.
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    let mut bytes = Vec::new();
    OptionRequest::ExportName("disk").encode(&mut bytes);
    stream.write_all(&bytes).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(cut_off(&bed), CutOff::Plain.to_string());
    // A client that sends plain text where it should be encrypted.
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    let mut bytes = Vec::new();
    OptionRequest::StartTls.encode(&mut bytes);
    OptionRequest::List.encode(&mut bytes);
    stream.write_all(&bytes).unwrap();
    assert!(cut_off(&bed).contains("plain text behind STARTTLS"));
    // And noise instead of TLS.
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    ask(&mut stream, &OptionRequest::StartTls, |_| {}).unwrap();
    stream.write_all(&[0x47; 4096]).unwrap();
    assert!(cut_off(&bed).starts_with("TLS: "));
}

#[test]
fn certificates_say_who_may_open_what() {
    let (bed, authority) = (bed(), Authority::new());
    let named = |name: &str| name.parse::<ClientName>().unwrap();
    let mut rights = Rights::default();
    rights.of.insert("disk".to_owned(), vec![named("alice.example")]);
    let tls = authority.tls(rights);
    let (alice, bob) = (authority.client("alice.example"), authority.client("bob.example"));
    let stream = start_tls(raw(&bed, &tls), authority.config(Some(&alice)));
    Client::open(stream, &OPTIONS).unwrap().disconnect().unwrap();
    bed.event(|event| matches!(event, Event::Left(..)).then_some(()));
    let stream = start_tls(raw(&bed, &tls), authority.config(Some(&bob)));
    assert!(Client::open(stream, &OPTIONS).is_err());
    let line = cut_off(&bed);
    assert!(line.contains("may open nothing") && line.contains("sha256:"), "{line}");
    // By the digest in the line.
    let digest = line.split(['(', ')']).nth(1).unwrap();
    let rights = Rights { all: vec![named(digest)], ..Rights::default() };
    let tls = authority.tls(rights);
    let stream = start_tls(raw(&bed, &tls), authority.config(Some(&bob)));
    Client::open(stream, &OPTIONS).unwrap().disconnect().unwrap();
    bed.event(|event| matches!(event, Event::Left(..)).then_some(()));
    let stream = start_tls(raw(&bed, &tls), authority.config(Some(&alice)));
    assert!(Client::open(stream, &OPTIONS).is_err());
}

#[test]
fn who_may_open_nothing_any_more_is_sent_away() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let (alice, bob) = (authority.client("alice.example"), authority.client("bob.example"));
    let open = |papers| {
        let stream = start_tls(raw(&bed, &tls), authority.config(Some(papers)));
        Client::open(stream, &OPTIONS)
    };
    let (mut one, two) = (open(&alice).unwrap(), open(&bob).unwrap());
    // (A client may know of the end of the handshake before the server has recorded it.)
    while bed.server.connections_of("disk") < 2 {
        std::thread::yield_now();
    }
    let mut rights = Rights::default();
    rights.of.insert("disk".to_owned(), vec!["alice.example".parse().unwrap()]);
    assert!(tls.allow(rights.clone()) && !tls.allow(rights));
    assert_eq!(bed.server.judge_again(LONG), 0);
    assert_eq!(bed.server.connections(), 1);
    one.flush().unwrap().unwrap();
    assert!(open(&bob).is_err());
    drop(two);
    one.disconnect().unwrap();
}

#[test]
fn a_slow_handshake_holds_its_own_connection_only() {
    let limits = Limits { handshake: Duration::from_secs(5), ..Limits::default() };
    let bed = Bed::with(Arc::new(Memory::new(1 << 20)), 1, limits);
    let authority = Authority::new();
    let tls = authority.tls(Rights::default());
    // A byte now and then must not keep it alive.
    let mut slow = raw(&bed, &tls);
    greet(&mut slow).unwrap();
    ask(&mut slow, &OptionRequest::StartTls, |_| {}).unwrap();
    let begun = Instant::now();
    let dripping = std::thread::spawn(move || {
        // (The head of a TLS record with a large announced length.)
        for byte in [22, 3, 1, 0x3f, 0xff].into_iter().chain(std::iter::repeat(1)) {
            if slow.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let config = authority.config(Some(&authority.client("a.example")));
    let mut client = Client::open(start_tls(raw(&bed, &tls), config), &OPTIONS).unwrap();
    client.flush().unwrap().unwrap();
    let line = bed.event(|event| match event {
        Event::CutOff(_, why) => Some(why.to_string()),
        _ => None,
    });
    assert!(line.contains("the handshake did not end") || line.starts_with("TLS: "), "{line}");
    assert!(begun.elapsed() < LONG);
    client.disconnect().unwrap();
    dripping.join().unwrap();
}

/// The server certificate that a client gets now.
fn shown(bed: &Bed, tls: &Arc<Tls>, config: &Arc<ClientConfig>) -> CertificateDer<'static> {
    let mut client = Client::open(start_tls(raw(bed, tls), config.clone()), &OPTIONS).unwrap();
    client.flush().unwrap().unwrap();
    client.stream().conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn a_new_certificate_counts_from_the_next_connection_on() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let config = authority.config(Some(&authority.client("a.example")));
    let shown = || shown(&bed, &tls, &config);
    let first = shown();
    assert_eq!(shown(), first);
    let new = authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, false);
    authority.put(&new);
    let second = shown();
    assert_ne!(second, first);
    // Invalid files change nothing.
    std::fs::write(authority.folder.path().join("server-cert.pem"), "none").unwrap();
    assert_eq!(shown(), second);
}

#[test]
fn files_that_were_replaced_and_cannot_be_used_are_told_once() {
    let (bed, authority) = (bed(), Authority::new());
    let tls = authority.tls(Rights::default());
    let config = authority.config(Some(&authority.client("a.example")));
    let shown = || shown(&bed, &tls, &config);
    let first = shown();
    authority.put(&authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, false));
    let key = authority.folder.path().join("server-key.pem");
    mode(&key, 0o644);
    assert_eq!((shown(), shown()), (first.clone(), first.clone()));
    mode(&key, 0o600);
    assert_ne!(shown(), first);
    let told = RefCell::new(Vec::new());
    bed.event(|event| match event {
        Event::NotRenewed(_) => {
            told.borrow_mut().push(event.to_string());
            None
        }
        Event::Connected(4) => Some(()),
        _ => None,
    });
    let told = told.into_inner();
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(line.contains("server-key.pem: every user may read it"), "{line}");
    assert!(line.contains("from before") && line.lines().count() == 1, "{line}");
}

#[test]
fn a_client_that_hangs_up_on_an_expired_certificate_is_told_with_that() {
    let (bed, authority) = (bed(), Authority::new());
    authority.put(&authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, true));
    let tls = authority.tls(Rights::default());
    // Some clients give a reason when they hang up, some do not.
    let config = authority.config(Some(&authority.client("a.example")));
    assert!(start_tls(raw(&bed, &tls), config.clone()).flush().is_err());
    let line = cut_off(&bed);
    assert!(line.contains("server-cert.pem has expired") && line.lines().count() == 1, "{line}");
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    ask(&mut stream, &OptionRequest::StartTls, |_| ()).unwrap();
    drop(stream);
    assert_eq!(cut_off(&bed), "TLS: the client hung up; server-cert.pem has expired");
    // With a valid certificate this is not reported.
    authority.put(&authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, false));
    let mut stream = raw(&bed, &tls);
    greet(&mut stream).unwrap();
    ask(&mut stream, &OptionRequest::StartTls, |_| ()).unwrap();
    drop(stream);
    let line = cut_off(&bed);
    assert!(line.contains("it may not trust") && !line.contains("expired"), "{line}");
}

#[test]
fn before_a_certificate_expires_a_warning_says_so() {
    const DAY: Duration = Duration::from_secs(86_400);
    let authority = Authority::new();
    authority.put(&authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, true));
    let tls = authority.tls(Rights::default());
    // The first day of 2021.
    let end = SystemTime::UNIX_EPOCH + 18_628 * DAY;
    assert_eq!(tls.expires(), Some(end));
    let said = |before_end: Duration| {
        let text = tls.warning(end - before_end)?;
        Some(text.rsplit('/').next().unwrap_or_default().to_owned())
    };
    assert_eq!([said(400 * DAY), said(14 * DAY + Duration::from_secs(1))], [None, None]);
    let expires = |when: &str| Some(format!("server-cert.pem expires {when}; put a new one there"));
    assert_eq!(said(14 * DAY), expires("in 14 days"));
    assert_eq!(said(2 * DAY - Duration::from_secs(1)), expires("within two days"));
    assert_eq!(said(Duration::from_secs(1)), expires("within a day"));
    let past = tls.warning(end + DAY).unwrap();
    assert!(past.contains("server-cert.pem has expired"), "{past}");
    // A new certificate is used even if no client has come since, and an invalid one is reported.
    authority.put(&authority.papers("localhost", ExtendedKeyUsagePurpose::ServerAuth, false));
    assert_eq!(tls.warning(end + DAY), None);
    std::fs::write(authority.folder.path().join("server-cert.pem"), "none").unwrap();
    let nonsense = tls.warning(end + DAY).unwrap();
    assert!(nonsense.contains("there is no certificate in PEM"), "{nonsense}");
}

#[test]
fn what_is_wrong_with_the_files_is_said_in_one_line() {
    let authority = Authority::new();
    let folder = authority.folder.path();
    let said = || Tls::new(folder, Rights::default()).map(drop).expect_err("wrong").to_string();
    mode(&folder.join("server-key.pem"), 0o644);
    assert!(said().contains("every user may read it"));
    mode(&folder.join("server-key.pem"), 0o600);
    for name in ["ca-cert.pem", "server-cert.pem", "server-key.pem"] {
        let before = std::fs::read(folder.join(name)).unwrap();
        std::fs::write(folder.join(name), "nothing").unwrap();
        let line = said();
        assert!(line.contains(name) && line.lines().count() == 1, "{line}");
        std::fs::remove_file(folder.join(name)).unwrap();
        let line = said();
        assert!(line.contains(name) && line.lines().count() == 1, "{line}");
        std::fs::write(folder.join(name), before).unwrap();
        mode(&folder.join(name), 0o600);
    }
    Tls::new(folder, Rights::default()).unwrap();
}

#[test]
fn other_machines_are_served_with_tls_only() {
    let authority = Authority::new();
    let everywhere: Address = "tcp:0.0.0.0:0".parse().unwrap();
    assert!(matches!(Listener::bind(&everywhere), Err(ListenError::NotLoopback(_))));
    Listener::bind_encrypted(&everywhere, authority.tls(Rights::default())).unwrap();
    assert_eq!(option::STARTTLS, 5);
}
