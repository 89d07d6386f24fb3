//! One run, ready to start.

use rayon::prelude::*;
use shingle_core::cache::CacheCore;
use shingle_core::params::Params;
use shingle_core::registry::Setup;
use shingle_drive::Description;
use shingle_result::{Labels, RunResult};

use super::drives::{DriveChoice, make_drive};
use super::options::{ExperimentError, StoreOptions, Trace, usage};
use super::policies::Chosen;
use super::served::{as_a_store_knows, serving};
use super::ssd::SsdChoice;
use super::translations::Translator;
use crate::disk::Disk;
use crate::requests::RequestList;
use crate::run::{RunOptions, run};
use crate::sample::{SampledTrace, part_of, scaled_settings};
use crate::store::{self, Devices};
use crate::system::{Rules, System};
use crate::watch::Log;

/// One run, ready to start.
#[derive(Clone)]
pub struct Job {
    pub(super) policy: Chosen,
    pub(super) cache_params: Params,
    pub(super) cache_blocks: u32,
    pub(super) drive: DriveChoice,
    pub(super) ssd: SsdChoice,
    pub(super) rules: Rules,
    pub(super) run_options: RunOptions,
    /// Options of the client, if this is a run of the store.
    pub(super) store: Option<StoreOptions>,
    pub(super) check: bool,
    pub(super) labels: Labels,
}

/// Runs `jobs` over `trace` on all threads of the current pool. Results are in the order of jobs.
///
/// # Errors
/// The error of the first run that failed, in the order of jobs.
pub fn run_all<R: RequestList>(
    jobs: &[Job],
    trace: &Trace<R>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<RunResult>, ExperimentError> {
    let results: Vec<Result<RunResult, ExperimentError>> =
        jobs.par_iter().map(|job| job.run(&trace.requests, progress)).collect();
    results.into_iter().collect()
}

impl Job {
    /// Returns the labels of the run in its result.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the same run over a part of the bands: with `millionths` of the cache and of the
    /// disk's buffer.
    ///
    /// # Errors
    /// If the drive does not exist.
    pub fn scaled(&self, millionths: u64) -> Result<Job, ExperimentError> {
        let mut job = self.clone();
        job.cache_blocks = part_of(u64::from(self.cache_blocks), millionths) as u32;
        if self.cache_blocks > 0 {
            job.cache_blocks = job.cache_blocks.max(1);
        }
        job.labels.cache_blocks = job.cache_blocks.into();
        if self.drive.description.buffer_blocks > 0 {
            let (name, settings) = (&self.drive.name, &self.drive.settings);
            let settings = scaled_settings(name, settings, millionths).map_err(usage)?;
            let made = shingle_drive::make(name, &settings).map_err(usage)?;
            job.drive.description = made.description().clone();
            job.drive.settings = settings;
            job.labels.pb_blocks = Some(job.drive.description.buffer_blocks);
        }
        Ok(job)
    }

    /// Returns the number of slots of the cache.
    #[must_use]
    pub fn cache_blocks(&self) -> u32 {
        self.cache_blocks
    }

    /// Returns the blocks of the disk's buffer; 0 if it has none.
    #[must_use]
    pub fn buffer_blocks(&self) -> u64 {
        self.drive.description.buffer_blocks
    }

    /// Says why no part of the bands is representative, if this is so.
    #[must_use]
    pub fn no_part(&self) -> Option<String> {
        let title = self.drive.title();
        if self.drive.translator.is_some() {
            return Some(format!(
                "{title}: what a translation does to a zone depends on all zones"
            ));
        }
        let disk = self.disk().ok()?;
        if disk.drive().wear().is_some() {
            return Some(format!("{title}: the flash in it is shared by all bands"));
        }
        self.drive.description.exposed.is_some().then(|| {
            format!("{title}: how many zones it has open, and clean, depends on all zones")
        })
    }

    /// Creates the disk.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn disk(&self) -> Result<Disk, ExperimentError> {
        make_drive(&self.drive)
    }

    /// Creates the system.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn system(&self) -> Result<System, ExperimentError> {
        let disk = make_drive(&self.drive)?;
        Ok(System::new(self.cache()?, self.ssd.make()?, disk, self.rules, self.check))
    }

    fn cache(&self) -> Result<Box<dyn CacheCore>, ExperimentError> {
        self.policy.entry.make(&self.policy.params, &self.setup()).map_err(usage)
    }

    /// Runs over `requests`. `progress` gets the number of requests served since its last call.
    ///
    /// # Errors
    /// If the system cannot be created, or a checked run reads stale data.
    pub fn run(
        &self,
        requests: &(impl RequestList + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        self.run_with(requests, None, progress)
    }

    fn run_with(
        &self,
        requests: &(impl RequestList + ?Sized),
        log: Option<Log>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        let (labels, run_options) = (&self.labels, &self.run_options);
        if let Some(store) = &self.store {
            let serving = serving(store, self.cache_blocks, self.check);
            let devices = Devices { ssd: self.ssd.make()?, disk: self.disk()?, log };
            let cache = self.cache()?;
            return Ok(store::run(
                cache,
                devices,
                &serving,
                requests,
                labels,
                run_options,
                progress,
            )?);
        }
        let mut system = self.system()?;
        if let Some(log) = log {
            system.watch().log = Some(log);
        }
        Ok(run(system, requests, labels, run_options, progress)?)
    }

    /// [`Job::run`] that passes each command of the disk to `log`.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_logged(
        &self,
        requests: &(impl RequestList + ?Sized),
        log: Log,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        self.run_with(requests, Some(log), progress)
    }

    /// [`Job::run`] over a sample.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_sampled(
        &self,
        sample: &SampledTrace,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        let mut system = self.system()?;
        system.pass_over(sample.left_out.clone());
        Ok(run(system, &sample.requests[..], &self.labels, &self.run_options, progress)?)
    }

    fn setup(&self) -> Setup<'_> {
        let Description { disk_blocks, bands, exposed, buffer_blocks, costs, in_order, .. } =
            &self.drive.description;
        let setup = Setup {
            cache_blocks: self.cache_blocks,
            disk_blocks: *disk_blocks,
            bands: bands.as_ref(),
            conventional_zones: exposed.map(|zones| zones.conventional_zones),
            sequential_required: exposed.is_some_and(|zones| zones.sequential_required),
            buffer_blocks: *buffer_blocks,
            is_log: self.drive.translator.as_ref().is_some_and(Translator::is_log),
            in_order: *in_order,
            costs: *costs,
            cache: &self.cache_params,
        };
        match self.store {
            Some(_) => as_a_store_knows(setup, self.drive.translator.is_some()),
            None => setup,
        }
    }

    /// Returns whether its policy or its translation has this name.
    fn is_of(&self, owner: &str) -> bool {
        self.policy.entry.name == owner
            || self.drive.translator.as_ref().is_some_and(|translator| translator.name() == owner)
    }

    /// Returns whether it is the baseline, run only for comparison.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.policy.baseline
    }

    /// Checks that the policy works with the drive, so that a mistake does not show only after
    /// other runs.
    pub(super) fn check_makes(&self) -> Result<Option<String>, ExperimentError> {
        let setup = Setup { cache_blocks: self.cache_blocks.min(1), ..self.setup() };
        let cache = self.policy.entry.make(&self.policy.params, &setup).map_err(usage)?;
        let only_simulated = [
            (cache.wants_future(), "has to know the future"),
            (cache.wants_horizon(), "asks the drive how old its buffer is"),
        ];
        if let (Some(_), Some((_, why))) =
            (&self.store, only_simulated.iter().find(|(wants, _)| *wants))
        {
            return Err(usage(format!(
                "{} {why}, which no store can tell it",
                self.policy.entry.name
            )));
        }
        if cache.wants_horizon() && self.drive.translator.is_some() {
            return Err(usage(format!(
                "{} asks the drive how old its buffer is, which no translation tells: drop \
                 {0}.rule4=exact",
                self.policy.entry.name
            )));
        }
        if self.drive.description.exposed.is_some_and(|zones| !zones.reads_beyond) {
            return Err(usage(format!(
                "{} refuses reads beyond its write pointers (drive.reads_beyond_pointer=off), and traces read what \
                 nobody has written: drop that setting, or put a translation between them with -t",
                self.drive.name
            )));
        }
        Ok(cache.remark(self.cache_blocks))
    }
}

/// Returns a note if the owner of OWNER.NAME, which `option` sets, runs in none of `jobs`.
pub fn setting_without_effect<'a>(
    option: &str,
    key: &str,
    mut jobs: impl Iterator<Item = &'a Job>,
) -> Option<String> {
    let owner = key.split_once('.')?.0;
    let general = ["policy", "translation", "cache", "drive", "ssd"].contains(&owner);
    (!general && !jobs.any(|job| job.is_of(owner)))
        .then(|| format!("{option} {key} changes nothing: {owner} is not run"))
}
