//! What happens while caches are served, as lines of the log.

use std::sync::atomic::{AtomicU64, Ordering};

use shingle_core::units::BLOCK_BYTES;
use shingle_nbd::server::Event;
use shingle_store::store::serve::{Notice, Outcome};
use tracing::{error, info, warn};

/// What happens to no cache that is there to be asked, counted since the start of the process.
#[derive(Debug, Default)]
pub(super) struct Events {
    refused: AtomicU64,
    failed: AtomicU64,
}

impl Events {
    /// A line of the log.
    pub(super) fn tell(&self, notice: &Notice) {
        if let Notice::Client(event) = notice
            && !matches!(event, Event::Connected(_) | Event::Left(..))
        {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(notice, Notice::Failed(..)) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        tell(notice);
    }

    /// Exports that were given up while others went on.
    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Clients that were refused or cut off.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Client(event) => client(event),
        Notice::Device(export, failed) => {
            let operation = &failed.operation;
            let (device, kind) = (operation.device_name(), operation.name());
            let (offset, bytes) = (operation.block * BLOCK_BYTES, operation.blocks * BLOCK_BYTES);
            let (errno, more) = (failed.errno, failed.more);
            // The first of each kind is not to be missed among many.
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
