//! `shingle store whatif`: estimates what other policies and sizes would have done with the
//! requests of a served cache, or of a recording.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use serde_json::{Value, json};
use shingle_core::registry::Registry;
use shingle_core::size::{parse_bytes, show_blocks, show_bytes};
use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_drive::{Buffer, Settings as DriveSettings};
use shingle_engine::settings::{Settings, SettingsError};
use shingle_sim::sample::curve::{BANDS_MIN, BUFFER_BLOCKS_MIN, CACHE_BLOCKS_MIN};
use shingle_sim::sample::{Estimate, Sampling, Shadow, WHOLE, change, scaled_drive};
use shingle_store::store::control::{Request as Order, watch};
use shingle_trace::record::Events;
use shingle_trace::{OpenOptions, Shape};

use super::{ask, socket, status};
use crate::Usage;
use crate::cli::{Global, whole};
use crate::output::{note, print};
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct WhatIf {
    /// The SSD of a served cache: samples its clients' requests as they arrive.
    #[arg(long, value_name = "FILE|DEV", required_unless_present = "recording")]
    cache: Option<PathBuf>,
    /// Use a recording of `store serve --record` instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cache", "apply", "seconds"])]
    recording: Option<PathBuf>,
    /// Seconds to observe.
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u64>, default_value_t = 60)]
    seconds: u64,
    /// Other policies, separated by commas.
    #[arg(short, long, value_name = "NAME,…", default_value = "most,sac,lru")]
    policy: String,
    /// Other sizes of the cache, separated by commas, as in 64GiB,128GiB; besides the present one.
    #[arg(long, value_name = "SIZE,…")]
    size: Option<String>,
    /// Set a parameter of the other caches, as in sac.zone=40M.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Model of the disk: one of `shingle list drives`, profile:FILE or sheet:FILE.
    #[arg(short, long, value_name = "NAME", default_value = "st8000as0002")]
    drive: String,
    /// Size of the disk's buffer. [default: that of the model]
    #[arg(long, value_name = "SIZE")]
    buffer: Option<String>,
    /// Share of the bands that is sampled, in percent. [default: 1, or more where 1 % of the cache
    /// or the buffer is too small for an estimate]
    #[arg(long, value_name = "PERCENT")]
    sample: Option<f64>,
    /// Switch to the policy that rewrites the fewest bands, if it is certainly fewer than now.
    #[arg(long)]
    apply: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The cache as it is.
struct Now {
    settings: Settings,
    slots: u64,
    disk_blocks: u64,
}

/// An alternative cache.
struct Candidate {
    settings: Settings,
    slots: u64,
    shadow: Shadow,
}

pub(super) fn execute(args: &WhatIf, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    match (&args.recording, &args.cache) {
        (Some(path), _) => recorded(args, path, global, registry),
        (None, Some(ssd)) => live(args, ssd, global, registry),
        (None, None) => unreachable!("one of them is required"),
    }
}

fn live(args: &WhatIf, ssd: &Path, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let said = status::of(ssd)?;
    let (settings, slots) = (said.to_settings()?, said.slots);
    let now = Now { settings, slots, disk_blocks: said.disk_bytes / BLOCK_BYTES };
    let mut candidates = candidates(args, &now, registry)?;
    let begun = Instant::now();
    let span = Duration::from_secs(args.seconds);
    let progress = Progress::new("looking on", args.seconds, global.quiet);
    let mut all_missed = 0;
    watch::watch(&socket(ssd)?, &mut |requests, missed| {
        all_missed += missed;
        requests.iter().for_each(|request| seen(&mut candidates, request));
        let passed = begun.elapsed();
        progress.set(passed.as_secs().min(args.seconds), args.seconds);
        passed < span
    })?;
    drop(progress);
    report(args, &candidates, all_missed)?;
    if args.apply { apply(ssd, &candidates, global) } else { Ok(()) }
}

fn recorded(
    args: &WhatIf,
    path: &Path,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<()> {
    let path = path
        .to_str()
        .ok_or_else(|| anyhow!("{}: the name is not UTF-8; give another", path.display()))?;
    let about = Events::open(path)?.about().clone();
    let settings = Settings::from_text(&about.settings)?;
    let now = Now { settings, slots: about.slots.into(), disk_blocks: about.disk_blocks };
    let mut candidates = candidates(args, &now, registry)?;
    let mut opened = shingle_trace::open(path, &OpenOptions::default())?;
    let requests = Shape::default().read(opened.source.as_mut(), &mut |_| {})?;
    let all = requests.len() as u64;
    let progress = Progress::new("looking on", all, global.quiet);
    for (at, request) in requests.iter().enumerate() {
        seen(&mut candidates, request);
        if at % 10_000 == 0 {
            progress.set(at as u64, all);
        }
    }
    drop(progress);
    report(args, &candidates, 0)
}

fn seen(candidates: &mut [Candidate], request: &Request) {
    candidates.iter_mut().for_each(|candidate| candidate.shadow.request(request));
}

/// Returns the present cache first, then the alternatives.
fn candidates(args: &WhatIf, now: &Now, registry: &Registry) -> anyhow::Result<Vec<Candidate>> {
    let size = |text: &str| parse_bytes(text).map_err(|error| Usage(format!("--size: {error}")));
    let sizes: Vec<u64> =
        args.size.iter().flat_map(|text| text.split(',')).map(size).collect::<Result<_, _>>()?;
    let mut all_slots = vec![now.slots];
    if let Some(small) = sizes.iter().find(|bytes| **bytes < BLOCK_BYTES) {
        let small = show_bytes(*small);
        return Err(
            Usage(format!("--size: {small} is less than a block of {BLOCK_BYTES} bytes")).into()
        );
    }
    all_slots.extend(sizes.iter().map(|bytes| bytes / BLOCK_BYTES));
    let mut wanted = vec![(now.settings.clone(), now.slots)];
    for name in args.policy.split(',') {
        let mut settings = now.settings.clone();
        settings.set(&format!("policy={name}")).map_err(|error| Usage(error.to_string()))?;
        args.set
            .iter()
            .try_for_each(|text| settings.set(text))
            .map_err(|e| Usage(e.to_string()))?;
        wanted.extend(all_slots.iter().map(|&slots| (settings.clone(), slots)));
    }
    // (The present policy is an alternative only with another size or parameter.)
    let is_now = |(settings, slots): &(Settings, u64)| {
        (&settings.policy, &settings.sets, *slots)
            == (&now.settings.policy, &now.settings.sets, now.slots)
    };
    let mut first = true;
    wanted.retain(|one| !is_now(one) || std::mem::take(&mut first));
    let smallest = all_slots.iter().copied().min().unwrap_or(1).max(1);
    let millionths = match args.sample {
        Some(percent) if percent > 0.0 && percent <= 100.0 => {
            ((percent * WHOLE as f64 / 100.0) as u64).max(1)
        }
        Some(percent) => {
            bail!(Usage(format!("--sample {percent}: give a percentage above 0, up to 100")))
        }
        None => {
            let cache = CACHE_BLOCKS_MIN * WHOLE / smallest;
            cache.max(part_for_buffer(args)?).clamp(WHOLE / 100, WHOLE)
        }
    };
    wanted
        .into_iter()
        .map(|(settings, slots)| candidate(args, now, settings, slots, millionths, registry))
        .collect()
}

/// Returns the share that does not make the buffer too small, in millionths.
fn part_for_buffer(args: &WhatIf) -> anyhow::Result<u64> {
    let (drive, _) = scaled_drive(&args.drive, &drive_settings(args)?, WHOLE)
        .map_err(|error| Usage(format!("--drive: {error}")))?;
    Ok(BUFFER_BLOCKS_MIN * WHOLE / drive.description().buffer_blocks.max(1))
}

fn drive_settings(args: &WhatIf) -> anyhow::Result<DriveSettings> {
    let buffer = match &args.buffer {
        None => Buffer::Real,
        Some(text) => {
            Buffer::Bytes(parse_bytes(text).map_err(|e| Usage(format!("--buffer: {e}")))?)
        }
    };
    Ok(DriveSettings { buffer, ..DriveSettings::default() })
}

fn candidate(
    args: &WhatIf,
    now: &Now,
    mut settings: Settings,
    slots: u64,
    millionths: u64,
    registry: &Registry,
) -> anyhow::Result<Candidate> {
    let made = scaled_drive(&args.drive, &drive_settings(args)?, millionths);
    let (drive, bands) = made.map_err(|error| Usage(format!("--drive: {error}")))?;
    let model = drive.description();
    if model.disk_blocks < now.disk_blocks {
        let [model, disk] = [model.disk_blocks, now.disk_blocks].map(show_blocks);
        bail!(Usage(format!(
            "--drive {}: has {model}, and the disk {disk}; name a larger one",
            args.drive
        )));
    }
    let sampling = Sampling::new(bands, millionths, 1);
    let sampled = u32::try_from(sampling.part_of(slots))
        .map_err(|_| Usage("--size: the cache is too large; give a smaller size".into()))?;
    let plain = settings.clone();
    plan_with_buffer(&mut settings, model.buffer_blocks, model.in_order.log_blocks)?;
    let cache = settings
        .cache(registry, sampled, model.disk_blocks)
        .map_err(|error| Usage(error.to_string()))?;
    let shadow = Shadow::new(cache, drive, sampling, slots).map_err(|error| anyhow!(error))?;
    Ok(Candidate { settings: plain, slots, shadow })
}

/// Gives the policy the size of the actual buffer, as far as it knows that of the disk: what a cache
/// does not know, it cannot plan with.
fn plan_with_buffer(
    settings: &mut Settings,
    buffer_blocks: u64,
    log_blocks: u64,
) -> Result<(), SettingsError> {
    for (name, blocks) in [("drive.buffer_blocks", buffer_blocks), ("drive.log_blocks", log_blocks)]
    {
        if settings.sets.iter().any(|(set, value)| set == name && value != "0") {
            settings.set(&format!("{name}={blocks}"))?;
        }
    }
    Ok(())
}

/// Returns the change in bands rewritten against the present cache, in percent.
fn changed(candidate: &Candidate, now: &Candidate) -> Option<Estimate> {
    let shadow = &candidate.shadow;
    change(shadow.rmws_by_group(), now.shadow.rmws_by_group(), shadow.millionths())
}

fn report(args: &WhatIf, candidates: &[Candidate], missed: u64) -> anyhow::Result<()> {
    match args.json {
        true => print(&serde_json::to_string_pretty(&as_json(candidates, missed))?),
        false => print(&as_table(args, candidates, missed)),
    }
}

fn as_json(candidates: &[Candidate], missed: u64) -> Value {
    let now = &candidates[0];
    let estimate = |found: Option<Estimate>| match found {
        Some(Estimate { value, error }) => {
            json!({ "value": value, "error": error.is_finite().then_some(error) })
        }
        None => Value::Null,
    };
    let cache = |(at, one): (usize, &Candidate)| {
        json!({
            "now": at == 0,
            "policy": one.settings.policy,
            "slots": one.slots,
            "hits_percent": estimate(one.shadow.hits_percent()),
            "rmws": estimate(one.shadow.rmws()),
            "rmws_change_percent": estimate(changed(one, now)),
            "io_seconds": estimate(one.shadow.io_seconds()),
            "was_full": one.shadow.was_full(),
        })
    };
    json!({
        "schema": "shingle.what-if/1",
        "accesses": now.shadow.accesses(),
        "sampled_accesses": now.shadow.sampled_accesses(),
        "sampled_millionths": now.shadow.millionths(),
        "sampled_bands": now.shadow.sampled_bands(),
        "too_few_bands": now.shadow.is_small(),
        "missed_requests": missed,
        "caches": candidates.iter().enumerate().map(cache).collect::<Vec<Value>>(),
    })
}

fn as_table(args: &WhatIf, candidates: &[Candidate], missed: u64) -> String {
    let now = &candidates[0];
    let mut lines = vec![format!(
        "{:<16}{:>12}{:>16}{:>20}{:>18}",
        "policy", "cache", "hits", "bands rewritten", "against now"
    )];
    for (at, one) in candidates.iter().enumerate() {
        let policy = if at == 0 {
            format!("{} (now)", one.settings.policy)
        } else {
            one.settings.policy.clone()
        };
        let against = if at == 0 { String::new() } else { shown(changed(one, now), "%", 0) };
        let marked = if one.shadow.was_full() { "" } else { " *" };
        lines.push(format!(
            "{policy:<16}{:>12}{:>16}{:>20}{against:>18}{marked}",
            show_blocks(one.slots),
            shown(one.shadow.hits_percent(), "%", 1),
            shown(one.shadow.rmws(), "", 0),
        ));
    }
    if candidates.iter().any(|one| !one.shadow.was_full()) {
        lines.push("* was never full: look on for longer".to_owned());
    }
    let shadow = &now.shadow;
    lines.push(format!(
        "{} of {} block accesses, {:.1} % of the bands of {}{}",
        shadow.sampled_accesses(),
        shadow.accesses(),
        shadow.millionths() as f64 * 100.0 / WHOLE as f64,
        args.drive,
        if missed > 0 { format!("; {missed} requests were missed") } else { String::new() },
    ));
    lines.extend(remark(candidates));
    lines.join("\n")
}

/// Returns why the estimates say little, or else what would have been better.
fn remark(candidates: &[Candidate]) -> Option<String> {
    let now = &candidates[0];
    if now.shadow.is_small() {
        return Some(format!(
            "only {} bands were sampled, where {BANDS_MIN} tell enough: all may be off by more than ± says; look on for longer, \
             or raise --sample",
            now.shadow.sampled_bands()
        ));
    }
    if now.shadow.rmws().is_some_and(|found| found.value == 0.0) {
        let why = "no band was rewritten: the buffer of the model has room for all; --buffer makes it as small as that of your \
             disk is for it";
        return Some(why.to_owned());
    }
    let best = best(now, &candidates[1..])?;
    let Estimate { value, error } = changed(best, now)?;
    let size = if best.slots == now.slots {
        String::new()
    } else {
        format!(" and {}", show_blocks(best.slots))
    };
    Some(format!(
        "with `{}`{size} you would have had {:.0} % fewer band rewrites (± {error:.0})",
        best.settings.policy, -value
    ))
}

fn shown(estimate: Option<Estimate>, unit: &str, digits: usize) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate { value, error }) if error.is_finite() => {
            format!("{value:.digits$} ± {error:.digits$}{unit}")
        }
        Some(Estimate { value, .. }) => format!("{value:.digits$} ± ?{unit}"),
    }
}

/// Returns the one of `others` that rewrites the fewest bands, if it is certainly fewer than now.
fn best<'a>(
    now: &Candidate,
    others: impl IntoIterator<Item = &'a Candidate>,
) -> Option<&'a Candidate> {
    let found = others.into_iter().filter_map(|one| Some((one, changed(one, now)?)));
    let surely = found.filter(|(_, change)| change.value + change.error < 0.0);
    surely.min_by(|a, b| a.1.value.total_cmp(&b.1.value)).map(|(best, _)| best)
}

/// Switches to the best alternative of the present size.
fn apply(ssd: &Path, candidates: &[Candidate], global: &Global) -> anyhow::Result<()> {
    let slots = candidates[0].slots;
    let (now, others) = candidates.split_first().expect("the cache as it is");
    if now.shadow.is_small() {
        note("too few bands were sampled: nothing was changed", global.quiet);
        return Ok(());
    }
    let as_large = others.iter().filter(|one| one.slots == slots);
    let Some(best) = best(now, as_large) else {
        note("nothing is surely better than what is set: nothing was changed", global.quiet);
        return Ok(());
    };
    let mut what = vec![format!("policy={}", best.settings.policy)];
    let sets = best.settings.sets.iter().filter(|set| !now.settings.sets.contains(set));
    what.extend(sets.map(|(name, value)| format!("{name}={value}")));
    let text = format!("set {}", what.join(" "));
    ask(ssd, &Order::Set { what }, global)?;
    note(&text, global.quiet);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_plans_with_what_its_cache_knows_of_the_buffer() {
        let planned = |sets: &[&str]| {
            let mut settings = Settings::new("disk-time");
            sets.iter().try_for_each(|set| settings.set(set)).expect("words");
            plan_with_buffer(&mut settings, 7, 300).expect("numbers");
            settings.sets.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let (map, log) = ("drive.buffer_blocks=184000", "drive.log_blocks=7397460");
        assert!(planned(&[]).is_empty());
        assert_eq!(planned(&[map]), ["drive.buffer_blocks=7"]);
        assert_eq!(planned(&[map, log]), ["drive.buffer_blocks=7", "drive.log_blocks=300"]);
        let not_first = "drive.log_blocks=0";
        assert_eq!(planned(&[map, not_first]), [not_first, "drive.buffer_blocks=7"]);
    }
}
