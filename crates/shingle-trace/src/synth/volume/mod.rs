//! `msr-NAME`: volumes of the papers, generated from the published figures of their traces.
//! Parameters that are not published are in `free.rs`.

mod candidates;
mod counts;
mod curve;
mod extents;
mod free;
mod generator;
mod layout;
mod plan;
mod power;
mod recency;

use std::sync::LazyLock;

use super::parameters::{Parameter, Values, iops, requests};
use super::rng::Seed;
use super::workload::{Pattern, Workload};
use crate::error::Problem;
use crate::volumes::{VOLUMES, Volume, named};
use counts::Counts;
pub(crate) use free::{Free, parameters};
pub(crate) use generator::Generator;
pub(crate) use plan::Plan;

const WEEK_SECONDS: f64 = 604_800.0;

/// The workloads of all volumes. They are created once, so leaking their texts is bounded.
static WORKLOADS: LazyLock<Vec<Workload>> = LazyLock::new(|| {
    let workload = |volume: &'static Volume| Workload {
        name: volume.workload,
        about: format!("MSR Cambridge {} as published: {}", volume.name, volume.about).leak(),
        own: own_parameters(volume).leak(),
        make,
    };
    VOLUMES.iter().map(workload).collect()
});

pub(super) fn workloads() -> impl Iterator<Item = Workload> {
    WORKLOADS.iter().copied()
}

pub(crate) fn workload(volume: &Volume) -> Workload {
    let mut all = workloads();
    all.find(|workload| workload.name == volume.workload).expect("each volume has one")
}

fn own_parameters(volume: &'static Volume) -> Vec<Parameter> {
    let all = Counts::of(volume, &Free::of_volume(volume)).requests();
    let length =
        requests(all.to_string().leak(), "how many requests; the default is the whole trace");
    let rate = iops(
        format!("{:.3}", all as f64 / WEEK_SECONDS).leak(),
        "requests a second, on average, idle time included; the default makes a week of all",
    );
    parameters(&[volume]).into_iter().chain([length, rate]).collect()
}

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let volume = named(seed.workload).expect("the workload is a volume's");
    Ok(Box::new(Generator::new(Plan::new(volume, &Free::of(values), seed.seed))))
}
