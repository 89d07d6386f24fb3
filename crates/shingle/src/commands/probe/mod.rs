//! `shingle probe`: measures what a disk hides, by writing to it.

mod agree;
mod blind;
mod page;
mod render;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_nbd::url::Url;
use shingle_probe::device::Disk;
use shingle_probe::findings::Findings;
use shingle_probe::guard;
use shingle_probe::model::{Model, Noise};
use shingle_probe::nbd::Nbd;
use shingle_probe::options::{Options, Writes};
use shingle_probe::plan::{Step, plan};
use shingle_probe::probe::{force_clean, probe};
use shingle_probe::session::{Session, Subject};
use shingle_probe::target::{Facts, Target};

use self::agree::Agree;
use self::blind::Blind;
use super::signals::Ending;
use crate::Usage;
use crate::cli::{self, Global};
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::table::width;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Probe {
    #[command(subcommand)]
    command: Option<Other>,
    #[command(flatten)]
    args: ProbeArgs,
}

#[derive(Debug, Subcommand)]
enum Other {
    /// Empty a disk's persistent buffer, as a start for another experiment.
    #[command(after_help = "Example: shingle probe force-clean --model st8000as0002")]
    ForceClean(ForceClean),
    /// Probe drives that are drawn by a seed, and show the answers beside the truth.
    #[command(after_help = "Example: shingle probe blind --seed 3 --drives 1")]
    Blind(Blind),
    /// Compare a drive model with the profile that probing it gave.
    #[command(after_help = "Example: shingle probe agree --model cmr7200 --requests 5k")]
    Agree(Agree),
}

/// The disk to probe, and the permission to destroy its data.
#[derive(Debug, Args)]
struct Which {
    /// A file, a block device, or the URL of an NBD export. All that is on it is lost.
    #[arg(value_name = "FILE|DEV|URL")]
    disk: Option<PathBuf>,
    /// A drive model instead, in virtual time: a drive of `shingle list drives`, or `sheet:FILE`.
    #[arg(long, value_name = "NAME", conflicts_with = "disk")]
    model: Option<String>,
    /// Set a parameter of the model, as in drive.idle_cleaning=on.
    #[arg(long, value_name = "drive.NAME=VALUE", value_parser = cli::assignment, requires = "model", conflicts_with = "disk")]
    set: Vec<(String, String)>,
    /// Destroy what is on the disk with this serial.
    #[arg(long, value_name = "SERIAL", conflicts_with = "model")]
    destroy: Option<String>,
    /// The largest buffer that can be found. The probe writes no further than this on the disk, except at
    /// places where it looks for bands.
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes, default_value = "40GiB")]
    buffer_max: u64,
    /// Seed of the order of all I/O, and of the data written.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct ForceClean {
    #[command(flatten)]
    which: Which,
}

/// Determines the kind of a disk; for a drive-managed shingled one, also how much its persistent
/// buffer holds, where bands lie, what cleaning them costs, and whether it cleans in idle time.
/// Writes a drive profile. Takes hours on a disk.
#[derive(Debug, Args)]
struct ProbeArgs {
    #[command(flatten)]
    which: Which,
    /// Writes for which the capacity is measured, as size:depth.
    #[arg(long, value_name = "SIZE:DEPTH,…", value_delimiter = ',', value_parser = writes,
        default_values = ["4KiB:1", "8KiB:1", "4KiB:32", "8KiB:32", "256KiB:1"])]
    writes: Vec<Writes>,
    /// Number of places where bands are looked for, from the start of the disk to its end.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>, default_value_t = 24)]
    sites: u64,
    /// The largest band that is looked for.
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes, default_value = "64MiB")]
    band_max: u64,
    /// Read size of the search for a band border; 64 KiB for the precise search.
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes, default_value = "256KiB")]
    step: u64,
    /// Blocks of 4 KiB in the zones that R(x) is measured for.
    #[arg(long, value_name = "BLOCKS", value_parser = cli::whole::<u64>, default_value_t = 5000)]
    zone: u64,
    /// Numbers of blocks written of a zone, a measurement each; at least three different ones.
    #[arg(long, value_name = "BLOCKS,…", value_delimiter = ',', value_parser = cli::whole::<u64>,
        default_values_t = [500, 1000, 1500, 2000, 2500])]
    coverages: Vec<u64>,
    /// Zones written for each of them.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>, default_value_t = 240)]
    zones: u64,
    /// How long to wait for cleaning in idle time, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = cli::whole::<u64>, default_value_t = 30)]
    idle_max: u64,
    /// Noise of a model's clock: standard deviation of a latency in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, requires = "model", conflicts_with = "disk",
        value_parser = percent)]
    noise: f64,
    /// Keep measurements in this file, and continue from there. [default: SERIAL.probe; none for
    /// models]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Measure nothing: analyse a record again.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["disk", "model", "record", "dry_run"])]
    fit_only: Option<PathBuf>,
    /// Print what would be done, how many bytes it writes and how long it takes; write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write the drive profile here, for `-d profile:FILE` and `store create --profile FILE`.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Write a page with pictures: the cliffs, what bands were seen, the line of R(x).
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Parses a kind of writes: `4KiB:1`.
fn writes(text: &str) -> Result<Writes, String> {
    let (size, depth) = text.split_once(':').unwrap_or((text, "1"));
    let bytes = cli::bytes(size)?;
    let depth = depth.parse().map_err(|_| format!("`{depth}` is no number of writes"))?;
    if bytes == 0 || bytes % BLOCK_BYTES != 0 || bytes > 1 << 24 {
        return Err("a write is of whole blocks of 4096 bytes, up to 16 MiB".into());
    }
    if !(1..=256).contains(&depth) {
        return Err("give a depth of 1 to 256: so many writes are under way at once".into());
    }
    Ok(Writes { blocks: bytes / BLOCK_BYTES, depth })
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=1000.0).contains(percent));
    percent.ok_or_else(|| "a number from 0 to 1000".to_owned())
}

impl ProbeArgs {
    fn options(&self) -> Options {
        Options {
            buffer_max_bytes: self.which.buffer_max,
            band_max_bytes: self.band_max,
            writes: self.writes.clone(),
            sites: self.sites,
            step_bytes: self.step,
            zone_blocks: self.zone,
            coverages: self.coverages.clone(),
            zones: self.zones,
            idle_max: self.idle_max,
            seed: self.which.seed,
        }
    }
}

impl Which {
    /// Opens the disk, if its data may be destroyed.
    fn open(&self, noise: f64) -> anyhow::Result<Box<dyn Target>> {
        if let Some(name) = &self.model {
            let drive = super::model::drive(name, &self.set, None, true)?;
            let noise = Noise { jitter: noise / 100.0, outlier_every: 0 };
            return Ok(Box::new(Model::new(name, drive, noise, self.seed)));
        }
        let Some(path) = self.disk.as_deref() else {
            let text = "name a disk to probe (all that is on it is lost), or --model NAME";
            return Err(Usage(text.into()).into());
        };
        let (destroy, flag) = (self.destroy.as_deref(), interrupted()?);
        match path.to_str().filter(|text| Url::is_meant(text)) {
            Some(text) => {
                let url: Url = text.parse().map_err(|error| Usage(format!("{error}")))?;
                Ok(Box::new(Nbd::open(&url, destroy, self.seed, flag)?))
            }
            None => Ok(Box::new(Disk::new(guard::allow(path, destroy)?, self.seed, flag))),
        }
    }

    fn options(&self) -> Options {
        Options { buffer_max_bytes: self.buffer_max, seed: self.seed, ..Options::default() }
    }
}

pub(crate) fn execute(args: &Probe, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    match &args.command {
        Some(Other::ForceClean(clean)) => empty(&clean.which, global),
        Some(Other::Blind(args)) => blind::execute(args, global),
        Some(Other::Agree(args)) => agree::execute(args, global, registry),
        None => run(&args.args, global),
    }
}

/// Returns a flag that a signal sets which would end the process. Models do not check it: the
/// signal ends them at once.
fn interrupted() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let (mut ending, set) = (Ending::new()?, Arc::clone(&flag));
    std::thread::Builder::new().name("shingle-signals".to_owned()).spawn(move || {
        ending.wait();
        set.store(true, Ordering::Relaxed);
        // A second signal ends the process at once.
        ending.wait();
        std::process::exit(1);
    })?;
    Ok(flag)
}

fn empty(which: &Which, global: &Global) -> anyhow::Result<()> {
    let mut target = which.open(0.0)?;
    let options = which.options();
    options.check(target.facts().blocks).map_err(Usage)?;
    let begun = target.now();
    let bytes = force_clean(target.as_mut(), &options)?;
    let seconds = target.now().since(begun).as_secs_f64();
    let told = format!("{} written in {seconds:.0} s", render::bytes(bytes));
    note(&format!("{}: the buffer is empty; {told}", target.facts().name), global.quiet);
    Ok(())
}

fn run(args: &ProbeArgs, global: &Global) -> anyhow::Result<()> {
    for path in [&args.profile, &args.html].into_iter().flatten() {
        output::check_writable(path)?;
    }
    if let Some(record) = &args.fit_only {
        let (mut session, subject) = Session::open(record)?;
        let options: Options = serde_json::from_str(&subject.options)
            .with_context(|| format!("{}: its options cannot be read", record.display()))?;
        let Subject { name, serial, blocks, .. } = subject;
        options.check_record(blocks).map_err(|why| anyhow!("{}: {why}", record.display()))?;
        let facts = Facts { name, serial, blocks, zones: None };
        let findings = probe(None, facts, &mut session, &options, &mut |_| ())?;
        return save(&findings, &options, args);
    }
    let options = args.options();
    let mut target = args.which.open(args.noise)?;
    let facts = target.facts().clone();
    options.check(facts.blocks).map_err(Usage)?;
    let steps = plan(&facts, &options);
    if args.dry_run {
        return print(&render::plan(&facts, &steps));
    }
    let record = args.record.clone().or_else(|| match args.which.model {
        Some(_) => None,
        None => Some(format!("{}.probe", facts.serial.replace(['/', ' '], "_")).into()),
    });
    let mut session = match &record {
        Some(path) => {
            let asked = serde_json::to_string(&options)?;
            let subject = Subject::new(&facts.name, &facts.serial, facts.blocks, &asked);
            let session = Session::resume(path, &subject)?;
            let kept = format!("measurements are kept in {}", path.display());
            note(&format!("{kept}; {}", render::expected(&steps)), global.quiet);
            session
        }
        None => Session::in_memory(),
    };
    let mut watch = Watch::new(&steps, global.quiet);
    let result =
        probe(Some(target.as_mut()), facts, &mut session, &options, &mut |name| watch.at(name));
    drop(watch);
    let findings = match (result, &record) {
        (Err(error), Some(path)) => {
            let text = format!("the same command goes on from {}", path.display());
            return Err(error).context(text);
        }
        (result, _) => result?,
    };
    save(&findings, &options, args)
}

/// Prints the findings and writes the requested files.
fn save(findings: &Findings, options: &Options, args: &ProbeArgs) -> anyhow::Result<()> {
    let profile = findings.profile(options.zone_blocks);
    if let Some(path) = &args.profile {
        output::text(&profile.to_text(), path)?;
    }
    if let Some(path) = &args.html {
        let page = page::page(findings, &profile, &crate::report::making())?;
        output::text(&page, path)?;
    }
    if args.profile.as_deref() == Some(Path::new("-")) {
        return Ok(());
    }
    print(&render::findings(findings, &profile, width()))
}

/// Interval of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of the probe, by the expected times of its steps.
struct Watch<'a> {
    steps: &'a [Step],
    seen: Vec<u64>,
    progress: Progress,
    lines: bool,
    told: Instant,
}

impl Watch<'_> {
    fn new(steps: &[Step], quiet: bool) -> Watch<'_> {
        let total = steps.iter().map(|step| step.seconds as u64).sum();
        let progress = Progress::new("probing", total, quiet);
        let lines = !quiet && !std::io::stderr().is_terminal();
        Watch { steps, seen: vec![0; steps.len()], progress, lines, told: Instant::now() }
    }

    /// Notes the start of measurement `name`.
    fn at(&mut self, name: &str) {
        let open = |(at, step): &(usize, &Step)| {
            name.starts_with(&step.prefix) && self.seen[*at] < step.count
        };
        if let Some((at, _)) = self.steps.iter().enumerate().find(open) {
            self.seen[at] += 1;
            let before: f64 = self.steps[..at].iter().map(|step| step.seconds).sum();
            let step = &self.steps[at];
            let inside = step.seconds * (self.seen[at] - 1) as f64 / step.count as f64;
            let total: f64 = self.steps.iter().map(|step| step.seconds).sum();
            self.progress.set((before + inside) as u64, total as u64);
            if self.lines && self.told.elapsed() >= LINE_EVERY {
                self.told = Instant::now();
                let part = 100.0 * (before + inside) / total;
                note(&format!("probing, about {part:.0} % done: {}", step.what), false);
            }
        }
    }
}
