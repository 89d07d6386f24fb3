//! Remarks on runs with the same seed, drive and cache size.

use super::measure::{
    CLEANINGS_MIN, LEVEL, UNWRITTEN_PART, cleaned, done_and_left, hardly_cleaned, log_zones,
    measure, never_filled, none_filled, order_by, overloaded, ranking, unwritten_part,
};
use super::names::{count, name};
use crate::counts::ByCause;
use crate::run::RunResult;
use crate::said::{Said, SaidKind};
use shingle_core::duration::show_duration;

/// A factor is also given without deferred work if that changes it by more than this.
const APART: f64 = 1.1;

/// Open loop: work that the first leaves undone matters if it exceeds this share of what it did.
const LEFT_PART: f64 = 0.1;

/// Returns the remarks on those of `all` whose numbers are `compared`.
pub(super) fn of(all: &[RunResult], compared: &[usize]) -> Vec<Said> {
    let runs: Vec<&RunResult> = compared.iter().map(|&i| &all[i]).collect();
    let runs = &runs[..];
    let all_runs: Vec<usize> = (0..runs.len()).collect();
    let say = |kind, (text, about): (String, Vec<usize>)| {
        let about = about.into_iter().map(|at| compared[at]).collect();
        Said { kind, text, compared: compared.to_vec(), runs: about }
    };
    let verdict = if runs.len() < 2 {
        None
    } else if none_filled(runs) {
        Some(
            "This comparison says nothing about policies: the cache never filled, so nothing had \
             to leave it."
                .to_owned(),
        )
    } else {
        Some(winner(runs))
    };
    let verdict = verdict.map(|text| say(SaidKind::Verdict, (text, all_runs)));
    let cold = cold(runs).map(|cold| say(SaidKind::Warning, cold));
    // A warning that voids the factor comes first: readers believe a factor before they read on.
    let [first, second] = if none_filled(runs) { [verdict, cold] } else { [cold, verdict] };
    let mut said: Vec<Said> = first.into_iter().chain(second).collect();
    if !none_filled(runs) {
        said.extend(without_left(runs).map(|turned| say(SaidKind::Verdict, turned)));
        said.extend(put_off(runs).map(|left| say(SaidKind::Warning, left)));
    }
    said.extend(few_cleanings(runs).map(|few| say(SaidKind::Warning, few)));
    said.extend(never_written(runs).map(|reads| say(SaidKind::Warning, reads)));
    said.extend(overload(runs).map(|overload| say(SaidKind::Warning, overload)));
    said
}

/// Says which run is best, by how much, and why.
fn winner(runs: &[&RunResult]) -> String {
    if runs.iter().all(|run| overloaded(run)) {
        return "None of them keeps up with the trace, so response times do not say which is best."
            .into();
    }
    let order = ranking(runs);
    let (first, second, last) = (order[0], order[1], order[order.len() - 1]);
    let (best, next, worst) = (runs[first], runs[second], runs[last]);
    if measure(worst) <= measure(best) * LEVEL {
        return "All are level.".into();
    }
    let open = best.queue.is_some();
    let counted = !open && runs.iter().any(|run| run.left.seconds > 0.0);
    let what = match (open, counted) {
        (true, _) => "responds fastest",
        (false, true) => "needs the least I/O time, with the work it leaves undone",
        (false, false) => "needs the least I/O time",
    };
    let beside = |other: &RunResult| beside(other, best, runs);
    let cached: Vec<&RunResult> =
        runs.iter().copied().filter(|r| r.labels.cache_blocks > 0).collect();
    let cached_level = cached.len() > 1
        && best.labels.cache_blocks > 0
        && cached.iter().all(|run| measure(run) <= measure(best) * LEVEL);
    let mut sentence = if cached_level {
        format!("All policies with a cache are level: {}", beside(worst))
    } else {
        format!("{} {what}: {}", name(best, runs), beside(next))
    };
    if !cached_level && second != last {
        sentence += &format!(", {}", beside(worst));
    }
    format!("{sentence}. {} {}", reason(best, worst, &name(worst, runs)), fewest(runs))
}

/// Says how much better the best is than another.
fn beside(other: &RunResult, best: &RunResult, runs: &[&RunResult]) -> String {
    let other_name = name(other, runs);
    if overloaded(other) && !overloaded(best) {
        return format!("{other_name} cannot keep up");
    }
    if measure(best) == 0.0 && measure(other) > 0.0 {
        return format!("it takes no time, and {other_name} does");
    }
    let shown = |factor: f64| match factor {
        factor if factor < 100.0 => format!("{factor:.2}"),
        factor => format!("{factor:.0}"),
    };
    let factor = measure(other) / measure(best);
    let told = match factor {
        factor if factor < LEVEL => format!("level with {other_name}"),
        factor => format!("{} times better than {other_name}", shown(factor)),
    };
    let done = other.all.seconds.total / best.all.seconds.total;
    // In open loop the measure is not work at all. (Without work there is no factor.)
    if best.queue.is_some() || !done.is_finite() || (done < factor * APART && factor < done * APART)
    {
        return told;
    }
    format!("{told} ({} without that work)", shown(done))
}

/// Returns whether deferred work is counted: in closed loop, if there is any.
fn counts_left(run: &RunResult) -> bool {
    run.queue.is_none() && run.left.seconds > 0.0
}

/// Returns the blocks read from the disk because the cache did not hold them, or to merge them with
/// what it held.
fn read_blocks(run: &RunResult) -> u64 {
    run.all.drive_io.read_blocks + if counts_left(run) { run.left.read_blocks } else { 0 }
}

fn written_blocks(run: &RunResult) -> u64 {
    run.all.drive_io.written_blocks + if counts_left(run) { run.left.written_blocks } else { 0 }
}

/// Returns RMWs, and all cleanings.
fn cleaned_bands(run: &RunResult) -> (u64, u64) {
    let left = if counts_left(run) { (run.left.rmw, run.left.rmw_free) } else { (0, 0) };
    let rmws = run.all.drive_io.rmw + left.0;
    (rmws, rmws + run.all.drive_io.rmw_free + left.1)
}

/// Returns a remark for a number of cleanings that includes some which are not in the tables.
fn to_come(runs: &[&RunResult]) -> &'static str {
    match runs.iter().any(|run| counts_left(run) && run.left.rmw + run.left.rmw_free > 0) {
        true => ", with those still to come",
        false => "",
    }
}

/// Says which run has the fewest RMWs, and which reads least: they need not be the same.
fn fewest(runs: &[&RunResult]) -> String {
    let rmws = |run: &RunResult| cleaned_bands(run).0;
    let least =
        |of: &dyn Fn(&RunResult) -> u64| *runs.iter().min_by_key(|run| of(run)).expect("runs");
    let (by_rmw, by_reads) = (least(&rmws), least(&read_blocks));
    let reading =
        format!("ewest blocks read: {} ({})", name(by_reads, runs), count(read_blocks(by_reads)));
    if runs.iter().all(|run| rmws(run) == rmws(by_rmw)) {
        return format!("F{reading}.");
    }
    let number = count(rmws(by_rmw));
    format!("Fewest RMWs: {} ({number}{}); f{reading}.", name(by_rmw, runs), to_come(runs))
}

/// Says where the time between the best and the worst went, and why.
fn reason(best: &RunResult, worst: &RunResult, worst_name: &str) -> String {
    let saved = |of: fn(&ByCause) -> f64| {
        let spent = |run: &RunResult| {
            let left = if counts_left(run) { of(&run.left.by_cause) } else { 0.0 };
            of(&run.all.seconds.by_cause) + left
        };
        spent(worst) - spent(best)
    };
    let causes = [
        (saved(|s| s.clean), cleaned_less(best, worst)),
        (saved(|s| s.read), moved("read from", read_blocks(best), read_blocks(worst))),
        (
            saved(|s| s.log) + saved(|s| s.write),
            moved("written to", written_blocks(best), written_blocks(worst)),
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

/// Says why less time went into blocks `read from` or `written to` the disk: there were fewer, or
/// the same number took less time.
fn moved(what: &str, few: u64, many: u64) -> String {
    let less = few + few / 10 < many;
    let why = if less { "less was" } else { "it took less time to serve what was" };
    let blocks = match few == many {
        true => format!("{} blocks each", count(few)),
        false => format!("{} blocks against {}", count(few), count(many)),
    };
    format!("{why} {what} the disk ({blocks})")
}

/// Says what fewer or shorter cleanings saved.
fn cleaned_less(best: &RunResult, worst: &RunResult) -> String {
    let ((b_rmw, b_bands), (w_rmw, w_bands)) = (cleaned_bands(best), cleaned_bands(worst));
    let (b_log, w_log) = (log_zones(best), log_zones(worst));
    let (b_all, w_all) = (b_bands + b_log, w_bands + w_log);
    let what = cleaned(&[best, worst]);
    // RMWs under a log are those of the disk below it: the log's own zones may be what matters.
    let (what, few, many) = if b_rmw < w_rmw && w_rmw - b_rmw >= w_log.saturating_sub(b_log) {
        let writes_back = worst.translation_counters.as_ref().is_some_and(|did| did.victims > 0);
        let what = if writes_back { "zones" } else { "bands" };
        (format!("fewer {what} had to be cleaned (RMWs"), b_rmw, w_rmw)
    } else if b_all < w_all {
        (format!("fewer {what} had to be cleaned (all in all"), b_all, w_all)
    } else {
        (format!("cleaning took less time ({what}"), b_all, w_all)
    };
    format!("{what} {} against {}{})", count(few), count(many), to_come(&[best, worst]))
}

/// Says which run would be first if deferred work did not count.
fn without_left(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let first = ranking(runs)[0];
    let other = order_by(runs, |run| run.all.seconds.total)[0];
    let (best, early) = (runs[first], runs[other]);
    // Level runs are no change of rank.
    if best.queue.is_some()
        || done_and_left(early) <= done_and_left(best) * LEVEL
        || best.all.seconds.total <= early.all.seconds.total * LEVEL
    {
        return None;
    }
    let text = format!(
        "By what is done alone {} would be first, with {} against {}; but it leaves work of {}, {} of {}.",
        name(early, runs),
        show_duration(early.all.seconds.total),
        show_duration(best.all.seconds.total),
        show_duration(early.left.seconds),
        name(best, runs),
        show_duration(best.left.seconds),
    );
    Some((text, vec![first, other]))
}

/// Warns, in open loop, that response times do not include deferred work.
fn put_off(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let first = ranking(runs)[0];
    let best = runs[first];
    best.queue?;
    let others = runs.iter().filter(|run| !std::ptr::eq(**run, best));
    let least = others.min_by(|a, b| a.left.seconds.total_cmp(&b.left.seconds))?;
    let did = best.all.seconds.total + best.all.seconds.by_cause.idle_clean;
    if best.left.seconds - least.left.seconds <= LEFT_PART * did {
        return None;
    }
    let text = format!(
        "Response times say nothing of work put off: {} did {} of I/O and leaves {} to do, {} leaves {}.",
        name(best, runs),
        show_duration(did),
        show_duration(best.left.seconds),
        name(least, runs),
        show_duration(least.left.seconds),
    );
    Some((text, vec![first]))
}

/// Returns the numbers of runs for which `is` holds, and their names; `None` if there are none.
fn those(runs: &[&RunResult], is: impl Fn(&RunResult) -> bool) -> Option<(Vec<usize>, String)> {
    let about: Vec<usize> = (0..runs.len()).filter(|&at| is(runs[at])).collect();
    let names: Vec<String> = about.iter().map(|&at| name(runs[at], runs)).collect();
    (!about.is_empty()).then(|| (about, names.join(", ")))
}

/// Returns whether any of these used a translation.
fn translated(about: &[usize], runs: &[&RunResult]) -> bool {
    about.iter().any(|&at| runs[at].labels.translation.is_some())
}

fn cold(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let (about, names) = those(runs, never_filled)?;
    Some((format!("The cache never filled under {names}: choose a smaller one with -c."), about))
}

fn few_cleanings(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let (about, names) = those(runs, hardly_cleaned)?;
    let what = cleaned(&about.iter().map(|&at| runs[at]).collect::<Vec<_>>());
    let (buffer, room) =
        ("the drive's buffer hardly filled", "the translation hardly ran out of room");
    let (why, or_a) = match what {
        "bands" => (buffer.to_owned(), "or a"),
        "zones" => (room.to_owned(), "or, where the translation has one, a"),
        _ => (format!("{buffer}, and {room}"), "or, where there is one, a"),
    };
    let text = format!(
        "Fewer than {CLEANINGS_MIN} {what} were cleaned under {names}: {why}, so this result says \
         little about shingling. A longer trace, a smaller cache {or_a} smaller buffer (--set \
         drive.pb=SIZE) shows more."
    );
    Some((text, about))
}

/// Warns of reads of never-written blocks: a zoned disk answers them at once, while a disk that
/// holds data has to read it.
fn never_written(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let (about, names) = those(runs, |run| unwritten_part(run) > UNWRITTEN_PART)?;
    let most = about.iter().map(|&at| unwritten_part(runs[at])).fold(0.0, f64::max);
    // A translation starts with empty zones.
    let filled = match translated(&about, runs) {
        true => "",
        false => "--set drive.filled=on begins with full zones where the model has that, ",
    };
    let text = format!(
        "Up to {:.0}% of the blocks read from the disk were never written before ({names}). A zoned \
         disk answers such reads without reading, a disk that holds data does not: there, reads take \
         longer than here. {filled}--mode w leaves reads out.",
        100.0 * most
    );
    Some((text, about))
}

fn overload(runs: &[&RunResult]) -> Option<(String, Vec<usize>)> {
    let (about, names) = those(runs, overloaded)?;
    let text = format!(
        "Overloaded (!): {names}. The queue still grew at the end, so the mean says how long the \
         trace is; --speed below 1 slows it down, unless its requests have no times."
    );
    Some((text, about))
}
