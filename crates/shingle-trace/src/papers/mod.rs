//! The traces that the papers replay: their volumes, and the two large traces made of them.
//!
//! ```text
//! long  18 × (src1_2 prn_0 ts_0 wdev_0 mds_0 stg_0 hm_0 web_0 usr_0 rsrch_0), all shuffled   SAC §6.1
//! mix   16 × (the same without rsrch_0, shuffled), shuffled                                  PORE §V-G
//! ```
//!
//! Each copy is the same sequence at other addresses. A volume is read from a trace, if the user
//! has it, or generated from published figures ([`crate::volumes`]). Only the accesses that a
//! caller requests are held in memory: `long` has 1.48 billion.
//!
//! ```
//! use shingle_trace::papers::{Papers, Trace};
//! use shingle_trace::Mode;
//!
//! let papers = Papers::generated(1, &[("zone-skew", "6")])?;
//! let packed = papers.read(Trace::Long { copies: 2 }, Mode::Write, 10_000)?;
//! assert_eq!(packed.figures().write_blocks, 10_000);
//! # Ok::<(), shingle_trace::TraceError>(())
//! ```

mod blocks;
mod merge;
mod traces;

pub use blocks::{Blocks, Volume, packed};
pub use merge::Merge;

use std::path::Path;

use shingle_core::units::Op;

use crate::error::TraceError;
use crate::shape::Mode;
use crate::source::{BATCH_REQUESTS, Source};
use crate::summary::Summary;
use crate::synth::parameters::{IDLE, Parameter, Values};
use crate::synth::rng::Seed;
use crate::synth::volume::{Free, Plan, parameters, workload};
use crate::touched::Touched;
use crate::volumes::{self, VOLUMES};
pub use crate::volumes::{LONG, LONG_COPIES, MIX, MIX_COPIES};
use crate::zones::{ZONE_BLOCKS, side_by_side};
use crate::{Kind, Place};
use traces::Traces;

/// Zones from one copy to the next in *long*: 18 of them span the 4,332.8 GiB of SAC's Table 4. The
/// table calls this the accessed range, but the volumes' ranges add up to less.
const LONG_STRIDE_ZONES: u64 = (43_328 << 30) / 10 / 18 / (ZONE_BLOCKS * 4096);

/// The trace to replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace<'a> {
    /// One volume, by its name: `wdev_0` or `msr-wdev_0`.
    Volume(&'a str),
    /// SAC's *long*, of a number of copies ([`LONG_COPIES`] in the paper).
    Long {
        /// Number of copies.
        copies: u32,
    },
    /// PORE's *mix*, of a number of copies ([`MIX_COPIES`] in the paper).
    Mix {
        /// Number of copies.
        copies: u32,
    },
}

/// The source of volumes, which several threads may share.
#[derive(Debug)]
pub struct Papers {
    seed: u64,
    source: VolumeSource,
}

#[derive(Debug)]
enum VolumeSource {
    /// Values of free parameters by name, valid for any volume that has them.
    Figures(Vec<(String, String)>),
    Traces(Traces),
}

impl Papers {
    /// Generates volumes from published figures. `set` has values of free parameters; a parameter
    /// that a volume does not have is ignored for it.
    ///
    /// # Errors
    /// If a parameter does not exist or a value is not valid.
    pub fn generated(seed: u64, set: &[(&str, &str)]) -> Result<Papers, TraceError> {
        let settable_parameters = settable(&VOLUMES.iter().collect::<Vec<_>>());
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let set: Vec<(String, String)> = set.collect();
        Values::of(settable_parameters.iter(), "a volume", &joined(set.iter()))
            .map_err(|problem| problem.at("", Place::Whole))?;
        Ok(Papers { seed, source: VolumeSource::Figures(set) })
    }

    /// Generates volumes from published figures, with the values that were given to a workload.
    pub(crate) fn with(seed: u64, values: &Values) -> Papers {
        Papers { seed, source: VolumeSource::Figures(values.numbers()) }
    }

    /// Reads volumes from the folder with Microsoft's traces. `seed` shuffles.
    ///
    /// # Errors
    /// If the folder cannot be listed. A missing volume is an error only when it is requested.
    pub fn recorded(seed: u64, folder: &Path) -> Result<Papers, TraceError> {
        Ok(Papers { seed, source: VolumeSource::Traces(Traces::find(folder)?) })
    }

    /// Returns one volume.
    ///
    /// # Errors
    /// If there is no such volume, or its trace is missing or cannot be read.
    pub fn volume(&self, name: &str) -> Result<Volume, TraceError> {
        let volume = volumes::known(name)?;
        match &self.source {
            VolumeSource::Figures(set) => {
                let settable_parameters = settable(&[volume]);
                let values = Values::of(
                    settable_parameters.iter(),
                    volume.name,
                    &pairs(set, &settable_parameters),
                );
                let free = Free::of(&values.map_err(|problem| problem.at("", Place::Whole))?);
                Ok(Volume::generated(Plan::new(volume, &free, self.seed)))
            }
            VolumeSource::Traces(traces) => traces.volume(volume.name),
        }
    }

    /// Opens the requests of one volume with their times: as recorded, or those of
    /// `synth:msr-NAME`.
    ///
    /// # Errors
    /// As [`Papers::volume`].
    pub fn requests(&self, name: &str) -> Result<Box<dyn Source>, TraceError> {
        let volume = volumes::known(name)?;
        match &self.source {
            VolumeSource::Figures(set) => {
                let source = workload(volume).open(&pairs(set, &settable(&[volume])), self.seed);
                source.map_err(|problem| problem.at(volume.workload, Place::Whole))
            }
            VolumeSource::Traces(traces) => traces.requests(volume.name),
        }
    }

    /// Returns the seed of all random draws.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn volumes(&self, names: &[&str]) -> Result<Vec<Volume>, TraceError> {
        if let VolumeSource::Traces(traces) = &self.source {
            traces.require(names)?;
        }
        names.iter().map(|name| self.volume(name)).collect()
    }

    /// Returns the accesses of a trace as a stream.
    ///
    /// # Errors
    /// Those of [`Papers::volume`], and if there are no copies or they do not fit a disk.
    pub fn stream(&self, trace: Trace) -> Result<Box<dyn Blocks>, TraceError> {
        match trace {
            Trace::Volume(name) => Ok(self.volume(name)?.replay()),
            Trace::Long { copies } => {
                Ok(Box::new(long(&self.volumes(&LONG)?, check_copies(copies)?, self.seed)))
            }
            Trace::Mix { copies } => {
                Ok(Box::new(mix(&self.volumes(MIX)?, check_copies(copies)?, self.seed)))
            }
        }
    }

    /// Returns the first `accesses` accesses of a trace that `mode` keeps, or all if there are
    /// fewer.
    ///
    /// # Errors
    /// Those of [`Papers::stream`], and if they do not fit the memory.
    pub fn read(&self, trace: Trace, mode: Mode, accesses: u64) -> Result<Packed, TraceError> {
        let mut stream = self.stream(trace)?;
        let wanted = usize::try_from(accesses.min(stream.remaining())).unwrap_or(usize::MAX);
        let (read, write) = (mode.keeps(Op::Read), mode.keeps(Op::Write));
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(wanted).map_err(|_| {
            let message = format!("{wanted} accesses do not fit the memory; ask for fewer");
            TraceError::new(Kind::Usage, "", Place::Whole, message)
        })?;
        let mut batch = Vec::with_capacity(BATCH_REQUESTS);
        while blocks.len() < wanted && stream.remaining() > 0 {
            batch.clear();
            let count = if read && write { wanted - blocks.len() } else { BATCH_REQUESTS };
            stream.take(count.min(BATCH_REQUESTS), &mut batch);
            let is_kept = |access: &u64| if access & 1 == 1 { write } else { read };
            blocks.extend(batch.iter().copied().filter(is_kept));
        }
        blocks.truncate(wanted);
        blocks.shrink_to_fit();
        Ok(Packed { blocks })
    }
}

/// Returns SAC's *long*: the volumes side by side, copied, and all shuffled.
#[must_use]
pub fn long(volumes: &[Volume], copies: u32, seed: u64) -> Merge {
    let (starts, zones) = side_by_side(volumes.iter().map(Volume::span_zones));
    let stride = zones.max(LONG_STRIDE_ZONES);
    let inputs = (0..u64::from(copies)).flat_map(|copy| {
        let shifted = move |start: &u64| (start + copy * stride) * ZONE_BLOCKS;
        volumes.iter().zip(&starts).map(move |(volume, start)| (volume.replay(), shifted(start)))
    });
    Merge::new(inputs, Seed { seed, workload: "msr-long" }.stream("merge"))
}

/// Returns PORE's *mix*: the volumes side by side and shuffled, then copies of that side by side
/// and shuffled.
#[must_use]
pub fn mix(volumes: &[Volume], copies: u32, seed: u64) -> Merge {
    let seed = Seed { seed, workload: "msr-mix" };
    let (starts, zones) = side_by_side(volumes.iter().map(Volume::span_zones));
    let one = || {
        let inputs = volumes.iter().zip(&starts);
        let inputs = inputs.map(|(volume, start)| (volume.replay(), start * ZONE_BLOCKS));
        Box::new(Merge::new(inputs, seed.stream("merge of volumes")))
    };
    let inputs =
        (0..u64::from(copies)).map(|copy| (one() as Box<dyn Blocks>, copy * zones * ZONE_BLOCKS));
    Merge::new(inputs, seed.stream("merge of copies"))
}

fn check_copies(copies: u32) -> Result<u32, TraceError> {
    /// A thousand copies of a real volume of 1 TB fit 64 PiB.
    const COPIES_MAX: u32 = 1_000;
    if (1..=COPIES_MAX).contains(&copies) {
        return Ok(copies);
    }
    let message = format!("{copies} copies are out of range: 1 to {COPIES_MAX}");
    Err(TraceError::new(Kind::Usage, "", Place::Whole, message))
}

/// Returns the free parameters of a trace, which no paper determines. All are numbers.
///
/// # Errors
/// If there is no such volume.
pub fn free_parameters(trace: Trace) -> Result<Vec<Parameter>, TraceError> {
    let names: &[&str] = match &trace {
        Trace::Volume(name) => &[name],
        Trace::Long { .. } => &LONG,
        Trace::Mix { .. } => MIX,
    };
    let volumes: Result<Vec<_>, _> = names.iter().map(|name| volumes::known(name)).collect();
    Ok(parameters(&volumes?))
}

/// Returns the free parameters of the arrival times in generated traces. All are numbers.
#[must_use]
pub fn time_parameters() -> Vec<Parameter> {
    vec![IDLE]
}

fn settable(volumes: &[&volumes::Volume]) -> Vec<Parameter> {
    parameters(volumes).into_iter().chain(time_parameters()).collect()
}

/// Returns the `known` parameters of `set`, in the syntax of a workload.
fn pairs(set: &[(String, String)], settable_parameters: &[Parameter]) -> String {
    joined(set.iter().filter(|(name, _)| settable_parameters.iter().any(|p| p.name == name)))
}

fn joined<'a>(set: impl Iterator<Item = &'a (String, String)>) -> String {
    set.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Block accesses in memory, packed as `block << 1 | write`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packed {
    /// The accesses in the order of the trace.
    pub blocks: Vec<u64>,
}

impl Packed {
    /// Returns the figures that accesses have. Takes memory for two bits a block of the touched zones.
    #[must_use]
    pub fn figures(&self) -> Summary {
        let (mut touched, mut write_blocks) = (Touched::default(), 0);
        for access in &self.blocks {
            touched.access(access >> 1, 1, access & 1 == 1);
            write_blocks += access & 1;
        }
        Summary {
            read_blocks: self.blocks.len() as u64 - write_blocks,
            write_blocks,
            distinct_blocks: touched.blocks(),
            distinct_written_blocks: touched.written_blocks(),
            accessed_zones: touched.zones(),
            written_zones: touched.written_zones(),
            ..Summary::default()
        }
    }
}
