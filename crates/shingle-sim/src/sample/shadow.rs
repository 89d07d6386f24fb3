//! A cache that never was: fed with a sample of requests, it counts what it would have done.

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

/// What a shadow takes beside what the whole would take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Slots of the whole cache.
    pub slots: u64,
    /// Of the sampled one.
    pub sampled_slots: u64,
}

/// A cache over a model of a disk, and what it has counted, by groups of bands.
pub struct Shadow {
    system: System,
    sampling: Sampling,
    sizes: Sizes,
    accesses: [u64; GROUPS],
    hits: [u64; GROUPS],
    rmws: [u64; GROUPS],
    /// Time of the devices, in microseconds, by the group whose request took it.
    micros: [u64; GROUPS],
    /// Accesses of all requests, sampled or not.
    all_accesses: u64,
    steps: Vec<Step>,
    /// Where a band is being rewritten that was read before.
    rewriting: Option<Block>,
    hits_before: u64,
    time_before: u64,
    /// Sampled bands that were asked for, and the last of them.
    bands: BTreeSet<Zone>,
    last_band: Option<Zone>,
}

/// A drive of which the buffer is the sampled part of what it would be, and the bands that it has.
///
/// # Errors
/// In a line, if there is no such drive, or it is none that can be sampled.
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
    /// `cache` has the sampled part of the slots, and lies over a `drive` that [`scaled_drive`] gave for the same part.
    ///
    /// # Errors
    /// In a line, if there is no SSD to count with.
    pub fn new(
        cache: Box<dyn CacheCore>,
        drive: Box<dyn Drive>,
        sampling: Sampling,
        slots: u64,
    ) -> Result<Shadow, String> {
        let ssd = drives::make_ssd("pcie-ssd", &Settings::default()).map_err(|e| e.to_string())?;
        let rules = Rules { pacing: Pacing::Closed, split: false, fill_partial: true };
        let sizes = Sizes { slots, sampled_slots: cache.slots().capacity().into() };
        // (Steps go with stamps, which checked systems have.)
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

    /// A request was asked for; what of it is sampled is served.
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
                // (A band may be rewritten part by part.)
                Step::Written => {
                    let group = self.rewriting.take().and_then(|at| self.sampling.group_of(at));
                    self.rmws[group.unwrap_or(0)] += u64::from(group.is_some());
                }
                _ => {}
            }
        }
    }

    /// How large it is.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Accesses of blocks, sampled or not.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.all_accesses
    }

    /// Those that were sampled.
    #[must_use]
    pub fn sampled_accesses(&self) -> u64 {
        self.accesses.iter().sum()
    }

    /// Bands of the sample that were asked for.
    #[must_use]
    pub fn sampled_bands(&self) -> u64 {
        self.bands.len() as u64
    }

    /// Whether so few bands were sampled that estimates may be off by more than they say.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.millionths() < WHOLE && (self.bands.len() as f64) < BANDS_MIN
    }

    /// Whether the cache has been full.
    #[must_use]
    pub fn was_full(&self) -> bool {
        self.system.warm().is_some()
    }

    /// Accesses that found their block cached, in percent.
    #[must_use]
    pub fn hits_percent(&self) -> Option<Estimate> {
        ratio(&self.hits, &self.accesses, 100.0, self.sampling.millionths())
    }

    /// Bands rewritten, had all been served.
    #[must_use]
    pub fn rmws(&self) -> Option<Estimate> {
        let scale = self.all_accesses as f64;
        ratio(&self.rmws, &self.accesses, scale, self.sampling.millionths())
    }

    /// Time of the devices, had all been served, in seconds.
    #[must_use]
    pub fn io_seconds(&self) -> Option<Estimate> {
        let scale = self.all_accesses as f64 / 1e6;
        ratio(&self.micros, &self.accesses, scale, self.sampling.millionths())
    }

    /// Bands rewritten, by group: of shadows with the same sampling they are of the same bands.
    #[must_use]
    pub fn rmws_by_group(&self) -> &[u64; GROUPS] {
        &self.rmws
    }

    /// What the drive has counted, of what it was asked.
    #[must_use]
    pub fn drive_counters(&self) -> drives::Counters {
        *self.system.disk().counters()
    }

    /// The part that is sampled.
    #[must_use]
    pub fn millionths(&self) -> u64 {
        self.sampling.millionths()
    }
}
