//! `shingle follow`: repeats the decisions of a recorded store.

use anyhow::{Context, anyhow};
use clap::Args;
use shingle_core::registry::Registry;
use shingle_core::size::show_blocks;
use shingle_engine::settings::Settings;
use shingle_sim::recorded::RecordingReplay;
use shingle_trace::record::{About, Events};

use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Follow {
    /// What `shingle store serve --record` or `shingle replay --record` wrote.
    recording: String,
}

pub(crate) fn execute(args: &Follow, registry: &Registry) -> anyhow::Result<()> {
    let path = &args.recording;
    let mut events = Events::open(path)?;
    let About { slots, disk_blocks, settings: ref text } = *events.about();
    let settings = Settings::from_text(text).with_context(|| path.clone())?;
    let policy = settings.policy.clone();
    let mut cache = settings.cache(registry, slots, disk_blocks).with_context(|| path.clone())?;
    let mut follower = RecordingReplay::new(cache.as_mut());
    while let Some(event) = events.next()? {
        follower.event(&event).map_err(|error| anyhow!("{path}: {error}"))?;
    }
    let followed = follower.end().map_err(|error| anyhow!("{path}: {error}"))?;
    let ratio = match followed.accesses {
        0 => "–".to_owned(),
        all => format!("{:.2} %", 100.0 * followed.hits as f64 / all as f64),
    };
    let lines = [
        ("cache", format!("{} under {policy}", show_blocks(u64::from(slots)))),
        ("requests", followed.requests.to_string()),
        ("blocks asked for", followed.accesses.to_string()),
        ("hits", format!("{} ({ratio})", followed.hits)),
        ("entered", followed.entered.to_string()),
        ("dropped clean", followed.dropped.to_string()),
        ("destaged", followed.destaged.to_string()),
        ("decisions", format!("{}, all as recorded", followed.decisions)),
    ];
    let text: String = lines.iter().map(|(name, value)| format!("{name:20}{value}\n")).collect();
    print(&text)
}
