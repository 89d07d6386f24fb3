//! Compares the policy of this project with the published ones: every policy over every workload,
//! disk, cache and mode, by done + left. The reference is the best published policy of each cell.
//! Each policy runs with joined writes and the better of two batches. Two more groups are shown:
//! published policies with what is not published of them, and the policy without one of its parts.
//! The former are whole bands (`cache.bands=whole`), or a disk that is written as a log.
//!
//! Some workloads were used while constants of the policy were tuned. The others were named in
//! `docs/disk-time.md` before they were run. Only the latter count for verdicts.

mod ablation;
pub mod page;
mod run;
mod sensitivity;
mod verdict;

use serde::Serialize;
use shingle_result::ByCause;

pub use ablation::Without;
pub use run::{Order, run, work};
pub use sensitivity::{CONDITIONS, Condition, Varied};
pub use verdict::{Goal, goals};

/// How a workload was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Constants of the policy were tuned on it.
    Tuned,
    /// It was named before it was run.
    Named,
    /// The user has added it.
    Given,
}

impl Role {
    /// Describes the role in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Role::Tuned => "tuned on",
            Role::Named => "named before",
            Role::Given => "given",
        }
    }
}

/// A workload.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Specification: `synth:NAME` with its parameters.
    pub spec: &'static str,
    /// How it was used.
    pub role: Role,
}

const fn tuned(spec: &'static str) -> Workload {
    Workload { spec, role: Role::Tuned }
}

const fn named(spec: &'static str) -> Workload {
    Workload { spec, role: Role::Named }
}

/// The made workloads of `docs/disk-time.md`.
pub const WORKLOADS: &[Workload] = &[
    tuned("synth:mixed"),
    tuned("synth:uniform"),
    tuned("synth:msr-hm_0"),
    named("synth:zipf"),
    named("synth:read-mostly"),
    named("synth:msr-src2_2"),
    named("synth:msr-prn_0"),
    named("synth:msr-usr_0"),
    named("synth:msr-web_0"),
    named("synth:msr-proj_0"),
];

/// Recorded workloads, by a part of the file name. They are not in the repository: the user names
/// them on the command line.
const RECORDED: &[Workload] = &[
    tuned("cloudphysics"),
    named("rsrch_1"),
    named("financial1"),
    named("alibaba"),
    named("tencent"),
    named("iozone"),
    named("tpcc"),
    named("emmc"),
];

/// The role of a workload or file that is named on the command line.
fn role(spec: &str) -> Role {
    let shape = spec.split('?').next().unwrap_or(spec);
    let file = spec.rsplit('/').next().unwrap_or(spec).to_lowercase();
    let made = WORKLOADS.iter().find(|workload| workload.spec == shape);
    let recorded = || RECORDED.iter().find(|workload| file.contains(workload.spec));
    made.or_else(recorded).map_or(Role::Given, |workload| workload.role)
}

/// A disk, and what policies know of it.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Name in this study.
    pub name: &'static str,
    /// Its relevant properties.
    pub about: &'static str,
    /// The model.
    pub drive: &'static str,
    /// The map of the buffer fills first: the log has 40 blocks for each map entry.
    pub extents: bool,
    /// All policies use the disk's bands as zones.
    pub bands: bool,
    /// Hosts may write whole bands past the buffer.
    pub whole: bool,
    /// Its zones have write pointers that hosts see.
    pub write_pointers: bool,
    /// The policy of this project writes it as a log.
    pub log: bool,
    /// Its zones must be written in sequence, so published policies need a translation, too.
    pub host_managed: bool,
}

/// Blocks of log for each entry of the map, as in the ST8000AS0002 (30.3 GB, 184,000 entries).
pub const LOG_BLOCKS_PER_EXTENT: u64 = 40;

/// The disks.
pub const DISKS: &[Disk] = &[
    Disk {
        name: "streams",
        about: "drive-managed; its buffer is limited by map entries; bands written in order go past it, and hosts \
                know where bands begin",
        drive: "st8000as0002",
        extents: true,
        bands: true,
        whole: true,
        write_pointers: false,
        log: false,
        host_managed: false,
    },
    Disk {
        name: "plain",
        about: "the same disk, of which hosts know no bands: zones of 5,000 blocks, nothing goes past the buffer",
        drive: "st8000as0002",
        extents: true,
        bands: false,
        whole: false,
        write_pointers: false,
        log: false,
        host_managed: false,
    },
    Disk {
        name: "emulator",
        about: "SAC's emulator: a ring of blocks, no way past it; zones of 5,000 blocks",
        drive: "sac-emulator",
        extents: false,
        bands: false,
        whole: false,
        write_pointers: false,
        log: false,
        host_managed: false,
    },
    Disk {
        name: "host-aware",
        about: "ROCO's host-aware disk, full of data: hosts know its zones of 16 MiB and see their write pointers; what is not \
                in sequence goes to its buffer",
        drive: "ha-roco",
        extents: false,
        bands: true,
        whole: true,
        write_pointers: true,
        log: false,
        host_managed: false,
    },
    Disk {
        name: "log",
        about: "the drive-managed disk of which hosts know no bands, full of data: published policies write it anywhere, \
                this one as a log (the translation log, with its map on the disk)",
        drive: "st8000as0002",
        extents: true,
        bands: false,
        whole: false,
        write_pointers: false,
        log: true,
        host_managed: false,
    },
    Disk {
        name: "host-aware-log",
        about: "the host-aware disk, full of data: published policies write it as they do with its zones and write pointers, \
                this one as a log, in zones of 256 MiB, of which it resets what it writes anew",
        drive: "ha-roco",
        extents: false,
        bands: true,
        whole: true,
        write_pointers: true,
        log: true,
        host_managed: false,
    },
    Disk {
        name: "host-managed",
        about: "a host-managed disk with zones of 16 MiB, empty at first: all policies run over the translation log, MOST also over \
                the others; maps are saved on the disk",
        drive: "exos-x18z",
        extents: false,
        bands: false,
        whole: false,
        write_pointers: false,
        log: true,
        host_managed: true,
    },
];

/// The role of a system in the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The policy of this project.
    Own,
    /// A published policy.
    Published,
    /// A published policy with something that is not published: whole-band writes, or a disk that is
    /// written as a log. On such a disk also the log without a cache.
    Widened,
    /// The policy of this project without one of its parts.
    Part,
}

/// A policy and its settings.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// Name in tables.
    pub label: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// Its role.
    pub kind: Kind,
    /// Settings, as `OWNER.NAME` and value.
    pub sets: &'static [(&'static str, &'static str)],
    /// Batches to try; the better one counts.
    pub batches: &'static [&'static str],
    /// The translation that it runs over, if it is there for that.
    pub over: Option<&'static str>,
}

const fn published(label: &'static str) -> System {
    System { policy: label, batches: &["1", "64"], ..system(label, Kind::Published) }
}

const fn system(label: &'static str, kind: Kind) -> System {
    System { label, policy: "disk-time", kind, sets: &[], batches: &["1"], over: None }
}

const fn widened(label: &'static str, policy: &'static str) -> System {
    System { policy, sets: &[("cache.bands", "whole")], ..system(label, Kind::Widened) }
}

/// A published policy over a log, where the policy of this project has one.
const fn logged(label: &'static str, policy: &'static str) -> System {
    System { policy, batches: &["1", "64"], over: Some(LOG), ..system(label, Kind::Widened) }
}

/// MOST over a translation of a host-managed disk other than the log.
const fn over(label: &'static str, translation: &'static str) -> System {
    System { policy: "most", over: Some(translation), ..system(label, Kind::Published) }
}

/// The translation that writes everything in order.
const LOG: &str = "log";

const fn without(label: &'static str, sets: &'static [(&'static str, &'static str)]) -> System {
    System { sets, ..system(label, Kind::Part) }
}

/// All systems. Whole-band ones run only on disks that accept whole bands, `roco` only on disks
/// with write pointers, those over a log only where the policy of this project has one, too, and
/// those over other translations only where one is needed.
pub const SYSTEMS: &[System] = &[
    system("disk-time", Kind::Own),
    published("most"),
    published("most+cdc"),
    published("sac"),
    published("sac-ad"),
    published("sac-pd"),
    published("sac-plus"),
    published("roco"),
    published("lru+cdc"),
    published("lru-band"),
    published("pore"),
    published("lru"),
    widened("most+hbw", "most"),
    widened("most+cdc+hbw", "most+cdc"),
    widened("sac+hbw", "sac"),
    widened("lru-band+hbw", "lru-band"),
    logged("log alone", "none"),
    logged("most+log", "most"),
    logged("most+cdc+log", "most+cdc"),
    logged("sac+log", "sac"),
    logged("sac-ad+log", "sac-ad"),
    logged("sac-pd+log", "sac-pd"),
    logged("sac-plus+log", "sac-plus"),
    logged("lru+cdc+log", "lru+cdc"),
    logged("lru+log", "lru"),
    logged("pore+log", "pore"),
    over("most over amphisbaena", "amphisbaena"),
    over("most over fluid", "fluid"),
    over("most over fluid-loop", "fluid-loop"),
    over("most over skylight-sa", "skylight-sa"),
    over("most over dm-zoned", "dm-zoned"),
    over("most over ucache", "ucache"),
    without("no whole bands", &[("disk-time.whole_bands", "never")]),
    without("always whole bands", &[("disk-time.whole_bands", "always")]),
    without("nothing stays", &[("disk-time.stay", "off")]),
    without("all reads enter", &[("disk-time.admit", "all")]),
    without("reads wait for zones", &[("disk-time.reads_first", "0")]),
    without("half-life x 1/2", &[("disk-time.half_life", "1")]),
    without("half-life x 2", &[("disk-time.half_life", "4")]),
    without("batches of 64", &[("cache.batch", "64")]),
];

/// The results of a system in a cell, with a value for each seed.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// [`System::label`].
    pub system: &'static str,
    /// Its role.
    pub kind: Kind,
    /// The better batch, for the first seed.
    pub batch: &'static str,
    /// Done + left.
    pub seconds: Vec<f64>,
    /// Done + left by cause.
    pub by_cause: Vec<ByCause>,
    /// Bands rewritten by the disk, including those left.
    pub disk_rewrites: Vec<u64>,
    /// Bands rewritten by the host, including those left.
    pub host_rewrites: Vec<u64>,
    /// Bytes written on the disk for each of the host.
    pub bytes_per_byte: Vec<f64>,
    /// The 99th percentile of response times in closed loop: of reads, or of writes if there are no
    /// reads.
    pub p99_us: Vec<f64>,
    /// The same, 99.9th percentile.
    pub p999_us: Vec<f64>,
}

/// A workload on a disk, with a cache, in a mode.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The workload.
    pub workload: String,
    /// Its role.
    pub role: Role,
    /// [`Disk::name`].
    pub disk: &'static str,
    /// `rw` or `w`.
    pub mode: &'static str,
    /// Specification of the cache, as on the command line.
    pub cache: &'static str,
    /// Its size for the first seed.
    pub cache_blocks: u64,
    /// The size of the buffer for the first seed.
    pub buffer_blocks: u64,
    /// Next to nothing was filled or cleaned, so this cell does not count.
    pub too_little: bool,
    /// A lower bound of done + left for any policy, at the prices of the best published one; 0 if
    /// nothing is rewritten, or if it was left out.
    pub least_seconds: Vec<f64>,
    /// The results of every system.
    pub systems: Vec<Measured>,
}

/// The results of the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Own {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// The limit of requests of each made workload.
    pub requests: u64,
    /// All cells.
    pub cells: Vec<Cell>,
    /// Workloads without cells, with the reason.
    pub left_out: Vec<String>,
    /// The goals, and whether they are reached.
    pub goals: Vec<Goal>,
    /// The advantage of the policy under other conditions, if requested.
    pub sensitivity: Vec<Varied>,
}

/// Name and version of the format of [`Own`].
pub const SCHEMA: &str = "shingle.own/1";

impl Cell {
    fn system(&self, label: &str) -> Option<&Measured> {
        self.systems.iter().find(|system| system.system == label)
    }

    /// The best system of a kind, for the seed at index `seed`.
    fn best(&self, kind: Kind, seed: usize) -> Option<&Measured> {
        let of_kind = self.systems.iter().filter(|system| system.kind == kind);
        of_kind.min_by(|a, b| a.seconds[seed].total_cmp(&b.seconds[seed]))
    }

    /// The time of the best system of a kind ÷ the time of the policy, for each seed.
    #[must_use]
    pub fn ahead_of(&self, kind: Kind) -> Vec<f64> {
        self.less_than(kind, |measured| &measured.seconds)
    }

    /// The value of the fastest system of a kind ÷ that of the policy, for some figure and each
    /// seed.
    #[must_use]
    pub fn less_than(&self, kind: Kind, figure: fn(&Measured) -> &[f64]) -> Vec<f64> {
        let Some(own) = self.system("disk-time") else { return Vec::new() };
        let seeds = figure(own).iter().enumerate();
        seeds.filter_map(|(seed, own)| Some(figure(self.best(kind, seed)?)[seed] / own)).collect()
    }

    /// The time of the best published policy ÷ the lower bound, for each seed. Empty if there is no
    /// bound.
    #[must_use]
    pub fn possible(&self) -> Vec<f64> {
        let seeds = self.least_seconds.iter().enumerate().filter(|(_, least)| **least > 0.0);
        let best = |seed| Some(self.best(Kind::Published, seed)?.seconds[seed]);
        seeds.filter_map(|(seed, least)| Some(best(seed)? / least)).collect()
    }

    /// Label of the best system of a kind, for the first seed.
    #[must_use]
    pub fn best_name(&self, kind: Kind) -> &'static str {
        self.best(kind, 0).map_or("", |best| best.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tuned_on_is_known_by_its_name() {
        assert_eq!(role("synth:mixed"), Role::Tuned);
        assert_eq!(role("synth:msr-prn_0?cold=0.1"), Role::Named);
        assert_eq!(role("traces/cloudphysics_sample.vscsi.zst"), Role::Tuned);
        assert_eq!(role("/d/MSR_rsrch_1.csv"), Role::Named);
        assert_eq!(role("financial1/mine.csv"), Role::Given);
    }
}
