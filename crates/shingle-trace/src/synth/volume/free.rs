//! What nothing published fixes: parameters with one default for all volumes.
//!
//! `zone-skew`, `cold` and `active` have a part in how many zones a volume works on at a time. PORE's
//! analysis of its nine traces (Figure 6) is about just that, and neither a cache nor a drive has a part
//! in it (`shingle reproduce pore --figure 6`; published are 113.0 on average within 41.3 to 171.5).
//! Defaults of others are properties of recorded traces, as said beside them; the rest are guesses.

use std::sync::LazyLock;

use super::super::parameters::{Kind, Parameter, Values};
use crate::volumes::{Quantity, Volume};

/// Their values. The first ten are free for every volume, the others where a figure
/// is missing, or where a paper has words about it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Free {
    pub(crate) zone_skew: f64,
    pub(crate) cluster: f64,
    pub(crate) cold: f64,
    pub(crate) active: f64,
    pub(crate) dwell: f64,
    pub(crate) follow: f64,
    pub(crate) overlap: f64,
    pub(crate) first: f64,
    pub(crate) long_far: f64,
    pub(crate) once: f64,
    pub(crate) new: f64,
    pub(crate) starts: f64,
    pub(crate) reuse: f64,
    pub(crate) neighbours: f64,
    pub(crate) sequential: f64,
    pub(crate) density: f64,
    pub(crate) spread: f64,
    pub(crate) read_blocks: f64,
}

impl Free {
    /// The defaults of a volume.
    pub(crate) fn of_volume(volume: &Volume) -> Free {
        Free::with(|name| number(default_of(&[volume], name)))
    }

    pub(crate) fn of(values: &Values) -> Free {
        Free::with(|name| values.number_if(name).unwrap_or_else(|| number(default(name))))
    }

    fn with(number: impl Fn(&str) -> f64) -> Free {
        Free {
            zone_skew: number("zone-skew"),
            cluster: number("cluster"),
            cold: number("cold"),
            active: number("active"),
            dwell: number("dwell"),
            follow: number("follow"),
            overlap: number("overlap"),
            first: number("first"),
            long_far: number("long-far"),
            once: number("once"),
            new: number("new"),
            starts: number("starts"),
            reuse: number("reuse"),
            neighbours: number("neighbours"),
            sequential: number("sequential"),
            density: number("density"),
            spread: number("spread"),
            read_blocks: number("read-blocks"),
        }
    }
}

/// A parameter, and whether a volume's figures leave it open.
type Open = (Parameter, fn(&Volume) -> bool);

static ALL: LazyLock<[Open; 18]> = LazyLock::new(|| {
    let parameter = |name, default, kind, about| Parameter { name, default, about, kind };
    let always: fn(&Volume) -> bool = |_| true;
    let skew = Kind::Number(1.0, 64.0);
    [
        (
            parameter(
                "zone-skew",
                "32",
                skew,
                "s: the fullest part x of the zones holds x^(1/s) of the blocks in use; 1 is none",
            ),
            always,
        ),
        (
            parameter(
                "cluster",
                "4",
                Kind::Number(1.0, 256.0),
                "neighbouring blocks that are in use together, in mean first requests",
            ),
            always,
        ),
        (
            parameter(
                "cold",
                "0.03",
                Kind::Share,
                "of the accesses to known blocks, those that go to any zone instead of an active one",
            ),
            always,
        ),
        (
            parameter(
                "active",
                "4",
                Kind::Number(1.0, 1_000.0),
                "zones that most accesses go to at a time",
            ),
            always,
        ),
        (
            parameter(
                "dwell",
                "2",
                Kind::Number(0.01, 1_000.0),
                "accesses to each block of a zone while it is active",
            ),
            always,
        ),
        (
            parameter(
                "follow",
                // MSR's rsrch_1 has 0.13, recorded traces of others 0.10 to 0.31.
                "0.15",
                Kind::Share,
                "reuses of what followed the last one when that was accessed before",
            ),
            always,
        ),
        (
            parameter(
                "overlap",
                // The mean of the recorded ones at hand with many reads: 0.66, 0.17, 0.01.
                "0.3",
                Kind::Share,
                "reads of known start pages that go where writes go",
            ),
            always,
        ),
        (
            parameter(
                "first",
                // MSR's rsrch_1 has 2.2, recorded traces of others 1.1 to 2.2.
                "2",
                Kind::Number(1.0, 16.0),
                "mean length of the first write to a page, in mean writes, if there are pages enough",
            ),
            always,
        ),
        (
            parameter(
                "long-far",
                // By which short writes come again soon 1.5 to 4 times as often as long ones, as in recorded traces.
                "0.6",
                Kind::Number(-2.0, 2.0),
                "how much more often the farthest reuses are of long requests than those in the middle, and the nearest \
                 less often; below 0 the reverse",
            ),
            always,
        ),
        (
            parameter(
                "once",
                // Of none of the volumes is it published.
                "0",
                Kind::Number(0.0, 0.99),
                "written zones of which nothing is written again",
            ),
            always,
        ),
        (
            parameter(
                "new",
                // The median of the nine published update ratios is 92.7 %.
                "0.07",
                Kind::Share,
                "written blocks that were not written before",
            ),
            |volume| volume.target(Quantity::Updates).is_none(),
        ),
        (
            parameter(
                "starts",
                // The median of the thirteen volumes with both figures.
                "0.07",
                Kind::Share,
                "requests that start at a page where none did before",
            ),
            |volume| volume.target(Quantity::StartPages).is_none(),
        ),
        (
            parameter(
                "reuse",
                "1",
                Kind::Number(0.05, 5.0),
                "distances of reuses, in medians of the volumes whose distances are published",
            ),
            |volume| volume.target(Quantity::ReuseMean).is_none(),
        ),
        (
            parameter(
                "neighbours",
                "1",
                Kind::Number(1.0, 10_000.0),
                "neighbouring zones in use that are first accessed one after the other",
            ),
            |volume| volume.guesses.contains_key("neighbours"),
        ),
        (
            parameter(
                "sequential",
                // The median of MCM's five.
                "0.385",
                Kind::Share,
                "writes in runs of three or more to one zone",
            ),
            |volume| volume.target(Quantity::Sequential).is_none(),
        ),
        (
            parameter(
                "density",
                // The median of the six volumes with both figures.
                "0.16",
                Kind::Number(0.01, 1.0),
                "written blocks of a written zone",
            ),
            |volume| volume.target(Quantity::Written).is_none(),
        ),
        (
            parameter(
                "spread",
                "2",
                Kind::Number(1.0, 100.0),
                "address range of the volume, in touched zones",
            ),
            |volume| volume.target(Quantity::WrittenLarge).is_none(),
        ),
        (
            parameter(
                "read-blocks",
                // The median of the volumes with both figures.
                "5.8",
                Kind::Number(1.0, 1_000.0),
                "mean length of a read in blocks",
            ),
            |volume| {
                volume.target(Quantity::Blocks).is_none()
                    || volume.target(Quantity::Requests).is_none()
            },
        ),
    ]
});

fn number(text: &str) -> f64 {
    text.parse().expect("a default is a number")
}

fn default(name: &str) -> &'static str {
    ALL.iter().find(|(p, _)| p.name == name).expect("the name of a parameter").0.default
}

/// The default of a parameter for all the volumes: what their files guess, if they agree.
fn default_of(volumes: &[&Volume], name: &str) -> &'static str {
    let guess = |volume: &&Volume| volume.guesses.get(name).copied();
    match volumes {
        [first, others @ ..] if others.iter().all(|other| guess(other) == guess(first)) => {
            guess(first).unwrap_or_else(|| default(name))
        }
        _ => default(name),
    }
}

/// The free parameters that any of the volumes has.
pub(crate) fn parameters(volumes: &[&Volume]) -> Vec<Parameter> {
    let open = ALL.iter().filter(|(_, open)| volumes.iter().any(|volume| open(volume)));
    let own = |p: &Parameter| Parameter { default: default_of(volumes, p.name), ..*p };
    open.map(|(parameter, _)| own(parameter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::VOLUMES;

    #[test]
    fn guesses_are_of_parameters_that_are_open() {
        for volume in VOLUMES.iter() {
            let open = parameters(&[volume]);
            for name in volume.guesses.keys() {
                assert!(open.iter().any(|p| p.name == name), "{}: {name}", volume.name);
            }
        }
    }
}
