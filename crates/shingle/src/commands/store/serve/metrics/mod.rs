//! `--metrics`: metrics for Prometheus.

mod http;
mod text;

#[cfg(feature = "fuzzing")]
pub(super) use http::fuzzed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use shingle_device::start_thread;
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::tls::Tls;
use shingle_store::store::serve::Roster;
use tracing::{info, warn};

use super::tell::Events;

/// Most connections at a time.
const CONNECTIONS_MAX: usize = 8;
/// Timeout of a request, and of a reply.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Serves metrics until the process ends. Over TCP every user of the machine may fetch them: they
/// are not secret, and fetching changes nothing.
pub(super) fn serve(
    listener: Listener,
    roster: Roster,
    events: Arc<Events>,
    tls: Option<Arc<Tls>>,
) -> anyhow::Result<()> {
    let address: Option<Address> = listener.address().ok();
    start_thread("shingle-metrics", move || {
        let working = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok(stream) = listener.accept() else {
                // Out of descriptors, most likely: an immediate retry would fail, too.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if working.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                continue;
            }
            working.fetch_add(1, Ordering::Relaxed);
            let (roster, events, done) = (roster.clone(), events.clone(), working.clone());
            let expires = tls.as_ref().and_then(|tls| tls.expires());
            let thread = thread::Builder::new().name("shingle-fetch".to_owned());
            let spawned = thread.spawn(move || {
                // (A client that disconnects early is no error.)
                let told = || text::of(&roster.measures(), &roster.not_served(), &events, expires);
                let _ = http::answer(&stream, TIME_MAX, told);
                done.fetch_sub(1, Ordering::Relaxed);
            });
            if let Err(error) = spawned {
                working.fetch_sub(1, Ordering::Relaxed);
                warn!("metrics could not be told: {error}");
            }
        }
    })?;
    match address {
        Some(Address::Tcp(address)) => info!("metrics at http://{address}/metrics"),
        Some(address) => info!("metrics at {address}"),
        None => {}
    }
    Ok(())
}
