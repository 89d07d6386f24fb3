//! The free parameters: what no published figure determines. Each has one default for all volumes.
//!
//! `zone-skew`, `cold` and `active` affect how many zones a volume works on at a time. PORE's
//! analysis of its nine traces (Figure 6) measures just that, without a cache or a drive (`shingle
//! reproduce pore --figure 6`; published are 113.0 on average within 41.3 to 171.5). Other defaults
//! are properties of recorded traces, as their comments say; the rest are guesses.

use super::super::parameters::{Kind, Parameter, Values};
use crate::volumes::{Quantity, Volume};

/// A parameter, and a function that says whether a volume's figures leave it open.
type Open = (Parameter, fn(&Volume) -> bool);

const ALWAYS: fn(&Volume) -> bool = |_| true;

/// Defines the parameters: field, name, default, kind, the volumes that have it, and a description.
macro_rules! free {
    ($($field:ident $name:literal = $default:literal, $kind:expr, $open:expr => $about:literal;)*) => {
        /// The values of the free parameters.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub(crate) struct Free {
            $(pub(crate) $field: f64,)*
        }

        impl Free {
            fn with(number: impl Fn(&str) -> f64) -> Free {
                Free { $($field: number($name),)* }
            }
        }

        static ALL: &[Open] = &[
            $((Parameter { name: $name, default: $default, about: $about, kind: $kind }, $open),)*
        ];
    };
}

// The first ten are free for every volume, the others where a figure is missing or a paper only
// describes it.
free! {
    zone_skew "zone-skew" = "32", Kind::Number(1.0, 64.0), ALWAYS =>
        "s: the fullest part x of the zones holds x^(1/s) of the blocks in use; 1 is none";
    cluster "cluster" = "4", Kind::Number(1.0, 256.0), ALWAYS =>
        "neighbouring blocks that are in use together, in mean first requests";
    cold "cold" = "0.03", Kind::Share, ALWAYS =>
        "of the accesses to known blocks, those that go to any zone instead of an active one";
    active "active" = "4", Kind::Number(1.0, 1_000.0), ALWAYS =>
        "zones that most accesses go to at a time";
    dwell "dwell" = "2", Kind::Number(0.01, 1_000.0), ALWAYS =>
        "accesses to each block of a zone while it is active";
    // MSR's rsrch_1 has 0.13, recorded traces of others 0.10 to 0.31.
    follow "follow" = "0.15", Kind::Share, ALWAYS =>
        "reuses of what followed the last one when that was accessed before";
    // The mean of the recorded traces at hand with many reads: 0.66, 0.17, 0.01.
    overlap "overlap" = "0.3", Kind::Share, ALWAYS =>
        "reads of known start pages that go where writes go";
    // MSR's rsrch_1 has 2.2, recorded traces of others 1.1 to 2.2.
    first "first" = "2", Kind::Number(1.0, 16.0), ALWAYS =>
        "mean length of the first write to a page, in mean writes, if there are pages enough";
    // With this value short writes are rewritten soon 1.5 to 4 times as often as long ones, as in
    // recorded traces.
    long_far "long-far" = "0.6", Kind::Number(-2.0, 2.0), ALWAYS =>
        "how much more often the farthest reuses are of long requests than those in the middle, and the nearest \
         less often; below 0 the reverse";
    // Published for none of the volumes.
    once "once" = "0", Kind::Number(0.0, 0.99), ALWAYS =>
        "written zones of which nothing is written again";
    // The median of the nine published update ratios is 92.7 %.
    new "new" = "0.07", Kind::Share, |volume| volume.target(Quantity::Updates).is_none() =>
        "written blocks that were not written before";
    // The median of the thirteen volumes with both figures.
    starts "starts" = "0.07", Kind::Share, |volume| volume.target(Quantity::StartPages).is_none() =>
        "requests that start at a page where none did before";
    reuse "reuse" = "1", Kind::Number(0.05, 5.0),
        |volume| volume.target(Quantity::ReuseMean).is_none() =>
        "distances of reuses, in medians of the volumes whose distances are published";
    neighbours "neighbours" = "1", Kind::Number(1.0, 10_000.0),
        |volume| volume.guesses.contains_key("neighbours") =>
        "neighbouring zones in use that are first accessed one after the other";
    // The median of MCM's five.
    sequential "sequential" = "0.385", Kind::Share,
        |volume| volume.target(Quantity::Sequential).is_none() =>
        "writes in runs of three or more to one zone";
    // The median of the six volumes with both figures.
    density "density" = "0.16", Kind::Number(0.01, 1.0),
        |volume| volume.target(Quantity::Written).is_none() => "written blocks of a written zone";
    spread "spread" = "2", Kind::Number(1.0, 100.0),
        |volume| volume.target(Quantity::WrittenLarge).is_none() =>
        "address range of the volume, in touched zones";
    // The median of the volumes with both figures.
    read_blocks "read-blocks" = "5.8", Kind::Number(1.0, 1_000.0),
        |volume| volume.target(Quantity::Blocks).is_none() || volume.target(Quantity::Requests).is_none() =>
        "mean length of a read in blocks";
}

impl Free {
    pub(crate) fn of_volume(volume: &Volume) -> Free {
        Free::with(|name| number(default_of(&[volume], name)))
    }

    pub(crate) fn of(values: &Values) -> Free {
        Free::with(|name| values.number_if(name).unwrap_or_else(|| number(default(name))))
    }
}

fn number(text: &str) -> f64 {
    text.parse().expect("a default is a number")
}

fn default(name: &str) -> &'static str {
    ALL.iter().find(|(p, _)| p.name == name).expect("the name of a parameter").0.default
}

/// Returns the default of a parameter for several volumes: the guess of their files if they agree.
fn default_of(volumes: &[&Volume], name: &str) -> &'static str {
    let guess = |volume: &&Volume| volume.guesses.get(name).copied();
    match volumes {
        [first, others @ ..] if others.iter().all(|other| guess(other) == guess(first)) => {
            guess(first).unwrap_or_else(|| default(name))
        }
        _ => default(name),
    }
}

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
