//! What a comparison says in words: who won, why, and whether to believe it.

use crate::result::{DriveIo, RunResult};

/// A run with fewer cleanings than this says little about shingling.
pub const CLEANINGS_MIN: u64 = 30;

/// The order in which runs are shown: by I/O time in closed loop, by mean response time in open.
#[must_use]
pub fn ranking(runs: &[&RunResult]) -> Vec<usize> {
    order_by(runs, measure)
}

/// What runs are ranked by, seconds in closed loop and microseconds in open: lower is better.
#[must_use]
pub fn measure(run: &RunResult) -> f64 {
    match run.queue {
        None => run.all.seconds.total,
        Some(_) => run.latency.mean_us,
    }
}

fn order_by(runs: &[&RunResult], key: impl Fn(&RunResult) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| key(runs[a]).total_cmp(&key(runs[b])));
    order
}

/// Pairs (better, worse) of a ranking by I/O time that turn round when the work left undone is
/// added. Empty in open loop, where runs are not ranked by I/O time.
#[must_use]
pub fn turned(runs: &[&RunResult]) -> Vec<(usize, usize)> {
    if runs.iter().any(|run| run.queue.is_some()) {
        return Vec::new();
    }
    let with_left = |run: &RunResult| run.all.seconds.total + run.left.seconds;
    let mut pairs = Vec::new();
    for (at, &better) in ranking(runs).iter().enumerate() {
        for &worse in &ranking(runs)[at + 1..] {
            // A rounding error is no change of rank.
            if with_left(runs[better]) > with_left(runs[worse]) * (2.0 - 1.0 / LEVEL) {
                pairs.push((better, worse));
            }
        }
    }
    pairs
}

/// What a run is called among `runs`: after its policy, and its translation if they differ in that.
#[must_use]
pub fn name(run: &RunResult, runs: &[&RunResult]) -> String {
    let alike = runs.iter().all(|other| other.translation == run.translation);
    match (&run.translation, run.policy.as_str()) {
        (Some(translation), "none") if !alike => translation.clone(),
        (Some(translation), policy) if !alike => format!("{policy} over {translation}"),
        (_, policy) => policy.to_owned(),
    }
}

/// Blocks read from the disk because the cache did not hold them.
fn read_misses(run: &RunResult) -> u64 {
    run.all.drive_io.read_blocks
}

/// Sentences on `runs`, which share drive and cache size; `shingled` says whether the drive is.
#[must_use]
pub fn sentences(runs: &[&RunResult], shingled: bool) -> Vec<String> {
    let order = ranking(runs);
    let mut said = Vec::new();
    if let (Some(&first), true) = (order.first(), order.len() > 1) {
        said.push(winner(runs, first, order[1], order[order.len() - 1]));
    }
    said.extend(turning(runs));
    said.extend(warnings(runs, shingled));
    said
}

/// Less than this apart, two runs are level.
const LEVEL: f64 = 1.005;

fn winner(runs: &[&RunResult], first: usize, second: usize, last: usize) -> String {
    let (best, next, worst) = (runs[first], runs[second], runs[last]);
    let factor = |other: &RunResult| measure(other) / measure(best);
    if factor(worst) < LEVEL {
        return "All are level.".into();
    }
    let what = if best.queue.is_some() { "responds fastest" } else { "needs the least I/O time" };
    let beside = |other: &RunResult| {
        if overloaded(other) && !overloaded(best) {
            return format!("{} cannot keep up", name(other, runs));
        }
        let other_name = name(other, runs);
        match factor(other) {
            factor if factor < LEVEL => format!("level with {other_name}"),
            factor if factor < 100.0 => format!("{factor:.2} times better than {other_name}"),
            factor => format!("{factor:.0} times better than {other_name}"),
        }
    };
    let mut sentence = format!("{} {what}: {}", name(best, runs), beside(next));
    if second != last {
        sentence += &format!(", {}", beside(worst));
    }
    format!("{sentence}. {} {}", reason(best, worst, &name(worst, runs)), fewest(runs))
}

fn overloaded(run: &RunResult) -> bool {
    run.queue.is_some_and(|queue| queue.overloaded)
}

/// Who has the fewest RMWs, and who reads least: the two do not go together.
fn fewest(runs: &[&RunResult]) -> String {
    let least = |of: fn(&RunResult) -> u64| runs.iter().min_by_key(|run| of(run));
    let rmws = least(|run| run.all.drive_io.rmw).map(|run| (run, run.all.drive_io.rmw));
    let reads = least(read_misses).map(|run| (run, read_misses(run)));
    let (Some((by_rmw, rmw)), Some((by_reads, reads))) = (rmws, reads) else {
        return String::new();
    };
    let reading = format!("fewest blocks read: {} ({})", name(by_reads, runs), count(reads));
    if runs.iter().all(|run| run.all.drive_io.rmw == rmw) {
        return format!("F{}.", &reading[1..]);
    }
    format!("Fewest RMWs: {} ({}); {reading}.", name(by_rmw, runs), count(rmw))
}

/// Where the time between the best and the worst went, and what stands behind that.
fn reason(best: &RunResult, worst: &RunResult, worst_name: &str) -> String {
    let (b, w) = (&best.all, &worst.all);
    let saved =
        |of: fn(&crate::result::ByCause) -> f64| of(&w.seconds.by_cause) - of(&b.seconds.by_cause);
    let causes = [
        (saved(|s| s.clean), cleaned(&b.drive_io, &w.drive_io)),
        (
            saved(|s| s.read),
            format!(
                "less was read from the disk ({} blocks against {})",
                count(read_misses(best)),
                count(read_misses(worst))
            ),
        ),
        (
            saved(|s| s.log) + saved(|s| s.write),
            format!(
                "less was written to the disk, or in fewer pieces ({} blocks against {})",
                count(b.drive_io.written_blocks),
                count(w.drive_io.written_blocks)
            ),
        ),
        (saved(|s| s.ssd), "the SSD did less".to_owned()),
    ];
    let all: f64 = causes.iter().map(|(seconds, _)| seconds.max(0.0)).sum();
    let (seconds, why) = causes.iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("four causes");
    if *seconds <= 0.0 {
        return "The devices were busy for as long as with the others.".into();
    }
    format!(
        "Against {worst_name}, {:.0}% of the time saved is because {why}.",
        100.0 * seconds / all
    )
}

/// What fewer cleanings, or shorter ones, come to.
fn cleaned(best: &DriveIo, worst: &DriveIo) -> String {
    let (b, w) = (best, worst);
    let (what, few, many) = match (b.rmw + b.rmw_free, w.rmw + w.rmw_free) {
        _ if b.rmw < w.rmw => ("fewer bands had to be cleaned (RMWs", b.rmw, w.rmw),
        (few, many) if few < many => ("fewer bands had to be cleaned (all in all", few, many),
        (few, many) => ("cleaning took less time (bands", few, many),
    };
    format!("{what} {} against {})", count(few), count(many))
}

fn turning(runs: &[&RunResult]) -> Option<String> {
    let pairs = turned(runs);
    let (better, worse) = pairs.first()?;
    let (b, w) = (runs[*better], runs[*worse]);
    let with_left = |run: &RunResult| run.all.seconds.total + run.left.seconds;
    let more = match pairs.len() {
        1 => String::new(),
        n => format!(" ({} more pairs turn round)", n - 1),
    };
    Some(format!(
        "The ranking of {} before {} turns round when the work left undone is counted: {:.1} s \
         against {:.1} s{more}. Run longer, or use --drain.",
        name(b, runs),
        name(w, runs),
        with_left(b),
        with_left(w)
    ))
}

fn warnings(runs: &[&RunResult], shingled: bool) -> Vec<String> {
    let mut said = Vec::new();
    let names = |of: &dyn Fn(&RunResult) -> bool| -> Vec<String> {
        runs.iter().filter(|run| of(run)).map(|run| name(run, runs)).collect()
    };
    let few = names(&|run| run.all.drive_io.rmw + run.all.drive_io.rmw_free < CLEANINGS_MIN);
    if shingled && !few.is_empty() {
        said.push(format!(
            "Fewer than {CLEANINGS_MIN} bands were cleaned under {}: the drive's buffer hardly \
             filled, so this result says little about shingling. A longer trace, a smaller cache \
             or a smaller buffer (--set drive.pb=SIZE) shows more.",
            few.join(", ")
        ));
    }
    let cold = names(&|run| run.warm_from.is_none() && run.cache_blocks > 0);
    if !cold.is_empty() {
        said.push(format!(
            "The cache never filled under {}: choose a smaller one.",
            cold.join(", ")
        ));
    }
    let overloaded = names(&overloaded);
    if !overloaded.is_empty() {
        said.push(format!(
            "Overloaded (!): {}. The queue still grew at the end, so the mean says how long the trace \
             is; --speed below 1 slows it down.",
            overloaded.join(", ")
        ));
    }
    said
}

/// A number with commas between thousands.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_141_869, "1,141,869")] {
            assert_eq!(count(number), shown);
        }
    }
}
