//! Values of an axis, as users write them: lists and ranges.
//!
//! `A..B` doubles from A up to B, which is the last value; `A..B/5` is five values in equal factors
//! from A to B; `A..B+STEP` goes in equal steps. Both ends have the same unit, which may be left
//! out of the first: `1..10%`.

use shingle_core::size::scaled;

const MOST: usize = 1000;

/// Numbers are kept in millionths, so that doubling and steps are exact.
const UNIT: u64 = 1_000_000;

/// The meaning of a range without `/` or `+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// Each value is twice the previous one.
    Doubles,
    /// Steps of one: seeds.
    Counts,
}

/// Returns the values of `item`: itself, or those of a range, where a range `A..B` doubles.
///
/// # Errors
/// One line, if the range is empty.
pub fn range(item: &str) -> Result<Vec<String>, String> {
    expand(item, Plain::Doubles)
}

/// Returns the values of `item`: itself, or those of a range.
pub(crate) fn expand(item: &str, plain: Plain) -> Result<Vec<String>, String> {
    let Some((from, to)) = item.split_once("..") else { return Ok(vec![item.to_owned()]) };
    let Some(from) = Number::read(from) else { return Ok(vec![item.to_owned()]) };
    let wrong = |why: &str| {
        format!("`{item}`: {why}; write A..B (doubling), A..B/COUNT or A..B+STEP, as in 1%..10%/5")
    };
    let (to, way) = match (to.split_once('/'), to.split_once('+')) {
        (Some((to, count)), _) => {
            let count = count.trim().parse().ok().filter(|count| (2..=MOST).contains(count));
            (to, Way::Factors(count.ok_or_else(|| wrong("the count is from 2 to 1000"))?))
        }
        (None, Some((to, step))) => {
            let step = Number::read(step).filter(|step| step.millionths > 0);
            (to, Way::Steps(step.ok_or_else(|| wrong("the step is no number above zero"))?))
        }
        (None, None) if plain == Plain::Counts => {
            (to, Way::Steps(Number { millionths: UNIT, unit: "" }))
        }
        (None, None) => (to, Way::Doubles),
    };
    let to = Number::read(to).ok_or_else(|| wrong("its end is no number with a unit"))?;
    let steps = match way {
        Way::Steps(step) => step.unit,
        _ => "",
    };
    if [from.unit, steps].iter().any(|unit| !unit.is_empty() && *unit != to.unit) {
        return Err(wrong("it has several units"));
    }
    if from.millionths == 0 && !matches!(way, Way::Steps(_)) || from.millionths > to.millionths {
        return Err(wrong("it does not go up from above zero"));
    }
    let whole = from.is_whole() && to.is_whole() && to.unit.is_empty();
    let values = way.values(from.millionths, to.millionths, whole);
    let values = values.ok_or_else(|| wrong("it has more than 1000 values"))?;
    Ok(values.into_iter().map(|value| shown(value) + to.unit).collect())
}

/// The steps of a range.
#[derive(Clone, Copy)]
enum Way<'a> {
    Doubles,
    Factors(usize),
    Steps(Number<'a>),
}

impl Way<'_> {
    /// Returns all values in millionths, whole ones for counts; `None` if there are too many.
    fn values(self, from: u64, to: u64, whole: bool) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        match self {
            Way::Doubles => {
                let doubled = |&value: &u64| value.checked_mul(2);
                values.extend(std::iter::successors(Some(from), doubled).take_while(|v| *v < to));
                values.push(to);
            }
            Way::Steps(step) => {
                if (to - from) / step.millionths >= MOST as u64 {
                    return None;
                }
                let next = |&value: &u64| value.checked_add(step.millionths);
                values.extend(std::iter::successors(Some(from), next).take_while(|v| *v <= to));
            }
            Way::Factors(count) => {
                let last = count - 1;
                values.push(from);
                values.extend((1..last).map(|at| between(from, to, at, last, whole)));
                values.push(to);
            }
        }
        values.dedup();
        Some(values)
    }
}

/// Returns value `at` of `last` equal factors from `from` to `to`, rounded to three digits, or to
/// whole numbers.
fn between(from: u64, to: u64, at: usize, last: usize, whole: bool) -> u64 {
    let part = at as f64 / last as f64;
    let exact = from as f64 * libm::pow(to as f64 / from as f64, part);
    let digits = 10u64.pow((exact as u64).max(1).ilog10().saturating_sub(2));
    let digits = if whole { digits.max(UNIT) } else { digits };
    (libm::round(exact / digits as f64) as u64 * digits).clamp(from, to)
}

#[derive(Clone, Copy)]
struct Number<'a> {
    millionths: u64,
    unit: &'a str,
}

impl Number<'_> {
    /// Returns `None` unless `text` begins with a number.
    fn read(text: &str) -> Option<Number<'_>> {
        let text = text.trim();
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let millionths = scaled(number, UNIT)?;
        Some(Number { millionths, unit })
    }

    fn is_whole(&self) -> bool {
        self.millionths.is_multiple_of(UNIT)
    }
}

fn shown(millionths: u64) -> String {
    let (whole, part) = (millionths / UNIT, millionths % UNIT);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn doubled(item: &str) -> String {
        expand(item, Plain::Doubles).expect("a range").join(" ")
    }

    #[test]
    fn a_range_doubles_and_ends_with_its_end() {
        assert_eq!(doubled("1%..10%"), "1% 2% 4% 8% 10%");
        assert_eq!(doubled("1..8%written"), "1%written 2%written 4%written 8%written");
        assert_eq!(doubled("0.25..1"), "0.25 0.5 1");
        assert_eq!(doubled("64..64"), "64");
    }

    #[test]
    fn a_range_of_factors_is_rounded_to_three_digits_or_to_whole_numbers() {
        assert_eq!(doubled("10M..100M/5"), "10M 17.8M 31.6M 56.2M 100M");
        assert_eq!(doubled("1..1000/4"), "1 10 100 1000");
        assert_eq!(doubled("1..3/5"), "1 2 3", "equal ones are one");
        assert_eq!(doubled("100..1000000/5"), "100 1000 10000 100000 1000000");
    }

    #[test]
    fn a_range_of_steps_stops_before_its_end() {
        assert_eq!(doubled("1%..2%+0.5%"), "1% 1.5% 2%");
        assert_eq!(doubled("0..10+4"), "0 4 8");
        assert_eq!(expand("3..6", Plain::Counts).unwrap().join(" "), "3 4 5 6");
    }

    #[test]
    fn what_is_no_range_is_itself() {
        for item in ["5%", "bands", "../traces/a.csv", "synth:zipf", "exact"] {
            assert_eq!(expand(item, Plain::Doubles).unwrap(), [item]);
        }
    }

    #[test]
    fn wrong_ranges_say_how_to_write_one() {
        for (item, told) in [
            ("1%..x", "its end is no number"),
            ("1M..2G", "several units"),
            ("10..1", "go up"),
            ("0..8", "above zero"),
            ("1..9/1", "count is from 2"),
            ("1..9+0", "the step"),
            ("1..100000+1", "more than 1000"),
        ] {
            let error = expand(item, Plain::Doubles).unwrap_err();
            assert!(error.contains(told) && error.contains("A..B"), "{item}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(item in "[0-9.%/+Mb]{0,12}\\.\\.[0-9.%/+Mb]{0,12}") {
            let _ = expand(&item, Plain::Doubles);
        }

        #[test]
        fn values_rise_from_one_end_to_the_other(from in 1u32..10_000, more in 0u32..10_000_000, count in 2usize..40) {
            let to = from + more;
            for item in [format!("{from}..{to}"), format!("{from}..{to}/{count}")] {
                let values: Vec<u32> =
                    expand(&item, Plain::Doubles).unwrap().iter().map(|v| v.parse().unwrap()).collect();
                prop_assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{item}: {values:?}");
                prop_assert_eq!((values[0], values[values.len() - 1]), (from, to));
            }
        }
    }
}
