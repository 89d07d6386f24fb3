//! Names and numbers in sentences.

use crate::run::RunResult;

/// Names a run among `runs`: by its policy, and its translation if they differ in that.
#[must_use]
pub fn name(run: &RunResult, runs: &[&RunResult]) -> String {
    let alike = runs.iter().all(|other| other.labels.translation == run.labels.translation);
    match (&run.labels.translation, run.labels.policy.as_str()) {
        (Some(translation), "none") if !alike => translation.clone(),
        (Some(translation), policy) if !alike => format!("{policy} over {translation}"),
        (_, policy) => policy.to_owned(),
    }
}

/// Formats a number with commas between thousands.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a number with what it counts: `1 request`, `2,000 requests`.
#[must_use]
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_141_869, "1,141,869")] {
            assert_eq!(count(number), shown);
        }
        let requests = |number| counted(number, "request", "requests");
        assert_eq!([0, 1, 2_000].map(requests), ["0 requests", "1 request", "2,000 requests"]);
    }
}
