//! From names and settings to runs: the part of `compare` and `run` behind their options.

mod assignments;
mod buffer;
mod drives;
mod filled;
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
use translations::{Over, Translator};

/// Checks everything that can be checked without running: names, values, sizes.
///
/// # Errors
/// The first error, in one line that says how to fix it.
pub fn plan<R: RequestList>(
    options: &Options,
    registry: &Registry,
    trace: &Trace<R>,
) -> Result<(Vec<Job>, Notes), ExperimentError> {
    served::check(options)?;
    check_owners(options, registry)?;
    let given = Given {
        options,
        trace,
        policies: policies::chosen(options, registry)?,
        cache_params: cache_params(options)?,
        ssd: SsdChoice::new(options)?,
        run_options: RunOptions {
            pacing: options.pacing,
            speed_thousandths: options.speed_thousandths,
            drain: options.drain,
            points: options.points,
            rows: (options.heat_rows > 0 && options.points > 0)
                .then(|| Arc::new(Rows::new(&trace.requests, options.heat_rows, options.points))),
        },
    };
    let translations = translations::chosen(options)?;
    let mut planned = Planned::default();
    for name in &options.drives {
        for translation in &translations {
            planned.add_drive(&given, name, translation.as_ref())?;
        }
    }
    if planned.jobs.is_empty() {
        let why = planned.first_left_out;
        return Err(usage(why.unwrap_or_else(|| "name a drive and a cache".to_owned())));
    }
    Ok((planned.jobs, planned.notes))
}

/// What all jobs are made of.
struct Given<'a, R> {
    options: &'a Options,
    trace: &'a Trace<R>,
    policies: Vec<Chosen>,
    cache_params: Params,
    ssd: SsdChoice,
    run_options: RunOptions,
}

#[derive(Default)]
struct Planned {
    jobs: Vec<Job>,
    notes: Notes,
    first_left_out: Option<String>,
}

impl Planned {
    /// Adds the jobs over a drive: each cache with each policy.
    fn add_drive<R: RequestList>(
        &mut self,
        given: &Given<'_, R>,
        name: &str,
        translation: Option<&Over>,
    ) -> Result<(), ExperimentError> {
        let Given { options, trace, ssd, policies, .. } = given;
        let all = options.translations.iter().any(|name| name == ALL);
        let mut of_drive = Vec::new();
        let drive = match drive_choice(name, translation, ssd, options, trace, &mut of_drive) {
            Err(ExperimentError::Usage(why)) if all => {
                self.leave_out(why);
                return Ok(());
            }
            drive => drive?,
        };
        check_capacity(&drive, trace)?;
        of_drive.extend(unused_zones(&drive, policies));
        let first = self.jobs.len();
        for cache in &options.caches {
            let cache_blocks = cache_blocks(cache, &drive, ssd, &trace.summary)?;
            for policy in policies {
                self.add_job(given, policy, &drive, cache_blocks)?;
            }
        }
        of_drive.into_iter().for_each(|text| self.notes.add(text, first..self.jobs.len()));
        Ok(())
    }

    /// Adds a job, unless there is the same one, or it is to be left out where it does not go with the drive.
    fn add_job<R>(
        &mut self,
        given: &Given<'_, R>,
        policy: &Chosen,
        drive: &DriveChoice,
        cache_blocks: u32,
    ) -> Result<(), ExperimentError> {
        let Given { options, cache_params, ssd, run_options, .. } = given;
        let entry = &policy.entry;
        let cached = entry.name != NoCache::NAME;
        let cache_blocks = if cached { cache_blocks } else { 0 };
        // A disk without a cache is not a store: it runs by itself, for comparison.
        let store = options.store.clone().filter(|_| cached);
        if store.is_some() {
            served::check_devices(drive, ssd, cache_blocks)?;
        }
        let same = |job: &Job| {
            job.policy.entry.name == entry.name
                && job.drive.title() == drive.title()
                && job.cache_blocks == cache_blocks
        };
        if self.jobs.iter().any(same) {
            return Ok(());
        }
        let job = Job {
            labels: labels(policy, cache_params, drive, ssd, options, cache_blocks),
            policy: policy.clone(),
            cache_params: cache_params.clone(),
            cache_blocks,
            drive: drive.clone(),
            ssd: ssd.clone(),
            rules: Rules {
                pacing: options.pacing,
                split: options.split,
                fill_partial: options.fill_partial,
            },
            run_options: run_options.clone(),
            store,
            check: options.check,
        };
        match job.check_makes() {
            Err(ExperimentError::Usage(why)) if policy.baseline || options.takes_what_goes() => {
                self.leave_out(why);
            }
            made => {
                if let Some(remark) = made? {
                    let note = format!("{} over {}: {remark}", entry.name, drive.title());
                    self.notes.add(note, [self.jobs.len()]);
                }
                self.jobs.push(job);
            }
        }
        Ok(())
    }

    /// Notes why a policy or translation that was not named, or the baseline, is left out.
    fn leave_out(&mut self, why: String) {
        self.notes.add(format!("left out: {why}"), []);
        self.first_left_out.get_or_insert(why);
    }
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
