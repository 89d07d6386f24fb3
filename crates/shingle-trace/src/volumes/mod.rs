//! Published figures of the volumes that the papers replay: one file each in `data/volumes`.
//!
//! The traces belong to Microsoft Research Cambridge and may not be distributed; the figures that
//! papers print about them may. A file has one `[[quantity]]` for each published value: `value`,
//! `unit`, `source` and, if another value of the same quantity is better, the reason why it is
//! `unused`. Only figures of the workload are here. Results of a cache may not shape a workload
//! that is meant to reproduce them. LRU stack distances are no such result: they describe the order
//! of requests, without any cache.
//!
//! What no published figure determines is a parameter of the workload: [`crate::synth`],
//! `volume/free.rs`. If a paper describes it in words, a `[guess.NAME]` has a `value` for this
//! volume, and `why`.

mod figure;
mod large;
mod measure;

pub use figure::{Figure, Quantity, Tolerance, Trait};
pub use large::{LONG, LONG_COPIES, MIX, MIX_COPIES};
pub use measure::{Compared, Measured};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use shingle_core::params::nearest;

use crate::error::{Kind, Place, TraceError, shown};
use crate::synth::workload::PREFIX;

/// A volume with published figures, or a trace made of copies of several volumes.
#[derive(Debug)]
pub struct Volume {
    /// Its name: `wdev_0`.
    pub name: &'static str,
    /// Its workload's name: `msr-wdev_0`.
    pub workload: &'static str,
    /// The purpose of the server.
    pub about: String,
    /// All published values, including unused ones.
    pub figures: Vec<Figure>,
    /// Values of free parameters ([`crate::synth`]) that the paper's words suggest, by name. The
    /// others have their defaults.
    pub guesses: BTreeMap<String, &'static str>,
    /// The volumes that it is made of; empty for a single volume.
    pub parts: &'static [&'static str],
    /// Copies of each.
    pub copies: u32,
}

impl Volume {
    /// Returns the value of a quantity that its workload has to meet.
    #[must_use]
    pub fn target(&self, quantity: Quantity) -> Option<f64> {
        let figure = self.figures.iter().find(|f| f.quantity == quantity && f.unused.is_none());
        figure.map(|figure| figure.value)
    }
}

macro_rules! sheet {
    ($name:literal) => {
        (
            $name,
            concat!("msr-", $name),
            include_str!(concat!("../../data/volumes/", $name, ".toml")),
        )
    };
}

/// Every volume, in alphabetical order.
pub static VOLUMES: LazyLock<Vec<Volume>> =
    LazyLock::new(|| SHEETS.iter().map(|sheet| parse(*sheet)).collect());

/// The large traces that papers combine from volumes.
pub static LARGE: LazyLock<[Volume; 2]> = LazyLock::new(|| {
    let long = Volume { parts: &LONG, copies: LONG_COPIES, ..parse(sheet!("long")) };
    let mix = Volume { parts: MIX, copies: MIX_COPIES, ..parse(sheet!("mix")) };
    [long, mix]
});

/// Returns the volume of a name, with or without the prefix of workloads.
#[must_use]
pub fn named(name: &str) -> Option<&'static Volume> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    VOLUMES.iter().find(|volume| volume.name == name || volume.workload == name)
}

/// Returns the volume of a name, or an error that names the known volumes.
pub(crate) fn known(name: &str) -> Result<&'static Volume, TraceError> {
    named(name).ok_or_else(|| {
        let names = nearest(name, VOLUMES.iter().map(|volume| volume.name)).join(", ");
        let name = shown(name.as_bytes());
        let message = format!("there is no volume {name}; described are {names}");
        TraceError::new(Kind::Usage, "", Place::Whole, message)
    })
}

/// Returns the description of a volume or a large trace by name.
///
/// # Errors
/// If there is none.
pub fn described(name: &str) -> Result<&'static Volume, TraceError> {
    let large = LARGE.iter().find(|large| [large.name, large.workload].contains(&name));
    large.map_or_else(|| known(name), Ok)
}

type Sheet = (&'static str, &'static str, &'static str);

const SHEETS: &[Sheet] = &[
    sheet!("hm_0"),
    sheet!("mds_0"),
    sheet!("prn_0"),
    sheet!("proj_0"),
    sheet!("prxy_0"),
    sheet!("rsrch_0"),
    sheet!("src1_2"),
    sheet!("src2_0"),
    sheet!("src2_2"),
    sheet!("stg_0"),
    sheet!("ts_0"),
    sheet!("usr_0"),
    sheet!("wdev_0"),
    sheet!("web_0"),
];

#[derive(Deserialize)]
struct Text {
    about: String,
    #[serde(default)]
    guess: BTreeMap<String, Guess>,
    #[serde(flatten)]
    figures: BTreeMap<Quantity, Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: f64,
    unit: String,
    source: String,
    unused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guess {
    value: f64,
    /// The words of the paper that suggest it.
    #[serde(rename = "why")]
    _why: String,
}

/// Parses a file. Panics if it is malformed, because it is part of the program.
fn parse((name, workload, text): Sheet) -> Volume {
    let text: Text = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let figures = text.figures.into_iter().flat_map(|(quantity, entries)| {
        entries.into_iter().map(move |entry| {
            let Entry { value, unit, source, unused } = entry;
            assert_eq!(unit, quantity.unit(), "{name}: unit of {quantity:?}");
            Figure { quantity, value, source, unused }
        })
    });
    let figures = figures.collect();
    // The volumes are created once, so leaking their texts is bounded.
    let guess = |(name, guess): (String, Guess)| (name, &*guess.value.to_string().leak());
    let guesses = text.guess.into_iter().map(guess).collect();
    Volume { name, workload, about: text.about, figures, guesses, parts: &[], copies: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_uses_one_value_of_a_quantity() {
        for volume in VOLUMES.iter().chain(&*LARGE) {
            for figure in &volume.figures {
                assert!(figure.value > 0.0 && !figure.source.is_empty(), "{}", volume.name);
                let used = volume
                    .figures
                    .iter()
                    .filter(|other| other.quantity == figure.quantity && other.unused.is_none());
                assert!(used.count() <= 1, "{}: {:?}", volume.name, figure.quantity);
            }
        }
        assert!(VOLUMES.iter().map(|v| v.name).is_sorted());
    }

    #[test]
    fn a_volume_is_found_by_any_of_its_names() {
        for name in ["wdev_0", "msr-wdev_0", "synth:msr-wdev_0"] {
            let volume = named(name).expect("it is there");
            assert_eq!(volume.target(Quantity::Blocks), Some(2_654_824.0), "{name}");
            assert_eq!(volume.target(Quantity::Requests), Some(1_143_261.0));
        }
        assert!(named("wdev_9").is_none());
    }
}
