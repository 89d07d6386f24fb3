//! A shadow cache: a simulated cache that gets a sample of the requests and counts what it would
//! have done.

use std::collections::BTreeSet;

use shingle_core::cache::CacheCore;
use shingle_core::units::{Block, Op, Request, Zone};
use shingle_core::zones::ZoneMap;
use shingle_drive::steps::Step;
use shingle_drive::{self as drives, Drive, Settings};
use shingle_result::Estimate;
use shingle_result::Pacing;

use super::curve::BANDS_MIN;
use super::estimate::ratio;
use super::scaled::scaled_settings;
use super::{GROUPS, Sampling, WHOLE};
use crate::system::{Rules, System};

/// Size of a shadow, and of the cache that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Slots of the whole cache.
    pub slots: u64,
    /// Slots of the sampled cache.
    pub sampled_slots: u64,
}

/// A cache over a model of a disk, with its counts by group of bands.
pub struct Shadow {
    system: System,
    sampling: Sampling,
    sizes: Sizes,
    accesses: [u64; GROUPS],
    hits: [u64; GROUPS],
    rmws: [u64; GROUPS],
    /// Time of the devices, in microseconds, by the group of the request that used it.
    micros: [u64; GROUPS],
    /// Accesses of all requests, sampled or not.
    all_accesses: u64,
    steps: Vec<Step>,
    /// First block of the band that was read and is being rewritten.
    rewriting: Option<Block>,
    hits_before: u64,
    time_before: u64,
    /// Sampled bands that were accessed, and the last of them.
    bands: BTreeSet<Zone>,
    last_band: Option<Zone>,
}

/// Creates a drive whose buffer is scaled down to the sampled part, and returns it with its bands.
///
/// # Errors
/// If there is no such drive, or it cannot be sampled, in one line.
pub fn scaled_drive(
    name: &str,
    settings: &Settings,
    millionths: u64,
) -> Result<(Box<dyn Drive>, ZoneMap), String> {
    let whole = drives::make(name, settings).map_err(|error| error.to_string())?;
    let bands = whole.description().bands.clone();
    let bands = bands
        .ok_or_else(|| format!("{name} has no bands to be rewritten; name a shingled disk"))?;
    let mut drive = match millionths {
        super::WHOLE => whole,
        _ => drives::make(name, &scaled_settings(name, settings, millionths)?)
            .map_err(|error| error.to_string())?,
    };
    match drive.steps() {
        Some(steps) => steps.begin(),
        None => {
            return Err(format!(
                "{name} does not tell which bands it rewrites; name another model"
            ));
        }
    }
    Ok((drive, bands))
}

impl Shadow {
    /// Creates a shadow. `cache` has the sampled part of the slots; `drive` is from
    /// [`scaled_drive`] for the same part.
    ///
    /// # Errors
    /// If there is no SSD model to count with, in one line.
    pub fn new(
        cache: Box<dyn CacheCore>,
        drive: Box<dyn Drive>,
        sampling: Sampling,
        slots: u64,
    ) -> Result<Shadow, String> {
        let ssd = drives::make_ssd("pcie-ssd", &Settings::default()).map_err(|e| e.to_string())?;
        let rules = Rules { pacing: Pacing::Closed, split: false, fill_partial: true };
        let sizes = Sizes { slots, sampled_slots: cache.slots().capacity().into() };
        // Drives report their steps only with stamps, which checked systems have.
        let system = System::new(cache, ssd, drive, rules, true);
        Ok(Shadow {
            system,
            sampling,
            sizes,
            accesses: [0; GROUPS],
            hits: [0; GROUPS],
            rmws: [0; GROUPS],
            micros: [0; GROUPS],
            all_accesses: 0,
            steps: Vec::new(),
            rewriting: None,
            hits_before: 0,
            time_before: 0,
            bands: BTreeSet::new(),
            last_band: None,
        })
    }

    /// Counts a request, and serves its sampled part.
    pub fn request(&mut self, request: &Request) {
        if matches!(request.op, Op::Read | Op::Write) {
            self.all_accesses += request.blocks();
        }
        let sampling = self.sampling.clone();
        sampling.pieces(request, |piece, group| self.serve(&piece, group));
    }

    fn serve(&mut self, piece: &Request, group: usize) {
        let band = Some(self.sampling.bands.zone(piece.first()));
        if self.last_band != band {
            self.last_band = band;
            self.bands.extend(band);
        }
        self.system.request(piece);
        let now = self.system.snapshot();
        let hits = now.host.read_hits + now.host.write_hits;
        let time = self.system.finished().0 / 1_000;
        if matches!(piece.op, Op::Read | Op::Write) {
            self.accesses[group] += piece.blocks();
            self.hits[group] += hits - self.hits_before;
            self.micros[group] += time - self.time_before;
        }
        (self.hits_before, self.time_before) = (hits, time);
        self.system.take_steps(&mut self.steps);
        for step in self.steps.drain(..) {
            match step {
                Step::Rewrite { first, read, .. } => self.rewriting = read.then_some(first),
                // A band may be rewritten part by part: count it once.
                Step::Written => {
                    let group = self.rewriting.take().and_then(|at| self.sampling.group_of(at));
                    self.rmws[group.unwrap_or(0)] += u64::from(group.is_some());
                }
                _ => {}
            }
        }
    }

    /// Returns its size.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the number of block accesses, sampled or not.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.all_accesses
    }

    /// Returns the number of sampled block accesses.
    #[must_use]
    pub fn sampled_accesses(&self) -> u64 {
        self.accesses.iter().sum()
    }

    /// Returns the number of sampled bands that were accessed.
    #[must_use]
    pub fn sampled_bands(&self) -> u64 {
        self.bands.len() as u64
    }

    /// Returns whether so few bands were sampled that errors may be larger than reported.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.millionths() < WHOLE && (self.bands.len() as f64) < BANDS_MIN
    }

    /// Returns whether the cache has been full.
    #[must_use]
    pub fn was_full(&self) -> bool {
        self.system.warm().is_some()
    }

    /// Returns the hit ratio of block accesses, in percent.
    #[must_use]
    pub fn hits_percent(&self) -> Option<Estimate> {
        ratio(&self.hits, &self.accesses, 100.0, self.sampling.millionths())
    }

    /// Returns the estimated band rewrites for all requests.
    #[must_use]
    pub fn rmws(&self) -> Option<Estimate> {
        let scale = self.all_accesses as f64;
        ratio(&self.rmws, &self.accesses, scale, self.sampling.millionths())
    }

    /// Returns the estimated device time for all requests, in seconds.
    #[must_use]
    pub fn io_seconds(&self) -> Option<Estimate> {
        let scale = self.all_accesses as f64 / 1e6;
        ratio(&self.micros, &self.accesses, scale, self.sampling.millionths())
    }

    /// Returns the sampled band rewrites by group. Shadows with the same sampling have the same
    /// bands in a group.
    #[must_use]
    pub fn rmws_by_group(&self) -> &[u64; GROUPS] {
        &self.rmws
    }

    /// Returns the counters of the drive, for the sampled requests.
    #[must_use]
    pub fn drive_counters(&self) -> drives::Counters {
        *self.system.disk().counters()
    }

    /// Returns the sampled part, in millionths.
    #[must_use]
    pub fn millionths(&self) -> u64 {
        self.sampling.millionths()
    }
}
