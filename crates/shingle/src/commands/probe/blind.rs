//! `shingle probe blind`: probes drives drawn by a seed, and shows the answers beside the truth.

use clap::Args;
use rayon::prelude::*;
use shingle_probe::blind::{BAND_OFF, CAPACITY_OFF, SLOPE_OFF, Trial, TrialError, trial};

use super::render;
use crate::cli::{Global, whole};
use crate::output::print;
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct Blind {
    /// Seed of the first drive; the next has the next.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 1)]
    seed: u64,
    /// Number of drives.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    drives: u64,
}

pub(crate) fn execute(args: &Blind, global: &Global) -> anyhow::Result<()> {
    let progress = Progress::new("probing", args.drives, global.quiet);
    let seeds: Vec<u64> = (args.seed..args.seed + args.drives).collect();
    let trials: Result<Vec<Trial>, TrialError> = seeds
        .into_par_iter()
        .map(|seed| {
            let trial = trial(seed);
            progress.add(1);
            trial
        })
        .collect();
    drop(progress);
    print(&table(&trials?))
}

/// Formats a row per drive: what it is, the error of each answer, and whether that is within the
/// limit.
fn table(trials: &[Trial]) -> String {
    let head = [
        "seed",
        "buffer",
        "limit",
        "bands",
        "noise %",
        "capacity off %",
        "bands told",
        "off %",
        "R slope off %",
        "idle ms",
        "told",
        "hours",
    ];
    let mut rows = render::table(&head);
    let mark =
        |off: f64, holds: bool| format!("{:.1}{}", 100.0 * off, if holds { "" } else { " ✗" });
    for trial in trials {
        let drawn = &trial.drawn;
        let told = trial.profile.idle.map_or("?".to_owned(), |idle| {
            if idle.cleaning { format!("{:.0}", idle.delay_ms) } else { "no".to_owned() }
        });
        let cross = |holds: bool| if holds { "" } else { " ✗" };
        rows.add_row([
            drawn.seed.to_string(),
            render::bytes(drawn.buffer_bytes(1)),
            format!("{}{}", drawn.limit(), cross(trial.limits_told)),
            format!("{:?}", drawn.bands).to_lowercase(),
            format!("{:.1}", 100.0 * drawn.noise.jitter),
            mark(trial.worst_capacity(), trial.capacity_holds()),
            format!("{} of {}", trial.bands.len(), trial.places),
            mark(trial.worst_band(), trial.bands_hold()),
            trial.slope.map_or("? ✗".to_owned(), |slope| mark(slope.off(), trial.slope_holds())),
            drawn.idle_delay_ms.map_or("no".to_owned(), |delay| delay.to_string()),
            format!("{told}{}", cross(trial.idle_holds())),
            format!("{:.1}", trial.time.as_secs_f64() / 3600.0),
        ]);
    }
    let count = |holds: fn(&Trial) -> bool| trials.iter().filter(|trial| holds(trial)).count();
    format!(
        "{}\nOf {}: capacity within {:.0} % on {}, limits told on {}, bands within {:.0} % or a reading \
         step on {}, slope of R within {:.0} % on {}, cleaning in idle time and its delay on {}.\n",
        render::lines(&rows),
        trials.len(),
        100.0 * CAPACITY_OFF,
        count(Trial::capacity_holds),
        count(|trial| trial.limits_told),
        100.0 * BAND_OFF,
        count(Trial::bands_hold),
        100.0 * SLOPE_OFF,
        count(Trial::slope_holds),
        count(Trial::idle_holds),
    )
}
