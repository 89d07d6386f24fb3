//! Events while caches are served, as lines of the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use shingle_core::units::BLOCK_BYTES;
use shingle_nbd::server::Event;
use shingle_store::measures::NotServed;
use shingle_store::store::serve::{Notice, Outcome};
use tracing::{error, info, warn};

/// Most lines on clients in one [`WINDOW`]: clients that connect all the time, permitted or not,
/// must not fill the log.
const LINES_MAX: u64 = 100;
const WINDOW: Duration = Duration::from_secs(10);

/// Events that belong to no cache that could count them, counted since the process started.
#[derive(Debug, Default)]
pub(super) struct Events {
    refused: AtomicU64,
    failed: AtomicU64,
    lines: Mutex<Lines>,
}

/// Lines on clients since the current window began.
#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    count: u64,
}

impl Lines {
    /// Returns whether another line may be logged at `now`, and how many lines the previous window
    /// dropped.
    fn another(&mut self, now: Instant) -> (bool, u64) {
        let mut left_out = 0;
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            left_out = self.count.saturating_sub(LINES_MAX);
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        (self.count <= LINES_MAX, left_out)
    }
}

impl Events {
    /// Logs `notice`.
    pub(super) fn tell(&self, notice: &Notice) {
        match notice {
            Notice::Client(event) => self.tell_of_client(event),
            Notice::Failed(..) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                tell(notice);
            }
            _ => tell(notice),
        }
    }

    fn tell_of_client(&self, event: &Event) {
        if !matches!(event, Event::Connected(_) | Event::Left(..) | Event::NotRenewed(_)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        // (A panic is a bug of this program, and files for TLS are the operator's: neither is
        // limited.)
        if !matches!(event, Event::Panicked(_) | Event::NotRenewed(_)) {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            let (room, left_out) = lines.another(Instant::now());
            drop(lines);
            if left_out > 0 {
                warn!(
                    "{left_out} lines on clients were left out: there were more than {LINES_MAX} in {WINDOW:?}"
                );
            }
            if !room {
                return;
            }
        }
        client(event);
    }

    /// Returns how many exports failed while others continued.
    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns how many clients were refused or disconnected.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Device(export, failed) => {
            let operation = &failed.operation;
            let (device, kind) = (operation.device_name(), operation.name());
            let (offset, bytes) = (operation.block * BLOCK_BYTES, operation.blocks * BLOCK_BYTES);
            let (errno, more) = (failed.errno, failed.more);
            // The first of each kind is an error, so that it stands out among many.
            match failed.first {
                true => error!(export, device, kind, offset, bytes, errno, more, "{failed}"),
                false => warn!(export, device, kind, offset, bytes, errno, more, "{failed}"),
            }
        }
        Notice::Begun(export, cache) | Notice::Ended(export, cache, _) => {
            info!(export, %cache, "{notice}");
        }
        Notice::Counters(export, ..)
        | Notice::Remark(export, _)
        | Notice::Asked(export, _, Outcome::Failed(_)) => warn!(export, "{notice}"),
        Notice::Asked(export, ..) => info!(export, "{notice}"),
        Notice::NotServed(NotServed { export, .. }) => error!(export, "{notice}"),
        Notice::Failed(export, cache, _) => error!(export, %cache, "{notice}"),
        _ => info!("{notice}"),
    }
}

fn client(event: &Event) {
    match event {
        Event::Connected(client) | Event::Left(client, _) => info!(client, "{event}"),
        Event::CutOff(client, _) | Event::GaveWay(client, _) => warn!(client, "{event}"),
        Event::Panicked(client) => error!(client, "{event}"),
        _ => warn!("{event}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clients_do_not_fill_the_log() {
        let mut lines = Lines::default();
        let begun = Instant::now();
        for nth in 1..=150 {
            assert_eq!(lines.another(begun), (nth <= 100, 0), "line {nth}");
        }
        assert_eq!(lines.another(begun + WINDOW - Duration::from_nanos(1)), (false, 0));
        assert_eq!(lines.another(begun + WINDOW), (true, 51));
        assert_eq!(lines.another(begun + 2 * WINDOW), (true, 0));
    }
}
