//! Blind trials: drives drawn by a seed are probed, and the findings are compared with the truth.

use serde::Serialize;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_drive::measure::{Plan, rmw};
use shingle_drive::profile::Profile;
use shingle_drive::{Description, DriveError, Overrides, Rng, Settings, make};

use crate::change::real;
use crate::error::ProbeError;
use crate::findings::Findings;
use crate::model::{Model, Noise};
use crate::options::{Options, Writes};
use crate::probe::probe;
use crate::session::Session;
use crate::target::{Nanos, Target};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How the sizes of bands vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bands {
    /// All bands have the same size.
    Constant,
    /// Bands get smaller towards the end of the disk.
    Tapering,
    /// Each band has a random size.
    Random,
}

/// A randomly drawn drive.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The seed of the drive.
    pub seed: u64,
    /// How the sizes of its bands vary.
    pub bands: Bands,
    /// Map entries.
    pub extents: u64,
    /// Bytes of log.
    pub log_bytes: u64,
    /// The delay of cleaning in idle time, if the drive does that.
    pub idle_delay_ms: Option<u64>,
    /// The noise of the clock.
    pub noise: Noise,
    settings: Settings,
}

/// The model whose parameters are overridden.
const BASE: &str = "st8000as0002";

impl Drawn {
    /// Draws a drive: a buffer of 64 MiB to 32 GiB for writes of 4 KiB, limited by its map or by
    /// its log; bands of 8 to 64 MiB; a disk of 0.5 to 4 TB; cleaning in idle time with probability
    /// 1/2; read-ahead up to 4 MiB; noise up to 3 %, and outliers.
    #[must_use]
    pub fn new(seed: u64) -> Drawn {
        let mut rng = Rng::new(seed);
        // Each octave has the same probability.
        let octave = rng.below(9);
        let buffer_bytes = ((64 * MIB) << octave) + rng.below((64 * MIB) << octave);
        let blocks = buffer_bytes / BLOCK_BYTES;
        let by_entries = rng.below(2) == 0;
        let (extents, log_bytes) = if by_entries {
            (blocks / 8 * 8, (buffer_bytes * (2 + rng.below(8))).min(38 * GIB))
        } else {
            ((blocks + blocks / 4) / 8 * 8, blocks * BLOCK_BYTES)
        };
        let bands = [Bands::Constant, Bands::Tapering, Bands::Random][rng.below(3) as usize];
        let capacity = (500 + rng.below(3500)) * 1_000_000_000 / BLOCK_BYTES * BLOCK_BYTES;
        let idle_delay_ms = (rng.below(2) == 0).then(|| 200 + rng.below(4800));
        let noise = Noise {
            jitter: real(rng.below(31)) / 1000.0,
            outlier_every: [0, 1000, 3000][rng.below(3) as usize],
        };
        let read_ahead = [0, MIB / 2, 2 * MIB, 4 * MIB][rng.below(4) as usize];

        let largest = (8 + rng.below(57)) * MIB;
        let smallest = (largest / 2).max(8 * MIB);
        let tracks = 4 + rng.below(28);
        // Whole blocks, so that no band is outside the allowed sizes.
        let track = |bytes: u64| bytes / tracks / BLOCK_BYTES * BLOCK_BYTES;
        let (outer, inner) = match bands {
            Bands::Tapering => (track(largest), track(smallest)),
            _ => (track(largest), track(largest)),
        };
        let zones = 64;
        let tracks_min = if bands == Bands::Random { tracks * smallest / largest } else { tracks };
        let zone_tracks = capacity / (u64::midpoint(outer, inner) * zones);
        let mut overrides = Overrides::new();
        for (name, value) in [
            ("capacity_bytes", capacity),
            ("track_od_bytes", outer),
            ("track_id_bytes", inner),
            ("rate_zones", zones),
            ("zone_tracks", zone_tracks.max(tracks)),
            ("tracks_per_band", tracks),
            ("tracks_per_band_min", tracks_min.max(1)),
            ("band_seed", rng.below(1 << 30)),
            ("packets_max", extents / 8),
            ("packets_trigger", extents / 8),
            ("log_bytes", log_bytes),
            ("read_ahead_bytes", read_ahead),
            ("idle_delay_ms", idle_delay_ms.unwrap_or(1000)),
        ] {
            overrides.set(name, &value.to_string());
        }
        overrides.set("idle_cleaning", if idle_delay_ms.is_some() { "on" } else { "off" });
        let settings = Settings { overrides, ..Settings::default() };
        Drawn { seed, bands, extents, log_bytes, idle_delay_ms, noise, settings }
    }

    /// What limits writes of 4 KiB: `map` or `log`.
    #[must_use]
    pub fn limit(&self) -> &'static str {
        if self.extents * BLOCK_BYTES <= self.log_bytes { "map" } else { "log" }
    }

    /// The capacity of the empty buffer in bytes, for writes of `write_blocks`.
    #[must_use]
    pub fn buffer_bytes(&self, write_blocks: u64) -> u64 {
        let bytes = write_blocks * BLOCK_BYTES;
        self.extents.min(self.log_bytes / bytes) * bytes
    }
}

/// A measured value with its true value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The value that was measured.
    pub told: f64,
    /// The true value.
    pub truth: f64,
}

impl Compared {
    /// The relative error.
    #[must_use]
    pub fn off(&self) -> f64 {
        (self.told / self.truth - 1.0).abs()
    }
}

/// The result of a blind trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The drive.
    pub drawn: Drawn,
    /// The findings of the probe.
    pub findings: Findings,
    /// Its profile.
    pub profile: Profile,
    /// Size of writes in blocks, and capacity for them in bytes.
    pub capacities: Vec<(u64, Compared)>,
    /// Whether those limits by entries and by bytes that bind were found, and no others.
    pub limits_told: bool,
    /// For each band found: its size in blocks, and the allowed error in blocks.
    pub bands: Vec<(Compared, f64)>,
    /// Number of places where bands were searched.
    pub places: usize,
    /// Slope of `R(x)` in microseconds per block.
    pub slope: Option<Compared>,
    /// Drive time of the probe.
    pub time: Nanos,
}

/// The largest allowed relative error of a capacity.
pub const CAPACITY_OFF: f64 = 0.03;
/// The largest allowed relative error of a band; a reading step is always allowed.
pub const BAND_OFF: f64 = 0.05;
/// The largest allowed relative error of the slope.
pub const SLOPE_OFF: f64 = 0.10;

impl Trial {
    /// Whether all capacities are within [`CAPACITY_OFF`].
    #[must_use]
    pub fn capacity_holds(&self) -> bool {
        !self.capacities.is_empty()
            && self.capacities.iter().all(|(_, row)| row.off() <= CAPACITY_OFF)
    }

    /// Whether bands were found at nine of ten places, each within [`BAND_OFF`] or a reading step.
    #[must_use]
    pub fn bands_hold(&self) -> bool {
        let good = |(band, step): &&(Compared, f64)| {
            (band.told - band.truth).abs() <= (BAND_OFF * band.truth).max(*step)
        };
        self.bands.iter().all(|band| good(&band)) && self.bands.len() * 10 >= self.places * 9
    }

    /// Whether the slope is within [`SLOPE_OFF`].
    #[must_use]
    pub fn slope_holds(&self) -> bool {
        self.slope.is_some_and(|slope| slope.off() <= SLOPE_OFF)
    }

    /// Whether cleaning in idle time was found, and its delay within 10 %.
    #[must_use]
    pub fn idle_holds(&self) -> bool {
        match (self.drawn.idle_delay_ms, self.profile.idle) {
            (None, Some(idle)) => !idle.cleaning,
            (Some(delay), Some(idle)) => {
                idle.cleaning && (idle.delay_ms / real(delay) - 1.0).abs() <= 0.1
            }
            (_, None) => false,
        }
    }

    /// The greatest relative error of a capacity.
    #[must_use]
    pub fn worst_capacity(&self) -> f64 {
        self.capacities.iter().map(|(_, row)| row.off()).fold(0.0, f64::max)
    }

    /// The greatest relative error of a band.
    #[must_use]
    pub fn worst_band(&self) -> f64 {
        self.bands.iter().map(|(band, _)| band.off()).fold(0.0, f64::max)
    }
}

/// The reason why a trial failed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The drive cannot be made.
    #[error("seed {0}: {1}")]
    Drive(u64, DriveError),
    /// The probe failed.
    #[error("seed {0}: {1}")]
    Probe(u64, ProbeError),
}

/// Draws a drive by `seed` and probes it.
///
/// # Errors
/// If the drive cannot be made, or the probe fails.
pub fn trial(seed: u64) -> Result<Trial, TrialError> {
    let drawn = Drawn::new(seed);
    let drive = make(BASE, &drawn.settings).map_err(|error| TrialError::Drive(seed, error))?;
    let truth = drive.description().clone();
    let mut model = Model::new("drawn", drive, drawn.noise, seed);
    let writes = [1, 2, 64].map(|blocks| Writes { blocks, depth: 1 }).to_vec();
    let options = Options { writes, idle_max: 12, seed, ..Options::default() };
    let facts = model.facts().clone();
    let mut session = Session::in_memory();
    let findings = probe(Some(&mut model), facts, &mut session, &options, &mut |_| ())
        .map_err(|error| TrialError::Probe(seed, error))?;
    let profile = findings.profile(options.zone_blocks);
    let capacity = |&blocks: &u64| {
        let row = findings.capacities.iter().find(|row| row.writes.blocks == blocks);
        let told = row.and_then(|row| row.facts()).map_or(0.0, |row| real(row.bytes));
        (blocks, Compared { told, truth: real(drawn.buffer_bytes(blocks)) })
    };
    let step = real(options.step_bytes / BLOCK_BYTES);
    let slope_told = profile.rmw.map(|rmw| rmw.us_per_block);
    let slope_truth = slope(&drawn, &options).map_err(|error| TrialError::Drive(seed, error))?;
    Ok(Trial {
        capacities: [1, 2, 64].iter().map(capacity).collect(),
        limits_told: limits_told(&drawn, &profile),
        bands: bands(&profile, &truth).into_iter().map(|band| (band, step)).collect(),
        places: findings.bands.len(),
        slope: slope_told.map(|told| Compared { told, truth: slope_truth }),
        time: model.now(),
        profile,
        findings,
        drawn,
    })
}

/// Whether the limits that bind for some writes were found within [`CAPACITY_OFF`], and no others.
fn limits_told(drawn: &Drawn, profile: &Profile) -> bool {
    let told =
        profile.buffer.as_ref().map_or((None, None), |buffer| (buffer.extents, buffer.log_bytes));
    let binds = |blocks: u64| drawn.extents * blocks * BLOCK_BYTES < drawn.log_bytes;
    let close = |told: Option<u64>, truth: u64, binds: bool| match told {
        Some(told) => binds && (real(told) / real(truth) - 1.0).abs() <= CAPACITY_OFF,
        None => !binds,
    };
    close(told.0, drawn.extents, binds(1)) && close(told.1, drawn.log_bytes, !binds(64))
}

/// Compares each band found with the true one.
fn bands(profile: &Profile, truth: &Description) -> Vec<Compared> {
    let Some(map) = &truth.bands else { return Vec::new() };
    let beside = |band: &shingle_drive::profile::BandFacts| {
        let middle = map.zone(Block(band.first_block + band.blocks / 2));
        Compared { told: real(band.blocks), truth: real(map.blocks(middle)) }
    };
    profile.bands.iter().map(beside).collect()
}

/// The slope of the model's `R(x)`, in microseconds per block, measured without noise and with
/// knowledge of when the buffer is full.
fn slope(drawn: &Drawn, options: &Options) -> Result<f64, DriveError> {
    /// The cost of a zone depends on its position: a thousand zones at the greatest coverage.
    const BLOCKS: u64 = 2_500_000;
    let plan = Plan {
        zone_blocks: options.zone_blocks,
        coverages: options.coverages.clone(),
        fills: BLOCKS.div_ceil(drawn.buffer_bytes(1) / BLOCK_BYTES),
        ..Plan::default()
    };
    Ok(rmw(BASE, &drawn.settings, &plan)?.line.slope * 1e3)
}
