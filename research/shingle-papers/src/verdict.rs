//! Judges whether results agree with the published ones.
//!
//! *In order*: every published strict order holds, for all seeds. *In size*: ours ÷ published lies
//! within 1/1.5 to 1.5 for factors, or within 5 points for percentages, for all seeds. Everything
//! else disagrees.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::cells::{Cells, Chain};
use crate::experiment::Check;
use shingle_report::numbers::{figure, spread};

/// The greatest ratio, in either direction, at which factors agree.
const FACTOR: f64 = 1.5;
/// The greatest difference in points at which percentages agree.
const POINTS: f64 = 5.0;

/// The verdict on a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The published order holds.
    AgreesInOrder,
    /// The size is close to the published one.
    AgreesInSize,
    /// Neither the order nor the size agrees.
    Disagrees,
}

impl Verdict {
    /// Describes the verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::AgreesInOrder => "agrees in order",
            Verdict::AgreesInSize => "agrees in size",
            Verdict::Disagrees => "disagrees",
        }
    }

    /// Whether it agrees at all.
    #[must_use]
    pub fn agrees(self) -> bool {
        self != Verdict::Disagrees
    }
}

/// The result of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The verdict over all seeds.
    pub verdict: Verdict,
    /// The published value; `None` for an order.
    pub published: Option<f64>,
    /// The unit of both values: `%`, or empty.
    pub unit: &'static str,
    /// Our value for each seed; empty for an order.
    pub ours: Vec<f64>,
    /// Our result in words.
    pub shown: String,
}

impl Check {
    /// Checks the statement against the results of each seed.
    #[must_use]
    pub fn judge(&self, seeds: &[Cells]) -> Finding {
        match self {
            Check::Order(chains) => judge_order(seeds.iter().map(chains).collect()),
            Check::Factor { published, ours } => {
                let ours: Vec<f64> = seeds.iter().map(ours).collect();
                let near = |value: f64| {
                    let quotient = value / published;
                    (1.0 / FACTOR..=FACTOR).contains(&quotient)
                };
                in_size(ours, *published, near, "")
            }
            Check::Percent { published, ours } => {
                let ours: Vec<f64> = seeds.iter().map(ours).collect();
                let near = |value: f64| (value - published).abs() <= POINTS;
                in_size(ours, *published, near, "%")
            }
        }
    }
}

fn in_size(
    ours: Vec<f64>,
    published: f64,
    near: impl Fn(f64) -> bool,
    unit: &'static str,
) -> Finding {
    let all = !ours.is_empty() && ours.iter().all(|&value| near(value));
    // A NaN has no unit.
    let any = ours.iter().any(|value| value.is_finite());
    let shown = in_unit(spread(&ours), if any { unit } else { "" });
    let verdict = if all { Verdict::AgreesInSize } else { Verdict::Disagrees };
    Finding { verdict, published: Some(published), unit, ours, shown }
}

/// Formats a value with its unit.
pub(crate) fn in_unit(figure: String, unit: &str) -> String {
    if unit.is_empty() { figure } else { format!("{figure} {unit}") }
}

fn judge_order(seeds: Vec<Vec<Chain>>) -> Finding {
    let total: usize = seeds.iter().map(Vec::len).sum();
    let broken: Vec<&Chain> = seeds.iter().flatten().filter(|chain| !chain.rises()).collect();
    // If values are equal and none falls, the published order is neither shown nor contradicted.
    let how = if broken.iter().all(|chain| chain.never_falls()) { "equal" } else { "broken" };
    let shown = match (broken.first(), seeds.first().and_then(|chains| chains.first())) {
        (None, Some(first)) if total == 1 => words(first),
        (None, Some(first)) => format!("holds {total} times, as in {}", words(first)),
        (Some(first), _) => {
            format!("{how} {} of {total} times, as in {}", broken.len(), words(first))
        }
        (None, None) => "nothing was compared".into(),
    };
    let holds = broken.is_empty() && total > 0;
    let verdict = if holds { Verdict::AgreesInOrder } else { Verdict::Disagrees };
    Finding { verdict, published: None, unit: "", ours: Vec::new(), shown }
}

fn words(chain: &Chain) -> String {
    let mut text = if chain.place.is_empty() { String::new() } else { chain.place.clone() + ": " };
    for (at, (name, value)) in chain.links.iter().enumerate() {
        if at > 0 {
            text += match chain.links[at - 1].1.partial_cmp(value) {
                Some(Ordering::Less) => " < ",
                Some(Ordering::Equal) => " = ",
                Some(Ordering::Greater) => " > ",
                None => ", ",
            };
        }
        text += &format!("{name} {}", figure(*value));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(values: &[f64]) -> Chain {
        let links = values.iter().map(|&value| (format!("s{value}"), value)).collect();
        Chain { place: "wdev".into(), links }
    }

    #[test]
    fn an_order_agrees_if_it_holds_strictly_for_all_seeds() {
        let rising = vec![chain(&[1.0, 2.0, 3.0])];
        let found = judge_order(vec![rising.clone(), rising.clone()]);
        assert_eq!(found.verdict, Verdict::AgreesInOrder);
        assert_eq!(found.shown, "holds 2 times, as in wdev: s1 1.00 < s2 2.00 < s3 3.00");
        for (bad, shown) in [
            (&[1.0, 1.0, 2.0][..], "equal 1 of 2 times, as in wdev: s1 1.00 = s1 1.00 < s2 2.00"),
            (&[2.0, 1.0], "broken 1 of 2 times, as in wdev: s2 2.00 > s1 1.00"),
            (&[1.0, 1.0, 0.0], "broken 1 of 2 times, as in wdev: s1 1.00 = s1 1.00 > s0 0.00"),
            (&[1.0, f64::NAN], "broken 1 of 2 times, as in wdev: s1 1.00, sNaN none"),
        ] {
            let found = judge_order(vec![rising.clone(), vec![chain(bad)]]);
            assert_eq!(found.verdict, Verdict::Disagrees, "{bad:?}");
            assert_eq!(found.shown, shown);
        }
        assert_eq!(judge_order(vec![]).verdict, Verdict::Disagrees, "nothing shows nothing");
    }

    #[test]
    fn a_size_agrees_within_the_published_bounds_for_all_seeds() {
        let factor = |ours: &[f64]| {
            let near = |value: f64| (1.0 / FACTOR..=FACTOR).contains(&(value / 6.0));
            in_size(ours.to_vec(), 6.0, near, "").verdict
        };
        assert_eq!(factor(&[4.0, 9.0]), Verdict::AgreesInSize);
        assert_eq!(factor(&[3.9]), Verdict::Disagrees);
        assert_eq!(factor(&[6.0, 9.1]), Verdict::Disagrees);
        assert_eq!(factor(&[f64::NAN]), Verdict::Disagrees);
        assert_eq!(factor(&[]), Verdict::Disagrees);
        let percent = Check::Percent { published: 60.0, ours: |cells| cells.number("hits") };
        let seed = |hits: f64| {
            let mut cells = Cells::default();
            cells.measured.number("hits", hits);
            cells
        };
        assert_eq!(percent.judge(&[seed(65.0), seed(55.0)]).verdict, Verdict::AgreesInSize);
        let far = percent.judge(&[seed(60.0), seed(65.1)]);
        assert_eq!((far.verdict, far.shown.as_str()), (Verdict::Disagrees, "60.0 to 65.1 %"));
        assert_eq!(far.unit, "%");
        let nothing = in_size(vec![f64::NAN], 6.0, |_| false, "%");
        assert_eq!((nothing.unit, nothing.shown.as_str()), ("%", "none"));
    }
}
