//! Choice of the SSD, and its settings.

use std::collections::BTreeMap;

use shingle_drive::{Description, Drive, Overrides, Settings, make_ssd};

use super::options::{ExperimentError, Options, usage};

#[derive(Clone)]
pub(super) struct SsdChoice {
    pub(super) name: String,
    settings: Settings,
    pub(super) description: Description,
    pub(super) shown: BTreeMap<String, String>,
}

impl SsdChoice {
    pub(super) fn new(options: &Options) -> Result<SsdChoice, ExperimentError> {
        let mut overrides = Overrides::new();
        let mut shown = BTreeMap::new();
        for (name, value) in options.sets.of("ssd") {
            overrides.set(name, value);
            shown.insert(name.to_owned(), value.to_owned());
        }
        let settings = Settings { overrides, ..Settings::default() };
        let name = options.ssd.clone();
        let description = make_ssd(&name, &settings).map_err(usage)?.description().clone();
        Ok(SsdChoice { name, settings, description, shown })
    }

    pub(super) fn make(&self) -> Result<Box<dyn Drive>, ExperimentError> {
        make_ssd(&self.name, &self.settings).map_err(usage)
    }
}
