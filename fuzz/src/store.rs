//! What fuzzers of the control socket do, and what they share with those of the SSD's format.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use shingle_core::registry::Registry;
use shingle_engine::settings::Settings;
use shingle_store::store::control::{Answer, Request, serve};

/// More than a request may have, and less than a socket holds.
const SENT_BYTES_MAX: usize = 100_000;

/// Any bytes as a request; each is answered, and what it sets is found again. The same bytes as the answer
/// of a server.
pub fn control(bytes: &[u8]) {
    let (mut client, server) = UnixStream::pair().expect("a pair");
    client.write_all(&bytes[..bytes.len().min(SENT_BYTES_MAX)]).expect("it fits");
    client.shutdown(Shutdown::Write).expect("a socket");
    serve(&server, |request, answer| {
        let text = serde_json::to_vec(&request).expect("plain");
        assert_eq!(serde_json::from_slice::<Request>(&text).expect("its own"), request);
        if let Request::Set { what } = &request {
            set(what);
        }
        answer(&Answer::DirtyBlocks(1))?;
        answer(&Answer::Done(()))
    })
    .expect("served");
    drop(server);
    let mut text = String::new();
    client.read_to_string(&mut text).expect("text");
    assert!(!text.is_empty(), "nobody is left without an answer");
    for line in text.lines() {
        serde_json::from_str::<Answer>(line).expect("an answer");
    }
    let _ = serde_json::from_slice::<Answer>(bytes);
}

/// Settings on top of those of a new cache: all of them, or none.
fn set(what: &[String]) {
    let mut settings = Settings::new("sac");
    if let Err(error) = what.iter().try_for_each(|text| settings.set(text)) {
        return crate::one_line(&error);
    }
    if let Ok(text) = settings.to_text() {
        let found = Settings::from_text(&text);
        assert!(settings.policy.is_empty() || found == Ok(settings), "{text:?}: {found:?}");
    }
}

/// What the settings of a superblock say. What a process writes in their place is the same.
pub fn settings(text: &str) -> Option<Settings> {
    let settings = match Settings::from_text(text) {
        Ok(settings) => settings,
        Err(error) => {
            crate::one_line(&error);
            return None;
        }
    };
    if let Ok(text) = settings.to_text() {
        assert_eq!(Settings::from_text(&text).as_ref(), Ok(&settings));
    }
    settings.all(&Registry::default()).inspect_err(|error| crate::one_line(error)).ok()?;
    Some(settings)
}
