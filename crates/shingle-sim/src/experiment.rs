//! From names and settings to runs: the part of `compare` and `run` behind their options.

mod assignments;
mod buffer;
mod drives;
mod job;
mod names;
mod options;
mod owners;
mod policies;
mod served;
mod sizes;
mod ssd;
mod translations;

use std::collections::BTreeMap;
use std::sync::Arc;

use shingle_core::params::Params;
use shingle_core::policies::none::NoCache;
use shingle_core::policy::{Policy as _, Zoning};
use shingle_core::registry::Registry;
use shingle_core::size;
use shingle_result::{Labels, Notes, Pacing};
use shingle_trace::Summary;

use crate::requests::RequestList;
use crate::run::RunOptions;
use crate::system::Rules;
use crate::watch::Rows;
pub use assignments::{Assignment, Assignments};
use drives::{DriveChoice, check_capacity, drive_choice, unused_zones};
pub use job::{Job, run_all, setting_without_effect};
pub use names::{check_names, check_options, takes};
use options::{ALL, usage};
pub use options::{DEFAULT_CACHE, DEFAULT_POLICIES, ExperimentError, Options, StoreOptions, Trace};
use owners::check_owners;
use policies::{Chosen, cache_params};
pub use sizes::{check_size, share};
use ssd::SsdChoice;
pub use translations::PARAMS as TRANSLATION_PARAMS;
use translations::Translator;

/// Checks everything that can be checked without running: names, values, sizes.
///
/// # Errors
/// The first error, in one line that says how to fix it.
pub fn plan<R: RequestList>(
    options: &Options,
    registry: &Registry,
    trace: &Trace<R>,
) -> Result<(Vec<Job>, Notes), ExperimentError> {
    let mut notes = Notes::default();
    let mut first_left_out = None;
    served::check(options)?;
    check_owners(options, registry)?;
    let policies = policies::chosen(options, registry)?;
    let cache_params = cache_params(options)?;
    let ssd = SsdChoice::new(options)?;
    let mut jobs: Vec<Job> = Vec::new();
    let rules =
        Rules { pacing: options.pacing, split: options.split, fill_partial: options.fill_partial };
    let run_options = RunOptions {
        pacing: options.pacing,
        speed_thousandths: options.speed_thousandths,
        drain: options.drain,
        points: options.points,
        rows: (options.heat_rows > 0 && options.points > 0)
            .then(|| Arc::new(Rows::new(&trace.requests, options.heat_rows, options.points))),
    };
    let translations = translations::chosen(options)?;
    let pairs =
        options.drives.iter().flat_map(|name| translations.iter().map(move |t| (name, t.as_ref())));
    for (name, translation) in pairs {
        let all = options.translations.iter().any(|name| name == ALL);
        let mut of_drive = Vec::new();
        let drive = match drive_choice(name, translation, &ssd, options, trace, &mut of_drive) {
            Err(ExperimentError::Usage(why)) if all => {
                notes.add(left_out(&why), []);
                first_left_out.get_or_insert(why);
                continue;
            }
            drive => drive?,
        };
        check_capacity(&drive, trace)?;
        of_drive.extend(unused_zones(&drive, &policies));
        let first = jobs.len();
        for cache in &options.caches {
            let cache_blocks = cache_blocks(cache, &drive, &ssd, &trace.summary)?;
            for policy in &policies {
                let entry = &policy.entry;
                let cached = entry.name != NoCache::NAME;
                let slots = if cached { cache_blocks } else { 0 };
                // A disk without a cache is not a store: it runs by itself, for comparison.
                let store = options.store.clone().filter(|_| cached);
                if store.is_some() {
                    served::check_devices(&drive, &ssd, slots)?;
                }
                let same = |job: &Job| {
                    job.policy.entry.name == entry.name
                        && job.drive.title() == drive.title()
                        && job.cache_blocks == slots
                };
                if jobs.iter().any(same) {
                    continue;
                }
                let job = Job {
                    labels: labels(policy, &cache_params, &drive, &ssd, options, slots),
                    policy: policy.clone(),
                    cache_params: cache_params.clone(),
                    cache_blocks: slots,
                    drive: drive.clone(),
                    ssd: ssd.clone(),
                    rules,
                    run_options: run_options.clone(),
                    store,
                    check: options.check,
                };
                match job.check_makes() {
                    Err(ExperimentError::Usage(why))
                        if policy.baseline || options.takes_what_goes() =>
                    {
                        notes.add(left_out(&why), []);
                        first_left_out.get_or_insert(why);
                    }
                    made => {
                        if let Some(remark) = made? {
                            let note = format!("{} over {}: {remark}", entry.name, drive.title());
                            notes.add(note, [jobs.len()]);
                        }
                        jobs.push(job);
                    }
                }
            }
        }
        of_drive.into_iter().for_each(|text| notes.add(text, first..jobs.len()));
    }
    if jobs.is_empty() {
        return Err(usage(first_left_out.unwrap_or_else(|| "name a drive and a cache".to_owned())));
    }
    Ok((jobs, notes))
}

/// Says why a policy that was not named, or the baseline, is left out.
fn left_out(why: &str) -> String {
    format!("left out: {why}")
}

fn cache_blocks(
    text: &str,
    drive: &DriveChoice,
    ssd: &SsdChoice,
    summary: &Summary,
) -> Result<u32, ExperimentError> {
    let wrong = |why: String| usage(format!("-c {text}: {why}"));
    let blocks = share(text, summary)?;
    let disk_blocks = drive.description.disk_blocks;
    if blocks == 0 && text.contains('%') {
        return Err(wrong(
            "the trace reads and writes no block, and a share of nothing is no cache; give a size such as 1G".into(),
        ));
    }
    if blocks == 0 {
        return Err(wrong("the cache is empty; use the policy `none` to run without one".into()));
    }
    if blocks > disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than {} with its {}",
            drive.name,
            size::show_blocks(disk_blocks)
        )));
    }
    if blocks > ssd.description.disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than the SSD {} with its {}",
            ssd.name,
            size::show_blocks(ssd.description.disk_blocks)
        )));
    }
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks < u32::MAX)
        .ok_or_else(|| wrong("caches hold less than 16 TiB".into()))
}

fn labels(
    policy: &Chosen,
    cache: &Params,
    drive: &DriveChoice,
    ssd: &SsdChoice,
    options: &Options,
    cache_blocks: u32,
) -> Labels {
    let (entry, params) = (&policy.entry, &policy.params);
    let mut parameters: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    parameters.extend(cache.iter().map(|(name, value)| (format!("cache.{name}"), value)));
    parameters.insert("split".into(), if options.split { "4k" } else { "off" }.into());
    if let Some(store) = options.store.as_ref().filter(|_| entry.name != NoCache::NAME) {
        parameters.insert("as".into(), "store".into());
        if options.pacing == Pacing::Closed {
            parameters.insert("depth".into(), store.depth.to_string());
        }
        if let Some(every) = store.flush_every {
            parameters.insert("flush_every_ms".into(), (every.0 / 1_000_000).to_string());
        }
    }
    let partial = if options.fill_partial { "fill" } else { "ignore" };
    parameters.insert("partial".into(), partial.into());
    for (name, value) in &ssd.shown {
        parameters.insert(format!("ssd.{name}"), value.clone());
    }
    Labels {
        seed: options.seed,
        policy: entry.name.into(),
        parameters,
        drive: drive.name.clone(),
        drive_parameters: drive.shown.clone(),
        pb_blocks: Some(drive.description.buffer_blocks).filter(|&blocks| blocks > 0),
        ssd: ssd.name.clone(),
        translation: drive.translator.as_ref().map(|over| over.name().to_owned()),
        translation_parameters: drive.translator.as_ref().map(Translator::parameters),
        cache_blocks: cache_blocks.into(),
        mode: options.mode.name().into(),
        pacing: options.pacing.name().into(),
        // A host that translates knows the zones, as does a host to which the drive exposes them.
        knows_bands: entry.zoning(params) == Zoning::Bands
            && drive.description.exposed.is_none()
            && drive.translator.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_no_drives_and_no_caches_nothing_is_planned() {
        let trace = Trace {
            name: "empty".to_owned(),
            format: None,
            requests: Vec::new(),
            summary: Summary::default(),
        };
        let none = [
            Options { drives: Vec::new(), ..Options::default() },
            Options { caches: Vec::new(), ..Options::default() },
        ];
        for options in none {
            let planned = plan(&options, &Registry::default(), &trace);
            assert_eq!(planned.err(), Some(usage("name a drive and a cache")));
        }
    }
}
