//! `--record`: the requests and decisions of a cache go to a file.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_core::observer::Shared;
use shingle_engine::settings::Settings;
use shingle_store::store::status;
use shingle_trace::record::{About, Recording};
use tracing::{error, warn};

/// A recording.
pub(super) struct Recorder {
    path: String,
    /// For the status of the cache.
    state: Arc<Mutex<status::Recording>>,
    running: RefCell<Option<Recording>>,
}

impl Recorder {
    pub(super) fn new(path: &Path) -> Recorder {
        let path = path.display().to_string();
        let state = status::Recording { file: path.clone(), ended: None };
        Recorder { path, state: Arc::new(Mutex::new(state)), running: RefCell::default() }
    }

    pub(super) fn state(&self) -> Arc<Mutex<status::Recording>> {
        self.state.clone()
    }

    /// Returns what begins the recording when the cache is open.
    pub(super) fn begins(&self) -> impl Fn(&Settings, u32, u64) -> io::Result<Shared> {
        move |settings, slots, disk_blocks| {
            let settings = settings.to_text().map_err(io::Error::other)?;
            let about = About { slots, disk_blocks, settings };
            let state = self.state();
            let begun = Recording::begin_telling(&self.path, &about, move |why| {
                error!("{why}; nothing more is recorded, and serving goes on");
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.ended = Some(why.to_string());
            });
            let (recorder, running) = begun.map_err(io::Error::other)?;
            self.running.replace(Some(running));
            Ok(Shared::new(recorder))
        }
    }

    /// Completes the file. A failure is logged only: the store itself has stopped cleanly.
    pub(super) fn finish(&self) {
        match self.running.take().map(Recording::finish) {
            None => {}
            Some(Ok(said)) => said.iter().for_each(|text| warn!("{text}")),
            Some(Err(why)) => error!("{why}; the recording is lost"),
        }
    }
}
