//! `shingle store serve`: serves caches as block devices, until it is stopped.

mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzed {
    //! Parsers of outside input, for fuzzers.

    /// A file of `--config`.
    pub fn file(text: &str) {
        super::file::fuzzed(text);
    }

    /// A request for metrics.
    pub fn request(bytes: &[u8]) {
        super::metrics::fuzzed(bytes);
    }
}
mod metrics;
mod record;
mod reload;
mod service;
mod tell;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_device::start_thread;
use shingle_nbd::listen::Listener;
use shingle_nbd::users::Users;
use shingle_store::store::serve::{
    CacheOptions, Notice, Options, Record, ServeError, ServeOptions, Serving, Stopper,
};
use shingle_store::ublk::Number;
use tracing::{info, warn};

use self::file::{File, Given, LogOptions};
use self::record::Recorder;
use self::reload::{Kept, Reload};
use self::tell::Events;
use crate::Usage;
use crate::cli::{Global, whole};
use crate::commands::listening::{self, Encrypting, MinimumBlock, Remark};
use crate::commands::signals::{Ending, Signal};
use crate::log::{Format, Level, Log};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV", required_unless_present = "config")]
    cache: Option<PathBuf>,
    /// The disk behind it.
    #[arg(long, value_name = "FILE|DEV", required_unless_present = "config")]
    disk: Option<PathBuf>,
    /// Serve the exports of this TOML file instead: several caches, each with a name. SIGHUP reads it
    /// again.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "cache", "disk", "nbd", "ublk", "allow_users", "tls", "tls_allow", "minimum_block", "trust_disk", "record",
        "metrics", "counters", "log", "log_level"
    ])]
    config: Option<PathBuf>,
    /// Address for clients: unix:PATH, or tcp:ADDR:PORT (without --tls a loopback address). May be
    /// repeated. Sockets that a service manager passes are served without being named.
    #[arg(long, value_name = "ADDRESS")]
    nbd: Vec<String>,
    /// Users who may connect over TCP, besides you and root: names or numbers, separated by commas,
    /// or `any` for every user of this machine.
    #[arg(long, value_name = "USER,…|any", conflicts_with = "tls")]
    allow_users: Option<String>,
    /// Serve the cache as /dev/ublkbN, too, without NBD: needs a build with the feature `ublk`, the ublk driver and
    /// CAP_SYS_ADMIN. After a crash its reads and writes wait until the next server of this cache takes it over.
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    ublk: Option<u32>,
    #[command(flatten)]
    encryption: Encrypting,
    #[command(flatten)]
    minimum_block: MinimumBlock,
    /// Serve although the disk is not known to be the right one, or was written without its cache.
    #[arg(long)]
    trust_disk: bool,
    /// Record requests, their times, and all that the cache is told and decides, as a trace that
    /// `shingle run` reads and `shingle follow` repeats. The file is complete when the server has
    /// stopped cleanly. If a write to it fails, the recording ends there, the log says so, and
    /// serving continues.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Address for metrics, which Prometheus fetches as http://ADDR:PORT/metrics: tcp:ADDR:PORT
    /// with a loopback address, or unix:PATH.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// A folder that keeps the counters of --metrics over restarts. [default: $STATE_DIRECTORY,
    /// which systemd sets, or $XDG_STATE_HOME/shingle, ~/.local/state/shingle]
    #[arg(long, value_name = "DIR")]
    counters: Option<PathBuf>,
    /// Format of the log, which goes to stderr or the journal of systemd.
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    log: Format,
    /// Least severe level that is logged.
    #[arg(long, value_enum, default_value_t = Level::Info)]
    log_level: Level,
}

impl Serve {
    /// Returns the options, from the file or the command line.
    fn options(&self) -> anyhow::Result<Given> {
        if let Some(path) = &self.config {
            return File::read(path)?.given();
        }
        let (Some(ssd), Some(disk)) = (self.cache.clone(), self.disk.clone()) else {
            bail!(Usage(
                "nothing is named to be served: give --cache and --disk, or --config".to_owned()
            ))
        };
        let cache = CacheOptions {
            name: String::new(),
            ssd,
            disk,
            minimum_block: self.minimum_block.bytes()?,
            trust_disk: self.trust_disk,
            control: None,
            ublk: self.ublk.map(Number),
        };
        let users = listening::users(self.allow_users.as_deref())
            .map_err(|why| Usage(format!("--allow-users: {why}")))?;
        let addresses = listening::addresses(&self.nbd, self.encryption.tls.is_some())?;
        let tls = self.encryption.open(&[""])?;
        let metrics = self.metrics.as_deref().map(listening::metrics_address);
        let metrics = metrics.transpose();
        let metrics = metrics.map_err(|error| Usage(format!("--metrics: {error}")))?;
        listening::check_distinct(addresses.iter().chain(&metrics)).map_err(Usage)?;
        let counters = file::counters(self.counters.clone(), metrics.is_some());
        let options = Options { caches: vec![cache], addresses, users, tls, counters };
        Ok(Given { options, metrics, log: LogOptions { format: self.log, level: self.log_level } })
    }
}

pub(super) fn execute(args: &Serve, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let ending = Ending::of_reloads()?;
    let Given { options, metrics, log } = args.options()?;
    if let Some(record) = &args.record {
        let places = options.caches.iter().flat_map(|cache| [&*cache.ssd, &*cache.disk]);
        output::check_apart(record, &places.collect::<Vec<_>>())?;
    }
    let inherited = service::inherited()?;
    let handed_over = !inherited.is_empty();
    is_reachable(&options, handed_over, if args.config.is_some() { "`listen`" } else { "--nbd" })?;
    let quieter = global.quiet;
    let kept = Kept::of(&options, metrics.as_ref(), log);
    let log = Log::begin(log.format, shown(log.level, quieter))?;
    let levels = log.levels();
    let recorder = args.record.as_deref().map(Recorder::new);
    let begin_record = recorder.as_ref().map(Recorder::begins);
    let (users, tls) = (options.users.clone(), options.tls.clone());
    let open = open_to_all(&options);
    // (An address in use is found before a cache is opened.)
    let metrics = metrics.map(|address| Listener::bind(&address)).transpose()?;
    let events = Arc::new(Events::default());
    let tell = {
        let events = events.clone();
        move |notice: Notice| events.tell(&notice)
    };
    let serve_options = ServeOptions {
        record: begin_record.as_ref().map(|begin| begin as Record<'_>),
        recording: recorder.as_ref().map(Recorder::state),
        inherited,
    };
    let serving = Serving::start_with(options, registry, serve_options, tell);
    let serving = serving.map_err(|error| contradiction(error, args.config.as_deref()))?;
    // From now on a signal stops the server cleanly.
    ending.begin()?;
    let stopper = serving.stopper();
    let reload = args.config.clone();
    let roster = serving.roster();
    let reload = reload.map(|path| Reload { path, handed_over, levels, kept, quieter, roster });
    let reload = reload.map(|reload| reload.begin(stopper.clone())).transpose()?;
    start_thread("shingle-signals", move || answer_signals(ending, &stopper, reload))?;
    announce(&serving, &users, tls.is_some());
    warn_of(&open);
    if let Some(tls) = tls.clone() {
        listening::look_after(tls, |text| warn!("{text}"))?;
    }
    if let Some(listener) = metrics {
        metrics::serve(listener, serving.roster(), events, tls)?;
    }
    service::look_after(serving.roster())?;
    service::watch(serving.roster())?;
    service::ready(&serving.roster());
    let ended = serving.wait(|| recorder.iter().for_each(Recorder::finish));
    service::stopping();
    Ok(ended?)
}

/// Exports of a file that contradict each other are wrong usage, which no service manager should try again.
fn contradiction(error: ServeError, file: Option<&Path>) -> anyhow::Error {
    match (&error, file) {
        (ServeError::Reload(_), Some(file)) => Usage(format!("{}: {error}", file.display())).into(),
        _ => error.into(),
    }
}

/// Returns the least severe level that is logged: `--quiet` leaves out remarks, but not warnings of
/// devices that fail.
fn shown(level: Level, quieter: bool) -> Level {
    if quieter && level == Level::Info { Level::Warn } else { level }
}

/// Logs what is served, and where.
fn announce(serving: &Serving, users: &Users, encrypts: bool) {
    let addresses = serving.addresses();
    for (export, uuid) in serving.exports() {
        for address in &addresses {
            info!(export, "{uuid}: served at {address}");
        }
    }
    for (export, device) in serving.block_devices() {
        info!(export, "served as {}", device.display());
    }
    for remark in listening::remarks(&addresses, users, encrypts) {
        match remark {
            Remark::Warning(text) => warn!("{text}"),
            Remark::Note(text) => info!("{text}"),
        }
    }
}

/// Returns the exports that any client with a valid certificate may open, although `tls-allow`
/// limits the clients of others.
fn open_to_all(options: &Options) -> Vec<String> {
    let names = options.caches.iter().map(|cache| cache.name.as_str());
    let open = options.tls.as_ref().map(|tls| listening::open_to_all(tls, names));
    open.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

fn warn_of(open_to_all: &[String]) {
    for export in open_to_all {
        warn!(
            export,
            "every client with a good certificate may open this: tls-allow names only others"
        );
    }
}

/// Checks that clients can connect: at an address of `option`, or at a socket that a service
/// manager passed. Block devices need neither.
fn is_reachable(options: &Options, handed_over: bool, option: &str) -> Result<(), Usage> {
    let all_are_devices = options.caches.iter().all(|cache| cache.ublk.is_some());
    match options.addresses.is_empty() && !handed_over && !all_are_devices {
        true => Err(Usage(format!(
            "no client could connect: give an address with {option}, such as unix:PATH"
        ))),
        false => Ok(()),
    }
}

/// Stops cleanly on a signal, or has the options read again on SIGHUP.
fn answer_signals(mut ending: Ending, stopper: &Stopper, reload: Option<Sender<()>>) {
    loop {
        match (ending.wait(), &reload) {
            // (The receiver stays as long as this thread.)
            (Signal::HangUp, Some(reload)) => drop(reload.send(())),
            (signal, _) => {
                info!("stopping: {signal}");
                service::stopping();
                stopper.stop();
            }
        }
    }
}
