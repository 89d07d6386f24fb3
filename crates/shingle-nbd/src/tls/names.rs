//! The identity of a client by its certificate, and the exports it may open.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use webpki::EndEntityCert;

/// A name of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientName {
    /// A name or address in the subject alternative names of the certificate.
    Subject(ServerName<'static>),
    /// The SHA-256 of the certificate.
    Certificate([u8; 32]),
}

/// The error of a text that is not a name of a client.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{0:?} names no client: write a DNS name or IP address of its certificate, or sha256: and 64 digits"
)]
pub struct NotAName(String);

impl FromStr for ClientName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<ClientName, NotAName> {
        let wrong = || NotAName(text.to_owned());
        let Some(digits) = text.strip_prefix("sha256:") else {
            let name = ServerName::try_from(text).map_err(|_| wrong())?;
            return Ok(ClientName::Subject(name.to_owned()));
        };
        let digits = digits.replace(':', "");
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(wrong());
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(ClientName::Certificate(bytes))
    }
}

/// Which clients may open which exports, by their names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rights {
    /// Clients of every export. If empty: all clients with a valid certificate, unless the export
    /// has clients of its own.
    pub all: Vec<ClientName>,
    /// Clients of single exports.
    pub of: BTreeMap<String, Vec<ClientName>>,
}

impl Rights {
    /// Whether `client` may open the export of this name.
    pub(crate) fn allow(&self, client: &Identity, export: &str) -> bool {
        match self.of.get(export) {
            Some(names) => names.iter().chain(&self.all).any(|name| client.is(name)),
            None => self.all.is_empty() || self.all.iter().any(|name| client.is(name)),
        }
    }
}

/// The identity of a client with a valid certificate.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    sha256: [u8; 32],
}

impl Identity {
    pub(crate) fn new(certificate: CertificateDer<'static>) -> Identity {
        let hash = digest(&SHA256, &certificate);
        let sha256 = hash.as_ref().try_into().expect("32 bytes");
        Identity { certificate, sha256 }
    }

    fn is(&self, name: &ClientName) -> bool {
        match name {
            ClientName::Certificate(sha256) => *sha256 == self.sha256,
            ClientName::Subject(name) => EndEntityCert::try_from(&self.certificate)
                .is_ok_and(|end| end.verify_is_valid_for_subject_name(name).is_ok()),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.sha256.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        for text in
            ["alice.example", "192.0.2.7", "2001:db8::1", &format!("sha256:{}", "0a".repeat(32))]
        {
            assert!(text.parse::<ClientName>().is_ok(), "{text}");
        }
        for text in ["", "a b", "sha256:", "sha256:00", &format!("sha256:{}", "0x".repeat(32))] {
            let error = text.parse::<ClientName>().expect_err(text).to_string();
            assert!(error.contains("names no client") && error.lines().count() == 1, "{error}");
        }
    }
}
