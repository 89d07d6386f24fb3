//! `shingle store`: a real cache, made, served, asked and ended.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use shingle_core::registry::Registry;
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_core::witness::Shared;
use shingle_nbd::listen::Address;
use shingle_nbd::server::Event;
use shingle_store::backend::Device;
use shingle_store::store::check::{Findings, check};
use shingle_store::store::control::{self, Answer, Request};
use shingle_store::store::create::{self, Consent, CreateError, create};
use shingle_store::store::serve::{self, Options, Record, Serving};
use shingle_store::store::settings::Settings;
use shingle_store::store::status::Status;
use shingle_trace::record::{About, Recording};
use uuid::Uuid;

use super::signals::Ending;
use crate::Usage;
use crate::cli::Arguments;
use crate::output::{note, print};
use crate::progress::Progress;

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Make a cache on an SSD for a disk. What the disk holds stays.
    #[command(
        after_help = "Example: shingle store create --cache cache.img --disk disk.img --policy sac"
    )]
    Create(Create),
    /// Serve a cached disk as a block device, over NBD.
    #[command(after_help = "Example: shingle store serve --cache cache.img --disk disk.img --nbd \
                            unix:disk.sock")]
    Serve(Serve),
    /// How a cache that is served is doing.
    #[command(after_help = "Example: shingle store status --cache cache.img")]
    Status(AskStatus),
    /// Write everything that is dirty to the disk, while clients are served.
    #[command(after_help = "Example: shingle store flush --cache cache.img")]
    Flush(Ask),
    /// Set mode, policy or parameters. All of it counts at once.
    #[command(after_help = "Example: shingle store set --cache cache.img mode=write-around")]
    Set(Set),
    /// Stop serving. What is dirty stays in the cache.
    #[command(after_help = "Example: shingle store stop --cache cache.img")]
    Stop(Ask),
    /// Read all of a cache that is not served, and compare it with its checksums. Changes nothing.
    #[command(after_help = "Example: shingle store check --cache cache.img --disk disk.img")]
    Check(Check),
    /// Write everything that is dirty to the disk, without serving.
    #[command(after_help = "Example: shingle store export --cache cache.img --disk disk.img")]
    Export(Places),
    /// Write everything that is dirty to the disk, and end the cache. The disk is then whole by
    /// itself.
    #[command(after_help = "Example: shingle store detach --cache cache.img --disk disk.img")]
    Detach(Detach),
}

#[derive(Debug, Args)]
pub(crate) struct Places {
    /// The SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
    /// The disk behind it.
    #[arg(long, value_name = "FILE|DEV")]
    disk: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    places: Places,
    /// Policy.
    #[arg(short, long, value_name = "NAME", default_value = "sac")]
    policy: String,
    /// Set a parameter, or the mode, as in sac.zone=40M or mode=write-through.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Plan with what `shingle probe` found out of the disk: size of its buffer, size of zones, costs. The
    /// cache keeps them; the file is not needed later.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Destroy the cache of this name that is on the SSD, with all dirty data that it may hold.
    #[arg(long, value_name = "UUID")]
    destroy: Option<Uuid>,
    /// Destroy a file system, partition table or the like that is on the SSD.
    #[arg(long)]
    overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    places: Places,
    /// Where clients connect: unix:PATH, or tcp:ADDR:PORT with a loopback address. May come several
    /// times.
    #[arg(long, value_name = "ADDRESS", required = true)]
    nbd: Vec<String>,
    /// Bytes that offsets and lengths of requests have to be multiples of: a power of two up to 4096.
    #[arg(long, value_name = "BYTES", default_value_t = 1)]
    minimum_block: u32,
    /// Serve although the disk was written without its cache.
    #[arg(long)]
    trust_disk: bool,
    /// Record requests, their times, and all that the cache is told and decides, as a trace that
    /// `shingle run` reads and `shingle follow` repeats. The file is whole when the server has ended
    /// in order.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The SSD: a file or block device.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AskStatus {
    #[command(flatten)]
    ask: Ask,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Again every second, until it is interrupted.
    #[arg(long)]
    watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    ask: Ask,
    /// What, as in mode=write-around, policy=most or sac.zone=40M.
    #[arg(required_unless_present = "profile", value_name = "NAME=VALUE")]
    what: Vec<String>,
    /// Plan with what `shingle probe` found out of the disk.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Detach {
    #[command(flatten)]
    ask: Ask,
    /// The disk; needed if nobody serves the cache.
    #[arg(long, value_name = "FILE|DEV")]
    disk: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    ask: Ask,
    /// The disk, to see whether it was written without its cache.
    #[arg(long, value_name = "FILE|DEV")]
    disk: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(
    command: &Store,
    global: &Arguments,
    registry: &Registry,
) -> anyhow::Result<()> {
    match command {
        Store::Create(args) => make(args, global, registry),
        Store::Serve(args) => serve(args, global, registry),
        Store::Status(args) => status(args),
        Store::Flush(args) => ask(&args.cache, &Request::Flush, global),
        Store::Set(args) => {
            let (_, mut what) = profiled(args.profile.as_deref())?;
            what.extend(args.what.iter().cloned());
            ask(&args.ask.cache, &Request::Set { what }, global)
        }
        Store::Stop(args) => ask(&args.cache, &Request::Stop, global),
        Store::Detach(args) => detach(args, global, registry),
        Store::Check(args) => look(args, global),
        Store::Export(args) => export(&args.cache, &args.disk, global, registry),
    }
}

fn make(args: &Create, global: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    let mut settings = Settings::new(&args.policy);
    let (probed, known) = profiled(args.profile.as_deref())?;
    let mut sets = known.iter().chain(&args.set);
    sets.try_for_each(|text| settings.set(text)).map_err(|e| Usage(e.to_string()))?;
    let (ssd, disk) = Device::pair(&args.places.cache, &args.places.disk)?;
    if let Some(blocks) = probed.map(|bytes| bytes / BLOCK_BYTES)
        && blocks != disk.blocks()
    {
        let [other, this] = [blocks, disk.blocks()].map(|blocks| show_bytes(blocks * BLOCK_BYTES));
        note(
            &format!("the profile is of a disk of {other}, and this one has {this}"),
            global.quiet,
        );
    }
    let consent = Consent { destroy: args.destroy, overwrite: args.overwrite };
    let made = create(&ssd, &disk, &settings, registry, consent).map_err(|error| match error {
        CreateError::Settings(_) => anyhow!(Usage(error.to_string())),
        _ => anyhow!(error),
    })?;
    let uuid = Uuid::from_bytes(made.uuid);
    print(&uuid.to_string())?;
    let slots = made.layout.slots;
    let room = show_bytes(slots * BLOCK_BYTES);
    let text = format!("a cache for {room} ({slots} blocks) under {}", settings.policy);
    note(&text, global.quiet);
    Ok(())
}

/// The size of the disk that a profile is of, and what to set for it.
fn profiled(file: Option<&Path>) -> anyhow::Result<(Option<u64>, Vec<String>)> {
    let Some(file) = file else { return Ok((None, Vec::new())) };
    let profile = shingle_drive::profile::read(file)?;
    let set = |(name, value)| format!("drive.{name}={value}");
    Ok((Some(profile.bytes), profile.plan().known().map(set).collect()))
}

fn serve(args: &Serve, global: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    let addresses = args.nbd.iter().map(|text| text.parse::<Address>());
    let addresses = addresses.collect::<Result<Vec<_>, _>>().map_err(|e| Usage(e.to_string()))?;
    if !args.minimum_block.is_power_of_two() || args.minimum_block > 4096 {
        bail!(Usage(format!("--minimum-block {}: a power of two up to 4096", args.minimum_block)));
    }
    let options = Options {
        ssd: args.places.cache.clone(),
        disk: args.places.disk.clone(),
        addresses,
        minimum_block: args.minimum_block,
        trust_disk: args.trust_disk,
        control: None,
    };
    let quiet = global.quiet;
    let recording = RefCell::new(None);
    let path = args.record.as_ref().map(|path| path.display().to_string());
    let record = |settings: &Settings, slots, disk_blocks| {
        let words = settings.to_words().map_err(io::Error::other)?;
        let about = About { slots, disk_blocks, words };
        let begun = Recording::begin(path.as_deref().unwrap_or_default(), &about);
        let (recorder, handle) = begun.map_err(io::Error::other)?;
        recording.replace(Some(handle));
        Ok(Shared::new(recorder))
    };
    let record = path.as_ref().map(|_| &record as Record<'_>);
    let tell = move |event: Event| note(&event.to_string(), quiet);
    let serving = Serving::start_recorded(options, registry, record, tell)?;
    // From now on a signal ends it in order.
    let mut ending = Ending::new()?;
    let stopper = serving.stopper();
    std::thread::Builder::new().name("shingle-signals".to_owned()).spawn(move || {
        loop {
            ending.wait();
            stopper.stop();
        }
    })?;
    for address in serving.addresses() {
        note(&format!("{}: served at {address}", serving.uuid()), quiet);
    }
    let served = serving.wait();
    if let Some(recording) = recording.take() {
        recording.finish()?.iter().for_each(|text| note(text, quiet));
    }
    Ok(served?)
}

/// The name of the cache on an SSD.
fn name(ssd: &Path) -> anyhow::Result<Uuid> {
    let found = create::name(ssd)?;
    found.ok_or_else(|| {
        anyhow!("{}: holds no cache; `shingle store create` makes one", ssd.display())
    })
}

/// Asks whoever serves the cache, and waits until it is done.
fn ask(ssd: &Path, request: &Request, global: &Arguments) -> anyhow::Result<()> {
    let mut show = writing(global.quiet);
    let mut told = |answer: &Answer| {
        if let Answer::DirtyBlocks(left) = answer {
            show(*left);
        }
    };
    let last = control::ask(&control::socket(name(ssd)?), &mut told, request)?;
    match last {
        Answer::Failed(why) => bail!(why),
        _ => Ok(()),
    }
}

fn status(args: &AskStatus) -> anyhow::Result<()> {
    const STEP: Duration = Duration::from_secs(1);
    let socket = control::socket(name(&args.ask.cache)?);
    loop {
        let status = match control::ask(&socket, &mut |_| {}, &Request::Status)? {
            Answer::Status(status) => status,
            Answer::Failed(why) => bail!(why),
            other => bail!("an odd answer: {other:?}"),
        };
        if args.json {
            print(&serde_json::to_string(&status)?)?;
        } else {
            print(&table(&status))?;
        }
        if !args.watch {
            return Ok(());
        }
        std::thread::sleep(STEP);
    }
}

fn table(status: &Status) -> String {
    let blocks = |blocks: u64| show_bytes(blocks * BLOCK_BYTES);
    let ratio = |hits: u64, misses: u64| match hits + misses {
        0 => "–".to_owned(),
        all => format!("{:.1} %", 100.0 * hits as f64 / all as f64),
    };
    let used = status.dirty_blocks + status.clean_blocks;
    let errors = &status.errors;
    let mut lines = vec![
        ("cache", format!("{} on {} before {}", status.uuid, status.ssd, status.disk)),
        ("served at", status.addresses.join(", ")),
        ("clients", status.connections.to_string()),
        ("policy", format!("{}, {}", status.policy, status.mode)),
        ("cached", format!("{} of {}", blocks(used), blocks(status.slots))),
        ("dirty", blocks(status.dirty_blocks)),
        ("read hits", ratio(status.read_hits, status.read_misses)),
        ("write hits", ratio(status.write_hits, status.write_misses)),
        ("destaged", blocks(status.destaged_blocks)),
        ("round the cache", blocks(status.bypassed_blocks)),
    ];
    for (name, count) in [
        ("SSD reads failed", errors.ssd_reads),
        ("wrong checksums", errors.checksums),
        ("SSD writes failed", errors.ssd_writes),
        ("disk reads failed", errors.disk_reads),
        ("disk writes failed", errors.disk_writes),
        ("disk flushes failed", errors.disk_flushes),
    ] {
        if count > 0 {
            lines.push((name, count.to_string()));
        }
    }
    if errors.ssd_failed {
        lines.push(("SSD", "takes no more writes: nothing new is cached".to_owned()));
    }
    for (first, bytes) in &errors.lost_ranges {
        lines.push(("lost", format!("{} at byte {first}", show_bytes(*bytes))));
    }
    lines.iter().map(|(name, value)| format!("{name:20}{value}\n")).collect()
}

fn export(ssd: &Path, disk: &Path, global: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    Ok(serve::export(ssd, disk, registry, &mut writing(global.quiet))?)
}

/// Shows how far it is with what was dirty; is told how many blocks are left.
fn writing(quiet: bool) -> impl FnMut(u64) {
    let mut progress = None;
    let mut most = 0;
    move |left| {
        most = most.max(left);
        let bar = progress.get_or_insert_with(|| Progress::new("writing", most, quiet));
        bar.set(most - left, most);
    }
}

/// By whoever serves the cache; if nobody does, by ourselves.
fn detach(args: &Detach, global: &Arguments, registry: &Registry) -> anyhow::Result<()> {
    let ssd = &args.ask.cache;
    let outcome = ask(ssd, &Request::Detach, global);
    let Err(error) = &outcome else { return outcome };
    let alone = matches!(error.downcast_ref(), Some(control::ControlError::Nobody(_)));
    let (true, Some(disk)) = (alone, &args.disk) else { return outcome };
    export(ssd, disk, global, registry)?;
    Ok(create::end(&Device::open(ssd)?)?)
}

fn look(args: &Check, global: &Arguments) -> anyhow::Result<()> {
    let (ssd, disk) = match &args.disk {
        Some(disk) => {
            let (ssd, disk) = Device::pair(&args.ask.cache, disk)?;
            (ssd, Some(disk))
        }
        None => (Device::open(&args.ask.cache)?, None),
    };
    let progress = Progress::new("checking", 0, global.quiet);
    let findings = check(&ssd, disk.as_ref(), &mut |done, all| progress.set(done, all))?;
    drop(progress);
    if args.json {
        print(&json(&findings).to_string())?;
    } else {
        print(&told(&findings))?;
    }
    if !findings.is_sound() {
        bail!("{}: something is wrong, see above", args.ask.cache.display());
    }
    Ok(())
}

fn json(findings: &Findings) -> serde_json::Value {
    json!({
        "schema": "shingle.store-check/1",
        "uuid": findings.uuid.to_string(),
        "policy": findings.settings.as_ref().map(|settings| &settings.policy),
        "mode": findings.settings.as_ref().map(|settings| settings.mode.name()),
        "clean_shutdown": findings.clean,
        "clean_blocks": findings.clean_blocks,
        "dirty_blocks": findings.dirty_blocks,
        "replayed_pages": findings.replayed_pages,
        "mendable_pages": findings.mendable_pages,
        "torn_pages": findings.torn_pages,
        "void_records": findings.void_records,
        "damaged_clean_blocks": findings.damaged_clean_blocks,
        "lost_blocks": findings.lost.iter().map(|block| block.0).collect::<Vec<_>>(),
        "other_disk_bytes": findings.other_disk_bytes,
        "disk_changed": findings.disk_changed,
        "sound": findings.is_sound(),
    })
}

fn told(findings: &Findings) -> String {
    let blocks = |blocks: u64| show_bytes(blocks * BLOCK_BYTES);
    let mut lines = vec![
        format!("cache {}", findings.uuid),
        match findings.clean {
            true => "shut down in order".to_owned(),
            false => format!("not shut down in order: {} pages to replay", findings.replayed_pages),
        },
        format!("{} clean, {} dirty", blocks(findings.clean_blocks), blocks(findings.dirty_blocks)),
    ];
    if findings.mendable_pages > 0 {
        lines.push(format!(
            "{} pages of metadata are damaged and stand elsewhere too: serving mends them",
            findings.mendable_pages
        ));
    }
    if findings.void_records > 0 {
        lines.push(format!(
            "{} blocks that were written shortly before the crash are as they were before: their data \
             was not flushed, or is damaged",
            findings.void_records
        ));
    }
    if findings.damaged_clean_blocks > 0 {
        lines.push(format!(
            "{} clean blocks are damaged: they will be read from the disk",
            findings.damaged_clean_blocks
        ));
    }
    for block in &findings.lost {
        lines.push(format!(
            "the dirty block at byte {} is damaged: its data is lost",
            block.bytes()
        ));
    }
    if let Some(bytes) = findings.other_disk_bytes {
        lines
            .push(format!("the disk has {bytes} bytes: it is not the one this cache was made for"));
    }
    match findings.disk_changed {
        Some(true) => lines.push("the disk was written without its cache".to_owned()),
        Some(false) => lines.push("the disk is as it was left".to_owned()),
        None => {}
    }
    lines.push(if findings.is_sound() { "sound" } else { "NOT SOUND" }.to_owned());
    lines.join("\n")
}
