//! Built-in workloads: one file each, and one line in [`WORKLOADS`].
//!
//! The syntax is `synth:NAME` or `synth:NAME?requests=1M&range=40GB&write=0.7`. The same text and
//! seed give the same requests on every machine: decisions use integers, and the one power
//! function, which shapes a skew, is computed in software (`libm`), not by the platform.

mod arrivals;
mod large;
mod like;
mod mixed;
pub(crate) mod parameters;
mod read_mostly;
pub(crate) mod rng;
mod skew;
mod uniform;
pub(crate) mod volume;
pub(crate) mod workload;
mod zipf;

pub use parameters::{Kind as ParameterKind, Parameter};
pub use workload::{PREFIX, Workload};

use std::sync::LazyLock;

use shingle_core::params::nearest;

use crate::error::{Place, Problem, TraceError, shown};
use crate::source::Source;

/// The workload of commands without a trace.
pub const DEFAULT: &str = "synth:mixed";

/// Every workload, in the order in which they are listed.
pub static WORKLOADS: LazyLock<Vec<Workload>> = LazyLock::new(|| {
    let general = [mixed::WORKLOAD, zipf::WORKLOAD, read_mostly::WORKLOAD, uniform::WORKLOAD];
    general
        .into_iter()
        .chain([like::WORKLOAD])
        .chain(large::workloads())
        .chain(volume::workloads())
        .collect()
});

/// Opens `spec`, with or without the prefix.
///
/// # Errors
/// If the workload or a parameter does not exist, or a value is not valid.
pub fn open(spec: &str, seed: u64) -> Result<(&'static Workload, Box<dyn Source>), TraceError> {
    open_checked(spec, seed).map_err(|problem| problem.at(spec, Place::Whole))
}

fn open_checked(spec: &str, seed: u64) -> Result<(&'static Workload, Box<dyn Source>), Problem> {
    let text = spec.strip_prefix(PREFIX).unwrap_or(spec);
    let (name, pairs) = text.split_once('?').unwrap_or((text, ""));
    let workload = named(name)?;
    Ok((workload, workload.open(pairs, seed)?))
}

fn named(name: &str) -> Result<&'static Workload, Problem> {
    WORKLOADS.iter().find(|workload| workload.name == name).ok_or_else(|| {
        let names = nearest(name, WORKLOADS.iter().map(|workload| workload.name));
        Problem::usage(format!(
            "there is no workload {}; built in are {}",
            shown(name.as_bytes()),
            names.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use shingle_core::units::Request;

    use super::*;
    use crate::source::read_all;
    use crate::summary::Summary;

    fn requests(spec: &str, seed: u64) -> Vec<Request> {
        let (_, mut source) = open(spec, seed).expect("a valid workload");
        read_all(&mut *source, &mut |_| {}).expect("synthetic requests are valid")
    }

    #[test]
    fn a_seed_gives_one_workload_and_another_seed_another() {
        for workload in WORKLOADS.iter() {
            let spec = format!("{}?requests=5k", workload.name);
            let one = requests(&spec, 1);
            assert_eq!(one.len(), 5_000, "{spec}");
            assert!(one == requests(&spec, 1), "{spec}");
            assert!(one != requests(&spec, 2), "{spec}");
        }
    }

    /// If a hash changes, results with seeds can no longer be compared with older ones.
    #[test]
    fn workloads_are_the_same_on_every_machine() {
        let hashes: Vec<(&str, u64)> = WORKLOADS
            .iter()
            .map(|workload| {
                let mut hash = rng::Fnv::default();
                for r in requests(&format!("{}?requests=20k", workload.name), 7) {
                    for word in [r.at.0, r.offset, r.bytes, r.op as u64] {
                        hash.add(&word.to_le_bytes());
                    }
                }
                (workload.name, hash.0)
            })
            .collect();
        assert_eq!(hashes, KNOWN_HASHES);
    }

    const KNOWN_HASHES: &[(&str, u64)] = &[
        ("mixed", 12_262_353_695_919_064_886),
        ("zipf", 3_639_306_711_409_581_579),
        ("read-mostly", 4_812_625_752_195_117_923),
        ("uniform", 4_277_709_238_195_659_517),
        ("like", 9_581_494_047_244_652_375),
        ("msr-long", 5_304_343_142_603_550_428),
        ("msr-mix", 9_672_384_242_283_159_126),
        ("msr-hm_0", 6_857_519_148_439_141_520),
        ("msr-mds_0", 785_276_449_778_582_347),
        ("msr-prn_0", 15_152_852_149_432_377_896),
        ("msr-proj_0", 16_351_609_525_266_869_995),
        ("msr-prxy_0", 11_052_033_408_008_860_226),
        ("msr-rsrch_0", 8_465_333_709_808_259_241),
        ("msr-src1_2", 6_521_927_797_201_036_328),
        ("msr-src2_0", 1_388_028_741_100_731_861),
        ("msr-src2_2", 15_178_558_138_133_971_097),
        ("msr-stg_0", 3_727_037_068_578_337_071),
        ("msr-ts_0", 1_440_325_830_690_925_622),
        ("msr-usr_0", 7_737_694_825_599_458_049),
        ("msr-wdev_0", 2_451_838_361_905_037_287),
        ("msr-web_0", 8_545_369_900_874_017_914),
    ];

    #[test]
    fn the_default_is_shaped_like_an_enterprise_volume() {
        let summary = Summary::of(&requests(DEFAULT, 1));
        assert!((400_000..=600_000).contains(&summary.requests.total()));
        let range = summary.accessed_zone_bytes();
        assert!((2_000_000_000..8_000_000_000).contains(&range), "{range}");
        let mean = summary.mean_bytes().expect("there are requests");
        assert!((8192.0..16384.0).contains(&mean), "{mean}");
        let writes = summary.requests.write * 100 / summary.requests.total();
        assert!((65..=75).contains(&writes), "{writes}");
        assert!(summary.longest_idle.0 > 1_000_000_000);
    }

    #[test]
    fn parameters_do_what_they_say() {
        let spec = "synth:uniform?requests=20k&range=1GB&write=25%&size=16KiB&iops=1000&idle=0";
        let summary = Summary::of(&requests(spec, 3));
        assert_eq!(summary.requests.total(), 20_000);
        assert!((4_600..5_400).contains(&summary.requests.write), "{summary:?}");
        assert!(summary.end_bytes <= 1_000_000_000);
        assert_eq!((summary.sizes.min, summary.sizes.max), (16_384, 16_384));
        // 20,000 requests at 1,000 a second.
        assert!((18.0..22.0).contains(&summary.last.as_secs_f64()), "{summary:?}");
    }

    #[test]
    fn a_wrong_name_or_value_says_which_are_right() {
        for (spec, told) in [
            ("synth:zipff", "built in are zipf"),
            ("synth:", "there is no workload ''"),
            ("synth:zipf?tehta=1", "it takes theta"),
            ("synth:zipf?theta", "theta=VALUE"),
            ("synth:zipf?requests&theta=1", "'requests' has no value: write requests=VALUE"),
            ("synth:zipf?theta=x", "theta=x is not a number"),
            ("synth:zipf?theta=x-2", "x0.5, x2"),
            ("synth:zipf?requests=x2", "requests=x2 is not"),
            ("synth:zipf?theta=99", "theta=99 is out of range: 0 to"),
            ("synth:mixed?write=1.5", "out of range: 0 to 1"),
            ("synth:mixed?requests=0", "out of range: 1 to"),
            ("synth:mixed?range=10", "out of range"),
            ("synth:mixed?range=x", "is not a size"),
            ("synth:uniform?size=1G&range=100M", "size"),
        ] {
            let Err(error) = open(spec, 0) else { panic!("{spec} is accepted") };
            let text = error.to_string();
            assert!(text.contains(told) && text.lines().count() == 1, "{spec}: {text}");
            assert!(error.is_usage());
        }
    }
}
