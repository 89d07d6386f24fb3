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
mod service;
mod tell;

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use clap::Args;
use shingle_core::observer::Shared;
use shingle_core::registry::Registry;
use shingle_device::start_thread;
use shingle_engine::settings::Settings;
use shingle_nbd::listen::{Address, Listener};
use shingle_store::store::serve::{
    CacheOptions, Changes, Notice, Options, Record, ServeOptions, Serving, Stopper,
};
use shingle_store::store::status;
use shingle_store::ublk::Number;
use shingle_trace::TraceError;
use shingle_trace::record::{About, Recording};
use tracing::{error, info, warn};

use self::file::{File, Given, LogOptions};
use self::tell::Events;
use crate::Usage;
use crate::cli::{Global, whole};
use crate::commands::listening::{self, Encrypting, MinimumBlock, Remark};
use crate::commands::signals::{Ending, Signal};
use crate::log::{Format, Level, Levels, Log};
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
    // (`--quiet` leaves out remarks, but not warnings of devices that fail.)
    let quieter = |level| if global.quiet && level == Level::Info { Level::Warn } else { level };
    let kept = Kept::of(&options, metrics.as_ref(), log);
    let log = Log::begin(log.format, quieter(log.level))?;
    let recording = RefCell::new(None);
    let path = args.record.as_ref().map(|path| path.display().to_string());
    let recording_now =
        path.clone().map(|file| Arc::new(Mutex::new(status::Recording { file, ended: None })));
    let record = |settings: &Settings, slots, disk_blocks| {
        let text = settings.to_text().map_err(io::Error::other)?;
        let about = About { slots, disk_blocks, settings: text };
        let state = recording_now.clone();
        let tell = move |why: &TraceError| {
            error!("{why}; nothing more is recorded, and serving goes on");
            if let Some(state) = state {
                state.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(why.to_string());
            }
        };
        let begun = Recording::begin_telling(path.as_deref().unwrap_or_default(), &about, tell);
        let (recorder, handle) = begun.map_err(io::Error::other)?;
        recording.replace(Some(handle));
        Ok(Shared::new(recorder))
    };
    let record = path.as_ref().map(|_| &record as Record<'_>);
    let (users, tls) = (options.users.clone(), options.tls.clone());
    let open = open_to_all(&options);
    // (An address in use is found before a cache is opened.)
    let metrics = metrics.map(|address| Listener::bind(&address)).transpose()?;
    let events = Arc::new(Events::default());
    let tell = {
        let events = events.clone();
        move |notice: Notice| events.tell(&notice)
    };
    let serving = Serving::start_with(
        options,
        registry,
        ServeOptions { record, recording: recording_now.clone(), inherited },
        tell,
    )?;
    // From now on a signal stops the server cleanly.
    ending.begin()?;
    let quieter = global.quiet;
    let levels = log.levels();
    let reload = args.config.clone();
    let reload = reload.map(|path| Reload { path, handed_over, levels, kept, quieter });
    let stopper = serving.stopper();
    let reload = reload.map(|reload| reload.begin(stopper.clone())).transpose()?;
    start_thread("shingle-signals", move || answer_signals(ending, &stopper, reload))?;
    for (export, uuid) in serving.exports() {
        for address in serving.addresses() {
            info!(export, "{uuid}: served at {address}");
        }
    }
    for (export, device) in serving.block_devices() {
        info!(export, "served as {}", device.display());
    }
    for remark in listening::remarks(&serving.addresses(), &users, tls.is_some()) {
        match remark {
            Remark::Warning(text) => warn!("{text}"),
            Remark::Note(text) => info!("{text}"),
        }
    }
    warn_of(&open);
    if let Some(tls) = tls.clone() {
        listening::look_after(tls, |text| warn!("{text}"))?;
    }
    if let Some(listener) = metrics {
        metrics::serve(listener, serving.roster(), events, tls)?;
    }
    service::look_after(serving.roster())?;
    service::watch(serving.roster())?;
    service::ready(serving.exports().len());
    let ended = serving.wait(|| {
        match recording.take().map(Recording::finish) {
            None => {}
            Some(Ok(said)) => said.iter().for_each(|text| warn!("{text}")),
            // (The store itself has stopped cleanly.)
            Some(Err(why)) => error!("{why}; the recording is lost"),
        }
    });
    service::stopping();
    Ok(ended?)
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

/// What a reload of the options needs.
struct Reload {
    path: PathBuf,
    handed_over: bool,
    levels: Levels,
    kept: Kept,
    quieter: bool,
}

/// Options that only a restart can change.
struct Kept {
    metrics: Option<Address>,
    counters: Option<PathBuf>,
    format: Format,
}

impl Kept {
    fn of(options: &Options, metrics: Option<&Address>, log: LogOptions) -> Kept {
        let counters = options.counters.clone();
        Kept { metrics: metrics.cloned(), counters, format: log.format }
    }

    /// Returns the names of the options that differ in `new`.
    fn differs_from(&self, new: &Kept) -> Vec<&'static str> {
        let all = [
            ("`metrics`", self.metrics != new.metrics),
            ("`counters`", self.counters != new.counters),
            ("`format` of `[log]`", self.format != new.format),
        ];
        all.into_iter().filter(|&(_, differs)| differs).map(|(name, _)| name).collect()
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

impl Reload {
    /// Reads the options again on each message, one after the other, on a thread of its own: a device may delay that, and a
    /// signal that ends the process must not wait for it.
    fn begin(self, stopper: Stopper) -> io::Result<Sender<()>> {
        let (to, told) = channel();
        start_thread("shingle-reload", move || {
            told.into_iter().for_each(|()| self.again(&stopper))
        })?;
        Ok(to)
    }

    /// Reads the file again. An invalid file changes nothing.
    fn again(&self, stopper: &Stopper) {
        service::reloading();
        let path = self.path.display();
        let done = File::read(&self.path).and_then(|file| {
            let Given { options, metrics, log } = file.given()?;
            is_reachable(&options, self.handed_over, "`listen`")?;
            let (exports, open) = (options.caches.len(), open_to_all(&options));
            let kept = self.kept.differs_from(&Kept::of(&options, metrics.as_ref(), log));
            let changes = stopper.reload(options)?;
            let quieter = self.quieter && log.level == Level::Info;
            let level = if quieter { Level::Warn } else { log.level };
            let level = self.levels.set(level).then_some(level);
            Ok((changes, level, kept, exports, open))
        });
        match done {
            Ok((changes, level, kept, exports, open)) => {
                let others = changes != Changes::default() || (level.is_none() && kept.is_empty());
                let others = others.then(|| changes.to_string());
                let level =
                    level.map(|level| format!("the log has lines of level {level} and above"));
                let kept = (!kept.is_empty())
                    .then(|| format!("as before until a restart: {}", kept.join(", ")));
                let told: Vec<String> = [others, level, kept].into_iter().flatten().collect();
                info!("{path} is read again: {}", told.join("; "));
                if changes.certificates || !changes.begun.is_empty() || !changes.changed.is_empty()
                {
                    warn_of(&open);
                }
                service::ready(exports);
            }
            // (Errors in the file itself begin with `path`.)
            Err(error) => {
                error!("nothing is changed: {error:#}");
                service::still_ready();
            }
        }
    }
}
